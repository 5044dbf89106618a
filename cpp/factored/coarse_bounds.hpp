// The bounds of the candidates in coarser steps: fewer bits, so that a processor adds and compares several at a time.
// Reduced costs are rounded down and costs up, so whatever is proven in coarse steps is true.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "factored/candidates.hpp"

namespace credibn::factored {

using Coarse = std::int32_t;

class CoarseBounds {
 public:
  // Networks that cost more than `most` do not matter: a bound that is larger says so, and is cut off there.
  template <int W>
  CoarseBounds(const Candidates<W>& candidates, Cost most)
      : size_((candidates.n_bounds() + kAtOnce - 1) / kAtOnce * kAtOnce),
        lower_(size_, -kRange),
        reduced_(candidates.size() * size_, 0) {
    while (most >> shift_ >= kRange) ++shift_;
    for (std::size_t j = 0; j < candidates.n_bounds(); ++j) {
      if (candidates.lower[j] < -most) continue;  // costs are not negative: it says nothing
      lower_[j] = down(candidates.lower[j]);
      for (std::size_t c = 0; c < candidates.size(); ++c) reduced_[c * size_ + j] = down(candidates.reduced_cost(j, c));
    }
  }
  static constexpr Coarse kLeast = -(Coarse(1) << 30);  // of what is compared

  std::size_t size() const { return size_; }  // of them, with some that say nothing
  Coarse lower(std::size_t j) const { return lower_[j]; }
  const Coarse* reduced(std::size_t c) const { return &reduced_[c * size_]; }  // of a candidate, for each bound

  static Coarse cut_off(std::int64_t bound) { return Coarse(std::min<std::int64_t>(bound, kCutOff)); }
  static Coarse sum(Coarse a, Coarse b) { return std::min(a + b, kCutOff); }
  Coarse down(Cost cost) const { return cut_off(cost >> shift_); }
  // Of what some network takes within `most`: more is left out before.
  Coarse up(Cost cost) const { return cut_off(-(-cost >> shift_)); }
  Cost fine(Coarse bound) const { return std::min(kNever, Cost(bound) * (Cost(1) << shift_)); }

  // The largest of the sums of two, over all bounds.
  Coarse largest(const Coarse* a, const Coarse* b) const {
    Coarse found[kAtOnce];
    std::fill(found, found + kAtOnce, kLeast);
    for (std::size_t j = 0; j < size_; j += kAtOnce)
      for (std::size_t k = 0; k < kAtOnce; ++k) found[k] = std::max(found[k], a[j + k] + b[j + k]);
    return *std::max_element(found, found + kAtOnce);
  }

 private:
  static constexpr std::size_t kAtOnce = 8;
  // Sums of four numbers that are cut off do not overflow; a bound that is cut off, less a cost that matters, is still
  // beyond all that matters.
  static constexpr Coarse kRange = Coarse(1) << 26, kCutOff = Coarse(1) << 28;

  int shift_ = 0;
  std::size_t size_;
  std::vector<Coarse> lower_, reduced_;
};

}  // namespace credibn::factored
