// Lower bounds from multipliers. For any y >= 0 over valid rows (a_r x >= b_r) let
//     reduced(i, P) = cost(i, P) - sum_r y_r a_r(i, P) - u_i,   u_i = the least of these over P before u_i is taken
//     off, lower = sum_r y_r b_r + sum_i u_i.
// Then every network costs exactly lower + sum_i reduced(i, P_i) + sum_r y_r (a_r x - b_r), and no term is negative. So
// a bound never rests on what a solver claims: any multipliers will do, and good ones make it tight.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "choices.hpp"
#include "cluster_rows.hpp"

namespace credibn {

struct DualBound {
  double lower = 0;
  double margin = 0;            // more than rounding can have changed `lower` or a sum of reduced costs
  std::vector<double> reduced;  // infinite where a candidate takes no part
};

template <int W>
DualBound dual_bound(const Choices<W>& choices, const std::uint8_t* alive, const std::vector<const Row*>& rows,
                     const double* multipliers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  DualBound bound;
  bound.reduced.resize(choices.size());
  double magnitude = 0;
  for (int v = 0; v < choices.n(); ++v) {
    for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at)
      bound.reduced[at] = alive[at] ? choices.cost(v, k) : kInfinity;
    magnitude += std::max(std::abs(choices.cost(v, 0)), std::abs(choices.cost(v, choices.size(v) - 1)));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = multipliers[r];
    if (!(y > 0) || !std::isfinite(y)) continue;  // any others are valid: a solver's trouble costs no network
    for (std::size_t k = 0; k < rows[r]->at.size(); ++k) bound.reduced[rows[r]->at[k]] -= y * rows[r]->coefficients[k];
    bound.lower += y * rows[r]->rhs;
    magnitude += y * rows[r]->magnitude() * choices.n();
  }
  for (int v = 0; v < choices.n(); ++v) {
    const auto begin = bound.reduced.begin() + std::ptrdiff_t(choices.first(v));
    const auto end = begin + std::ptrdiff_t(choices.size(v));
    const double least = *std::min_element(begin, end);
    bound.lower += least;
    if (std::isfinite(least))
      for (auto at = begin; at != end; ++at) *at -= least;
  }
  // Each reduced cost is a sum of at most as many terms as rows and a few more, each addition off by at most 2^-53 of
  // the magnitude; the nodes' shares of it add up.
  bound.margin = double(rows.size() + std::size_t(choices.n()) + 16) * 0x1p-52 * magnitude;
  return bound;
}

}  // namespace credibn
