// The descent engine: a depth-first search over the parent sets of each node, for more variables than a table of all
// sets can hold. It counts for one node at a time, and needs no memory beyond the candidates found.
//
// At a set S all children S + l are scored in one pass (tally.hpp). A child that a superset rule excludes with all its
// proper supersets below S is removed from the list of every set below S; a child whose own subtree can no longer hold
// a credible set (rules 7 to 9) is not entered. Where all children are known to be leaves, they are summed only as far
// as needed (leaf_costs.hpp). Variables that tell much about the child, or split the rows finely, come first, so that
// little is left for later positions. During the search rule 1 is tested against some subsets; at the end, against all.
#pragma once

#include <algorithm>
#include <vector>

#include "base/progress.hpp"
#include "scoring/candidates.hpp"
#include "scoring/child_costs.hpp"
#include "scoring/few_parents.hpp"
#include "scoring/lattice.hpp"
#include "scoring/leaf_costs.hpp"
#include "scoring/rules.hpp"
#include "scoring/search_order.hpp"
#include "scoring/split_floor.hpp"
#include "scoring/suffix_floor.hpp"
#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

using base::StopFlag;
using base::TaskProgress;

// What the engine needs of the whole problem.
struct DescentProblem {
  const Table& table;
  const DiscreteScore score;
  const Grid& grid;
  const Accuracy& accuracy;
  const Request& request;
  const Rules rules;
  const std::vector<double>& entropy_floors;  // N*H(i | all others)
  const TermPool<double>& terms;
  // For rule 1 during the search, between two costs; and for bounds, which have an error of their own.
  double epsilon() const { return request.epsilon + 2.0 * accuracy.in_search; }
  double slack() const { return request.epsilon + 4.0 * accuracy.in_search; }
};

