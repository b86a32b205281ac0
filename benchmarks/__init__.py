"""What the laboratory costs, measured against its targets: `python -m benchmarks [--quick] [NAME…]`.

Benchmarks, not timed tests: they judge nothing but print a table of medians beside the targets. Every cost is
taken twice, as wall-clock time and as CPU time of the process and its guests, for a shared machine lengthens
the first and hardly the second.
"""
