// A node order for the search by class. Where each node follows a neighbour, few members of a class have no covered
// edge against the order, so few are found more than once (see EquivalenceClass::member).
#pragma once

#include <vector>

#include "base/bits.hpp"

namespace credibn::classes {

using base::Bits;

// Ranks of the nodes in a topological order of the network that stays as close as it can to a maximum cardinality
// search of its skeleton.
template <int W>
std::vector<int> ranks_along(const std::vector<Bits<W>>& parents) {
  const std::size_t n = parents.size();
  std::vector<Bits<W>> neighbours = parents;
  for (std::size_t v = 0; v < n; ++v) parents[v].each([&](int u) { neighbours[std::size_t(u)].set(int(v)); });
  std::vector<int> visit(n), ranks(n);
  Bits<W> visited;
  for (std::size_t step = 0; step < n; ++step) {
    int next = -1, most = -1;
    for (std::size_t v = 0; v < n; ++v) {
      const int joined = (neighbours[v] & visited).count();
      if (!visited.test(int(v)) && joined > most) most = joined, next = int(v);
    }
    visited.set(next);
    visit[std::size_t(next)] = int(step);
  }
  Bits<W> placed;
  for (std::size_t step = 0; step < n; ++step) {
    int next = -1;
    for (std::size_t v = 0; v < n; ++v)
      if (!placed.test(int(v)) && parents[v].is_subset_of(placed) && (next < 0 || visit[v] < visit[std::size_t(next)]))
        next = int(v);
    placed.set(next);
    ranks[std::size_t(next)] = int(step);
  }
  return ranks;
}

}  // namespace credibn::classes
