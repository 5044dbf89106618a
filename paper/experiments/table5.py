"""Table 5: how many classes are credible by BIC, in the samples of table 4."""

from paper.samples import sample_experiment

EXPERIMENT = sample_experiment("table5", "classes")
