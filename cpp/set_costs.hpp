// F of every set of variables up to a size, in dense arrays by rank.
#pragma once

#include <memory>
#include <vector>

#include "progress.hpp"
#include "sets.hpp"
#include "tally.hpp"
#include "terms.hpp"

namespace credibn {

struct SetCosts {
  std::vector<std::vector<double>> costs;         // costs[k][rank]: F of each set of k variables
  std::vector<std::vector<std::uint32_t>> cells;  // seen cells, likewise; kept for BDeu only
};

// Walks the prefix tree of sets; at each set all one-larger sets with a later last element are counted at once. Rows
// alone in their cell and seen once are dropped: from there on they contribute term(1) to every F.
// Cost: one pass over the remaining rows for each set that is not a leaf, plus one look-up for each cell and child.
template <class Lane>
class SetCounter {
 public:
  SetCounter(const Table& table, const DiscreteScore& score, const Grid& grid, const Ranks& ranks,
             const Lanes<Lane>& lanes, int max_size, SetCosts& out, const StopFlag& stop)
      : table_(table),
        score_(score),
        ranks_(ranks),
        lanes_(lanes),
        max_size_(max_size),
        out_(out),
        stop_(stop),
        terms_(score, grid, table.total),
        levels_(std::size_t(max_size) + 1, Level(lanes, table)) {
    for (int v = 0; v < table.n_columns; ++v)
      if (lanes.is_wide(std::size_t(v))) last_wide_ = v;
    levels_[0].partition = one_cell(table);
    levels_[0].counts.count(levels_[0].partition, 0);
  }

  // The empty set, then all single ones.
  void start() {
    out_.costs[0][0] = terms_.constant(1.0) - terms_.of(1.0)(table_.total);
    if (score_.is_bdeu()) out_.cells[0][0] = 1;
    score_children(0);
  }
  // All sets {first, b}.
  void pairs(int first) {
    descend_to(0, first);
    score_children(1);
  }
  // All sets of more than two that begin with first < second.
  void below(int first, int second) {
    descend_to(0, first);
    materialise(1);
    descend_to(1, second);
    walk(2);
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
  bool is_repeated_in_rows(const Row* begin, const Row* end) const {
    return end - begin > 1 || table_.weights[*begin] > 1;
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
    return refine(table_, levels_[std::size_t(depth) - 1].partition, to.last, to.partition,
                  [&](const Row* begin, const Row* end) { return is_repeated_in_rows(begin, end); });
  }
  void materialise(int depth) {
    const int v = levels_[std::size_t(depth)].last;
    if (!lanes_.is_wide(std::size_t(v)) && v >= last_wide_) refine_to(depth);
  }

  void walk(int depth) {
    stop_.check();
    score_children(depth);
    const int last = levels_[std::size_t(depth)].last;
    if (depth + 1 >= max_size_ || last + 2 >= table_.n_columns) return;
    materialise(depth);
    for (int v = last + 1; v + 1 < table_.n_columns; ++v) {
      descend_to(depth, v);
      walk(depth + 1);
    }
  }

  void score_children(int depth) {
    const Level& level = levels_[std::size_t(depth)];
    terms_.trim();
    for (int v = level.last + 1; v < table_.n_columns; ++v) {
      const auto i = std::size_t(v);
      const double configurations = level.configurations * table_.arities[i];
      const Terms& term = terms_.of(configurations);
      n_cells_ = level.dropped;
      const double sum =
          (lanes_.is_wide(i) ? sum_wide(level, i, term) : sum_narrow(level, i, term)) + double(level.dropped) * term(1);
      members_[depth] = v;
      const std::uint64_t rank = ranks_.rank(members_, depth + 1);
      out_.costs[std::size_t(depth) + 1][rank] = terms_.constant(configurations) - sum;
      if (score_.is_bdeu()) out_.cells[std::size_t(depth) + 1][rank] = std::uint32_t(n_cells_);
    }
  }

  double sum_narrow(const Level& level, std::size_t i, const Terms& term) {
    double sum = 0.0;
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

  double sum_wide(const Level& level, std::size_t i, const Terms& term) {
    const Code* codes = table_.column(int(i));
    double sum = 0.0;
    wide_counts_.resize(std::size_t(table_.arities[i]), 0);
    for (std::size_t c = 0; c < level.partition.n_cells(); ++c) {
      const Row *begin = level.partition.cell_begin(c), *end = level.partition.cell_end(c);
      for (const Row* row = begin; row < end; ++row) wide_counts_[codes[*row]] += table_.weights[*row];
      for (const Row* row = begin; row < end; ++row) {
        std::uint64_t& count = wide_counts_[codes[*row]];
        if (count == 0) continue;
        sum += term(count);
        ++n_cells_;
        count = 0;
      }
    }
    return sum;
  }

  const Table& table_;
  const DiscreteScore score_;
  const Ranks& ranks_;
  const Lanes<Lane>& lanes_;
  const int max_size_;
  SetCosts& out_;
  const StopFlag& stop_;
  TermCache terms_;
  std::vector<Level> levels_;
  int last_wide_ = -1;  // while a wide column may still come, rows are needed at every set
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

template <class Lane>
SetCosts count_sets_in(const Table& table, const DiscreteScore& score, const Grid& grid, const Ranks& ranks,
                       int max_size, unsigned n_threads, const Watch& watch) {
  const int n = table.n_columns;
  SetCosts out = room_for_set_costs(ranks, n, max_size, score.is_bdeu());
  std::vector<int> order;
  for (int v = 0; v < n; ++v) order.push_back(v);
  const Lanes<Lane> lanes(table, order);
  StopFlag stop;
  std::vector<std::unique_ptr<SetCounter<Lane>>> counters(std::max(1u, n_threads));
  std::vector<std::pair<int, int>> tasks{{-1, -1}};
  for (int a = 0; max_size >= 2 && a < n; ++a) tasks.emplace_back(a, -1);
  for (int a = 0; max_size >= 3 && a < n; ++a)
    for (int b = a + 1; b + 1 < n; ++b) tasks.emplace_back(a, b);
  run_tasks(tasks.size(), n_threads, watch, stop, [&](std::size_t index, unsigned worker, PartDone&) {
    auto& counter = counters[worker];
    if (!counter) counter = std::make_unique<SetCounter<Lane>>(table, score, grid, ranks, lanes, max_size, out, stop);
    const auto [a, b] = tasks[index];
    if (a < 0)
      counter->start();
    else if (b < 0)
      counter->pairs(a);
    else
      counter->below(a, b);
  });
  return out;
}

inline SetCosts count_sets(const Table& table, const DiscreteScore& score, const Grid& grid, const Ranks& ranks,
                           int max_size, unsigned n_threads, const Watch& watch) {
  return table.total <= std::numeric_limits<std::uint16_t>::max()
             ? count_sets_in<std::uint16_t>(table, score, grid, ranks, max_size, n_threads, watch)
             : count_sets_in<std::uint32_t>(table, score, grid, ranks, max_size, n_threads, watch);
}

}  // namespace credibn
