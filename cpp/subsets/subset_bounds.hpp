// Dynamic programming over sets of nodes (Silander and Myllymäki 2006): how cheaply any set that comes first in a
// topological order can be completed. The bound is exact (or rounded down a little), so a search that places nodes in
// topological order never enters a set from which no credible network can be reached.
//
// best(v, S): the cheapest candidate of v with parents inside S, stored as a position in v's sorted list: 2 bytes (4
// where a node has 65,535 candidates or more) for each set of variables that occur in some candidate of v, often far
// fewer than n - 1. completion(S): the least cost of all nodes outside S when S comes first. Memory: these positions
// and 2^n doubles; time: n * 2^(n-1) look-ups, and a sweep for the minimum over subsets of each node's own lattice.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/large_array.hpp"
#include "base/progress.hpp"
#include "search/choices.hpp"

namespace credibn::subsets {

using base::Bits;
using base::LargeArray;
using base::run_tasks;
using base::stage_of;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;
using search::Choices;

using Subset = std::uint32_t;  // of at most 31 nodes

inline constexpr int kMostSubsetNodes = 31;

inline Subset all_of(int n) {
  return Subset((std::uint64_t(1) << n) - 1);
}

// The open candidates of the nodes that take part, renumbered 0 .. n - 1. A node with one candidate, the empty set,
// that is nobody's parent is settled beforehand.
struct SubsetChoices {
  struct Settled {
    int node;
    std::uint32_t position;
    double cost;
  };
  int n = 0;
  std::vector<int> nodes;                  // their numbers outside
  std::vector<std::vector<double>> costs;  // ascending for each node, relative to its cheapest candidate
  std::vector<std::vector<Subset>> masks;
  std::vector<std::vector<std::uint32_t>> positions;  // among all candidates of the node
  std::vector<Settled> settled;

  template <int W>
  SubsetChoices(const Choices<W>& choices, const std::uint8_t* is_open) {
    Bits<W> taking_part;
    for (int v = 0; v < choices.n(); ++v) {
      std::size_t n_open = 0;
      for (std::size_t k = 0; k < choices.size(v); ++k) {
        if (!is_open[choices.first(v) + k]) continue;
        ++n_open;
        taking_part |= choices.parents(v, k);
        if (choices.parents(v, k).any()) taking_part.set(v);
      }
      if (n_open != 1) taking_part.set(v);
    }
    taking_part.each([&](int v) { nodes.push_back(v); });
    n = int(nodes.size());
    if (n > kMostSubsetNodes) return;
    costs.resize(nodes.size());
    masks.resize(nodes.size());
    positions.resize(nodes.size());
    std::size_t at = 0;
    for (int v = 0; v < choices.n(); ++v) {
      for (std::size_t k = 0; k < choices.size(v); ++k) {
        if (!is_open[choices.first(v) + k]) continue;
        if (!taking_part.test(v)) {
          settled.push_back({v, std::uint32_t(k), choices.cost(v, k)});
          continue;
        }
        costs[at].push_back(choices.cost(v, k));
        masks[at].push_back(subset_of(choices.parents(v, k)));
        positions[at].push_back(std::uint32_t(k));
      }
      at += taking_part.test(v);
    }
    for (const Settled& one : settled) base_ += one.cost;
    for (auto& of_node : costs) {
      if (of_node.empty()) continue;
      const double least = of_node[0];
      base_ += least;
      for (double& cost : of_node) cost -= least;
    }
  }
  // Whether the search over subsets can take this number of nodes; if not, only `nodes` is filled.
  bool is_possible() const { return n <= kMostSubsetNodes; }
  // What every network costs: the settled nodes, and the cheapest candidates of the others.
  double base_cost() const { return base_; }
  std::size_t most_candidates() const {
    std::size_t most = 0;
    for (const auto& of_node : costs) most = std::max(most, of_node.size());
    return most;
  }
  // All that occur in some candidate of v.
  Subset possible_parents(int v) const {
    Subset sum = 0;
    for (Subset mask : masks[std::size_t(v)]) sum |= mask;
    return sum;
  }

 private:
  double base_ = 0.0;

