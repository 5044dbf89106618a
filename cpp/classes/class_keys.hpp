// Which of many networks are Markov equivalent: each gets a key of 128 bits, a hash of the canonical member of its
// class, and equal keys count as the same class. Two of k classes share a key by chance with probability below
// k^2 / 2^129: 10^-24 for ten million. Storing the members instead would take more memory than the networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/bits.hpp"
#include "base/progress.hpp"
#include "classes/classes.hpp"

namespace credibn::classes {

using base::Bits;
using base::run_tasks;
using base::StopFlag;
using base::Stopped;
using base::TaskProgress;
using base::Watch;

struct ClassKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const ClassKey&, const ClassKey&) = default;
};

// The sum over the nodes of a hash of each node with its parents: a collision of sums is no more likely than of hashes.
template <int W>
ClassKey key_of(const Bits<W>* parents, int n) {
  const auto mixed = [](std::uint64_t h) {  // the finaliser of MurmurHash3 (Appleby 2011), a bijection
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ h >> 33;
  };
  ClassKey key;
  for (int v = 0; v < n; ++v) {
    std::uint64_t low = 0x9e3779b97f4a7c15ULL * std::uint64_t(v + 1), high = ~low;
    for (std::uint64_t word : parents[v].words) {
      low = mixed(low + word);
      high = mixed(high ^ word * 0xd6e8feb86659fd93ULL);
    }
    key.low += low;
    key.high += high;
  }
  return key;
}

// Numbers keys in the order in which they first appear: a hash table with open addressing.
class KeyNumbers {
 public:
  std::int64_t number(const ClassKey& key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.number < 0) slot = {key, std::int64_t(count_++)};
    return slot.number;
  }

 private:
  struct Slot {
    ClassKey key;
    std::int64_t number = -1;
  };
  std::size_t place(const ClassKey& key) const {
    std::size_t at = std::size_t(key.low) & (slots_.size() - 1);
    while (slots_[at].number >= 0 && !(slots_[at].key == key)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number >= 0) slots_[place(slot.key)] = slot;
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

// The number of the class of each network, in the order in which classes first appear; when the watch stops the work,
// of the first networks only. `candidates`: the parent sets of node v are at offsets[v] to offsets[v + 1]. `choices`:
// for each network the position of each node's parent set among the node's candidates.
template <int W>
std::vector<std::int64_t> numbers_of_classes(const std::vector<Bits<W>>& candidates, const std::int64_t* offsets, int n,
                                             const std::uint32_t* choices, std::size_t n_networks, unsigned n_threads,
                                             const Watch& watch) {
  constexpr std::size_t kNetworksPerTask = 1 << 12;
  const std::size_t n_tasks = (n_networks + kNetworksPerTask - 1) / kNetworksPerTask, width = std::size_t(n);
  std::vector<ClassKey> keys(n_networks);
  std::vector<std::uint8_t> is_done(n_tasks);
  std::vector<int> rank(width);
  for (std::size_t v = 0; v < width; ++v) rank[v] = int(v);
  std::vector<EquivalenceClass<W>> classes(std::max(1u, n_threads), EquivalenceClass<W>(n));
  StopFlag stop;
  try {
    run_tasks(
        n_tasks, n_threads, n_tasks > 1 ? watch : Watch(), stop, [&](std::size_t b, unsigned worker, TaskProgress&) {
          std::vector<Bits<W>> parents(width), member(width);
          for (std::size_t k = b * kNetworksPerTask, end = std::min(n_networks, k + kNetworksPerTask); k < end; ++k) {
            for (std::size_t v = 0; v < width; ++v) {
              const std::int64_t at = offsets[v] + choices[k * width + v];
              if (at >= offsets[v + 1]) throw std::invalid_argument("a network names a candidate that does not exist");
              parents[v] = candidates[std::size_t(at)];
            }
            if (!is_acyclic(parents.data(), n)) throw std::invalid_argument("a network has a directed cycle");
            classes[worker].analyse(parents.data());
            classes[worker].member(rank.data(), member.data());
            keys[k] = key_of(member.data(), n);
          }
          is_done[b] = 1;
        });
  } catch (const Stopped&) {
    const std::size_t n_done = std::size_t(std::find(is_done.begin(), is_done.end(), 0) - is_done.begin());
    keys.resize(std::min(n_networks, n_done * kNetworksPerTask));
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(keys.size());
  KeyNumbers known;
  for (const ClassKey& key : keys) numbers.push_back(known.number(key));
  return numbers;
}

}  // namespace credibn::classes
