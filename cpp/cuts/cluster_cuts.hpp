// Cutting planes: valid inequalities of the networks' polytope. x(i, P) says that node i takes parent set P.
//
// The k-cluster cut of a node set C (Jaakkola et al. 2010 for k = 1; Cussens 2011; Cussens et al. 2017):
//     sum of x(i, P) over i in C and P with |P & C| < k   >=   k,   1 <= k < |C|,
// since the first k nodes of C in a topological order have fewer than k parents in C. For |C| = 3, k = 2 and |C| = 4,
// k = 3 these are the set packing inequalities.
//
// Zero-half cuts: the sum of some cuts and of the equations sum_P x(i, P) = 1 of some nodes, halved, with coefficients
// and right-hand side rounded up, is valid for integers x >= 0 (Chvatal-Gomory with weights 0 and 1/2). All
// coefficients are small integers, so validity is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "search/choices.hpp"

namespace credibn::cuts {

using base::Bits;
using search::Choices;

template <int W>
struct Cluster {
  Bits<W> nodes;
  int k;
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

template <int W>
struct ClusterHash {
  std::size_t operator()(const Cluster<W>& cluster) const {
    return std::size_t(cluster.nodes.hash() ^ std::uint64_t(cluster.k) * 0x9e3779b97f4a7c15ULL);
  }
};

// sum of coefficient * x >= rhs over candidates at the given positions, nodes in increasing order. For each node the
// least coefficient is 0 (where it is not, a multiple of the node's equation was subtracted).
struct Cut {
  // The offset of a node's coefficients that leaves the fewest entries: the most common coefficient.
  struct Shift {
    int node, common, largest;
  };

  int coefficient(std::size_t position) const {
    const auto found = std::lower_bound(at.begin(), at.end(), position);
    return found != at.end() && *found == position ? coefficients[std::size_t(found - at.begin())] : 0;
  }

  // The largest number in the cut, by absolute value.
  int magnitude() const {
    int largest = std::abs(rhs);
    for (int coefficient : coefficients) largest = std::max(largest, std::abs(coefficient));
    return largest;
  }

  std::vector<std::uint32_t> at;  // increasing
  std::vector<int> coefficients;
  int rhs = 0;
  std::vector<Shift> shifts;  // of the nodes that have entries
};

template <int W>
void shift_common(const Choices<W>& choices, Cut& cut) {
  std::vector<std::size_t> counts;
  int v = 0;
  for (std::size_t k = 0; k < cut.at.size();) {
    while (choices.first(v) + choices.size(v) <= cut.at[k]) ++v;
    const std::size_t end = choices.first(v) + choices.size(v);
    counts.assign(1, 0);
    counts[0] = int(end - choices.first(v));
    for (; k < cut.at.size() && cut.at[k] < end; ++k) {
      const std::size_t coefficient = std::size_t(cut.coefficients[k]);
      if (coefficient >= counts.size()) counts.resize(coefficient + 1);
      ++counts[coefficient];
      --counts[0];
    }
    const int common = int(std::max_element(counts.begin(), counts.end()) - counts.begin());
    cut.shifts.push_back({v, common, int(counts.size()) - 1});
  }
}

// A candidate with a positive value in a fractional solution.
template <int W>
struct Fraction {
  int node;
  std::uint32_t at;
  Bits<W> parents;
  double value;
};

template <int W>
Cut cluster_cut(const Choices<W>& choices, const Cluster<W>& cluster) {
  Cut cut;
  cut.rhs = cluster.k;
  cluster.nodes.each([&](int v) {
    for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at) {
      if ((choices.parents(v, k) & cluster.nodes).count() >= cluster.k) continue;
      cut.at.push_back(std::uint32_t(at));
      cut.coefficients.push_back(1);
    }
  });
  return cut;
}

// Finds violated cluster cuts at a fractional solution.
template <int W>
class ClusterSeparator {
 public:
  ClusterSeparator(int n, std::vector<Fraction<W>> support) : n_(n), support_(std::move(support)) {
    of_node_.resize(std::size_t(n) + 1);
    for (const Fraction<W>& f : support_) ++of_node_[std::size_t(f.node) + 1];
    for (std::size_t v = 0; v < std::size_t(n); ++v) of_node_[v + 1] += of_node_[v];
    inside_.resize(support_.size());
    gain_.resize(std::size_t(n));
    users_.resize(std::size_t(n));
    for (std::size_t s = 0; s < support_.size(); ++s)
      support_[s].parents.each([&](int p) { users_[std::size_t(p)].push_back(std::uint32_t(s)); });
  }

  // The left-hand side of a cluster cut.
  double activity(const Cluster<W>& cluster) const {
    double sum = 0;
    for (const Fraction<W>& f : support_)
      if (cluster.nodes.test(f.node) && (f.parents & cluster.nodes).count() < cluster.k) sum += f.value;
    return sum;
  }

