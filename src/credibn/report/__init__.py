"""Pages to read: what each stage has found, as one self-contained HTML file."""

from credibn.report.scoring_page import scoring_headline, write_scoring_page

__all__ = ["scoring_headline", "write_scoring_page"]
