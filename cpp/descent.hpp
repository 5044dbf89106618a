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
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "candidates.hpp"
#include "lattice.hpp"
#include "progress.hpp"
#include "rules.hpp"
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

// Cost of the split of one parent configuration by a binary child: terms(a + b) - family_terms(a) - family_terms(b).
struct PairTable {
  static constexpr std::uint32_t kSide = 64;
  std::array<double, kSide * kSide> values;
  PairTable(const Terms& parents, const Terms& family) {
    for (std::uint32_t a = 0; a < kSide; ++a)
      for (std::uint32_t b = 0; b < kSide; ++b) values[a * kSide + b] = parents(a + b) - family(a) - family(b);
  }
};

template <class Lane>
class Descent {
 public:
  Descent(const DescentProblem& problem, int child, const StopFlag& stop)
      : problem_(problem), table_(problem.table), child_(child), arity_(table_.arities[std::size_t(child)]),
        codes_(table_.column(child)), choice_(problem.question.nodes[std::size_t(child)]), stop_(stop),
        terms_(problem.score, problem.grid, table_.total), order_(search_order()), lanes_(table_, order_),
        suffixes_(table_, order_), floor_(table_, suffixes_, terms_.entropy(), child, order_.size()),
        levels_(std::size_t(choice_.max_free) + 1, Level(lanes_, table_, codes_, arity_)),
        found(problem.question.n) {
    for (std::size_t p = 0; p < order_.size(); ++p)
      if (lanes_.is_wide(p)) last_wide_ = int(p);
    for (int v : order_) prior_reward_ += std::min(0.0, edge_cost(v));
    log_arity_ = std::log(double(arity_));
    start_at_required();
  }

  std::size_t n_subtrees() const { return levels_.size() > 1 ? order_.size() : 0; }

  // The required parents alone, and with one free parent.
  void root() {
    found.n_local_scores += 1;
    emit(0, levels_[0].best);
    if (choice_.max_free > 0) score_children(0, true);
  }
  // All sets below the required parents plus the one at `position`.
  void subtree(std::size_t position) {
    Level& level = levels_[0];
    score_children(0, false);
    raise_floors(0);
    for (std::size_t c = 0; c < level.open.size(); ++c)
      if (level.open[c].position == position) enter(0, c);
  }

 private:
  struct Child {
    std::size_t position;
    double cost;           // with the prior
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
    double entropy_floor = 0.0;         // of the child, whatever is added below (rule 7 at the set above)
    std::uint32_t mixed_floor = 0;      // parent configurations in which the child stays mixed, likewise
    std::uint64_t dropped = 0;          // rows alone and seen once (BDeu)
    std::vector<std::size_t> positions;  // variables that may still be added
    std::vector<Child> open;             // those of them that no rule has struck
  };

  double edge_cost(int parent) const { return problem_.question.edge_cost(parent, child_); }
  bool is_bdeu() const { return problem_.score.is_bdeu(); }

  double column_entropy(int v, bool with_child) {
    std::map<std::pair<Code, Code>, std::uint64_t> counts;
    for (std::size_t row = 0; row < table_.n_rows; ++row)
      counts[{table_.column(v)[row], with_child ? codes_[row] : Code(0)}] += table_.weights[row];
    double sum = terms_.entropy()(table_.total);
    for (const auto& [cell, count] : counts) sum -= terms_.entropy()(count);
    return sum;
  }

