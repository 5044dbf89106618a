// How many paths of a diagram there are of each cost. Costs are whole numbers, so a state has a list of (cost, number
// of paths), equal costs merged, and only what fits the limit: forward lists of the paths from a root, backward lists
// of those to the end. They meet in a layer between, where the one kind has become as long as the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "factored/counts.hpp"
#include "factored/diagram.hpp"

namespace credibn::factored {

struct TooLarge {};

struct CostLists {  // of the states of one layer
  std::vector<std::uint64_t> first{0};
  std::vector<Cost> costs;
  std::vector<Word> counts;

  std::size_t size() const { return costs.size(); }
  std::size_t bytes() const { return 8 * (first.capacity() + costs.capacity() + counts.capacity()); }
};

// The edges into each state of a layer.
struct Incoming {
  Incoming(const Layer& from, std::size_t n_states) : first(n_states + 1, 0), edges(from.edges.size()), states(edges) {
    for (const Edge& edge : from.edges) ++first[edge.to + 1];
    for (std::size_t i = 0; i < n_states; ++i) first[i + 1] += first[i];
    std::vector<std::uint64_t> at(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::size_t e = from.first[i]; e < from.first[i + 1]; ++e) {
        edges[at[from.edges[e].to]] = std::uint32_t(e);
        states[at[from.edges[e].to]++] = std::uint32_t(i);
      }
  }
  std::vector<std::uint64_t> first;
  std::vector<std::uint32_t> edges, states;  // numbers of edges, and of the states that they leave
};

class PathCounts {
 public:
  // keep_all: the lists of all layers, for averages and samples; otherwise only those that meet.
  PathCounts(const Diagram& diagram, bool keep_all, std::size_t max_bytes, base::ThrottledWatch& watch)
      : diagram_(diagram),
        n_(diagram.n()),
        words_(words_needed(diagram)),
        forward_(n_ + 1),
        backward_(n_ + 1),
        max_bytes_(max_bytes) {
    if (words_ > kMostWords) throw TooLarge();
    start(forward_[0], diagram.layers[0].size());
    start(backward_[n_], diagram.layers[n_].size());
    std::size_t lo = 0, hi = n_;
    while (lo < hi) {
      if (forward_[lo].size() <= backward_[hi].size()) {
        extend_forward(lo++, watch);
        if (!keep_all) drop(forward_[lo - 1]);
      } else {
        extend_backward(--hi, watch);
        if (!keep_all) drop(backward_[hi + 1]);
      }
    }
    meeting_ = lo;
  }
  std::size_t words() const { return words_; }
  std::size_t meeting() const { return meeting_; }
  const CostLists& forward(std::size_t t) const { return forward_[t]; }
  const CostLists& backward(std::size_t t) const { return backward_[t]; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t t = 0; t <= n_; ++t) sum += forward_[t].bytes() + backward_[t].bytes();
    return sum;
  }
  // The number of paths that cost at most this, which is not above the diagram's limit.
  std::vector<Word> count(Cost limit) const {
    const CostLists &f = forward_[meeting_], &b = backward_[meeting_];
    std::vector<Word> sum(words_, 0), below(words_);
    for (std::size_t i = 0; i + 1 < f.first.size(); ++i) {
      std::fill(below.begin(), below.end(), 0);
      std::size_t q = b.first[i];
      for (std::size_t p = f.first[i + 1]; p-- > f.first[i];) {
        for (; q < b.first[i + 1] && f.costs[p] + b.costs[q] <= limit; ++q)
          add(&below[0], &b.counts[q * words_], words_);
        add_product(&sum[0], &f.counts[p * words_], &below[0], words_);
      }
    }
    return sum;
  }

 private:
  struct Term {
    Cost cost;
    std::uint64_t at;  // a count of the layer before
    std::int32_t weight;
  };

