// The pairs of a set u and a superset s of it among a few nodes, 3^k of them, in the order in which they are used; and
// two sums over them that take nearly all the time of network_sum.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/scaled.hpp"

// The sums are compiled twice, with and without vectors of four doubles and fused multiplication; the machine decides.
// Same operations in the same order, so the same bits.
#define CREDIBN_INLINE [[gnu::always_inline]] inline

namespace credibn::posterior {

using base::DoubleDouble;
using base::joined;
using base::kLeastPower;
using base::kPowerOrigin;
using base::lost_in_product;

constexpr int kLaneBits = 4;
constexpr std::size_t kLanes = std::size_t(1) << kLaneBits;

// Pairs in order of s, then of u; or in order of u, then of s.
struct BlockPairs {
  struct Pair {
    std::uint32_t u, s;
    std::uint32_t shorter;  // the place of the pair (s without `node`, u); its own place if s is u
    int node;
  };
  std::vector<std::uint32_t> first;  // of each s, or of each u
  std::vector<Pair> pairs;

  BlockPairs(int k, bool by_superset) {
    const std::uint32_t size = std::uint32_t(1) << k;
    std::vector<std::uint32_t> place(std::size_t(size) * size);
    for (std::uint32_t major = 0; major < size; ++major) {
      first.push_back(std::uint32_t(pairs.size()));
      for (std::uint32_t minor = 0; minor < size; ++minor) {
        const std::uint32_t u = by_superset ? minor : major, s = by_superset ? major : minor;
        if (u & ~s) continue;
        const auto here = std::uint32_t(pairs.size());
        place[std::size_t(s) * size + u] = here;
        const std::uint32_t added = s ^ u;
        const int node = added ? std::countr_zero(added) : 0;
        const std::uint32_t shorter = added ? place[std::size_t(s ^ (added & -added)) * size + u] : here;
        pairs.push_back({u, s, shorter, node});
      }
    }
    first.push_back(std::uint32_t(pairs.size()));
  }
  std::size_t n_sets() const { return first.size() - 1; }
};

// Numbers of twice a double's precision, side by side.
struct DoubleDoubles {
  std::vector<double> high, low;

  void resize(std::size_t size) {
    high.resize(size);
    low.resize(size);
  }
  void clear_to(std::size_t size) {
    high.assign(size, 0.0);
    low.assign(size, 0.0);
  }
  void join() {
    for (std::size_t at = 0; at < high.size(); ++at) set(at, joined(high[at], low[at]));
  }
  DoubleDouble get(std::size_t at) const { return {high[at], low[at]}; }
  void set(std::size_t at, const DoubleDouble& value) {
    high[at] = value.high;
    low[at] = value.low;
  }
};

// For each pair a factor and its power of two: the product of -A(j, u) over the nodes j of s outside u.
struct PairFactors {
  DoubleDoubles mantissas;
  std::vector<double> exponents;

  // A(j, u) is sums[j * n_sets + u], with the power of two in `powers`.
  void fill(const BlockPairs& block, const DoubleDoubles& sums, const std::vector<double>& powers) {
    mantissas.resize(block.pairs.size());
    exponents.resize(block.pairs.size());
    for (std::size_t q = 0; q < block.pairs.size(); ++q) {
      const BlockPairs::Pair& pair = block.pairs[q];
      const std::size_t at = std::size_t(pair.node) * block.n_sets() + pair.u;
      const bool is_same = pair.s == pair.u;
      mantissas.set(q, is_same ? DoubleDouble{1.0, 0.0} : -mantissas.get(pair.shorter) * sums.get(at));
      exponents[q] = is_same ? 0.0 : exponents[pair.shorter] + powers[at];
    }
  }
};

// [set][lane]: numbers, each with a power of two beside it; and for each set the largest of these powers.
struct LaneValues {
  DoubleDoubles mantissas;
  std::vector<double> powers, tops;