  // By decreasing I(i; v) + H(v)/5, measured to leave the fewest sets.
  std::vector<int> search_order() {
    std::vector<std::pair<double, int>> keys;
    for (int v : choice_.free) {
      const double own = column_entropy(v, false);
      keys.emplace_back(-(own - column_entropy(v, true) + 0.2 * own), v);
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
    for (std::size_t p = 0; p < order_.size(); ++p) level.positions.push_back(p);
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

  void enter(int depth, std::size_t which) {
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    const Child& child = from.open[which];
    if (!may_enter(depth, which)) return;
    to.positions.clear();
    for (std::size_t c = which + 1; c < from.open.size(); ++c) to.positions.push_back(from.open[c].position);
    to.entropy_floor = child.entropy_floor;
    to.mixed_floor = child.mixed_floor;
    const int v = order_[child.position];
    path_[depth] = v;
    to.configurations = from.configurations * table_.arities[std::size_t(v)];
    to.prior = from.prior + edge_cost(v);
    to.prior_floor = from.prior_floor + std::max(0.0, edge_cost(v));
    to.best = std::min(from.best, child.cost);
    if (needs_rows(child.position)) {
      to.dropped = from.dropped + refine_by(from.partition, v, to.partition);
      to.counts.count(to.partition, child.position + 1);
    } else {
      to.dropped = from.dropped + to.counts.split(from.counts, from.partition, child.position, table_.column(v),
                                                  [&](const std::uint32_t* totals) { return is_kept(totals); });
    }
    stop_.check();
    score_children(depth + 1, true);
    if (!any_to_enter(depth + 1)) return;
    if (!needs_rows(child.position)) refine_by(from.partition, v, to.partition);
    raise_floors(depth + 1);
    for (std::size_t c = 0; c < to.open.size(); ++c) enter(depth + 1, c);
  }

  void emit(int depth, double cost, int last = -1) {
    int parents[256], size = 0;
    for (int v : choice_.required) parents[size++] = v;
    for (int t = 0; t < depth; ++t) parents[size++] = path_[t];
    if (last >= 0) parents[size++] = last;
    found.add(child_, cost, parents, size);
  }

  // Scores every child of the set at `depth`, emits those that rule 1 leaves, and lists those still open.
  void score_children(int depth, bool emits) {
    Level& level = levels_[std::size_t(depth)];
    count(level);
    level.open.clear();
    for (std::size_t p : level.positions) {
      const int v = order_[p];
      const double cost = cost_[p] + double(level.dropped) * ((*parents_[p])(1) - (*family_[p])(1)) +
                          penalty(level.configurations * table_.arities[std::size_t(v)]) + level.prior + edge_cost(v);
      if (emits) {
        ++found.n_local_scores;
        if (!rules::dominated(cost, level.best, problem_.question.epsilon)) emit(depth, cost, v);
      }
      if (!is_struck(level, p))
        level.open.push_back({p, cost, cells_[p] + level.dropped, level.entropy_floor, level.mixed_floor});
    }
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
    floor_.compute(level.partition);
    for (Child& child : level.open) {
      child.entropy_floor = std::max(child.entropy_floor, floor_.entropies[child.position]);
      child.mixed_floor = std::max(child.mixed_floor, floor_.mixed[child.position]);
    }
  }

  bool may_enter(int depth, std::size_t which) const {
    const Level& level = levels_[std::size_t(depth)];
    const Child& child = level.open[which];
    return depth + 1 < choice_.max_free && which + 1 < level.open.size() &&
           !rules::bound_exceeds(subtree_bound(level, child), std::min(level.best, child.cost), problem_.slack());
  }

  // Rules 2, 3, 5 and 6 for S + l and all its supersets.
  bool is_struck(const Level& level, std::size_t p) const {
    const int v = order_[p], r = table_.arities[std::size_t(v)];
    const double configurations = level.configurations * r, w = problem_.score.parameter;
    const double floor = problem_.entropy_floors[std::size_t(child_)];
    const double prior_floor = level.prior_floor + std::max(0.0, edge_cost(v));
    const double slack = problem_.slack();
    if (is_bdeu()) {
      double bound = rules::cell_bound(double(cells_[p] + level.dropped), log_arity_) + prior_floor;
      if (problem_.score.parameter / configurations <= rules::kLargestPriorMass) bound += floor;
      return problem_.rules.cells && rules::bound_exceeds(bound, level.best, slack);
    }
    if (problem_.rules.penalty &&
        rules::bound_exceeds(rules::penalty_bound(w, configurations, arity_, floor) + prior_floor, level.best, slack))
      return true;
    if (problem_.rules.configurations && prior_reward_ == 0.0 &&
        rules::too_many_configurations(w, level.configurations, arity_, double(table_.total), slack))
      return true;
    return problem_.rules.parent_entropy &&
           rules::parent_tells_too_little(tells_[p], w, level.configurations, arity_, r, edge_cost(v), slack);
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

  // For each child: cost_ (the sum over cells), cells_ (seen family cells), tells_ (entropy of the new parent within
  // the cells that are left).
  void count(const Level& level) {
    const std::size_t n = order_.size();
    cost_.assign(n, 0.0);
    tells_.assign(n, 0.0);
    cells_.assign(n, 0);
    parents_.resize(n);
    family_.resize(n);
    for (std::size_t p : level.positions) {
      const double configurations = level.configurations * lanes_.arity(p);
      parents_[p] = &terms_.of(configurations);
      family_[p] = &terms_.of(configurations * arity_);
      if (lanes_.is_wide(p))
        add_wide(level, p);
      else if (arity_ == 2 && lanes_.arity(p) == 2)
        add_binary(level, p, pair_table(configurations, *parents_[p], *family_[p]));
      else
        add_narrow(level, p);
    }
  }

  const double* pair_table(double configurations, const Terms& parents, const Terms& family) {
    auto& slot = pair_tables_[is_bdeu() ? configurations : 0.0];
    if (!slot) slot = std::make_unique<PairTable>(parents, family);
    return slot->values.data();
  }

  void add_binary(const Level& level, std::size_t p, const double* pairs) {
    const Terms &parents = *parents_[p], &family = *family_[p], &entropy = terms_.entropy();
    const std::size_t lane = lanes_.first(p);
    const bool counts_cells = is_bdeu(), asks_entropy = !counts_cells && problem_.rules.parent_entropy;
    double cost = 0.0, tells = 0.0;
    std::uint32_t cells = 0;
    for (std::size_t c = 0; c < level.counts.n_cells(); ++c) {
      const std::uint64_t n0 = level.counts.totals(c)[0], n1 = level.counts.totals(c)[1];
      const std::uint64_t a0 = level.counts.sums(c, 0)[lane], a1 = level.counts.sums(c, 1)[lane];
      const std::uint64_t b0 = n0 - a0, b1 = n1 - a1;
      if (n0 < PairTable::kSide && n1 < PairTable::kSide)
        cost += pairs[a0 * PairTable::kSide + a1] + pairs[b0 * PairTable::kSide + b1];
      else
        cost += parents(a0 + a1) + parents(b0 + b1) - family(a0) - family(a1) - family(b0) - family(b1);
      if (counts_cells) cells += std::uint32_t(a0 > 0) + (a1 > 0) + (b0 > 0) + (b1 > 0);
      if (asks_entropy) tells += entropy(n0 + n1) - entropy(a0 + a1) - entropy(b0 + b1);
    }
    cost_[p] = cost;
    tells_[p] = tells;
    cells_[p] = cells;
  }

  void add_narrow(const Level& level, std::size_t p) {
    const Terms &parents = *parents_[p], &family = *family_[p], &entropy = terms_.entropy();
    const auto n_values = std::size_t(arity_), n_states = std::size_t(lanes_.arity(p));
    double cost = 0.0, tells = 0.0;
    std::uint32_t cells = 0;
    for (std::size_t c = 0; c < level.counts.n_cells(); ++c) {
      const std::uint32_t* totals = level.counts.totals(c);
      state_totals_.assign(n_states, 0);
      for (std::size_t k = 0; k < n_values; ++k) {
        if (totals[k] == 0) continue;
        const Lane* sums = level.counts.sums(c, k) + lanes_.first(p);
        std::uint64_t rest = totals[k];
        for (std::size_t s = 1; s < n_states; ++s) {
          rest -= sums[s - 1];
          state_totals_[s] += sums[s - 1];
          cost -= family(sums[s - 1]);
          cells += sums[s - 1] > 0;
        }
        state_totals_[0] += rest;
        cost -= family(rest);
        cells += rest > 0;
      }
      std::uint64_t total = 0;
      for (std::uint64_t count : state_totals_) {
        total += count;
        cost += parents(count);
        tells -= entropy(count);
      }
      tells += entropy(total);
    }
    cost_[p] = cost;
    tells_[p] = tells;
    cells_[p] = cells;
  }

  void add_wide(const Level& level, std::size_t p) {
    const Terms &parents = *parents_[p], &family = *family_[p], &entropy = terms_.entropy();
    const Code* codes = table_.column(order_[p]);
    double cost = 0.0, tells = 0.0;
    for (std::size_t c = 0; c < level.partition.n_cells(); ++c) {
      std::uint64_t total = 0;
      pairs_in_cell_.clear();
      for (const Row* row = level.partition.cell_begin(c); row < level.partition.cell_end(c); ++row) {
        pairs_in_cell_.push_back({std::uint32_t(codes[*row]) << 16 | codes_[*row], table_.weights[*row]});
        total += table_.weights[*row];
      }
      std::sort(pairs_in_cell_.begin(), pairs_in_cell_.end());
      tells += entropy(total);
      for (auto pair = pairs_in_cell_.begin(); pair != pairs_in_cell_.end();) {
        const std::uint32_t state = pair->first >> 16;
        std::uint64_t in_state = 0;
        while (pair != pairs_in_cell_.end() && pair->first >> 16 == state) {
          const std::uint32_t cell = pair->first;
          std::uint64_t count = 0;
          for (; pair != pairs_in_cell_.end() && pair->first == cell; ++pair) count += pair->second;
          cost -= family(count);
          in_state += count;
          ++cells_[p];
        }
        cost += parents(in_state);
        tells -= entropy(in_state);
      }
    }
    cost_[p] = cost;
    tells_[p] = tells;
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
  std::vector<Level> levels_;
  double prior_reward_ = 0.0, log_arity_ = 0.0;
  int path_[256] = {};
  int last_wide_ = -1;
  std::vector<std::uint32_t> cells_;
  std::vector<double> cost_, tells_;
  std::vector<const Terms*> parents_, family_;
  std::vector<std::uint64_t> state_totals_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_in_cell_;
  std::map<double, std::unique_ptr<PairTable>> pair_tables_;

 public:
  Candidates found;
};

// Rule 1 against all subsets among the sets that were found for one child. Nothing more is needed: the cheapest subset
// of a set is dominated by none of its own subsets, so it was found.
inline Candidates drop_dominated(const Candidates& found, double epsilon, int n) {
  const std::size_t m = found.costs.size(), words = std::size_t(found.words);
  std::vector<std::size_t> by_cost(m);
  std::iota(by_cost.begin(), by_cost.end(), std::size_t(0));
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](std::size_t a, std::size_t b) { return found.costs[a] < found.costs[b]; });
  Candidates kept(n);
  kept.n_local_scores = found.n_local_scores;
  std::vector<std::uint64_t> cheaper;
  std::size_t n_cheaper = 0;
  for (std::size_t at = 0; at < m; ++at) {
    const std::uint64_t* mask = found.masks.data() + by_cost[at] * words;
    bool is_out = false;
    for (; n_cheaper < at && rules::dominated(found.costs[by_cost[at]], found.costs[by_cost[n_cheaper]], epsilon); ++n_cheaper) {
      const std::uint64_t* other = found.masks.data() + by_cost[n_cheaper] * words;
      cheaper.insert(cheaper.end(), other, other + words);
    }
    for (std::size_t z = 0; z < n_cheaper && !is_out; ++z) {
      std::uint64_t outside = 0;
      for (std::size_t w = 0; w < words; ++w) outside |= cheaper[z * words + w] & ~mask[w];
      is_out = outside == 0;
    }
    if (is_out) continue;
    kept.nodes.push_back(found.nodes[by_cost[at]]);
    kept.costs.push_back(found.costs[by_cost[at]]);
    kept.masks.insert(kept.masks.end(), mask, mask + words);
  }
  return kept;
}

template <class Lane>
Candidates descend_in(const DescentProblem& problem, unsigned n_threads, const Watch& watch) {
  const int n = problem.question.n;
  struct Task {
    int child;
    std::size_t subtree;  // 0: the root; s: below the position s - 1
  };
  std::vector<Task> tasks;
  for (int child = 0; child < n; ++child) {
    const NodeChoice& choice = problem.question.nodes[std::size_t(child)];
    for (std::size_t s = 0; s <= (choice.max_free > 1 ? choice.free.size() : 0); ++s) tasks.push_back({child, s});
  }
  StopFlag stop;
  std::vector<Candidates> found(tasks.size(), Candidates(n));
  struct Worker {
    int child = -1;
    std::unique_ptr<Descent<Lane>> descent;
  };
  std::vector<Worker> workers(std::max(1u, n_threads));
  run_tasks(tasks.size(), n_threads, watch, stop, [&](std::size_t index, unsigned w) {
    Worker& worker = workers[w];
    const Task& task = tasks[index];
    if (worker.child != task.child) {
      worker.descent = std::make_unique<Descent<Lane>>(problem, task.child, stop);
      worker.child = task.child;
    }
    if (task.subtree == 0)
      worker.descent->root();
    else
      worker.descent->subtree(task.subtree - 1);
    found[index] = std::move(worker.descent->found);
    worker.descent->found = Candidates(n);
  });
  std::vector<Candidates> by_child(static_cast<std::size_t>(n), Candidates(n));
  for (std::size_t t = 0; t < tasks.size(); ++t) by_child[std::size_t(tasks[t].child)].append(found[t]);
  run_tasks(std::size_t(n), n_threads, watch, stop, [&](std::size_t child, unsigned) {
    by_child[child] = drop_dominated(by_child[child], problem.question.epsilon, n);
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
