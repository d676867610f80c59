"""`make bench`: the engine's speed beside Numba's simulator, its memory, and the wait for a check.

Every figure is taken in a process of its own. A figure depends on the machine, so no test holds
the engine to one; the report names the machine and says which targets were met.
"""
