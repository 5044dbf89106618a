// Two bounds for each of many 64-bit keys: a hash table with open addressing, which is cleared when it is full.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace credibn::subsets {

struct TwoBounds {
  double impossible = -std::numeric_limits<double>::infinity();  // no completion costs this much or less
  double possible = std::numeric_limits<double>::infinity();     // one completion costs this
};

class BoundTable {
 public:
  // Takes at most max_bytes (but at least 1.5 MB), and never more than 400 MB; while it grows, half as much again.
  explicit BoundTable(std::uint64_t max_bytes)
      : most_slots_(std::bit_floor(std::clamp<std::uint64_t>(max_bytes / sizeof(Slot), kFewSlots, kMostSlots))) {}

  std::size_t size() const { return n_used_; }

  // The entry of a key (never ~0), new where there was none. The reference is valid until the next call.
  TwoBounds& operator[](std::uint64_t key) {
    if (2 * (n_used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key != key) {
      slot.key = key;
      ++n_used_;
    }
    return slot.bounds;
  }
  const TwoBounds* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.bounds : nullptr;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t(0);
  static constexpr std::uint64_t kFirstSlots = 1024, kFewSlots = 1 << 16, kMostSlots = std::uint64_t(1) << 24;
  struct Slot {
    std::uint64_t key = kEmpty;
    TwoBounds bounds;
  };

  std::size_t place(std::uint64_t key) const {
    std::size_t at = std::size_t((key ^ key >> 29) * 0x9e3779b97f4a7c15ULL >> 20) & (slots_.size() - 1);
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.clear();
    n_used_ = 0;
    if (old.size() >= most_slots_) {
      std::fill(old.begin(), old.end(), Slot());
      slots_ = std::move(old);
      return;
    }
    slots_.resize(old.empty() ? kFirstSlots : 2 * old.size());
    for (const Slot& slot : old)
      if (slot.key != kEmpty) {
        slots_[place(slot.key)] = slot;
        ++n_used_;
      }
  }

  std::size_t most_slots_;
  std::vector<Slot> slots_;
  std::size_t n_used_ = 0;
};

}  // namespace credibn::subsets
