// Counting many columns at once. A partition of the rows is refined by one column at a time, and at each set the counts
// of *all* columns that may come next are known: each row has its weight in the lane of each of its values, and adding
// up the rows of a cell, lane by lane, counts every column in it. One level down, only the rows of the rarer states are
// added; the most common state is the cell above minus the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "scoring/table.hpp"

namespace credibn::scoring {

using RowIndex = std::uint32_t;  // of a distinct row of the table

// A row, and how often to count it: it may stand for others that differ only where nobody looks any more.
struct WeightedRow {
  RowIndex index;
  std::uint32_t weight;
};

// Cells of a partition of the rows: cell c holds rows[begin[c]] .. rows[begin[c + 1] - 1].
struct Partition {
  std::vector<WeightedRow> rows;
  std::vector<std::uint32_t> begin{0};
  std::size_t n_cells() const { return begin.size() - 1; }
  const WeightedRow* cell_begin(std::size_t c) const { return rows.data() + begin[c]; }
  const WeightedRow* cell_end(std::size_t c) const { return rows.data() + begin[c + 1]; }
  void clear() {
    rows.clear();
    begin.assign(1, 0);
  }
};

inline Partition one_cell(const Table& table, const std::vector<RowIndex>& rows) {
  Partition all;
  for (RowIndex row : rows) all.rows.push_back({row, table.weights[row]});
  all.begin.push_back(std::uint32_t(all.rows.size()));
  return all;
}

inline Partition one_cell(const Table& table) {
  std::vector<RowIndex> rows(table.n_rows);
  for (std::size_t r = 0; r < table.n_rows; ++r) rows[r] = RowIndex(r);
  return one_cell(table, rows);
}

// Splits each cell by one column, keeping the order of rows. `keep(begin, end)` says whether a new cell can still
// change a score; the others are dropped for good. Returns how many were.
template <class Keep>
std::uint64_t refine(const Table& table, const Partition& from, int column, Partition& to, const Keep& keep) {
  const Code* codes = table.column(column);
  const auto arity = std::size_t(table.arities[std::size_t(column)]);
  constexpr std::size_t kFew = 8;
  std::uint32_t few[kFew + 1];
  std::vector<std::uint32_t> many(arity > kFew ? arity + 1 : 0);
  std::uint32_t* const ends = arity > kFew ? many.data() : few;
  to.clear();
  to.rows.resize(2 * from.rows.size() + 1);
  WeightedRow *const rows = to.rows.data(), *const seconds = rows + from.rows.size();
  std::size_t write = 0;
  std::uint64_t n_dropped = 0;
  for (std::size_t c = 0; c < from.n_cells(); ++c) {
    const WeightedRow *begin = from.cell_begin(c), *end = from.cell_end(c);
    const std::size_t base = write;
    if (arity == 2) {
      // Without a branch, which could not be predicted.
      std::size_t n_first = 0, n_second = 0;
      for (const WeightedRow* row = begin; row < end; ++row) {
        const bool is_second = codes[row->index] != 0;
        seconds[n_second] = rows[base + n_first] = *row;
        n_first += !is_second;
        n_second += is_second;
      }
      std::copy(seconds, seconds + n_second, rows + base + n_first);
      ends[0] = std::uint32_t(n_first);
      ends[1] = std::uint32_t(n_first + n_second);
    } else {
      std::fill(ends, ends + arity + 1, 0u);
      for (const WeightedRow* row = begin; row < end; ++row) ++ends[codes[row->index] + 1u];
      for (std::size_t s = 1; s <= arity; ++s) ends[s] += ends[s - 1];
      for (const WeightedRow* row = begin; row < end; ++row) rows[base + ends[codes[row->index]]++] = *row;
    }
    // ends[s] is now the end of state s: move the cells worth keeping together.
    std::size_t read = base;
    for (std::size_t s = 0; s < arity; ++s) {
      const std::size_t stop = base + ends[s];
      if (stop > read && keep(rows + read, rows + stop)) {
        if (write != read) std::copy(rows + read, rows + stop, rows + write);
        write += stop - read;
        to.begin.push_back(std::uint32_t(write));
      } else {
        n_dropped += stop > read;
      }
      read = stop;
    }
  }
  to.rows.resize(write);
  return n_dropped;
}

// Columns in the order of a search, each with its place among the lanes. A column of r states takes r - 1 lanes (state
// 0 follows from the cell's total); one with many states takes none and is counted alone.
template <class Lane>
class Lanes {
 public:
  static constexpr int kMostStates = 8;
  static constexpr std::size_t kBlock = 16 / sizeof(Lane);  // lanes are added in blocks of 128 bits

