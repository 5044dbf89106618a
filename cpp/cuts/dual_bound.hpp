// Lower bounds from dual values. For any y >= 0 over valid cuts (a_r x >= b_r) let
//     reduced(i, P) = cost(i, P) - sum_r y_r a_r(i, P) - u_i,   u_i = the least of these over P before u_i is taken
//     off, lower = sum_r y_r b_r + sum_i u_i.
// Then every network costs exactly lower + sum_i reduced(i, P_i) + sum_r y_r (a_r x - b_r), and no reduced cost and no
// surplus is negative. So a bound never depends on what a solver claims: any dual values give a valid one, and good
// ones make it tight.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "cuts/cluster_cuts.hpp"
#include "search/choices.hpp"

namespace credibn::cuts {

using search::Choices;

// The dual values of some cuts. Any values are valid, so a solver's failure loses no network: what is not a positive
// number counts as 0, and so does a number so large that a sum of products with it may not be finite.
class DualValues {
 public:
  DualValues(const double* values, std::size_t count) : values_(values, values + count) {
    for (double& y : values_)
      if (!(y > 0 && y <= kLargest)) y = 0;  // also for NaN
  }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t r) const { return values_[r]; }

 private:
  static constexpr double kLargest = 0x1p400;
  std::vector<double> values_;
};

struct DualBound {
  double lower = 0;
  double magnitude = 0;         // of the costs and of what the dual values subtract from them: no partial sum is larger
  double margin = 0;            // exceeds the rounding error of `lower` and of a sum of reduced costs
  std::vector<double> reduced;  // infinite for candidates that are not alive
};

template <int W>
DualBound dual_bound(const Choices<W>& choices, const std::uint8_t* alive, const std::vector<const Cut*>& cuts,
                     const DualValues& duals) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  DualBound bound;
  bound.reduced.resize(choices.size());
  for (int v = 0; v < choices.n(); ++v) {
    for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at)
      bound.reduced[at] = alive[at] ? choices.cost(v, k) : kInfinity;
    bound.magnitude += std::max(std::abs(choices.cost(v, 0)), std::abs(choices.cost(v, choices.size(v) - 1)));
  }
  for (std::size_t r = 0; r < cuts.size(); ++r) {
    const double y = duals[r];
    if (y == 0) continue;
    for (std::size_t k = 0; k < cuts[r]->at.size(); ++k) bound.reduced[cuts[r]->at[k]] -= y * cuts[r]->coefficients[k];
    bound.lower += y * cuts[r]->rhs;
    bound.magnitude += y * cuts[r]->magnitude() * choices.n();
  }
  for (int v = 0; v < choices.n(); ++v) {
    const auto begin = bound.reduced.begin() + std::ptrdiff_t(choices.first(v));
    const auto end = begin + std::ptrdiff_t(choices.size(v));
    const double least = *std::min_element(begin, end);
    bound.lower += least;
    if (std::isfinite(least))
      for (auto at = begin; at != end; ++at) *at -= least;
  }
  // Each reduced cost is a sum of at most as many terms as cuts and a few more, each addition off by at most 2^-53 of
  // the magnitude; the nodes' shares of it add up.
  bound.margin = double(cuts.size() + std::size_t(choices.n()) + 16) * 0x1p-52 * bound.magnitude;
  return bound;
}

}  // namespace credibn::cuts
