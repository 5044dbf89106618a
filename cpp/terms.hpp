// Discrete scores as set functions: F(S) is a constant of S minus a sum over the seen cells of S of one term of the
// cell's count, and cost(i, P) = F(P + i) - F(P).
//
//   penalised likelihood (BIC: w = ln(N)/2, AIC: w = 1)   F(S) = w * prod r_v - sum_c n_c ln(n_c / N)
//   BDeu                                                  F(S) = - sum_c [lnGamma(a_S + n_c) - lnGamma(a_S)],
//                                                         a_S = ess / prod r_v
#pragma once

#include <math.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "candidates.hpp"
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

// How large sums get. |F| of a set is at most N H <= N ln(distinct rows) and, for BDeu, ln(1/a) for each cell,
// penalties aside. A set that is kept costs at most epsilon more than the required parents alone, and never more than
// all parents together. Sums and products are made in an order of their own, so that the grid, and with it every cost,
// does not depend on the order of rows and columns.
inline double sum_in_order(std::vector<double> terms) {
  std::sort(terms.begin(), terms.end());
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

inline double product_in_order(double start, const std::vector<int>& columns, const std::vector<int>& arities) {
  std::vector<int> factors;
  for (int v : columns) factors.push_back(arities[std::size_t(v)]);
  std::sort(factors.begin(), factors.end());
  for (int factor : factors) start *= factor;
  return start;
}

inline Grid make_grid(const Table& table, const DiscreteScore& score, const Question& question) {
  const double n = double(table.total), n_cells = double(table.n_rows);
  std::vector<double> of_rows, of_nodes;
  for (std::uint32_t weight : table.weights) of_rows.push_back(-(weight * std::log(weight / n)));
  const double set_function = 1.0 + (score.is_bdeu() ? 64.0 * n_cells : 0.0) + sum_in_order(std::move(of_rows));
  double largest = set_function;
  for (int child = 0; child < question.n; ++child) {
    const NodeChoice& choice = question.nodes[std::size_t(child)];
    const double own = table.arities[std::size_t(child)];
    const double fewest = product_in_order(own, choice.required, table.arities);
    const double most = product_in_order(fewest, choice.free, table.arities);
    if (!std::isfinite(fewest)) throw std::invalid_argument("the required parents have too many configurations");
    const double weight = score.is_bdeu() ? 0.0 : 2.0 * score.parameter;
    double cost = 2.0 * set_function + std::min(weight * fewest + question.epsilon, weight * most);
    if (choice.required.empty())
      cost = std::min(cost, n * std::log(fewest) + (weight + 64.0) * fewest + question.epsilon);
    std::vector<double> of_edges;
    for (int v = 0; v < question.n; ++v) of_edges.push_back(std::abs(question.edge_cost(v, child)));
    of_nodes.push_back(cost + sum_in_order(std::move(of_edges)));
    largest = std::max(largest, set_function + std::min(weight * fewest + question.epsilon, weight * most));
  }
  const double network = sum_in_order(std::move(of_nodes));
  if (!std::isfinite(2.0 * std::max(network, largest)))
    throw std::invalid_argument("the costs are too large for double precision");
  // Terms of a cost: cells of the parents and of the family, two penalties, the edges.
  return Grid(2.0 * std::max(network, largest), 2.0 * n_cells + question.n + 8.0);
}

// term(count) for one kind of cell, tabulated for small counts. A multiple of the count is taken off each term, which
// cancels in every difference (counts add up to N for parents and family alike) and keeps the terms of large counts,
// and so all sums, small.
class Terms {
 public:
  // n ln n - n ln N
  static Terms entropy(const Grid& grid, std::uint64_t total) {
    Terms terms(grid, total, -1.0);
    terms.fill(1u << 16);
    return terms;
  }
  // lnGamma(a + n) - lnGamma(a) - n (ln N - 1)
  static Terms rising_factorial(const Grid& grid, std::uint64_t total, double a) {
    Terms terms(grid, total, a);
    terms.fill(1u << 10);
    return terms;
  }
  double operator()(std::uint64_t count) const { return count < table_.size() ? table_[count] : compute(count); }

 private:
  Terms(const Grid& grid, std::uint64_t total, double a) : grid_(grid), total_(total), a_(a) {}
  void fill(std::uint64_t most) {
    const std::uint64_t size = std::min(total_ + 1, most);
    table_.resize(size);
    for (std::uint64_t n = 0; n < size; ++n) table_[n] = compute(n);
  }
  double compute(std::uint64_t count) const {
    if (count == 0) return 0.0;
    const double n = double(count), total = double(total_);
    if (a_ < 0.0) return grid_.round(n * std::log(n / total));
    int sign;
    const double x = a_ + n, log_gamma_a = lgamma_r(a_ + 1.0, &sign) - std::log(a_);  // exact for tiny a
    if (x < 16.0) return grid_.round(lgamma_r(x, &sign) - log_gamma_a - n * (std::log(total) - 1.0));
    // Stirling's series, with the large parts taken together before they are rounded.
    const double series =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * x * x)) / (x * x)) / (x * x)) / x;
    const double half_log_2pi = 0.91893853320467274178;
    return grid_.round(n * std::log(x / total) + (a_ - 0.5) * std::log(x) - a_ + half_log_2pi + series - log_gamma_a);
  }
  Grid grid_;
  std::uint64_t total_;
  double a_;
  std::vector<double> table_;
};

// The terms of the sets that a search meets: one table for a penalised likelihood, one for each prior mass for BDeu.
class TermCache {
 public:
  TermCache(const DiscreteScore& score, const Grid& grid, std::uint64_t total)
      : score_(score), grid_(grid), total_(total), entropy_(Terms::entropy(grid, total)) {}

  const Terms& entropy() const { return entropy_; }
  // Forgets all when there are many, which ends the life of every reference that `of` has given.
  bool trim() {
    if (by_configurations_.size() < kMostTables) return false;
    by_configurations_.clear();
    return true;
  }
  // The terms of a set with that many configurations; valid until the next trim.
  const Terms& of(double configurations) {
    if (!score_.is_bdeu()) return entropy_;
    auto& slot = by_configurations_[configurations];
    if (!slot)
      slot = std::make_unique<Terms>(Terms::rising_factorial(grid_, total_, score_.parameter / configurations));
    return *slot;
  }
  // What F holds beside the sum over cells.
  double constant(double configurations) const {
    return score_.is_bdeu() ? 0.0 : grid_.round(score_.parameter * configurations);
  }

 private:
  static constexpr std::size_t kMostTables = 4096;  // of 8 KiB
  DiscreteScore score_;
  Grid grid_;
  std::uint64_t total_;
  Terms entropy_;
  std::unordered_map<double, std::unique_ptr<Terms>> by_configurations_;
};

}  // namespace credibn
