// Costs on a grid: every set function is rounded once to a multiple of 2^-k, with k so large that every sum of costs
// stays below 2^52 steps. Sums and differences of such numbers are exact in double precision, so a cost does not depend
// on the order of summation, nor on threads, and networks of one equivalence class get the same score, to the last bit.
//
// The set functions themselves are sums over many cells. They are added up as whole numbers of a finer step, so that
// rounding each term costs next to nothing. The descent engine, which scores far more sets than it returns, adds up
// terms rounded to the coarse step during its search, and allows for their error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace credibn::scoring {

// The widest floating-point type: 64 bits of mantissa on x86-64, 113 on most other 64-bit machines. Where it is no more
// than a double, error bounds and the tolerance are larger, and nothing else changes.
using Wide = long double;

class Grid {
 public:
  // largest_sum: an upper bound of the magnitude of any sum of costs; largest_set_function: of a sum over cells.
  Grid(double largest_sum, double largest_set_function) {
    int exponent = 0;
    std::frexp(largest_sum, &exponent);
    step_exponent_ = exponent - 52;
    step_ = std::ldexp(1.0, step_exponent_);
    std::frexp(std::max(largest_set_function, step_), &exponent);
    fine_bits_ = std::clamp(61 - (exponent - step_exponent_), 0, 40);
  }
  double step() const { return step_; }
  double fine_step() const { return std::ldexp(step_, -fine_bits_); }
  double round(double x) const { return std::nearbyint(x / step_) * step_; }
  std::int64_t to_fine(Wide x) const { return std::llrint(std::ldexp(x, fine_bits_ - step_exponent_)); }
  double from_fine(std::int64_t x) const {
    if (fine_bits_ == 0) return double(x) * step_;
    return double((x + (std::int64_t(1) << (fine_bits_ - 1))) >> fine_bits_) * step_;
  }

 private:
  int step_exponent_ = 0, fine_bits_ = 0;
  double step_ = 0.0;
};

// How far costs can be from the truth, in nats; docs/guarantees.md derives each ("Numbers").
struct Accuracy {
  double cost;       // of a cost that is returned
  double in_search;  // of a cost that the descent engine computes during its search, or of a bound
  double tolerance;  // two networks whose costs differ by no more may tie in truth
  double pruning;    // what rule 1 adds to epsilon: the tolerance and the rounding of the comparisons of the search
};

}  // namespace credibn::scoring
