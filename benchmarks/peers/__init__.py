"""credibn beside other programs: the same data, the same problem, the same answer, in one run.

One module for each problem. Every peer is optional: one that is not installed, or that does not run, is passed over
and its reason printed. Seconds are CPU seconds of all threads together, which a busy machine disturbs less than the
clock; importing a program and handing it the table in its own form are not counted.
"""
