"""The experiments of Liao, Sharma, Cussens & van Beek (2020), computed again with credibn, beside the printed numbers.

This is a user of the package and no part of it. ``python -m paper --help`` says how to run it. Each table is one
`Experiment` in ``paper/experiments``; a new file there is a new experiment.
"""
