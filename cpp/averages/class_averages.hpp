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

// The descendants of each node, with its parents.
//
// In a member of a class, let a shortest path leave u inside its undirected component A. It has no chord, or a shorter
// one existed; and no two of its edges meet head to head, or they formed a v-structure that is not in the CPDAG. So it
// is a path without chords in A whose first edge u -> p decides all others, and u reaches x in A if and only if u -> p
// for some p in Y(x): {x} if they are neighbours, else the neighbours of the component of A - N[u] that holds x. A path
// that leaves A does so by a compelled edge into another component, all nodes of which have the same compelled parents:
// it reaches all of them, whatever their directions, and all that follows. So u reaches v outside A if it reaches, in
// A, one of the nodes X from which a path to v begins with a compelled edge. Altogether: the parents of u decide which
// nodes descend from it. With Y the union of Y(x) over X, v descends from u if u is in X, or not all of Y are parents.
template <int W>
class Descendants {
 public:
  explicit Descendants(int n) : n_(n) {
    reach_.resize(std::size_t(n));
    children_.resize(std::size_t(n));
    component_of_.resize(std::size_t(n));
  }

  // Calls visit(u, parents, probability, descendants) for every parent set of every node among the members of a class,
  // all equally likely. `member` is the one that was analysed.
  template <class Visit>
  void each_in_class(const EquivalenceClass<W>& analysed, const Bits<W>* member, const Visit& visit) {
    for (int v = 0; v < n_; ++v) component_of_[std::size_t(v)] = Bits<W>::of(v);
    for (int k = 0; k < analysed.n_components(); ++k)
      analysed.component(k).each([&](int v) { component_of_[std::size_t(v)] = analysed.component(k); });
    find_children(analysed.compelled());
    each_from_last(member, [&](int v) {
      Bits<W> reached;
      for (Bits<W> left = children_[std::size_t(v)]; left.any(); left -= reached) {
        const Bits<W>& whole = component_of_[std::size_t(left.lowest())];
        reached |= whole;
        whole.each([&](int u) { reached |= reach_[std::size_t(u)]; });
      }
      reach_[std::size_t(v)] = reached;
    });
    for (int v = 0; v < n_; ++v)
      if (!analysed.undirected(v).any()) visit(v, analysed.compelled(v), 1.0, reach_[std::size_t(v)]);
    for (int k = 0; k < analysed.n_components(); ++k) {
      int node = -1;
      for (const ParentSetProbability<W>& of_set : probabilities_.of(analysed.component(k), analysed.undirected())) {
        if (of_set.node != node) find_gates(node = of_set.node, analysed.undirected());
        Bits<W> reached = reach_[std::size_t(node)];
        for (const auto& [gate, behind] : gates_)
          if (!gate.is_subset_of(of_set.parents)) reached |= behind;
        visit(node, analysed.compelled(node) | of_set.parents, of_set.probability, reached);
      }
    }
  }
  template <class Visit>
  void each_in_network(const Bits<W>* parents, const Visit& visit) {
    find_children(parents);
    each_from_last(parents, [&](int v) {
      Bits<W> reached = children_[std::size_t(v)];
      reached.each([&](int child) { reached |= reach_[std::size_t(child)]; });
      reach_[std::size_t(v)] = reached;
    });
    for (int v = 0; v < n_; ++v) visit(v, parents[v], 1.0, reach_[std::size_t(v)]);
  }

 private:
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
  // The sets of neighbours of u of which one must be its child, and what lies behind each.
  void find_gates(int u, const Bits<W>* neighbours) {
    gates_.clear();
    const auto with_rest = [&](Bits<W> nodes) {
      Bits<W> behind = nodes;
      nodes.each([&](int x) { behind |= reach_[std::size_t(x)]; });
      return behind;
    };
    neighbours[u].each([&](int x) { gates_.emplace_back(Bits<W>::of(x), with_rest(Bits<W>::of(x))); });
    for (Bits<W> far = component_of_[std::size_t(u)] - neighbours[u] - Bits<W>::of(u); far.any();) {
      const Bits<W> part = connected_component(far.lowest(), far, neighbours);
      Bits<W> around;
      part.each([&](int x) { around |= neighbours[x]; });
      gates_.emplace_back(around & neighbours[u], with_rest(part));
      far -= part;
    }
  }

  int n_;
  std::vector<Bits<W>> reach_;  // by a path that begins with a compelled edge
  std::vector<Bits<W>> children_;
  std::vector<Bits<W>> component_of_;
  std::vector<std::pair<Bits<W>, Bits<W>>> gates_;
  OrientationProbabilities<W> probabilities_;
};

// The probability that there is a directed path from one node to another.
template <int W>
class AncestorAverages {
 public:
  explicit AncestorAverages(int n) : sums(std::size_t(n) * std::size_t(n)), n_(n), descendants_(n) {}

  void add_class(const EquivalenceClass<W>& analysed, const Bits<W>* member, double weight) {
    descendants_.each_in_class(analysed, member, [&](int u, const Bits<W>&, double probability, const Bits<W>& below) {
      add(u, below, weight * probability);
    });
  }
  void add_network(const EquivalenceClass<W>&, const Bits<W>* parents, double weight) {
    descendants_.each_in_network(parents,
                                 [&](int u, const Bits<W>&, double, const Bits<W>& below) { add(u, below, weight); });
  }

  std::vector<CompensatedSum> sums;  // n by n, at (ancestor, descendant)

 private:
  void add(int u, const Bits<W>& below, double probability) {
    below.each([&](int v) { sums[std::size_t(u) * std::size_t(n_) + std::size_t(v)] += probability; });
  }

  int n_;
  Descendants<W> descendants_;
};

// The probability that a node has these parents and that another descends from it: what an average of causal effects
// needs, since the parents of the cause are adjusted for, and what does not descend from it has no effect.
template <int W>
class CauseAverages {
 public:
  explicit CauseAverages(int n) : parent_sets(std::size_t(n)), paths(std::size_t(n)), n_(n), descendants_(n) {}

  void add_class(const EquivalenceClass<W>& analysed, const Bits<W>* member, double weight) {
    descendants_.each_in_class(analysed, member,
                               [&](int u, const Bits<W>& parents, double probability, const Bits<W>& below) {
                                 add(u, parents, weight * probability, below);
                               });
  }
  void add_network(const EquivalenceClass<W>&, const Bits<W>* parents, double weight) {
    descendants_.each_in_network(
        parents, [&](int u, const Bits<W>& above, double, const Bits<W>& below) { add(u, above, weight, below); });
  }

  std::vector<ParentSetSums<W>> parent_sets;
  std::vector<std::vector<CompensatedSum>> paths;  // of each node: by parent set and descendant

 private:
  void add(int u, const Bits<W>& parents, double probability, const Bits<W>& below) {
    ParentSetSums<W>& sums = parent_sets[std::size_t(u)];
    std::vector<CompensatedSum>& of_paths = paths[std::size_t(u)];
    const std::size_t number = sums.number(parents), n = std::size_t(n_);
    sums.add(number, probability);
    if (of_paths.size() < sums.size() * n) of_paths.resize(sums.size() * n);
    below.each([&](int v) { of_paths[number * n + std::size_t(v)] += probability; });
  }

  int n_;
  Descendants<W> descendants_;
};

}  // namespace credibn::averages
