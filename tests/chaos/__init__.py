"""Chaos with a seed: everything on the road from a step to the log is broken in an order that can be replayed, and nothing may be lost.

`python -m tests.chaos --seed 7 --rounds 3 --seconds 60`; the suite plays one short round (tests/acceptance/test_chaos.py).
"""