  void resize(std::size_t n_sets) {
    mantissas.resize(n_sets * kLanes);
    powers.resize(n_sets * kLanes);
    tops.resize(n_sets);
  }
  void find_tops() {
    for (std::size_t set = 0; set < tops.size(); ++set)
      tops[set] = *std::max_element(&powers[set * kLanes], &powers[set * kLanes] + kLanes);
  }
};

// A term whose powers of two add up to less, relative to the result, is omitted: see docs/guarantees.md.
constexpr double kNoTerm = -250.0;
constexpr std::size_t kGroup = 4;  // lanes that one vector holds

// Four doubles at once, where the machine can; they may lie anywhere in an array of doubles.
using Vector = double __attribute__((vector_size(32), aligned(8), may_alias));
using VectorBits = std::uint64_t __attribute__((vector_size(32), aligned(8), may_alias));

CREDIBN_INLINE const Vector& vector_at(const double* place) {
  return *reinterpret_cast<const Vector*>(place);
}
CREDIBN_INLINE Vector& vector_at(double* place) {
  return *reinterpret_cast<Vector*>(place);
}

// high + low times a number that is the same in all lanes, or not.
template <bool kFused>
CREDIBN_INLINE void multiply(const Vector& a_high, const Vector& a_low, Vector& high, Vector& low) {
  const Vector product = a_high * high;
  Vector lost;
  for (std::size_t k = 0; k < kGroup; ++k) lost[k] = lost_in_product<kFused>(a_high[k], high[k], product[k]);
  low = lost + (a_high * low + a_low * high);
  high = product;
}
// Nothing is lost: `low` gathers what `high` rounds away.
CREDIBN_INLINE void accumulate(const Vector& term_high, const Vector& term_low, Vector& high, Vector& low) {
  const Vector sum = high + term_high, of_term = sum - high;
  low += ((high - (sum - of_term)) + (term_high - of_term)) + term_low;
  high = sum;
}
// As power_of_two.
CREDIBN_INLINE void take_powers_of_two(Vector& origin_plus_k) {
  constexpr double kLeast = kPowerOrigin + kLeastPower;
  const Vector clamped = origin_plus_k > kLeast ? origin_plus_k : Vector{kLeast, kLeast, kLeast, kLeast};
  origin_plus_k = reinterpret_cast<Vector>(reinterpret_cast<VectorBits>(clamped) << 52);
}

// The work on one chunk of a block.
struct ChunkSums {
  const BlockPairs& block;
  const PairFactors& factors;
  const LaneValues &b, &y;
  DoubleDoubles& out;        // [s][lane]; both ways: [u][lane], over all chunks
  DoubleDoubles& wholes;     // [u][kGroup]: over the lanes of this chunk
  DoubleDoubles& subtotals;  // [pair][kGroup]: over all chunks

  // out[s] = the sum over u inside s of factor(s, u) * b[u], for kLanes vectors b at once. The powers of y hold
  // kPowerOrigin less that of the result. Pairs are in order of s.
  template <bool kFused>
  CREDIBN_INLINE void into_supersets() const {
    const double *const b_high = b.mantissas.high.data(), *const b_low = b.mantissas.low.data();
    const double *const from = b.powers.data(), *const tops = b.tops.data();
    const double *const f_highs = factors.mantissas.high.data(), *const f_lows = factors.mantissas.low.data();
    const double* const powers = factors.exponents.data();
    const BlockPairs::Pair* const pairs = block.pairs.data();
    for (std::size_t s = 0; s < block.n_sets(); ++s)
      for (std::size_t start = 0; start < kLanes; start += 2 * kGroup) {
        Vector high_0{}, low_0{}, high_1{}, low_1{};
        const Vector to_0 = vector_at(&y.powers[s * kLanes + start]),
                     to_1 = vector_at(&y.powers[s * kLanes + start + kGroup]);
        const double least = kPowerOrigin + kNoTerm - y.tops[s];
        const std::size_t end = block.first[s + 1];
        for (std::size_t q = block.first[s]; q < end; ++q) {
          const std::size_t u = pairs[q].u, at = u * kLanes + start;
          const double power = powers[q], f_high = f_highs[q], f_low = f_lows[q];
          if (power + tops[u] < least) continue;
          const Vector a_high{f_high, f_high, f_high, f_high}, a_low{f_low, f_low, f_low, f_low};
          Vector scale_0 = power + vector_at(from + at) + to_0;
          take_powers_of_two(scale_0);
          Vector term_0 = vector_at(b_high + at) * scale_0, lost_0 = vector_at(b_low + at) * scale_0;
          multiply<kFused>(a_high, a_low, term_0, lost_0);
          accumulate(term_0, lost_0, high_0, low_0);
          Vector scale_1 = power + vector_at(from + at + kGroup) + to_1;
          take_powers_of_two(scale_1);
          Vector term_1 = vector_at(b_high + at + kGroup) * scale_1, lost_1 = vector_at(b_low + at + kGroup) * scale_1;
          multiply<kFused>(a_high, a_low, term_1, lost_1);
          accumulate(term_1, lost_1, high_1, low_1);
        }
        vector_at(&out.high[s * kLanes + start]) = high_0;
        vector_at(&out.low[s * kLanes + start]) = low_0;
        vector_at(&out.high[s * kLanes + start + kGroup]) = high_1;
        vector_at(&out.low[s * kLanes + start + kGroup]) = low_1;
      }
  }

