// Within an equivalence class, all members equally likely: how probable each parent set of each node is, and random
// members. Both follow the beginnings of Clique-Picking (classes/chordal.hpp) from a component down to its single
// nodes, so no class is ever listed.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "classes/chordal.hpp"

namespace credibn::averages {

using base::BigCount;
using base::Bits;
using base::WordsHash;
using classes::Beginning;
using classes::Component;
using classes::OrientationCounter;

// The probability that a node has exactly these parents inside its undirected component.
template <int W>
struct ParentSetProbability {
  int node;
  Bits<W> parents;
  double probability;
};

// Calls visit(subset) for every subset of a set, the empty one and the set itself included.
template <int W, class Visit>
void each_subset(const Bits<W>& set, Visit&& visit) {
  std::vector<int> members;
  set.each([&](int v) { members.push_back(v); });
  Bits<W> subset;
  for (;;) {
    visit(subset);
    std::size_t k = 0;  // binary counting
    for (; k < members.size() && subset.test(members[k]); ++k) subset.reset(members[k]);
    if (k == members.size()) return;
    subset.set(members[k]);
  }
}

// The share of the orders of a clique, of which no prefix is barred, that put exactly `before` before a node.
template <int W>
class CliqueOrders {
 public:
  // `barred` must outlive this.
  CliqueOrders(const Bits<W>& clique, const std::vector<Bits<W>>& barred) : barred_(barred), size_(clique.count()) {
    factorials_.assign(1, 1.0);
    for (int k = 1; k <= size_; ++k) factorials_.push_back(factorials_.back() * k);
    total_ = free_orders(0, size_, [](const Bits<W>&) { return true; });
  }
  double share(const Bits<W>& before, int node) const {
    Bits<W> until = before;
    until.set(node);
    for (const Bits<W>& prefix : barred_)
      if (prefix == before || prefix == until) return 0.0;
    const int n_before = before.count();
    const double first = free_orders(0, n_before, [&](const Bits<W>& x) { return x.is_subset_of(before); });
    const double last = free_orders(n_before + 1, size_, [&](const Bits<W>& x) { return until.is_subset_of(x); });
    return first * last / total_;
  }

 private:
  // The orders of `end - begun` nodes, after `begun` others, with none of the barred prefixes that matter: all orders
  // without those whose first such prefix is X_1, X_2, ...
  template <class Matters>
  double free_orders(int begun, int end, const Matters& matters) const {
    double free = factorials_[std::size_t(end - begun)];
    std::vector<std::pair<int, double>> reached;  // size of a prefix, its orders that hold no smaller one
    for (std::size_t k = barred_.size(); k-- > 0;) {
      if (!matters(barred_[k])) continue;
      const int size = barred_[k].count();
      double orders = factorials_[std::size_t(size - begun)];
      for (const auto& [smaller, of_smaller] : reached) orders -= of_smaller * factorials_[std::size_t(size - smaller)];
      reached.emplace_back(size, orders);
      free -= orders * factorials_[std::size_t(end - size)];
    }
    return free;
  }

  const std::vector<Bits<W>>& barred_;
  int size_;
  std::vector<double> factorials_;
  double total_;
};

// Caches the components it has seen. Used by one thread.
template <int W>
class OrientationProbabilities {
 public:
  // Of G[nodes], connected and chordal, in order of the nodes; the probabilities of each node sum to 1.
  const std::vector<ParentSetProbability<W>>& of(const Bits<W>& nodes, const Bits<W>* neighbours) {
    Key key(nodes.words.begin(), nodes.words.end());
    nodes.each([&](int v) {
      const Bits<W> inside = neighbours[v] & nodes;
      key.insert(key.end(), inside.words.begin(), inside.words.end());
    });
    const auto known = cached_.find(key);
    if (known != cached_.end()) return known->second;
    if (cached_.size() >= kMostComponents) cached_.clear();
    return cached_.emplace(std::move(key), probabilities(nodes, neighbours)).first->second;
  }

 private:
  using Key = std::vector<std::uint64_t>;
  struct Less {
    bool operator()(const Component<W>& a, const Component<W>& b) const {
      return std::pair(a.nodes.words, a.parents.words) < std::pair(b.nodes.words, b.parents.words);
    }
  };
  static constexpr std::size_t kMostComponents = 1 << 14;

