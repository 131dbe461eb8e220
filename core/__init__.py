"""The domain: specs, machines, conditions, events, errors and every decision; it never touches the world."""