  Lanes(const Table& table, const std::vector<int>& order) {
    for (int v : order) {
      const int arity = table.arities[std::size_t(v)];
      first_.push_back(width_);
      arities_.push_back(arity);
      if (arity <= kMostStates) width_ += std::size_t(arity - 1);
    }
    first_.push_back(width_);
    stride_ = (width_ + kBlock - 1) / kBlock * kBlock;
    masks_.assign(stride_ * table.n_rows, 0);
    for (std::size_t p = 0; p < order.size(); ++p) {
      if (is_wide(p)) continue;
      const Code* column = table.column(order[p]);
      for (std::size_t row = 0; row < table.n_rows; ++row)
        if (column[row] > 0) masks_[row * stride_ + first_[p] + column[row] - 1] = Lane(-1);
    }
  }
  bool is_wide(std::size_t position) const { return arities_[position] > kMostStates; }
  int arity(std::size_t position) const { return arities_[position]; }
  std::size_t first(std::size_t position) const { return first_[position]; }
  std::size_t stride() const { return stride_; }
  // Where the block begins that holds the first lane of `position`.
  std::size_t block(std::size_t position) const { return first_[position] / kBlock * kBlock; }
  void add_row(Lane* sums, WeightedRow row, std::size_t from) const {
    const Lane* masks = masks_.data() + row.index * stride_;
    const auto weight = Lane(row.weight);
    for (std::size_t b = from; b < stride_; b += kBlock) store(sums + b, load(sums + b) + (load(masks + b) & weight));
  }
  void subtract_row(Lane* sums, WeightedRow row, std::size_t from) const {
    const Lane* masks = masks_.data() + row.index * stride_;
    const auto weight = Lane(row.weight);
    for (std::size_t b = from; b < stride_; b += kBlock) store(sums + b, load(sums + b) - (load(masks + b) & weight));
  }
  void subtract(Lane* sums, const Lane* others, std::size_t from) const {
    for (std::size_t b = from; b < stride_; b += kBlock) store(sums + b, load(sums + b) - load(others + b));
  }

 private:
  // A block as one value, so that the compiler needs no proof that sums and rows do not overlap.
  typedef Lane Block __attribute__((vector_size(16)));
  static Block load(const Lane* from) {
    Block block;
    std::memcpy(&block, from, sizeof block);
    return block;
  }
  static void store(Lane* to, Block block) { std::memcpy(to, &block, sizeof block); }

  std::vector<int> arities_;
  std::vector<std::size_t> first_;
  std::size_t width_ = 0, stride_ = 0;
  std::vector<Lane> masks_;  // all bits of a lane that has the value of the row
};

// For each cell of a partition, and each value of one distinguished column (the child; or a single value where there
// is none): how many rows, and how many with each value of every column that may come next.
template <class Lane>
class CellCounts {
 public:
  CellCounts(const Lanes<Lane>& lanes, const Table& table, const Code* child, std::size_t n_values)
      : lanes_(lanes), table_(table), child_(child), n_values_(n_values) {}

