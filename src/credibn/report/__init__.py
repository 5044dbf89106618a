"""Pages to read: what each stage has found, as one self-contained HTML file."""

from credibn.report.learning_page import learning_headline, write_learning_page
from credibn.report.scoring_page import scoring_headline, write_scoring_page

__all__ = ["learning_headline", "scoring_headline", "write_learning_page", "write_scoring_page"]
