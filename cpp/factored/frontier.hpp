// The states of counting. Nodes are decided in a fixed order: each takes one of its candidates. With the set A decided
// and U undecided, the state is a relation R, a subset of U x A: (u, a) is in R when a is reachable from u through arcs
// whose ends are decided. Every directed cycle that is completed later alternates such paths with future arcs, so R
// decides which completions are acyclic (docs/guarantees.md, "Counting without a list").
#pragma once

#include <cstdint>
#include <vector>

#include "factored/candidates.hpp"

namespace credibn::factored {

// The strongly connected component of each node in the graph of all possible arcs: no cycle leaves one.
template <int W>
std::vector<int> components(const Candidates<W>& candidates, std::vector<Bits<W>>& children) {
  const std::size_t n = std::size_t(candidates.n);
  children.assign(n, Bits<W>());
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t c = candidates.first[v]; c < candidates.first[v + 1]; ++c)
      candidates.parents[c].each([&](int p) { children[std::size_t(p)].set(int(v)); });
  std::vector<Bits<W>> reach = children;
  for (std::size_t v = 0; v < n; ++v) reach[v].set(int(v));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t v = 0; v < n; ++v)
      if (reach[v].test(int(k))) reach[v] |= reach[k];
  std::vector<int> component(n, -1);
  int count = 0;
  for (std::size_t v = 0; v < n; ++v) {
    if (component[v] >= 0) continue;
    reach[v].each([&](int w) {
      if (reach[std::size_t(w)].test(int(v))) component[std::size_t(w)] = count;
    });
    ++count;
  }
  return component;
}

// The relation R, a set of decided nodes for each undecided one, and its form as a key: for each node whose set is not
// empty, the node and the words of the set.
template <int W>
class Frontier {
 public:
  using Relation = std::vector<Bits<W>>;
  using Key = std::vector<std::uint64_t>;
  static constexpr std::size_t kRow = 1 + W;  // words of a key for each node

  Frontier(const Candidates<W>& candidates, const std::vector<int>& order)
      : candidates_(candidates),
        order_(order),
        undecided_(order.size() + 1),
        open_(order.size()),
        future_(order.size()) {
    const std::size_t n = order.size();
    std::vector<Bits<W>> children;
    const std::vector<int> component = components(candidates, children);
    same_.resize(n);
    for (std::size_t v = 0; v < n; ++v)
      for (std::size_t w = 0; w < n; ++w)
        if (component[v] == component[w]) same_[v].set(int(w));
    undecided_[0] = Bits<W>::first(int(n));
    Bits<W> begun;  // nodes of components of which some are decided: others have empty sets
    for (std::size_t t = 0; t < n; ++t) {
      undecided_[t + 1] = undecided_[t] - Bits<W>::of(order[t]);
      begun |= same_[std::size_t(order[t])];
      open_[t] = undecided_[t + 1] & begun;
      future_[t].resize(n);
      for (std::size_t x = 0; x < n; ++x) future_[t][x] = children[x] & undecided_[t + 1] & same_[x];
    }
    links_.resize(n);
    sources_.resize(n);
  }
  const Candidates<W>& candidates() const { return candidates_; }
  const std::vector<int>& order() const { return order_; }
  std::size_t n() const { return order_.size(); }
  const Bits<W>& undecided(std::size_t t) const { return undecided_[t]; }

  // The relation after the node of layer t, whose set is `of_node`, takes these parents (no cycle: they do not meet).
  // Sources are the undecided parents and all nodes that reach a decided parent; they gain what the node reaches.
  void decide(std::size_t t, const Relation& before, const Bits<W>& parents, Relation& after) const {
    const int v = order_[t];
    const Bits<W>& open = open_[t];
    const Bits<W> inside = parents & same_[std::size_t(v)], decided_parents = inside - undecided_[t + 1];
    const Bits<W> gain = before[std::size_t(v)] | Bits<W>::of(v);
    Bits<W> reached;
    open.each([&](int u) {
      Bits<W> set = before[std::size_t(u)];
      if (inside.test(u) || set.intersects(decided_parents)) set |= gain;
      after[std::size_t(u)] = set;
      reached |= set;
    });
    after[std::size_t(v)] = Bits<W>();
    if (reached.any()) forget(t, open, reached, after);
  }
  static void to_key(const Bits<W>& open, const Relation& relation, Key& key) {
    key.clear();
    open.each([&](int u) {
      const Bits<W>& set = relation[std::size_t(u)];
      if (!set.any()) return;
      key.push_back(std::uint64_t(u));
      key.insert(key.end(), set.words.begin(), set.words.end());
    });
  }
  // The relation must be empty before.
  static Bits<W> from_key(const std::uint64_t* key, std::size_t length, Relation& relation) {
    Bits<W> rows;
    for (std::size_t k = 0; k < length; k += kRow) {
      rows.set(int(key[k]));
      for (std::size_t w = 0; w < W; ++w) relation[std::size_t(key[k])].words[w] = key[k + 1 + w];
    }
    return rows;
  }
  // The nodes whose sets may not be empty after layer t.
  const Bits<W>& open(std::size_t t) const { return open_[t]; }

 private:
  // Drops (u, a) where a cannot reach u any more, by possible future arcs and by what is known to be reachable: no
  // cycle can use the path from u to a.
  void forget(std::size_t t, const Bits<W>& open, const Bits<W>& reached, Relation& relation) const {
    const std::vector<Bits<W>>& future = future_[t];
    Bits<W> live;
    reached.each([&](int a) {
      if (future[std::size_t(a)].any()) live.set(a);
    });
    live.each([&](int a) { sources_[std::size_t(a)] = Bits<W>(); });
    open.each([&](int u) {
      relation[std::size_t(u)] &= live;
      Bits<W> next = future[std::size_t(u)];
      relation[std::size_t(u)].each([&](int a) {
        next |= future[std::size_t(a)];
        sources_[std::size_t(a)].set(u);
      });
      links_[std::size_t(u)] = next;
    });
    live.each([&](int a) {
      const Bits<W>& sources = sources_[std::size_t(a)];
      Bits<W> seen = future[std::size_t(a)], todo = seen;
      while (todo.any() && !sources.is_subset_of(seen)) {
        const int x = todo.lowest();
        todo.reset(x);
        const Bits<W> fresh = links_[std::size_t(x)] - seen;
        seen |= fresh;
        todo |= fresh;
      }
      (sources - seen).each([&](int u) { relation[std::size_t(u)].reset(a); });
    });
  }

  const Candidates<W>& candidates_;
  std::vector<int> order_;
  std::vector<Bits<W>> same_;                 // the component of each node
  std::vector<Bits<W>> undecided_;            // before layer t
  std::vector<Bits<W>> open_;                 // see open()
  std::vector<std::vector<Bits<W>>> future_;  // after layer t: the undecided nodes that each node may point to
  mutable std::vector<Bits<W>> links_, sources_;
};

}  // namespace credibn::factored
