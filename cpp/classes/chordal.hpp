// Acyclic moral orientations (AMOs) of a connected chordal graph: those without directed cycle and without a node that
// has two parents not joined by an edge. The members of a Markov equivalence class orient each undirected component of
// its CPDAG so, independently (Andersson, Madigan & Perlman 1997).
//
// Counting: Clique-Picking (Wienöbst, Bannach & Liśkiewicz, "Polynomial-time algorithms for counting and sampling
// Markov equivalent DAGs", AAAI 2021, JMLR 2023), polynomial in the number of nodes. Listing: Wienöbst, Luttermann,
// Bannach & Liśkiewicz, "Efficient enumeration of Markov equivalent DAGs", AAAI 2023, each once, with linear delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/big_count.hpp"
#include "base/bits.hpp"

namespace credibn::classes {

using base::BigCount;
using base::Bits;
using base::WordsHash;

// The connected component of G[nodes] that holds v.
template <int W>
Bits<W> connected_component(int v, const Bits<W>& nodes, const Bits<W>* neighbours) {
  Bits<W> component = Bits<W>::of(v), left = component;
  while (left.any() && !(component == nodes)) {
    const int u = left.lowest();
    left.reset(u);
    const Bits<W> fresh = (neighbours[u] & nodes) - component;
    component |= fresh;
    left |= fresh;
  }
  return component;
}

// A maximal clique with the one above it in a clique tree: they share `separator`.
template <int W>
struct TreeClique {
  Bits<W> nodes;
  Bits<W> separator;
  int above;  // -1 at the root
};

// A rooted clique tree by maximum cardinality search (Blair & Peyton 1993): a node that sees fewer visited neighbours
// than the last clique has begins a new one, below the clique of the neighbour that was visited last.
template <int W>
std::vector<TreeClique<W>> clique_tree(const Bits<W>& nodes, const Bits<W>* neighbours) {
  std::vector<TreeClique<W>> cliques;
  std::vector<int> clique_of(std::size_t(64 * W)), visited_order;
  Bits<W> visited, left = nodes;
  while (left.any()) {
    int best = -1, most = -1;
    left.each([&](int v) {
      const int seen = (neighbours[v] & visited).count();
      if (seen > most) best = v, most = seen;
    });
    const Bits<W> seen = neighbours[best] & visited;
    if (cliques.empty() || !(cliques.back().nodes == seen)) {
      int above = -1;
      for (std::size_t k = visited_order.size(); k-- > 0 && above < 0;)
        if (seen.test(visited_order[k])) above = clique_of[std::size_t(visited_order[k])];
      cliques.push_back({seen, seen, above});
    }
    cliques.back().nodes.set(best);
    clique_of[std::size_t(best)] = int(cliques.size()) - 1;
    visited.set(best);
    visited_order.push_back(best);
    left.reset(best);
  }
  return cliques;
}

// An undirected component that remains when some edges of a graph are oriented; its nodes have the same parents outside
// it.
template <int W>
struct Component {
  Bits<W> nodes;
  Bits<W> parents;
};

// The undirected components that remain, outside the clique, in the union of all AMOs with the clique before all other
// nodes: the first set of a lexicographic breadth-first search splits into them when the search first enters it
// (Wienöbst et al. 2021). The nodes of such a set have seen the same neighbours visited.
template <int W>
std::vector<Component<W>> components_after(const Bits<W>& clique, const Bits<W>& nodes, const Bits<W>* neighbours) {
  struct Set {
    Bits<W> nodes;
    bool is_split;
  };
  std::vector<Component<W>> components;
  std::vector<Set> sets{{nodes - clique, false}}, refined;
  Bits<W> visited = clique;
  auto refine = [&](int v) {
    refined.clear();
    for (const Set& set : sets)
      for (const Bits<W>& half : {set.nodes & neighbours[v], set.nodes - neighbours[v]})
        if (half.any()) refined.push_back({half, set.is_split});
    sets.swap(refined);
  };
  clique.each(refine);
  while (!sets.empty()) {
    Set& front = sets.front();
    for (Bits<W> left = front.nodes; left.any() && !front.is_split;) {
      const int v = left.lowest();
      components.push_back({connected_component(v, left, neighbours), neighbours[v] & visited});
      left -= components.back().nodes;
    }
    front.is_split = true;
    const int v = front.nodes.lowest();
    front.nodes.reset(v);
    visited.set(v);
    refine(v);
  }
  return components;
}

// The separators inside a clique on its way to the root of the tree, the largest first. They form a chain (running
// intersection), the one nearest to the root smallest. An order of the clique that begins with one of them belongs to a
// clique nearer to the root.
template <int W>
std::vector<Bits<W>> barred_prefixes(const std::vector<TreeClique<W>>& tree, std::size_t at) {
  std::vector<Bits<W>> barred;
  for (std::size_t c = at; tree[c].above >= 0; c = std::size_t(tree[c].above)) {
    const Bits<W>& separator = tree[c].separator;
    if (separator.is_subset_of(tree[at].nodes) && (barred.empty() || !(separator == barred.back())))
      barred.push_back(separator);
  }
  return barred;
}

// A way to begin an AMO: the clique comes before all other nodes, in an order of which no prefix is barred.
template <int W>
struct Beginning {
  Bits<W> clique;
  std::vector<Bits<W>> barred;           // a chain, the largest first
  std::vector<Component<W>> components;  // oriented independently of each other
  BigCount count;                        // AMOs that begin so
};

// Counts AMOs, and caches the counts. Used by one thread.
template <int W>
class OrientationCounter {
 public:
  // Of G[nodes], which must be connected and chordal.
  BigCount count(const Bits<W>& nodes, const Bits<W>* neighbours) {
    const std::uint64_t k = std::uint64_t(nodes.count());
    std::uint64_t twice_edges = 0;
    nodes.each([&](int v) { twice_edges += std::uint64_t((neighbours[v] & nodes).count()); });
    if (twice_edges == 2 * (k - 1)) return k;  // a tree: any node can be the source, which decides all directions
    if (twice_edges == k * (k - 1)) return factorial(int(k));
    make_key(nodes, neighbours, k);
    const auto known = counts_.find(key_);
    if (known != counts_.end()) return known->second;
    const Key key = key_;  // the recursion makes others
    const BigCount result = sum_of_beginnings(nodes, neighbours);
    if (counts_.size() >= kMostCounts) counts_.clear();
    counts_.emplace(key, result);
    return result;
  }
  // The main theorem of Clique-Picking: every AMO of G[nodes] begins in exactly one of these ways, one for each maximal
  // clique; the orders of the clique that are left to it, times the AMOs of the components that remain.
  std::vector<Beginning<W>> beginnings(const Bits<W>& nodes, const Bits<W>* neighbours) {
    const std::vector<TreeClique<W>> tree = clique_tree(nodes, neighbours);
    std::vector<Beginning<W>> found;
    for (std::size_t at = 0; at < tree.size(); ++at) {
      const Bits<W>& clique = tree[at].nodes;
      Beginning<W> next{clique, barred_prefixes(tree, at), components_after(clique, nodes, neighbours), BigCount(1)};
      next.count = orders_of(clique, next.barred);
      for (const Component<W>& component : next.components) next.count *= count(component.nodes, neighbours);
      found.push_back(std::move(next));
    }
    return found;
  }
  const BigCount& factorial(int k) {
    while (int(factorials_.size()) <= k) factorials_.push_back(factorials_.back() * BigCount(factorials_.size()));
    return factorials_[std::size_t(k)];
  }