  template <int W>
  Subset subset_of(const Bits<W>& set) const {
    Subset subset = 0;
    for (int j = 0; j < n; ++j)
      if (set.test(nodes[std::size_t(j)])) subset |= Subset(1) << j;
    return subset;
  }
};

// The position of a set within the lattice of a node's possible parents: its other members are squeezed out.
class Squeeze {
 public:
  explicit Squeeze(Subset members) : n_members_(std::popcount(members)) {
    for (std::size_t byte = 0; byte < 4; ++byte)
      for (Subset value = 0; value < 256; ++value) tables_[byte][value] = squeeze(value << (8 * byte), members);
  }
  std::size_t operator()(Subset set) const {
    return tables_[0][set & 255] | tables_[1][set >> 8 & 255] | tables_[2][set >> 16 & 255] | tables_[3][set >> 24];
  }
  std::size_t size() const { return std::size_t(1) << n_members_; }

 private:
  static Subset squeeze(Subset set, Subset members) {
    Subset result = 0;
    for (int place = 0; members; members &= members - 1, ++place)
      result |= (set >> std::countr_zero(members) & 1) << place;
    return result;
  }
  int n_members_;
  std::array<std::array<Subset, 256>, 4> tables_;
};

// Replaces each element by the least over the subsets of its index. Halves first, so that all but the last few merges
// happen in the cache.
template <class T>
void sweep_minimum(T* values, std::size_t size, const StopFlag& stop) {
  constexpr std::size_t kSmall = 256, kLong = 1 << 20;
  if (size > kSmall) {
    if (size >= kLong) stop.check();
    sweep_minimum(values, size / 2, stop);
    sweep_minimum(values + size / 2, size / 2, stop);
    for (std::size_t i = 0; i < size / 2; ++i) values[size / 2 + i] = std::min(values[size / 2 + i], values[i]);
    return;
  }
  for (std::size_t half = 1; half < size; half *= 2)
    for (std::size_t first = 0; first < size; first += 2 * half)
      for (std::size_t i = first; i < first + half; ++i) values[half + i] = std::min(values[half + i], values[i]);
}

// Position is std::uint16_t or std::uint32_t. Value is double, or float where memory is scarce: then completions are
// rounded down, by less than 2^-22 of their size at each of at most 31 steps, and stay valid bounds.
template <class Position, class Value>
class SubsetBounds {
 public:
  static std::size_t bytes(const SubsetChoices& choices) {
    std::size_t sum = sizeof(Value) << choices.n;
    for (int v = 0; v < choices.n; ++v) sum += sizeof(Position) << std::popcount(choices.possible_parents(v));
    return sum;
  }

  SubsetBounds(const SubsetChoices& choices, unsigned n_threads, const Watch& watch)
      : choices_(choices), n_(choices.n), completion_(std::size_t(1) << n_) {
    find_best(n_threads, stage_of(watch, 0.0, 0.3));
    find_completions(n_threads, stage_of(watch, 0.3, 0.7));
  }
  double completion(Subset set) const { return double(completion_[set]); }
  // An optimal network, up to the rounding of the completions, as the position of each node's candidate. There must be
  // a network: the completion of nothing is finite.
  std::vector<std::uint32_t> optimum() const {
    std::vector<std::uint32_t> chosen(choices_.nodes.size());
    for (Subset placed = 0; placed + 1 < completion_.size();) {
      int next = -1;
      double least = std::numeric_limits<double>::infinity();
      for (int v = 0; v < n_; ++v) {
        if (placed >> v & 1) continue;
        const double cost = costs_[std::size_t(v)][best(v, placed)] + completion(placed | Subset(1) << v);
        if (cost < least) least = cost, next = v;
      }
      chosen[std::size_t(next)] = best(next, placed);
      placed |= Subset(1) << next;
    }
    return chosen;
  }
  // v's cheapest candidate inside the set; the number of v's candidates where there is none.
  Position best(int v, Subset set) const { return best_[std::size_t(v)][squeezes_[std::size_t(v)](set)]; }

 private:
  static constexpr int kBlockBits = 12;

