"""What happens in which order: one workflow a file. Workflows decide through `core` and act through activities."""
