"""The checks behind `lbr doctor`, in the order in which one thing needs the other."""
