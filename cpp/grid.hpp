// Costs on a grid: all tabulated terms are rounded once to multiples of 2^-k, with k so large that every sum that can
// occur stays below 2^52 grid steps. Sums and differences of such numbers are exact in double precision, so a cost does
// not depend on the order of summation, nor on threads, and networks of one equivalence class get the same score, to
// the last bit. What is lost is at most half a grid step for each term. That is the only tolerance of the scoring
// stage: two costs that are equal in truth differ by at most `tie`, and bounds prune only when exceeded by `allowance`
// more.
#pragma once

#include <cmath>

namespace credibn {

class Grid {
 public:
  // largest: an upper bound of the magnitude of any sum; n_terms: of the number of terms in one cost.
  Grid(double largest, double n_terms) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    step_ = std::ldexp(1.0, exponent - 52);
    rounding_ = 0.5 * step_ * n_terms;
  }
  double round(double x) const { return std::nearbyint(x / step_) * step_; }
  double tie() const { return 2.0 * rounding_; }
  // Of the cost that is bounded, of the bound and of the cost it is compared with.
  double allowance() const { return 4.0 * rounding_; }

 private:
  double step_ = 0.0, rounding_ = 0.0;  // rounding_: what one cost can be off
};

}  // namespace credibn
