// Rule 9, for BDeu: what further parents cost by the cells that they split, against what they can save.
//
// Below a set S, let Q be the variables that are added. In each cell of S, the rows with the most common pattern of all
// variables that may be added, the center, stay together. A row that differs from it in the variables D joins the
// center, and adds its weight to the cost, unless Q meets D. And each q of Q splits rows of one value of the child, at
// ln r for each new cell, and divides the prior mass of mixed cells: that is its capacity. Weights are paid for as long
// as no variable pays more than its capacity. So either Q misses D, and the weight is due; or the capacity of a member
// of Q is, which is no less. The unused part of a capacity is due too if its variable is added.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "scoring/suffix_floor.hpp"
#include "scoring/table.hpp"
#include "scoring/tally.hpp"
#include "scoring/terms.hpp"

namespace credibn::scoring {

class SplitFloor {
 public:
  static constexpr std::size_t kMostChildStates = 16;

  // `term_error` is the error of one term.
  SplitFloor(const Table& table, const SuffixOrder& rows, const std::vector<int>& order, int child, double term_error)
      : rows_(rows),
        codes_(table.column(child)),
        arity_(std::size_t(table.arities[std::size_t(child)])),
        log_arity_(std::log(double(arity_))),
        term_error_(term_error) {
    if (!is_available()) return;
    for (std::size_t p = 0; p < order.size(); ++p) arities_[rows.first_bit(p)] = table.arities[std::size_t(order[p])];
  }

  bool is_available() const { return arity_ <= kMostChildStates && rows_.is_one_word(); }

  // The variables that may be added: none, then those at these positions.
  void start() { allowed_ = 0; }
  void allow(std::size_t position, double edge_cost) {
    allowed_ |= std::uint64_t(1) << rows_.first_bit(position);
    capacity_[rows_.first_bit(position)] = edge_cost;
  }

  // A lower bound of the cost, without the prior, of every set that adds some of the variables to one with these cells,
  // whose rows are in suffix order, and `n_single` cells of one row beside them. `terms` and `prior_mass` are those of
  // one of its configurations.
  double compute(const Partition& cells, std::uint64_t n_single, const Terms& terms, double prior_mass) {
    terms_ = &terms;
    for (std::uint64_t rest = allowed_; rest != 0; rest &= rest - 1) {
      const auto q = std::size_t(std::countr_zero(rest));
      mixing_[q] = std::log(arities_[q]) - std::log((1.0 + prior_mass) / (1.0 + prior_mass / arities_[q]));
    }
    n_mixed_ = exhausted_ = 0;
    n_errors_ = cells.rows.size() + cells.n_cells() + arities_.size();  // no fewer than cells split and weights paid
    sum_ = double(n_single) * log_arity_;
    for (auto& items : items_) items.clear();
    for (std::size_t c = 0; c < cells.n_cells(); ++c) {
      const WeightedRow *begin = cells.cell_begin(c), *end = cells.cell_end(c);
      if (end - begin == 1)
        sum_ += log_arity_;
      else if (arity_ == 2)
        add_cell(begin, end, atoms_2_);
      else if (arity_ <= 4)
        add_cell(begin, end, atoms_4_);
      else
        add_cell(begin, end, atoms_);
    }
    for (std::uint64_t rest = allowed_; rest != 0; rest &= rest - 1) {
      double& capacity = capacity_[std::countr_zero(rest)];
      capacity += double(n_mixed_) * mixing_[std::size_t(std::countr_zero(rest))];
      sum_ += std::min(0.0, capacity);
      capacity = std::max(0.0, capacity);
      exhausted_ |= capacity == 0.0 ? rest & -rest : 0;
    }
    for (const auto& items : items_) pay(items);
    find_least_rests();
    return sum_ - double(n_errors_) * (term_error_ + kRounding * std::abs(sum_));
  }
  // By how much the bound is higher for the sets that add the variable at `position`.
  double rest(std::size_t position) const { return capacity_[rows_.first_bit(position)]; }
  // The least that another variable adds to that.
  double least_other_rest(std::size_t position) const {
    return rows_.first_bit(position) == least_ ? second_rest_ : capacity_[least_];
  }

 private:
  static constexpr double kRounding = 1e-15;

