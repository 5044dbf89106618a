// The networks of a diagram one after the other, the cheapest first. Every path but the first leaves an earlier one at
// some state, by the next best edge there, and continues by the best edge of each state: the paths that are to come
// wait in a queue, ordered by cost (Lawler 1972).
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "factored/diagram.hpp"

namespace credibn::factored {

class BestFirst {
 public:
  explicit BestFirst(const Diagram& diagram) : diagram_(diagram), ranked_(diagram.n()) {
    for (std::size_t t = 0; t < diagram.n(); ++t) ranked_[t].resize(diagram.layers[t].size());
    const std::size_t n_roots = diagram.n() == 0 ? 0 : diagram.layers[0].size();
    for (std::size_t root = 0; root < n_roots; ++root) add({0, 0, 0, std::uint32_t(root), kNone, 0, 0});
  }
  // Writes the candidates and the costs of up to `count` further networks; returns how many there were.
  std::size_t take(std::size_t count, std::uint32_t* chosen, Cost* costs) {
    const std::size_t n = diagram_.n();
    std::size_t done = 0;
    for (; done < count && !waiting_.empty(); ++done) {
      const Path path = waiting_.top();
      waiting_.pop();
      costs[done] = path.total;
      follow(path, chosen + done * n);
    }
    return done;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);

  struct Step {  // one edge of a path that was taken, and the step before
    std::uint32_t previous, candidate;
  };
  struct Path {
    Cost total;
    std::uint64_t number;        // among equals, first come, first served
    std::uint32_t layer, state;  // where it leaves the path that it comes from
    std::uint32_t last;          // the step before
    std::uint32_t rank;          // of the edge that it takes there
    Cost before;                 // what the steps before cost
  };
  struct IsLater {
    bool operator()(const Path& a, const Path& b) const {
      return a.total != b.total ? a.total > b.total : a.number > b.number;
    }
  };

  Cost cost_by(const Layer& next, const Edge& edge) const {
    return diagram_.costs[edge.candidate] + next.least_after[edge.to];
  }
  // The edges of a state, the best first.
  const std::vector<std::uint32_t>& ranked(std::size_t t, std::size_t state) {
    std::vector<std::uint32_t>& order = ranked_[t][state];
    const Layer &layer = diagram_.layers[t], &next = diagram_.layers[t + 1];
    if (order.empty()) {
      for (std::size_t e = layer.first[state]; e < layer.first[state + 1]; ++e) order.push_back(std::uint32_t(e));
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return cost_by(next, layer.edges[a]) < cost_by(next, layer.edges[b]);
      });
    }
    return order;
  }
  void add(Path path) {
    const std::vector<std::uint32_t>& order = ranked(path.layer, path.state);
    if (path.rank >= order.size()) return;
    const Edge& edge = diagram_.layers[path.layer].edges[order[path.rank]];
    path.total = path.before + cost_by(diagram_.layers[path.layer + 1], edge);
    path.number = number_++;
    if (path.total <= diagram_.limit) waiting_.push(path);
  }
  void follow(Path path, std::uint32_t* chosen) {
    std::size_t t = path.layer;
    std::uint32_t last = path.last;
    for (std::size_t k = t; k-- > 0; last = steps_[last].previous) chosen[diagram_.order[k]] = steps_[last].candidate;
    std::size_t state = path.state, rank = path.rank;
    Cost before = path.before;
    last = path.last;
    for (; t < diagram_.n(); ++t, rank = 0) {
      add({0, 0, std::uint32_t(t), std::uint32_t(state), last, std::uint32_t(rank + 1), before});
      const Edge& edge = diagram_.layers[t].edges[ranked(t, state)[rank]];
      chosen[diagram_.order[t]] = edge.candidate;
      steps_.push_back({last, edge.candidate});
      last = std::uint32_t(steps_.size() - 1);
      before += diagram_.costs[edge.candidate];
      state = edge.to;
    }
  }

  const Diagram& diagram_;
  std::vector<std::vector<std::vector<std::uint32_t>>> ranked_;
  std::vector<Step> steps_;
  std::uint64_t number_ = 0;
  std::priority_queue<Path, std::vector<Path>, IsLater> waiting_;
};

}  // namespace credibn::factored
