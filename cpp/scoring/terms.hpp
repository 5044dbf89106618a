// Discrete scores as set functions: F(S) is a constant of S minus a sum over the seen cells of S of one term of the
// cell's count, and cost(i, P) = F(P + i) - F(P).
//
//   penalised likelihood (BIC: w = ln(N)/2, AIC: w = 1)   F(S) = w * prod r_v - sum_c n_c ln(n_c / N)
//   BDeu, with a_S = ess / prod r_v and                   F(S) = - sum_c (ln[a_S (a_S + 1) ... (a_S + n_c - 1)] - n_c
//   u)
//         u = ln[ess (ess + 1) ... (ess + N - 1)] / N
//
// A multiple of the count cancels in every cost, since the counts add up to N for parents and family alike. This one
// makes F(S) minus the log marginal likelihood of the complete network on S: no term is positive, and F grows with S.
// So no partial sum exceeds F of all columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scoring/candidates.hpp"
#include "scoring/grid.hpp"
#include "scoring/table.hpp"

namespace credibn::scoring {

struct DiscreteScore {
  enum class Kind { penalised_likelihood, bdeu };
  Kind kind;
  double parameter;  // the penalty weight w, or the equivalent sample size

  bool is_bdeu() const { return kind == Kind::bdeu; }
};

// The range of the equivalent sample size for which the error bound of `LogRising` is proven.
inline constexpr double kLeastSampleSize = 1e-300, kLargestSampleSize = 1e300;

inline DiscreteScore make_score(bool is_bdeu, double parameter) {
  if (!(parameter >= 0.0) || !std::isfinite(parameter))
    throw std::invalid_argument("a score's parameter must be finite and not negative");
  if (is_bdeu && !(kLeastSampleSize <= parameter && parameter <= kLargestSampleSize))
    throw std::invalid_argument("an equivalent sample size must lie between 1e-300 and 1e300");
  return {is_bdeu ? DiscreteScore::Kind::bdeu : DiscreteScore::Kind::penalised_likelihood, parameter};
}

// sum over j < n of ln((a + j) / scale), for any a > 0, without cancellation.
//
// The first factors are multiplied; the rest is Stirling's series for both Gamma functions, with the large parts taken
// together: with b = a + 16 (or a) and x = b + m,
//     ln[b (b + 1) ... (x - 1)] = m (ln x - 1) + (b - 1/2) ln(1 + m / b) + omega(x) - omega(b).
class LogRising {
 public:
  // ln(a) is given too, because a itself may be too small for its type.
  LogRising(Wide a, Wide log_a, Wide scale) : a_(a), log_a_(log_a), scale_(scale), log_scale_(std::log(scale)) {
    if (a_ >= kLeastBase) {
      base_ = a_;
    } else {
      n_multiplied_ = kMultiplied;
      base_ = a_ + Wide(kMultiplied);
      head_ = product(kMultiplied);
    }
    omega_of_base_ = omega(base_);
  }
  // n >= 1
  Wide operator()(std::uint64_t n) const {
    if (n <= n_multiplied_) return product(n);
    const Wide m = Wide(n - n_multiplied_), x = base_ + m;
    return head_ + m * (std::log(x / scale_) - 1) + (base_ - Wide(0.5)) * std::log1p(m / base_) +
           (omega(x) - omega_of_base_);
  }

 private:
  static constexpr std::uint64_t kMultiplied = 16;
  static constexpr int kLeastBase = 16;

  Wide product(std::uint64_t n) const {
    Wide factors = 1;
    for (std::uint64_t j = 1; j < n; ++j) factors *= a_ + Wide(j);
    return log_a_ + std::log(factors) - Wide(n) * log_scale_;
  }
  // ln Gamma(x) - ((x - 1/2) ln x - x + ln(2 pi) / 2). The first omitted term bounds the error: 3e-20 for x >= 16.
  static Wide omega(Wide x) {
    const Wide y = 1 / (x * x);
    const Wide sum = Wide(1) / 1188 - y * (Wide(691) / 360360 - y / 156);
    return (Wide(1) / 12 - y * (Wide(1) / 360 - y * (Wide(1) / 1260 - y * (Wide(1) / 1680 - y * sum)))) / x;
  }

