// The descent engine: a depth-first search over the parent sets of each node, for more variables than a table of all
// sets can hold. It counts for one node at a time, and needs no memory beyond the candidates found.
//
// At a set S all children S + l are scored in one pass (tally.hpp). A child that a superset rule puts out with all its
// supersets is struck from the list of every set below S; a child whose own subtree cannot hold a credible set any more
// (rule 7) is not entered. Variables that tell much of the child, or split the rows finely, come first, so that what is
// left for later positions is little. On the way rule 1 is tested against the sets on the path; against all subsets, at
// the end.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "candidates.hpp"
#include "child_costs.hpp"
#include "lattice.hpp"
#include "progress.hpp"
#include "rules.hpp"
#include "subset_index.hpp"
#include "suffix_floor.hpp"
#include "tally.hpp"
#include "terms.hpp"

namespace credibn {

// What the engine needs to know of the whole problem.
struct DescentProblem {
  const Table& table;
  const DiscreteScore score;
  const Grid& grid;
  const Question& question;
  const Rules rules;
  const std::vector<double>& entropy_floors;  // N*H(i | all others)
  double slack() const { return question.epsilon + grid.allowance(); }
};

template <class Lane>
class Descent {
 public:
  Descent(const DescentProblem& problem, int child, const StopFlag& stop)
      : problem_(problem),
        table_(problem.table),
        child_(child),
        arity_(table_.arities[std::size_t(child)]),
        codes_(table_.column(child)),
        choice_(problem.question.nodes[std::size_t(child)]),
        stop_(stop),
        terms_(problem.score, problem.grid, table_.total),
        order_(search_order()),
        lanes_(table_, order_),
        suffixes_(table_, order_),
        floor_(table_, suffixes_, terms_.entropy(), child, order_.size()),
        costs_(table_, problem.score, lanes_, order_, child, terms_),
        levels_(std::size_t(choice_.max_free) + 1, Level(lanes_, table_, codes_, arity_)),
        found(problem.question.n) {
    for (std::size_t p = 0; p < order_.size(); ++p)
      if (lanes_.is_wide(p)) last_wide_ = int(p);
    for (int v : order_) prior_reward_ += std::min(0.0, edge_cost(v));
    log_arity_ = std::log(double(arity_));
    start_at_required();
    if (choice_.max_free > 0) score_small_sets();
  }

  // The required parents alone, and with one free parent.
  void root() {
    found.n_local_scores += 1;
    emit(0, levels_[0].best);
    if (choice_.max_free > 0) score_children(0, true);
  }
  // Everything at once.
  void whole(PartDone& part) {
    root();
    if (choice_.max_free < 2) return;
    raise_floors(0);
    part_ = &part;
    const std::size_t n_open = levels_[0].open.size();
    for (std::size_t c = 0; c < n_open; ++c) enter(0, c, double(c) / double(n_open), 1.0 / double(n_open));
  }
  // All sets below the required parents plus the one at `position`.
  void subtree(std::size_t position, PartDone& part) {
    Level& level = levels_[0];
    score_children(0, false);
    raise_floors(0);
    part_ = &part;
    for (std::size_t c = 0; c < level.open.size(); ++c)
      if (level.open[c].position == position) enter(0, c, 0.0, 1.0);
  }

 private:
  struct Child {
    std::size_t position;
    double best;           // the least cost known of it and its subsets, with the prior
    std::uint64_t cells;   // seen cells of the family
    double entropy_floor;  // see Level
    std::uint32_t mixed_floor;
  };
  struct Level {
    Level(const Lanes<Lane>& lanes, const Table& table, const Code* child, int arity)
        : counts(lanes, table, child, std::size_t(arity)) {}
    Partition partition;
    CellCounts<Lane> counts;
    double configurations = 1.0, prior = 0.0, prior_floor = 0.0, best = kInfinity;
    double entropy_floor = 0.0;          // of the child, whatever is added below (rule 7 at the set above)
    std::uint32_t mixed_floor = 0;       // parent configurations in which the child stays mixed, likewise
    std::uint64_t dropped = 0;           // rows alone and seen once (BDeu)
    std::vector<std::size_t> positions;  // variables that may still be added
    std::vector<Child> open;             // those of them that no rule has struck
  };

