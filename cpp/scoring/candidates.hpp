// The input and the output of both scoring engines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace credibn::scoring {

// The parent sets that one node may have: `required` plus at most `max_free` of the `free` variables.
struct NodeChoice {
  std::vector<int> required, free;
  int max_free = 0;
};

// Which parent sets to score, the prior of their edges, and epsilon.
struct Request {
  int n = 0;
  double epsilon = 0.0;
  std::vector<NodeChoice> nodes;
  std::vector<double> edge_costs;  // n x n, [parent * n + child]: minus the log prior odds of the edge

  double edge_cost(int parent, int child) const {
    return edge_costs[std::size_t(parent) * std::size_t(n) + std::size_t(child)];
  }
};

struct Candidates {
  explicit Candidates(int n) : words((n + 63) / 64) {}
  int words;
  std::vector<std::int32_t> nodes;
  std::vector<double> costs;
  std::vector<std::uint64_t> masks;  // `words` for each candidate
  std::uint64_t n_local_scores = 0;  // evaluated in total

  void add(int node, double cost, const int* parents, int size) {
    nodes.push_back(node);
    costs.push_back(cost);
    masks.resize(masks.size() + std::size_t(words), 0);
    std::uint64_t* mask = masks.data() + masks.size() - std::size_t(words);
    for (int t = 0; t < size; ++t) mask[parents[t] / 64] |= std::uint64_t(1) << (parents[t] % 64);
  }
  void append(const Candidates& other) {
    nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
    costs.insert(costs.end(), other.costs.begin(), other.costs.end());
    masks.insert(masks.end(), other.masks.begin(), other.masks.end());
    n_local_scores += other.n_local_scores;
  }
  // The candidate `which` alone.
  void append(const Candidates& other, std::size_t which) {
    nodes.push_back(other.nodes[which]);
    costs.push_back(other.costs[which]);
    const auto begin = other.masks.begin() + std::ptrdiff_t(which * std::size_t(words));
    masks.insert(masks.end(), begin, begin + words);
  }
};

inline Request make_request(int n, double epsilon, const std::uint8_t* allowed, const std::uint8_t* required,
                            const std::int64_t* max_parents, const double* edge_costs) {
  Request request;
  request.n = n;
  request.epsilon = epsilon;
  if (!(epsilon >= 0.0) || !std::isfinite(epsilon))
    throw std::invalid_argument("epsilon must be finite and not negative");
  request.edge_costs.assign(edge_costs, edge_costs + std::size_t(n) * std::size_t(n));
  for (int child = 0; child < n; ++child) {
    NodeChoice choice;
    for (int parent = 0; parent < n; ++parent) {
      const std::size_t cell = std::size_t(parent) * std::size_t(n) + std::size_t(child);
      if (parent == child) continue;
      if (required[cell])
        choice.required.push_back(parent);
      else if (allowed[cell])
        choice.free.push_back(parent);
    }
    const auto n_required = std::int64_t(choice.required.size());
    const std::int64_t room = std::min<std::int64_t>(max_parents[child], n) - n_required;
    if (max_parents[child] < n_required)
      throw std::invalid_argument("a node has more required parents than it may have");
    choice.max_free = int(std::min<std::int64_t>(room, std::int64_t(choice.free.size())));
    request.nodes.push_back(std::move(choice));
  }
  return request;
}

}  // namespace credibn::scoring
