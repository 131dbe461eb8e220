"""The worker process: settings, clients, registration."""
