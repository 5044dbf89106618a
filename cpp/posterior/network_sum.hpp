// The sum of exp(score) over all networks, and the posterior probability of every parent set, in about 3^n steps.
//
// R(S), the mass of all networks on the nodes S, follows by inclusion and exclusion over the sinks T (Robinson 1973;
// Tian & He 2009):
//   R(S) = sum over nonempty T inside S of (-1)^(|T| + 1) R(S - T) prod_{j in T} A(j, S - T),
// with A of local_sums.hpp. Its derivatives go the other way: Q(U) = dR(V)/dR(U) is the mass of all choices of parent
// sets for the nodes outside U that make no cycle among them,
//   Q(U) = sum over nonempty T outside U of (-1)^(|T| + 1) Q(U + T) prod_{j in T} A(j, U),
// and the terms with j in T add up to the mass of the networks in which U is the set of all nodes that do not descend
// from j (j itself is not in U). Every term is at most the whole sum, whatever its sign, but there are 3^n of them:
// numbers have twice a double's precision. See docs/guarantees.md.
//
// Loop shape. The last nodes are "minor", the others "major"; U = (M, u), T = (N, t). For fixed M, the factors of u and
// t are the same for all N, so the work is a sparse matrix of 3^k factors times 2^m vectors, with N along the vectors.
//
// Range. R(S) = x(S) 2^f(S), where f adds the exponents of A along the best order of S; so 1 <= x(S) <= n! 2^n, and no
// term exceeds 2^f(S) n! 2^n. In the same way Q(U) = y(U) 2^g(U). Exponents are whole numbers in doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/compensated.hpp"
#include "base/progress.hpp"
#include "posterior/block_pairs.hpp"
#include "posterior/local_sums.hpp"

namespace credibn::posterior {

using base::CompensatedSum;
using base::DoubleDouble;
using base::kPowerOrigin;
using base::LargeArray;
using base::LongSum;
using base::normalised;
using base::power_of_two;
using base::run_tasks;
using base::Scaled;
using base::scaled_exp;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;

struct NetworkSumResult {
  double log_mass = 0.0;              // relative to the sum of the nodes' best scores; -infinity if there is no network
  std::vector<double> probabilities;  // of each candidate; empty unless requested
  std::vector<double> descents;       // [j * n + v]: that v descends from j; empty unless requested
  std::vector<double> paths;          // [k * n + v]: that the cause has its k-th candidate as parents and reaches v
};

class NetworkSum {
 public:
  NetworkSum(const LocalScores& local, bool with_marginals, StopFlag& stop, TaskProgress& progress)
      : local_(local),
        n_(local.n),
        n_minor_(minor_nodes(local.n)),
        block_(std::size_t(1) << n_minor_),
        sums_(local),
        with_marginals_(with_marginals),
        stop_(stop),
        progress_(progress),
        by_superset_(n_minor_, true),
        by_subset_(n_minor_, false) {
    const std::size_t n_sets = std::size_t(1) << n_;
    for (int j = 0; j < n_; ++j) {
      stop_.check();
      sums_.sum_over_subsets(j);
    }
    x_ = LargeArray<DoubleDouble>(n_sets);
    f_ = LargeArray<double>(n_sets);
    if (with_marginals) {
      y_ = LargeArray<DoubleDouble>(n_sets);
      g_ = LargeArray<double>(n_sets);
    }
    block_sums_.resize(std::size_t(n_) * block_);
    block_powers_.resize(std::size_t(n_) * block_);
    for (auto* lanes : {&lane_factors_, &values_, &others_}) lanes->resize(block_);
    out_.resize(block_ * kLanes);
    wholes_.resize(block_ * kGroup);
  }

  // With a cause, a node, the probabilities of its parent sets together with each of its descendants too.
  NetworkSumResult run(int cause = -1) {
    NetworkSumResult result;
    sum_forwards();
    const std::size_t all = x_.size() - 1;
    result.log_mass = x_[all].high > 0.0 ? std::log(x_[all].high) + f_[all] * std::log(2.0) : -HUGE_VAL;
    if (!with_marginals_ || !(x_[all].high > 0.0)) return result;
    descents_.resize(std::size_t(n_) * std::size_t(n_));
    sum_backwards();
    for (const CompensatedSum& descent : descents_) result.descents.push_back(descent.value());
    if (cause >= 0) result.paths = paths_of(cause);
    for (int j = 0; j < n_; ++j) {
      stop_.check();
      sums_.sum_over_supersets(j);
      each_probability(j, [&](double probability) { result.probabilities.push_back(probability); });
    }
    return result;
  }

