// Whole numbers of any length, for counts: a class of n nodes can have n! members.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace credibn::base {

class BigCount {
 public:
  BigCount(std::uint64_t value = 0) : value_(value) {}

  bool fits_word() const { return limbs_.empty(); }
  std::uint64_t word() const { return value_; }  // of a count that fits one
  std::size_t n_words() const { return std::max<std::size_t>(1, (limbs_.size() + 1) / 2); }
  // The lowest 64 bits first; `n` at least n_words().
  void to_words(std::uint64_t* words, std::size_t n) const {
    std::fill(words, words + n, 0);
    words[0] = value_;
    for (std::size_t k = 0; k < limbs_.size(); ++k) {
      if (k % 2 == 0) words[k / 2] = 0;
      words[k / 2] |= std::uint64_t(limbs_[k]) << (k % 2 * 32);
    }
  }

  // This count as a share of another that is not zero, correct to rounding whatever their lengths.
  double share_of(const BigCount& whole) const {
    const auto [a, a_exponent] = scaled();
    const auto [b, b_exponent] = whole.scaled();
    return std::ldexp(a / b, a_exponent - b_exponent);
  }

  BigCount& operator*=(const BigCount& other) {
    if (fits_word() && other.fits_word()) {
      const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
      if ((value_ | other.value_) >> 32 == 0 || other.value_ == 0 || value_ <= most / other.value_) {
        value_ *= other.value_;
        return *this;
      }
    }
    const Limbs a = limbs(), b = other.limbs();
    Limbs product(a.size() + b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < b.size(); ++j) {
        carry += product[i + j] + std::uint64_t(a[i]) * b[j];  // at most 2^64 - 1
        product[i + j] = std::uint32_t(carry);
        carry >>= 32;
      }
      product[i + b.size()] = std::uint32_t(carry);
    }
    assign(std::move(product));
    return *this;
  }
  BigCount& operator+=(const BigCount& other) {
    if (fits_word() && other.fits_word() && value_ + other.value_ >= value_) {
      value_ += other.value_;
      return *this;
    }
    Limbs sum = limbs();
    const Limbs b = other.limbs();
    sum.resize(std::max(sum.size(), b.size()) + 1);
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < sum.size(); ++k) {
      carry += std::uint64_t(sum[k]) + (k < b.size() ? b[k] : 0);
      sum[k] = std::uint32_t(carry);
      carry >>= 32;
    }
    assign(std::move(sum));
    return *this;
  }
  BigCount& operator-=(const BigCount& other) {  // of a count that is not larger
    if (fits_word()) {
      value_ -= other.value_;
      return *this;
    }
    Limbs rest = limbs();
    const Limbs b = other.limbs();
    std::uint64_t borrow = 0;
    for (std::size_t k = 0; k < rest.size(); ++k) {
      const std::uint64_t taken = (k < b.size() ? b[k] : 0) + borrow;
      borrow = rest[k] < taken;
      rest[k] = std::uint32_t(rest[k] - taken);
    }
    assign(std::move(rest));
    return *this;
  }
  friend BigCount operator*(BigCount a, const BigCount& b) { return a *= b; }
  friend BigCount operator+(BigCount a, const BigCount& b) { return a += b; }
  friend BigCount operator-(BigCount a, const BigCount& b) { return a -= b; }
  friend bool operator==(const BigCount& a, const BigCount& b) = default;
  friend std::strong_ordering operator<=>(const BigCount& a, const BigCount& b) {
    if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() <=> b.limbs_.size();
    if (a.fits_word()) return a.value_ <=> b.value_;
    return std::lexicographical_compare_three_way(a.limbs_.rbegin(), a.limbs_.rend(), b.limbs_.rbegin(),
                                                  b.limbs_.rend());
  }

 private:
  using Limbs = std::vector<std::uint32_t>;

  // A number x and an exponent e: the count is x 2^e, from its three highest limbs.
  std::pair<double, int> scaled() const {
    if (fits_word()) return {double(value_), 0};
    double top = 0.0;
    const std::size_t n = limbs_.size();
    for (std::size_t k = n; k-- > n - 3;) top = top * 4294967296.0 + limbs_[k];
    return {top, 32 * int(n - 3)};
  }
  Limbs limbs() const { return fits_word() ? Limbs{std::uint32_t(value_), std::uint32_t(value_ >> 32)} : limbs_; }
  void assign(Limbs&& limbs) {
    while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
    value_ = 0;
    if (limbs.size() > 2) {
      limbs_ = std::move(limbs);
      return;
    }
    for (std::size_t k = 0; k < limbs.size(); ++k) value_ |= std::uint64_t(limbs[k]) << (32 * k);
    limbs_.clear();
  }

  // Each count has one form: in value_ below 2^64, else in limbs_, lowest first, the last not zero, and value_ zero.
  std::uint64_t value_;
  Limbs limbs_;
};

}  // namespace credibn::base
