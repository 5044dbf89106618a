// Checked networks from Python, each the masks of its n parent sets; and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/bits.hpp"
#include "bind/arrays.hpp"
#include "classes/classes.hpp"

namespace credibn::bind {

using base::Bits;
using classes::EquivalenceClass;
using classes::is_acyclic;

using Words = std::vector<std::uint64_t>;
inline constexpr std::size_t kNetworksPerCheck = 1 << 12;  // between two checks for Ctrl-C

template <class Work>
auto with_width(std::size_t words, const Work& work) {
  if (words == 1) return work(std::integral_constant<int, 1>());
  if (words == 2) return work(std::integral_constant<int, 2>());
  return work(std::integral_constant<int, 4>());
}

inline void require_shape(std::size_t n, std::size_t words) {
  require(n >= 1 && n <= kMostNodes, "the core takes 1 to 255 nodes");
  require(words == (n + 63) / 64, "masks need one word for every 64 nodes");
}

template <int W>
void read_network(const std::uint64_t* from, std::size_t words, std::vector<Bits<W>>& parents) {
  const int n = int(parents.size());
  for (int v = 0; v < n; ++v) {
    Bits<W>& mask = parents[std::size_t(v)] = Bits<W>();
    for (std::size_t k = 0; k < words; ++k) mask.words[k] = *from++;
    if (mask.test(v) || !mask.is_subset_of(Bits<W>::first(n)))
      throw std::invalid_argument("a parent set holds its own child or an unknown node");
  }
  if (!is_acyclic(parents.data(), n)) throw std::invalid_argument("a network has a directed cycle");
}

template <int W>
void append(const Bits<W>* masks, std::size_t n, std::size_t words, Words& to) {
  static_assert(sizeof(Bits<W>) == W * sizeof(std::uint64_t));
  if (words == W) {
    const std::uint64_t* from = masks->words.data();
    to.insert(to.end(), from, from + n * words);
    return;
  }
  for (std::size_t v = 0; v < n; ++v)
    to.insert(to.end(), masks[v].words.begin(), masks[v].words.begin() + std::ptrdiff_t(words));
}

// Calls visit(number, parents) for each network, without the GIL, after the class has analysed it.
template <int W, class Visit>
void each_class(const In<std::uint64_t, 3>& masks, EquivalenceClass<W>& classes, const Visit& visit) {
  const std::size_t k = masks.shape(0), n = masks.shape(1), words = masks.shape(2);
  const nanobind::object no_callback = nanobind::none();
  const Watch watch = make_watch(no_callback);
  nanobind::gil_scoped_release release;
  std::vector<Bits<W>> parents(n);
  for (std::size_t number = 0; number < k; ++number) {
    if (number % kNetworksPerCheck == kNetworksPerCheck - 1) watch(double(number) / double(k));
    read_network(masks.data() + number * n * words, words, parents);
    classes.analyse(parents.data());
    visit(number, parents.data());
  }
}

}  // namespace credibn::bind