  std::size_t n_cells() const { return n_cells_; }
  const std::uint32_t* totals(std::size_t cell) const { return totals_.data() + cell * n_values_; }
  const Lane* sums(std::size_t cell, std::size_t value) const {
    return sums_.data() + (cell * n_values_ + value) * lanes_.stride();
  }

  // From the rows themselves, for the columns from `position` on.
  void count(const Partition& partition, std::size_t position) {
    n_cells_ = 0;
    make_room(partition.n_cells());
    const std::size_t from = lanes_.block(position);
    for (std::size_t c = 0; c < partition.n_cells(); ++c) {
      const std::size_t cell = new_cell(nullptr);
      clear_sums(cell, from);
      for (const WeightedRow* row = partition.cell_begin(c); row < partition.cell_end(c); ++row) {
        const std::size_t value = value_of(row->index);
        totals_[cell * n_values_ + value] += row->weight;
        lanes_.add_row(sums_of(cell, value), *row, from);
      }
    }
  }

  // From the counts of the set above, split by the column at `position` (not a wide one), for the columns after it. The
  // new cells are those that `refine` with the same rule makes of `partition`, the cells of the set above, and in the
  // same order. `keep(totals)` is that rule, applied to the totals for each value of the child. Returns how many cells
  // were dropped.
  template <class Keep>
  std::uint64_t split(const CellCounts& above, const Partition& partition, std::size_t position, const Code* codes,
                      const Keep& keep) {
    make_room(above.n_cells() * std::size_t(lanes_.arity(position)));
    n_cells_ = 0;
    std::uint64_t n_dropped = 0;
    for (std::size_t c = 0; c < above.n_cells(); ++c)
      n_dropped += add_split(above, c, partition, position, codes, keep);
    return n_dropped;
  }
  // The same for one cell of the set above, whose new cells replace all others.
  template <class Keep>
  std::uint64_t split_one(const CellCounts& above, std::size_t c, const Partition& partition, std::size_t position,
                          const Code* codes, const Keep& keep) {
    make_room(std::size_t(lanes_.arity(position)));
    n_cells_ = 0;
    return add_split(above, c, partition, position, codes, keep);
  }

 private:
  static constexpr std::size_t kNone = std::size_t(-1);

  std::size_t value_of(RowIndex row) const { return child_ ? child_[row] : 0; }
  Lane* sums_of(std::size_t cell, std::size_t value) {
    return sums_.data() + (cell * n_values_ + value) * lanes_.stride();
  }
  void make_room(std::size_t n_cells) {
    if (totals_.size() >= n_cells * n_values_) return;
    totals_.resize(n_cells * n_values_);
    sums_.resize(n_cells * n_values_ * lanes_.stride());
  }
  // The sums of the new cell are left to be cleared or copied.
  std::size_t new_cell(const std::uint32_t* totals) {
    for (std::size_t k = 0; k < n_values_; ++k) totals_[n_cells_ * n_values_ + k] = totals ? totals[k] : 0;
    return n_cells_++;
  }
  void clear_sums(std::size_t cell, std::size_t from) {
    for (std::size_t k = 0; k < n_values_; ++k)
      std::fill(sums_of(cell, k) + from, sums_of(cell, k) + lanes_.stride(), Lane(0));
  }

  template <class Keep>
  std::uint64_t add_split(const CellCounts& above, std::size_t c, const Partition& partition, std::size_t position,
                          const Code* codes, const Keep& keep) {
    state_totals_.resize(std::size_t(lanes_.arity(position)) * n_values_);
    const std::size_t n_before = n_cells_;
    const std::uint64_t n_dropped = new_cells(above, c, position, keep);
    if (n_cells_ > n_before) add_rows(above, c, partition, codes, lanes_.block(position + 1));
    return n_dropped;
  }

