"""Pages to read and figures to show: what each stage has found."""

from credibn.report.comparing import plot_difference
from credibn.report.figures import edge_heat_map, gap_curve, overview
from credibn.report.imputation_page import write_imputation_page
from credibn.report.layout import Layout
from credibn.report.learning_page import write_learning_page
from credibn.report.networks import network_svg, plot_network
from credibn.report.wording import learning_headline, scoring_headline

__all__ = [
    "Layout",
    "edge_heat_map",
    "gap_curve",
    "learning_headline",
    "network_svg",
    "overview",
    "plot_difference",
    "plot_network",
    "scoring_headline",
    "write_imputation_page",
    "write_learning_page",
]