  // A bound on the error of every probability, of any sum of those of one node, and of the log of the sum, for the
  // scores as they are given: see docs/guarantees.md.
  static double rounding_error(int n) {
    constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
    const double minor_sets = std::ldexp(1.0, minor_nodes(n)), major_sets = std::ldexp(1.0, n - minor_nodes(n));
    const double of_term = 4 * minor_sets * minor_sets + 8 * major_sets + 3 * n * n + 16 * n + 64;
    return 8 * std::pow(5.0, n) * of_term * kUnit * kUnit + (20 * (n + 4) + minor_sets) * kUnit;
  }

  static std::uint64_t bytes(int n, bool with_marginals) {
    constexpr std::uint64_t kOfBlock = std::uint64_t(2) << 20;  // what does not grow beyond a few nodes
    const int minor = minor_nodes(n), major = n - minor;
    const std::uint64_t products = std::uint64_t(1) << (major - std::min(major, kLaneBits) + minor);
    return LocalSums::bytes(n) + (std::uint64_t(1) << n) * 3 * sizeof(double) * (with_marginals ? 2 : 1) +
           3 * sizeof(double) * products + kOfBlock;
  }

 private:
  static constexpr double kPowerOfNothing = -0x1p40;  // below all exponents that occur; sums of many are still exact
  static constexpr double kForwardShare = 0.3;
  static constexpr std::size_t kChunksPerJoin = 4;

  static int minor_nodes(int n) { return std::min(8, n / 2); }

  // Where the place of A(j, U) holds a sum over the sets U that contain a parent set of j: the probability of each.
  template <class Visit>
  void each_probability(int j, const Visit& visit) const {
    const double best = local_.best(j);
    for (std::int64_t candidate = local_.offsets[j]; candidate < local_.offsets[j + 1]; ++candidate) {
      const Scaled weight = sums_.get(j, std::uint32_t(local_.masks[candidate]));
      const Scaled own = scaled_exp(local_.scores[candidate], best);
      visit(std::ldexp(weight.mantissa.high * own.mantissa.high, weight.exponent + own.exponent));
    }
  }
  // A node descends from the cause if it is not in the set U of those that do not: the other sets U alone are summed.
  std::vector<double> paths_of(int cause) {
    const std::size_t n_sets = x_.size(), n = std::size_t(n_), own = std::size_t(1) << cause;
    const auto each_set = [&](const auto& visit) {
      for (std::size_t set = 0; set < n_sets; ++set)
        if (!(set & own)) visit(std::uint32_t(set));
    };
    std::vector<Scaled> weights;
    each_set([&](std::uint32_t set) { weights.push_back(sums_.get(cause, set)); });
    std::vector<double> paths(std::size_t(local_.offsets[cause + 1] - local_.offsets[cause]) * n);
    for (int v = 0; v < n_; ++v) {
      if (v == cause) continue;
      stop_.check();
      std::size_t at = 0;
      each_set([&](std::uint32_t set) {
        sums_.set(cause, set, set >> v & 1 ? Scaled{} : weights[at]);
        ++at;
      });
      sums_.sum_over_supersets(cause);
      std::size_t candidate = 0;
      each_probability(cause, [&](double probability) { paths[candidate++ * n + std::size_t(v)] = probability; });
    }
    std::size_t at = 0;
    each_set([&](std::uint32_t set) { sums_.set(cause, set, weights[at++]); });
    return paths;
  }

  double power(const Scaled& value) const {
    return value.mantissa.high == 0.0 ? kPowerOfNothing : double(value.exponent);
  }

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