  // Rows of a cell that agree on all variables that may be added, and the variables in which they differ from the
  // center.
  template <std::size_t Arity>
  struct Atom {
    RowIndex row;
    std::uint32_t total;
    std::uint64_t differences;
    std::array<std::uint32_t, Arity> counts;
  };
  // Of the atoms of one value of the child so far: whether there are any, and in which variables they differ.
  struct Seen {
    bool any = false;
    std::uint64_t differences = 0;
  };
  struct Item {
    double weight;
    std::uint64_t differences;
  };

  template <std::size_t Arity>
  static bool is_mixed(const std::array<std::uint32_t, Arity>& counts) {
    return std::count(counts.begin(), counts.end(), 0u) < std::ptrdiff_t(Arity) - 1;
  }
  // ln[Gamma(a + n) / Gamma(a)], minus the same for the count of each value.
  template <std::size_t Arity>
  double excess(const std::array<std::uint32_t, Arity>& counts) {
    if (!is_mixed(counts)) return 0.0;
    std::uint64_t total = 0;
    double sum = 0.0;
    for (std::uint32_t count : counts) {
      total += count;
      if (count > 0) sum -= (*terms_)(count);
    }
    n_errors_ += Arity + 1;
    return sum + (*terms_)(total);
  }

  template <std::size_t Arity>
  void add_cell(const WeightedRow* begin, const WeightedRow* end, std::vector<Atom<Arity>>& atoms) {
    const std::size_t n_atoms = find_atoms(begin, end, atoms);
    const RowIndex middle =
        std::max_element(atoms.begin(), atoms.begin() + std::ptrdiff_t(n_atoms), [](const auto& a, const auto& b) {
          return a.total < b.total;
        })->row;
    std::array<std::uint32_t, Arity> center{}, all{};
    for (auto& atoms_of_size : by_size_) atoms_of_size.resize(std::max(atoms_of_size.size(), n_atoms));
    std::array<std::size_t, kSizes> n_of_size{};
    for (std::size_t k = 0; k < n_atoms; ++k) {
      Atom<Arity>& atom = atoms[k];
      atom.differences = rows_.differences(middle, atom.row) & allowed_;
      for (std::size_t v = 0; v < Arity; ++v) {
        all[v] += atom.counts[v];
        center[v] += atom.differences == 0 ? atom.counts[v] : 0;
      }
      const std::size_t size = size_class(atom.differences);
      by_size_[size][n_of_size[size]++] = std::uint32_t(k);
    }
    const double of_center = excess(center);
    n_mixed_ += is_mixed(center);
    for (std::uint32_t count : all) sum_ += count > 0 ? log_arity_ : 0.0;
    sum_ += of_center;
    if (n_of_size[0] == n_atoms) return;
    // What a row adds to the excess of the center: for each value, its share of what all of them add.
    std::array<double, Arity> weights{};
    for (std::size_t v = 0; v < Arity; ++v) {
      if (all[v] == center[v]) continue;
      auto with_all = center;
      with_all[v] = all[v];
      weights[v] = (excess(with_all) - of_center) / double(all[v] - center[v]);
    }
    std::array<Seen, Arity> seen;
    for (std::size_t v = 0; v < Arity; ++v) seen[v].any = center[v] > 0;
    for (std::size_t size = 1; size < kSizes; ++size)
      for (std::size_t k = 0; k < n_of_size[size]; ++k) add_atom(atoms[by_size_[size][k]], size, weights, seen);
    add_groups(atoms, n_of_size[1]);
  }

  // Returns the number of atoms.
  template <std::size_t Arity>
  std::size_t find_atoms(const WeightedRow* begin, const WeightedRow* end, std::vector<Atom<Arity>>& atoms) const {
    atoms.resize(std::max(atoms.size(), std::size_t(end - begin) + 1));
    Atom<Arity>* atom = atoms.data();
    *atom = {begin->index, 0, 0, {}};
    for (const WeightedRow* row = begin; row < end; ++row) {
      atom += (rows_.differences(row[-std::ptrdiff_t(row != begin)].index, row->index) & allowed_) != 0;
      atom->row = row->index;
      atom->total += row->weight;
      atom->counts[codes_[row->index]] += row->weight;
      atom[1] = {};
    }
    return std::size_t(atom - atoms.data()) + 1;
  }

