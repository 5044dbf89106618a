// Whole numbers of a fixed width, modulo 2^(64 words), negative ones as two's complements. Sums and products are exact
// where the result fits, whatever overflows on the way.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace credibn::factored {

using Word = std::uint64_t;

inline constexpr std::size_t kMostWords = 64;

inline void add(Word* sum, const Word* term, std::size_t words) {
  Word carry = 0;
  for (std::size_t k = 0; k < words; ++k) {
    const Word a = sum[k] + carry;
    carry = a < carry;
    sum[k] = a + term[k];
    carry += sum[k] < a;
  }
}

// The low and the high word of a product.
inline Word multiply(Word a, Word b, Word& high) {
  const Word a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const Word low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffff);
  high = a1 * b1 + (middle >> 32) + (other >> 32);
  return (other << 32) | (low & 0xffffffff);
}

inline void add_product(Word* sum, const Word* a, const Word* b, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i) {
    if (a[i] == 0) continue;
    Word carry = 0;
    for (std::size_t j = 0; i + j < words; ++j) {
      Word high;
      Word low = multiply(a[i], b[j], high);
      low += carry;
      high += low < carry;
      sum[i + j] += low;
      carry = high + (sum[i + j] < low);
    }
  }
}

inline void add_times(Word* sum, const Word* term, std::int64_t factor, std::size_t words) {
  if (factor == 1) return add(sum, term, words);
  Word extended[kMostWords];
  for (std::size_t k = 0; k < words; ++k) extended[k] = k == 0 ? Word(factor) : factor < 0 ? ~Word(0) : 0;
  add_product(sum, term, extended, words);
}

inline bool is_zero(const Word* number, std::size_t words) {
  for (std::size_t k = 0; k < words; ++k)
    if (number[k]) return false;
  return true;
}

inline double to_double(const Word* number, std::size_t words) {  // of one that is not negative
  double value = 0.0;
  for (std::size_t k = words; k-- > 0;) value = value * 0x1p64 + double(number[k]);
  return value;
}

}  // namespace credibn::factored
