// Counting in cells with few rows, for a child and columns of two states each: the rows are the bits of words, one word
// of each column for up to 32 rows of each value of the child. A few operations on the words of two columns count how
// often these and the child take each combination of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoring/suffix_floor.hpp"
#include "scoring/tally.hpp"

namespace credibn::scoring {

// Swaps, in squares of 2 J by 2 J bits, the upper right and the lower left quarter.
template <int J>
void swap_quarters(std::uint64_t* words) {
  constexpr std::uint64_t kLow = ~std::uint64_t(0) / ((std::uint64_t(1) << J) + 1);  // the low J of every 2 J bits
  for (int first = 0; first < 64; first += 2 * J)
    for (int w = first; w < first + J; ++w) {
      const std::uint64_t swapped = (words[w] >> J ^ words[w + J]) & kLow;
      words[w] ^= swapped << J;
      words[w + J] ^= swapped;
    }
}
// Bit b of word r becomes bit r of word b, for 64 words.
inline void transpose(std::uint64_t* words) {
  swap_quarters<32>(words);
  swap_quarters<16>(words);
  swap_quarters<8>(words);
  swap_quarters<4>(words);
  swap_quarters<2>(words);
  swap_quarters<1>(words);
}

// How many bits are set in the low half of a word, in the low half, and in the high half, in the high half.
inline std::uint64_t count_halves(std::uint64_t rows) {
  rows -= rows >> 1 & 0x5555555555555555u;
  rows = (rows & 0x3333333333333333u) + (rows >> 2 & 0x3333333333333333u);
  rows = ((rows + (rows >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x01010101u;
  return rows >> 24 & 0x000000ff000000ffu;
}

// The cells of one partition, each made when it is first needed.
class RowBits {
 public:
  void start(std::size_t n_cells) {
    cells_.assign(n_cells, Cell());
    words_.clear();
  }
  // Returns the number of words for each column, or 0 if it takes less time to add rows: if the cell, with these
  // numbers of rows, is counted `n_times` only.
  std::size_t make(std::size_t c, const std::uint32_t* totals, std::size_t n_times, const Partition& partition,
                   const SuffixOrder& order, const Code* child) {
    Cell& cell = cells_[c];
    if (cell.n_words > 0) return cell.n_words;
    const std::size_t n_words = (std::max(totals[0], totals[1]) + kRowsOfValue - 1) / kRowsOfValue;
    const auto n_rows = std::size_t(partition.cell_end(c) - partition.cell_begin(c));
    if (n_rows * n_times < n_words * order.n_words() * kRowsOfWord) return 0;
    cell.first = words_.size();
    cell.n_words = n_words;
    n_words_of_row_ = order.n_words();
    words_.resize(words_.size() + cell.n_words * n_words_of_row_ * 64, 0);
    std::size_t n_placed[2] = {0, 0};
    for (const WeightedRow* row = partition.cell_begin(c); row < partition.cell_end(c); ++row) {
      const std::size_t value = child[row->index];
      for (std::uint32_t n = 0; n < row->weight; ++n) {
        const std::size_t place = n_placed[value]++;
        std::uint64_t* const to =
            words_.data() + at(cell, place / kRowsOfValue, value * kRowsOfValue + place % kRowsOfValue);
        for (std::size_t w = 0; w < n_words_of_row_; ++w) to[w * 64] = order.values(row->index)[w];
      }
    }
    for (std::size_t j = 0; j < cell.n_words * n_words_of_row_; ++j) transpose(words_.data() + cell.first + j * 64);
    return cell.n_words;
  }
  // The rows with the second state of the column whose value is this bit of `SuffixOrder::values`: with the first value
  // of the child in the low half, with the second in the high half.
  std::uint64_t rows(std::size_t c, std::size_t word, std::size_t bit) const {
    return words_[at(cells_[c], word, bit)];
  }

 private:
  static constexpr std::size_t kRowsOfValue = 32;
  static constexpr std::size_t kRowsOfWord = 128;  // that can be added in the time that it takes to make a word
  struct Cell {
    std::size_t first = 0, n_words = 0;
  };
  std::size_t at(const Cell& cell, std::size_t word, std::size_t bit) const {
    return cell.first + word * n_words_of_row_ * 64 + bit;
  }

  std::size_t n_words_of_row_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::uint64_t> words_;
};

}  // namespace credibn::scoring
