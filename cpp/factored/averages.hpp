// Averages over the networks of a diagram, each with the weight exp(-cost), and random networks, from the lists of
// costs: one pass forward and one backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "factored/cost_lists.hpp"

namespace credibn::factored {

class WeightedPaths {
 public:
  // step: what one unit of cost is worth in nats; 0 gives all networks the same weight.
  WeightedPaths(const Diagram& diagram, const PathCounts& counts, double step)
      : diagram_(diagram), counts_(counts), step_(step) {
    meet();
  }
  // The sum of the weights, relative to the best network's.
  double total() const { return total_; }

  // The sum of the weights of the networks that take each candidate, relative to all.
  std::vector<double> shares() const {
    std::vector<double> of_candidates(diagram_.costs.size(), 0.0);
    std::vector<double> outside = of_forward_, other;
    for (std::size_t t = counts_.meeting(); t-- > 0;) {
      other.assign(counts_.forward(t).size(), 0.0);
      pass_on(t, counts_.forward(t), counts_.forward(t + 1), true, outside, other, of_candidates);
      outside.swap(other);
    }
    outside = of_backward_;
    for (std::size_t t = counts_.meeting(); t < diagram_.n(); ++t) {
      other.assign(counts_.backward(t + 1).size(), 0.0);
      pass_on(t, counts_.backward(t + 1), counts_.backward(t), false, outside, other, of_candidates);
      outside.swap(other);
    }
    for (double& share : of_candidates) share /= total_;
    return of_candidates;
  }
  // One random network for every n + 2 random numbers, uniform in [0, 1): the candidate of each node.
  void sample(const double* random, std::size_t n_samples, std::uint32_t* chosen, std::vector<Cost>& costs) {
    if (cumulated_.empty()) {
      cumulated_.resize(of_forward_.size());
      double sum = 0.0;
      for (std::size_t p = 0; p < of_forward_.size(); ++p)
        cumulated_[p] = sum += count(counts_.forward(counts_.meeting()), p) * of_forward_[p];
      for (std::size_t t = 0; t < counts_.meeting(); ++t)
        incoming_.emplace_back(diagram_.layers[t], diagram_.layers[t + 1].size());
    }
    const std::size_t n = diagram_.n();
    for (std::size_t k = 0; k < n_samples; ++k) costs.push_back(sample_one(random + k * (n + 2), chosen + k * n));
  }

 private:
  double count(const CostLists& lists, std::size_t p) const {
    return to_double(&lists.counts[p * counts_.words()], counts_.words());
  }
  double weight(Cost cost) const { return std::exp(-double(cost) * step_); }

