// Numbers of twice the precision: the sum of two doubles, the second below half a last digit of the first. Sums and
// products keep about 2^-104 of their size (Dekker 1971; Joldes, Muller & Popescu 2017).
#pragma once

#include <cmath>

namespace credibn::base {

struct DoubleDouble {
  double high = 0.0, low = 0.0;
};

// What a + b = sum lost to rounding, exactly.
inline double lost_in_sum(double a, double b, double sum) {
  const double of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b);
}

// What a * b = product lost to rounding, exactly; with a fused instruction where there is one. Both ways give the same
// bits.
template <bool kFused>
inline double lost_in_product(double a, double b, double product) {
  if constexpr (kFused) return __builtin_fma(a, b, -product);
  constexpr double kSplit = 0x1p27 + 1.0;
  const double a_long = kSplit * a, b_long = kSplit * b;
  const double a_high = a_long - (a_long - a), b_high = b_long - (b_long - b);
  const double a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

inline DoubleDouble joined(double high, double low) {
  const double sum = high + low;
  return {sum, lost_in_sum(high, low, sum)};
}

inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const double sum = a.high + b.high;
  return joined(sum, lost_in_sum(a.high, b.high, sum) + (a.low + b.low));
}
inline DoubleDouble operator-(const DoubleDouble& a) {
  return {-a.high, -a.low};
}
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const double product = a.high * b.high;
  return joined(product, lost_in_product<false>(a.high, b.high, product) + (a.high * b.low + a.low * b.high));
}
// Exact where `power` is a power of two.
inline DoubleDouble operator*(const DoubleDouble& a, double power) {
  return {a.high * power, a.low * power};
}

// A sum of many terms: `low` gathers what `high` rounds away.
struct LongSum {
  double high = 0.0, low = 0.0;

  void operator+=(const DoubleDouble& term) {
    const double sum = high + term.high;
    low += lost_in_sum(high, term.high, sum) + term.low;
    high = sum;
  }
  DoubleDouble value() const { return joined(high, low); }
  void join() { *this = {value().high, value().low}; }
};

}  // namespace credibn::base
