// What one more parent does to the cost of a node, from the counts in the cells of the parents so far.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

// Cost of the split of one parent configuration by a binary child: terms(a + b) - family_terms(a) - family_terms(b).
struct PairTable {
  static constexpr std::uint32_t kSide = 32;
  std::array<double, kSide * kSide> values;
  PairTable(const Terms& parents, const Terms& family) {
    for (std::uint32_t a = 0; a < kSide; ++a)
      for (std::uint32_t b = 0; b < kSide; ++b) values[a * kSide + b] = parents(a + b) - family(a) - family(b);
  }
};

// The terms of a set of parents with a certain number of configurations.
struct FamilyTerms {
  const Terms *parents = nullptr, *family = nullptr;
  const double* pairs = nullptr;  // for a binary child

  double of_single_row() const { return (*parents)(1) - (*family)(1); }
  // Of the configurations that a binary parent makes of one cell with n0 and n1 rows of the child's values: a0 and a1
  // are those with the parent's second value.
  [[gnu::always_inline]] double binary(std::uint64_t n0, std::uint64_t n1, std::uint64_t a0, std::uint64_t a1) const {
    const std::uint64_t b0 = n0 - a0, b1 = n1 - a1;
    if (n0 < PairTable::kSide && n1 < PairTable::kSide)
      return pairs[a0 * PairTable::kSide + a1] + pairs[b0 * PairTable::kSide + b1];
    return (*parents)(a0 + a1) + (*parents)(b0 + b1) - (*family)(a0) - (*family)(a1) - (*family)(b0) - (*family)(b1);
  }
};

// What the child's entropy is made of, for a likelihood.
class CellEntropies {
 public:
  template <class Lane>
  void compute(const CellCounts<Lane>& counts, const Terms& entropy, std::size_t arity) {
    arity_ = arity;
    sum_ = of_totals_ = 0.0;
    of_cells_.resize(counts.n_cells());
    per_row_.assign(counts.n_cells() * arity, 0.0);
    for (std::size_t c = 0; c < counts.n_cells(); ++c) {
      const std::uint32_t* totals = counts.totals(c);
      const double of_total = entropy(std::accumulate(totals, totals + arity, std::uint64_t(0)));
      double of_cell = of_total;
      for (std::size_t k = 0; k < arity; ++k) of_cell -= entropy(totals[k]);
      for (std::size_t k = 0; k < arity; ++k)
        if (totals[k] > 0) per_row_[c * arity + k] = of_cell / totals[k];
      of_cells_[c] = of_cell;
      of_totals_ += of_total;
      sum_ += of_cell;
    }
  }
  double sum() const { return sum_; }                           // N*H(i | S)
  double of_cell(std::size_t c) const { return of_cells_[c]; }  // the part of it that comes from one cell
  const double* per_row(std::size_t c) const { return per_row_.data() + c * arity_; }  // by the value of the child
  double of_totals() const { return of_totals_; }  // the sum over cells of n ln(n / N)

 private:
  std::size_t arity_ = 0;
  double sum_ = 0.0, of_totals_ = 0.0;
  std::vector<double> of_cells_, per_row_;
};

// A set of parents so far: its cells (the rows only where a column of many states may follow) and the number of its
// configurations.
template <class Lane>
struct Cells {
  const Partition& partition;
  const CellCounts<Lane>& counts;
  const CellEntropies& entropies;  // not for BDeu
  double configurations;
  std::uint64_t dropped;  // cells of a single row seen once, which are in neither
};

struct ChildCost {
  double cost = 0.0;        // sum over the cells, without penalty and prior
  double tells = 0.0;       // entropy of the new parent within the cells; not for BDeu
  double loss = 0.0;        // of the child's entropy, if only rows with one state of it are left (rule 8); not for BDeu
  std::uint64_t cells = 0;  // seen cells of the family
};

template <class Lane>
class ChildCosts {
 public:
  ChildCosts(const Table& table, const DiscreteScore& score, const Lanes<Lane>& lanes, const std::vector<int>& order,
             int child, TermTables<double>& terms)
      : table_(table),
        lanes_(lanes),
        order_(order),
        codes_(table.column(child)),
        arity_(table.arities[std::size_t(child)]),
        is_bdeu_(score.is_bdeu()),
        terms_(terms) {}

  // With the variable at `position` as a further parent.
  ChildCost with_parent(const Cells<Lane>& cells, std::size_t position) {
    const double configurations = cells.configurations * lanes_.arity(position);
    if (configurations != configurations_) choose_terms(configurations);
    ChildCost result = lanes_.is_wide(position)                     ? wide(cells.partition, position)
                       : arity_ == 2 && lanes_.arity(position) == 2 ? binary(cells, position)
                                                                    : narrow(cells, position);
    if (!is_bdeu_) {
      result.tells += cells.entropies.of_totals();
      if (lanes_.is_wide(position)) result.loss = cells.entropies.sum();
    }
    result.cost += double(cells.dropped) * terms_now_.of_single_row();
    result.cells += cells.dropped;
    return result;
  }

