// Scores of discrete data: limits and floors common to both engines, the bounds of the table engine, and the engines.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "scoring/descent_tasks.hpp"
#include "scoring/exact_costs.hpp"
#include "scoring/lattice.hpp"
#include "scoring/rules.hpp"
#include "scoring/set_costs.hpp"
#include "scoring/subset_index.hpp"

namespace credibn::scoring {

using base::run_tasks;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;

// Applies rule 4 for a penalised likelihood. With a prior that rewards edges, a parent can make up for its penalty
// without any information about the child, so the rule does not hold.
inline void limit_parents(Request& request, const Table& table, const DiscreteScore& score, const Accuracy& accuracy,
                          const Rules& rules) {
  if (score.is_bdeu() || !rules.configurations) return;
  for (int child = 0; child < request.n; ++child) {
    NodeChoice& choice = request.nodes[std::size_t(child)];
    std::vector<int> arities;
    bool has_reward = false;
    for (int v : choice.free) {
      arities.push_back(table.arities[std::size_t(v)]);
      has_reward |= request.edge_cost(v, child) < 0.0;
    }
    if (has_reward) continue;
    std::sort(arities.begin(), arities.end());
    choice.max_free = std::min(
        choice.max_free, rules::largest_parent_set(arities, score.parameter, table.arities[std::size_t(child)],
                                                   double(table.total), request.epsilon + 4.0 * accuracy.in_search));
  }
}

inline int largest_family(const Request& request) {
  int size = 0;
  for (const NodeChoice& choice : request.nodes) size = std::max(size, int(choice.required.size()) + choice.max_free);
  return size + 1;
}

// N*H(i | all other variables).
inline double entropy_floor(const Table& table, const Terms& entropy, int child) {
  Partition cells = one_cell(table), next;
  for (int v = 0; v < table.n_columns; ++v) {
    if (v == child) continue;
    refine(table, cells, v, next, [](const WeightedRow* begin, const WeightedRow* end) { return end - begin > 1; });
    std::swap(cells, next);
  }
  double floor = 0.0;
  std::vector<std::uint64_t> seen(std::size_t(table.arities[std::size_t(child)]));
  for (std::size_t c = 0; c < cells.n_cells(); ++c) {
    std::fill(seen.begin(), seen.end(), 0);
    std::uint64_t total = 0;
    for (auto r = cells.begin[c]; r < cells.begin[c + 1]; ++r) {
      seen[table.column(child)[cells.rows[r].index]] += cells.rows[r].weight;
      total += cells.rows[r].weight;
    }
    floor += entropy(total);
    for (std::uint64_t count : seen) floor -= entropy(count);
  }
  return floor;
}

// Rules 2 and 6 for the table engine.
class DiscreteBound {
 public:
  DiscreteBound(const Table& table, const DiscreteScore& score, const Rules& rules, const SetCosts& sets,
                const std::vector<double>& floors)
      : table_(table), score_(score), rules_(rules), sets_(sets), floors_(floors) {}

  double operator()(const Family& family) const {
    if (!(score_.is_bdeu() ? rules_.cells : rules_.penalty)) return -kInfinity;
    const int arity = table_.arities[std::size_t(family.child)];
    const double floor = floors_[std::size_t(family.child)];
    double configurations = 1.0;
    for (int t = 0; t < family.size; ++t) configurations *= table_.arities[std::size_t(family.parents[t])];
    if (!score_.is_bdeu()) return rules::penalty_bound(score_.parameter, configurations, arity, floor);
    const double cells = sets_.cells[std::size_t(family.size) + 1][family.family_rank];
    const bool has_floor = score_.parameter / configurations <= rules::kLargestPriorMass;
    return rules::cell_bound(cells, std::log(double(arity))) + (has_floor ? floor : 0.0);
  }

 private:
  const Table& table_;
  const DiscreteScore score_;
  const Rules rules_;
  const SetCosts& sets_;
  const std::vector<double>& floors_;
};

// A lower bound that depends on the node and the number of its parents alone (Gaussian BIC), or none (-infinity).
class SizeBound {
 public:
  SizeBound(std::vector<double> floors, std::vector<double> size_penalties)
      : floors_(std::move(floors)), size_penalties_(std::move(size_penalties)) {}
  double operator()(const Family& family) const {
    return floors_[std::size_t(family.child)] + size_penalties_[std::size_t(family.size)];
  }

