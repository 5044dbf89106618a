// The order in which nodes are decided. It changes no answer, but the number of states by orders of magnitude: what
// counts is how many cheap arcs cross the frontier between decided and undecided nodes. Orders are found by simulated
// annealing on an estimate of that, then compared by the states of real diagrams with smaller limits, and improved node
// by node. Components are decided one after the other. The same input gives the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "factored/deepening.hpp"

namespace credibn::factored {

class RandomNumbers {  // splitmix64: the same on every machine
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return std::size_t(next() % n); }
  double uniform() { return double(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

template <int W>
class NodeOrders {
 public:
  NodeOrders(const Candidates<W>& candidates, Cost limit) : candidates_(candidates), n_(std::size_t(candidates.n)) {
    std::vector<Bits<W>> children;
    component_ = components(candidates, children);
    cheapness_.assign(n_ * n_, 0.0);
    Cost least = limit;
    for (std::size_t c = 0; c < candidates.size(); ++c) least = std::min(least, candidates.least_with(c));
    const double width = std::max(1.0, double(limit - least));
    for (std::size_t v = 0; v < n_; ++v)
      for (std::size_t c = candidates.first[v]; c < candidates.first[v + 1]; ++c) {
        const double weight = std::exp(-4.0 * std::max(0.0, double(candidates.least_with(c) - least)) / width);
        candidates.parents[c].each([&](int p) {
          double& known = cheapness_[std::size_t(p) * n_ + v];
          known = std::max(known, weight);
        });
      }
  }
  // An order that is good by the estimate.
  std::vector<int> annealed(std::uint64_t seed, double steepness) const {
    RandomNumbers random(seed);
    std::vector<int> order;
    for (std::size_t k = 0, n_done = 0; n_done < n_; ++k) {
      std::vector<int> block;
      for (std::size_t v = 0; v < n_; ++v)
        if (component_[v] == int(k)) block.push_back(int(v));
      if (block.size() > 2) anneal(block, steepness, random);
      order.insert(order.end(), block.begin(), block.end());
      n_done += block.size();
    }
    return order;
  }
  // The best of several such orders, judged by the steps of their diagrams up to growing limits: after each, the better
  // half remains.
  std::vector<int> best(Cost lowest, Cost limit, const Allowance& allowed, base::ThrottledWatch& watch) const {
    std::vector<Trial> trials;
    for (std::uint64_t seed = 1; seed <= kTrialsEach; ++seed)
      for (const double steepness : {0.7, 0.2, 0.4, 1.2, 2.0})
        trials.push_back({std::make_unique<Deepening<W>>(candidates_, annealed(seed, steepness), limit), 0});
    for (const double part : {0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}) {
      const Cost here = lowest + Cost(part * double(std::max<Cost>(0, limit - lowest)));
      std::size_t fewest = std::min(kMostSteps, allowed.steps);
      for (Trial& trial : trials) {
        const Allowance left{allowed.bytes / trials.size(), 2 * fewest};
        trial.steps = trial.deepening->stage(here, left, watch) ? trial.deepening->n_steps() : kTooMany;
        fewest = std::min(fewest, trial.steps);
      }
      std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.steps < b.steps; });
      if (fewest < 4 * candidates_.size()) continue;  // too easy to tell them apart
      trials.resize((trials.size() + 1) / 2);
      while (trials.back().steps == kTooMany && trials.size() > 1) trials.pop_back();
      if (trials.size() == 1) break;
    }
    return trials.front().deepening->order();
  }
  // The better of two orders, judged by their steps up to the same part of the limit.
  std::vector<int> better(const std::vector<int>& a, const std::vector<int>& b, Cost lowest, Cost limit,
                          const Allowance& allowed, base::ThrottledWatch& watch) const {
    for (double part = kFirstPart; part < 1.0; part *= kPartGrowth) {
      const std::size_t of_a = steps_up_to(a, part, lowest, limit, {allowed.bytes, kMostSteps}, watch);
      const std::size_t of_b = steps_up_to(b, part, lowest, limit, {allowed.bytes, kMostSteps}, watch);
      if (of_a == kTooMany || of_b == kTooMany) return of_a <= of_b ? a : b;
    }
    return a;
  }
  // An order with fewer steps than this one, if any is found: nodes are moved one at a time, within their component,
  // and what takes fewer steps is retained. Trials are short at first, up to a small part of the limit, then longer.
  // They take about `most_steps` in all.
  std::vector<int> improved(std::vector<int> order, Cost lowest, Cost limit, const Allowance& allowed,
                            std::size_t most_steps, base::ThrottledWatch& watch) const {
    std::vector<std::size_t> begin(n_), end(n_);  // of the component of each position
    for (std::size_t t = 0; t < n_; ++t)
      begin[t] = t > 0 && component_[std::size_t(order[t])] == component_[std::size_t(order[t - 1])] ? begin[t - 1] : t;
    for (std::size_t t = n_; t-- > 0;) end[t] = t + 1 < n_ && begin[t + 1] == begin[t] ? end[t + 1] : t + 1;
    RandomNumbers random(1);
    for (const std::size_t trial_steps : kTrialSteps) {
      double part = kFirstPart;
      std::size_t fewest = 0;
      for (; part < 1.0; part *= kPartGrowth) {
        fewest = steps_up_to(order, part, lowest, limit, {allowed.bytes, 10 * trial_steps}, watch);
        if (fewest >= trial_steps) break;
      }
      if (fewest == kTooMany) continue;
      for (std::size_t k = 0, n_done = 0; 3 * n_done < most_steps && k < kMostMoves; ++k) {
        const std::size_t from = random.below(n_), to = begin[from] + random.below(end[from] - begin[from]);
        if (from == to) continue;
        std::vector<int> other = order;
        other.erase(other.begin() + std::ptrdiff_t(from));
        other.insert(other.begin() + std::ptrdiff_t(to), order[from]);
        const std::size_t steps = steps_up_to(other, part, lowest, limit, {allowed.bytes, fewest}, watch);
        n_done += std::min(steps, fewest);
        if (steps >= fewest) continue;
        fewest = steps;
        order = std::move(other);
      }
    }
    return order;
  }

 private:
  // How many steps an order takes up to a part of the limit, in two stages.
  std::size_t steps_up_to(const std::vector<int>& order, double part, Cost lowest, Cost limit, const Allowance& allowed,
                          base::ThrottledWatch& watch) const {
    Deepening<W> deepening(candidates_, order, limit);
    std::size_t sum = 0;
    for (const double share : {0.6, 1.0}) {
      const Cost here = std::min(limit, lowest + Cost(share * part * double(std::max<Cost>(0, limit - lowest))));
      const bool is_done = deepening.stage(here, {allowed.bytes, allowed.steps - sum}, watch);
      sum += deepening.n_steps();
      if (!is_done || sum >= allowed.steps) return kTooMany;
    }
    return sum;
  }

  struct Trial {
    std::unique_ptr<Deepening<W>> deepening;
    std::size_t steps;
  };
  static constexpr std::size_t kTooMany = ~std::size_t(0) / 2;
  static constexpr std::uint64_t kTrialsEach = 2;
  static constexpr std::size_t kMostSteps = 50'000, kMostMoves = 2'000;
  static constexpr std::size_t kTrialSteps[] = {1'000, 4'000, 16'000};
  static constexpr double kFirstPart = 0.15, kPartGrowth = 1.2;

  // The sum over the layers of exp(steepness * the cheap arcs' ends that the frontier holds), as a logarithm.
  double estimate(const std::vector<int>& block, double steepness, std::vector<double>& open) const {
    double sum = 0.0;
    std::vector<std::uint8_t> is_decided(block.size(), 0);
    open.assign(block.size(), 0.0);  // of an undecided node: arcs to decided ones; of a decided one: the other way
    for (std::size_t t = 0; t < block.size(); ++t) {
      const std::size_t v = std::size_t(block[t]);
      is_decided[t] = 1;
      open[t] = 0.0;
      double width = 0.0;
      for (std::size_t s = 0; s < block.size(); ++s) {
        const std::size_t x = std::size_t(block[s]);
        if (s != t) {
          if (is_decided[s]) {
            open[s] -= cheapness_[x * n_ + v];
          } else {
            open[s] += cheapness_[x * n_ + v];
            open[t] += cheapness_[v * n_ + x];
          }
        }
      }
      for (std::size_t s = 0; s < block.size(); ++s)
        if (open[s] > 1e-9) width += std::min(1.0, open[s]) + 0.1;
      sum += std::exp(steepness * width);
    }
    return std::log(sum);
  }
  void anneal(std::vector<int>& block, double steepness, RandomNumbers& random) const {
    for (std::size_t k = block.size(); k-- > 1;) std::swap(block[k], block[random.below(k + 1)]);
    const std::size_t rounds = std::min<std::size_t>(20'000, 40'000'000 / (block.size() * block.size()));
    std::vector<double> open;
    std::vector<int> best = block;
    double current = estimate(block, steepness, open), least = current;
    for (std::size_t round = 0; round < rounds; ++round) {
      const double temperature = 0.5 * (1.0 - double(round) / double(rounds)) + 1e-3;
      const std::size_t from = random.below(block.size()), to = random.below(block.size());
      const double toss = random.uniform();
      if (from == to) continue;
      std::vector<int> other = block;
      const int node = other[from];
      other.erase(other.begin() + std::ptrdiff_t(from));
      other.insert(other.begin() + std::ptrdiff_t(to), node);
      const double value = estimate(other, steepness, open);
      if (value > current && std::exp((current - value) / temperature) <= toss) continue;
      block = std::move(other);
      current = value;
      if (current < least) {
        least = current;
        best = block;
      }
    }
    block = best;
  }
  const Candidates<W>& candidates_;
  std::size_t n_;
  std::vector<int> component_;
  std::vector<double> cheapness_;  // of arc p -> v: 1 for the cheapest, near 0 for those that hardly fit the limit
};

}  // namespace credibn::factored