  Wide a_, log_a_, scale_, log_scale_;
  Wide base_ = 0, head_ = 0, omega_of_base_ = 0;
  std::uint64_t n_multiplied_ = 0;
};

// The prior of BDeu for N rows.
class BdeuPrior {
 public:
  BdeuPrior(double sample_size, std::uint64_t total)
      : size_(sample_size), scale_(std::max(size_, Wide(total))), log_size_(std::log(size_)) {
    log_unit_ = of_configurations(1.0)(total) / Wide(total);
  }
  LogRising of_configurations(double configurations) const {
    return LogRising(size_ / Wide(configurations), log_size_ - std::log(Wide(configurations)), scale_);
  }
  // For numbers beyond the range of any type; less exact.
  LogRising of_log_configurations(Wide log_configurations) const {
    const Wide log_mass = log_size_ - log_configurations;
    return LogRising(std::exp(log_mass), log_mass, scale_);
  }
  // u of the formula above, less ln(scale).
  Wide log_unit() const { return log_unit_; }
  // The magnitudes that a term is made of, beside the count and the term itself.
  double parts() const { return double(std::abs(log_size_) + std::abs(std::log(scale_)) + std::abs(log_unit_)); }

 private:
  Wide size_, scale_, log_size_, log_unit_ = 0;
};

// The term of a cell as a function of its count, for the sets of one number of configurations. Never positive.
class CellTerm {
 public:
  explicit CellTerm(std::uint64_t total) : total_(total) {}
  CellTerm(std::uint64_t total, const BdeuPrior& prior, const LogRising& rising)
      : total_(total), rising_(std::make_shared<const LogRising>(rising)), log_unit_(prior.log_unit()) {}

  Wide operator()(std::uint64_t count) const {
    if (count == 0) return 0;
    const Wide n = Wide(count), total = Wide(total_);
    if (rising_) return (*rising_)(count)-n * log_unit_;
    return n * (2 * count > total_ ? std::log1p(-Wide(total_ - count) / total) : std::log(n / total));
  }

 private:
  std::uint64_t total_;
  std::shared_ptr<const LogRising> rising_;  // none for a penalised likelihood
  Wide log_unit_ = 0;
};

// A term for each count, tabulated for small ones: on the coarse grid as doubles, or on the fine one as whole numbers.
template <class Number>
class TermTable {
 public:
  TermTable(const Grid& grid, CellTerm term, std::uint64_t total, std::uint64_t most)
      : grid_(grid), term_(std::move(term)) {
    table_.resize(std::min(total + 1, most));
    for (std::uint64_t n = 0; n < table_.size(); ++n) table_[n] = compute(n);
  }
  [[gnu::always_inline]] Number operator()(std::uint64_t count) const {
    return count < table_.size() ? table_[count] : compute(count);
  }

 private:
  // Rare and long, so never inlined into the loops that look up terms.
  [[gnu::noinline, gnu::cold]] Number compute(std::uint64_t count) const {
    if constexpr (std::is_same_v<Number, double>)
      return grid_.round(double(term_(count)));
    else
      return grid_.to_fine(term_(count));
  }
  Grid grid_;
  CellTerm term_;
  std::vector<Number> table_;
};
using Terms = TermTable<double>;
using FineTerms = TermTable<std::int64_t>;

// The terms of the sets that a search scores: one table for a penalised likelihood, one for each prior mass for BDeu.
template <class Number>
class TermTables {
 public:
  TermTables(const DiscreteScore& score, const Grid& grid, std::uint64_t total)
      : score_(score), grid_(grid), total_(total), entropy_(grid, CellTerm(total), total, 1u << 16) {
    if (score.is_bdeu()) prior_ = std::make_unique<BdeuPrior>(score.parameter, total);
  }
  // n ln(n / N); bounds need it for BDeu too.
  const TermTable<Number>& entropy() const { return entropy_; }

