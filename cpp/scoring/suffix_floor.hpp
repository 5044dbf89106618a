// Rule 7: how much entropy of the child must remain, whatever variables are added.
//
// A depth-first search adds variables in a fixed order. Below a set S only variables at positions >= p can be added, so
// every set U met there lies between S and M = S + {positions >= p}, and N*H(i | U) >= N*H(i | M). This class finds
// that floor for all p at once, in one pass over the rows: with the rows of each cell of S sorted by their values read
// from the last position backwards, rows that agree on all positions >= p are adjacent, and groups merge as p grows.
// Positions that nothing below S may add do not count.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

// Rows in the order that the floor needs, and the last position at which two of them differ, among those looked at:
// all, at first.
class SuffixOrder {
 public:
  SuffixOrder(const Table& table, const std::vector<int>& order) {
    std::vector<int> width;
    for (int v : order) width.push_back(std::bit_width(unsigned(table.arities[std::size_t(v)] - 1)));
    const int n_bits = std::accumulate(width.begin(), width.end(), 0);
    words_ = std::size_t(n_bits + 63) / 64 + std::size_t(n_bits == 0);
    // A value may straddle two words; all its bits map to its position.
    packed_.assign(words_ * table.n_rows, 0);
    bits_of_.assign(words_ * order.size(), 0);
    looked_at_.assign(words_, ~std::uint64_t(0));
    int bit = 0;
    for (std::size_t p = 0; p < order.size(); ++p) {
      const Code* column = table.column(order[p]);
      first_bits_.push_back(std::size_t(bit));
      wider_.resize(std::max(wider_.size(), std::size_t(width[p])));
      for (int b = 0; b < width[p]; ++b) wider_[std::size_t(b)] |= std::uint64_t(1) << (first_bits_[p] % 64);
      for (int b = 0; b < width[p]; ++b, ++bit) {
        position_of_bit_.push_back(int(p));
        bits_of_[p * words_ + std::size_t(bit) / 64] |= std::uint64_t(1) << (bit % 64);
        for (std::size_t row = 0; row < table.n_rows; ++row)
          packed_[row * words_ + std::size_t(bit) / 64] |= std::uint64_t(column[row] >> b & 1) << (bit % 64);
      }
    }
  }
  // The values of a row, and the first bit of them that belongs to a position.
  std::size_t n_words() const { return words_; }
  const std::uint64_t* values(RowIndex row) const { return packed_.data() + row * words_; }
  std::size_t first_bit(std::size_t position) const { return first_bits_[position]; }
  // From now on, only the positions of these are looked at.
  template <class Children>
  void look_at(const Children& children) {
    std::fill(looked_at_.begin(), looked_at_.end(), 0);
    for (const auto& child : children)
      for (std::size_t w = 0; w < words_; ++w) looked_at_[w] |= bits_of_[child.position * words_ + w];
  }
  // The highest position at which the rows differ, or -1.
  int last_difference(RowIndex a, RowIndex b) const {
    const std::uint64_t* x = packed_.data() + a * words_;
    const std::uint64_t* y = packed_.data() + b * words_;
    for (std::size_t w = words_; w-- > 0;)
      if (const std::uint64_t difference = (x[w] ^ y[w]) & looked_at_[w])
        return position_of_bit_[w * 64 + 63 - std::size_t(std::countl_zero(difference))];
    return -1;
  }
  // Where the values of a row fit in one word: the positions at which two rows differ, each as the first of its bits.
  bool is_one_word() const { return words_ == 1; }
  std::uint64_t differences(RowIndex a, RowIndex b) const {
    const std::uint64_t bits = packed_[a] ^ packed_[b];
    std::uint64_t positions = 0;
    for (std::size_t k = 0; k < wider_.size(); ++k) positions |= bits >> k & wider_[k];
    return positions;
  }
  std::vector<RowIndex> sorted_rows(std::size_t n_rows) const {
    std::vector<RowIndex> rows(n_rows);
    std::iota(rows.begin(), rows.end(), RowIndex(0));
    std::stable_sort(rows.begin(), rows.end(), [&](RowIndex a, RowIndex b) {
      for (std::size_t w = words_; w-- > 0;)
        if (packed_[a * words_ + w] != packed_[b * words_ + w])
          return packed_[a * words_ + w] < packed_[b * words_ + w];
      return false;
    });
    return rows;
  }

  // Makes one row of rows next to each other in a cell that do not differ and have the same value of the child.
  void merge_rows(Partition& cells, const Code* child, std::size_t arity) {
    last_with_.assign(arity, 0);
    std::size_t write = 0, read = 0;
    RowIndex previous = 0;
    for (std::size_t c = 0; c < cells.n_cells(); ++c) {
      std::size_t group = write;
      const std::size_t first = read;
      for (; read < cells.begin[c + 1]; ++read) {
        const WeightedRow row = cells.rows[read];
        if (read > first && differ(previous, row.index)) group = write;
        previous = row.index;
        std::size_t& last = last_with_[child[row.index]];
        if (last > group) {
          cells.rows[last - 1].weight += row.weight;
        } else {
          cells.rows[write] = row;
          last = ++write;
        }
      }
      cells.begin[c + 1] = std::uint32_t(write);
    }
    cells.rows.resize(write);
  }

