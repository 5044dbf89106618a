// Checked collections from Python: a network or a class size that does not fit would be written beyond its end.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "bind/arrays.hpp"
#include "search/collection.hpp"

namespace credibn::bind {

using search::Collection;
using search::Quota;

inline constexpr std::size_t kMostSizeWords = 64;  // 255! has 27

inline void make_collection(Collection* self, std::size_t n, std::size_t size_words, double width, double tie,
                            std::optional<std::uint64_t> max_entries, std::optional<std::uint64_t> max_networks,
                            std::optional<std::uint64_t> max_bytes) {
  require(n >= 1 && n <= kMostNodes, "the core takes 1 to 255 nodes");
  require(size_words <= kMostSizeWords, "a class size has at most 64 words");
  require(width > -std::numeric_limits<double>::infinity(), "width must be a number");
  require(tie >= 0.0 && std::isfinite(tie), "tie must not be negative");
  new (self) Collection(
      n, size_words, width, tie,
      Quota{max_entries.value_or(Quota::kNone), max_networks.value_or(Quota::kNone), max_bytes.value_or(Quota::kNone)});
}

// The collection must have room for networks of n nodes and, by class, for the size of any class: at most n!.
inline void require_room(const Collection& collection, std::size_t n, bool by_class) {
  require(collection.n() == n, "the collection is for another number of nodes");
  const double log2_size = std::lgamma(double(n) + 1.0) / std::log(2.0);
  require(!by_class || 64.0 * double(collection.size_words()) > log2_size,
          "the collection has no room for the sizes of classes");
}

}  // namespace credibn::bind