  // Opens a cell for each state worth keeping, with its totals taken from the lanes of the cell above.
  template <class Keep>
  std::uint64_t new_cells(const CellCounts& above, std::size_t c, std::size_t position, const Keep& keep) {
    const auto arity = std::size_t(lanes_.arity(position));
    const std::size_t first = lanes_.first(position);
    for (std::size_t k = 0; k < n_values_; ++k) {
      const Lane* sums = above.sums(c, k) + first;
      std::uint32_t rest = above.totals(c)[k];
      for (std::size_t s = 1; s < arity; ++s) {
        state_totals_[s * n_values_ + k] = sums[s - 1];
        rest -= sums[s - 1];
      }
      state_totals_[k] = rest;
    }
    std::uint64_t n_dropped = 0;
    most_common_ = in_most_common_ = in_all_ = 0;
    for (std::size_t s = 0; s < arity; ++s) {
      const std::uint32_t* totals = state_totals_.data() + s * n_values_;
      std::uint64_t in_state = 0;
      for (std::size_t k = 0; k < n_values_; ++k) in_state += totals[k];
      in_all_ += in_state;
      if (in_state > in_most_common_) {
        in_most_common_ = in_state;
        most_common_ = s;
      }
      const bool is_kept = in_state > 0 && keep(totals);
      n_dropped += in_state > 0 && !is_kept;
      cell_of_[s] = is_kept ? new_cell(totals) : kNone;
    }
    return n_dropped;
  }

  void add_rows(const CellCounts& above, std::size_t c, const Partition& partition, const Code* codes,
                std::size_t from) {
    const WeightedRow *begin = partition.cell_begin(c), *end = partition.cell_end(c);
    const std::size_t rest = cell_of_[most_common_];
    const bool by_difference = rest != kNone && in_all_ - in_most_common_ < in_most_common_;
    for (std::size_t s = 0; s * n_values_ < state_totals_.size(); ++s)
      if (cell_of_[s] != kNone && !(by_difference && s == most_common_)) clear_sums(cell_of_[s], from);
    if (!by_difference) {
      for (const WeightedRow* row = begin; row < end; ++row) {
        const std::size_t cell = cell_of_[codes[row->index]];
        if (cell != kNone) lanes_.add_row(sums_of(cell, value_of(row->index)), *row, from);
      }
      return;
    }
    for (std::size_t k = 0; k < n_values_; ++k)
      std::copy(above.sums(c, k) + from, above.sums(c, k) + lanes_.stride(), sums_of(rest, k) + from);
    // First collect the rarer rows without a branch, which could not be predicted.
    rarer_.resize(std::max(rarer_.size(), std::size_t(end - begin) + 1));
    std::size_t n_rarer = 0;
    for (const WeightedRow* row = begin; row < end; ++row) {
      rarer_[n_rarer] = *row;
      n_rarer += codes[row->index] != most_common_;
    }
    for (std::size_t r = 0; r < n_rarer; ++r) {
      const WeightedRow row = rarer_[r];
      const std::size_t value = value_of(row.index), cell = cell_of_[codes[row.index]];
      if (cell != kNone)
        lanes_.add_row(sums_of(cell, value), row, from);
      else
        lanes_.subtract_row(sums_of(rest, value), row, from);
    }
    for (std::size_t s = 0; s * n_values_ < state_totals_.size(); ++s)
      if (cell_of_[s] != kNone && s != most_common_)
        for (std::size_t k = 0; k < n_values_; ++k) lanes_.subtract(sums_of(rest, k), sums_of(cell_of_[s], k), from);
  }

  const Lanes<Lane>& lanes_;
  const Table& table_;
  const Code* child_;
  std::size_t n_values_, n_cells_ = 0;
  std::vector<std::uint32_t> totals_;
  std::vector<Lane> sums_;
  // Of the cell above that is being split.
  std::size_t cell_of_[Lanes<Lane>::kMostStates] = {}, most_common_ = 0;
  std::uint64_t in_most_common_ = 0, in_all_ = 0;
  std::vector<std::uint32_t> state_totals_;
  std::vector<WeightedRow> rarer_;
};

}  // namespace credibn::scoring