  double edge_cost(int parent) const { return problem_.question.edge_cost(parent, child_); }
  bool is_bdeu() const { return problem_.score.is_bdeu(); }

  // N*H(v), and N*H(v | i).
  std::pair<double, double> column_entropies(int v) {
    const Code* column = table_.column(v);
    const auto n_states = std::size_t(table_.arities[std::size_t(v)]), n_values = std::size_t(arity_);
    std::vector<std::uint64_t> alone(n_states), in_child(n_values);
    std::map<std::uint32_t, std::uint64_t> many;
    std::vector<std::uint64_t> few(n_states * n_values <= kDense ? n_states * n_values : 0);
    for (std::size_t row = 0; row < table_.n_rows; ++row) {
      const std::uint32_t weight = table_.weights[row];
      alone[column[row]] += weight;
      in_child[codes_[row]] += weight;
      if (few.empty())
        many[std::uint32_t(column[row]) << 16 | codes_[row]] += weight;
      else
        few[column[row] * n_values + codes_[row]] += weight;
    }
    const Terms& entropy = terms_.entropy();
    double own = entropy(table_.total), given = 0.0;
    for (std::uint64_t count : alone) own -= entropy(count);
    for (std::uint64_t count : in_child) given += entropy(count);
    for (std::uint64_t count : few) given -= entropy(count);
    for (const auto& [cell, count] : many) given -= entropy(count);
    return {own, given};
  }

