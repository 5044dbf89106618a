// Averages over networks given by class: probabilities of parent sets, of compelled and reversible edges, of
// v-structures, of neighbours in the Markov blanket and of ancestors. No class is listed: what is the same in all
// members is read off the CPDAG, the rest follows from the probabilities of the parent sets inside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "averages/orientation_probabilities.hpp"
#include "base/bits.hpp"
#include "base/compensated.hpp"
#include "classes/classes.hpp"

namespace credibn::averages {

using base::Bits;
using base::CompensatedSum;
using classes::connected_component;
using classes::EquivalenceClass;

// The probability of each parent set of a node; sets are numbered in the order in which they first appear.
template <int W>
class ParentSetSums {
 public:
  std::size_t number(const Bits<W>& parents) {
    const auto [at, is_new] = numbers_.emplace(parents, sets_.size());
    if (is_new) {
      sets_.push_back(parents);
      sums_.emplace_back();
    }
    return at->second;
  }
  void add(std::size_t number, double probability) { sums_[number] += probability; }
  std::size_t size() const { return sets_.size(); }
  const Bits<W>& set(std::size_t number) const { return sets_[number]; }
  double sum(std::size_t number) const { return sums_[number].value(); }

 private:
  struct Hash {
    std::size_t operator()(const Bits<W>& bits) const { return std::size_t(bits.hash()); }
  };
  std::unordered_map<Bits<W>, std::size_t, Hash> numbers_;
  std::vector<Bits<W>> sets_;
  std::vector<CompensatedSum> sums_;
};

template <int W>
class ClassAverages {
 public:
  using Matrix = std::vector<CompensatedSum>;  // n by n, by rows

  explicit ClassAverages(int n)
      : compelled(square(n)), reversible(square(n)), blankets(square(n)), n_(n), joined_(std::size_t(n)) {
    parent_sets.resize(std::size_t(n));
  }

  // A network that was analysed: all members of its class share the weight, or the network alone has it.
  void add_class(const EquivalenceClass<W>& analysed, const Bits<W>*, double weight) {
    for (int v = 0; v < n_; ++v)
      if (!analysed.undirected(v).any()) add_parents(v, analysed.compelled(v), weight);
    for (int k = 0; k < analysed.n_components(); ++k)
      for (const ParentSetProbability<W>& of_set : probabilities_.of(analysed.component(k), analysed.undirected()))
        add_parents(of_set.node, analysed.compelled(of_set.node) | of_set.parents, weight * of_set.probability);
    add_invariants(analysed, weight);
  }
  void add_network(const EquivalenceClass<W>& analysed, const Bits<W>* parents, double weight) {
    for (int v = 0; v < n_; ++v) add_parents(v, parents[v], weight);
    add_invariants(analysed, weight);
  }

  // (a, b, c) with a < b for a -> c <- b, as (a n + b) n + c.
  std::vector<std::pair<std::uint64_t, double>> v_structures() const {
    std::vector<std::pair<std::uint64_t, double>> listed;
    for (const auto& [key, sum] : v_structures_) listed.emplace_back(key, sum.value());
    std::sort(listed.begin(), listed.end());
    return listed;
  }

  std::vector<ParentSetSums<W>> parent_sets;
  Matrix compelled;   // at (parent, child)
  Matrix reversible;  // at (a, b) and (b, a)
  Matrix blankets;    // at (a, b) and (b, a)

