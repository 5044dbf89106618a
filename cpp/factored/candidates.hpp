// The input of counting: for each node its candidate parent sets, with costs in whole steps of a grid, and lower bounds
// from dual values, rounded down to the same grid. So every sum and every comparison is exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/bits.hpp"

namespace credibn::factored {

using base::Bits;
using Cost = std::int64_t;

inline constexpr Cost kNever = std::numeric_limits<Cost>::max() / 4;

template <int W>
struct Candidates {
  int n = 0;
  std::vector<std::size_t> first;  // n + 1: candidates of node v are at first[v] to first[v + 1]
  std::vector<Cost> costs;
  std::vector<Bits<W>> parents;
  // For each bound j, every network costs at least lower[j] + the sum of reduced_cost(j, c) over its candidates c.
  std::vector<Cost> lower, reduced;

  Candidates(int n_nodes, const std::int64_t* offsets, const std::int64_t* cost_of, const std::uint64_t* masks,
             std::size_t words)
      : n(n_nodes), first(offsets, offsets + n_nodes + 1) {
    const std::size_t m = first.back();
    costs.assign(cost_of, cost_of + m);
    parents.resize(m);
    const Bits<W> all = Bits<W>::first(n);
    for (int v = 0; v < n; ++v) {
      if (first[std::size_t(v)] == first[std::size_t(v) + 1])
        throw std::invalid_argument("a node has no candidate parent set");
      for (std::size_t c = first[std::size_t(v)]; c < first[std::size_t(v) + 1]; ++c) {
        for (std::size_t k = 0; k < words; ++k) parents[c].words[k] = masks[c * words + k];
        if (parents[c].test(v) || !parents[c].is_subset_of(all))
          throw std::invalid_argument("a parent set holds its own child or an unknown node");
      }
    }
  }
  // Some of the candidates, with bounds on the networks that take no others.
  Candidates(const Candidates& all, const std::vector<std::uint32_t>& chosen, const std::int64_t* lowers,
             const std::int64_t* reduced_costs, std::size_t n_bounds)
      : n(all.n) {
    auto at = chosen.begin();
    for (int v = 0; v < n; ++v) {
      first.push_back(costs.size());
      for (; at != chosen.end() && *at < all.first[std::size_t(v) + 1]; ++at) {
        costs.push_back(all.costs[*at]);
        parents.push_back(all.parents[*at]);
      }
      if (first.back() == costs.size()) throw std::invalid_argument("a node has no candidate parent set");
    }
    first.push_back(costs.size());
    set_bounds(lowers, reduced_costs, n_bounds);
  }
  std::size_t size() const { return costs.size(); }
  std::size_t size(int v) const { return first[std::size_t(v) + 1] - first[std::size_t(v)]; }
  std::size_t n_bounds() const { return lower.size(); }
  Cost reduced_cost(std::size_t j, std::size_t c) const { return reduced[c * n_bounds() + j]; }
  // What no network costs less than, by the best of the bounds.
  Cost bound() const {
    Cost most = -kNever;
    for (std::size_t j = 0; j < n_bounds(); ++j) {
      Cost sum = lower[j];
      for (std::size_t v = 0; v < std::size_t(n); ++v) {
        Cost least = kNever;
        for (std::size_t c = first[v]; c < first[v + 1]; ++c) least = std::min(least, reduced_cost(j, c));
        sum += least;
      }
      most = std::max(most, sum);
    }
    return most;
  }
  // What no network with this candidate costs less than, by the best of the bounds.
  Cost least_with(std::size_t c) const {
    Cost least = -kNever;
    for (std::size_t j = 0; j < n_bounds(); ++j) least = std::max(least, lower[j] + reduced_cost(j, c));
    return least;
  }

 private:
  void set_bounds(const std::int64_t* lowers, const std::int64_t* reduced_costs, std::size_t n_bounds) {
    lower.assign(lowers, lowers + n_bounds);
    lower.push_back(0);
    reduced.resize(size() * (n_bounds + 1));
    for (int v = 0; v < n; ++v) {
      const std::size_t begin = first[std::size_t(v)], end = first[std::size_t(v) + 1];
      const Cost least = *std::min_element(costs.begin() + std::ptrdiff_t(begin), costs.begin() + std::ptrdiff_t(end));
      lower.back() += least;
      for (std::size_t c = begin; c < end; ++c) {
        Cost* of_candidate = &reduced[c * (n_bounds + 1)];
        for (std::size_t j = 0; j < n_bounds; ++j) of_candidate[j] = reduced_costs[j * size() + c];
        // The costs themselves are one more bound: the least of each node, and what a candidate costs beyond it.
        of_candidate[n_bounds] = costs[c] - least;
      }
    }
  }
};

}  // namespace credibn::factored