  // Invalidates all FamilyTerms when there are many.
  void trim() {
    if (!terms_.trim()) return;
    pair_tables_.clear();
    configurations_ = 0.0;
  }
  FamilyTerms terms_of(double configurations) {
    FamilyTerms terms;
    terms.parents = &terms_.of(configurations);
    terms.family = &terms_.of(configurations * arity_);
    if (arity_ != 2) return terms;
    auto& slot = pair_tables_[is_bdeu_ ? configurations : 0.0];
    if (!slot) slot = std::make_unique<PairTable>(*terms.parents, *terms.family);
    terms.pairs = slot->values.data();
    return terms;
  }

 private:
  // Most often those of the previous call.
  void choose_terms(double configurations) {
    trim();
    configurations_ = configurations;
    terms_now_ = terms_of(configurations);
  }

  ChildCost binary(const Cells<Lane>& cells, std::size_t position) const {
    const CellCounts<Lane>& counts = cells.counts;
    const Terms& entropy = terms_.entropy();
    const std::size_t lane = lanes_.first(position);
    ChildCost result;
    for (std::size_t c = 0; c < counts.n_cells(); ++c) {
      const std::uint64_t n0 = counts.totals(c)[0], n1 = counts.totals(c)[1];
      const std::uint64_t a0 = counts.sums(c, 0)[lane], a1 = counts.sums(c, 1)[lane];
      const std::uint64_t b0 = n0 - a0, b1 = n1 - a1;
      result.cost += terms_now_.binary(n0, n1, a0, a1);
      if (is_bdeu_) {
        result.cells += std::uint64_t(a0 > 0) + (a1 > 0) + (b0 > 0) + (b1 > 0);
        continue;
      }
      result.tells -= entropy(a0 + a1) + entropy(b0 + b1);
      const double* per_row = cells.entropies.per_row(c);
      const double of_first = double(std::int64_t(a0)) * per_row[0], of_second = double(std::int64_t(a1)) * per_row[1];
      result.loss +=
          std::min(std::max(of_first, of_second), cells.entropies.of_cell(c) - std::min(of_first, of_second));
    }
    return result;
  }

  ChildCost narrow(const Cells<Lane>& cells, std::size_t position) {
    const CellCounts<Lane>& counts = cells.counts;
    const auto n_states = std::size_t(lanes_.arity(position));
    ChildCost result;
    for (std::size_t c = 0; c < counts.n_cells(); ++c) {
      const std::uint32_t* totals = counts.totals(c);
      std::array<std::uint64_t, Lanes<Lane>::kMostStates> in_state{};
      std::array<double, Lanes<Lane>::kMostStates> lost{};
      for (std::size_t k = 0; k < std::size_t(arity_); ++k) {
        if (totals[k] == 0) continue;
        const double per_row = is_bdeu_ ? 0.0 : cells.entropies.per_row(c)[k];
        const Lane* sums = counts.sums(c, k) + lanes_.first(position);
        std::uint64_t rest = totals[k];
        for (std::size_t s = 1; s < n_states; ++s) {
          rest -= sums[s - 1];
          in_state[s] += sums[s - 1];
          add_family_cell(sums[s - 1], result);
          lost[s] = std::max(lost[s], double(totals[k] - sums[s - 1]) * per_row);
        }
        in_state[0] += rest;
        add_family_cell(rest, result);
        lost[0] = std::max(lost[0], double(totals[k] - rest) * per_row);
      }
      for (std::size_t s = 0; s < n_states; ++s) add_configuration(in_state[s], result);
      result.loss += *std::min_element(lost.begin(), lost.begin() + std::ptrdiff_t(n_states));
    }
    return result;
  }

  ChildCost wide(const Partition& partition, std::size_t position) {
    const Code* codes = table_.column(order_[position]);
    ChildCost result;
    for (std::size_t c = 0; c < partition.n_cells(); ++c) {
      cells_.clear();
      for (const WeightedRow* row = partition.cell_begin(c); row < partition.cell_end(c); ++row) {
        cells_.emplace_back(std::uint32_t(codes[row->index]) << 16 | codes_[row->index], row->weight);
      }
      std::sort(cells_.begin(), cells_.end());
      for (auto cell = cells_.begin(); cell != cells_.end();) {
        const std::uint32_t state = cell->first >> 16;
        std::uint64_t in_state = 0;
        while (cell != cells_.end() && cell->first >> 16 == state) {
          const std::uint32_t pair = cell->first;
          std::uint64_t count = 0;
          for (; cell != cells_.end() && cell->first == pair; ++cell) count += cell->second;
          add_family_cell(count, result);
          in_state += count;
        }
        add_configuration(in_state, result);
      }
    }
    return result;
  }

  void add_family_cell(std::uint64_t count, ChildCost& result) const {
    result.cost -= (*terms_now_.family)(count);
    result.cells += count > 0;
  }
  void add_configuration(std::uint64_t count, ChildCost& result) const {
    result.cost += (*terms_now_.parents)(count);
    if (!is_bdeu_) result.tells -= terms_.entropy()(count);
  }

  const Table& table_;
  const Lanes<Lane>& lanes_;
  const std::vector<int>& order_;
  const Code* codes_;
  const int arity_;
  const bool is_bdeu_;
  TermTables<double>& terms_;
  double configurations_ = 0.0;  // that the terms belong to
  FamilyTerms terms_now_;
  std::map<double, std::unique_ptr<PairTable>> pair_tables_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cells_;  // of one parent configuration: state and value, count
};

}  // namespace credibn::scoring
