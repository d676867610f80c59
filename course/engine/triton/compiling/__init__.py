"""What is asked of Triton's compiler: refusals, resources, and a kernel's IR."""
