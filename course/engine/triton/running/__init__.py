"""A kernel's IR run on arrays: operations, memory and who watches it, programs."""
