"""Pages to read and figures to show: what each stage has found."""

from credibn.report.comparing import plot_difference
from credibn.report.figures import edge_heat_map, gap_curve, overview
from credibn.report.layout import Layout
from credibn.report.learning_page import write_learning_page
from credibn.report.wording import learning_headline, scoring_headline

__all__ = [
    "Layout",
    "edge_heat_map",
    "gap_curve",
    "learning_headline",
    "overview",
    "plot_difference",
    "scoring_headline",
    "write_learning_page",
]
