"""Table 4: how many networks are credible by BIC, in samples of known networks."""

from paper.samples import sample_experiment

EXPERIMENT = sample_experiment("table4", "networks")
