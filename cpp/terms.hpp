// Discrete scores as set functions: F(S) is a constant of S minus a sum over the seen cells of S of one term of the
// cell's count (DESIGN fact F1), and cost(i, P) = F(P + i) - F(P).
//
//   penalised likelihood (BIC: w = ln(N)/2, AIC: w = 1)   F(S) = N ln N + w * prod r_v - sum_c n_c ln n_c
//   BDeu                                                  F(S) = - sum_c [lnGamma(a_S + n_c) - lnGamma(a_S)],
//                                                         a_S = ess / prod r_v
#pragma once

#include <math.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "grid.hpp"
#include "table.hpp"

namespace credibn {

struct DiscreteScore {
  enum class Kind { penalised_likelihood, bdeu };
  Kind kind;
  double parameter;  // the penalty weight w, or the equivalent sample size

  bool is_bdeu() const { return kind == Kind::bdeu; }
};

inline DiscreteScore make_score(bool is_bdeu, double parameter) {
  if (!(parameter >= 0.0) || !std::isfinite(parameter) || (is_bdeu && parameter == 0.0))
    throw std::invalid_argument("a score's parameter must be finite and positive");
  return {is_bdeu ? DiscreteScore::Kind::bdeu : DiscreteScore::Kind::penalised_likelihood, parameter};
}

// Sums run over at most N cells of at most ln N each, over the n costs of a network of at most N ln r each, and over
// penalties that rule 2 keeps below both; BDeu adds ln(1/a) for each cell.
inline Grid make_grid(const Table& table, const DiscreteScore& score) {
  const double n = double(table.total);
  double network = 0.0;
  for (int r : table.arities) network += n * std::log(double(r)) + score.parameter * r;
  const double set_function = n * (std::log(n) + (score.is_bdeu() ? 40.0 : 1.0));
  return Grid(4.0 * std::max(network, set_function), 4.0 * double(table.n_rows));
}

// term(count) for one kind of cell, tabulated for small counts.
class Terms {
 public:
  static constexpr std::uint64_t kTabulated = 1u << 16;

  // n ln n
  static Terms entropy(const Grid& grid, std::uint64_t largest_count) {
    Terms terms(grid, -1.0);
    terms.fill(largest_count);
    return terms;
  }
  // lnGamma(a + n) - lnGamma(a)
  static Terms rising_factorial(const Grid& grid, std::uint64_t largest_count, double a) {
    Terms terms(grid, a);
    terms.fill(largest_count);
    return terms;
  }
  double operator()(std::uint64_t count) const { return count < table_.size() ? table_[count] : compute(count); }
  const double* data() const { return table_.data(); }
  std::uint64_t n_tabulated() const { return table_.size(); }

 private:
  Terms(const Grid& grid, double a) : grid_(grid), a_(a) {}
  void fill(std::uint64_t largest_count) {
    const std::uint64_t size = std::min(largest_count + 1, kTabulated);
    table_.resize(size);
    for (std::uint64_t n = 0; n < size; ++n) table_[n] = compute(n);
  }
  double compute(std::uint64_t count) const {
    if (count == 0) return 0.0;
    const double n = double(count);
    if (a_ < 0.0) return grid_.round(n * std::log(n));
    if (count == 1) return grid_.round(std::log(a_));
    // lnGamma(a + n) - lnGamma(a) = ln a + lnGamma(a + n) - lnGamma(a + 1): no cancellation for tiny a.
    int sign;
    return grid_.round(std::log(a_) + lgamma_r(a_ + n, &sign) - lgamma_r(a_ + 1.0, &sign));
  }
  Grid grid_;
  double a_;
  std::vector<double> table_;
};

// The terms of every set a search meets: one table for a penalised likelihood, one for each prior mass for BDeu.
class TermCache {
 public:
  TermCache(const DiscreteScore& score, const Grid& grid, std::uint64_t total)
      : score_(score), grid_(grid), total_(total), entropy_(Terms::entropy(grid, total)) {}

  const Terms& entropy() const { return entropy_; }
  // The terms of a set with that many configurations.
  const Terms& of(double configurations) {
    if (!score_.is_bdeu()) return entropy_;
    auto& slot = by_configurations_[configurations];
    if (!slot)
      slot = std::make_unique<Terms>(Terms::rising_factorial(grid_, total_, score_.parameter / configurations));
    return *slot;
  }
  // What F holds beside the sum over cells.
  double constant(double configurations) const {
    return score_.is_bdeu() ? 0.0 : entropy_(total_) + grid_.round(score_.parameter * configurations);
  }

 private:
  DiscreteScore score_;
  Grid grid_;
  std::uint64_t total_;
  Terms entropy_;
  std::unordered_map<double, std::unique_ptr<Terms>> by_configurations_;
};

}  // namespace credibn
