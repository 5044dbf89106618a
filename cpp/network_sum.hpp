// The sum of exp(score) over all networks, and the posterior probability of every parent set, in about 3^n steps.
//
// R(S), the mass of all networks on the nodes S, follows by inclusion and exclusion over the sinks T (Robinson 1973;
// Tian & He 2009):
//   R(S) = sum over nonempty T inside S of (-1)^(|T| + 1) R(S - T) prod_{j in T} A(j, S - T),
// with A of local_sums.hpp. Its derivatives go the other way: Q(U) = dR(V)/dR(U) is the mass of all choices of parent
// sets for the nodes outside U that make no cycle among them,
//   Q(U) = sum over nonempty T outside U of (-1)^(|T| + 1) Q(U + T) prod_{j in T} A(j, U),
// and the terms with j in T add up to the mass of the networks in which U is the set of all nodes that do not descend
// from j (j itself is not in U). Every term is at most the whole sum, whatever its sign: see docs/guarantees.md.
//
// Loop shape. The last nodes are "minor", the others "major"; U = (M, u), T = (N, t). For fixed M, the factors of u and
// t are the same for all N, so the work is a sparse matrix of 3^k factors times 2^m vectors, with N along the vectors.
//
// Range. R(S) = x(S) 2^f(S), where f adds the exponents of A along the best order of S; so 1 <= x(S) <= n! 2^n, and no
// term exceeds 2^f(S) n! 2^n. In the same way Q(U) = y(U) 2^g(U). Exponents are whole numbers held as doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "block_pairs.hpp"
#include "local_sums.hpp"
#include "progress.hpp"

namespace credibn {

struct NetworkSumResult {
  double log_mass = 0.0;              // relative to the sum of the nodes' best scores; -infinity if there is no network
  std::vector<double> probabilities;  // of each candidate; empty unless asked for
  std::vector<double> descents;       // [j * n + v]: that v descends from j; empty unless asked for
};

class NetworkSum {
 public:
  NetworkSum(const LocalScores& local, bool with_marginals, StopFlag& stop, PartDone& part)
      : local_(local),
        n_(local.n),
        n_minor_(minor_nodes(local.n)),
        block_(std::size_t(1) << n_minor_),
        sums_(local),
        with_marginals_(with_marginals),
        stop_(stop),
        part_(part),
        by_superset_(n_minor_, true),
        by_subset_(n_minor_, false) {
    const std::size_t n_sets = std::size_t(1) << n_;
    for (int j = 0; j < n_; ++j) {
      stop_.check();
      sums_.sum_over_subsets(j);
    }
    x_ = LargeArray<double>(n_sets);
    f_ = LargeArray<double>(n_sets);
    if (with_marginals) {
      y_ = LargeArray<double>(n_sets);
      g_ = LargeArray<double>(n_sets);
    }
    block_sums_.resize(std::size_t(n_) * block_);
    block_powers_.resize(std::size_t(n_) * block_);
    for (auto* lanes : {&lane_factors_, &lane_powers_, &values_, &powers_, &others_, &other_powers_, &out_})
      lanes->resize(block_ * kLanes);
  }

  NetworkSumResult run() {
    NetworkSumResult result;
    sum_forwards();
    const std::size_t all = x_.size() - 1;
    result.log_mass = x_[all] > 0.0 ? std::log(x_[all]) + f_[all] * std::log(2.0) : -HUGE_VAL;
    if (!with_marginals_ || !(x_[all] > 0.0)) return result;
    result.descents.assign(std::size_t(n_) * std::size_t(n_), 0.0);
    sum_backwards(result.descents);
    for (int j = 0; j < n_; ++j) {
      stop_.check();
      sums_.sum_over_supersets(j);
      const double best = local_.best(j);
      for (std::int64_t row = local_.offsets[j]; row < local_.offsets[j + 1]; ++row) {
        const Scaled weight = sums_.get(j, std::uint32_t(local_.masks[row]));
        const Scaled own = scaled_exp(local_.scores[row] - best);
        result.probabilities.push_back(std::ldexp(weight.mantissa * own.mantissa, weight.exponent + own.exponent));
      }
    }
    return result;
  }

  static std::uint64_t bytes(int n, bool with_marginals) {
    constexpr std::uint64_t kOfBlock = std::uint64_t(2) << 20;  // what does not grow beyond a few nodes
    const int minor = minor_nodes(n), major = n - minor;
    const std::uint64_t products = std::uint64_t(1) << (major - std::min(major, kLaneBits) + minor);
    return LocalSums::bytes(n) + (std::uint64_t(1) << n) * sizeof(double) * (with_marginals ? 4 : 2) +
           2 * sizeof(double) * products + kOfBlock;
  }

