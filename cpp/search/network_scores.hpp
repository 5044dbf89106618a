// The scores of networks, and their order: by score, the best first, then by choices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/compensated.hpp"

namespace credibn::search {

using base::CompensatedSum;

// Local scores of the candidates of n nodes: those of node v are at offsets[v] to offsets[v + 1].
struct NodeScores {
  std::size_t n;
  const std::int64_t* offsets;
  const double* scores;

  // In the order of the nodes, so that equal networks have equal scores to the last bit.
  double of(const std::uint32_t* network) const {
    CompensatedSum sum;
    for (std::size_t v = 0; v < n; ++v) {
      const std::int64_t at = offsets[v] + network[v];
      if (at >= offsets[v + 1]) throw std::invalid_argument("a network names a candidate that does not exist");
      sum += scores[at];
    }
    return sum.value();
  }
};

// Whether each network comes before the next one and differs from it.
inline bool are_in_order(const double* scores, const std::uint32_t* choices, std::size_t n_networks, std::size_t n) {
  for (std::size_t k = 0; k + 1 < n_networks; ++k) {
    if (scores[k] > scores[k + 1]) continue;
    const std::uint32_t *network = choices + k * n, *next = network + n;
    if (scores[k] < scores[k + 1] || !std::lexicographical_compare(network, next, next, next + n)) return false;
  }
  return true;
}

}  // namespace credibn::search
