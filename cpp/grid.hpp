// Costs on a grid: all tabulated terms are rounded once to multiples of 2^-k, with k so large that every sum that can
// occur stays below 2^52 grid steps. Sums and differences of such numbers are exact in double precision, so a cost does
// not depend on the order of summation, nor on threads, and networks of one equivalence class get the same score, to
// the last bit. What is lost is at most half a grid step for each term; `allowance` bounds it for a whole cost and is
// the only tolerance of the scoring stage: a superset bound prunes only when it is exceeded by more than that.
#pragma once

#include <cmath>

namespace credibn {

class Grid {
 public:
  // largest: an upper bound of the magnitude of any sum; n_terms: of the number of terms in one cost.
  Grid(double largest, double n_terms) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    step_ = std::ldexp(1.0, exponent - 51);
    allowance_ = step_ * (n_terms + 8.0);
  }
  double round(double x) const { return std::nearbyint(x / step_) * step_; }
  double allowance() const { return allowance_; }

 private:
  double step_ = 0.0, allowance_ = 0.0;
};

}  // namespace credibn
