"""One run: deadline, memory, reason to stop, progress, tasks on any executor, and checkpoints."""

from credibn._run.run import Run
from credibn._run.store import Arrays, Store
from credibn._run.tasks import OutOfTime, ShouldContinue, Stopped, Work, aligned, split_evenly

__all__ = ["Arrays", "OutOfTime", "Run", "ShouldContinue", "Stopped", "Store", "Work", "aligned", "split_evenly"]
