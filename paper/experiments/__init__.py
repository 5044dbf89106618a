"""One module for each experiment: its name is that of the experiment, and its `EXPERIMENT` is all there is to know."""

from importlib import import_module
from pkgutil import iter_modules

from paper.experiment import Experiment

_NAMES = sorted((module.name for module in iter_modules(__path__)), key=lambda name: (name.startswith("figure"), name))
EXPERIMENTS: dict[str, Experiment] = {name: import_module(f"{__name__}.{name}").EXPERIMENT for name in _NAMES}
"""By name: the tables, then the figure."""