 private:
  bool differ(RowIndex a, RowIndex b) const {
    std::uint64_t difference = 0;
    for (std::size_t w = 0; w < words_; ++w)
      difference |= (packed_[a * words_ + w] ^ packed_[b * words_ + w]) & looked_at_[w];
    return difference != 0;
  }

  std::size_t words_;
  std::vector<std::uint64_t> packed_, bits_of_;  // of each row; of each position
  std::vector<std::uint64_t> looked_at_;
  std::vector<int> position_of_bit_;
  std::vector<std::size_t> first_bits_;
  std::vector<std::uint64_t> wider_;    // wider_[k]: the first bits of the positions of more than k bits
  std::vector<std::size_t> last_with_;  // by the value of the child: one after the last row that has it
};

class SuffixFloor {
 public:
  static constexpr std::size_t kMostChildStates = 16;  // with more, the floor stays zero, which is always valid

  SuffixFloor(const Table& table, const SuffixOrder& order, const Terms& entropy, int child, std::size_t n_positions)
      : table_(table),
        order_(order),
        entropy_(entropy),
        codes_(table.column(child)),
        arity_(std::size_t(table.arities[std::size_t(child)])),
        entropies(n_positions + 1),
        mixed(n_positions + 1) {}

  // Fills `entropies[p]` and `mixed[p]` for the cells of S and p <= last; `is_mixed(cell)` tells where the child has
  // two values. Rows that join later than at `last` need not be joined.
  template <class IsMixed>
  void compute(const Partition& cells, std::size_t last, const IsMixed& is_mixed) {
    last_ = last;
    std::fill(entropies.begin(), entropies.end(), 0.0);
    std::fill(mixed.begin(), mixed.end(), 0);
    for (std::size_t c = 0; c < cells.n_cells(); ++c) {
      if (!is_mixed(c)) continue;
      const WeightedRow *begin = cells.cell_begin(c), *end = cells.cell_end(c);
      if (arity_ == 2)
        add_cell(begin, end, groups_2_);
      else if (arity_ <= 4)
        add_cell(begin, end, groups_4_);
      else if (arity_ <= kMostChildStates)
        add_cell(begin, end, groups_);
    }
    for (std::size_t p = 1; p < entropies.size(); ++p) {
      entropies[p] += entropies[p - 1];
      mixed[p] += mixed[p - 1];
    }
  }

 private:
  // Rows that agree on all positions from `since` on, where the group joins the one before it.
  template <std::size_t Arity>
  struct Group {
    std::size_t since;
    double entropy;
    std::array<std::uint32_t, Arity> counts;
  };

  template <std::size_t Arity>
  void add_cell(const WeightedRow* begin, const WeightedRow* end, std::vector<Group<Arity>>& groups) {
    groups.clear();
    first_mixed_ = mixed.size();
    for (const WeightedRow* row = begin; row < end; ++row) {
      const std::size_t since = row == begin ? 0 : std::size_t(order_.last_difference(row[-1].index, row->index) + 1);
      while (groups.size() > 1 && groups.back().since <= since) merge_last(groups);
      if (since > last_) groups.clear();
      Group<Arity>& group = groups.emplace_back();
      group.since = since;
      group.counts[codes_[row->index]] = row->weight;
    }
    while (groups.size() > 1) merge_last(groups);
    if (first_mixed_ < mixed.size()) ++mixed[first_mixed_];
  }

  template <std::size_t Arity>
  void merge_last(std::vector<Group<Arity>>& groups) {
    const Group<Arity>& last = groups.back();
    Group<Arity>& into = groups[groups.size() - 2];
    std::uint64_t total = 0, most = 0;
    for (std::size_t k = 0; k < Arity; ++k) {
      const std::uint64_t count = into.counts[k] += last.counts[k];
      total += count;
      most = std::max(most, count);
    }
    if (most < total) {
      double entropy = entropy_(total);
      for (std::size_t k = 0; k < Arity; ++k) entropy -= entropy_(into.counts[k]);
      entropies[last.since] += entropy - into.entropy - last.entropy;
      first_mixed_ = std::min(first_mixed_, last.since);
      into.entropy = entropy;
    }
    groups.pop_back();
  }

  const Table& table_;
  const SuffixOrder& order_;
  const Terms& entropy_;
  const Code* codes_;
  const std::size_t arity_;
  std::size_t first_mixed_ = 0, last_ = 0;
  std::vector<Group<2>> groups_2_;
  std::vector<Group<4>> groups_4_;
  std::vector<Group<kMostChildStates>> groups_;

 public:
  std::vector<double> entropies;     // N*H(i | S + {positions >= p})
  std::vector<std::uint32_t> mixed;  // cells of S that hold a group with two values of the child
};

}  // namespace credibn::scoring