  // No count is larger than the number of all paths, whatever they cost, each with the size of its weight.
  static std::size_t words_needed(const Diagram& diagram) {
    std::vector<double> logs(diagram.layers[diagram.n()].size(), 0.0), next;
    for (std::size_t t = diagram.n(); t-- > 0;) {
      const Layer& layer = diagram.layers[t];
      next.assign(layer.size(), 0.0);
      for (std::size_t i = 0; i < layer.size(); ++i) {
        double top = 0.0, sum = 0.0;
        for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) top = std::max(top, logs[layer.edges[e].to]);
        for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e)
          sum += std::abs(double(layer.edges[e].weight)) * std::exp2(logs[layer.edges[e].to] - top);
        next[i] = top + std::log2(std::max(sum, 1.0));
      }
      logs.swap(next);
    }
    const double most = logs.empty() ? 0.0 : *std::max_element(logs.begin(), logs.end());
    return std::size_t((most + std::log2(1.0 + double(logs.size())) + 3.0) / 64.0) + 1;
  }
  void start(CostLists& lists, std::size_t n_states) const {
    for (std::size_t i = 0; i < n_states; ++i) {
      lists.costs.push_back(0);
      lists.counts.resize((i + 1) * words_, 0);
      lists.counts[i * words_] = 1;
      lists.first.push_back(i + 1);
    }
  }
  void drop(CostLists& lists) {
    bytes_ -= std::min(bytes_, 8 * lists.size() * (1 + words_));
    lists = CostLists();
  }
  void extend_forward(std::size_t t, base::ThrottledWatch& watch) {
    const Layer &layer = diagram_.layers[t], &next = diagram_.layers[t + 1];
    const Incoming incoming(layer, next.size());
    const CostLists& known = forward_[t];
    std::vector<Term> terms;
    for (std::size_t i = 0; i < next.size(); ++i) {
      terms.clear();
      const Cost most = diagram_.limit - next.least_after[i];
      for (std::size_t e = incoming.first[i]; e < incoming.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[incoming.edges[e]];
        add_terms(known, incoming.states[e], diagram_.costs[edge.candidate], edge.weight, most, terms);
      }
      watch.check();
      merge(known, terms, forward_[t + 1]);
    }
  }
  void extend_backward(std::size_t t, base::ThrottledWatch& watch) {
    const Layer& layer = diagram_.layers[t];
    const CostLists& known = backward_[t + 1];
    std::vector<Term> terms;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      terms.clear();
      const Cost most = diagram_.limit - layer.least_before[i];
      for (std::size_t e = layer.first[i]; e < layer.first[i + 1]; ++e) {
        const Edge& edge = layer.edges[e];
        add_terms(known, edge.to, diagram_.costs[edge.candidate], edge.weight, most, terms);
      }
      watch.check();
      merge(known, terms, backward_[t]);
    }
  }
  static void add_terms(const CostLists& known, std::size_t state, Cost cost, std::int32_t weight, Cost most,
                        std::vector<Term>& terms) {
    for (std::size_t p = known.first[state]; p < known.first[state + 1]; ++p) {
      if (known.costs[p] + cost > most) break;
      terms.push_back({known.costs[p] + cost, p, weight});
    }
  }
  void merge(const CostLists& known, std::vector<Term>& terms, CostLists& lists) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.cost < b.cost; });
    for (std::size_t k = 0; k < terms.size();) {
      const Cost cost = terms[k].cost;
      const std::size_t at = lists.counts.size();
      lists.counts.resize(at + words_, 0);
      for (; k < terms.size() && terms[k].cost == cost; ++k)
        add_times(&lists.counts[at], &known.counts[terms[k].at * words_], terms[k].weight, words_);
      if (is_zero(&lists.counts[at], words_))
        lists.counts.resize(at);
      else
        lists.costs.push_back(cost);
    }
    lists.first.push_back(lists.costs.size());
    bytes_ += 8 * (lists.costs.size() - lists.first[lists.first.size() - 2]) * (1 + words_);
    if (bytes_ + sizeof(Term) * terms.capacity() > max_bytes_) throw TooLarge();
  }

  const Diagram& diagram_;
  std::size_t n_, words_, meeting_ = 0;
  std::vector<CostLists> forward_, backward_;
  std::size_t max_bytes_, bytes_ = 0;
};

}  // namespace credibn::factored
