"""Pages to read and figures to show: what each stage has found."""

from credibn.report.figures import edge_heat_map, gap_curve, overview
from credibn.report.learning_page import write_learning_page
from credibn.report.wording import learning_headline, scoring_headline

__all__ = [
    "edge_heat_map",
    "gap_curve",
    "learning_headline",
    "overview",
    "scoring_headline",
    "write_learning_page",
]