 private:
  static constexpr double kPowerOfNothing = -0x1p40;  // below all exponents that occur; sums of many are still exact
  static constexpr double kForwardShare = 0.3;

  static int minor_nodes(int n) { return std::min(8, n / 2); }

  double power(const Scaled& value) const { return value.mantissa == 0.0 ? kPowerOfNothing : double(value.exponent); }

  // f and g: exponents of the largest products of A along an order of the nodes.
  void find_scales() {
    const std::size_t n_sets = x_.size();
    f_[0] = 0.0;
    for (std::size_t set = 1; set < n_sets; ++set) {
      double best = -HUGE_VAL;
      for (std::size_t left = set; left; left &= left - 1) {
        const int j = std::countr_zero(left);
        const std::size_t without = set ^ (std::size_t(1) << j);
        best = std::max(best, f_[without] + power(sums_.get(j, std::uint32_t(without))));
      }
      f_[set] = best;
    }
    if (!with_marginals_) return;
    g_[n_sets - 1] = 0.0;
    for (std::size_t set = n_sets - 1; set-- > 0;) {
      double best = -HUGE_VAL;
      for (std::size_t left = ~set & (n_sets - 1); left; left &= left - 1) {
        const int j = std::countr_zero(left);
        best = std::max(best, g_[set | (std::size_t(1) << j)] + power(sums_.get(j, std::uint32_t(set))));
      }
      g_[set] = best;
    }
  }

  // Takes the A(j, U) of all U = (major, u), and lists the nodes and sets that can be added to the major part.
  void open_block(std::uint32_t major) {
    base_ = std::size_t(major) << n_minor_;
    for (int j = 0; j < n_; ++j)
      for (std::size_t u = 0; u < block_; ++u) {
        const std::size_t set = base_ | u;
        const Scaled sum = set >> j & 1 ? Scaled{} : sums_.get(j, std::uint32_t(set));
        block_sums_[std::size_t(j) * block_ + u] = sum.mantissa;
        block_powers_[std::size_t(j) * block_ + u] = power(sum);
      }
    outside_.clear();
    for (int j = n_minor_; j < n_; ++j)
      if (!(base_ >> j & 1)) outside_.push_back(j);
    const std::size_t in_lanes = std::min<std::size_t>(kLaneBits, outside_.size());
    n_lanes_ = std::size_t(1) << in_lanes;
    n_chunks_ = std::size_t(1) << (outside_.size() - in_lanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lane_sets_[lane] = deposit(lane, 0);
    chunk_sets_.resize(n_chunks_);
    for (std::size_t chunk = 0; chunk < n_chunks_; ++chunk) chunk_sets_[chunk] = deposit(chunk, in_lanes);
  }
  std::size_t deposit(std::size_t bits, std::size_t from) const {
    std::size_t set = 0;
    for (; bits && from < outside_.size(); bits >>= 1, ++from)
      if (bits & 1) set |= std::size_t(1) << outside_[from];
    return set;
  }

  // The products of -A(j, U) over the nodes j of N, split into what the lane and what the chunk stands for. `start` and
  // `start_power` multiply them, for each u.
  template <class Start, class StartPower>
  void fill_products(const Start& start, const StartPower& start_power) {
    for (std::size_t u = 0; u < block_; ++u) {
      double *const factors = &lane_factors_[u * kLanes], *const powers = &lane_powers_[u * kLanes];
      std::fill_n(factors, kLanes, 0.0);
      std::fill_n(powers, kLanes, kPowerOfNothing);
      factors[0] = 1.0;
      powers[0] = 0.0;
      for (std::size_t lane = 1; lane < n_lanes_; ++lane) {
        const std::size_t rest = lane & (lane - 1);
        const std::size_t at = std::size_t(outside_[std::size_t(std::countr_zero(lane))]) * block_ + u;
        factors[lane] = -factors[rest] * block_sums_[at];
        powers[lane] = powers[rest] + block_powers_[at];
      }
    }
    chunk_factors_.resize(n_chunks_ * block_);
    chunk_powers_.resize(n_chunks_ * block_);
    for (std::size_t u = 0; u < block_; ++u) {
      chunk_factors_[u] = start(u);
      chunk_powers_[u] = start_power(u);
    }
    for (std::size_t chunk = 1; chunk < n_chunks_; ++chunk) {
      const std::size_t rest = chunk & (chunk - 1);
      const int j = outside_[std::size_t(kLaneBits + std::countr_zero(chunk))];
      for (std::size_t u = 0; u < block_; ++u) {
        chunk_factors_[chunk * block_ + u] =
            -chunk_factors_[rest * block_ + u] * block_sums_[std::size_t(j) * block_ + u];
        chunk_powers_[chunk * block_ + u] =
            chunk_powers_[rest * block_ + u] + block_powers_[std::size_t(j) * block_ + u];
      }
    }
  }
  void open_chunk(std::size_t chunk) {
    for (std::size_t u = 0; u < block_; ++u) {
      const double factor = chunk_factors_[chunk * block_ + u], power = chunk_powers_[chunk * block_ + u];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        values_[u * kLanes + lane] = factor * lane_factors_[u * kLanes + lane];
        powers_[u * kLanes + lane] = power + lane_powers_[u * kLanes + lane];
      }
    }
  }
  // Where the sets (M + N, .) of each lane start. Lanes that stand for no set share the start of lane 0.
  void find_starts(std::size_t chunk) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      starts_[lane] = base_ + chunk_sets_[chunk] + (lane < n_lanes_ ? lane_sets_[lane] : 0);
  }