  // By decreasing I(i; v) + H(v)/10, measured to leave few sets on the whole.
  std::vector<int> search_order() {
    std::vector<std::pair<double, int>> keys;
    for (int v : choice_.free) {
      const auto [own, given_child] = column_entropies(v);
      keys.emplace_back(-(own - given_child + 0.1 * own), v);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<int> order;
    for (const auto& [key, v] : keys) order.push_back(v);
    return order;
  }

  void start_at_required() {
    Level& level = levels_[0];
    level.partition = one_cell(suffixes_.sorted_rows(table_.n_rows));
    Partition next;
    for (int v : choice_.required) {
      level.dropped += refine_by(level.partition, v, next);
      std::swap(level.partition, next);
      level.configurations *= table_.arities[std::size_t(v)];
      level.prior += edge_cost(v);
    }
    level.counts.count(level.partition, 0);
    level.prior_floor = level.prior + prior_reward_;
    level.best = own_cost(level);
    for (std::size_t p = 0; p < order_.size(); ++p)
      if (!is_too_dear(level, p)) level.positions.push_back(p);
  }

  // cost(i, S) with the prior, counted directly.
  double own_cost(const Level& level) {
    const Terms &parents = terms_.of(level.configurations), &family = terms_.of(level.configurations * arity_);
    double cost = penalty(level.configurations) + double(level.dropped) * (parents(1) - family(1));
    std::vector<std::uint64_t> counts(std::size_t(arity_), 0);
    for (std::size_t c = 0; c < level.partition.n_cells(); ++c) {
      std::fill(counts.begin(), counts.end(), 0);
      std::uint64_t total = 0;
      for (auto r = level.partition.begin[c]; r < level.partition.begin[c + 1]; ++r) {
        const Row row = level.partition.rows[r];
        counts[codes_[row]] += table_.weights[row];
        total += table_.weights[row];
      }
      cost += parents(total);
      for (std::uint64_t count : counts) cost -= family(count);
    }
    return cost + level.prior;
  }

  double penalty(double configurations) const {
    if (is_bdeu()) return 0.0;
    const double w = problem_.score.parameter;
    return problem_.grid.round(w * configurations * arity_) - problem_.grid.round(w * configurations);
  }

  // A cell is kept while a further split can change its cost: for a likelihood if it holds two values of the child, for
  // BDeu if it is more than a single row seen once.
  bool is_kept(const std::uint32_t* totals) const {
    std::uint64_t sum = 0, most = 0;
    for (int k = 0; k < arity_; ++k) {
      sum += totals[k];
      most = std::max<std::uint64_t>(most, totals[k]);
    }
    return is_bdeu() ? sum > 1 : most < sum;
  }
  bool is_kept(const Row* begin, const Row* end) const {
    if (is_bdeu()) return end - begin > 1 || table_.weights[*begin] > 1;
    return std::any_of(begin + 1, end, [&](Row row) { return codes_[row] != codes_[*begin]; });
  }
  std::uint64_t refine_by(const Partition& from, int v, Partition& to) const {
    return refine(table_, from, v, to, [&](const Row* begin, const Row* end) { return is_kept(begin, end); });
  }
  // While a column of many states may still come, the rows are needed at every set.
  bool needs_rows(std::size_t position) const { return lanes_.is_wide(position) || int(position) < last_wide_; }

  // Moves from the set at `depth` to the one that adds its child `which`, counts included; the rows follow later,
  // where they are needed (enter).
  void descend(int depth, std::size_t which) {
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const Child& child = from.open[which];
    to.entropy_floor = child.entropy_floor;
    to.mixed_floor = child.mixed_floor;
    const int v = order_[child.position];
    path_positions_[depth] = child.position;
    to.configurations = from.configurations * table_.arities[std::size_t(v)];
    to.prior = from.prior + edge_cost(v);
    to.prior_floor = from.prior_floor + std::max(0.0, edge_cost(v));
    to.best = child.best;
    to.positions.clear();
    for (std::size_t c = which + 1; c < from.open.size(); ++c)
      if (!is_too_dear(to, from.open[c].position)) to.positions.push_back(from.open[c].position);
    if (to.positions.empty()) return;
    if (needs_rows(child.position)) {
      to.dropped = from.dropped + refine_by(from.partition, v, to.partition);
      to.counts.count(to.partition, child.position + 1);
    } else {
      to.dropped = from.dropped + to.counts.split(from.counts, from.partition, child.position, table_.column(v),
                                                  [&](const std::uint32_t* totals) { return is_kept(totals); });
    }
  }

  // All sets below the child `which`. The part of the task from `done` on, of the given `share`, is spent here.
  void enter(int depth, std::size_t which, double done, double share) {
    if (!may_enter(depth, which)) return;
    stop_.check();
    if (share > kNoticeable) part_->set(done);
    descend(depth, which);
    if (levels_[std::size_t(depth) + 1].positions.empty()) return;
    score_children(depth + 1, true);
    if (!any_to_enter(depth + 1)) return;
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const std::size_t position = from.open[which].position;
    if (!needs_rows(position)) refine_by(from.partition, order_[position], to.partition);
    raise_floors(depth + 1);
    share /= double(to.open.size());
    for (std::size_t c = 0; c < to.open.size(); ++c) enter(depth + 1, c, done + double(c) * share, share);
  }

  void emit(int depth, double cost, int last = -1) {
    int parents[256], size = 0;
    for (int v : choice_.required) parents[size++] = v;
    for (int t = 0; t < depth; ++t) parents[size++] = order_[path_positions_[t]];
    if (last >= 0) parents[size++] = last;
    found.add(child_, cost, parents, size);
  }

  // Scores every child of the set at `depth`, emits those that rule 1 leaves, and lists those still open.
  void score_children(int depth, bool emits) {
    Level& level = levels_[std::size_t(depth)];
    const Cells<Lane> cells{level.partition, level.counts, level.configurations, level.dropped};
    level.open.clear();
    for (std::size_t p : level.positions) {
      const int v = order_[p];
      const ChildCost counted = costs_.with_parent(cells, p);
      const double cost = counted.cost + penalty(level.configurations * lanes_.arity(p)) + level.prior + edge_cost(v);
      const double best_subset = std::min(level.best, best_small_subset(depth, p));
      if (emits) {
        ++found.n_local_scores;
        if (!rules::dominated(cost, best_subset, problem_.question.epsilon)) emit(depth, cost, v);
      }
      if (!is_struck(level, p, counted, best_subset))
        level.open.push_back({p, std::min(cost, best_subset), counted.cells, level.entropy_floor, level.mixed_floor});
    }
  }

  // The least cost of the sets of one or two free parents, p among them, that lie properly below the path plus p.
  double best_small_subset(int depth, std::size_t p) const {
    if (depth == 0 || small_.empty()) return kInfinity;
    double best = small_[p * order_.size() + p];
    for (int t = 0; depth > 1 && t < depth; ++t) best = std::min(best, small_[path_positions_[t] * order_.size() + p]);
    return best;
  }

  // Costs of all sets of one or two free parents, so that rule 1 bites early also off the path.
  void score_small_sets() {
    const std::size_t n = order_.size();
    Level &top = levels_[0], &below = levels_[1];
    std::vector<double> small(n * n, kInfinity);
    score_children(0, false);
    for (const Child& child : top.open) small[child.position * n + child.position] = child.best;
    for (std::size_t c = 0; choice_.max_free > 1 && c + 1 < top.open.size(); ++c) {
      descend(0, c);
      if (below.positions.empty()) continue;
      score_children(1, false);
      for (const Child& child : below.open) small[top.open[c].position * n + child.position] = child.best;
    }
    small_ = std::move(small);
  }

  bool any_to_enter(int depth) const {
    for (std::size_t c = 0; c < levels_[std::size_t(depth)].open.size(); ++c)
      if (may_enter(depth, c)) return true;
    return false;
  }

  // From the floor inherited from the set above to the floors of this set's own children.
  void raise_floors(int depth) {
    if (!problem_.rules.suffix_floor) return;
    Level& level = levels_[std::size_t(depth)];
    floor_.compute(level.partition, [&](std::size_t cell) {
      const std::uint32_t* totals = level.counts.totals(cell);
      return std::count(totals, totals + arity_, 0u) < arity_ - 1;
    });
    for (Child& child : level.open) {
      child.entropy_floor = std::max(child.entropy_floor, floor_.entropies[child.position]);
      child.mixed_floor = std::max(child.mixed_floor, floor_.mixed[child.position]);
    }
  }

  bool may_enter(int depth, std::size_t which) const {
    const Level& level = levels_[std::size_t(depth)];
    const Child& child = level.open[which];
    return depth + 1 < choice_.max_free && which + 1 < level.open.size() &&
           !rules::bound_exceeds(subtree_bound(level, child), child.best, problem_.slack());
  }

  // Rules 2 and 3 for S + l and all its supersets, before anything is counted.
  bool is_too_dear(const Level& level, std::size_t p) const {
    if (is_bdeu()) return false;
    const double w = problem_.score.parameter, slack = problem_.slack();
    if (problem_.rules.penalty && rules::bound_exceeds(penalty_bound(level, p), level.best, slack)) return true;
    return problem_.rules.configurations && prior_reward_ == 0.0 &&
           rules::too_many_configurations(w, level.configurations, arity_, double(table_.total), slack);
  }
  double penalty_bound(const Level& level, std::size_t p) const {
    return rules::penalty_bound(problem_.score.parameter, level.configurations * lanes_.arity(p), arity_,
                                problem_.entropy_floors[std::size_t(child_)]) +
           level.prior_floor + std::max(0.0, edge_cost(order_[p]));
  }

  // Rules 2, 5 and 6 for S + l and all its supersets.
  bool is_struck(const Level& level, std::size_t p, const ChildCost& counted, double best_subset) const {
    const int v = order_[p], r = lanes_.arity(p);
    const double slack = problem_.slack();
    if (is_bdeu()) {
      double bound =
          rules::cell_bound(double(counted.cells), log_arity_) + level.prior_floor + std::max(0.0, edge_cost(v));
      if (problem_.score.parameter / (level.configurations * r) <= rules::kLargestPriorMass)
        bound += problem_.entropy_floors[std::size_t(child_)];
      return problem_.rules.cells && rules::bound_exceeds(bound, best_subset, slack);
    }
    if (problem_.rules.penalty && rules::bound_exceeds(penalty_bound(level, p), best_subset, slack)) return true;
    return problem_.rules.parent_entropy &&
           rules::parent_tells_too_little(counted.tells, problem_.score.parameter, level.configurations, arity_, r,
                                          edge_cost(v), slack);
  }

  // Rule 7 with rule 2 or 6b: a lower bound of the cost of every set below S + l, S + l itself left out.
  double subtree_bound(const Level& level, const Child& child) const {
    if (!problem_.rules.suffix_floor) return -kInfinity;
    const int v = order_[child.position];
    const double prior_floor = level.prior_floor + std::max(0.0, edge_cost(v));
    const double configurations = 2.0 * level.configurations * table_.arities[std::size_t(v)];
    if (!is_bdeu())
      return rules::penalty_bound(problem_.score.parameter, configurations, arity_, child.entropy_floor) + prior_floor;
    const double bound = rules::cell_bound(double(child.cells), log_arity_) + prior_floor;
    const double prior_mass = problem_.score.parameter / configurations;
    if (prior_mass > rules::kLargestPriorMass) return bound;
    return bound + child.entropy_floor + child.mixed_floor * rules::mixing_cost(prior_mass);
  }

  const DescentProblem& problem_;
  const Table& table_;
  const int child_, arity_;
  const Code* codes_;
  const NodeChoice& choice_;
  const StopFlag& stop_;
  TermCache terms_;
  std::vector<int> order_;
  Lanes<Lane> lanes_;
  SuffixOrder suffixes_;
  SuffixFloor floor_;
  ChildCosts<Lane> costs_;
  std::vector<Level> levels_;
  double prior_reward_ = 0.0, log_arity_ = 0.0;
  static constexpr std::size_t kDense = 1 << 14;  // cells of two columns that are counted in an array
  static constexpr double kNoticeable = 1e-4;     // smaller shares of a task are not reported
  PartDone* part_ = nullptr;
  std::size_t path_positions_[256] = {};
  std::vector<double> small_;  // [p * n + q]: the least cost known for the free parents p < q; p = q: for p alone
  int last_wide_ = -1;

 public:
  Candidates found;
};

template <class Lane>
Candidates descend_in(const DescentProblem& problem, unsigned n_threads, const Watch& watch) {
  const int n = problem.question.n;
  constexpr std::size_t kWhole = std::size_t(-1), kFew = 18;
  struct Task {
    int child;
    std::size_t subtree;  // kWhole: everything; 0: the root; s: below the position s - 1
  };
  std::vector<Task> tasks;
  for (int child = 0; child < n; ++child) {
    const NodeChoice& choice = problem.question.nodes[std::size_t(child)];
    if (choice.free.size() <= kFew || choice.max_free < 2)
      tasks.push_back({child, kWhole});
    else
      for (std::size_t s = 0; s <= choice.free.size(); ++s) tasks.push_back({child, s});
  }
  StopFlag stop;
  std::vector<Candidates> found(tasks.size(), Candidates(n));
  struct Worker {
    int child = -1;
    std::unique_ptr<Descent<Lane>> descent;
  };
  std::vector<Worker> workers(std::max(1u, n_threads));
  run_tasks(tasks.size(), n_threads, stage_of(watch, 0.0, 0.98), stop,
            [&](std::size_t index, unsigned w, PartDone& part) {
              Worker& worker = workers[w];
              const Task& task = tasks[index];
              if (worker.child != task.child) {
                worker.descent = std::make_unique<Descent<Lane>>(problem, task.child, stop);
                worker.child = task.child;
              }
              if (task.subtree == kWhole)
                worker.descent->whole(part);
              else if (task.subtree == 0)
                worker.descent->root();
              else
                worker.descent->subtree(task.subtree - 1, part);
              found[index] = std::move(worker.descent->found);
              worker.descent->found = Candidates(n);
            });
  std::vector<Candidates> by_child(static_cast<std::size_t>(n), Candidates(n));
  for (std::size_t t = 0; t < tasks.size(); ++t) by_child[std::size_t(tasks[t].child)].append(found[t]);
  run_tasks(std::size_t(n), n_threads, stage_of(watch, 0.98, 0.02), stop, [&](std::size_t child, unsigned, PartDone&) {
    by_child[child] = drop_dominated(by_child[child], problem.question.epsilon, n, stop);
  });
  Candidates all(n);
  for (const Candidates& part : by_child) all.append(part);
  return all;
}

inline Candidates descend(const DescentProblem& problem, unsigned n_threads, const Watch& watch) {
  return problem.table.total <= std::numeric_limits<std::uint16_t>::max()
             ? descend_in<std::uint16_t>(problem, n_threads, watch)
             : descend_in<std::uint32_t>(problem, n_threads, watch);
}

}  // namespace credibn
