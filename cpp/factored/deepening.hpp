// The diagram of all networks up to a limit, in stages of growing limits. A stage goes through the layers and leaves
// out what cannot be completed within its limit, by the bounds of the dual values and by what earlier stages learned:
// each state remembers a lower bound on the cost of completing it, which holds for every limit. So the states of a
// stage are hardly more than those that its networks need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "factored/coarse_bounds.hpp"
#include "factored/diagram.hpp"
#include "factored/frontier.hpp"
#include "factored/state_table.hpp"

namespace credibn::factored {

inline constexpr std::uint32_t kOpen = ~std::uint32_t(0);

// What a stage may take.
struct Allowance {
  std::size_t bytes;
  std::size_t steps = ~std::size_t(0);  // candidates tried
};

template <int W>
class Deepening {
 public:
  // No stage has a limit above `most`.
  Deepening(const Candidates<W>& candidates, const std::vector<int>& order, Cost most)
      : candidates_(candidates),
        bounds_(candidates, most),
        frontier_(candidates, order),
        n_(order.size()),
        n_bounds_(bounds_.size()),
        least_(n_ * n_bounds_),
        rest_((n_ + 1) * n_bounds_),
        tables_(n_ + 1) {
    tables_[0].find_or_add(nullptr, 0);
    tables_[0].raise_bound(0, candidates.bound());
    std::vector<std::int64_t> rest(n_bounds_);
    for (std::size_t j = 0; j < n_bounds_; ++j) rest[j] = rest_[n_ * n_bounds_ + j] = bounds_.lower(j);
    for (std::size_t t = n_; t-- > 0;) {
      const std::size_t v = std::size_t(order[t]);
      Coarse* least = &least_[v * n_bounds_];
      std::copy_n(bounds_.reduced(candidates.first[v]), n_bounds_, least);
      for (std::size_t c = candidates.first[v]; c < candidates.first[v + 1]; ++c)
        for (std::size_t j = 0; j < n_bounds_; ++j) least[j] = std::min(least[j], bounds_.reduced(c)[j]);
      for (std::size_t j = 0; j < n_bounds_; ++j) rest_[t * n_bounds_ + j] = CoarseBounds::cut_off(rest[j] += least[j]);
    }
  }

  const std::vector<int>& order() const { return frontier_.order(); }
  // No network costs less.
  Cost bound() const { return tables_[0].bound(0); }
  std::size_t n_steps() const { return n_steps_; }  // candidates tried in the last stage

  // Goes through all layers; false where that takes more than is allowed.
  bool stage(Cost limit, const Allowance& allowed, base::ThrottledWatch& watch) {
    limit_ = limit;
    n_steps_ = 0;
    steps_.assign(n_ + 1, Steps());
    steps_[0].states = {0};
    steps_[0].least_before = {0};
    std::vector<Coarse> leads(n_bounds_, 0), next_leads;
    table_bytes_ = steps_bytes_ = 0;
    for (const StateTable& table : tables_) table_bytes_ += table.bytes();
    for (std::size_t t = 0; t < n_; ++t) {
      next_leads.clear();
      if (!expand_layer(t, leads, next_leads, allowed, watch)) return false;
      leads.swap(next_leads);
    }
    learn();
    return true;
  }
  // The cheapest ways to up to `count` states that the last stage went through, evenly spread: for each way the
  // candidate of each node, kOpen where it is not decided.
  std::vector<std::uint32_t> prefixes(std::size_t count) const {
    std::vector<std::pair<std::size_t, std::uint32_t>> expanded;  // layers and states
    for (std::size_t t = 1; t < n_; ++t)
      for (std::size_t x = 0; x < steps_[t].least_left_out.size(); ++x)
        if (steps_[t].least_left_out[x] != kNotExpanded) expanded.push_back({t, std::uint32_t(x)});
    count = std::min(count, expanded.size());
    std::vector<std::vector<LastStep>> ways(n_ + 1);
    for (std::size_t t = 0; t < n_; ++t) ways[t + 1] = last_steps_to(t + 1);
    std::vector<std::uint32_t> found(count * n_, kOpen);
    for (std::size_t k = 0; k < count; ++k) {
      auto [t, x] = expanded[(2 * k + 1) * expanded.size() / (2 * count)];
      for (; t > 0; --t) {
        const auto [before, candidate] = ways[t][x];
        found[k * n_ + std::size_t(frontier_.order()[t - 1])] = candidate;
        x = before;
      }
    }
    return found;
  }
  // The networks of the last stage.
  Diagram diagram(bool with_keys) const {
    Diagram found;
    found.order = frontier_.order();
    found.costs = candidates_.costs;
    found.limit = limit_;
    found.layers.resize(n_ + 1);
    for (std::size_t t = 0; t <= n_; ++t) {
      const Steps& steps = steps_[t];
      Layer& layer = found.layers[t];
      layer.least_before = steps.least_before;
      if (t < n_) layer.first = steps.first;
      layer.edges = steps.edges;
      if (!with_keys) continue;
      layer.ends.push_back(0);
      for (const std::uint32_t state : steps.states) {
        layer.keys.insert(layer.keys.end(), tables_[t].key(state), tables_[t].key(state) + tables_[t].length(state));
        layer.ends.push_back(layer.keys.size());
      }
    }
    found.layers[n_].least_after.assign(found.layers[n_].size(), 0);
    found.trim();
    return found;
  }

