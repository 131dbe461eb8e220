"""The autoscaler's decisions: which pool gets servers for pods that wait, and which nodes are no longer needed."""