 private:
  static Matrix square(int n) { return Matrix(std::size_t(n) * std::size_t(n)); }
  CompensatedSum& at(Matrix& matrix, int row, int column) {
    return matrix[std::size_t(row) * std::size_t(n_) + std::size_t(column)];
  }
  void add_parents(int v, const Bits<W>& parents, double probability) {
    ParentSetSums<W>& sums = parent_sets[std::size_t(v)];
    sums.add(sums.number(parents), probability);
  }
  // What all members of a class share. Two parents of a node that no edge joins form a v-structure, whose edges are
  // compelled; so the Markov blanket, which adds the other parents of children to the neighbours, is shared too.
  void add_invariants(const EquivalenceClass<W>& analysed, double weight) {
    for (int v = 0; v < n_; ++v) joined_[std::size_t(v)] = analysed.undirected(v) | analysed.compelled(v);
    for (int v = 0; v < n_; ++v) analysed.compelled(v).each([&](int parent) { joined_[std::size_t(parent)].set(v); });
    spouses_.clear();
    for (int v = 0; v < n_; ++v) {
      const Bits<W>& parents = analysed.compelled(v);
      parents.each([&](int parent) { at(compelled, parent, v) += weight; });
      analysed.undirected(v).each([&](int u) { at(reversible, u, v) += weight; });
      joined_[std::size_t(v)].each([&](int u) { at(blankets, u, v) += weight; });
      parents.each([&](int a) {
        (parents - joined_[std::size_t(a)] - Bits<W>::first(a + 1)).each([&](int b) {
          const std::uint64_t n = std::uint64_t(n_), pair = std::uint64_t(a) * n + std::uint64_t(b);
          v_structures_[pair * n + std::uint64_t(v)] += weight;
          spouses_.push_back(pair);
        });
      });
    }
    std::sort(spouses_.begin(), spouses_.end());
    spouses_.erase(std::unique(spouses_.begin(), spouses_.end()), spouses_.end());
    for (std::uint64_t pair : spouses_) {
      const int a = int(pair / std::uint64_t(n_)), b = int(pair % std::uint64_t(n_));
      at(blankets, a, b) += weight;
      at(blankets, b, a) += weight;
    }
  }

  int n_;
  std::vector<Bits<W>> joined_;
  std::vector<std::uint64_t> spouses_;
  std::unordered_map<std::uint64_t, CompensatedSum> v_structures_;
  OrientationProbabilities<W> probabilities_;
};

// The probability that there is a directed path from one node to another.
//
// In a member of a class, let a shortest path leave u inside its undirected component A. It has no chord, or a shorter
// one existed; and no two of its edges meet head to head, or they formed a v-structure that is not in the CPDAG. So it
// is a path without chords in A whose first edge u -> p decides all others, and u reaches x in A if and only if u -> p
// for some p in Y(x): {x} if they are neighbours, else the neighbours of the component of A - N[u] that holds x. A path
// that leaves A does so by a compelled edge into another component, all nodes of which have the same compelled parents:
// it reaches all of them, whatever their directions, and all that follows. So u reaches v outside A if it reaches, in
// A, one of the nodes X from which a path to v begins with a compelled edge. Altogether: with Y the union of Y(x) over
// X, the probability is 1 - P(all of Y are parents of u), and 1 if u is in X.
template <int W>
class AncestorAverages {
 public:
  explicit AncestorAverages(int n) : sums(std::size_t(n) * std::size_t(n)), n_(n) {
    reach_.resize(std::size_t(n));
    children_.resize(std::size_t(n));
    component_of_.resize(std::size_t(n));
  }

  // `parents` is the member that was analysed.
  void add_class(const EquivalenceClass<W>& analysed, const Bits<W>* parents, double weight) {
    for (int v = 0; v < n_; ++v) component_of_[std::size_t(v)] = Bits<W>::of(v);
    for (int k = 0; k < analysed.n_components(); ++k)
      analysed.component(k).each([&](int v) { component_of_[std::size_t(v)] = analysed.component(k); });
    find_children(analysed.compelled());
    each_from_last(parents, [&](int v) {
      Bits<W> reached;
      for (Bits<W> left = children_[std::size_t(v)]; left.any(); left -= reached) {
        const Bits<W>& whole = component_of_[std::size_t(left.lowest())];
        reached |= whole;
        whole.each([&](int u) { reached |= reach_[std::size_t(u)]; });
      }
      reach_[std::size_t(v)] = reached;
    });
    for (int v = 0; v < n_; ++v) add_certain(v, reach_[std::size_t(v)], weight);
    for (int k = 0; k < analysed.n_components(); ++k) {
      const auto& probabilities = probabilities_.of(analysed.component(k), analysed.undirected());
      analysed.component(k).each([&](int v) { add_uncertain(v, analysed.undirected(), probabilities, weight); });
    }
  }
  void add_network(const EquivalenceClass<W>&, const Bits<W>* parents, double weight) {
    find_children(parents);
    each_from_last(parents, [&](int v) {
      Bits<W> reached = children_[std::size_t(v)];
      reached.each([&](int child) { reached |= reach_[std::size_t(child)]; });
      reach_[std::size_t(v)] = reached;
    });
    for (int v = 0; v < n_; ++v) add_certain(v, reach_[std::size_t(v)], weight);
  }