  std::vector<ParentSetProbability<W>> probabilities(const Bits<W>& component, const Bits<W>* neighbours) {
    std::map<std::pair<int, std::array<std::uint64_t, W>>, double> found;
    // Components of k nodes are reached from larger ones only.
    std::vector<std::map<Component<W>, double, Less>> reached(std::size_t(component.count()) + 1);
    reached.back().emplace(Component<W>{component, Bits<W>()}, 1.0);
    for (std::size_t size = reached.size(); --size > 0;) {
      for (const auto& [current, probability] : reached[size]) {
        if (size == 1) {
          found[{current.nodes.lowest(), current.parents.words}] += probability;
          continue;
        }
        const BigCount whole = counter_.count(current.nodes, neighbours);
        for (const Beginning<W>& beginning : counter_.beginnings(current.nodes, neighbours)) {
          const double here = probability * beginning.count.share_of(whole);
          const CliqueOrders<W> orders(beginning.clique, beginning.barred);
          beginning.clique.each([&](int v) {
            each_subset(beginning.clique - Bits<W>::of(v), [&](const Bits<W>& before) {
              const double share = orders.share(before, v);
              if (share > 0.0) found[{v, (current.parents | before).words}] += here * share;
            });
          });
          for (const Component<W>& rest : beginning.components)
            reached[std::size_t(rest.nodes.count())][{rest.nodes, current.parents | rest.parents}] += here;
        }
      }
      reached[size].clear();
    }
    std::vector<ParentSetProbability<W>> listed;
    for (const auto& [key, probability] : found) listed.push_back({key.first, Bits<W>{key.second}, probability});
    return listed;
  }

  std::unordered_map<Key, std::vector<ParentSetProbability<W>>, WordsHash> cached_;
  OrientationCounter<W> counter_;
};

// Draws members of a class, all with the same probability up to rounding: a beginning of each component in proportion
// to its count, an order of its clique, then the components that remain. Used by one thread.
template <int W>
class MemberSampler {
 public:
  explicit MemberSampler(std::uint64_t seed) : random_(seed) {}

  // Orients G[component]; writes the parents of its nodes: `shared`, which all have in common, and those inside.
  void orient(const Bits<W>& component, const Bits<W>* neighbours, const Bits<W>& shared, Bits<W>* parents) {
    std::vector<Component<W>> left{{component, shared}};
    while (!left.empty()) {
      const Component<W> next = left.back();
      left.pop_back();
      const Beginning<W> beginning = draw_beginning(next.nodes, neighbours);
      Bits<W> before = next.parents;
      for (int v : draw_order(beginning)) {
        parents[v] = before;
        before.set(v);
      }
      for (const Component<W>& rest : beginning.components) left.push_back({rest.nodes, next.parents | rest.parents});
    }
  }

 private:
  Beginning<W> draw_beginning(const Bits<W>& nodes, const Bits<W>* neighbours) {
    std::vector<Beginning<W>> choices = counter_.beginnings(nodes, neighbours);
    const BigCount whole = counter_.count(nodes, neighbours);
    double left = std::ldexp(double(random_() >> 11), -53);  // the standard fixes the generator, not its distributions
    std::size_t at = 0;
    for (; at + 1 < choices.size(); ++at) {
      left -= choices[at].count.share_of(whole);
      if (left < 0.0) break;
    }
    return std::move(choices[at]);
  }
  // At least about two orders in five are free of barred prefixes, so a few shuffles are enough.
  std::vector<int> draw_order(const Beginning<W>& beginning) {
    std::vector<int> order;
    beginning.clique.each([&](int v) { order.push_back(v); });
    do {
      for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[below(k)]);
    } while (has_barred_prefix(order, beginning.barred));
    return order;
  }
  static bool has_barred_prefix(const std::vector<int>& order, const std::vector<Bits<W>>& barred) {
    Bits<W> prefix;
    std::size_t length = 0;
    for (std::size_t k = barred.size(); k-- > 0;) {
      for (const std::size_t size = std::size_t(barred[k].count()); length < size; ++length) prefix.set(order[length]);
      if (prefix == barred[k]) return true;
    }
    return false;
  }
  std::size_t below(std::size_t n) {
    const std::uint64_t most = ~std::uint64_t(0) - ~std::uint64_t(0) % n;
    std::uint64_t drawn = random_();
    while (drawn >= most) drawn = random_();
    return std::size_t(drawn % n);
  }

  std::mt19937_64 random_;
  OrientationCounter<W> counter_;
};

}  // namespace credibn::averages
