// Separation of zero-half cuts (see cluster_cuts.hpp): which tight cuts and equations, added and halved, round up to a
// cut that a fractional solution violates. With the parities of all coefficients, twice the violation of a sum is
//     1 - (sum of the cuts' slacks) - (sum of x over candidates with an odd coefficient)
// if the right-hand side is odd. Adding a node's equation swaps odd and even for that node. Caprara and Fischetti
// (1996).
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "cuts/cluster_cuts.hpp"

namespace credibn::cuts {

using search::Choices;

// The zero-half cut of the sum of some cuts and of the equations of some nodes. Any cuts and nodes give a valid one.
template <int W>
Cut zero_half_cut(const Choices<W>& choices, const std::vector<const Cut*>& cuts, const std::vector<int>& equations) {
  std::vector<int> coefficients(choices.size(), 0);
  int rhs = 0;
  for (const Cut* cut : cuts) {
    for (std::size_t k = 0; k < cut->at.size(); ++k) coefficients[cut->at[k]] += cut->coefficients[k];
    rhs += cut->rhs;
  }
  for (int v : equations) {
    for (std::size_t k = 0; k < choices.size(v); ++k) ++coefficients[choices.first(v) + k];
    ++rhs;
  }
  const auto half_up = [](int value) { return (value + 1) >> 1; };  // also below 0
  Cut half;
  half.rhs = half_up(rhs);
  for (int v = 0; v < choices.n(); ++v) {
    int least = std::numeric_limits<int>::max();
    for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at)
      least = std::min(least, half_up(coefficients[at]));
    for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at) {
      const int coefficient = half_up(coefficients[at]) - least;
      if (coefficient == 0) continue;
      half.at.push_back(std::uint32_t(at));
      half.coefficients.push_back(coefficient);
    }
    half.rhs -= least;
  }
  return half;
}

// The terms of a zero-half cut: cuts, by their place among those that were tried, and the nodes whose equations are
// added.
struct ZeroHalf {
  std::vector<std::uint32_t> cuts;
  std::vector<int> equations;
};

template <int W>
class ZeroHalfSeparator {
 public:
  // cuts: those whose sums are tried; support: the fractional solution, sorted by node.
  ZeroHalfSeparator(const Choices<W>& choices, const std::vector<const Cut*>& cuts,
                    const std::vector<Fraction<W>>& support)
      : support_(support), n_words_((support.size() + 63) / 64) {
    std::vector<std::uint32_t> slot(choices.size(), kNone);
    mass_.resize(std::size_t(choices.n()));
    for (std::size_t s = 0; s < support.size(); ++s) {
      slot[support[s].at] = std::uint32_t(s);
      mass_[std::size_t(support[s].node)] += support[s].value;
    }
    for (std::size_t r = 0; r < cuts.size(); ++r) {
      const Cut* cut = cuts[r];
      Sum single;
      single.odd.assign(n_words_, 0);
      double activity = 0;
      for (std::size_t k = 0; k < cut->at.size(); ++k) {
        const std::uint32_t s = slot[cut->at[k]];
        if (s == kNone) continue;
        activity += cut->coefficients[k] * support[s].value;
        if (cut->coefficients[k] & 1) single.odd[s / 64] |= std::uint64_t(1) << (s % 64);
      }
      single.slack = std::max(0.0, activity - cut->rhs);
      single.is_odd = cut->rhs & 1;
      if (single.slack >= kMostSlack) continue;
      single.members = {std::uint32_t(places_.size())};
      places_.push_back(std::uint32_t(r));
      singles_.push_back(std::move(single));
    }
  }

