// Sets of variables: bit masks of any width, and dense ranks of the sets of one size.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace credibn::scoring {

// The ranks 0 .. C(n, k) - 1 of the k-subsets of {0..n-1} in colexicographic order (the combinatorial number system):
// rank{s_1 < ... < s_k} = sum of C(s_t, t).
class Ranks {
 public:
  Ranks(int n, int max_size) : n_(n), stride_(max_size + 2), choose_(std::size_t(n + 1) * std::size_t(stride_), 0) {
    for (int a = 0; a <= n; ++a) {
      at(a, 0) = 1;
      for (int b = 1; b < stride_; ++b) {
        if (a == 0) continue;
        const std::uint64_t sum = at(a - 1, b - 1) + at(a - 1, b);
        at(a, b) = sum < at(a - 1, b) || sum > kMost ? kMost : sum;
      }
    }
  }
  std::uint64_t choose(int a, int b) const { return choose_[std::size_t(a) * std::size_t(stride_) + std::size_t(b)]; }
  std::uint64_t rank(const int* members, int size) const {
    std::uint64_t sum = 0;
    for (int t = 0; t < size; ++t) sum += choose(members[t], t + 1);
    return sum;
  }
  int n() const { return n_; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t(1) << 62;  // saturates instead of overflowing
  std::uint64_t& at(int a, int b) { return choose_[std::size_t(a) * std::size_t(stride_) + std::size_t(b)]; }
  int n_, stride_;
  std::vector<std::uint64_t> choose_;
};

// Moves `members` to the next k-subset in colexicographic order; false after the last one.
inline bool next_subset(int* members, int size, int n) {
  for (int t = 0; t < size; ++t) {
    const int limit = t + 1 < size ? members[t + 1] : n;
    if (members[t] + 1 < limit) {
      ++members[t];
      for (int s = 0; s < t; ++s) members[s] = s;
      return true;
    }
  }
  return false;
}

}  // namespace credibn::scoring
