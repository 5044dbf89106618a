"""Work cut into independent pieces: done on any executor, kept in a folder, continued after an interruption."""

from credibn._run.partition import cut_evenly
from credibn._run.store import Arrays
from credibn._run.tasks import GoesOn, OutOfTime, Stopped, Work, Workbench, aligned

__all__ = ["Arrays", "GoesOn", "OutOfTime", "Stopped", "Work", "Workbench", "aligned", "cut_evenly"]