  // At most max_cuts zero-half cuts violated by more than `least`.
  std::vector<ZeroHalf> find(std::size_t max_cuts, double least) {
    violated_.clear();
    least_ = least;
    std::vector<std::size_t> columns(support_.size());
    std::iota(columns.begin(), columns.end(), 0);
    std::mt19937_64 random(columns.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t k = columns.size(); k > 1; --k) std::swap(columns[k - 1], columns[random() % k]);
      if (round == 0)
        std::stable_sort(columns.begin(), columns.end(),
                         [&](std::size_t a, std::size_t b) { return support_[a].value > support_[b].value; });
      eliminate(columns);
    }
    keep_best(violated_, max_cuts);
    std::vector<ZeroHalf> found;
    for (Sum& sum : violated_) {
      ZeroHalf half;
      for (std::uint32_t r : sum.members) half.cuts.push_back(places_[r]);
      evaluate(sum, &half.equations);
      found.push_back(std::move(half));
    }
    return found;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);
  static constexpr double kMostSlack = 0.5;  // of a cut; sums with more slack are hardly violated
  static constexpr int kRounds = 2;
  struct Sum {
    std::vector<std::uint64_t> odd;  // support with an odd coefficient
    double slack = 0;
    bool is_odd = false;  // the right-hand side
    std::vector<std::uint32_t> members;
    double total = 0;  // 1 - twice the violation
  };

  // Gaussian elimination over the parities (Koster, Zymolka, Kutschka 2009): makes one candidate of the support after
  // another even in all sums but one, the pivot, which is then left out. A node's largest candidate is even from the
  // start, by adding the node's equation.
  void eliminate(const std::vector<std::size_t>& columns) {
    std::vector<std::size_t> largest(mass_.size(), ~std::size_t(0));
    for (std::size_t s = 0; s < support_.size(); ++s) {
      std::size_t& of_node = largest[std::size_t(support_[s].node)];
      if (of_node == ~std::size_t(0) || support_[s].value > support_[of_node].value) of_node = s;
    }
    std::vector<Sum> sums = singles_;
    std::vector<char> is_pivot(sums.size(), 0);
    auto is_odd = [&](const Sum& sum, std::size_t s) {
      const std::size_t base = largest[std::size_t(support_[s].node)];
      return ((sum.odd[s / 64] >> (s % 64)) ^ (sum.odd[base / 64] >> (base % 64))) & 1;
    };
    for (std::size_t s : columns) {
      std::size_t pivot = sums.size();
      for (std::size_t r = 0; r < sums.size(); ++r)
        if (!is_pivot[r] && is_odd(sums[r], s) && (pivot == sums.size() || sums[r].slack < sums[pivot].slack))
          pivot = r;
      if (pivot == sums.size()) continue;
      is_pivot[pivot] = 1;
      for (std::size_t r = 0; r < sums.size(); ++r) {
        if (is_pivot[r] || !is_odd(sums[r], s)) continue;
        sums[r] = plus(sums[r], sums[pivot]);
        if (sums[r].slack < 1)
          record(sums[r]);
        else
          is_pivot[r] = 1;  // no longer useful
      }
    }
  }
  void record(Sum& sum) {
    evaluate(sum);
    if ((1 - sum.total) / 2 > least_) violated_.push_back(sum);
  }

  Sum plus(const Sum& a, const Sum& b) const {
    Sum sum = a;
    for (std::size_t w = 0; w < n_words_; ++w) sum.odd[w] ^= b.odd[w];
    sum.is_odd ^= b.is_odd;
    sum.members.clear();
    std::set_symmetric_difference(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                                  std::back_inserter(sum.members));
    sum.slack = 0;
    for (std::uint32_t r : sum.members) sum.slack += singles_[r].slack;
    return sum;
  }
  // Chooses the equations to add: those of the nodes in `flips`.
  void evaluate(Sum& sum, std::vector<int>* flips = nullptr) {
    odd_mass_.assign(mass_.size(), 0.0);
    for (std::size_t w = 0; w < n_words_; ++w)
      for (std::uint64_t left = sum.odd[w]; left; left &= left - 1) {
        const Fraction<W>& f = support_[64 * w + std::size_t(std::countr_zero(left))];
        odd_mass_[std::size_t(f.node)] += f.value;
      }
    sum.total = sum.slack;
    bool is_odd = sum.is_odd;
    double repair = std::numeric_limits<double>::infinity();
    std::size_t repairing = 0;
    for (std::size_t v = 0; v < mass_.size(); ++v) {
      const double odd = odd_mass_[v], even = mass_[v] - odd;
      const bool flip = even < odd;
      sum.total += flip ? even : odd;
      is_odd ^= flip;
      if (flips && flip) flips->push_back(int(v));
      if (std::abs(odd - even) < repair) {
        repair = std::abs(odd - even);
        repairing = v;
      }
    }
    if (is_odd) return;
    sum.total += repair;
    if (!flips) return;
    const auto at = std::find(flips->begin(), flips->end(), int(repairing));
    if (at == flips->end())
      flips->push_back(int(repairing));
    else
      flips->erase(at);
  }
  static void keep_best(std::vector<Sum>& sums, std::size_t most) {
    auto better = [](const Sum& a, const Sum& b) {
      return a.total != b.total ? a.total < b.total : a.members < b.members;
    };
    if (sums.size() > most) {
      std::nth_element(sums.begin(), sums.begin() + std::ptrdiff_t(most), sums.end(), better);
      sums.resize(most);
    }
    std::sort(sums.begin(), sums.end(), better);
    sums.erase(std::unique(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) { return a.members == b.members; }),
               sums.end());
  }
  const std::vector<Fraction<W>>& support_;
  std::size_t n_words_;
  std::vector<std::uint32_t> places_;  // of the cuts that are tried
  std::vector<Sum> singles_;
  std::vector<double> mass_, odd_mass_;
  std::vector<Sum> violated_;
  double least_ = 0;
};

}  // namespace credibn::cuts
