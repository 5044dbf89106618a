// The states of one layer: keys of any length, numbered in the order in which they come, with what is known about the
// cost of completing each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "factored/candidates.hpp"

namespace credibn::factored {

class StateTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);

  std::size_t size() const { return bounds_.size(); }
  const std::uint64_t* key(std::size_t i) const { return words_.data() + ends_[i]; }
  std::size_t length(std::size_t i) const { return std::size_t(ends_[i + 1] - ends_[i]); }
  Cost bound(std::size_t i) const { return bounds_[i]; }  // no completion costs less
  void raise_bound(std::size_t i, Cost bound) { bounds_[i] = std::max(bounds_[i], bound); }
  std::size_t bytes() const {
    return 8 * (words_.capacity() + ends_.capacity() + bounds_.capacity()) + 4 * slots_.capacity();
  }
  std::uint32_t find(const std::uint64_t* key, std::size_t length) const {
    if (slots_.empty()) return kNone;
    return slots_[slot_of(slots_, key, length)];
  }
  std::uint32_t find_or_add(const std::uint64_t* key, std::size_t length) {
    if (slots_.size() < 2 * (size() + 1)) grow();
    const std::size_t slot = slot_of(slots_, key, length);
    if (slots_[slot] == kNone) {
      slots_[slot] = std::uint32_t(size());
      words_.insert(words_.end(), key, key + length);
      ends_.push_back(words_.size());
      bounds_.push_back(-kNever);
    }
    return slots_[slot];
  }

 private:
  std::size_t slot_of(const std::vector<std::uint32_t>& slots, const std::uint64_t* key, std::size_t length) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL * (length + 1);
    for (std::size_t k = 0; k < length; ++k) {
      h ^= key[k];
      h *= 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
    }
    std::size_t slot = std::size_t(h) & (slots.size() - 1);
    while (slots[slot] != kNone) {
      const std::size_t i = slots[slot];
      if (this->length(i) == length && std::equal(key, key + length, this->key(i))) break;
      slot = (slot + 1) & (slots.size() - 1);
    }
    return slot;
  }
  void grow() {
    std::vector<std::uint32_t> slots(std::max<std::size_t>(64, 4 * size()), kNone);
    std::size_t power = 64;
    while (power < slots.size()) power *= 2;
    slots.assign(power, kNone);
    for (std::size_t i = 0; i < size(); ++i) slots[slot_of(slots, key(i), length(i))] = std::uint32_t(i);
    slots_.swap(slots);
  }

  std::vector<std::uint64_t> words_, ends_{0};
  std::vector<Cost> bounds_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace credibn::factored