  struct Found {
    Cluster<W> cluster;
    double violation;
  };

  // Cuts violated by more than `least`, the most violated first; the search is heuristic and may miss some.
  std::vector<Found> find(int max_k, double least) {
    least_ = least;
    found_.clear();
    small_sets();
    for (const Bits<W>& cycle : short_cycles())
      for (int k = 1; k <= max_k && k < cycle.count(); ++k) {
        record(cycle, k, k - activity({cycle, k}));
        polish(cycle, k);
      }
    for (int k = 1; k <= max_k; ++k)
      for (int v = 0; v < n_; ++v) {
        Bits<W> partners;
        for (std::size_t s = of_node_[std::size_t(v)]; s < of_node_[std::size_t(v) + 1]; ++s)
          partners |= support_[s].parents;
        partners.each([&](int p) { grow(v, p, k); });
      }
    std::vector<Found> list;
    for (const auto& [cluster, violation] : found_) list.push_back({cluster, violation});
    std::sort(list.begin(), list.end(), [](const Found& a, const Found& b) {
      if (a.violation != b.violation) return a.violation > b.violation;
      if (a.cluster.k != b.cluster.k) return a.cluster.k < b.cluster.k;
      return a.cluster.nodes.words < b.cluster.nodes.words;
    });
    return list;
  }

 private:
  struct Hash {
    std::size_t operator()(const Bits<W>& bits) const { return std::size_t(bits.hash()); }
  };

  void record(const Bits<W>& nodes, int k, double violation) {
    if (violation > least_) found_.emplace(Cluster<W>{nodes, k}, violation);
  }

  // All sets C of 3 to 5 nodes with k = |C| - 1: node i counts where its parents hold C - i.
  void small_sets() {
    std::unordered_map<Bits<W>, double, Hash> mass;
    for (int size = 2; size <= 4; ++size) {
      mass.clear();
      std::vector<int> parents;
      for (const Fraction<W>& f : support_) {
        parents.clear();
        f.parents.each([&](int p) { parents.push_back(p); });
        if (int(parents.size()) <= 12) add_subsets(parents, 0, size, Bits<W>::of(f.node), f.value, mass);
      }
      for (const auto& [nodes, sum] : mass) record(nodes, size, sum - 1);
    }
  }
  static void add_subsets(const std::vector<int>& parents, std::size_t from, int left, Bits<W> nodes, double value,
                          std::unordered_map<Bits<W>, double, Hash>& mass) {
    if (left == 0) {
      mass[nodes] += value;
      return;
    }
    for (std::size_t p = from; p + std::size_t(left) <= parents.size(); ++p) {
      Bits<W> more = nodes;
      more.set(parents[p]);
      add_subsets(parents, p + 1, left - 1, more, value, mass);
    }
  }

  // For each edge p -> v of the support, the shortest cycle through it; an edge is the shorter the larger its value.
  std::unordered_set<Bits<W>, Hash> short_cycles() {
    const std::size_t n = std::size_t(n_);
    std::vector<double> length(n * n, 1.0);  // from parent to child
    std::vector<Bits<W>> children(n), parents(n);
    for (const Fraction<W>& f : support_)
      f.parents.each([&](int p) {
        length[std::size_t(p) * n + std::size_t(f.node)] -= f.value;
        children[std::size_t(p)].set(f.node);
        parents[std::size_t(f.node)].set(p);
      });
    std::unordered_set<Bits<W>, Hash> cycles;
    std::vector<double> distance(n);
    std::vector<int> before(n);
    for (int v = 0; v < n_; ++v) {
      std::fill(distance.begin(), distance.end(), std::numeric_limits<double>::infinity());
      distance[std::size_t(v)] = 0;
      Bits<W> reached = Bits<W>::of(v), done;
      while (!(reached == done)) {
        int u = -1;
        (reached - done).each([&](int w) {
          if (u < 0 || distance[std::size_t(w)] < distance[std::size_t(u)]) u = w;
        });
        done.set(u);
        (children[std::size_t(u)] - done).each([&](int w) {
          const double step = std::max(0.0, length[std::size_t(u) * n + std::size_t(w)]) + 0.001;
          if (distance[std::size_t(u)] + step >= distance[std::size_t(w)]) return;
          distance[std::size_t(w)] = distance[std::size_t(u)] + step;
          before[std::size_t(w)] = u;
          reached.set(w);
        });
      }
      (parents[std::size_t(v)] & reached).each([&](int p) {
        Bits<W> cycle = Bits<W>::of(v);
        for (int u = p; u != v; u = before[std::size_t(u)]) cycle.set(u);
        cycles.insert(cycle);
      });
    }
    return cycles;
  }

