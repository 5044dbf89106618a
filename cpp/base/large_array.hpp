// A plain array of many gigabytes, not cleared, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace credibn::base {

template <class T>
class LargeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LargeArray() = default;
  explicit LargeArray(std::size_t size) : size_(size) {
    const std::size_t bytes = (size * sizeof(T) + kPage - 1) / kPage * kPage;
    values_.reset(static_cast<T*>(std::aligned_alloc(kPage, bytes)));
    if (!values_) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes > kPage) madvise(values_.get(), bytes, MADV_HUGEPAGE);  // advice only: failure costs nothing but speed
#endif
  }
  std::size_t size() const { return size_; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  T& operator[](std::size_t k) { return values_.get()[k]; }
  const T& operator[](std::size_t k) const { return values_.get()[k]; }

 private:
  static constexpr std::size_t kPage = std::size_t(1) << 21;
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<T, Free> values_;
};

}  // namespace credibn::base