  // Clears the tables when there are many, which invalidates every reference that `of` has returned.
  bool trim() {
    if (by_configurations_.size() < kMostTables) return false;
    by_configurations_.clear();
    return true;
  }
  // The terms of a set with this number of configurations; valid until the next trim.
  const TermTable<Number>& of(double configurations) {
    if (!prior_) return entropy_;
    require_finite(configurations);
    auto& slot = by_configurations_[configurations];
    if (!slot)
      slot = std::make_unique<TermTable<Number>>(
          grid_, CellTerm(total_, *prior_, prior_->of_configurations(configurations)), total_, 1u << 10);
    return *slot;
  }
  // What F holds beside the sum over cells.
  double constant(double configurations) const {
    if (score_.is_bdeu()) return 0.0;
    require_finite(configurations);
    return grid_.round(score_.parameter * configurations);
  }

 private:
  static void require_finite(double configurations) {
    if (!std::isfinite(configurations)) throw std::invalid_argument("a parent set has too many configurations");
  }

  static constexpr std::size_t kMostTables = 4096;  // of 8 KiB
  DiscreteScore score_;
  Grid grid_;
  std::uint64_t total_;
  TermTable<Number> entropy_;
  std::unique_ptr<BdeuPrior> prior_;
  std::unordered_map<double, std::unique_ptr<TermTable<Number>>> by_configurations_;
};

// Lends the tables to tasks, each to one at a time, so that they are not filled anew for every task.
template <class Number>
class TermPool {
 public:
  using Tables = TermTables<Number>;

  TermPool(const DiscreteScore& score, const Grid& grid, std::uint64_t total)
      : score_(score), grid_(grid), total_(total) {}
  TermPool(const TermPool&) = delete;
  TermPool& operator=(const TermPool&) = delete;

  // Until the last copy of the pointer is gone; the pool must live longer.
  std::shared_ptr<Tables> borrow() const {
    std::unique_ptr<Tables> tables = take_idle();
    if (!tables) tables = std::make_unique<Tables>(score_, grid_, total_);
    return {tables.release(), [this](Tables* returned) { take_back(returned); }};
  }

 private:
  std::unique_ptr<Tables> take_idle() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Tables> tables = std::move(idle_.back());
    idle_.pop_back();
    return tables;
  }
  void take_back(Tables* tables) const {
    std::unique_ptr<Tables> returned(tables);
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      idle_.push_back(std::move(returned));
    } catch (const std::bad_alloc&) {  // the next task fills its own
    }
  }

  const DiscreteScore score_;
  const Grid grid_;
  const std::uint64_t total_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Tables>> idle_;
};

// Sums and products in an order of their own, so that the grid, and with it every cost, does not depend on the order of
// rows and columns.
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

// The grid of a problem, and its accuracy.
struct Scale {
  Grid grid;
  Accuracy accuracy;
};

class ScaleMaker {
 public:
  ScaleMaker(const Table& table, const DiscreteScore& score, const Request& request)
      : table_(table), score_(score), request_(request), n_(double(table.total)) {
    if (score.is_bdeu()) prior_ = std::make_unique<BdeuPrior>(score.parameter, table.total);
    std::vector<double> logs;
    for (int arity : table.arities) logs.push_back(std::log(double(arity)));
    log_configurations_ = sum_in_order(std::move(logs));
    of_all_ = of_cells(table.weights, log_configurations_);
  }

