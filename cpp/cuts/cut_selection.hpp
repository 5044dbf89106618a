// Which of many violated cuts to take: deep ones that differ from each other. Cuts that say nearly the same raise the
// bound no more than one of them does, and make the linear program larger.
//
// A cut is as good as another when a multiple of a node's equation is added to it. So it is compared by its part that
// is orthogonal to all equations, over the candidates that count: for each node, the mean coefficient is taken off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cuts/cluster_cuts.hpp"
#include "search/choices.hpp"

namespace credibn::cuts {

template <int W>
class CutSelection {
 public:
  // values: the fractional solution; counts: flags the candidates over which cuts are compared.
  CutSelection(const search::Choices<W>& choices, const double* values, const std::uint8_t* counts)
      : values_(values), node_of_(choices.size(), kNone), sizes_(std::size_t(choices.n())), dense_(choices.size()) {
    for (int v = 0; v < choices.n(); ++v)
      for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at) {
        if (!counts[at]) continue;
        node_of_[at] = std::uint32_t(v);
        ++sizes_[std::size_t(v)];
      }
  }

  // The places of at most max_cuts of the cuts, the deepest first: in distance from the solution. No two of them have
  // an angle whose cosine exceeds max_cosine.
  std::vector<std::size_t> select(const std::vector<Cut>& cuts, std::size_t max_cuts, double max_cosine) {
    std::vector<Part> parts;
    for (const Cut& cut : cuts) parts.push_back(part_of(cut));
    std::vector<std::size_t> order(cuts.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return parts[a].depth > parts[b].depth; });
    std::vector<char> is_left_out(cuts.size(), 0);
    std::vector<std::size_t> selected;
    for (std::size_t k = 0; k < order.size() && selected.size() < max_cuts; ++k) {
      if (is_left_out[order[k]]) continue;
      const Part& part = parts[order[k]];
      selected.push_back(order[k]);
      for (const auto& [at, value] : part.entries) dense_[at] = value;
      for (std::size_t later = k + 1; later < order.size(); ++later) {
        const Part& other = parts[order[later]];
        if (is_left_out[order[later]]) continue;
        is_left_out[order[later]] = dot_with_dense(part, other) > max_cosine * part.norm * other.norm;
      }
      for (const auto& [at, value] : part.entries) dense_[at] = 0;
    }
    return selected;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);
  struct Entry {
    std::uint32_t at;
    double value;
  };
  struct Part {
    std::vector<Entry> entries;  // of candidates that count, before the means are taken off
    std::vector<double> sums;    // of each node
    double norm = 0, depth = 0;
  };

  Part part_of(const Cut& cut) const {
    Part part;
    part.sums.resize(sizes_.size());
    double squares = 0, violation = cut.rhs;
    for (std::size_t k = 0; k < cut.at.size(); ++k) {
      const double value = cut.coefficients[k];
      violation -= value * values_[cut.at[k]];
      if (node_of_[cut.at[k]] == kNone) continue;
      part.entries.push_back({cut.at[k], value});
      part.sums[node_of_[cut.at[k]]] += value;
      squares += value * value;
    }
    part.norm = std::sqrt(std::max(squares - product_of_means(part, part), 0.0)) + 1e-9;
    part.depth = violation / part.norm;
    return part;
  }
  double product_of_means(const Part& a, const Part& b) const {
    double sum = 0;
    for (std::size_t v = 0; v < sizes_.size(); ++v)
      if (sizes_[v]) sum += a.sums[v] * b.sums[v] / double(sizes_[v]);
    return sum;
  }
  double dot_with_dense(const Part& dense, const Part& other) const {
    double sum = 0;
    for (const auto& [at, value] : other.entries) sum += dense_[at] * value;
    return sum - product_of_means(dense, other);
  }

  const double* values_;
  std::vector<std::uint32_t> node_of_;  // of the candidates that count
  std::vector<std::size_t> sizes_;      // how many candidates of each node count
  std::vector<double> dense_;
};

}  // namespace credibn::cuts