template <class Lane>
class Descent {
 public:
  Descent(const DescentProblem& problem, int child, TermTables<double>& terms, const StopFlag& stop)
      : problem_(problem),
        table_(problem.table),
        child_(child),
        arity_(table_.arities[std::size_t(child)]),
        codes_(table_.column(child)),
        choice_(problem.request.nodes[std::size_t(child)]),
        stop_(stop),
        terms_(terms),
        order_(search_order(table_, terms_.entropy(), child, choice_.free)),
        lanes_(table_, order_),
        suffixes_(table_, order_),
        floor_(table_, suffixes_, terms_.entropy(), child, order_.size()),
        splits_(table_, suffixes_, order_, child, problem.grid.step()),
        costs_(table_, problem.score, lanes_, order_, child, terms_),
        leaf_sums_(lanes_, arity_),
        levels_(std::size_t(choice_.max_free) + 1, Level(lanes_, table_, codes_, arity_)),
        found(problem.request.n) {
    for (std::size_t p = 0; p < order_.size(); ++p)
      if (lanes_.is_wide(p)) last_wide_ = int(p);
    for (int v : order_) prior_reward_ += std::min(0.0, edge_cost(v));
    log_arity_ = std::log(double(arity_));
    most_entropy_ = double(table_.total) * log_arity_;
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
  void whole(TaskProgress& progress) {
    root();
    if (choice_.max_free < 2) return;
    const int last = last_to_enter(0);
    if (last < 0) return;
    raise_floors(0, last);
    progress_ = &progress;
    const std::size_t n_open = levels_[0].open.size();
    for (std::size_t c = 0; c < n_open; ++c) enter(0, c, double(c) / double(n_open), 1.0 / double(n_open));
  }
  // All sets below the required parents plus the one at `position`.
  void subtree(std::size_t position, TaskProgress& progress) {
    score_children(0, false);
    const auto& open = levels_[0].open;
    const auto child = std::find_if(open.begin(), open.end(), [&](const Child& c) { return c.position == position; });
    if (child == open.end()) return;
    raise_floors(0, int(position));
    progress_ = &progress;
    enter(0, std::size_t(child - open.begin()), 0.0, 1.0);
  }

 private:
  struct Child {
    std::size_t position;
    double credit;         // what it can tell about the child at most, less the cost of its edge (rule 5)
    double best;           // the least cost known of it and its subsets, with the prior
    std::uint64_t cells;   // seen cells of the family
    double entropy_floor;  // see Level
    std::uint32_t mixed_floor;
    double loss;  // of the child's entropy (FewParents)
  };
  // A variable t that may still be added to the set S, and what is known of S + t before it is counted.
  struct Addable {
    std::size_t position;
    double best;          // the least cost known of its proper subsets, with the prior
    std::uint64_t cells;  // seen cells of the family, at least
  };
  struct Level {
    Level(const Lanes<Lane>& lanes, const Table& table, const Code* child, int arity)
        : counts(lanes, table, child, std::size_t(arity)) {}
    Partition partition;
    CellCounts<Lane> counts;
    double configurations = 1.0, prior = 0.0, prior_floor = 0.0, best = kInfinity;
    double entropy_floor = 0.0;     // of the child, whatever is added below (rule 7 at the set above)
    std::uint32_t mixed_floor = 0;  // parent configurations in which the child stays mixed, likewise
    std::uint64_t dropped = 0;      // rows alone and seen once (BDeu)
    std::uint64_t cells = 0;        // seen cells of the family
    CellOrder cell_order;           // of the counts, for leaves; empty until it is needed
    RowBits bits;                   // likewise
    CellEntropies entropies;        // of the counts, not for BDeu
    FewParents few_parents;         // of those that may be added
    std::vector<Addable> addable;
    std::vector<Child> open;  // those of them that the search may enter
  };

  double edge_cost(int parent) const { return problem_.request.edge_cost(parent, child_); }
  bool is_bdeu() const { return problem_.score.is_bdeu(); }

  void start_at_required() {
    Level& level = levels_[0];
    level.partition = one_cell(table_, suffixes_.sorted_rows(table_.n_rows));
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
    level.entropy_floor = problem_.entropy_floors[std::size_t(child_)];
    for (std::size_t p = 0; p < order_.size(); ++p)
      if (!is_too_expensive(level, p, level.best)) level.addable.push_back({p, level.best, 0});
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
        const WeightedRow row = level.partition.rows[r];
        counts[codes_[row.index]] += row.weight;
        total += row.weight;
      }
      cost += parents(total);
      for (std::uint64_t count : counts) cost -= family(count);
    }
    return cost + level.prior;
  }

  // Most often that of the previous call.
  double penalty(double configurations) {
    if (is_bdeu()) return 0.0;
    if (configurations != penalised_) {
      const double w = problem_.score.parameter;
      penalised_ = configurations;
      penalty_ = problem_.grid.round(w * configurations * arity_) - problem_.grid.round(w * configurations);
    }
    return penalty_;
  }

  // A cell stays in the partition while a further split can change its cost: for a likelihood if it holds two values of
  // the child, for BDeu if it is more than a single row seen once.
  bool is_kept(const std::uint32_t* totals) const {
    std::uint64_t sum = 0, most = 0;
    for (int k = 0; k < arity_; ++k) {
      sum += totals[k];
      most = std::max<std::uint64_t>(most, totals[k]);
    }
    return is_bdeu() ? sum > 1 : most < sum;
  }
  bool is_kept(const WeightedRow* begin, const WeightedRow* end) const {
    if (is_bdeu()) return end - begin > 1 || begin->weight > 1;
    return std::any_of(begin + 1, end, [&](WeightedRow row) { return codes_[row.index] != codes_[begin->index]; });
  }
  std::uint64_t refine_by(const Partition& from, int v, Partition& to) const {
    return refine(table_, from, v, to,
                  [&](const WeightedRow* begin, const WeightedRow* end) { return is_kept(begin, end); });
  }
  // While a column of many states may still follow, the rows are needed at every set.
  bool needs_rows(std::size_t position) const { return lanes_.is_wide(position) || int(position) < last_wide_; }

  // Moves from the set at `depth` to the one that adds its child `which`, counts included; the rows follow later,
  // where they are needed (enter).
  void descend(int depth, std::size_t which) {
    move_to(depth, which);
    if (!levels_[std::size_t(depth) + 1].addable.empty()) count(depth, which);
  }
  // Without the counts. What other children of the set above cost bounds what they can cost here.
  void move_to(int depth, std::size_t which) {
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
    to.cells = child.cells;
    to.addable.clear();
    for (std::size_t c = which + 1; c < from.open.size(); ++c) {
      const Child& other = from.open[c];
      const double best = std::min({to.best, other.best, best_small_subset(depth + 1, other.position)});
      if (!is_too_expensive(to, other.position, best) && !tells_too_little(to, other.position, other.credit) &&
          !pair_tells_too_little(depth, child, other, best))
        to.addable.push_back({other.position, best, std::max(to.cells, other.cells)});
    }
  }
  void count(int depth, std::size_t which) {
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const Child& child = from.open[which];
    const int v = order_[child.position];
    if (needs_rows(child.position)) {
      to.dropped = from.dropped + refine_by(from.partition, v, to.partition);
      to.counts.count(to.partition, child.position + 1);
    } else {
      to.dropped = from.dropped + to.counts.split(from.counts, from.partition, child.position, table_.column(v),
                                                  [&](const std::uint32_t* totals) { return is_kept(totals); });
    }
  }

  // All sets below the child `which`. They are the given `share` of the task, of which `done` came before. False if
  // rule 9 shows that none of them is credible.
  bool enter(int depth, std::size_t which, double done, double share) {
    if (!may_enter(depth, which)) return true;
    stop_.check();
    if (share > kNoticeable) progress_->set(done);
    move_to(depth, which);
    if (levels_[std::size_t(depth) + 1].addable.empty()) return true;
    const std::size_t n_addable = levels_[std::size_t(depth) + 1].addable.size();
    const bool has_rows = tries_splits(n_addable) && trials_.is_due(n_addable);
    if (has_rows && !has_addable(depth, which)) return false;
    if (ends_below(depth + 1)) {
      score_leaves(depth, which);
      return true;
    }
    count(depth, which);
    score_children(depth + 1, true);
    const int last = last_to_enter(depth + 1);
    if (last < 0) return true;
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const std::size_t position = from.open[which].position;
    if (!needs_rows(position) && !has_rows) refine_by(from.partition, order_[position], to.partition);
    raise_floors(depth + 1, last);
    enter_children(depth + 1, done, share);
    return true;
  }
  void enter_children(int depth, double done, double share) {
    Level& level = levels_[std::size_t(depth)];
    share /= double(level.open.size());
    int n_in_vain = 0;
    for (std::size_t c = 0; c < level.open.size(); ++c) {
      n_in_vain = enter(depth, c, done + double(c) * share, share) ? 0 : n_in_vain + 1;
      if (n_in_vain < kManyInVain || !tries_splits(level.open.size() - c - 1)) continue;
      drop_splitters(level, level.dropped, level.open, c + 1, true);
      n_in_vain = 0;
    }
  }

  // Whether rule 9 may pay where this many variables may be added: the sets of few are counted sooner.
  bool tries_splits(std::size_t n_addable) const {
    return problem_.rules.splits && is_bdeu() && splits_.is_available() &&
           n_addable >= std::min(kManyAddable, order_.size() / 2);
  }
  // Whether rule 9 leaves a variable that may be added to the child `which`. Leaves the rows of the child's cells.
  bool has_addable(int depth, std::size_t which) {
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const std::uint64_t n_single =
        from.dropped + refine_by(from.partition, order_[from.open[which].position], to.partition);
    const std::size_t n_addable = to.addable.size();
    drop_splitters(to, n_single, to.addable, 0, false);
    trials_.add(n_addable, to.addable.empty());
    return !to.addable.empty();
  }
  // Rule 9: drops those of `variables`, from `first` on, that no credible set adds, alone or `with_another` of them, to
  // the set of `level`, which has `n_single` cells of a single row beside its partition.
  template <class Variable>
  void drop_splitters(const Level& level, std::uint64_t n_single, std::vector<Variable>& variables, std::size_t first,
                      bool with_another) {
    costs_.trim();
    const Terms& terms = terms_.of(level.configurations);
    for (std::size_t n_before = 0; n_before != variables.size() && first < variables.size();) {
      n_before = variables.size();
      const auto begin = variables.begin() + std::ptrdiff_t(first);
      splits_.start();
      for (auto v = begin; v != variables.end(); ++v) splits_.allow(v->position, edge_cost(order_[v->position]));
      const double bound = level.prior + splits_.compute(level.partition, n_single, terms,
                                                         problem_.score.parameter / level.configurations);
      variables.erase(std::remove_if(begin, variables.end(),
                                     [&](const Variable& v) {
                                       const double due = splits_.rest(v.position) +
                                                          (with_another ? splits_.least_other_rest(v.position) : 0.0);
                                       return rules::bound_exceeds(bound + due, v.best, problem_.slack());
                                     }),
                      variables.end());
    }
  }

  // Whether all children of the set at `depth` are leaves: no set that holds two of them can be credible. Called before
  // they are counted. Where columns of many states may follow, the rows are needed, so the answer is no.
  bool ends_below(int depth) const {
    const Level& level = levels_[std::size_t(depth)];
    if (needs_rows(path_positions_[depth - 1])) return false;
    if (depth + 1 >= choice_.max_free) return true;
    std::size_t n_open = 0;
    for (const Addable& last : level.addable) {
      n_open += !ends_at(level, last.position, last.cells, last.best);
      if (n_open > 1) return false;
    }
    return true;
  }

  // Emits those children of the set that adds the child `which` that rule 1 leaves.
  void score_leaves(int depth, std::size_t which) {
    Level &from = levels_[std::size_t(depth)], &to = levels_[std::size_t(depth) + 1];
    const std::size_t position = from.open[which].position;
    if (from.cell_order.cells.empty()) {
      order_cells(from);
      from.bits.start(from.counts.n_cells());
    }
    costs_.trim();
    leaves_.clear();
    FamilyTerms terms;
    int of_arity = 0;
    for (const Addable& last : to.addable) {
      const double limit = last.best + problem_.slack() - constant_cost(to, last.position);
      if (lanes_.arity(last.position) != of_arity) {
        of_arity = lanes_.arity(last.position);
        terms = costs_.terms_of(to.configurations * of_arity);
      }
      leaves_.push_back({last.position, limit, last.best, double(from.dropped) * terms.of_single_row(), terms});
    }
    found.n_local_scores += leaves_.size();
    const bool all_binary =
        arity_ == 2 && lanes_.arity(position) == 2 &&
        std::all_of(leaves_.begin(), leaves_.end(), [&](const Leaf& leaf) { return lanes_.arity(leaf.position) == 2; });
    leaf_sums_.add_cells(from.cell_order, leaves_, [&](std::size_t cell) {
      if (all_binary) {
        const std::size_t n_words =
            from.bits.make(cell, from.counts.totals(cell), from.open.size() - which, from.partition, suffixes_, codes_);
        if (n_words > 0) return leaf_sums_.add(from.counts, cell, from.bits, n_words, suffixes_, position, leaves_);
      }
      const std::uint64_t n_dropped =
          to.counts.split_one(from.counts, cell, from.partition, position, table_.column(order_[position]),
                              [&](const std::uint32_t* of_state) { return is_kept(of_state); });
      leaf_sums_.add(to.counts, n_dropped, leaves_);
    });
    for (const Leaf& leaf : leaves_) {
      const double cost = leaf.sum + constant_cost(to, leaf.position);
      if (!rules::dominated(cost, leaf.best_subset, problem_.epsilon())) emit(depth + 1, cost, order_[leaf.position]);
    }
  }
  // What S + l costs beside the sum over its cells.
  double constant_cost(const Level& level, std::size_t p) {
    return penalty(level.configurations * lanes_.arity(p)) + level.prior + edge_cost(order_[p]);
  }

  // For a likelihood the entropy of the child in a cell weighs, which adding parents may lower to nothing. For BDeu
  // each value of the child that is seen costs ln r at least (rule 6).
  void order_cells(Level& level) {
    const Terms& entropy = terms_.entropy();
    level.cell_order.arrange(
        level.counts.n_cells(),
        [&](std::size_t c) {
          const std::uint32_t* totals = level.counts.totals(c);
          double sum = entropy(std::accumulate(totals, totals + arity_, std::uint64_t(0)));
          for (int k = 0; k < arity_; ++k) sum -= entropy(totals[k]);
          return sum;
        },
        [&](std::size_t c) {
          const std::uint32_t* totals = level.counts.totals(c);
          return is_bdeu() ? rules::cell_bound(double(arity_ - std::count(totals, totals + arity_, 0u)), log_arity_)
                           : 0.0;
        });
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
    if (!is_bdeu()) {
      level.entropies.compute(level.counts, terms_.entropy(), std::size_t(arity_));
      level.few_parents.start(level.entropies.sum(), problem_.score.parameter * level.configurations * (arity_ - 1),
                              level.prior_floor);
    }
    const Cells<Lane> cells{level.partition, level.counts, level.entropies, level.configurations, level.dropped};
    level.open.clear();
    for (const Addable& last : level.addable) {
      const std::size_t p = last.position;
      const double best_subset = last.best;
      const int v = order_[p];
      const ChildCost counted = costs_.with_parent(cells, p);
      const double cost = counted.cost + constant_cost(level, p), best = std::min(cost, best_subset);
      if (emits) {
        ++found.n_local_scores;
        if (!rules::dominated(cost, best_subset, problem_.epsilon())) emit(depth, cost, v);
      }
      const double credit = counted.tells - edge_cost(v);
      if (is_too_expensive(level, p, best_subset) || tells_too_little(level, p, credit) ||
          has_too_many_cells(level, p, counted.cells, best_subset) || ends_at(level, p, counted.cells, best))
        continue;
      const double loss = uses_few_parents() ? level.few_parents.add(p, counted.loss, lanes_.arity(p)) : 0.0;
      level.open.push_back({p, credit, best, counted.cells, level.entropy_floor, level.mixed_floor, loss});
    }
    if (!uses_few_parents()) return;
    level.few_parents.sort();
    std::erase_if(level.open, [&](const Child& child) { return few_tell_too_little(depth, child); });
  }

  // The least cost of the sets of one or two free parents, p among them, that lie properly below the path plus p.
  double best_small_subset(int depth, std::size_t p) const {
    if (depth == 0 || small_.empty()) return kInfinity;
    double best = small_[p * order_.size() + p];
    for (int t = 0; depth > 1 && t < depth; ++t) best = std::min(best, small_[path_positions_[t] * order_.size() + p]);
    return best;
  }

  // Costs of all sets of one or two free parents, so that rule 1 can exclude sets early, also by subsets off the path.
  void score_small_sets() {
    const std::size_t n = order_.size();
    Level &top = levels_[0], &below = levels_[1];
    std::vector<double> small(n * n, kInfinity);
    score_children(0, false);
    for (const Child& child : top.open) small[child.position * n + child.position] = child.best;
    for (std::size_t c = 0; choice_.max_free > 1 && c + 1 < top.open.size(); ++c) {
      descend(0, c);
      if (below.addable.empty()) continue;
      score_children(1, false);
      for (const Child& child : below.open) small[top.open[c].position * n + child.position] = child.best;
    }
    small_ = std::move(small);
  }

  // The last position of a child to enter, or -1.
  int last_to_enter(int depth) const {
    const auto& open = levels_[std::size_t(depth)].open;
    for (std::size_t c = open.size(); c-- > 0;)
      if (may_enter(depth, c)) return int(open[c].position);
    return -1;
  }

  // Before children up to the position `last` are entered: raises the floor inherited from the set above to the floors
  // of this set's own children.
  void raise_floors(int depth, int last) {
    Level& level = levels_[std::size_t(depth)];
    level.cell_order.cells.clear();
    if (!problem_.rules.suffix_floor || all_pairs_are_leaves(level)) return;
    suffixes_.look_at(level.open);
    if (depth > 0) suffixes_.merge_rows(level.partition, codes_, std::size_t(arity_));
    floor_.compute(level.partition, std::size_t(last), [&](std::size_t cell) {
      const std::uint32_t* totals = level.counts.totals(cell);
      return std::count(totals, totals + arity_, 0u) < arity_ - 1;
    });
    for (Child& child : level.open) {
      if (int(child.position) > last) break;
      child.entropy_floor = std::max(child.entropy_floor, floor_.entropies[child.position]);
      child.mixed_floor = std::max(child.mixed_floor, floor_.mixed[child.position]);
    }
  }

  bool may_enter(int depth, std::size_t which) const {
    const Level& level = levels_[std::size_t(depth)];
    const Child& child = level.open[which];
    return depth + 1 < choice_.max_free && which + 1 < level.open.size() &&
           !rules::bound_exceeds(
               subtree_bound(level, child.position, child.cells, child.entropy_floor, child.mixed_floor), child.best,
               problem_.slack());
  }

  // Whether the penalty alone excludes every set of three more parents. Then all sets of two are leaves, and it takes
  // less time to sum these as far as needed than to compute the floors of this set.
  bool all_pairs_are_leaves(const Level& level) const {
    if (is_bdeu()) return false;
    double most = -kInfinity;
    for (const Child& child : level.open) most = std::max(most, child.best);
    const double bound =
        rules::penalty_bound(problem_.score.parameter, 8.0 * level.configurations, arity_, level.entropy_floor) +
        level.prior_floor;
    return rules::bound_exceeds(bound, most, problem_.slack());
  }

  // Rule 8 for all proper supersets of S + l that are met below S, whether l is added first or later.
  bool few_tell_too_little(int depth, const Child& child) const {
    return levels_[std::size_t(depth)].few_parents.exclude(child.position, child.loss, choice_.max_free - depth - 1,
                                                           child.best + problem_.slack());
  }
  // Rule 8 for S + l + t and all its supersets that are met below S.
  bool pair_tells_too_little(int depth, const Child& child, const Child& other, double best) const {
    return uses_few_parents() &&
           levels_[std::size_t(depth)].few_parents.exclude(child.position, child.loss, other.position, other.loss,
                                                           choice_.max_free - depth - 2, best + problem_.slack());
  }
  bool uses_few_parents() const { return problem_.rules.few_parents && !is_bdeu(); }

  // Rules 2 and 3 for S + l and all its supersets below S, before anything is counted.
  bool is_too_expensive(const Level& level, std::size_t p, double best_subset) const {
    if (is_bdeu()) return false;
    const double w = problem_.score.parameter, slack = problem_.slack();
    const double bound = rules::penalty_bound(w, level.configurations * lanes_.arity(p), arity_, level.entropy_floor) +
                         prior_floor(level, p);
    if (problem_.rules.penalty && rules::bound_exceeds(bound, best_subset, slack)) return true;
    return problem_.rules.configurations && prior_reward_ == 0.0 &&
           rules::too_many_configurations(w, level.configurations, arity_, most_entropy_, slack);
  }
  // Rule 5, likewise. `credit` may come from any subset of S.
  bool tells_too_little(const Level& level, std::size_t p, double credit) const {
    return problem_.rules.parent_entropy && !is_bdeu() &&
           rules::parent_tells_too_little(credit, problem_.score.parameter, level.configurations, arity_,
                                          lanes_.arity(p), 0.0, problem_.slack());
  }
  // Rule 6, likewise.
  bool has_too_many_cells(const Level& level, std::size_t p, std::uint64_t cells, double best_subset) const {
    if (!problem_.rules.cells || !is_bdeu()) return false;
    double bound = rules::cell_bound(double(cells), log_arity_) + prior_floor(level, p);
    if (problem_.score.parameter / (level.configurations * lanes_.arity(p)) <= rules::kLargestPriorMass)
      bound += level.entropy_floor;
    return rules::bound_exceeds(bound, best_subset, problem_.slack());
  }
  double prior_floor(const Level& level, std::size_t p) const {
    return level.prior_floor + std::max(0.0, edge_cost(order_[p]));
  }
  // Whether S + l is a leaf: no proper superset of it that is met below S can be credible.
  bool ends_at(const Level& level, std::size_t p, std::uint64_t cells, double best) const {
    return rules::bound_exceeds(subtree_bound(level, p, cells, level.entropy_floor, level.mixed_floor), best,
                                problem_.slack());
  }

  // Rule 7 with rule 2 or 6b: a lower bound of the cost of every proper superset of S + l that is met below S, given
  // what is known at least of the cells of its family, of the entropy of the child, and of mixed configurations.
  double subtree_bound(const Level& level, std::size_t p, std::uint64_t cells, double entropy_floor,
                       std::uint32_t mixed_floor) const {
    if (!problem_.rules.suffix_floor) return -kInfinity;
    const double configurations = 2.0 * level.configurations * lanes_.arity(p);
    if (!is_bdeu())
      return rules::penalty_bound(problem_.score.parameter, configurations, arity_, entropy_floor) +
             prior_floor(level, p);
    const double bound = rules::cell_bound(double(cells), log_arity_) + prior_floor(level, p);
    const double prior_mass = problem_.score.parameter / configurations;
    if (prior_mass > rules::kLargestPriorMass) return bound;
    return bound + entropy_floor + mixed_floor * rules::mixing_cost(prior_mass);
  }

  const DescentProblem& problem_;
  const Table& table_;
  const int child_, arity_;
  const Code* codes_;
  const NodeChoice& choice_;
  const StopFlag& stop_;
  TermTables<double>& terms_;
  std::vector<int> order_;
  Lanes<Lane> lanes_;
  SuffixOrder suffixes_;
  SuffixFloor floor_;
  SplitFloor splits_;
  ChildCosts<Lane> costs_;
  LeafSums<Lane> leaf_sums_;
  std::vector<Leaf> leaves_;
  std::vector<Level> levels_;
  double penalised_ = 0.0, penalty_ = 0.0;  // a number of configurations, and its penalty
  double prior_reward_ = 0.0, log_arity_ = 0.0, most_entropy_ = 0.0;
  static constexpr std::size_t kManyAddable = 6;
  static constexpr int kManyInVain = 2;        // children in a row that rule 9 closes
  static constexpr double kNoticeable = 1e-4;  // smaller shares of a task are not reported
  TaskProgress* progress_ = nullptr;
  std::size_t path_positions_[256] = {};
  std::vector<double> small_;  // [p * n + q]: the least cost known for the free parents p < q; p = q: for p alone
  int last_wide_ = -1;
  SplitTrials trials_;

 public:
  Candidates found;
};

}  // namespace credibn::scoring
