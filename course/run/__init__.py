"""A door of its own: anyone's Triton or Numba CUDA program, run without a GPU on the engines.

`python -m course.run FILE` runs a program, `pytest -p course.run.plugin` a program's tests. Both
run what they are given as Python does, with all its rights: no grader imports this.
"""
