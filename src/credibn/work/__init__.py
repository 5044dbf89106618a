"""Work cut into independent pieces: done on any executor, kept in a folder, continued after an interruption."""

from credibn.work.bench import GoesOn, OutOfTime, Stopped, Work, Workbench, aligned
from credibn.work.cutting import cut_evenly
from credibn.work.folder import Arrays

__all__ = ["Arrays", "GoesOn", "OutOfTime", "Stopped", "Work", "Workbench", "aligned", "cut_evenly"]
