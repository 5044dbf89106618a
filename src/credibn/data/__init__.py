"""From a table to a `Dataset`: coded columns over distinct rows with counts."""

from credibn.data.dataset import Dataset
from credibn.data.reading import read_data

__all__ = ["Dataset", "read_data"]
