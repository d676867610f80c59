"""The same kernels on a real GPU: hardware counters and recorded measurements."""
