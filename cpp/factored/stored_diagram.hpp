// A diagram as flat arrays, for files, and back: what comes from a file is checked, so that no array makes this code
// read outside its memory, and no path is a network twice, too expensive or with a directed cycle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "factored/diagram.hpp"

namespace credibn::factored {

struct StoredDiagram {
  std::vector<std::int32_t> order;
  std::vector<std::uint32_t> sizes;    // n + 1: the states of each layer
  std::vector<std::uint32_t> degrees;  // the edges of each state, but those of the last layer
  std::vector<std::uint32_t> to, candidates;
  std::vector<std::int32_t> weights;
};

inline StoredDiagram stored(const Diagram& diagram) {
  StoredDiagram arrays;
  arrays.order.assign(diagram.order.begin(), diagram.order.end());
  for (const Layer& layer : diagram.layers) {
    arrays.sizes.push_back(std::uint32_t(layer.size()));
    for (std::size_t i = 0; i + 1 < layer.first.size(); ++i)
      arrays.degrees.push_back(std::uint32_t(layer.first[i + 1] - layer.first[i]));
    for (const Edge& edge : layer.edges) {
      arrays.to.push_back(edge.to);
      arrays.candidates.push_back(edge.candidate);
      arrays.weights.push_back(edge.weight);
    }
  }
  return arrays;
}

inline void require_valid(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// first: the candidates of node v are at first[v] to first[v + 1].
inline Diagram diagram_of(const StoredDiagram& arrays, const std::vector<std::size_t>& first,
                          const std::vector<Cost>& costs, Cost limit) {
  const std::size_t n = first.size() - 1;
  std::vector<std::int32_t> sorted = arrays.order, all(n);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  require_valid(sorted == all, "the order is not one of the nodes");
  require_valid(arrays.sizes.size() == n + 1 && arrays.sizes[0] >= 1, "the layers are not one for each node");
  const std::size_t n_inner = std::accumulate(arrays.sizes.begin(), arrays.sizes.end() - 1, std::size_t(0));
  const std::size_t n_edges = std::accumulate(arrays.degrees.begin(), arrays.degrees.end(), std::size_t(0));
  require_valid(arrays.sizes[n] <= n_edges, "a state of the last layer has no edge");
  require_valid(arrays.degrees.size() == n_inner, "there is not one number of edges for each state");
  require_valid(arrays.to.size() == n_edges && arrays.candidates.size() == n_edges && arrays.weights.size() == n_edges,
                "the edges are not as many as the states say");
  Diagram diagram;
  diagram.order.assign(arrays.order.begin(), arrays.order.end());
  diagram.costs = costs;
  diagram.limit = limit;
  diagram.layers.resize(n + 1);
  std::size_t state = 0, at = 0;
  std::vector<std::uint32_t> taken;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t v = std::size_t(diagram.order[t]);
    Layer& layer = diagram.layers[t];
    for (std::size_t i = 0; i < arrays.sizes[t]; ++i, ++state) {
      const std::size_t end = at + arrays.degrees[state];
      taken.assign(arrays.candidates.begin() + std::ptrdiff_t(at), arrays.candidates.begin() + std::ptrdiff_t(end));
      std::sort(taken.begin(), taken.end());
      require_valid(std::adjacent_find(taken.begin(), taken.end()) == taken.end(), "two edges are the same");
      require_valid(taken.empty() || (taken.front() >= first[v] && taken.back() < first[v + 1]),
                    "an edge has a parent set of another node");
      for (; at < end; ++at) {
        require_valid(arrays.to[at] < arrays.sizes[t + 1], "an edge leads to no state");
        layer.edges.push_back({arrays.to[at], arrays.candidates[at], arrays.weights[at]});
      }
      layer.first.push_back(layer.edges.size());
    }
    layer.least_before.assign(arrays.sizes[t], 0);
  }
  diagram.layers[n].least_before.assign(arrays.sizes[n], 0);
  diagram.layers[n].least_after.assign(arrays.sizes[n], 0);
  diagram.trim();
  std::size_t n_kept = 0;
  for (const Layer& layer : diagram.layers) n_kept += layer.edges.size();
  require_valid(!diagram.empty() && n_kept == n_edges, "an edge is on no path within the limit");
  return diagram;
}

// Whether some path closes a directed cycle. For each state and undecided node u, which decided nodes can be reached
// from u by arcs of some path to the state? All paths to a state agree on those that matter later, so the union of
// their answers gives no false alarm (docs/guarantees.md).
inline bool has_cycle(const Diagram& diagram, const std::uint64_t* masks, std::size_t words) {
  const std::size_t n = diagram.n();
  std::vector<std::uint64_t> reached(diagram.layers[0].size() * n * words, 0), next, gained(words);
  for (std::size_t t = 0; t < n; ++t) {  // of state i, the row of node order[t + k] is at ((n - t) * i + k) * words
    const Layer& layer = diagram.layers[t];
    const std::size_t v = std::size_t(diagram.order[t]), rows = n - t;
    next.assign(diagram.layers[t + 1].size() * (rows - 1) * words, 0);
    for (std::size_t i = 0; i < layer.size(); ++i)
      for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[e];
        const std::uint64_t* parents = masks + edge.candidate * words;
        const std::uint64_t* own = &reached[i * rows * words];
        for (std::size_t w = 0; w < words; ++w) {
          if (own[w] & parents[w]) return true;
          gained[w] = own[w];
        }
        gained[v / 64] |= std::uint64_t(1) << v % 64;
        for (std::size_t k = 1; k < rows; ++k) {
          const std::size_t u = std::size_t(diagram.order[t + k]);
          const std::uint64_t* row = own + k * words;
          std::uint64_t* to = &next[(edge.to * (rows - 1) + k - 1) * words];
          bool is_source = parents[u / 64] >> u % 64 & 1;
          for (std::size_t w = 0; w < words; ++w) is_source = is_source || (row[w] & parents[w]);
          for (std::size_t w = 0; w < words; ++w) to[w] |= row[w] | (is_source ? gained[w] : 0);
        }
      }
    reached.swap(next);
  }
  return false;
}

}  // namespace credibn::factored
