// Numbers of any size: a number of twice a double's precision, and a power of two beside it. exp(score) of real data
// needs thousands of binary digits of exponent, which a double does not have.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/double_double.hpp"

namespace credibn::base {

// mantissa * 2^exponent. The mantissa is 0, or its high part is between 1 and 2 in absolute value.
struct Scaled {
  DoubleDouble mantissa;
  std::int32_t exponent = 0;
};

inline Scaled normalised(const DoubleDouble& mantissa, std::int32_t exponent) {
  if (mantissa.high == 0.0) return {};
  const int shift = std::ilogb(mantissa.high);
  return {{std::ldexp(mantissa.high, -shift), std::ldexp(mantissa.low, -shift)}, exponent + shift};
}

// exp(a - b) as a double; the exponent is taken out with ln 2 in two parts, so that large arguments lose nothing.
inline Scaled scaled_exp(double a, double b) {
  constexpr double kLog2High = 0x1.62e42fefap-1, kLog2Low = 0x1.cf79abc9e3b3ap-40;
  const double difference = a - b;
  const double power = std::floor(difference * 0x1.71547652b82fep0);
  const double rest = std::fma(-power, kLog2Low, std::fma(-power, kLog2High, difference));
  return normalised({std::exp(rest + lost_in_sum(a, -b, difference)), 0.0}, std::int32_t(power));
}

// Powers of two from whole numbers in doubles, without a branch: kPowerOrigin + k, k <= 0, has 1023 + k
// in its last bits, which are moved to where a double keeps its exponent. What lies below kLeastPower counts as that:
// it is far below any rounding, and products with it stay clear of subnormal numbers, which are slow.
constexpr double kPowerOrigin = 0x1p52 + 1023.0;
constexpr double kLeastPower = -400.0;

inline double power_of_two(double origin_plus_k) {
  const double clamped = std::max(origin_plus_k, kPowerOrigin + kLeastPower);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(clamped) << 52);
}

}  // namespace credibn::base
