// The pruning rules, each a function of its own, in the form that loses no network of cost <= OPT + epsilon.
//
// Numbers follow docs/guarantees.md, where each is proven. Costs: lower is better, natural logarithms. `slack` is
// epsilon plus an allowance for rounding (grid.hpp). "P is out" means that no credible network gives node i the parents
// P. The source of the plain rules is Liao, Sharma, Cussens & van Beek (Learning All Credible Bayesian Network
// Structures for Model Averaging), who print several of them with slips; see docs/errata.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace credibn::scoring {

// Which superset rules to apply; rule 1 defines the answer and is always on. Switching one off changes the work and
// never the result, which is how the tests show that each is safe.
struct Rules {
  bool penalty = true;         // rule 2
  bool configurations = true;  // rules 3 and 4
  bool parent_entropy = true;  // rule 5
  bool cells = true;           // rule 6
  bool suffix_floor = true;    // rule 7
  bool few_parents = true;     // rule 8
  bool splits = true;          // rule 9
};

namespace rules {

// Rule 1 (Lemma 1; Teyssier & Koller 2005): P is out if a subset of it costs less by more than epsilon. Strict, so ties
// stay in; epsilon comes with Accuracy::pruning added, so that ties of the true costs stay in as well.
inline bool dominated(double cost, double best_subset_cost, double epsilon) {
  return best_subset_cost + epsilon < cost;
}

// Rule 2 (Theorem 2; de Campos & Ji 2011), also the last step of every other superset rule: P and all its supersets are
// out if even a lower bound of their cost exceeds the cost of a subset by more than epsilon. For a penalised likelihood
// the bound is w*t(P) + N*H(i | M), with M any set that holds every superset considered (rule 7 takes M small).
inline bool bound_exceeds(double lower_bound, double best_subset_cost, double slack) {
  return best_subset_cost + slack < lower_bound;
}
inline double penalty_bound(double penalty_weight, double parent_configurations, int child_arity,
                            double entropy_floor) {
  return penalty_weight * parent_configurations * (child_arity - 1) + entropy_floor;
}

// Rule 3 (Theorem 3; de Campos & Ji 2011): all proper supersets of P are out if the penalty that one more parent adds
// is more than the whole entropy of the child, at most N ln(r_i), can repay.
inline bool too_many_configurations(double penalty_weight, double parent_configurations, int child_arity,
                                    double most_entropy, double slack) {
  return penalty_weight * parent_configurations * (child_arity - 1) > most_entropy + slack;
}

// Rule 4 (Corollary 1): the largest parent set that rule 3 leaves, from the smallest arities of the possible parents
// (sorted increasingly). Derived from rule 3 itself, so it holds for every N.
template <class Arities>
int largest_parent_set(const Arities& sorted_arities, double penalty_weight, int child_arity, double n_rows,
                       double slack) {
  int size = 0;
  double configurations = 1.0;
  const double most_entropy = n_rows * std::log(double(child_arity));
  for (int arity : sorted_arities) {
    if (too_many_configurations(penalty_weight, configurations, child_arity, most_entropy, slack)) break;
    configurations *= arity;
    ++size;
  }
  return size;
}

// Rule 5 (Theorem 4; de Campos et al. 2017): P + j and all its supersets are out if what j can tell about the child, at
// most N*H(j | P), is less than what it adds to the penalty. The entropy may leave out the configurations of P in
// which the child takes one value only: nothing is left to tell there. (The other half of the printed rule, with
// H(i | P), is rule 2 with the subset P.)
inline bool parent_tells_too_little(double parent_entropy, double penalty_weight, double parent_configurations,
                                    int child_arity, int parent_arity, double edge_cost, double slack) {
  return parent_entropy + slack <
         (parent_arity - 1) * penalty_weight * parent_configurations * (child_arity - 1) + edge_cost;
}

// Rule 6 (Theorem 5; Cussens 2012, sharpened): a BDeu cost is at least ln(r_i) for each seen cell of the family, and
// refining the parents never removes a cell.
inline double cell_bound(double n_cells, double log_child_arity) {
  return n_cells * log_child_arity;
}

// Rule 6b: while the prior mass a of a parent configuration is at most 1/3, a BDeu cost is at least
//   N*H(i | P) + cells(P + i) * ln(r_i) + mixed(P) * ln((1 + a) / (4a)),
// where mixed(P) counts the parent configurations in which the child is seen with two or more values. (Each factor of
// the proof is superadditivity of ln(Gamma(m + a) / m^m) over whole numbers m; see docs/guarantees.md.)
inline constexpr double kLargestPriorMass = 1.0 / 3.0;
inline double mixing_cost(double prior_mass) {
  const double mass = std::max(prior_mass, std::numeric_limits<double>::min());  // a larger mass gives a lower bound
  return std::log((1.0 + mass) / (4.0 * mass));
}

}  // namespace rules
}  // namespace credibn::scoring
