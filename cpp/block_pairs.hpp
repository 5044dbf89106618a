// The pairs of a set u and a superset s of it among a few nodes, 3^k of them, in the order in which they are used; and
// two sums over them that take nearly all the time of network_sum.hpp.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "scaled.hpp"

// The same operations in the same order, so the same bits, on whatever vectors the machine has.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CREDIBN_VECTORS __attribute__((target_clones("default", "avx2")))
#else
#define CREDIBN_VECTORS
#endif

namespace credibn {

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

// For each pair a factor and its power of two: the product of -A(j, u) over the nodes j of s outside u.
struct PairFactors {
  std::vector<double> mantissas, exponents;

  // A(j, u) is sums[j * n_sets + u], with the power of two in `powers`.
  void fill(const BlockPairs& block, const double* sums, const double* powers) {
    mantissas.resize(block.pairs.size());
    exponents.resize(block.pairs.size());
    for (std::size_t q = 0; q < block.pairs.size(); ++q) {
      const BlockPairs::Pair& pair = block.pairs[q];
      const std::size_t at = std::size_t(pair.node) * block.n_sets() + pair.u;
      const bool is_same = pair.s == pair.u;
      mantissas[q] = is_same ? 1.0 : -mantissas[pair.shorter] * sums[at];
      exponents[q] = is_same ? 0.0 : exponents[pair.shorter] + powers[at];
    }
  }
};

// out[s] = the sum over u inside s of factor(s, u) * x[u], for kLanes vectors x at once. x[u] carries 2^from[u]; out[s]
// is relative to a power that `to` holds as kPowerOrigin less its exponent. Pairs are in order of s.
CREDIBN_VECTORS inline void sum_into_supersets(const BlockPairs& block, const PairFactors& factors,
                                               const double* __restrict x, const double* __restrict from,
                                               const double* __restrict to, double* __restrict out) {
  for (std::size_t s = 0; s < block.n_sets(); ++s) {
    double total[kLanes] = {};
    const double* const to_s = to + s * kLanes;
    for (std::size_t q = block.first[s]; q < block.first[s + 1]; ++q) {
      const double factor = factors.mantissas[q], power = factors.exponents[q];
      const double *const x_u = x + block.pairs[q].u * kLanes, *const from_u = from + block.pairs[q].u * kLanes;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        total[lane] += factor * x_u[lane] * power_of_two(power + from_u[lane] + to_s[lane]);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[s * kLanes + lane] = total[lane];
  }
}

// The terms factor(s, u) * b[u] * y[s] of kLanes vectors b and y at once, added up twice: over s, for each u and lane,
// into out; and over the lanes, onto the total of each pair. b[u] carries 2^from[u], where `from` is relative to the
// power of the result, and y[s] the power that `to` holds plus kPowerOrigin. Pairs are in order of u.
CREDIBN_VECTORS inline void sum_both_ways(const BlockPairs& block, const PairFactors& factors,
                                          const double* __restrict b, const double* __restrict from,
                                          const double* __restrict y, const double* __restrict to,
                                          double* __restrict out, double* __restrict totals) {
  for (std::size_t u = 0; u < block.n_sets(); ++u) {
    double total[kLanes] = {};
    const double *const b_u = b + u * kLanes, *const from_u = from + u * kLanes;
    for (std::size_t q = block.first[u]; q < block.first[u + 1]; ++q) {
      const double factor = factors.mantissas[q], power = factors.exponents[q];
      const double *const y_s = y + block.pairs[q].s * kLanes, *const to_s = to + block.pairs[q].s * kLanes;
      double terms[kLanes];
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        terms[lane] = factor * b_u[lane] * (y_s[lane] * power_of_two(power + from_u[lane] + to_s[lane]));
      for (std::size_t lane = 0; lane < kLanes; ++lane) total[lane] += terms[lane];
      for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) terms[lane] += terms[lane + half];
      totals[q] += terms[0];
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[u * kLanes + lane] = total[lane];
  }
}

}  // namespace credibn
