// The first incumbent, by local search over node orders: given an order, each node takes its cheapest candidate among
// its predecessors; a node is moved to where the sum falls most, until no move helps (insertion neighbourhood,
// Alonso-Barba et al. 2011), then the order is perturbed and the search continues. The same seed gives the same
// network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "base/progress.hpp"
#include "search/choices.hpp"

namespace credibn::search {

using base::Bits;
using base::ThrottledWatch;

template <int W>
class OrderSearch {
 public:
  OrderSearch(const Choices<W>& choices, std::uint64_t seed, ThrottledWatch& watch)
      : choices_(choices), random_(seed), watch_(watch), network_(std::size_t(choices.n())) {
    // A node may have no candidate without parents (required edges): then not every order has a network.
    for (int v = 0; v < choices.n(); ++v) impossible_ += choices.cost(v, choices.size(v) - 1) - choices.cost(v, 0) + 1;
  }

  // Improves `order`, and perturbs it until about `effort` candidates have been compared. Throws Stopped.
  void run(std::vector<int> order, std::uint64_t effort) {
    record(order);  // there is a network however soon the watch stops the search
    n_compared_ = 0;
    climb(order);
    std::vector<int> current = order;
    double current_cost = cost_of(order);
    record(order);
    const int n = choices_.n();
    while (n > 2 && n_compared_ < effort) {
      std::vector<int> perturbed = current;
      const int n_moves = 2 + int(random_() % 5);
      for (int k = 0; k < n_moves; ++k) {
        const std::size_t from = random_() % std::size_t(n), to = random_() % std::size_t(n);
        const int v = perturbed[from];
        perturbed.erase(perturbed.begin() + std::ptrdiff_t(from));
        perturbed.insert(perturbed.begin() + std::ptrdiff_t(to), v);
      }
      climb(perturbed);
      const double cost = cost_of(perturbed);
      if (cost <= current_cost + 1e-9) {
        current = perturbed;
        current_cost = cost;
      }
      record(perturbed);
    }
  }
  void run_from_random(std::uint64_t effort) {
    std::vector<int> order(std::size_t(choices_.n()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_() % k]);
    run(order, effort);
  }
  double cost() const { return best_; }
  bool is_possible() const { return best_ < std::numeric_limits<double>::infinity(); }
  const std::vector<std::uint32_t>& network() const { return network_; }

 private:
  // Position and cost of v's cheapest candidate within `before`.
  std::uint32_t pick(int v, const Bits<W>& before) {
    const Bits<W>* masks = choices_.masks(v);
    const std::size_t size = choices_.size(v);
    std::size_t k = 0;
    while (k < size && !masks[k].is_subset_of(before)) ++k;
    n_compared_ += k + 1;
    return std::uint32_t(k);
  }
  double price(int v, const Bits<W>& before) {
    const std::uint32_t k = pick(v, before);
    return k < choices_.size(v) ? choices_.cost(v, k) : choices_.cost(v, choices_.size(v) - 1) + impossible_;
  }
  double cost_of(const std::vector<int>& order) {
    Bits<W> before;
    double sum = 0;
    for (int v : order) {
      sum += price(v, before);
      before.set(v);
    }
    return sum;
  }
  void record(const std::vector<int>& order) {
    Bits<W> before;
    std::vector<std::uint32_t> network(order.size());
    for (int v : order) {
      network[std::size_t(v)] = pick(v, before);
      if (network[std::size_t(v)] == choices_.size(v)) return;
      before.set(v);
    }
    double sum = 0;  // in the order of the nodes, as all engines add
    for (int v = 0; v < choices_.n(); ++v) sum += choices_.cost(v, network[std::size_t(v)]);
    if (sum >= best_) return;
    best_ = sum;
    network_ = network;
  }
  void climb(std::vector<int>& order) {
    const std::size_t n = order.size();
    std::vector<double> prices(n);
    bool improved = true;
    while (improved) {
      improved = false;
      Bits<W> before;
      for (std::size_t k = 0; k < n; ++k) {
        prices[k] = price(order[k], before);
        before.set(order[k]);
      }
      for (std::size_t start = 0; start < n; ++start) {
        watch_.check();
        const std::size_t from = start;
        const int v = order[from];
        double best = -1e-9;
        std::size_t to = from;
        Bits<W> prefix;
        for (std::size_t k = 0; k < from; ++k) prefix.set(order[k]);
        // Later: v passes each following node, which loses v from its predecessors.
        double change = 0;
        Bits<W> passed = prefix;
        for (std::size_t k = from + 1; k < n; ++k) {
          change += price(order[k], passed) - prices[k];
          passed.set(order[k]);
          const double total = change + price(v, passed) - prices[from];
          if (total < best) best = total, to = k;
        }
        // Earlier: each node that v passes gains v.
        change = 0;
        passed = prefix;
        for (std::size_t k = from; k-- > 0;) {
          passed.reset(order[k]);
          Bits<W> with = passed;
          with.set(v);
          change += price(order[k], with) - prices[k];
          const double total = change + price(v, passed) - prices[from];
          if (total < best) best = total, to = k;
        }
        if (to == from) continue;
        improved = true;
        order.erase(order.begin() + std::ptrdiff_t(from));
        order.insert(order.begin() + std::ptrdiff_t(to), v);
        before = Bits<W>();
        for (std::size_t k = 0; k < n; ++k) {
          if (k >= std::min(from, to) && k <= std::max(from, to)) prices[k] = price(order[k], before);
          before.set(order[k]);
        }
      }
    }
  }

  const Choices<W>& choices_;
  std::mt19937_64 random_;
  ThrottledWatch& watch_;
  std::vector<std::uint32_t> network_;
  double best_ = std::numeric_limits<double>::infinity(), impossible_ = 0;
  std::uint64_t n_compared_ = 0;
};

}  // namespace credibn::search