 private:
  using Key = std::vector<std::uint64_t>;
  static constexpr std::size_t kMostCounts = 1 << 16;

  // The number of nodes and the lower triangle of the adjacency matrix, the nodes in increasing order.
  void make_key(const Bits<W>& nodes, const Bits<W>* neighbours, std::uint64_t k) {
    key_.assign(std::size_t((8 + k * (k - 1) / 2 + 63) / 64), 0);
    key_[0] = k;
    int row = 0;  // of the adjacency matrix
    std::size_t row_start = 8;
    nodes.each([&](int v) {
      position_[std::size_t(v)] = row;
      (neighbours[v] & nodes & Bits<W>::first(v)).each([&](int u) {
        const std::size_t bit = row_start + std::size_t(position_[std::size_t(u)]);
        key_[bit >> 6] |= std::uint64_t(1) << (bit & 63);
      });
      row_start += std::size_t(row++);
    });
  }

  BigCount sum_of_beginnings(const Bits<W>& nodes, const Bits<W>* neighbours) {
    BigCount sum;
    for (const Beginning<W>& beginning : beginnings(nodes, neighbours)) sum += beginning.count;
    return sum;
  }

  // The orders of a clique of which no prefix is barred. With f_j the orders of X_j without an earlier one as prefix,
  // f_j = |X_j|! - sum over i < j of f_i (|X_j| - |X_i|)! for a chain X_1 < X_2 < ..., the clique at its end.
  BigCount orders_of(const Bits<W>& clique, const std::vector<Bits<W>>& barred) {
    std::vector<int> sizes{clique.count()};
    for (const Bits<W>& prefix : barred) sizes.push_back(prefix.count());
    std::vector<BigCount> orders(sizes.size());
    for (std::size_t j = sizes.size(); j-- > 0;) {
      orders[j] = factorial(sizes[j]);
      for (std::size_t i = j + 1; i < sizes.size(); ++i) orders[j] -= orders[i] * factorial(sizes[j] - sizes[i]);
    }
    return orders[0];
  }