  void find_best(unsigned n_threads, const Watch& watch) {
    for (int v = 0; v < n_; ++v) {
      squeezes_.emplace_back(choices_.possible_parents(v));
      costs_.push_back(choices_.costs[std::size_t(v)]);
      costs_.back().push_back(std::numeric_limits<double>::infinity());
    }
    best_.resize(std::size_t(n_));
    StopFlag stop;
    run_tasks(std::size_t(n_), n_threads, watch, stop, [&](std::size_t v, unsigned, TaskProgress&) {
      const auto& masks = choices_.masks[v];
      best_[v] = LargeArray<Position>(squeezes_[v].size());
      std::fill_n(best_[v].data(), best_[v].size(), Position(masks.size()));
      for (std::size_t k = masks.size(); k-- > 0;) best_[v][squeezes_[v](masks[k])] = Position(k);
      sweep_minimum(best_[v].data(), best_[v].size(), stop);
    });
  }
  // In blocks of sets that share their high bits. A block needs those with one more high bit: all blocks with the same
  // number of high bits are independent.
  void find_completions(unsigned n_threads, const Watch& watch) {
    const int low = std::min(n_, kBlockBits), high = n_ - low;
    std::vector<std::vector<Subset>> levels(std::size_t(high) + 1);
    for (Subset block = 0; block < Subset(1) << high; ++block)
      levels[std::size_t(std::popcount(block))].push_back(block << low);
    std::vector<std::vector<Subset>> places;  // of the low bits in each node's lattice
    for (int v = 0; v < n_; ++v) {
      auto& of_node = places.emplace_back(std::size_t(1) << low);
      for (Subset s = 0; s < of_node.size(); ++s) of_node[s] = Subset(squeezes_[std::size_t(v)](s));
    }
    const double n_blocks = double(Subset(1) << high);
    for (std::size_t level = levels.size(), done = 0; level-- > 0;) {
      const auto& blocks = levels[level];
      StopFlag stop;
      run_tasks(blocks.size(), n_threads, stage_of(watch, double(done) / n_blocks, double(blocks.size()) / n_blocks),
                stop, [&](std::size_t k, unsigned, TaskProgress&) { complete_block(blocks[k], low, places); });
      done += blocks.size();
    }
  }
  void complete_block(Subset first, int low, const std::vector<std::vector<Subset>>& places) {
    const std::size_t size = std::size_t(1) << low;
    std::array<double, std::size_t(1) << kBlockBits> values;
    std::fill_n(values.begin(), size, std::numeric_limits<double>::infinity());
    if (first + size == completion_.size()) values[size - 1] = 0.0;
    std::array<const Position*, kBlockBits> best_of;
    for (int v = 0; v < n_; ++v) {
      if (first >> v & 1) continue;
      const Position* best = best_[std::size_t(v)].data() + squeezes_[std::size_t(v)](first);
      if (v < low) {
        best_of[std::size_t(v)] = best;
        continue;
      }
      const Value* after = completion_.data() + (first | Subset(1) << v);
      const double* costs = costs_[std::size_t(v)].data();
      const Subset* place = places[std::size_t(v)].data();
      for (std::size_t s = 0; s < size; ++s) values[s] = std::min(values[s], costs[best[place[s]]] + double(after[s]));
    }
    for (std::size_t s = size; s-- > 0;) {
      double least = values[s];
      for (std::size_t v = 0; v < std::size_t(low); ++v)
        if (!(s >> v & 1))
          least = std::min(least, costs_[v][best_of[v][places[v][s]]] + values[s | std::size_t(1) << v]);
      values[s] = least;
    }
    for (std::size_t s = 0; s < size; ++s) completion_[first + s] = rounded_down(values[s]);
  }
  static Value rounded_down(double value) {
    if constexpr (std::is_same_v<Value, double>) return value;
    return Value(value * (1.0 - 0x1p-23));  // rounding to nearest adds less than 2^-24 of it; no value is negative
  }

  const SubsetChoices& choices_;
  int n_;
  std::vector<Squeeze> squeezes_;
  std::vector<std::vector<double>> costs_;  // with infinity for "none fits" behind the last
  std::vector<LargeArray<Position>> best_;
  LargeArray<Value> completion_;
};

}  // namespace credibn::subsets
