"""Everything that touches the world: Hetzner Cloud, Kubernetes, and Temporal's own client."""