  // One that is the first of its value to differ from the center in some of its variables is in a cell of its own as
  // soon as one of these is added.
  template <std::size_t Arity>
  void add_atom(const Atom<Arity>& atom, std::size_t size, const std::array<double, Arity>& weights,
                std::array<Seen, Arity>& seen) {
    double weight = 0.0;
    for (std::size_t v = 0; v < Arity; ++v) {
      if (atom.counts[v] == 0) continue;
      weight += double(atom.counts[v]) * weights[v];
      const std::uint64_t fresh = atom.differences & ~seen[v].differences;
      if (fresh != 0 && seen[v].any) capacity_[std::size_t(std::countr_zero(fresh))] += log_arity_;
      seen[v] = {true, seen[v].differences | fresh};
    }
    if (weight > 0.0) items_[size - 1].push_back({weight, atom.differences});
  }
  // Rows that differ from the center in q alone, and agree, are in one cell without the center if q is added.
  template <std::size_t Arity>
  void add_groups(const std::vector<Atom<Arity>>& atoms, std::size_t n_single) {
    std::uint64_t done = 0;
    for (std::size_t k = 0; k < n_single; ++k) {
      const Atom<Arity>& atom = atoms[by_size_[1][k]];
      if (!is_mixed(atom.counts) || (atom.differences & done) != 0) continue;
      const auto q = std::size_t(std::countr_zero(atom.differences));
      capacity_[q] += excess(atom.counts) + mixing_[q];
      done |= atom.differences;
    }
  }
  // 0, 1, 2, or more variables.
  static std::size_t size_class(std::uint64_t differences) {
    const std::uint64_t but_one = differences & (differences - 1);
    return std::size_t(differences != 0) + (but_one != 0) + ((but_one & (but_one - 1)) != 0);
  }

  void pay(const std::vector<Item>& items) {
    for (const Item& item : items) {
      if ((item.differences & exhausted_) != 0) continue;
      double paid = item.weight;
      for (std::uint64_t d = item.differences; d != 0; d &= d - 1)
        paid = std::min(paid, capacity_[std::countr_zero(d)]);
      for (std::uint64_t d = item.differences; d != 0; d &= d - 1) {
        double& capacity = capacity_[std::countr_zero(d)];
        capacity -= paid;
        exhausted_ |= capacity <= 0.0 ? d & -d : 0;
      }
      sum_ += paid;
    }
  }

  void find_least_rests() {
    double least = std::numeric_limits<double>::infinity();
    second_rest_ = least;
    for (std::uint64_t rest = allowed_; rest != 0; rest &= rest - 1) {
      const auto q = std::size_t(std::countr_zero(rest));
      second_rest_ = std::min(second_rest_, std::max(least, capacity_[q]));
      if (capacity_[q] < least) least = capacity_[least_ = q];
    }
  }

  const SuffixOrder& rows_;
  const Code* codes_;
  const std::size_t arity_;
  const double log_arity_, term_error_;
  // By the first bit of a variable in its row. mixing_: what a mixed cell costs more, at least, if it is added.
  std::array<double, 64> arities_{}, mixing_{}, capacity_{};
  std::uint64_t allowed_ = 0;  // the first bits of the variables
  const Terms* terms_ = nullptr;
  double sum_ = 0.0, second_rest_ = 0.0;  // the least rest but that of least_
  std::size_t least_ = 0;
  std::uint64_t n_errors_ = 0, n_mixed_ = 0, exhausted_ = 0;
  static constexpr std::size_t kSizes = 4;
  std::array<std::vector<std::uint32_t>, kSizes> by_size_;  // atoms of a cell
  std::array<std::vector<Item>, kSizes - 1> items_;  // that differ from their center in one, two, or more variables
  std::vector<Atom<2>> atoms_2_;
  std::vector<Atom<4>> atoms_4_;
  std::vector<Atom<kMostChildStates>> atoms_;
};

// Whether rule 9 is worth a trial, by how often it closed sets to which as many variables may be added. Where it seldom
// does, it is tried now and then.
class SplitTrials {
 public:
  bool is_due(std::size_t n_addable) {
    Trials& trials = by_addable_[std::min(n_addable, by_addable_.size() - 1)];
    return kShare * trials.n_closed + kFew > trials.n_made || ++trials.n_skipped % kFew == 0;
  }
  void add(std::size_t n_addable, bool is_closed) {
    Trials& trials = by_addable_[std::min(n_addable, by_addable_.size() - 1)];
    ++trials.n_made;
    trials.n_closed += is_closed;
  }

 private:
  static constexpr std::uint64_t kShare = 2, kFew = 32;
  struct Trials {
    std::uint64_t n_made = 0, n_closed = 0, n_skipped = 0;
  };
  std::array<Trials, 64> by_addable_;
};

}  // namespace credibn::scoring