  // The terms factor(s, u) * b[u] * y[s] of kLanes vectors b and y at once, added up in three ways. The powers of b are
  // relative to the result's, those of y have kPowerOrigin added. Pairs are in order of u.
  template <bool kFused>
  CREDIBN_INLINE void both_ways() const {
    const double *const y_high = y.mantissas.high.data(), *const y_low = y.mantissas.low.data();
    const double *const to = y.powers.data(), *const tops = y.tops.data();
    const double *const f_highs = factors.mantissas.high.data(), *const f_lows = factors.mantissas.low.data();
    const double* const powers = factors.exponents.data();
    const BlockPairs::Pair* const pairs = block.pairs.data();
    double *const total_highs = subtotals.high.data(), *const total_lows = subtotals.low.data();
    for (std::size_t u = 0; u < block.n_sets(); ++u) {
      Vector whole_high{}, whole_low{};
      for (std::size_t start = 0; start < kLanes; start += kGroup) {
        Vector high{}, low{};
        const Vector b_high = vector_at(&b.mantissas.high[u * kLanes + start]),
                     b_low = vector_at(&b.mantissas.low[u * kLanes + start]),
                     from = vector_at(&b.powers[u * kLanes + start]);
        const double least = kPowerOrigin + kNoTerm - b.tops[u];
        const std::size_t end = block.first[u + 1];
        for (std::size_t q = block.first[u]; q < end; ++q) {
          const std::size_t s = pairs[q].s, at = s * kLanes + start;
          const double power = powers[q], f_high = f_highs[q], f_low = f_lows[q];
          if (power + tops[s] < least) continue;
          Vector scale = power + from + vector_at(to + at);
          take_powers_of_two(scale);
          Vector term = vector_at(y_high + at) * scale, lost = vector_at(y_low + at) * scale;
          multiply<kFused>(Vector{f_high, f_high, f_high, f_high}, Vector{f_low, f_low, f_low, f_low}, term, lost);
          multiply<kFused>(b_high, b_low, term, lost);
          accumulate(term, lost, high, low);
          Vector total_high = vector_at(total_highs + q * kGroup), total_low = vector_at(total_lows + q * kGroup);
          accumulate(term, lost, total_high, total_low);
          vector_at(total_highs + q * kGroup) = total_high;
          vector_at(total_lows + q * kGroup) = total_low;
        }
        accumulate(high, low, whole_high, whole_low);
        accumulate(high, low, vector_at(&out.high[u * kLanes + start]), vector_at(&out.low[u * kLanes + start]));
      }
      vector_at(&wholes.high[u * kGroup]) = whole_high;
      vector_at(&wholes.low[u * kGroup]) = whole_low;
    }
  }
};

// The products of a number for each set and one for each lane of it; the same for their powers.
template <bool kFused>
CREDIBN_INLINE void multiply_lanes_by(const DoubleDoubles& factors, const double* powers, std::size_t first,
                                      const LaneValues& lanes, LaneValues& out) {
  for (std::size_t set = 0; set < lanes.tops.size(); ++set) {
    const double high = factors.high[first + set], low = factors.low[first + set], power = powers[first + set];
    const Vector a_high{high, high, high, high}, a_low{low, low, low, low};
    for (std::size_t at = set * kLanes; at < (set + 1) * kLanes; at += kGroup) {
      Vector product = vector_at(&lanes.mantissas.high[at]), lost = vector_at(&lanes.mantissas.low[at]);
      multiply<kFused>(a_high, a_low, product, lost);
      vector_at(&out.mantissas.high[at]) = product;
      vector_at(&out.mantissas.low[at]) = lost;
      vector_at(&out.powers[at]) = power + vector_at(&lanes.powers[at]);
    }
    out.tops[set] = power + lanes.tops[set];
  }
}

#if defined(__x86_64__)
inline bool has_fused_vectors() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#define CREDIBN_FUSED __attribute__((target("avx2,fma")))
#else
inline bool has_fused_vectors() {
  return true;
}  // or a call of std::fma, with the same bits
#define CREDIBN_FUSED
#endif

CREDIBN_FUSED inline void sum_into_supersets_fused(const ChunkSums& sums) {
  sums.into_supersets<true>();
}
CREDIBN_FUSED inline void sum_both_ways_fused(const ChunkSums& sums) {
  sums.both_ways<true>();
}
CREDIBN_FUSED inline void multiply_lanes_fused(const DoubleDoubles& factors, const double* powers, std::size_t first,
                                               const LaneValues& lanes, LaneValues& out) {
  multiply_lanes_by<true>(factors, powers, first, lanes, out);
}

inline void sum_into_supersets(const ChunkSums& sums) {
  if (has_fused_vectors()) return sum_into_supersets_fused(sums);
  sums.into_supersets<false>();
}
inline void sum_both_ways(const ChunkSums& sums) {
  if (has_fused_vectors()) return sum_both_ways_fused(sums);
  sums.both_ways<false>();
}
inline void multiply_lanes(const DoubleDoubles& factors, const double* powers, std::size_t first,
                           const LaneValues& lanes, LaneValues& out) {
  if (has_fused_vectors()) return multiply_lanes_fused(factors, powers, first, lanes, out);
  multiply_lanes_by<false>(factors, powers, first, lanes, out);
}

}  // namespace credibn::posterior