  // Where the lists meet: the weight of all that completes a forward entry, and of all that a backward entry completes.
  void meet() {
    const CostLists &f = counts_.forward(counts_.meeting()), &b = counts_.backward(counts_.meeting());
    of_forward_.assign(f.size(), 0.0);
    of_backward_.assign(b.size(), 0.0);
    const Cost best = diagram_.best();
    for (std::size_t i = 0; i + 1 < f.first.size(); ++i) {
      if (f.first[i] == f.first[i + 1] || b.first[i] == b.first[i + 1]) continue;
      complete(f, b, i, best, of_forward_);
      complete(b, f, i, best, of_backward_);
    }
    double lost = 0.0;
    for (std::size_t p = 0; p < f.size(); ++p) {  // with compensation
      const double term = count(f, p) * of_forward_[p], sum = total_ + term;
      lost += total_ >= term ? (total_ - sum) + term : (term - sum) + total_;
      total_ = sum;
    }
    total_ += lost;
  }
  void complete(const CostLists& these, const CostLists& others, std::size_t i, Cost best,
                std::vector<double>& found) const {
    const Cost least = these.costs[these.first[i]], other_least = others.costs[others.first[i]];
    double below = 0.0;
    std::size_t q = others.first[i];
    for (std::size_t p = these.first[i + 1]; p-- > these.first[i];) {
      for (; q < others.first[i + 1] && these.costs[p] + others.costs[q] <= diagram_.limit; ++q)
        below += count(others, q) * weight(others.costs[q] - other_least);
      found[p] = below * weight(these.costs[p] - least) * weight(least + other_least - best);
    }
  }
  // Each entry of `lists` goes, by each edge of layer t, into an entry of `target` whose outside weight is known.
  void pass_on(std::size_t t, const CostLists& lists, const CostLists& target, bool is_forward,
               const std::vector<double>& outside, std::vector<double>& own, std::vector<double>& of_candidates) const {
    const Layer& layer = diagram_.layers[t];
    for (std::size_t i = 0; i < layer.size(); ++i)
      for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[e];
        const Cost cost = diagram_.costs[edge.candidate];
        const std::size_t from = is_forward ? i : edge.to, to = is_forward ? edge.to : i;
        double sum = 0.0;
        std::size_t y = target.first[to];
        for (std::size_t p = lists.first[from]; p < lists.first[from + 1]; ++p) {
          y = find(target, y, target.first[to + 1], lists.costs[p] + cost);
          if (y == target.first[to + 1]) break;
          if (target.costs[y] != lists.costs[p] + cost) continue;
          own[p] += outside[y];
          sum += count(lists, p) * outside[y];
        }
        of_candidates[edge.candidate] += sum;
      }
  }
  static std::size_t find(const CostLists& lists, std::size_t begin, std::size_t end, Cost cost) {
    const auto at =
        std::lower_bound(lists.costs.begin() + std::ptrdiff_t(begin), lists.costs.begin() + std::ptrdiff_t(end), cost);
    return std::size_t(at - lists.costs.begin());
  }
  Cost sample_one(const double* random, std::uint32_t* chosen) const {
    const std::size_t m = counts_.meeting(), n = diagram_.n();
    const CostLists &f = counts_.forward(m), &b = counts_.backward(m);
    const auto at = std::upper_bound(cumulated_.begin(), cumulated_.end(), *random++ * cumulated_.back());
    const std::size_t p = std::min(std::size_t(at - cumulated_.begin()), cumulated_.size() - 1);
    const std::size_t state = std::size_t(std::upper_bound(f.first.begin(), f.first.end(), p) - f.first.begin()) - 1;
    const Cost room = diagram_.limit - f.costs[p], least = b.costs[b.first[state]];
    double sum = 0.0;
    auto share = [&](std::size_t q) { return count(b, q) * weight(b.costs[q] - least); };
    std::size_t end = b.first[state];
    for (; end < b.first[state + 1] && b.costs[end] <= room; ++end) sum += share(end);
    double left = *random++ * sum;
    std::size_t q = b.first[state];
    for (; q + 1 < end && left >= share(q); ++q) left -= share(q);
    Cost cost = f.costs[p];
    std::size_t at_state = state;
    for (std::size_t t = m; t-- > 0;) {
      const Incoming& incoming = incoming_[t];
      const Layer& layer = diagram_.layers[t];
      const std::size_t last = incoming.first[at_state + 1];
      auto ways = [&](std::size_t e) {
        const Edge& edge = layer.edges[incoming.edges[e]];
        return entry(counts_.forward(t), incoming.states[e], cost - diagram_.costs[edge.candidate]);
      };
      const std::size_t e = pick(incoming.first[at_state], last, *random++, ways);
      const Edge& edge = layer.edges[incoming.edges[e]];
      chosen[diagram_.order[t]] = edge.candidate;
      cost -= diagram_.costs[edge.candidate];
      at_state = incoming.states[e];
    }
    cost = b.costs[q];
    at_state = state;
    for (std::size_t t = m; t < n; ++t) {
      const Layer& layer = diagram_.layers[t];
      auto ways = [&](std::size_t e) {
        return entry(counts_.backward(t + 1), layer.edges[e].to, cost - diagram_.costs[layer.edges[e].candidate]);
      };
      const Edge& edge = layer.edges[pick(layer.first[at_state], layer.first[at_state + 1], *random++, ways)];
      chosen[diagram_.order[t]] = edge.candidate;
      cost -= diagram_.costs[edge.candidate];
      at_state = edge.to;
    }
    return f.costs[p] + b.costs[q];
  }
  // The number of paths of a state with exactly this cost.
  double entry(const CostLists& lists, std::size_t state, Cost cost) const {
    const std::size_t at = find(lists, lists.first[state], lists.first[state + 1], cost);
    return at < lists.first[state + 1] && lists.costs[at] == cost ? count(lists, at) : 0.0;
  }
  template <class Ways>
  static std::size_t pick(std::size_t begin, std::size_t end, double random, Ways&& ways) {
    double sum = 0.0;
    std::size_t last = begin;
    for (std::size_t e = begin; e < end; ++e) sum += ways(e);
    double left = random * sum;
    for (std::size_t e = begin; e < end; ++e) {
      const double here = ways(e);
      if (here == 0.0) continue;
      last = e;
      if (left < here) break;
      left -= here;
    }
    return last;
  }

  const Diagram& diagram_;
  const PathCounts& counts_;
  double step_, total_ = 0.0;
  std::vector<double> of_forward_, of_backward_, cumulated_;
  std::vector<Incoming> incoming_;
};

}  // namespace credibn::factored
