// The diagram that counts Markov equivalence classes. For every class and every ranking of the nodes, the weights
//     product over u of (1 - d_u),   d_u = the number of covered edges u -> v with v before u,
// of its members add up to 1 (docs/guarantees.md, "Counting classes"). The ranking is the order of decisions: when u
// takes its parents, all v that count are decided, so the factor of u is known then. A state remembers for each
// undecided u which parent sets would make such an edge covered, and how many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/progress.hpp"
#include "factored/cost_lists.hpp"
#include "factored/diagram.hpp"
#include "factored/frontier.hpp"
#include "factored/state_table.hpp"

namespace credibn::factored {

template <int W>
class ClassDiagram {
 public:
  ClassDiagram(const Candidates<W>& candidates, const Diagram& networks, std::size_t max_bytes)
      : candidates_(candidates),
        networks_(networks),
        max_bytes_(max_bytes),
        position_(networks.n()),
        node_of_(candidates.size()),
        would_cover_(candidates.size()) {
    for (std::size_t t = 0; t < networks.n(); ++t) position_[std::size_t(networks.order[t])] = t;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash;
    for (std::size_t v = 0; v < networks.n(); ++v)
      for (std::size_t c = candidates.first[v]; c < candidates.first[v + 1]; ++c) {
        node_of_[c] = v;
        by_hash[hash(v, candidates.parents[c])].push_back(c);
      }
    for (std::size_t c = 0; c < candidates.size(); ++c)
      candidates.parents[c].each([&](int u) {
        if (position_[std::size_t(u)] < position_[node_of_[c]]) return;
        const Bits<W> rest = candidates.parents[c] - Bits<W>::of(u);
        const auto found = by_hash.find(hash(std::size_t(u), rest));
        if (found == by_hash.end()) return;
        for (const std::size_t k : found->second)
          if (node_of_[k] == std::size_t(u) && candidates.parents[k] == rest) would_cover_[c].push_back(k);
      });
  }
  Diagram build(base::ThrottledWatch& watch) {
    const std::size_t n = networks_.n();
    Diagram found;
    found.order = networks_.order;
    found.costs = networks_.costs;
    found.limit = networks_.limit;
    found.layers.resize(n + 1);
    found.layers[0].least_before = networks_.layers[0].least_before;
    StateTable table, next_table;
    for (std::uint64_t root = 0; root < networks_.layers[0].size(); ++root) table.find_or_add(&root, 1);
    std::size_t bytes = 0;
    for (std::size_t t = 0; t < n; ++t) {
      next_table = StateTable();
      Layer &layer = found.layers[t], &next = found.layers[t + 1];
      for (std::size_t x = 0; x < table.size(); ++x) {
        watch.check();
        expand(t, x, table, next_table, layer, next);
        if (x % 256 == 0 && bytes + layer.bytes() + next.bytes() + table.bytes() + next_table.bytes() > max_bytes_)
          throw TooLarge();
      }
      bytes += layer.bytes();
      std::swap(table, next_table);
    }
    found.layers[n].least_after.assign(found.layers[n].size(), 0);
    found.trim();
    return found;
  }

 private:
  static std::uint64_t hash(std::size_t node, const Bits<W>& set) {
    return set.hash() + 0x9e3779b97f4a7c15ULL * std::uint64_t(node);
  }
  // A key: the state of the networks' diagram, then candidates in increasing order, each with its number of edges.
  static std::uint64_t packed(std::uint64_t candidate, std::uint64_t count) { return candidate << 16 | count; }

  void expand(std::size_t t, std::size_t x, const StateTable& table, StateTable& next_table, Layer& layer,
              Layer& next) {
    const std::size_t v = std::size_t(networks_.order[t]);
    const Layer &of_networks = networks_.layers[t], &after = networks_.layers[t + 1];
    const std::size_t state = std::size_t(table.key(x)[0]);
    for (std::size_t e = of_networks.first[state]; e < of_networks.first[state + 1]; ++e) {
      const Edge& edge = of_networks.edges[e];
      const Cost before = layer.least_before[x] + candidates_.costs[edge.candidate];
      if (before + after.least_after[edge.to] > networks_.limit) continue;
      std::int32_t weight = 1;
      waiting_.clear();
      for (std::size_t k = 1; k < table.length(x); ++k) {
        const std::uint64_t word = table.key(x)[k];
        const std::size_t candidate = std::size_t(word >> 16);
        if (candidate == edge.candidate) weight -= std::int32_t(word & 0xffff);
        if (node_of_[candidate] != v) waiting_.push_back({candidate, word & 0xffff});
      }
      if (weight == 0) continue;
      for (const std::size_t candidate : would_cover_[edge.candidate]) {
        const auto known = std::find_if(waiting_.begin(), waiting_.end(),
                                        [&](const Waiting& one) { return one.candidate == candidate; });
        if (known == waiting_.end())
          waiting_.push_back({candidate, 1});
        else
          ++known->count;
      }
      std::sort(waiting_.begin(), waiting_.end(),
                [](const Waiting& a, const Waiting& b) { return a.candidate < b.candidate; });
      key_.assign(1, edge.to);
      for (const Waiting& one : waiting_)
        if (can_be_taken(after, edge.to, one.candidate)) key_.push_back(packed(one.candidate, one.count));
      const std::uint32_t to = next_table.find_or_add(key_.data(), key_.size());
      if (to == next.least_before.size()) next.least_before.push_back(kNever);
      next.least_before[to] = std::min(next.least_before[to], before);
      layer.edges.push_back({to, edge.candidate, weight});
    }
    layer.first.push_back(layer.edges.size());
  }
  // Whether a candidate closes no cycle at once in this state.
  bool can_be_taken(const Layer& layer, std::size_t state, std::size_t candidate) const {
    constexpr std::size_t kRow = Frontier<W>::kRow;
    for (std::size_t k = layer.ends[state]; k < layer.ends[state + 1]; k += kRow) {
      if (layer.keys[k] != node_of_[candidate]) continue;
      for (std::size_t w = 0; w < W; ++w)
        if (layer.keys[k + 1 + w] & candidates_.parents[candidate].words[w]) return false;
      return true;
    }
    return true;
  }

  struct Waiting {
    std::size_t candidate;
    std::uint64_t count;
  };

  const Candidates<W>& candidates_;
  const Diagram& networks_;
  std::size_t max_bytes_;
  std::vector<std::size_t> position_, node_of_;
  std::vector<std::vector<std::size_t>> would_cover_;  // of v's candidate: those of u that make u -> v covered
  std::vector<Waiting> waiting_;
  std::vector<std::uint64_t> key_;
};

}  // namespace credibn::factored
