"""Runs Triton kernels on the CPU: all programs of a launch at once, metered and checked."""
