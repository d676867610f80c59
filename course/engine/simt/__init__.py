"""Numba CUDA kernels on the CPU: in lockstep, metered and checked, without executing them."""