  void sum_forwards() {
    find_scales();
    std::fill_n(x_.data(), x_.size(), 0.0);
    x_[0] = 1.0;
    const std::uint32_t n_blocks = std::uint32_t(x_.size() >> n_minor_);
    double done = 0.0;
    const double all = std::pow(3.0, n_ - n_minor_), share = with_marginals_ ? kForwardShare : 1.0;
    for (std::uint32_t major = 0; major < n_blocks; ++major) {
      stop_.check();
      open_block(major);
      factors_.fill(by_superset_, block_sums_.data(), block_powers_.data());
      sum_inside();
      fill_products([&](std::size_t u) { return -x_[base_ + u]; }, [&](std::size_t u) { return f_[base_ + u]; });
      for (std::size_t chunk = 0; chunk < n_chunks_; ++chunk) push(chunk);
      part_.set(share * (done += double(n_chunks_ * n_lanes_)) / all);
    }
  }
  // Finishes R(M, s): what is missing comes from sets with the same major part.
  void sum_inside() {
    for (std::size_t s = 0; s < block_; ++s) {
      double total = x_[base_ + s];
      for (std::size_t q = by_superset_.first[s]; q + 1 < by_superset_.first[s + 1]; ++q) {
        const std::size_t u = by_superset_.pairs[q].u;
        total -= factors_.mantissas[q] * x_[base_ + u] *
                 power_of_two(kPowerOrigin + (factors_.exponents[q] + f_[base_ + u] - f_[base_ + s]));
      }
      x_[base_ + s] = total;
    }
  }
  void push(std::size_t chunk) {
    open_chunk(chunk);
    find_starts(chunk);
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        other_powers_[s * kLanes + lane] = kPowerOrigin - f_[starts_[lane] + s];
    sum_into_supersets(by_superset_, factors_, values_.data(), powers_.data(), other_powers_.data(), out_.data());
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = chunk == 0 ? 1 : 0; lane < n_lanes_; ++lane)  // N is not empty
        x_[starts_[lane] + s] += out_[s * kLanes + lane];
  }

  void sum_backwards(std::vector<double>& descents) {
    std::fill_n(y_.data(), y_.size(), 0.0);  // those that are not known yet are multiplied by 0
    const std::uint32_t n_blocks = std::uint32_t(x_.size() >> n_minor_);
    double done = 0.0;
    const double all = std::pow(3.0, n_ - n_minor_);
    for (std::uint32_t major = n_blocks; major-- > 0;) {
      stop_.check();
      open_block(major);
      factors_.fill(by_subset_, block_sums_.data(), block_powers_.data());
      fill_products([](std::size_t) { return 1.0; }, [&](std::size_t u) { return -g_[base_ + u]; });
      totals_.assign(by_subset_.pairs.size(), 0.0);
      masses_.assign(std::size_t(n_) * block_, 0.0);
      for (std::size_t chunk = 0; chunk < n_chunks_; ++chunk) pull(chunk);
      finish_inside();
      keep_masses(descents);
      part_.set(kForwardShare + (1.0 - kForwardShare) * (done += double(n_chunks_ * n_lanes_)) / all);
    }
  }
  // Adds the terms of this chunk, with signs (-1)^|T|: for each pair of minor sets, and for each major node in T.
  void pull(std::size_t chunk) {
    open_chunk(chunk);
    if (chunk == 0)  // N is not empty
      for (std::size_t u = 0; u < block_; ++u) values_[u * kLanes] = 0.0;
    find_starts(chunk);
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        others_[s * kLanes + lane] = y_[starts_[lane] + s];
        other_powers_[s * kLanes + lane] = kPowerOrigin + g_[starts_[lane] + s];
      }
    sum_both_ways(by_subset_, factors_, values_.data(), powers_.data(), others_.data(), other_powers_.data(),
                  out_.data(), totals_.data());
    for (std::size_t u = 0; u < block_; ++u) {
      double whole = 0.0;
      for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
        const double value = out_[u * kLanes + lane];
        whole += value;
        for (std::size_t bit = 0; bit < kLaneBits; ++bit)
          if (lane >> bit & 1) masses_[std::size_t(outside_[bit]) * block_ + u] -= value;
      }
      for (std::size_t left = chunk; left; left &= left - 1)
        masses_[std::size_t(outside_[std::size_t(kLaneBits + std::countr_zero(left))]) * block_ + u] -= whole;
    }
  }
  // Finishes Q(M, u), from the largest u down, and adds the terms for each minor node in T.
  void finish_inside() {
    for (std::size_t u = block_; u-- > 0;) {
      const std::size_t first = by_subset_.first[u];
      double total = totals_[first];
      for (std::size_t q = first + 1; q < by_subset_.first[u + 1]; ++q) {
        const std::size_t s = by_subset_.pairs[q].s;
        totals_[q] += factors_.mantissas[q] * y_[base_ + s] *
                      power_of_two(kPowerOrigin + (factors_.exponents[q] + g_[base_ + s] - g_[base_ + u]));
        total += totals_[q];
        for (std::size_t left = s ^ u; left; left &= left - 1)
          masses_[std::size_t(std::countr_zero(left)) * block_ + u] -= totals_[q];
      }
      y_[base_ + u] = base_ + u == y_.size() - 1 ? 1.0 : -total;
    }
  }
  // masses_ now holds, relative to 2^g(U), what becomes the probability that U are the nodes not below j. A(j, U) has
  // served: in its place, put that probability divided by it.
  void keep_masses(std::vector<double>& descents) {
    const std::size_t all = x_.size() - 1;
    for (std::size_t u = 0; u < block_; ++u) {
      const std::size_t set = base_ | u;
      const double scale = x_[set] / x_[all] * power_of_two(kPowerOrigin + (f_[set] + g_[set] - f_[all]));
      for (std::size_t left = all & ~set; left; left &= left - 1) {
        const int j = std::countr_zero(left);
        const double probability = masses_[std::size_t(j) * block_ + u] * scale;
        const Scaled sum = sums_.get(j, std::uint32_t(set));
        if (sum.mantissa != 0.0)
          sums_.set(j, std::uint32_t(set), normalised(probability / sum.mantissa, -sum.exponent));
        for (std::size_t below = left_out(all & ~set, j); below; below &= below - 1)
          descents[std::size_t(j) * std::size_t(n_) + std::size_t(std::countr_zero(below))] += probability;
      }
    }
  }
  static std::size_t left_out(std::size_t set, int j) { return set & ~(std::size_t(1) << j); }

  LocalScores local_;
  int n_, n_minor_;
  std::size_t block_;  // the number of minor sets
  LocalSums sums_;
  bool with_marginals_;
  StopFlag& stop_;
  PartDone& part_;
  BlockPairs by_superset_, by_subset_;
  LargeArray<double> x_, f_, y_, g_;
  // Of the block at hand.
  std::size_t base_ = 0, n_lanes_ = 1, n_chunks_ = 1;
  std::vector<int> outside_;  // major nodes that are not in M
  std::size_t lane_sets_[kLanes] = {}, starts_[kLanes] = {};
  std::vector<std::size_t> chunk_sets_;
  PairFactors factors_;
  std::vector<double> block_sums_, block_powers_;     // A(j, U): [j][u]
  std::vector<double> lane_factors_, lane_powers_;    // [u][lane]
  std::vector<double> chunk_factors_, chunk_powers_;  // [chunk][u]
  std::vector<double> values_, powers_;               // [u][lane]
  std::vector<double> others_, other_powers_, out_;   // [s][lane]
  std::vector<double> totals_;                        // of each pair
  std::vector<double> masses_;                        // [j][u]
};

// Stopped is thrown when `watch` asked for it.
inline NetworkSumResult sum_networks(const LocalScores& local, bool with_marginals, const Watch& watch) {
  NetworkSumResult result;
  StopFlag stop;
  run_tasks(1, 1, watch, stop, [&](std::size_t, unsigned, PartDone& part) {
    result = NetworkSum(local, with_marginals, stop, part).run();
  });
  return result;
}

}  // namespace credibn
