// Sets of nodes as bit masks of 64 * W bits. W = 1 compiles to plain word operations.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace credibn::base {

template <int W>
struct Bits {
  std::array<std::uint64_t, W> words{};

  static Bits of(int v) {
    Bits bits;
    bits.set(v);
    return bits;
  }
  static Bits first(int n) {  // {0, ..., n - 1}
    Bits bits;
    for (int k = 0; k < W; ++k) {
      const int left = n - 64 * k;
      bits.words[std::size_t(k)] = left >= 64 ? ~std::uint64_t(0) : left <= 0 ? 0 : (std::uint64_t(1) << left) - 1;
    }
    return bits;
  }
  void set(int v) { words[std::size_t(v >> 6)] |= std::uint64_t(1) << (v & 63); }
  void reset(int v) { words[std::size_t(v >> 6)] &= ~(std::uint64_t(1) << (v & 63)); }
  bool test(int v) const { return words[std::size_t(v >> 6)] >> (v & 63) & 1; }
  bool any() const {
    std::uint64_t all = 0;
    for (std::uint64_t word : words) all |= word;
    return all != 0;
  }
  int count() const {
    int sum = 0;
    for (std::uint64_t word : words) sum += std::popcount(word);
    return sum;
  }
  int lowest() const {  // of a set that is not empty
    for (int k = 0; k < W - 1; ++k)
      if (words[std::size_t(k)]) return 64 * k + std::countr_zero(words[std::size_t(k)]);
    return 64 * (W - 1) + std::countr_zero(words[W - 1]);
  }
  bool intersects(const Bits& other) const { return (*this & other).any(); }
  bool is_subset_of(const Bits& other) const { return !(*this - other).any(); }

  Bits& operator|=(const Bits& other) {
    for (std::size_t k = 0; k < W; ++k) words[k] |= other.words[k];
    return *this;
  }
  Bits& operator&=(const Bits& other) {
    for (std::size_t k = 0; k < W; ++k) words[k] &= other.words[k];
    return *this;
  }
  Bits& operator-=(const Bits& other) {
    for (std::size_t k = 0; k < W; ++k) words[k] &= ~other.words[k];
    return *this;
  }
  friend Bits operator|(Bits a, const Bits& b) { return a |= b; }
  friend Bits operator&(Bits a, const Bits& b) { return a &= b; }
  friend Bits operator-(Bits a, const Bits& b) { return a -= b; }
  friend bool operator==(const Bits& a, const Bits& b) { return a.words == b.words; }

  // Calls visit(v) for each member in increasing order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (int k = 0; k < W; ++k)
      for (std::uint64_t left = words[std::size_t(k)]; left; left &= left - 1) visit(64 * k + std::countr_zero(left));
  }
  std::uint64_t hash() const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (std::uint64_t word : words) {
      h ^= word;
      h *= 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
    }
    return h;
  }
};

struct WordsHash {
  std::size_t operator()(const std::vector<std::uint64_t>& words) const {
    std::uint64_t h = 0;
    for (std::uint64_t word : words) h = Bits<2>{{h, word}}.hash();
    return std::size_t(h);
  }
};

}  // namespace credibn::base
