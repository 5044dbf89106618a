// A good network by local search over node orders: given an order, each node takes its cheapest candidate among its
// predecessors; a node is moved to where the sum falls most, until no move helps (insertion neighbourhood, Alonso-Barba
// et al. 2011), then the order is shaken and the search goes on. The same seed gives the same network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "choices.hpp"
#include "progress.hpp"

namespace credibn {

template <int W>
class OrderSearch {
 public:
  OrderSearch(const Choices<W>& choices, std::uint64_t seed, PatientWatch& watch)
      : choices_(choices), random_(seed), watch_(watch), row_(std::size_t(choices.n())) {
    // A node may have no candidate without parents (required edges): then not every order has a network.
    for (int v = 0; v < choices.n(); ++v) impossible_ += choices.cost(v, choices.size(v) - 1) - choices.cost(v, 0) + 1;
  }

  // Improves `order`, shaking it until about `effort` candidates have been looked at. Throws Stopped.
  void run(std::vector<int> order, std::uint64_t effort) {
    keep(order);  // something is known however soon the watch says stop
    looked_ = 0;
    climb(order);
    std::vector<int> current = order;
    double current_cost = cost_of(order);
    keep(order);
    const int n = choices_.n();
    while (n > 2 && looked_ < effort) {
      std::vector<int> shaken = current;
      const int n_moves = 2 + int(random_() % 5);
      for (int k = 0; k < n_moves; ++k) {
        const std::size_t from = random_() % std::size_t(n), to = random_() % std::size_t(n);
        const int v = shaken[from];
        shaken.erase(shaken.begin() + std::ptrdiff_t(from));
        shaken.insert(shaken.begin() + std::ptrdiff_t(to), v);
      }
      climb(shaken);
      const double cost = cost_of(shaken);
      if (cost <= current_cost + 1e-9) {
        current = shaken;
        current_cost = cost;
      }
      keep(shaken);
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
  const std::vector<std::uint32_t>& row() const { return row_; }

 private:
  // Position and cost of v's cheapest candidate within `before`.
  std::uint32_t pick(int v, const Bits<W>& before) {
    const Bits<W>* masks = choices_.masks(v);
    const std::size_t size = choices_.size(v);
    std::size_t k = 0;
    while (k < size && !masks[k].is_subset_of(before)) ++k;
    looked_ += k + 1;
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
  void keep(const std::vector<int>& order) {
    Bits<W> before;
    std::vector<std::uint32_t> row(order.size());
    for (int v : order) {
      row[std::size_t(v)] = pick(v, before);
      if (row[std::size_t(v)] == choices_.size(v)) return;
      before.set(v);
    }
    double sum = 0;  // in the order of the nodes, as all engines add
    for (int v = 0; v < choices_.n(); ++v) sum += choices_.cost(v, row[std::size_t(v)]);
    if (sum >= best_) return;
    best_ = sum;
    row_ = row;
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
  PatientWatch& watch_;
  std::vector<std::uint32_t> row_;
  double best_ = std::numeric_limits<double>::infinity(), impossible_ = 0;
  std::uint64_t looked_ = 0;
};

}  // namespace credibn
