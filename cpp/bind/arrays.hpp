// What the binding files share: checked arrays in, owned arrays out, and the one channel to Python while the core
// works. The files in bind/ alone know Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/progress.hpp"

namespace credibn::bind {

using base::Watch;

// An array from Python, of this type and number of dimensions, contiguous and aligned: nothing else is accepted.
template <class T, int Dimensions>
struct In : nanobind::ndarray<const T, nanobind::ndim<Dimensions>, nanobind::c_contig, nanobind::device::cpu> {
  using Base = nanobind::ndarray<const T, nanobind::ndim<Dimensions>, nanobind::c_contig, nanobind::device::cpu>;
  In() = default;
  explicit In(const Base& array) : Base(array) {}
  bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(this->data()) % alignof(T) == 0; }
};
template <class T>
using Out = nanobind::ndarray<nanobind::numpy, T>;

inline void require(bool holds, const char* message) {
  if (!holds) throw nanobind::value_error(message);
}

inline constexpr std::size_t kMostNodes = 255;
inline constexpr unsigned kMostThreads = 1024;

inline void require_threads(unsigned n_threads) {
  require(n_threads >= 1 && n_threads <= kMostThreads, "the core takes 1 to 1024 threads");
}

template <class Array>
void require_finite(const Array& values, const char* message) {
  require(std::all_of(values.data(), values.data() + values.size(), [](double value) { return std::isfinite(value); }),
          message);
}

// The candidates of node v are at offsets[v] to offsets[v + 1].
inline void require_offsets(const In<std::int64_t, 1>& offsets, std::size_t n_candidates) {
  require(offsets.shape(0) >= 2 && offsets.shape(0) <= kMostNodes + 1, "the core takes 1 to 255 nodes");
  const std::size_t n = offsets.shape(0) - 1;
  require(offsets(0) == 0 && offsets(n) == std::int64_t(n_candidates) &&
              std::is_sorted(offsets.data(), offsets.data() + n + 1),
          "the offsets must run from 0 to the number of candidates");
}

// The candidates of a search; each of them is checked where it is read (Choices).
inline void require_candidates(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                               const In<std::uint64_t, 2>& masks) {
  require_offsets(offsets, costs.shape(0));
  require(masks.shape(0) == costs.shape(0), "there must be a mask for each cost");
  require(masks.shape(1) == (offsets.shape(0) - 1 + 63) / 64, "masks need one word for every 64 nodes");
}

// An argument that is never converted: narrowing a wider type would wrap around silently.
inline auto array(const char* name) {
  return nanobind::arg(name).noconvert();
}

template <class T>
Out<T> to_numpy(std::vector<T>&& values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
Out<T> to_numpy(std::unique_ptr<T[]>&& values, std::vector<std::size_t> shape) {
  T* data = values.get();
  nanobind::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  values.release();
  return Out<T>(data, shape.size(), shape.data(), owner);
}

// Ctrl-C is noticed here, even where no progress is shown.
inline Watch make_watch(const nanobind::object& callback) {
  return [&callback](double fraction_done) {
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    return callback.is_none() || nanobind::cast<bool>(callback(fraction_done));
  };
}

}  // namespace credibn::bind

// nanobind checks everything but the alignment.
template <class T, int Dimensions>
struct nanobind::detail::type_caster<credibn::bind::In<T, Dimensions>> {
  using Array = credibn::bind::In<T, Dimensions>;
  NB_TYPE_CASTER(Array, make_caster<typename Array::Base>::Name)

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<typename Array::Base> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    value = Array(caster.value);
    return value.is_aligned();
  }
};
