// Recomputes the costs of the candidates that the descent engine has found with terms on the fine grid: the same
// numbers as those of the table engine. One pass over the rows that share their cell for each candidate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "scoring/candidates.hpp"
#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

using base::StopFlag;

class ExactCosts {
 public:
  ExactCosts(const Table& table, const Grid& grid, const Request& request, const TermPool<std::int64_t>& terms)
      : table_(table), grid_(grid), request_(request), lent_(terms.borrow()), terms_(*lent_), no_parent_(table.n_rows) {
    levels_.push_back({one_cell(table), -1, 1.0, 0});
  }

  // Replaces the costs of candidates of one child.
  void recompute(Candidates& found, const StopFlag& stop) {
    std::vector<std::vector<int>> parents(found.costs.size());
    for (std::size_t c = 0; c < parents.size(); ++c)
      for (int v = 0; v < request_.n; ++v)
        if (found.masks[c * std::size_t(found.words) + std::size_t(v) / 64] >> (v % 64) & 1) parents[c].push_back(v);
    std::vector<std::size_t> order(parents.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return parents[a] < parents[b]; });
    for (std::size_t c : order) {
      stop.check();
      found.costs[c] = cost(found.nodes[c], parents[c]);
    }
  }

 private:
  // The partition by the parents up to one of them, without rows that are alone in their cell and seen once.
  struct Level {
    Partition partition;
    int last;
    double configurations;
    std::uint64_t dropped;
  };

  // The partition by the first `size` of the parents. Those that this set shares with the previous one are there.
  const Level& partition_by(const std::vector<int>& parents, std::size_t size) {
    std::size_t depth = 0;
    while (depth < size && depth + 1 < n_levels_ && levels_[depth + 1].last == parents[depth]) ++depth;
    for (; depth < size; ++depth) {
      if (levels_.size() == depth + 1) levels_.emplace_back();
      const Level& from = levels_[depth];
      Level& to = levels_[depth + 1];
      to.last = parents[depth];
      to.configurations = from.configurations * table_.arities[std::size_t(to.last)];
      to.dropped = from.dropped + refine(table_, from.partition, to.last, to.partition,
                                         [&](const WeightedRow* begin, const WeightedRow* end) {
                                           return end - begin > 1 || begin->weight > 1;
                                         });
    }
    n_levels_ = size + 1;
    return levels_[size];
  }

  // The rows are only counted by the last parent, not sorted: few sets share all their parents with a larger one.
  double cost(int child, const std::vector<int>& parents) {
    const std::size_t size = parents.size();
    const Level& level = partition_by(parents, size > 0 ? size - 1 : 0);
    const Code *codes = table_.column(child),
               *last_codes = size > 0 ? table_.column(parents.back()) : no_parent_.data();
    const auto arity = std::size_t(table_.arities[std::size_t(child)]);
    const auto n_states = size > 0 ? std::size_t(table_.arities[std::size_t(parents.back())]) : 1;
    terms_.trim();
    const double configurations = level.configurations * double(n_states);
    const double family_configurations = configurations * double(arity);
    const FineTerms &of_parents = terms_.of(configurations), &of_family = terms_.of(family_configurations);
    const auto dropped = std::int64_t(level.dropped);
    std::int64_t parents_sum = dropped * of_parents(1), family_sum = dropped * of_family(1);
    counts_.resize(std::max(counts_.size(), arity * n_states));
    totals_.resize(std::max(totals_.size(), n_states));
    for (std::size_t c = 0; c < level.partition.n_cells(); ++c) {
      const WeightedRow *begin = level.partition.cell_begin(c), *end = level.partition.cell_end(c);
      for (const WeightedRow* row = begin; row < end; ++row) {
        counts_[last_codes[row->index] * arity + codes[row->index]] += row->weight;
        totals_[last_codes[row->index]] += row->weight;
      }
      const auto take = [](std::uint64_t& count, const FineTerms& terms) { return terms(std::exchange(count, 0)); };
      if (arity * n_states < std::size_t(end - begin)) {
        for (std::size_t k = 0; k < arity * n_states; ++k) family_sum += take(counts_[k], of_family);
        for (std::size_t s = 0; s < n_states; ++s) parents_sum += take(totals_[s], of_parents);
      } else {
        for (const WeightedRow* row = begin; row < end; ++row) {
          family_sum += take(counts_[last_codes[row->index] * arity + codes[row->index]], of_family);
          parents_sum += take(totals_[last_codes[row->index]], of_parents);
        }
      }
    }
    double cost = (terms_.constant(family_configurations) - grid_.from_fine(family_sum)) -
                  (terms_.constant(configurations) - grid_.from_fine(parents_sum));
    for (int v : parents) cost += request_.edge_cost(v, child);
    return cost;
  }

  const Table& table_;
  const Grid grid_;
  const Request& request_;
  const std::shared_ptr<TermTables<std::int64_t>> lent_;
  TermTables<std::int64_t>& terms_;
  std::vector<Level> levels_;
  std::size_t n_levels_ = 1;
  const std::vector<Code> no_parent_;           // one state for all rows
  std::vector<std::uint64_t> counts_, totals_;  // of a cell, by the last parent and the child; zero between cells
};

}  // namespace credibn::scoring
