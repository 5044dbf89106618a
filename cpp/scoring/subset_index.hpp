// Rule 1 against all subsets, for a list of candidate parent sets of one node.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/progress.hpp"
#include "scoring/candidates.hpp"
#include "scoring/lattice.hpp"
#include "scoring/rules.hpp"

namespace credibn::scoring {

using base::StopFlag;

// A prefix tree of parent sets with the least cost below each node, to find a cheap subset of a given set. Sets are
// added from the cheapest to the most expensive.
class SubsetIndex {
 public:
  explicit SubsetIndex(double epsilon) : epsilon_(epsilon), nodes_(1) {}

  void add(const std::vector<int>& members, double cost) {
    std::size_t at = 0;
    nodes_[0].least = std::min(nodes_[0].least, cost);
    for (int v : members) at = child_of(at, v, cost);
    nodes_[at].own = cost;
  }
  // Whether a set in the index is a subset of this one and dominates it (rule 1).
  bool dominates(const std::uint64_t* mask, double cost) const { return dominates_below(0, mask, cost); }

 private:
  static constexpr std::size_t kNone = 0;
  struct Node {
    int variable = -1;
    double own = kInfinity, least = kInfinity;
    std::size_t first_child = kNone, next_sibling = kNone;
  };

  bool dominates_below(std::size_t at, const std::uint64_t* mask, double cost) const {
    if (rules::dominated(cost, nodes_[at].own, epsilon_)) return true;
    for (std::size_t child = nodes_[at].first_child; child != kNone; child = nodes_[child].next_sibling) {
      const Node& node = nodes_[child];
      const bool is_member = mask[node.variable / 64] >> (node.variable % 64) & 1;
      if (is_member && rules::dominated(cost, node.least, epsilon_) && dominates_below(child, mask, cost)) return true;
    }
    return false;
  }
  std::size_t child_of(std::size_t at, int variable, double cost) {
    for (std::size_t child = nodes_[at].first_child; child != kNone; child = nodes_[child].next_sibling)
      if (nodes_[child].variable == variable) return child;
    Node node;
    node.variable = variable;
    node.least = cost;
    node.next_sibling = nodes_[at].first_child;
    nodes_[at].first_child = nodes_.size();
    nodes_.push_back(node);
    return nodes_.size() - 1;
  }

  double epsilon_;
  std::vector<Node> nodes_;
};

// It is enough to compare with the sets that remain: the cheapest subset of a set is dominated by none of its own
// subsets, so it was found, and remains.
inline Candidates drop_dominated(const Candidates& found, double epsilon, int n, const StopFlag& stop) {
  const std::size_t words = std::size_t(found.words);
  std::vector<std::size_t> by_cost(found.costs.size());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t(0));
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](std::size_t a, std::size_t b) { return found.costs[a] < found.costs[b]; });
  Candidates remaining(n);
  remaining.n_local_scores = found.n_local_scores;
  SubsetIndex index(epsilon);
  std::vector<int> members;
  for (std::size_t c : by_cost) {
    if ((c & 0xff) == 0) stop.check();
    const std::uint64_t* mask = found.masks.data() + c * words;
    if (index.dominates(mask, found.costs[c])) continue;
    remaining.nodes.push_back(found.nodes[c]);
    remaining.costs.push_back(found.costs[c]);
    remaining.masks.insert(remaining.masks.end(), mask, mask + words);
    members.clear();
    for (int v = 0; v < n; ++v)
      if (mask[v / 64] >> (v % 64) & 1) members.push_back(v);
    index.add(members, found.costs[c]);
  }
  return remaining;
}

}  // namespace credibn::scoring
