// What the binding files share: checked arrays in, owned arrays out, and the one channel to Python while the core
// works.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

#include "progress.hpp"

namespace credibn {

template <class T, int Dimensions>
using In = nanobind::ndarray<const T, nanobind::ndim<Dimensions>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Out = nanobind::ndarray<nanobind::numpy, T>;

inline void require(bool holds, const char* message) {
  if (!holds) throw nanobind::value_error(message);
}

// An argument that is never converted: narrowing a wider type would wrap around in silence.
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

// Ctrl-C is noticed here even where no progress is shown.
inline Watch make_watch(const nanobind::object& callback) {
  return [&callback](double fraction_done) {
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    return callback.is_none() || nanobind::cast<bool>(callback(fraction_done));
  };
}

void bind_averages(nanobind::module_& module);
void bind_classes(nanobind::module_& module);
void bind_posterior(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_slices(nanobind::module_& module);
void bind_subsets(nanobind::module_& module);

}  // namespace credibn
