"""A campaign of faults: what `docs/reliability.md` promises, tried by the hundred.

`make torture [MINUTES=…]` runs it by hand; no test collects it, and its result is committed.
"""
