"""Runs what Triton's compiler made: its IR, with the layouts that decide which lane loads what."""