  // Loads the A(j, U) of all U = (major, u), and lists the nodes and sets that can be added to the major nodes.
  void open_block(std::uint32_t major) {
    base_ = std::size_t(major) << n_minor_;
    for (int j = 0; j < n_; ++j)
      for (std::size_t u = 0; u < block_; ++u) {
        const std::size_t set = base_ | u;
        const Scaled sum = set >> j & 1 ? Scaled{} : sums_.get(j, std::uint32_t(set));
        block_sums_.set(std::size_t(j) * block_ + u, sum.mantissa);
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
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lane_factors_.mantissas.set(u * kLanes + lane, {});
        lane_factors_.powers[u * kLanes + lane] = kPowerOfNothing;
      }
      lane_factors_.mantissas.set(u * kLanes, {1.0, 0.0});
      lane_factors_.powers[u * kLanes] = 0.0;
      for (std::size_t lane = 1; lane < n_lanes_; ++lane) {
        const std::size_t rest = u * kLanes + (lane & (lane - 1));
        const std::size_t at = std::size_t(outside_[std::size_t(std::countr_zero(lane))]) * block_ + u;
        lane_factors_.mantissas.set(u * kLanes + lane, -lane_factors_.mantissas.get(rest) * block_sums_.get(at));
        lane_factors_.powers[u * kLanes + lane] = lane_factors_.powers[rest] + block_powers_[at];
      }
    }
    lane_factors_.find_tops();
    chunk_factors_.resize(n_chunks_ * block_);
    chunk_powers_.resize(n_chunks_ * block_);
    for (std::size_t u = 0; u < block_; ++u) {
      chunk_factors_.set(u, start(u));
      chunk_powers_[u] = start_power(u);
    }
    for (std::size_t chunk = 1; chunk < n_chunks_; ++chunk) {
      const std::size_t rest = (chunk & (chunk - 1)) * block_;
      const std::size_t of_node = std::size_t(outside_[std::size_t(kLaneBits + std::countr_zero(chunk))]) * block_;
      for (std::size_t u = 0; u < block_; ++u) {
        chunk_factors_.set(chunk * block_ + u, -chunk_factors_.get(rest + u) * block_sums_.get(of_node + u));
        chunk_powers_[chunk * block_ + u] = chunk_powers_[rest + u] + block_powers_[of_node + u];
      }
    }
  }
  void open_chunk(std::size_t chunk) {
    multiply_lanes(chunk_factors_, chunk_powers_.data(), chunk * block_, lane_factors_, values_);
  }
  // Where the sets (M + N, .) of each lane start. Lanes that stand for no set share the start of lane 0.
  void find_starts(std::size_t chunk) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      starts_[lane] = base_ + chunk_sets_[chunk] + (lane < n_lanes_ ? lane_sets_[lane] : 0);
  }

  void sum_forwards() {
    find_scales();
    std::fill_n(x_.data(), x_.size(), DoubleDouble{});
    x_[0] = {1.0, 0.0};
    const std::uint32_t n_blocks = std::uint32_t(x_.size() >> n_minor_);
    double done = 0.0;
    const double all = std::pow(3.0, n_ - n_minor_), share = with_marginals_ ? kForwardShare : 1.0;
    for (std::uint32_t major = 0; major < n_blocks; ++major) {
      stop_.check();
      open_block(major);
      factors_.fill(by_superset_, block_sums_, block_powers_);
      sum_inside();
      fill_products([&](std::size_t u) { return -x_[base_ + u]; }, [&](std::size_t u) { return f_[base_ + u]; });
      for (std::size_t chunk = 0; chunk < n_chunks_; ++chunk) push(chunk);
      progress_.set(share * (done += double(n_chunks_ * n_lanes_)) / all);
    }
  }
  // Finishes R(M, s): what is missing comes from sets with the same major nodes.
  void sum_inside() {
    for (std::size_t s = 0; s < block_; ++s) {
      LongSum total;
      total += x_[base_ + s];
      for (std::size_t q = by_superset_.first[s]; q + 1 < by_superset_.first[s + 1]; ++q) {
        const std::size_t u = by_superset_.pairs[q].u;
        const double power = kPowerOrigin + (factors_.exponents[q] + f_[base_ + u] - f_[base_ + s]);
        total += -(factors_.mantissas.get(q) * (x_[base_ + u] * power_of_two(power)));
      }
      x_[base_ + s] = total.value();
    }
  }
  void push(std::size_t chunk) {
    open_chunk(chunk);
    find_starts(chunk);
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        others_.powers[s * kLanes + lane] = kPowerOrigin - f_[starts_[lane] + s];
    others_.find_tops();
    sum_into_supersets({by_superset_, factors_, values_, others_, out_, wholes_, subtotals_});
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = chunk == 0 ? 1 : 0; lane < n_lanes_; ++lane)  // N is not empty
        x_[starts_[lane] + s] = x_[starts_[lane] + s] + out_.get(s * kLanes + lane);
  }

  void sum_backwards() {
    std::fill_n(y_.data(), y_.size(), DoubleDouble{});  // those that are not computed yet are multiplied by 0
    const std::uint32_t n_blocks = std::uint32_t(x_.size() >> n_minor_);
    double done = 0.0;
    const double all = std::pow(3.0, n_ - n_minor_);
    for (std::uint32_t major = n_blocks; major-- > 0;) {
      stop_.check();
      open_block(major);
      factors_.fill(by_subset_, block_sums_, block_powers_);
      fill_products([](std::size_t) { return DoubleDouble{1.0, 0.0}; }, [&](std::size_t u) { return -g_[base_ + u]; });
      out_.clear_to(block_ * kLanes);
      subtotals_.clear_to(by_subset_.pairs.size() * kGroup);
      masses_.assign(std::size_t(n_) * block_, {});
      for (std::size_t chunk = 0; chunk < n_chunks_; ++chunk) {
        pull(chunk);
        if (chunk % kChunksPerJoin == kChunksPerJoin - 1) join_sums();
      }
      join_sums();
      finish_lanes();
      finish_inside();
      store_masses();
      progress_.set(kForwardShare + (1.0 - kForwardShare) * (done += double(n_chunks_ * n_lanes_)) / all);
    }
  }
  // Adds the terms of this chunk, with signs (-1)^|T|: for each pair of minor sets, and for each major node in T.
  void pull(std::size_t chunk) {
    open_chunk(chunk);
    if (chunk == 0)  // N is not empty
      for (std::size_t u = 0; u < block_; ++u) values_.mantissas.set(u * kLanes, {});
    find_starts(chunk);
    for (std::size_t s = 0; s < block_; ++s)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        others_.mantissas.set(s * kLanes + lane, y_[starts_[lane] + s]);
        others_.powers[s * kLanes + lane] = kPowerOrigin + g_[starts_[lane] + s];
      }
    others_.find_tops();
    sum_both_ways({by_subset_, factors_, values_, others_, out_, wholes_, subtotals_});
    for (std::size_t u = 0; u < block_; ++u)
      for (std::size_t left = chunk; left; left &= left - 1)
        for (std::size_t k = 0; k < kGroup; ++k)
          mass(outside_[std::size_t(kLaneBits + std::countr_zero(left))], u) += -wholes_.get(u * kGroup + k);
  }
  void join_sums() {
    out_.join();
    subtotals_.join();
    for (LongSum& one : masses_) one.join();
  }
  // Adds the terms for each major node that a lane stands for.
  void finish_lanes() {
    for (std::size_t u = 0; u < block_; ++u)
      for (std::size_t lane = 1; lane < n_lanes_; ++lane)
        for (std::size_t left = lane; left; left &= left - 1)
          mass(outside_[std::size_t(std::countr_zero(left))], u) += -out_.get(u * kLanes + lane);
  }
  // Finishes Q(M, u), from the largest u down, and adds the terms for each minor node in T. The sets s = u + t come in
  // order of t: the upper half of them holds the last node of t, and is then added to the lower half.
  void finish_inside() {
    std::vector<DoubleDouble> totals;
    for (std::size_t u = block_; u-- > 0;) {
      totals.clear();
      for (std::size_t q = by_subset_.first[u]; q < by_subset_.first[u + 1]; ++q) {
        const std::size_t s = by_subset_.pairs[q].s;
        const double power = kPowerOrigin + (factors_.exponents[q] + g_[base_ + s] - g_[base_ + u]);
        LongSum total;
        for (std::size_t k = 0; k < kGroup; ++k) total += subtotals_.get(q * kGroup + k);
        if (s != u) total += factors_.mantissas.get(q) * (y_[base_ + s] * power_of_two(power));
        totals.push_back(total.value());
      }
      std::size_t left = ~u & (block_ - 1);
      for (std::size_t half = totals.size() / 2; half > 0; half /= 2) {
        const int j = int(std::bit_width(left)) - 1;
        left ^= std::size_t(1) << j;
        for (std::size_t k = 0; k < half; ++k) {
          mass(j, u) += -totals[half + k];
          totals[k] = totals[k] + totals[half + k];
        }
      }
      y_[base_ + u] = base_ + u == y_.size() - 1 ? DoubleDouble{1.0, 0.0} : -totals[0];
    }
  }
  LongSum& mass(int j, std::size_t u) { return masses_[std::size_t(j) * block_ + u]; }
  // masses_ now holds, relative to 2^g(U), what becomes the probability that U are the nodes not below j. A(j, U) has
  // served: its place takes that probability divided by it.
  void store_masses() {
    const std::size_t all = x_.size() - 1;
    std::vector<double> descents(descents_.size());  // of this block: short sums lose little
    for (std::size_t u = 0; u < block_; ++u) {
      const std::size_t set = base_ | u;
      const double scale = x_[set].high / x_[all].high * power_of_two(kPowerOrigin + (f_[set] + g_[set] - f_[all]));
      for (std::size_t left = all & ~set; left; left &= left - 1) {
        const int j = std::countr_zero(left);
        const double probability = mass(j, u).value().high * scale;
        const Scaled sum = sums_.get(j, std::uint32_t(set));
        if (sum.mantissa.high != 0.0)
          sums_.set(j, std::uint32_t(set), normalised({probability / sum.mantissa.high, 0.0}, -sum.exponent));
        for (std::size_t below = left_out(all & ~set, j); below; below &= below - 1)
          descents[std::size_t(j) * std::size_t(n_) + std::size_t(std::countr_zero(below))] += probability;
      }
    }
    for (std::size_t k = 0; k < descents.size(); ++k) descents_[k] += descents[k];
  }
  static std::size_t left_out(std::size_t set, int j) { return set & ~(std::size_t(1) << j); }

  LocalScores local_;
  int n_, n_minor_;
  std::size_t block_;  // the number of minor sets
  LocalSums sums_;
  bool with_marginals_;
  StopFlag& stop_;
  TaskProgress& progress_;
  BlockPairs by_superset_, by_subset_;
  LargeArray<DoubleDouble> x_, y_;
  LargeArray<double> f_, g_;
  std::vector<CompensatedSum> descents_;
  // Of the current block.
  std::size_t base_ = 0, n_lanes_ = 1, n_chunks_ = 1;
  std::vector<int> outside_;  // major nodes that are not in M
  std::size_t lane_sets_[kLanes] = {}, starts_[kLanes] = {};
  std::vector<std::size_t> chunk_sets_;
  PairFactors factors_;
  DoubleDoubles block_sums_;  // A(j, U): [j][u]
  std::vector<double> block_powers_;
  LaneValues lane_factors_;      // [u][lane]
  DoubleDoubles chunk_factors_;  // [chunk][u]
  std::vector<double> chunk_powers_;
  LaneValues values_;  // [u][lane]
  LaneValues others_;  // [s][lane]
  DoubleDoubles out_;  // [s][lane]
  DoubleDoubles wholes_, subtotals_;
  std::vector<LongSum> masses_;  // [j][u]
};

// Throws Stopped when `watch` returned false.
inline NetworkSumResult sum_networks(const LocalScores& local, bool with_marginals, int cause, const Watch& watch) {
  NetworkSumResult result;
  StopFlag stop;
  run_tasks(1, 1, watch, stop, [&](std::size_t, unsigned, TaskProgress& progress) {
    result = NetworkSum(local, with_marginals, stop, progress).run(cause);
  });
  return result;
}

}  // namespace credibn::posterior
