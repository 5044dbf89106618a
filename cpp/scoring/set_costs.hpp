// F of every set of variables up to a size, in dense arrays by rank.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "base/progress.hpp"
#include "scoring/set_tasks.hpp"
#include "scoring/sets.hpp"
#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

using base::run_tasks;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;

struct SetCosts {
  std::vector<std::vector<double>> costs;         // costs[k][rank]: F of each set of k variables
  std::vector<std::vector<std::uint32_t>> cells;  // seen cells, likewise; for BDeu only
};

// Traverses the prefix tree of sets; at each set it counts all sets with one more, later element at once. Rows that are
// alone in their cell and were seen once are dropped: from there on they contribute term(1) to every F.
// Cost: one pass over the remaining rows for each set that is not a leaf, plus one look-up for each cell and child.
// Take: (const int* members, int size, double cost, std::uint64_t cells), called for each set.
template <class Lane, class Take>
class SetCounter {
 public:
  SetCounter(const Table& table, const Grid& grid, TermTables<std::int64_t>& terms, const Lanes<Lane>& lanes,
             int max_size, const Take& take, const StopFlag& stop)
      : table_(table),
        lanes_(lanes),
        max_size_(max_size),
        take_(take),
        stop_(stop),
        grid_(grid),
        terms_(terms),
        levels_(std::size_t(max_size) + 1, Level(lanes, table)) {
    for (int v = 0; v < table.n_columns; ++v)
      if (lanes.is_wide(std::size_t(v))) last_wide_ = v;
    levels_[0].partition = one_cell(table);
    levels_[0].counts.count(levels_[0].partition, 0);
  }

  void run(const SetTask& task) {
    const int depth = int(task.prefix.size());
    for (int t = 0; t < depth; ++t) {
      descend_to(t, task.prefix[std::size_t(t)]);
      materialise(t + 1);
    }
    if (task.scores_children) {
      if (depth == 0) take_(members_, 0, set_function(1.0, terms_.of(1.0)(table_.total)), 1);
      score_children(depth);
    }
    for (int v = task.first; v < task.last; ++v) {
      descend_to(depth, v);
      traverse(depth + 1);
    }
  }

 private:
  struct Level {
    Level(const Lanes<Lane>& lanes, const Table& table) : counts(lanes, table, nullptr, 1) {}
    Partition partition;
    CellCounts<Lane> counts;
    double configurations = 1.0;
    std::uint64_t dropped = 0;  // rows seen once and alone
    int last = -1;
  };

  static bool is_repeated(const std::uint32_t* totals) { return *totals > 1; }
  static bool is_repeated_in_rows(const WeightedRow* begin, const WeightedRow* end) {
    return end - begin > 1 || begin->weight > 1;
  }

  // Counts at the set that adds v; its partition is made only where it is needed (materialise).
  void descend_to(int depth, int v) {
    const Level& from = levels_[std::size_t(depth)];
    Level& to = levels_[std::size_t(depth) + 1];
    members_[depth] = v;
    to.configurations = from.configurations * table_.arities[std::size_t(v)];
    to.last = v;
    if (lanes_.is_wide(std::size_t(v)) || v < last_wide_) {
      to.dropped = from.dropped + refine_to(depth + 1);
      to.counts.count(to.partition, std::size_t(v) + 1);
    } else {
      to.dropped =
          from.dropped + to.counts.split(from.counts, from.partition, std::size_t(v), table_.column(v), is_repeated);
    }
  }
  std::uint64_t refine_to(int depth) {
    Level& to = levels_[std::size_t(depth)];
    return refine(table_, levels_[std::size_t(depth) - 1].partition, to.last, to.partition, is_repeated_in_rows);
  }
  void materialise(int depth) {
    const int v = levels_[std::size_t(depth)].last;
    if (!lanes_.is_wide(std::size_t(v)) && v >= last_wide_) refine_to(depth);
  }

  void traverse(int depth) {
    stop_.check();
    score_children(depth);
    const int last = levels_[std::size_t(depth)].last;
    if (depth + 1 >= max_size_ || last + 2 >= table_.n_columns) return;
    materialise(depth);
    for (int v = last + 1; v + 1 < table_.n_columns; ++v) {
      descend_to(depth, v);
      traverse(depth + 1);
    }
  }

  void score_children(int depth) {
    const Level& level = levels_[std::size_t(depth)];
    terms_.trim();
    for (int v = level.last + 1; v < table_.n_columns; ++v) {
      const auto i = std::size_t(v);
      const double configurations = level.configurations * table_.arities[i];
      const FineTerms& term = terms_.of(configurations);
      n_cells_ = level.dropped;
      const std::int64_t sum = (lanes_.is_wide(i) ? sum_wide(level, i, term) : sum_narrow(level, i, term)) +
                               std::int64_t(level.dropped) * term(1);
      members_[depth] = v;
      take_(members_, depth + 1, set_function(configurations, sum), n_cells_);
    }
  }

  double set_function(double configurations, std::int64_t sum) const {
    return terms_.constant(configurations) - grid_.from_fine(sum);
  }