  Scale make() const {
    std::vector<double> of_nodes;
    double largest = of_all_, n_priors = 0.0;
    for (int child = 0; child < request_.n; ++child) {
      const NodeChoice& choice = request_.nodes[std::size_t(child)];
      const double own = table_.arities[std::size_t(child)];
      const double fewest = product_in_order(own, choice.required, table_.arities);
      const double most = product_in_order(fewest, choice.free, table_.arities);
      if (!std::isfinite(fewest)) throw std::invalid_argument("the required parents have too many configurations");
      // A set that remains costs at most epsilon more than the required parents alone, and no more than all parents.
      // Its family has at most twice its own free parameters.
      const double weight = score_.is_bdeu() ? 0.0 : score_.parameter;
      const double of_required = choice.required.empty() ? of_column(child) : of_all_;
      const double within = of_required + weight * fewest + request_.epsilon + kRoom;
      largest = std::max(largest, of_all_ + 2.0 * std::min(within, weight * most));
      std::vector<double> of_edges;
      for (int v = 0; v < request_.n; ++v)
        if (request_.edge_cost(v, child) != 0.0) of_edges.push_back(std::abs(request_.edge_cost(v, child)));
      n_priors = std::max(n_priors, double(of_edges.size()));
      of_nodes.push_back(std::min(within, of_all_ + weight * most) + sum_in_order(std::move(of_edges)));
    }
    const double network = 2.0 * std::max(sum_in_order(std::move(of_nodes)), largest);
    if (!std::isfinite(2.0 * network)) throw std::invalid_argument("the costs are too large for double precision");
    const Grid grid(network, of_all_);
    return {grid, accuracy(grid, n_priors)};
  }

 private:
  static constexpr double kRoom = 1.0;  // for the tolerance, which is far smaller, and for rounding

  // F without its constant, rounded up.
  template <class Counts>
  double of_cells(const Counts& counts, double log_configurations) const {
    const CellTerm term = prior_ ? CellTerm(table_.total, *prior_, prior_->of_log_configurations(log_configurations))
                                 : CellTerm(table_.total);
    std::vector<double> terms;
    for (std::uint64_t count : counts) terms.push_back(-double(term(count)));
    return sum_in_order(std::move(terms)) * (1.0 + 1e-9) + kRoom;
  }
  double of_column(int v) const {
    std::vector<std::uint64_t> counts(std::size_t(table_.arities[std::size_t(v)]));
    for (std::size_t row = 0; row < table_.n_rows; ++row) counts[table_.column(v)[row]] += table_.weights[row];
    return of_cells(counts, std::log(double(counts.size())));
  }

  Accuracy accuracy(const Grid& grid, double n_priors) const {
    const double cells = double(table_.n_rows), step = grid.step();
    const double wide = double(std::numeric_limits<Wide>::epsilon()), narrow = std::numeric_limits<double>::epsilon();
    // Of the sum of the terms of a set, before they are rounded to a grid.
    double of_terms = wide * 8.0 * of_all_;
    if (prior_) {
      of_terms += wide * (8.0 * n_ + 64.0 * cells * (1.0 + prior_->parts() + log_configurations_));
      if (log_configurations_ > 53.0 * std::log(2.0)) {  // the number of configurations is rounded
        const double mass = std::ldexp(score_.parameter, -53);
        of_terms += narrow * request_.n * std::min(n_, cells * (1.0 + mass * (1.0 + std::log(n_))));
      }
    }
    const double of_set = of_terms + 0.5 * cells * grid.fine_step() + 0.5 * step;
    // Two sets, two penalties (of a weight that is rounded itself), the edges.
    const double constants = (6.0 + 0.5 * n_priors) * step;
    Accuracy made;
    made.cost = 2.0 * of_set + constants;
    made.in_search = 2.0 * of_terms + cells * step + constants + narrow * of_all_;
    made.tolerance = std::max(1e-12, 2.0 * request_.n * made.cost);
    made.pruning = made.tolerance + 2.0 * step;
    return made;
  }

  const Table& table_;
  const DiscreteScore& score_;
  const Request& request_;
  const double n_;
  std::unique_ptr<BdeuPrior> prior_;
  double log_configurations_ = 0.0, of_all_ = 0.0;
};

}  // namespace credibn::scoring
