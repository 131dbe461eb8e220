"""The commands of `lbr`, loaded one module at a time when they are used."""
