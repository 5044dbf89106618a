// A layered diagram: one layer for each node in the order of decisions, one edge for each candidate that a state can
// take. Its paths from a root are networks, each once, or, with weights, their signed shares in counting classes. There
// is a root for each branch of the networks: branches have no network in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "factored/candidates.hpp"

namespace credibn::factored {

struct Edge {
  std::uint32_t to;         // a state of the next layer
  std::uint32_t candidate;  // its number among all candidates
  std::int32_t weight;
};

struct Layer {
  std::vector<std::uint64_t> first{0};  // edges of state i are at first[i] to first[i + 1]; the last layer has none
  std::vector<Edge> edges;
  std::vector<Cost> least_before;         // the cheapest path from a root to each state
  std::vector<Cost> least_after;          // and from there to the end
  std::vector<std::uint64_t> keys, ends;  // of the states, where classes are to be counted

  std::size_t size() const { return least_before.size(); }
  std::size_t bytes() const {
    return 8 * (first.capacity() + least_before.capacity() + least_after.capacity() + keys.capacity() +
                ends.capacity()) +
           sizeof(Edge) * edges.capacity();
  }
  // Adds the states of a branch, whose edges lead to states from `next` on.
  void add(const Layer& branch, std::size_t next, const std::vector<std::uint32_t>& numbers) {
    for (const Edge& edge : branch.edges)
      edges.push_back({std::uint32_t(next + edge.to), numbers[edge.candidate], edge.weight});
    for (std::size_t i = 1; i < branch.first.size(); ++i)
      first.push_back(edges.size() - branch.edges.size() + branch.first[i]);
    least_before.insert(least_before.end(), branch.least_before.begin(), branch.least_before.end());
    least_after.insert(least_after.end(), branch.least_after.begin(), branch.least_after.end());
    if (branch.ends.empty()) return;
    if (ends.empty()) ends.push_back(0);
    for (std::size_t i = 1; i < branch.ends.size(); ++i) ends.push_back(keys.size() + branch.ends[i]);
    keys.insert(keys.end(), branch.keys.begin(), branch.keys.end());
  }
};

struct Diagram {
  std::vector<int> order;
  std::vector<Cost> costs;  // of all candidates
  Cost limit = 0;           // every network that costs no more is a path
  std::vector<Layer> layers;

  bool empty() const { return layers.empty() || layers[0].size() == 0; }
  Cost best() const { return *std::min_element(layers[0].least_after.begin(), layers[0].least_after.end()); }
  std::size_t n() const { return order.size(); }
  std::size_t n_states() const {
    std::size_t sum = 0;
    for (const Layer& layer : layers) sum += layer.size();
    return sum;
  }
  std::size_t bytes() const {
    std::size_t sum = 8 * costs.capacity();
    for (const Layer& layer : layers) sum += layer.bytes();
    return sum;
  }
  // Finds the least costs, and drops all edges and states that no path up to the limit uses.
  void trim() {
    for (std::size_t t = n(); t-- > 0;) {
      Layer& layer = layers[t];
      const Layer& next = layers[t + 1];
      layer.least_after.assign(layer.size(), kNever);
      for (std::size_t i = 0; i < layer.size(); ++i)
        for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
          const Edge& edge = layer.edges[e];
          layer.least_after[i] =
              std::min(layer.least_after[i], std::min(kNever, costs[edge.candidate] + next.least_after[edge.to]));
        }
    }
    std::vector<std::uint32_t> number;
    for (const Cost least : layers[0].least_after) number.push_back(least > limit ? kGone : 0);
    for (std::size_t t = 0; t <= n(); ++t) number = trim_layer(t, number);
  }
  void lower_limit_to(Cost lower) {
    limit = lower;
    trim();
  }
  // Adds the networks of a branch with the same order and limit; `numbers` are those of its candidates among all.
  void add(const Diagram& branch, const std::vector<std::uint32_t>& numbers) {
    layers.resize(n() + 1);
    for (std::size_t t = 0; t <= n(); ++t) layers[t].add(branch.layers[t], t < n() ? layers[t + 1].size() : 0, numbers);
  }

 private:
  static constexpr std::uint32_t kGone = ~std::uint32_t(0);

  // Keeps the states with a number, and returns the numbers of the next layer's.
  std::vector<std::uint32_t> trim_layer(std::size_t t, const std::vector<std::uint32_t>& number) {
    Layer& layer = layers[t];
    Layer live;
    std::vector<std::uint32_t> next_number;
    std::vector<Cost> next_before;
    if (t < n()) {
      next_number.assign(layers[t + 1].size(), kGone);
      next_before.assign(layers[t + 1].size(), kNever);
    }
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (number[i] == kGone) continue;
      live.least_before.push_back(layer.least_before[i]);
      live.least_after.push_back(layer.least_after[i]);
      if (!layer.ends.empty()) {
        if (live.ends.empty()) live.ends.push_back(0);
        live.keys.insert(live.keys.end(), layer.keys.begin() + std::ptrdiff_t(layer.ends[i]),
                         layer.keys.begin() + std::ptrdiff_t(layer.ends[i + 1]));
        live.ends.push_back(live.keys.size());
      }
      if (t == n()) continue;
      for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[e];
        const Cost before = layer.least_before[i] + costs[edge.candidate];
        if (layers[t + 1].least_after[edge.to] >= kNever || before + layers[t + 1].least_after[edge.to] > limit)
          continue;
        next_number[edge.to] = 0;
        next_before[edge.to] = std::min(next_before[edge.to], before);
        live.edges.push_back(edge);
      }
      live.first.push_back(live.edges.size());
    }
    std::uint32_t count = 0;
    for (std::uint32_t& of_next : next_number)
      if (of_next != kGone) of_next = count++;
    for (Edge& edge : live.edges) edge.to = next_number[edge.to];
    if (t < n()) layers[t + 1].least_before = std::move(next_before);
    live.edges.shrink_to_fit();
    layer = std::move(live);
    return next_number;
  }
};

}  // namespace credibn::factored
