"""The autoscaler measured: how soon it decides, how soon it buys, what it writes while idle, and what upstream does."""
