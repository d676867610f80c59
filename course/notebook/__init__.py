"""Where a learner's Python meets the course: launches, traces, and what an exercise shows.

The only floor that changes anything outside of `course`, and only `import course` has it do so.
"""
