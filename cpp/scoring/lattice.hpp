// The table engine: with F of every set in a table, one sweep over the lattice of parent sets of each node.
//
// best(P) = the least cost of P and its subsets = min(cost(P), best(P - j) for j in P), level by level in dense arrays,
// so rule 1 is decided against *all* subsets at once. A set is closed when a superset rule has excluded it together
// with all its supersets; closed sets pass this on. Cost: |P| look-ups for each node and parent set not closed.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "scoring/candidates.hpp"
#include "scoring/rules.hpp"
#include "scoring/set_costs.hpp"

namespace credibn::scoring {

using base::run_tasks;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Family of node i: parents P, sorted, with the ranks of P and of P + i among all sets of their sizes.
struct Family {
  int child = 0, size = 0;
  const int* parents = nullptr;
  std::uint64_t parents_rank = 0, family_rank = 0;
};

// Bound: (const Family&) -> a lower bound of the cost, without prior, of P and of all its supersets.
template <class Bound>
class LatticeSweep {
 public:
  LatticeSweep(const Request& request, const SetCosts& sets, const Ranks& ranks, double slack, const Bound& bound,
               const StopFlag& stop)
      : request_(request), sets_(sets), ranks_(ranks), slack_(slack), bound_(bound), stop_(stop), found(request.n) {}

  void sweep(int child) {
    child_ = child;
    const NodeChoice& choice = request_.nodes[std::size_t(child)];
    required_prior_ = prior_reward_ = 0.0;
    for (int v : choice.required) required_prior_ += request_.edge_cost(v, child);
    for (int v : choice.free) prior_reward_ += std::min(0.0, request_.edge_cost(v, child));
    const int n_free = int(choice.free.size());
    const Ranks local(n_free, choice.max_free);
    std::vector<double> smaller, best;
    for (int size = 0; size <= choice.max_free; ++size) {
      best.assign(local.choose(n_free, size), 0.0);
      if (!sweep_level(choice, local, size, smaller, best)) break;
      smaller.swap(best);
    }
  }

 private:
  // False if every set of this size is closed.
  bool sweep_level(const NodeChoice& choice, const Ranks& local, int size, const std::vector<double>& smaller,
                   std::vector<double>& best) {
    int members[256];
    for (int t = 0; t < size; ++t) members[t] = t;
    bool any_open = false;
    std::uint64_t rank = 0;
    do {
      if ((rank & 0xfff) == 0) stop_.check();
      const double best_subset = size == 0 ? kInfinity : best_of_subsets(local, members, size, smaller);
      best[rank] = best_subset == kClosed ? kClosed : visit(choice, members, size, best_subset);
      any_open |= best[rank] != kClosed;
      ++rank;
    } while (next_subset(members, size, int(choice.free.size())));
    return any_open;
  }

  // The least of best(P - j); kClosed if one of them is closed.
  static double best_of_subsets(const Ranks& local, const int* members, int size, const std::vector<double>& smaller) {
    std::uint64_t rank = 0;  // of P without its t-th member: members before t keep their place, those after move down
    for (int t = 1; t < size; ++t) rank += local.choose(members[t], t);
    double least = smaller[rank];
    for (int t = 1; t < size; ++t) {
      rank += local.choose(members[t - 1], t) - local.choose(members[t], t);
      least = std::min(least, smaller[rank]);
    }
    return least;
  }

  double visit(const NodeChoice& choice, const int* members, int size, double best_subset) {
    int free[256], parents[256], all[257];
    double prior = required_prior_, prior_floor = required_prior_ + prior_reward_;
    for (int t = 0; t < size; ++t) {
      free[t] = choice.free[std::size_t(members[t])];
      const double term = request_.edge_cost(free[t], child_);
      prior += term;
      prior_floor += std::max(0.0, term);
    }
    Family family;
    family.child = child_;
    family.size = size + int(choice.required.size());
    family.parents = parents;
    std::merge(free, free + size, choice.required.begin(), choice.required.end(), parents);
    std::merge(parents, parents + family.size, &child_, &child_ + 1, all);
    family.parents_rank = ranks_.rank(parents, family.size);
    family.family_rank = ranks_.rank(all, family.size + 1);
    if (rules::bound_exceeds(bound_(family) + prior_floor, best_subset, slack_)) return kClosed;
    const auto level = std::size_t(family.size);
    const double cost = sets_.costs[level + 1][family.family_rank] - sets_.costs[level][family.parents_rank] + prior;
    ++found.n_local_scores;
    if (!rules::dominated(cost, best_subset, request_.epsilon)) found.add(child_, cost, parents, family.size);
    return std::min(cost, best_subset);
  }

  static constexpr double kClosed = -kInfinity;
  const Request& request_;
  const SetCosts& sets_;
  const Ranks& ranks_;
  const double slack_;
  const Bound& bound_;
  const StopFlag& stop_;
  int child_ = 0;
  double required_prior_ = 0.0, prior_reward_ = 0.0;

 public:
  Candidates found;
};

template <class Bound>
Candidates sweep_lattices(const Request& request, const SetCosts& sets, const Ranks& ranks, double slack,
                          const Bound& bound, unsigned n_threads, const Watch& watch) {
  StopFlag stop;
  std::vector<Candidates> found(std::size_t(request.n), Candidates(request.n));
  run_tasks(std::size_t(request.n), n_threads, watch, stop, [&](std::size_t child, unsigned, TaskProgress&) {
    LatticeSweep<Bound> sweep(request, sets, ranks, slack, bound, stop);
    sweep.sweep(int(child));
    found[child] = std::move(sweep.found);
  });
  Candidates all(request.n);
  for (const Candidates& of_child : found) all.append(of_child);
  return all;
}

}  // namespace credibn::scoring