  std::unordered_map<Key, BigCount, WordsHash> counts_;
  Key key_;
  std::vector<int> position_ = std::vector<int>(std::size_t(64 * W));
  std::deque<BigCount> factorials_{BigCount(1)};  // a deque, because references to its items are given out
};

// All AMOs of one connected chordal graph, each once. A maximum cardinality search is run with every choice of the next
// node that matters: of the nodes X that see the most visited neighbours, those joined to the lowest one inside G[X].
// Two such choices give different AMOs, because the component of G[X] they lie in has one source; the other components
// of G[X] get their turn whatever is chosen here; and no branch is empty, because every such search ends in an AMO.
template <int W>
class Orientations {
 public:
  // Writes the parents of each node to `parents`: `shared`, which all nodes have in common, and those in the graph.
  Orientations(const Bits<W>& nodes, const Bits<W>* neighbours, const Bits<W>& shared, Bits<W>* parents)
      : neighbours_(neighbours),
        shared_(shared),
        parents_(parents),
        order_(std::size_t(nodes.count())),
        others_(order_.size()),
        levels_(order_.size() + 1),
        level_of_(std::size_t(64 * W)) {
    levels_[0] = nodes;
    complete();
  }

  // Moves to the next AMO; after the last it returns false and starts again with the first.
  bool next() {
    while (depth_ > 0) {
      undo(order_[--depth_]);
      if (others_[depth_].any()) {
        const int v = others_[depth_].lowest();
        others_[depth_].reset(v);
        visit(v);
        complete();
        return true;
      }
    }
    complete();
    return false;
  }

 private:
  void complete() {
    while (depth_ < order_.size()) {
      const Bits<W> x = levels_[top_];
      const int v = x.lowest();
      others_[depth_] = connected_component(v, x, neighbours_) - Bits<W>::of(v);
      visit(v);
    }
  }
  void visit(int v) {
    order_[depth_++] = v;
    levels_[level_of_[std::size_t(v)]].reset(v);
    parents_[v] = shared_ | (neighbours_[v] & visited_);
    visited_.set(v);
    (neighbours_[v] - visited_).each([&](int u) {
      std::size_t& level = level_of_[std::size_t(u)];
      levels_[level].reset(u);
      levels_[++level].set(u);
    });
    if (levels_[top_ + 1].any())
      ++top_;
    else
      while (top_ > 0 && !levels_[top_].any()) --top_;
  }
  void undo(int v) {
    (neighbours_[v] - visited_).each([&](int u) {
      std::size_t& level = level_of_[std::size_t(u)];
      levels_[level].reset(u);
      levels_[--level].set(u);
    });
    visited_.reset(v);
    top_ = level_of_[std::size_t(v)];
    levels_[top_].set(v);
  }

  const Bits<W>* neighbours_;
  Bits<W> shared_;
  Bits<W>* parents_;
  std::vector<int> order_;       // the nodes visited, the first depth_ of them
  std::vector<Bits<W>> others_;  // at each depth, the choices not yet made
  std::vector<Bits<W>> levels_;  // the nodes not visited, by their number of visited neighbours
  std::vector<std::size_t> level_of_;
  Bits<W> visited_;
  std::size_t depth_ = 0, top_ = 0;  // top_: the highest level that is not empty, while one is
};

}  // namespace credibn::classes