  // Adds to {u, v}, again and again, the node that lowers the left-hand side most, then moves single nodes in and out
  // while that helps; records the most violated cluster that it meets.
  void grow(int u, int v, int k) {
    nodes_ = Bits<W>();
    std::fill(inside_.begin(), inside_.end(), 0);
    activity_ = 0;
    move(u, k);
    move(v, k);
    Bits<W> best = nodes_;
    double best_activity = std::numeric_limits<double>::infinity();
    for (int size = 2; size < n_; ++size) {
      const int next = best_move(k, true);
      if (next < 0) break;
      move(next, k);
      if (size + 1 > k && activity_ < best_activity - 1e-12) {
        best = nodes_;
        best_activity = activity_;
      }
      if (activity_ > k + 1.5) break;
    }
    if (k == 1) {
      const double pair = activity(Cluster<W>{Bits<W>::of(u) | Bits<W>::of(v), 1});
      if (pair <= best_activity) best = Bits<W>::of(u) | Bits<W>::of(v), best_activity = pair;
    }
    if (best_activity > k + 0.5) return;
    polish(best, k);
  }
  void polish(const Bits<W>& start, int k) {
    nodes_ = Bits<W>();
    std::fill(inside_.begin(), inside_.end(), 0);
    activity_ = 0;
    start.each([&](int v) { move(v, k); });
    for (int round = 0; round < 2 * n_; ++round) {
      const int in = best_move(k, true);
      const double in_change = change_;
      const int out = nodes_.count() > k + 1 ? best_move(k, false) : -1;
      const double out_change = out < 0 ? 0 : change_;
      if (in >= 0 && in_change < -1e-9 && in_change <= out_change)
        move(in, k);
      else if (out >= 0 && out_change < 1e-9)  // of two clusters with equal activity the smaller one is stronger
        move(out, k);
      else
        break;
    }
    if (nodes_.count() > k) record(nodes_, k, k - activity_);
  }
  // The node to move in (or out) that changes the left-hand side best, and that change.
  int best_move(int k, bool inwards) {
    std::fill(gain_.begin(), gain_.end(), 0.0);
    for (int v = 0; v < n_; ++v) {
      if (inwards == nodes_.test(v)) continue;
      double sum = 0;
      for (std::size_t s = of_node_[std::size_t(v)]; s < of_node_[std::size_t(v) + 1]; ++s)
        if (inside_[s] < k) sum += support_[s].value;
      gain_[std::size_t(v)] += inwards ? sum : -sum;
    }
    nodes_.each([&](int i) {
      for (std::size_t s = of_node_[std::size_t(i)]; s < of_node_[std::size_t(i) + 1]; ++s) {
        if (inwards && inside_[s] == k - 1)
          (support_[s].parents - nodes_).each([&](int p) { gain_[std::size_t(p)] -= support_[s].value; });
        if (!inwards && inside_[s] == k)
          (support_[s].parents & nodes_).each([&](int p) { gain_[std::size_t(p)] += support_[s].value; });
      }
    });
    int best = -1;
    for (int v = 0; v < n_; ++v)
      if (inwards != nodes_.test(v) && (best < 0 || gain_[std::size_t(v)] < gain_[std::size_t(best)])) best = v;
    if (best >= 0) change_ = gain_[std::size_t(best)];
    return best;
  }
  // Moves v in or out.
  void move(int v, int k) {
    const int step = nodes_.test(v) ? -1 : 1;
    auto own = [&] {
      double sum = 0;
      for (std::size_t s = of_node_[std::size_t(v)]; s < of_node_[std::size_t(v) + 1]; ++s)
        if (inside_[s] < k) sum += support_[s].value;
      return sum;
    };
    if (step < 0) {
      activity_ -= own();
      nodes_.reset(v);
    }
    for (std::uint32_t s : users_[std::size_t(v)]) {
      const bool counted = inside_[s] < k;
      inside_[s] += step;
      if (counted != (inside_[s] < k) && nodes_.test(support_[s].node)) activity_ -= step * support_[s].value;
    }
    if (step > 0) {
      nodes_.set(v);
      activity_ += own();
    }
  }

  int n_;
  std::vector<Fraction<W>> support_;  // by node
  std::vector<std::size_t> of_node_;
  std::vector<std::vector<std::uint32_t>> users_;  // support of which a node is a parent
  std::unordered_map<Cluster<W>, double, ClusterHash<W>> found_;
  double least_ = 0;

  Bits<W> nodes_;  // the cluster that is being changed
  std::vector<int> inside_;
  std::vector<double> gain_;
  double activity_ = 0, change_ = 0;
};

}  // namespace credibn::cuts