  std::vector<CompensatedSum> sums;  // n by n, at (ancestor, descendant)

 private:
  void add(int ancestor, int descendant, double probability) {
    sums[std::size_t(ancestor) * std::size_t(n_) + std::size_t(descendant)] += probability;
  }
  void add_certain(int v, const Bits<W>& reached, double weight) {
    reached.each([&](int u) { add(v, u, weight); });
  }
  // Visits all nodes, each after its children.
  template <class Visit>
  void each_from_last(const Bits<W>* parents, const Visit& visit) {
    std::vector<int> order;
    Bits<W> left = Bits<W>::first(n_);
    while (left.any())
      left.each([&](int v) {
        if (parents[v].intersects(left)) return;
        left.reset(v);
        order.push_back(v);
      });
    for (std::size_t k = order.size(); k-- > 0;) visit(order[k]);
  }
  void find_children(const Bits<W>* parents) {
    for (Bits<W>& children : children_) children = Bits<W>();
    for (int v = 0; v < n_; ++v) parents[v].each([&](int parent) { children_[std::size_t(parent)].set(v); });
  }
  void add_uncertain(int u, const Bits<W>* neighbours, const std::vector<ParentSetProbability<W>>& probabilities,
                     double weight) {
    const Bits<W>& component = component_of_[std::size_t(u)];
    // gates[x]: the nodes of which one must be a child of u for a path to x.
    std::vector<std::pair<int, Bits<W>>> gates;
    neighbours[u].each([&](int x) { gates.emplace_back(x, Bits<W>::of(x)); });
    for (Bits<W> far = component - neighbours[u] - Bits<W>::of(u); far.any();) {
      const Bits<W> component_of_x = connected_component(far.lowest(), far, neighbours);
      Bits<W> around;
      component_of_x.each([&](int x) { around |= neighbours[x]; });
      around &= neighbours[u];
      component_of_x.each([&](int x) { gates.emplace_back(x, around); });
      far -= component_of_x;
    }
    const auto [first, last] =
        std::equal_range(probabilities.begin(), probabilities.end(), ParentSetProbability<W>{u, {}, 0.0},
                         [](const auto& a, const auto& b) { return a.node < b.node; });
    std::vector<std::pair<Bits<W>, double>> known;  // many nodes lie behind the same gate
    // The probability that not all of the nodes are parents of u.
    const auto some_child = [&, first = first, last = last](const Bits<W>& nodes) {
      for (const auto& [gate, probability] : known)
        if (gate == nodes) return probability;
      double probability = 0.0;
      for (auto of_set = first; of_set != last; ++of_set)
        if (!nodes.is_subset_of(of_set->parents)) probability += of_set->probability;
      known.emplace_back(nodes, probability);
      return probability;
    };
    Bits<W> beyond;
    for (const auto& [x, gate] : gates) {
      add(u, x, weight * some_child(gate));
      beyond |= reach_[std::size_t(x)];
    }
    (beyond - reach_[std::size_t(u)]).each([&](int v) {
      Bits<W> gate;
      for (const auto& [x, of_x] : gates)
        if (reach_[std::size_t(x)].test(v)) gate |= of_x;
      add(u, v, weight * some_child(gate));
    });
  }

  int n_;
  std::vector<Bits<W>> reach_;  // by a path that begins with a compelled edge
  std::vector<Bits<W>> children_;
  std::vector<Bits<W>> component_of_;
  OrientationProbabilities<W> probabilities_;
};

}  // namespace credibn::averages
