// Markov equivalence classes of networks: the CPDAG of a network, one member chosen for each class, the size of a class
// and its members one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/big_count.hpp"
#include "base/bits.hpp"
#include "classes/chordal.hpp"

namespace credibn::classes {

using base::BigCount;
using base::Bits;

// Whether the parent sets leave no directed cycle: take away nodes without remaining parents until none is left.
template <int W>
bool is_acyclic(const Bits<W>* parents, int n) {
  Bits<W> left = Bits<W>::first(n);
  for (bool is_stuck = false; left.any() && !is_stuck;) {
    is_stuck = true;
    left.each([&](int v) {
      if (parents[v].intersects(left)) return;
      left.reset(v);
      is_stuck = false;
    });
  }
  return !left.any();
}

// Analyses one network after another. Used by one thread; allocates nothing after the first few networks.
//
// Edges are compelled or not by Chickering's (1995) labelling. It takes the nodes in topological order and looks, for a
// node y, only at its last parent x: every edge into y is compelled if y has a parent that is neither x nor a parent of
// x, or if x has a compelled parent that is no parent of y; otherwise exactly the compelled parents of x are compelled
// parents of y. No order is needed to find x: in the second case the other parents of y are parents of x, and at most
// one parent of y, its `anchor`, can have all others as parents. Hence the nodes that an undirected edge joins have the
// same compelled parents, and each undirected component is a tree of anchors below the one node that has none in it.
template <int W>
class EquivalenceClass {
 public:
  explicit EquivalenceClass(int n)
      : n_(n),
        compelled_(std::size_t(n)),
        neighbours_(std::size_t(n)),
        members_(std::size_t(n)),
        source_(std::size_t(n)),
        is_tree_(std::size_t(n)),
        path_(std::size_t(n)),
        precedence_(std::size_t(n)) {
    sources_.reserve(std::size_t(n));
  }

  // `parents`: n sets without a directed cycle. No other function reads them again unless it is given them.
  void analyse(const Bits<W>* parents) {
    settled_ = Bits<W>();
    sources_.clear();
    for (Bits<W>& of_node : neighbours_) of_node = Bits<W>();
    for (int v = 0; v < n_; ++v)
      if (!settled_.test(v)) settle_path(v, parents);
  }

  int n() const { return n_; }
  const Bits<W>& compelled(int v) const { return compelled_[std::size_t(v)]; }    // parents in every member
  const Bits<W>& undirected(int v) const { return neighbours_[std::size_t(v)]; }  // parents in some, children in others
  const Bits<W>* compelled() const { return compelled_.data(); }
  const Bits<W>* undirected() const { return neighbours_.data(); }
  // The undirected components of two or more nodes.
  int n_components() const { return int(sources_.size()); }
  const Bits<W>& component(int k) const { return members_[std::size_t(sources_[std::size_t(k)])]; }

  // The canonical member for an order of the nodes, `rank` being a permutation of 0..n-1: each undirected component is
  // oriented along a maximum cardinality search that breaks ties by the smallest rank. It has no covered edge u -> v
  // (parents(v) = parents(u) + u) with rank[u] > rank[v]: see `docs/guarantees.md`.
  void member(const int* rank, Bits<W>* parents_out) {
    for (int v = 0; v < n_; ++v) parents_out[v] = compelled(v);
    search(rank, [&](int v, const Bits<W>& earlier) {
      parents_out[v] |= earlier;
      return true;
    });
  }
  // Whether the network last analysed is that member.
  bool is_canonical(const int* rank, const Bits<W>* parents) {
    return search(rank, [&](int v, const Bits<W>& earlier) { return earlier == parents[v] - compelled(v); });
  }
  // The number of members.
  BigCount size() {
    BigCount product(1);
    for (int source : sources_) {
      const Bits<W>& nodes = members_[std::size_t(source)];
      if (is_tree_[std::size_t(source)])
        product *= BigCount(std::uint64_t(nodes.count()));
      else
        product *= counter_.count(nodes, neighbours_.data());
    }
    return product;
  }

