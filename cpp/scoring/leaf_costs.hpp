// Costs of sets that the search does not extend. Many sets that a descent scores are such leaves, and nearly all of
// those are dominated (rule 1). All leaves S + l + t below one set S + l are summed side by side, cell by cell of S,
// and the rows of a cell are counted only when its turn comes. Every cell adds at least a floor to a cost, so a leaf is
// dropped as soon as its sum so far plus the floors of the remaining cells exceeds its limit. With the most expensive
// cells first, few of them need to be counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "scoring/child_costs.hpp"
#include "scoring/row_bits.hpp"
#include "scoring/tally.hpp"

namespace credibn::scoring {

// The cells of a set in the order in which leaves below it are summed.
struct CellOrder {
  std::vector<std::uint32_t> cells;
  std::vector<double> floors;  // floors[k]: of the cost of cells[k], cells[k + 1], ..., however they are split

  // weight(cell): what it costs, about; floor(cell): what it costs at least.
  template <class Weight, class Floor>
  void arrange(std::size_t n_cells, const Weight& weight, const Floor& floor) {
    weights_.resize(n_cells);
    cells.resize(n_cells);
    for (std::size_t c = 0; c < n_cells; ++c) weights_[c] = weight(c);
    std::iota(cells.begin(), cells.end(), 0u);
    std::sort(cells.begin(), cells.end(), [&](std::uint32_t a, std::uint32_t b) {
      return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
    });
    floors.assign(n_cells + 1, 0.0);
    for (std::size_t k = n_cells; k-- > 0;) floors[k] = floors[k + 1] + floor(cells[k]);
  }

 private:
  std::vector<double> weights_;
};

struct Leaf {
  std::size_t position;  // of the last variable
  double limit;          // leaves with a larger sum are dropped
  double best_subset;    // the least cost known of its proper subsets
  double sum;            // over the cells so far
  FamilyTerms terms;
};

template <class Lane>
class LeafSums {
 public:
  LeafSums(const Lanes<Lane>& lanes, int child_arity) : lanes_(lanes), arity_(std::size_t(child_arity)) {}

  // Drops the leaves that exceed their limit; the others get their whole sums. `add(cell)` adds what the leaves cost in
  // one cell.
  template <class Add>
  static void add_cells(const CellOrder& order, std::vector<Leaf>& leaves, const Add& add) {
    for (std::size_t k = 0; k < order.cells.size() && !leaves.empty(); ++k) {
      add(order.cells[k]);
      std::erase_if(leaves, [&](const Leaf& leaf) { return leaf.sum + order.floors[k + 1] > leaf.limit; });
    }
  }

  // Adds the cost of the cells that the last parent but one makes of one, of which it has dropped single rows.
  void add(const CellCounts<Lane>& counts, std::uint64_t n_dropped, std::vector<Leaf>& leaves) const {
    for (std::size_t c = 0; c < counts.n_cells(); ++c)
      for (Leaf& leaf : leaves)
        leaf.sum += arity_ == 2 && lanes_.arity(leaf.position) == 2 ? binary(counts, c, leaf) : narrow(counts, c, leaf);
    if (n_dropped == 0) return;
    for (Leaf& leaf : leaves) leaf.sum += double(n_dropped) * leaf.terms.of_single_row();
  }

  // The same for the cell c of the set without these two, whose rows are `bits`, if all columns have two states.
  void add(const CellCounts<Lane>& counts, std::size_t c, const RowBits& bits, std::size_t n_words,
           const SuffixOrder& order, std::size_t last_but_one, std::vector<Leaf>& leaves) const {
    const std::uint64_t n0 = counts.totals(c)[0], n1 = counts.totals(c)[1];
    const std::size_t lane = lanes_.first(last_but_one), bit = order.first_bit(last_but_one);
    const std::uint64_t b0 = counts.sums(c, 0)[lane], b1 = counts.sums(c, 1)[lane];
    for (Leaf& leaf : leaves) {
      const std::size_t last_lane = lanes_.first(leaf.position), last_bit = order.first_bit(leaf.position);
      std::uint64_t both = 0;
      for (std::size_t w = 0; w < n_words; ++w) both += count_halves(bits.rows(c, w, bit) & bits.rows(c, w, last_bit));
      const std::uint64_t both0 = both & 0xffffffffu, both1 = both >> 32;
      leaf.sum += leaf.terms.binary(b0, b1, both0, both1) + leaf.terms.binary(n0 - b0, n1 - b1,
                                                                              counts.sums(c, 0)[last_lane] - both0,
                                                                              counts.sums(c, 1)[last_lane] - both1);
    }
  }

 private:
  double binary(const CellCounts<Lane>& counts, std::size_t c, const Leaf& leaf) const {
    const std::size_t lane = lanes_.first(leaf.position);
    return leaf.terms.binary(counts.totals(c)[0], counts.totals(c)[1], counts.sums(c, 0)[lane],
                             counts.sums(c, 1)[lane]);
  }
  double narrow(const CellCounts<Lane>& counts, std::size_t c, const Leaf& leaf) const {
    const Terms& family = *leaf.terms.family;
    const auto n_states = std::size_t(lanes_.arity(leaf.position));
    std::array<std::uint64_t, Lanes<Lane>::kMostStates> in_state{};
    double sum = 0.0;
    for (std::size_t k = 0; k < arity_; ++k) {
      std::uint64_t rest = counts.totals(c)[k];
      if (rest == 0) continue;
      const Lane* sums = counts.sums(c, k) + lanes_.first(leaf.position);
      for (std::size_t s = 1; s < n_states; ++s) {
        rest -= sums[s - 1];
        in_state[s] += sums[s - 1];
        sum -= family(sums[s - 1]);
      }
      in_state[0] += rest;
      sum -= family(rest);
    }
    for (std::size_t s = 0; s < n_states; ++s) sum += (*leaf.terms.parents)(in_state[s]);
    return sum;
  }

  const Lanes<Lane>& lanes_;
  const std::size_t arity_;
};

}  // namespace credibn::scoring