 private:
  std::vector<double> floors_, size_penalties_;
};

// The input of both engines, with costs on the grid and parents limited.
struct DiscreteProblem {
  DiscreteProblem(Table coded, const DiscreteScore& scored, Request asked, const Rules& used)
      : table(std::move(coded)),
        score(scored),
        request(std::move(asked)),
        rules(used),
        scale(ScaleMaker(table, score, request).make()),
        terms(score, scale.grid, table.total),
        fine_terms(score, scale.grid, table.total),
        floors_(std::size_t(request.n)) {
    for (double& cost : request.edge_costs) cost = scale.grid.round(cost);
    request.epsilon += scale.accuracy.pruning;
    limit_parents(request, table, score, scale.accuracy, rules);
  }
  // N*H(i | all other variables) for each i of first..last-1; 0, which is a floor too, for the others.
  std::vector<double> floors(int first, int last) const {
    std::vector<double> of_nodes(floors_.size(), 0.0);
    const auto lent = terms.borrow();
    for (int child = first; child < last; ++child) {
      Floor& floor = floors_[std::size_t(child)];
      std::call_once(floor.once, [&] { floor.value = entropy_floor(table, lent->entropy(), child); });
      of_nodes[std::size_t(child)] = floor.value;
    }
    return of_nodes;
  }

  const Table table;
  const DiscreteScore score;
  Request request;
  const Rules rules;
  const Scale scale;
  // What the tasks share.
  const TermPool<double> terms;
  const TermPool<std::int64_t> fine_terms;

 private:
  struct Floor {
    std::once_flag once;
    double value = 0.0;
  };
  mutable std::vector<Floor> floors_;
};

// The descent engine: tasks first..last-1.
inline Candidates run_descent_tasks(const DiscreteProblem& problem, std::size_t first, std::size_t last,
                                    const Watch& watch) {
  const std::vector<DescentTask> tasks = descent_tasks(problem.request);
  if (first >= last || last > tasks.size()) throw std::invalid_argument("first and last must select tasks that exist");
  const std::vector<double> floors = problem.floors(tasks[first].child, tasks[last - 1].child + 1);
  return descend_tasks({problem.table, problem.score, problem.scale.grid, problem.scale.accuracy, problem.request,
                        problem.rules, floors, problem.terms},
                       tasks, first, last, watch);
}
// Joins the candidates of all tasks, given in their order. Rule 1 leaves few of them; these get their exact costs, and
// rule 1 is applied once more.
inline Candidates join_descent(const DiscreteProblem& problem, const Candidates& found, unsigned n_threads,
                               const Watch& watch) {
  const int n = problem.request.n;
  std::vector<Candidates> by_child(static_cast<std::size_t>(n), Candidates(n));
  for (std::size_t c = 0; c < found.nodes.size(); ++c) {
    if (found.nodes[c] < 0 || found.nodes[c] >= n) throw std::invalid_argument("a candidate's node is out of range");
    by_child[std::size_t(found.nodes[c])].append(found, c);
  }
  const double epsilon = problem.request.epsilon, in_search = epsilon + 2.0 * problem.scale.accuracy.in_search;
  StopFlag stop;
  std::vector<std::unique_ptr<ExactCosts>> workers(std::max(1u, n_threads));
  run_tasks(std::size_t(n), n_threads, watch, stop, [&](std::size_t child, unsigned w, TaskProgress&) {
    if (!workers[w])
      workers[w] = std::make_unique<ExactCosts>(problem.table, problem.scale.grid, problem.request, problem.fine_terms);
    by_child[child] = drop_dominated(by_child[child], in_search, n, stop);
    workers[w]->recompute(by_child[child], stop);
    by_child[child] = drop_dominated(by_child[child], epsilon, n, stop);
  });
  Candidates all(n);
  for (const Candidates& of_child : by_child) all.append(of_child);
  all.n_local_scores = found.n_local_scores;
  return all;
}

// The table engine, likewise.
inline TaskCosts run_table_tasks(const DiscreteProblem& problem, std::size_t first, std::size_t last,
                                 const Watch& watch) {
  const int max_size = largest_family(problem.request);
  const std::vector<SetTask> tasks = set_tasks(problem.request.n, max_size);
  if (first >= last || last > tasks.size()) throw std::invalid_argument("first and last must select tasks that exist");
  const auto lent = problem.fine_terms.borrow();
  return costs_of_tasks(problem.table, problem.scale.grid, *lent, problem.score.is_bdeu(), max_size, tasks, first, last,
                        watch);
}
inline Candidates sweep_sets(const DiscreteProblem& problem, const Ranks& ranks, const SetCosts& sets,
                             unsigned n_threads, const Watch& watch) {
  const std::vector<double> floors = problem.floors(0, problem.request.n);
  const DiscreteBound bound(problem.table, problem.score, problem.rules, sets, floors);
  return sweep_lattices(problem.request, sets, ranks, problem.request.epsilon + 4.0 * problem.scale.accuracy.in_search,
                        bound, n_threads, watch);
}
inline Candidates join_table(const DiscreteProblem& problem, const double* costs, std::size_t n_costs,
                             const std::uint32_t* cells, std::size_t n_cells, unsigned n_threads, const Watch& watch) {
  const int n = problem.request.n, max_size = largest_family(problem.request);
  const Ranks ranks(n, max_size);
  return sweep_sets(problem, ranks,
                    place_set_costs(ranks, n, max_size, problem.score.is_bdeu(), costs, n_costs, cells, n_cells),
                    n_threads, watch);
}

}  // namespace credibn::scoring
