// The order in which nodes are decided. It changes no answer, but the number of states by orders of magnitude: what
// counts is how many cheap arcs cross the frontier between decided and undecided nodes. Orders are found by simulated
// annealing on an estimate of that, then compared and improved by the states of a real diagram with a smaller limit.
// Components are decided one after the other. The same input gives the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
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
  // The best order found with about this many steps, judged by the steps of the diagrams up to `limits`.
  std::vector<int> search(const std::vector<Cost>& limits, const Allowance& allowed, std::size_t effort,
                          base::ThrottledWatch& watch) const {
    std::size_t spent = 0, best = kTooMany;
    std::vector<int> best_order;
    for (std::uint64_t start = 0; start < kStarts; ++start) {
      std::vector<int> order = annealed(start + 1, start % 3 == 0 ? 0.4 : start % 3 == 1 ? 0.7 : 1.2);
      const std::size_t steps =
          count_steps(order, limits, {allowed.bytes, std::min(best, effort / kStarts)}, spent, watch);
      if (steps < best || best_order.empty()) {
        best = steps;
        best_order = std::move(order);
      }
    }
    RandomNumbers random(1);
    std::vector<int> order = best_order;
    std::size_t current = best;
    const std::size_t most_tries = 40 * n_;
    for (std::size_t tries = 0; tries < most_tries && spent < effort && best > 2 * candidates_.size(); ++tries) {
      std::vector<int> other = order;
      if (!move(other, random) || !keeps_components(other)) continue;
      const std::size_t most = current == kTooMany ? effort / kStarts : current + current / 50;
      const std::size_t steps = count_steps(other, limits, {allowed.bytes, most}, spent, watch);
      if (steps == kTooMany || steps > current + current / 200) continue;
      current = steps;
      order = std::move(other);
      if (current < best) {
        best = current;
        best_order = order;
      }
    }
    return best_order;
  }

 private:
  static constexpr std::size_t kTooMany = ~std::size_t(0) / 2;
  static constexpr std::uint64_t kStarts = 6;

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
      const double chance = random.uniform();
      if (from == to) continue;
      std::vector<int> other = block;
      const int node = other[from];
      other.erase(other.begin() + std::ptrdiff_t(from));
      other.insert(other.begin() + std::ptrdiff_t(to), node);
      const double value = estimate(other, steepness, open);
      if (value > current && std::exp((current - value) / temperature) <= chance) continue;
      block = std::move(other);
      current = value;
      if (current < least) {
        least = current;
        best = block;
      }
    }
    block = best;
  }
  bool move(std::vector<int>& order, RandomNumbers& random) const {
    const std::size_t kind = random.below(3), i = random.below(n_), j = random.below(n_);
    const std::size_t length = kind == 1 ? 2 + random.below(6) : 1;
    if (kind == 2) {
      const std::size_t k = i + 1 + random.below(3);
      if (k >= n_) return false;
      std::swap(order[i], order[k]);
      return true;
    }
    if (i + length > n_) return false;
    std::vector<int> part(order.begin() + std::ptrdiff_t(i), order.begin() + std::ptrdiff_t(i + length));
    order.erase(order.begin() + std::ptrdiff_t(i), order.begin() + std::ptrdiff_t(i + length));
    if (kind == 1 && random.below(2)) std::reverse(part.begin(), part.end());
    order.insert(order.begin() + std::ptrdiff_t(std::min(j, order.size())), part.begin(), part.end());
    return true;
  }
  bool keeps_components(const std::vector<int>& order) const {
    std::vector<std::uint8_t> is_seen(n_, 0);
    for (std::size_t t = 0; t < n_; ++t) {
      const std::size_t k = std::size_t(component_[std::size_t(order[t])]);
      if (t > 0 && component_[std::size_t(order[t - 1])] == int(k)) continue;
      if (is_seen[k]) return false;
      is_seen[k] = 1;
    }
    return true;
  }
  std::size_t count_steps(const std::vector<int>& order, const std::vector<Cost>& limits, const Allowance& allowed,
                          std::size_t& spent, base::ThrottledWatch& watch) const {
    Deepening<W> deepening(candidates_, order);
    for (const Cost limit : limits) {
      const bool is_done = deepening.stage(limit, allowed, watch);
      spent += deepening.n_steps() + candidates_.size();
      if (!is_done) return kTooMany;
    }
    return deepening.n_steps();
  }

  const Candidates<W>& candidates_;
  std::size_t n_;
  std::vector<int> component_;
  std::vector<double> cheapness_;  // of arc p -> v: 1 for the cheapest, near 0 for those that hardly fit the limit
};

}  // namespace credibn::factored
