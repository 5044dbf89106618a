// For each node j and each set U of other nodes, the sum A(j, U) of exp(score) over the parent sets of j inside U; and
// the transposed sum, from weights of the sets U to weights of the parent sets.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/large_array.hpp"
#include "base/scaled.hpp"

namespace credibn::posterior {

using base::DoubleDouble;
using base::kPowerOrigin;
using base::LargeArray;
using base::normalised;
using base::power_of_two;
using base::Scaled;
using base::scaled_exp;

// The candidates of node j are at offsets[j] to offsets[j + 1], with log scores and parent sets as bit masks.
struct LocalScores {
  int n;
  const std::int64_t* offsets;
  const double* scores;
  const std::uint64_t* masks;

  double best(int j) const {
    double best = -std::numeric_limits<double>::infinity();
    for (std::int64_t candidate = offsets[j]; candidate < offsets[j + 1]; ++candidate)
      best = std::max(best, scores[candidate]);
    return best;
  }
};

class LocalSums {
 public:
  static constexpr int kMostNodes = 24;
  // Differences of exponents must fit in 32 bits.
  static constexpr double kWidestGap = 5e8;

  // A(j, U), each relative to exp(best score of j).
  explicit LocalSums(const LocalScores& local) : n_(local.n) {
    check(local);
    const std::size_t n_sets = std::size_t(1) << (n_ - 1);
    for (int j = 0; j < n_; ++j) {
      highs_.emplace_back(n_sets);
      lows_.emplace_back(n_sets);
      exponents_.emplace_back(n_sets);
      for (std::size_t at = 0; at < n_sets; ++at) put(j, at, {});
      const double best = local.best(j);
      for (std::int64_t candidate = local.offsets[j]; candidate < local.offsets[j + 1]; ++candidate)
        put(j, place(j, std::uint32_t(local.masks[candidate])), scaled_exp(local.scores[candidate], best));
    }
  }

  void sum_over_subsets(int j) {
    for (int b = 0; b < n_ - 1; ++b)
      for_each_pair(
          b, [&](std::size_t without, std::size_t run) { add(j, without + (std::size_t(1) << b), without, run); });
    normalise(j);
  }
  void sum_over_supersets(int j) {
    for (int b = 0; b < n_ - 1; ++b)
      for_each_pair(
          b, [&](std::size_t without, std::size_t run) { add(j, without, without + (std::size_t(1) << b), run); });
    normalise(j);
  }
  Scaled get(int j, std::uint32_t set) const {
    const std::size_t at = place(j, set);
    return {{highs_[std::size_t(j)][at], lows_[std::size_t(j)][at]}, exponents_[std::size_t(j)][at]};
  }
  void set(int j, std::uint32_t set, const Scaled& value) { put(j, place(j, set), value); }
  int n() const { return n_; }

  static std::uint64_t bytes(int n) {
    return (std::uint64_t(n) << (n - 1)) * (2 * sizeof(double) + sizeof(std::int32_t));
  }

 private:
  static constexpr std::int32_t kOfZero = -(1 << 30);  // below all others, so that zero adds nothing

  static void check(const LocalScores& local) {
    if (local.n < 1 || local.n > kMostNodes) throw std::invalid_argument("the sum over networks takes 1 to 24 nodes");
    for (int j = 0; j < local.n; ++j) {
      if (local.offsets[j] >= local.offsets[j + 1]) throw std::invalid_argument("a node has no candidate parent set");
      const double best = local.best(j);
      for (std::int64_t candidate = local.offsets[j]; candidate < local.offsets[j + 1]; ++candidate) {
        if (local.masks[candidate] >> local.n || local.masks[candidate] >> j & 1)
          throw std::invalid_argument("a parent set holds its own child or an unknown node");
        if (!(best - local.scores[candidate] <= kWidestGap)) throw std::invalid_argument("scores are too far apart");
      }
    }
  }
  // Sets of the other nodes are numbered without the bit of j.
  static std::size_t place(int j, std::uint32_t set) {
    return (std::size_t(set) >> (j + 1) << j) | (std::size_t(set) & ((std::size_t(1) << j) - 1));
  }
  void put(int j, std::size_t at, const Scaled& value) {
    highs_[std::size_t(j)][at] = value.mantissa.high;
    lows_[std::size_t(j)][at] = value.mantissa.low;
    exponents_[std::size_t(j)][at] = value.mantissa.high == 0.0 ? kOfZero : value.exponent;
  }
  template <class Use>
  void for_each_pair(int b, const Use& use) const {
    const std::size_t run = std::size_t(1) << b, n_sets = std::size_t(1) << (n_ - 1);
    for (std::size_t without = 0; without < n_sets; without += 2 * run) use(without, run);
  }
  void add(int j, std::size_t to, std::size_t from, std::size_t run) {
    double *const high = highs_[std::size_t(j)].data(), *const low = lows_[std::size_t(j)].data();
    std::int32_t* const e = exponents_[std::size_t(j)].data();
    for (std::size_t k = 0; k < run; ++k) {
      const std::int32_t a = e[to + k], b = e[from + k], top = a > b ? a : b;
      const DoubleDouble sum = DoubleDouble{high[to + k], low[to + k]} * power_of_two(kPowerOrigin + (a - top)) +
                               DoubleDouble{high[from + k], low[from + k]} * power_of_two(kPowerOrigin + (b - top));
      high[to + k] = sum.high;
      low[to + k] = sum.low;
      e[to + k] = top;
    }
  }
  void normalise(int j) {
    const auto node = std::size_t(j);
    for (std::size_t at = 0; at < highs_[node].size(); ++at)
      put(j, at, normalised({highs_[node][at], lows_[node][at]}, exponents_[node][at]));
  }

  int n_;
  std::vector<LargeArray<double>> highs_, lows_;
  std::vector<LargeArray<std::int32_t>> exponents_;
};

}  // namespace credibn::posterior