 private:
  using Relation = typename Frontier<W>::Relation;
  using Key = typename Frontier<W>::Key;
  static constexpr Cost kNotExpanded = -kNever;

  struct Steps {                        // of one layer, in the last stage
    std::vector<std::uint32_t> states;  // numbers in the layer's table
    std::vector<Cost> least_before;
    std::vector<Cost> least_left_out;  // of completions through candidates that were left out
    std::vector<std::uint64_t> first{0};
    std::vector<Edge> edges;
    std::size_t bytes() const {
      return 4 * states.capacity() + 8 * (least_before.capacity() + least_left_out.capacity() + first.capacity()) +
             sizeof(Edge) * edges.capacity();
    }
  };
  struct LastStep {  // of the cheapest way to a state
    std::uint32_t state, candidate;
  };
  struct Row {
    int node;
    Bits<W> set;
    friend bool operator==(const Row& a, const Row& b) { return a.node == b.node && a.set == b.set; }
  };
  struct RowHash {
    std::size_t operator()(const Row& row) const {
      return std::size_t(row.set.hash() * 31 + std::uint64_t(row.node) * 0x9e3779b97f4a7c15ULL);
    }
  };

  // `leads` holds for each state and bound j the most that a path to it has of reduced cost beyond true cost: the state
  // costs at least lower + lead + what the undecided nodes must still pay, whatever path led to it.
  bool expand_layer(std::size_t t, const std::vector<Coarse>& leads, std::vector<Coarse>& next_leads,
                    const Allowance& allowed, base::ThrottledWatch& watch) {
    const std::size_t v = std::size_t(frontier_.order()[t]);
    Steps &steps = steps_[t], &next = steps_[t + 1];
    StateTable &table = tables_[t], &next_table = tables_[t + 1];
    std::vector<std::uint32_t> place(next_table.size(), StateTable::kNone);  // of a state among those of the stage
    std::unordered_map<Row, std::size_t, RowHash> known_rows;
    std::vector<Coarse> extras, total(n_bounds_), ahead(n_bounds_);
    Relation relation(n_), after(n_);
    Key key;
    const std::size_t table_bytes_before = next_table.bytes();
    steps.least_left_out.assign(steps.states.size(), kNotExpanded);
    for (std::size_t x = 0; x < steps.states.size(); ++x) {
      watch.check();
      const std::uint32_t state = steps.states[x];
      const Cost before = steps.least_before[x];
      const Coarse* lead = &leads[x * n_bounds_];
      const Bits<W> rows = Frontier<W>::from_key(table.key(state), table.length(state), relation);
      for (std::size_t j = 0; j < n_bounds_; ++j) total[j] = rest_[t * n_bounds_ + j] + lead[j];
      rows.each([&](int w) {
        const Row row{w, relation[std::size_t(w)]};
        const auto [at, is_new] = known_rows.try_emplace(row, extras.size());
        if (is_new) add_extras(row, extras);
        const Coarse* extra = &extras[at->second];
        for (std::size_t j = 0; j < n_bounds_; ++j) total[j] = CoarseBounds::sum(total[j], extra[j]);
      });
      table.raise_bound(state, bounds_.fine(*std::max_element(total.begin(), total.end())));
      if (before + table.bound(state) <= limit_) look_up_subsets(table, state, rows, relation, before);
      if (before + table.bound(state) <= limit_) {
        Cost left_out = kNever;
        for (std::size_t j = 0; j < n_bounds_; ++j) ahead[j] = rest_[(t + 1) * n_bounds_ + j] + lead[j];
        for (std::size_t c = candidates_.first[v]; c < candidates_.first[v + 1]; ++c) {
          if (candidates_.parents[c].intersects(relation[v])) continue;
          const Coarse* reduced = bounds_.reduced(c);
          const Cost least = bounds_.fine(bounds_.largest(ahead.data(), reduced));
          if (before + least > limit_) {
            left_out = std::min(left_out, least);
            continue;
          }
          ++n_steps_;
          frontier_.decide(t, relation, candidates_.parents[c], after);
          Frontier<W>::to_key(frontier_.open(t), after, key);
          const std::uint32_t to = next_table.find_or_add(key.data(), key.size());
          const Cost cost = candidates_.costs[c];
          if (before + cost + next_table.bound(to) > limit_) {
            left_out = std::min(left_out, std::max(least, cost + next_table.bound(to)));
            continue;
          }
          if (place.size() <= to) place.resize(std::max<std::size_t>(to + 1, 2 * place.size()), StateTable::kNone);
          if (place[to] == StateTable::kNone) {
            place[to] = std::uint32_t(next.states.size());
            next.states.push_back(to);
            next.least_before.push_back(kNever);
            next_leads.resize(next_leads.size() + n_bounds_, CoarseBounds::kLeast);
          }
          const std::size_t y = place[to];
          next.least_before[y] = std::min(next.least_before[y], before + cost);
          Coarse* next_lead = &next_leads[y * n_bounds_];
          const Coarse paid = bounds_.up(cost);
          for (std::size_t j = 0; j < n_bounds_; ++j)
            next_lead[j] = std::max(next_lead[j], lead[j] + reduced[j] - paid);
          steps.edges.push_back({std::uint32_t(y), std::uint32_t(c), 1});
        }
        steps.least_left_out[x] = left_out;
      }
      rows.each([&](int w) { relation[std::size_t(w)] = Bits<W>(); });
      steps.first.push_back(steps.edges.size());
      if (n_steps_ > allowed.steps) return false;
      if (x % 256 == 0) {
        const std::size_t in_use = table_bytes_ + next_table.bytes() - table_bytes_before + steps_bytes_ +
                                   steps.bytes() + next.bytes() +
                                   sizeof(Coarse) * (leads.capacity() + next_leads.capacity() + 2 * extras.capacity());
        if (in_use > allowed.bytes || next_table.size() >= StateTable::kNone - 1) return false;
      }
    }
    table_bytes_ += next_table.bytes() - table_bytes_before;
    steps_bytes_ = 0;
    for (const Steps& each : steps_) steps_bytes_ += each.bytes();
    return true;
  }
  std::vector<LastStep> last_steps_to(std::size_t t) const {
    const Steps &from = steps_[t - 1], &to = steps_[t];
    std::vector<LastStep> found(to.states.size());
    for (std::uint32_t x = 0; x + 1 < from.first.size(); ++x)
      for (std::size_t e = from.first[x]; e < from.first[x + 1]; ++e) {
        const Edge& edge = from.edges[e];
        if (from.least_before[x] + candidates_.costs[edge.candidate] == to.least_before[edge.to])
          found[edge.to] = {x, edge.candidate};
      }
    return found;
  }
  // For each bound, what a node must pay beyond its least reduced cost because its set rules candidates out.
  void add_extras(const Row& row, std::vector<Coarse>& extras) const {
    const std::size_t at = extras.size(), w = std::size_t(row.node);
    extras.resize(at + n_bounds_, CoarseBounds::cut_off(kNever));
    Coarse* extra = &extras[at];
    const Coarse* least = &least_[w * n_bounds_];
    for (std::size_t c = candidates_.first[w]; c < candidates_.first[w + 1]; ++c) {
      if (candidates_.parents[c].intersects(row.set)) continue;
      const Coarse* reduced = bounds_.reduced(c);
      for (std::size_t j = 0; j < n_bounds_; ++j) extra[j] = std::min(extra[j], reduced[j] - least[j]);
    }
  }
  // A state whose relation holds more has fewer completions, so what holds for a part of its relation holds for it:
  // look up the relation without one node's set, without one decided node, and without one pair.
  void look_up_subsets(StateTable& table, std::uint32_t state, const Bits<W>& rows, Relation& relation, Cost before) {
    const Bits<W> open = rows;
    Bits<W> reached;
    rows.each([&](int u) { reached |= relation[std::size_t(u)]; });
    auto ask = [&] {
      Frontier<W>::to_key(open, relation, part_);
      const std::uint32_t known = table.find(part_.data(), part_.size());
      if (known != StateTable::kNone) table.raise_bound(state, table.bound(known));
      return before + table.bound(state) > limit_;
    };
    bool is_done = false;
    rows.each([&](int u) {
      if (is_done) return;
      const Bits<W> set = std::exchange(relation[std::size_t(u)], Bits<W>());
      is_done = ask();
      relation[std::size_t(u)] = set;
    });
    reached.each([&](int a) {
      if (is_done) return;
      saved_.assign(relation.begin(), relation.end());
      rows.each([&](int u) { relation[std::size_t(u)].reset(a); });
      is_done = ask();
      relation.swap(saved_);
    });
    rows.each([&](int u) {
      const Bits<W> set = relation[std::size_t(u)];
      if (set.count() < 2) return;
      set.each([&](int a) {
        if (is_done) return;
        relation[std::size_t(u)].reset(a);
        is_done = ask();
        relation[std::size_t(u)] = set;
      });
    });
  }
  // From the last layer to the first: the least that a completion through any candidate costs.
  void learn() {
    for (std::size_t x = 0; x < tables_[n_].size(); ++x) tables_[n_].raise_bound(x, 0);
    for (std::size_t t = n_; t-- > 0;) {
      const Steps &steps = steps_[t], &next = steps_[t + 1];
      for (std::size_t x = 0; x < steps.states.size(); ++x) {
        if (steps.least_left_out[x] == kNotExpanded) continue;
        Cost least = steps.least_left_out[x];
        for (std::size_t e = steps.first[x]; e < steps.first[x + 1]; ++e) {
          const Edge& edge = steps.edges[e];
          least = std::min(least, candidates_.costs[edge.candidate] + tables_[t + 1].bound(next.states[edge.to]));
        }
        tables_[t].raise_bound(steps.states[x], std::min(least, kNever));
      }
    }
  }

  const Candidates<W>& candidates_;
  CoarseBounds bounds_;
  Frontier<W> frontier_;
  std::size_t n_, n_bounds_;
  std::vector<Coarse> least_;  // node v, bound j: the least reduced cost
  std::vector<Coarse> rest_;   // before layer t, bound j: `lower` and the least reduced costs of what is undecided
  std::vector<StateTable> tables_;
  std::vector<Steps> steps_;
  Cost limit_ = 0;
  std::size_t n_steps_ = 0, table_bytes_ = 0, steps_bytes_ = 0;
  Key part_;
  Relation saved_;
};

}  // namespace credibn::factored
