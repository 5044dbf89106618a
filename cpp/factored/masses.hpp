// How much of the weight exp(-cost) lies with the networks up to some cost, and with those that leave some candidates
// out. Both come from the lists of costs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "factored/cost_lists.hpp"

namespace credibn::factored {

class Masses {
 public:
  static constexpr std::size_t kTogether = 8;  // sets of candidates that one pass leaves out
  using Row = std::array<double, kTogether>;

  // step: what one unit of cost is worth in nats. Weights are relative to that of the best network.
  Masses(const Diagram& diagram, const PathCounts& counts, double step)
      : diagram_(diagram), counts_(counts), step_(step), best_(diagram.best()) {}

  // The sum of the weights of the networks that cost at most each limit: it never falls as the limit grows.
  std::vector<double> up_to(const Cost* limits, std::size_t n_limits) const {
    const CostLists &f = counts_.forward(counts_.meeting()), &b = counts_.backward(counts_.meeting());
    const std::vector<double> of_forward = weights(f), of_backward = weights(b);
    std::vector<double> sums(n_limits, 0.0);
    for (std::size_t i = 0; i + 1 < f.first.size(); ++i) {
      if (f.first[i] == f.first[i + 1] || b.first[i] == b.first[i + 1]) continue;
      const double scale = weight(f.costs[f.first[i]] + b.costs[b.first[i]] - best_);
      for (std::size_t k = 0; k < n_limits; ++k) {
        const Cost limit = std::min(limits[k], diagram_.limit);
        double below = 0.0, sum = 0.0;
        std::size_t q = b.first[i];
        for (std::size_t p = f.first[i + 1]; p-- > f.first[i];) {
          for (; q < b.first[i + 1] && f.costs[p] + b.costs[q] <= limit; ++q) below += of_backward[q];
          sum += of_forward[p] * below;
        }
        sums[k] += scale * sum;
      }
    }
    return sums;
  }
  // Bit k of left_out[c]: set k holds candidate c. Returns the sum of the weights of the networks that take no
  // candidate of each set.
  Row without(const std::uint8_t* left_out) const {
    std::vector<Row> before(counts_.forward(0).size(), ones()), after(counts_.backward(diagram_.n()).size(), ones());
    for (std::size_t t = 0; t < counts_.meeting(); ++t)
      before = extended(t, counts_.forward(t), counts_.forward(t + 1), true, before, left_out);
    for (std::size_t t = diagram_.n(); t-- > counts_.meeting();)
      after = extended(t, counts_.backward(t + 1), counts_.backward(t), false, after, left_out);
    return met(before, after);
  }

 private:
  static Row ones() {
    Row row;
    row.fill(1.0);
    return row;
  }
  double weight(Cost cost) const { return std::exp(-double(cost) * step_); }

  // Of the entries of each state, relative to its cheapest.
  std::vector<double> weights(const CostLists& lists) const {
    std::vector<double> found(lists.size());
    for (std::size_t i = 0; i + 1 < lists.first.size(); ++i)
      for (std::size_t p = lists.first[i]; p < lists.first[i + 1]; ++p)
        found[p] = to_double(&lists.counts[p * counts_.words()], counts_.words()) *
                   weight(lists.costs[p] - lists.costs[lists.first[i]]);
    return found;
  }
  // The number of paths of each entry of `target`, from those of `lists` one layer away.
  std::vector<Row> extended(std::size_t t, const CostLists& lists, const CostLists& target, bool is_forward,
                            const std::vector<Row>& known, const std::uint8_t* left_out) const {
    const Layer& layer = diagram_.layers[t];
    std::vector<Row> found(target.size(), Row{});
    for (std::size_t i = 0; i < layer.size(); ++i)
      for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[e];
        const Cost cost = diagram_.costs[edge.candidate];
        const std::size_t from = is_forward ? i : edge.to, to = is_forward ? edge.to : i, end = target.first[to + 1];
        Row factors;
        for (std::size_t k = 0; k < kTogether; ++k) factors[k] = left_out[edge.candidate] >> k & 1 ? 0.0 : 1.0;
        std::size_t y = target.first[to];
        for (std::size_t p = lists.first[from]; p < lists.first[from + 1]; ++p) {
          const Cost sum = lists.costs[p] + cost;
          while (y < end && target.costs[y] < sum) ++y;
          if (y == end) break;
          if (target.costs[y] != sum) continue;
          for (std::size_t k = 0; k < kTogether; ++k) found[y][k] += factors[k] * known[p][k];
        }
      }
    return found;
  }
  Row met(const std::vector<Row>& before, const std::vector<Row>& after) const {
    const CostLists &f = counts_.forward(counts_.meeting()), &b = counts_.backward(counts_.meeting());
    Row total{};
    for (std::size_t i = 0; i + 1 < f.first.size(); ++i) {
      if (f.first[i] == f.first[i + 1] || b.first[i] == b.first[i + 1]) continue;
      const Cost least = f.costs[f.first[i]], other_least = b.costs[b.first[i]];
      const double scale = weight(least + other_least - best_);
      Row below{};
      std::size_t q = b.first[i];
      for (std::size_t p = f.first[i + 1]; p-- > f.first[i];) {
        for (; q < b.first[i + 1] && f.costs[p] + b.costs[q] <= diagram_.limit; ++q) {
          const double here = weight(b.costs[q] - other_least);
          for (std::size_t k = 0; k < kTogether; ++k) below[k] += here * after[q][k];
        }
        const double here = scale * weight(f.costs[p] - least);
        for (std::size_t k = 0; k < kTogether; ++k) total[k] += here * before[p][k] * below[k];
      }
    }
    return total;
  }

  const Diagram& diagram_;
  const PathCounts& counts_;
  double step_;
  Cost best_;
};

}  // namespace credibn::factored
