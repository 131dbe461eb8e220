"""The control loops of the simulated cluster, each a step without waiting: objects and a time in, writes out."""