  std::int64_t sum_narrow(const Level& level, std::size_t i, const FineTerms& term) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < level.counts.n_cells(); ++c) {
      const Lane* sums = level.counts.sums(c, 0);
      std::uint64_t rest = *level.counts.totals(c);
      for (std::size_t k = lanes_.first(i); k < lanes_.first(i + 1); ++k) {
        rest -= sums[k];
        sum += term(sums[k]);
        n_cells_ += sums[k] > 0;
      }
      sum += term(rest);
      n_cells_ += rest > 0;
    }
    return sum;
  }

  std::int64_t sum_wide(const Level& level, std::size_t i, const FineTerms& term) {
    const Code* codes = table_.column(int(i));
    std::int64_t sum = 0;
    wide_counts_.resize(std::size_t(table_.arities[i]), 0);
    for (std::size_t c = 0; c < level.partition.n_cells(); ++c) {
      const WeightedRow *begin = level.partition.cell_begin(c), *end = level.partition.cell_end(c);
      for (const WeightedRow* row = begin; row < end; ++row) wide_counts_[codes[row->index]] += row->weight;
      for (const WeightedRow* row = begin; row < end; ++row) {
        std::uint64_t& count = wide_counts_[codes[row->index]];
        if (count == 0) continue;
        sum += term(count);
        ++n_cells_;
        count = 0;
      }
    }
    return sum;
  }

  const Table& table_;
  const Lanes<Lane>& lanes_;
  const int max_size_;
  const Take& take_;
  const StopFlag& stop_;
  const Grid grid_;
  TermTables<std::int64_t>& terms_;
  std::vector<Level> levels_;
  int last_wide_ = -1;  // while a wide column may still follow, rows are needed at every set
  int members_[256] = {};
  std::uint64_t n_cells_ = 0;
  std::vector<std::uint64_t> wide_counts_;
};

inline SetCosts room_for_set_costs(const Ranks& ranks, int n, int max_size, bool with_cells) {
  SetCosts out;
  for (int k = 0; k <= max_size; ++k) {
    out.costs.emplace_back(ranks.choose(n, k));
    if (with_cells) out.cells.emplace_back(ranks.choose(n, k));
  }
  return out;
}

template <class Lane, class Take>
void count_sets_in(const Table& table, const Grid& grid, TermTables<std::int64_t>& terms, int max_size,
                   const std::vector<SetTask>& tasks, std::size_t first, std::size_t last, const Watch& watch,
                   const Take& take) {
  std::vector<int> order;
  for (int v = 0; v < table.n_columns; ++v) order.push_back(v);
  const Lanes<Lane> lanes(table, order);
  StopFlag stop;
  SetCounter<Lane, Take> counter(table, grid, terms, lanes, max_size, take, stop);
  run_tasks(last - first, 1, watch, stop,
            [&](std::size_t index, unsigned, TaskProgress&) { counter.run(tasks[first + index]); });
}

// The results of some tasks, in the order of the traversal.
struct TaskCosts {
  std::vector<double> costs;
  std::vector<std::uint32_t> cells;  // for BDeu only
};
inline TaskCosts costs_of_tasks(const Table& table, const Grid& grid, TermTables<std::int64_t>& terms, bool with_cells,
                                int max_size, const std::vector<SetTask>& tasks, std::size_t first, std::size_t last,
                                const Watch& watch) {
  TaskCosts found;
  auto take = [&](const int*, int, double cost, std::uint64_t cells) {
    found.costs.push_back(cost);
    if (with_cells) found.cells.push_back(std::uint32_t(cells));
  };
  if (table.total <= std::numeric_limits<std::uint16_t>::max())
    count_sets_in<std::uint16_t>(table, grid, terms, max_size, tasks, first, last, watch, take);
  else
    count_sets_in<std::uint32_t>(table, grid, terms, max_size, tasks, first, last, watch, take);
  return found;
}
// Puts the costs and the cells of all tasks, given in their order, into their places.
inline SetCosts place_set_costs(const Ranks& ranks, int n, int max_size, bool with_cells, const double* costs,
                                std::size_t n_costs, const std::uint32_t* cells, std::size_t n_cells) {
  SetCosts out = room_for_set_costs(ranks, n, max_size, with_cells);
  std::size_t n_sets = 0;
  for (const auto& level : out.costs) n_sets += level.size();
  if (n_costs != n_sets || n_cells != (with_cells ? n_sets : 0))
    throw std::invalid_argument("there must be one cost for each set, and for BDeu one number of cells");
  std::size_t next = 0;
  auto place = [&](const int* members, int size) {
    const std::uint64_t rank = ranks.rank(members, size);
    out.costs[std::size_t(size)][rank] = costs[next];
    if (with_cells) out.cells[std::size_t(size)][rank] = cells[next];
    ++next;
  };
  SetTraversal<decltype(place)> traversal(n, max_size, place);
  for (const SetTask& task : set_tasks(n, max_size)) traversal.run(task);
  return out;
}

}  // namespace credibn::scoring
