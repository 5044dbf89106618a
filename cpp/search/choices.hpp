// The input of a search: for each node its candidate parent sets with their costs, the cheapest first. A network is one
// candidate for each node such that there is no directed cycle; its cost is the sum. It is written as the position of
// each node's parent set among the node's candidates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "base/bits.hpp"

namespace credibn::search {

using base::Bits;

template <int W>
class Choices {
 public:
  // offsets: n + 1 of them; masks: `words` for each candidate. Everything from outside is checked here.
  Choices(int n, const std::int64_t* offsets, const double* costs, const std::uint64_t* masks, int words)
      : n_(n), offsets_(offsets, offsets + n + 1) {
    if (words > W) throw std::invalid_argument("the masks are wider than the core was asked to take");
    const std::size_t m = std::size_t(offsets_[std::size_t(n)]);
    costs_.assign(costs, costs + m);
    masks_.resize(m);
    for (std::size_t c = 0; c < m; ++c)
      for (int k = 0; k < words; ++k) masks_[c].words[std::size_t(k)] = masks[c * std::size_t(words) + std::size_t(k)];
    const Bits<W> all = Bits<W>::first(n);
    for (int v = 0; v < n; ++v) {
      if (size(v) == 0) throw std::invalid_argument("a node has no candidate parent set");
      for (std::size_t k = 0; k < size(v); ++k) {
        if (parents(v, k).test(v) || !parents(v, k).is_subset_of(all))
          throw std::invalid_argument("a parent set holds its own child or an unknown node");
        if (!std::isfinite(cost(v, k))) throw std::invalid_argument("costs must be finite");
        if (k && cost(v, k) < cost(v, k - 1)) throw std::invalid_argument("candidates must come cheapest first");
      }
    }
  }
  int n() const { return n_; }
  std::size_t size() const { return costs_.size(); }
  std::size_t size(int v) const { return std::size_t(offsets_[std::size_t(v) + 1] - offsets_[std::size_t(v)]); }
  std::size_t first(int v) const { return std::size_t(offsets_[std::size_t(v)]); }
  double cost(int v, std::size_t k) const { return costs_[first(v) + k]; }
  const Bits<W>& parents(int v, std::size_t k) const { return masks_[first(v) + k]; }
  // Exceeds the rounding error of any sum of one cost for each node, in any order of summation.
  double rounding() const {
    double scale = 0.0;
    for (int v = 0; v < n_; ++v) scale += std::max(std::abs(cost(v, 0)), std::abs(cost(v, size(v) - 1)));
    return std::ldexp(scale, -44);
  }
  const double* costs(int v) const { return costs_.data() + first(v); }
  const Bits<W>* masks(int v) const { return masks_.data() + first(v); }

 private:
  int n_;
  std::vector<std::int64_t> offsets_;
  std::vector<double> costs_;
  std::vector<Bits<W>> masks_;
};

// Finds the position of a parent set among a node's candidates.
template <int W>
class ChoiceIndex {
 public:
  explicit ChoiceIndex(const Choices<W>& choices) : positions_(std::size_t(choices.n())) {
    for (int v = 0; v < choices.n(); ++v) {
      auto& of_node = positions_[std::size_t(v)];
      of_node.reserve(choices.size(v));
      for (std::size_t k = 0; k < choices.size(v); ++k) of_node.emplace(choices.parents(v, k), std::uint32_t(k));
    }
  }
  static constexpr std::uint32_t kAbsent = ~std::uint32_t(0);
  std::uint32_t find(int v, const Bits<W>& parents) const {
    const auto& of_node = positions_[std::size_t(v)];
    const auto found = of_node.find(parents);
    return found == of_node.end() ? kAbsent : found->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const Bits<W>& bits) const { return std::size_t(bits.hash()); }
  };
  std::vector<std::unordered_map<Bits<W>, std::uint32_t, Hash>> positions_;
};

}  // namespace credibn::search
