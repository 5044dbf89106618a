# Networks by the Bayesian Dirichlet score with a uniform prior (BDeu) with R's package deal.
# Arguments: a CSV file, the equivalent sample size, and "search" (greedy) or "all" (every network).
# Prints CPU seconds, then one line for each network: score, then parent:child pairs of column numbers.
suppressPackageStartupMessages(library(deal))
given <- commandArgs(trailingOnly = TRUE)
data <- read.csv(given[1], colClasses = "factor")
start <- proc.time()
sink(nullfile())
empty <- network(data)
prior <- jointprior(empty, as.numeric(given[2]))
networks <- if (given[3] == "all") {
  networkfamily(data, empty, prior)$nw
} else {
  list(autosearch(learn(empty, data, prior)$nw, data, prior, trace = FALSE)$nw)
}
sink()
cat(sum((proc.time() - start)[c("user.self", "sys.self")]), "\n")
for (found in networks) {
  edges <- unlist(lapply(found$nodes, function(node) {
    if (length(node$parents)) paste(node$parents, node$idx, sep = ":")
  }))
  cat(format(found$score, digits = 15), edges, "\n")
}
