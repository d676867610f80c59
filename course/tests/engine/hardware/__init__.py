"""What a real GPU answered: kernels, and the counts and results recorded on an H200."""