 private:
  static int anchor_of(int v, const Bits<W>* parents) {
    for (Bits<W> left = parents[v]; left.any();) {
      const int x = left.lowest();
      left.reset(x);
      Bits<W> others = parents[v];
      others.reset(x);
      if (others.is_subset_of(parents[x])) return x;
    }
    return -1;
  }
  // Settles v, after its anchor, after the anchor of that.
  void settle_path(int v, const Bits<W>* parents) {
    std::size_t length = 0;
    while (v >= 0 && !settled_.test(v)) {
      path_[length++] = v;
      v = anchor_of(v, parents);
    }
    for (int anchor = v; length > 0; anchor = v) {
      v = path_[--length];
      settle(v, anchor, parents[v]);
    }
  }
  void settle(int v, int anchor, const Bits<W>& parents) {
    const std::size_t at = std::size_t(v), above = std::size_t(anchor);
    settled_.set(v);
    if (anchor < 0 || !compelled_[above].is_subset_of(parents)) {
      compelled_[at] = parents;
      source_[at] = v;
      members_[at] = Bits<W>::of(v);
      is_tree_[at] = true;
      return;
    }
    compelled_[at] = compelled_[above];
    const int source = source_[at] = source_[above];
    if (anchor == source && !neighbours_[above].any()) sources_.push_back(source);
    const Bits<W> free = parents - compelled_[at];
    neighbours_[at] |= free;
    free.each([&](int u) { neighbours_[std::size_t(u)].set(v); });
    members_[std::size_t(source)].set(v);
    if (!(free == Bits<W>::of(anchor))) is_tree_[std::size_t(source)] = false;
  }

  // Maximum cardinality search of each undirected component. Calls visit(v, visited neighbours of v) until it returns
  // false; returns whether it never did.
  template <class Visit>
  bool search(const int* rank, Visit&& visit) {
    constexpr int kNeighbour = 1 << 16;  // more than any rank
    for (int source : sources_) {
      Bits<W> left = members_[std::size_t(source)], seen = left;
      left.each([&](int v) { precedence_[std::size_t(v)] = -rank[v]; });
      for (bool is_first = true; left.any(); is_first = false) {
        int next = seen.lowest();
        seen.each([&](int v) {
          if (precedence_[std::size_t(v)] > precedence_[std::size_t(next)]) next = v;
        });
        if (!visit(next, neighbours_[std::size_t(next)] - left)) return false;
        left.reset(next);
        const Bits<W> reached = neighbours_[std::size_t(next)] & left;
        reached.each([&](int v) { precedence_[std::size_t(v)] += kNeighbour; });
        if (is_first) seen = Bits<W>();  // from now on only nodes with visited neighbours matter
        seen |= reached;
        seen.reset(next);
      }
    }
    return true;
  }

  int n_;
  Bits<W> settled_;
  std::vector<Bits<W>> compelled_, neighbours_;
  std::vector<Bits<W>> members_;  // of the component, at its source in the network analysed
  std::vector<int> source_;
  std::vector<char> is_tree_;
  std::vector<int> sources_;  // of the components of two or more nodes
  std::vector<int> path_, precedence_;
  OrientationCounter<W> counter_;
};

// The members of a class one by one, each once, and none stored. The first is the canonical one for the order of
// positions; the components advance like the digits of a number, the last one fastest.
template <int W>
class ClassMembers {
 public:
  explicit ClassMembers(const EquivalenceClass<W>& analysed)
      : neighbours_(analysed.undirected(), analysed.undirected() + analysed.n()), parents_(std::size_t(analysed.n())) {
    for (int v = 0; v < analysed.n(); ++v) parents_[std::size_t(v)] = analysed.compelled(v);
    std::vector<Bits<W>> components;
    for (int k = 0; k < analysed.n_components(); ++k) components.push_back(analysed.component(k));
    // The order must not depend on the member that was analysed.
    std::sort(components.begin(), components.end(),
              [](const Bits<W>& a, const Bits<W>& b) { return a.lowest() < b.lowest(); });
    components_.reserve(components.size());
    for (const Bits<W>& nodes : components)
      components_.emplace_back(nodes, neighbours_.data(), analysed.compelled(nodes.lowest()), parents_.data());
  }
  ClassMembers(const ClassMembers&) = delete;
  ClassMembers& operator=(const ClassMembers&) = delete;

  // The parent set of each node in the current member; null after the last.
  const Bits<W>* current() const { return is_done_ ? nullptr : parents_.data(); }
  void next() {
    for (std::size_t k = components_.size(); k-- > 0;)
      if (components_[k].next()) return;
    is_done_ = true;
  }

 private:
  std::vector<Bits<W>> neighbours_, parents_;
  std::vector<Orientations<W>> components_;
  bool is_done_ = false;
};

}  // namespace credibn::classes
