// Depth-first search for all networks up to a cost, with the reduced costs of a dual bound (dual_bound.hpp).
//
// A partial network costs at least
//     lower + reduced costs of what is chosen + sum over open nodes of their cheapest candidate that closes no cycle
//           + y_r for each unit of surplus that cut r certainly has.
// Once the choices so far satisfy cut r, each further member of it costs y_r more, so the reduced costs of its open
// members rise at once. The search branches on the node with the fewest candidates within the budget. Each level has
// its own filtered candidate lists: backtracking costs nothing, and the search allocates nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/progress.hpp"
#include "cuts/dual_bound.hpp"
#include "search/recorder.hpp"

namespace credibn::cuts {

using base::Bits;
using base::run_tasks;
using base::StopFlag;
using base::Stopped;
using base::TaskProgress;
using base::Watch;
using search::Band;
using search::ChoiceIndex;
using search::Choices;
using search::Collection;
using search::Recorder;

struct StepLimitReached : std::exception {
  const char* what() const noexcept override { return "the limit on steps is reached"; }
};

// What all threads share: the candidates within the budget and the cuts with a positive dual value.
template <int W>
struct Plan {
  struct Entry {
    Bits<W> parents;
    double reduced;
    std::uint32_t choice;  // position among the node's candidates
    std::uint32_t id;      // among all entries of the plan
  };
  struct Member {
    std::uint32_t other;  // a cut of an entry, or an entry of a cut
    int coefficient;
  };

  // most: networks that cost more are not wanted.
  Plan(const Choices<W>& choices, const std::vector<const Cut*>& cuts, const DualValues& duals, const DualBound& bound,
       double most)
      : limit(most),
        lower(bound.lower),
        margin(bound.margin + running_rounding(choices.n(), bound.magnitude)),
        entries(std::size_t(choices.n())) {
    constexpr std::uint32_t kNone = ~std::uint32_t(0);
    std::vector<std::uint32_t> id_of(choices.size(), kNone);
    const double budget = limit + margin - lower;
    for (int v = 0; v < choices.n(); ++v) {
      auto& of_node = entries[std::size_t(v)];
      for (std::size_t k = 0, at = choices.first(v); k < choices.size(v); ++k, ++at) {
        if (!(bound.reduced[at] <= budget)) continue;
        id_of[at] = n_entries++;
        of_node.push_back({choices.parents(v, k), bound.reduced[at], std::uint32_t(k), id_of[at]});
      }
      std::stable_sort(of_node.begin(), of_node.end(),
                       [](const Entry& a, const Entry& b) { return a.reduced < b.reduced; });
    }
    cuts_of.resize(n_entries);
    for (std::size_t r = 0; r < cuts.size(); ++r) {
      if (duals[r] == 0 || cuts[r]->rhs <= 0) continue;  // the latter would always have a surplus
      const std::uint32_t cut = std::uint32_t(members.size());
      members.emplace_back();
      price.push_back(duals[r]);
      rhs.push_back(cuts[r]->rhs);
      for (std::size_t k = 0; k < cuts[r]->at.size(); ++k) {
        const std::uint32_t id = id_of[cuts[r]->at[k]];
        if (id == kNone) continue;
        members[cut].push_back({id, cuts[r]->coefficients[k]});
        cuts_of[id].push_back({cut, cuts[r]->coefficients[k]});
      }
    }
  }

  // The running bound changes up to n^2 / 2 + 2 n times on a path of the search tree, each time with an error of at
  // most 2^-53 of its size, which is at most 4 times the magnitude.
  static double running_rounding(int n, double magnitude) {
    return std::ldexp(magnitude, -53) * (512.0 + 4.0 * double(n) * double(n));
  }

  double limit, lower, margin;
  std::uint32_t n_entries = 0;
  std::vector<std::vector<Entry>> entries;   // of each node, the cheapest first
  std::vector<std::vector<Member>> cuts_of;  // of each entry
  std::vector<std::vector<Member>> members;  // of each cut
  std::vector<double> price;                 // dual value of each cut
  std::vector<int> rhs;
};

// Counts the steps of all threads.
class StepCount {
 public:
  explicit StepCount(std::uint64_t most) : most_(most) {}
  void add(std::uint64_t steps) {
    if (count_.fetch_add(steps, std::memory_order_relaxed) + steps > most_) throw StepLimitReached();
  }
  bool has_limit() const { return most_ != ~std::uint64_t(0); }
  std::uint64_t count() const { return count_.load(); }

 private:
  std::uint64_t most_;
  std::atomic<std::uint64_t> count_{0};
};

// The search of one thread.
template <int W>
class DepthFirst {
 public:
  using Entry = typename Plan<W>::Entry;
  struct Step {
    int node;
    Entry entry;
  };
  using Prefix = std::vector<std::vector<Step>>;  // the steps of each level

  DepthFirst(const Choices<W>& choices, const Plan<W>& plan, bool by_class, const std::vector<int>& rank,
             Collection& collection, Recorder<W>& recorder, StepCount& steps, const StopFlag& stop,
             std::uint64_t most_pending_bytes)
      : choices_(choices),
        plan_(plan),
        by_class_(by_class),
        rank_(rank),
        collection_(collection),
        recorder_(recorder),
        steps_(steps),
        stop_(stop),
        most_pending_bytes_(most_pending_bytes),
        n_(std::size_t(choices.n())),
        levels_(n_ + 1),
        activity_(plan.rhs.size()),
        raise_(plan.n_entries),
        parents_(n_),
        network_(n_) {
    for (Level& level : levels_) {
      level.begin.resize(n_);
      level.end.resize(n_);
      level.below.resize(n_);
      level.cheapest.resize(n_);
    }
  }

  // Searches the subtree below a prefix.
  void run(const Prefix& prefix) {
    follow(prefix, [&] { search_below(prefix.size()); });
    count_steps();
  }
  // The prefixes one level below. They do not depend on what has been found meanwhile.
  std::vector<Prefix> expand(const Prefix& prefix) {
    std::vector<Prefix> longer;
    uses_found_limit_ = false;
    follow(prefix, [&] {
      Level& level = levels_[prefix.size()];
      if (!level.open.any()) {
        longer.push_back(prefix);
        return;
      }
      each_branch(level, [&] {
        longer.push_back(prefix);
        longer.back().push_back(level.steps);
      });
    });
    uses_found_limit_ = true;
    return longer;
  }
  // Records what a search with a limit on its steps has found.
  void hand_in(const StopFlag& stop) {
    std::vector<Bits<W>> parents(n_);
    for (std::size_t k = 0; k * n_ < pending_.size(); ++k) {
      if (k % 256 == 0) stop.check();
      const std::uint32_t* network = pending_.data() + k * n_;
      for (std::size_t v = 0; v < n_; ++v) parents[v] = choices_.parents(int(v), network[v]);
      recorder_.found(parents.data(), network);
    }
    pending_.clear();
  }

 private:
  struct Level {
    std::vector<Entry> entries;
    std::vector<std::size_t> begin, end;  // of each open node
    std::vector<Bits<W>> below;           // of each node: itself and its descendants
    std::vector<double> cheapest;         // candidate of each open node
    Bits<W> open;
    double lower = 0;           // of the decided nodes and the cuts
    double least = 0;           // with the cheapest candidates of the open nodes
    std::vector<Step> steps;    // decided next
    std::size_t n_applied = 0;  // of them
  };

  double limit() const {
    return (uses_found_limit_ ? std::min(recorder_.limit(), plan_.limit) : plan_.limit) + plan_.margin;
  }

  bool start() {
    Level& level = levels_[0];
    level.entries.resize(plan_.n_entries);
    std::size_t at = 0;
    for (std::size_t v = 0; v < n_; ++v) {
      level.begin[v] = at;
      for (const Entry& entry : plan_.entries[v]) level.entries[at++] = entry;
      level.end[v] = at;
      level.below[v] = Bits<W>::of(int(v));
    }
    level.open = Bits<W>::first(int(n_));
    level.lower = level.least = plan_.lower;
    for (std::size_t v = 0; v < n_; ++v) {
      if (level.begin[v] == level.end[v]) return false;
      level.cheapest[v] = level.entries[level.begin[v]].reduced;
      level.least += level.cheapest[v];
    }
    drop_expensive(level, limit());
    return level.least <= limit();
  }

  // Calls then() after the steps of a prefix, if they are still possible.
  template <class Then>
  void follow(const Prefix& prefix, Then&& then) {
    if (!start()) return;
    std::size_t depth = 0;
    for (bool is_possible = true; is_possible && depth < prefix.size();) {
      levels_[depth].steps = prefix[depth];
      is_possible = enter(depth);
      if (is_possible)
        ++depth;
      else
        leave(depth);
    }
    if (depth == prefix.size()) then();
    while (depth-- > 0) leave(depth);
  }

  void search_below(std::size_t depth) {
    if (++unreported_ == 256) {
      count_steps();
      stop_.check();
    }
    Level& level = levels_[depth];
    if (!level.open.any()) {
      found();
      return;
    }
    each_branch(level, [&] {
      if (enter(depth)) search_below(depth + 1);
      leave(depth);
    });
  }
  // Calls visit() for each branch, with its decisions in level.steps: all nodes with one candidate left take it
  // together; if there is none, the node with the fewest candidates takes one after the other.
  template <class Visit>
  void each_branch(Level& level, Visit&& visit) {
    std::size_t fewest = ~std::size_t(0), v = 0;
    level.steps.clear();
    level.open.each([&](int w) {
      const std::size_t node = std::size_t(w), size = level.end[node] - level.begin[node];
      if (size == 1) level.steps.push_back({w, level.entries[level.begin[node]]});
      if (size >= fewest) return;
      fewest = size;
      v = node;
    });
    if (fewest == 1) {
      visit();
      return;
    }
    for (std::size_t k = level.begin[v]; k < level.end[v]; ++k) {
      if (level.least - level.cheapest[v] + level.entries[k].reduced > limit()) continue;
      level.steps.assign(1, {int(v), level.entries[k]});
      visit();
    }
  }

  // Takes the level's steps: fills the next level, and returns whether it may contain a network.
  bool enter(std::size_t depth) {
    Level& here = levels_[depth];
    Level& next = levels_[depth + 1];
    const double limit_now = limit();
    next.open = here.open;
    next.lower = here.lower;
    next.least = here.least;
    std::copy(here.below.begin(), here.below.end(), next.below.begin());
    here.n_applied = 0;
    bool is_possible = true;
    while (is_possible && here.n_applied < here.steps.size()) {
      is_possible = is_consistent(here, next);
      if (is_possible) take(here.steps[here.n_applied++], here, next);
      is_possible = is_possible && next.least <= limit_now;
    }
    if (is_possible) make_room(here, next);
    std::size_t at = 0;
    for (Bits<W> left = next.open; is_possible && left.any(); is_possible = next.least <= limit_now) {
      const int w = left.lowest();
      left.reset(w);
      at = filter(here, next, w, at);
      next.least += next.cheapest[std::size_t(w)] - here.cheapest[std::size_t(w)];  // infinite if none is left
    }
    lower_members();
    if (is_possible) drop_expensive(next, limit_now);
    return is_possible;
  }
  // Space for all candidates that can be copied to the next level. Most levels are far smaller than the first.
  static void make_room(const Level& here, Level& next) {
    std::size_t most = 0;
    next.open.each([&](int w) { most += here.end[std::size_t(w)] - here.begin[std::size_t(w)]; });
    if (next.entries.size() < most) next.entries.resize(most);
  }
  // Whether the next step is consistent with the earlier steps of this level; earlier levels have been checked.
  bool is_consistent(const Level& here, const Level& next) const {
    const Step& step = here.steps[here.n_applied];
    if (step.entry.parents.intersects(next.below[std::size_t(step.node)])) return false;
    for (std::size_t k = 0; by_class_ && k < here.n_applied; ++k) {
      Bits<W> uncanonical;
      if (has_uncanonical(here.steps[k], step.node, uncanonical) && step.entry.parents == uncanonical) return false;
    }
    return true;
  }
  void take(const Step& step, const Level& here, Level& next) {
    const auto& [v, entry] = step;
    parents_[std::size_t(v)] = entry.parents;
    network_[std::size_t(v)] = entry.choice;
    next.open.reset(v);
    double price = entry.reduced + raise_[entry.id];
    for (const auto& [r, coefficient] : plan_.cuts_of[entry.id]) {
      const int before = activity_[r];
      activity_[r] += coefficient;
      if (before >= plan_.rhs[r] || activity_[r] < plan_.rhs[r]) continue;  // the former were raised earlier
      price += plan_.price[r] * (activity_[r] - plan_.rhs[r]);
      raise_members(r);
    }
    next.lower += price;
    next.least += price - here.cheapest[std::size_t(v)];
    const Bits<W> below = next.below[std::size_t(v)];
    for (Bits<W>& of_node : next.below)
      if (of_node.intersects(entry.parents)) of_node |= below;
  }
  void leave(std::size_t depth) {
    Level& level = levels_[depth];
    for (std::size_t k = 0; k < level.n_applied; ++k)
      for (const auto& [r, coefficient] : plan_.cuts_of[level.steps[k].entry.id]) activity_[r] -= coefficient;
    level.n_applied = 0;
  }
  // The parents of w with which its edge to a decided node would be covered but against the rank order, if any.
  bool has_uncanonical(const Step& decided, int w, Bits<W>& parents_of_w) const {
    const int v = decided.node;
    parents_of_w = decided.entry.parents;
    if (rank_[std::size_t(v)] > rank_[std::size_t(w)]) {
      parents_of_w.set(v);  // v -> w, parents(w) = parents(v) + v
      return true;
    }
    const bool is_parent = parents_of_w.test(w);
    parents_of_w.reset(w);  // w -> v, parents(w) = parents(v) - w
    return is_parent;
  }
  // Copies the candidates of w that close no cycle to the next level, from `at` on; returns their end.
  std::size_t filter(const Level& here, Level& next, int w, std::size_t at) {
    const std::size_t node = std::size_t(w);
    next.begin[node] = at;
    const Bits<W> banned = next.below[node];
    uncanonical_.clear();
    for (std::size_t k = 0; by_class_ && k < here.steps.size(); ++k) {
      Bits<W> parents;
      if (has_uncanonical(here.steps[k], w, parents)) uncanonical_.push_back(parents);
    }
    double cheapest = std::numeric_limits<double>::infinity();
    for (std::size_t k = here.begin[node]; k < here.end[node]; ++k) {
      const Entry& candidate = here.entries[k];
      if (candidate.parents.intersects(banned)) continue;
      if (std::find(uncanonical_.begin(), uncanonical_.end(), candidate.parents) != uncanonical_.end()) continue;
      next.entries[at] = candidate;
      cheapest = std::min(cheapest, next.entries[at].reduced += raise_[candidate.id]);
      ++at;
    }
    next.end[node] = at;
    next.cheapest[node] = cheapest;
    return at;
  }
  // Drops the candidates that exceed the cost of their node's cheapest by more than the budget.
  void drop_expensive(Level& level, double limit_now) {
    const double slack = limit_now - level.least;
    level.open.each([&](int v) {
      const std::size_t node = std::size_t(v);
      std::size_t end = level.begin[node];
      for (std::size_t k = end; k < level.end[node]; ++k)
        if (level.entries[k].reduced - level.cheapest[node] <= slack) level.entries[end++] = level.entries[k];
      level.end[node] = end;
    });
  }
  void raise_members(std::size_t r) {
    for (const auto& [id, coefficient] : plan_.members[r]) {
      raise_[id] += plan_.price[r] * coefficient;
      raised_.push_back(id);
    }
  }
  void lower_members() {
    for (std::uint32_t id : raised_) raise_[id] = 0;
    raised_.clear();
  }

  void found() {
    double cost = 0;
    for (std::size_t v = 0; v < n_; ++v) cost += choices_.cost(int(v), network_[v]);
    if (cost > recorder_.limit() + choices_.rounding()) return;
    if (cost < best_) {
      best_ = cost;
      collection_.update_incumbent(cost + choices_.rounding(), network_.data());
    }
    if (steps_.has_limit()) {
      if (4 * pending_.size() >= most_pending_bytes_) throw StepLimitReached();
      pending_.insert(pending_.end(), network_.begin(), network_.end());
    } else {
      recorder_.found(parents_.data(), network_.data());
    }
  }
  void count_steps() {
    const std::uint64_t steps = unreported_;
    unreported_ = 0;
    steps_.add(steps);
  }

  const Choices<W>& choices_;
  const Plan<W>& plan_;
  bool by_class_;
  const std::vector<int>& rank_;
  Collection& collection_;
  Recorder<W>& recorder_;
  StepCount& steps_;
  const StopFlag& stop_;
  std::uint64_t most_pending_bytes_;
  std::size_t n_;
  std::vector<Level> levels_;
  std::vector<int> activity_;  // of each cut, over the decided nodes
  std::vector<double> raise_;  // of each entry, while the next level is filled
  std::vector<std::uint32_t> raised_;
  std::vector<Bits<W>> uncanonical_;
  std::vector<Bits<W>> parents_;
  std::vector<std::uint32_t> network_;
  double best_ = std::numeric_limits<double>::infinity();
  std::uint64_t unreported_ = 0;
  bool uses_found_limit_ = true;
  std::vector<std::uint32_t> pending_;  // networks found by a search with a limit on its steps: not yet recorded
};

struct DepthFirstResult {
  bool is_complete;
  std::uint64_t n_steps;
  double share;  // of the tasks that were finished
};

// Some of the tasks of a search, see tasks_of.
struct TaskRange {
  std::size_t first = 0, last = ~std::size_t(0);
};

// The tasks of a search, as prefixes. They depend on the plan alone, so that they can be run at different times and on
// different machines.
template <int W>
std::vector<typename DepthFirst<W>::Prefix> tasks_of(DepthFirst<W>& searcher, int n) {
  std::vector<typename DepthFirst<W>::Prefix> tasks(1);
  const std::size_t n_wanted = 256;  // independent of the number of threads, as are the results
  for (int depth = 0; depth < n && tasks.size() < n_wanted && !tasks.empty(); ++depth) {
    std::vector<typename DepthFirst<W>::Prefix> longer;
    for (const auto& prefix : tasks)
      for (auto& more : searcher.expand(prefix)) longer.push_back(std::move(more));
    tasks = std::move(longer);
  }
  return tasks;
}

// Hands to the collection every network of some tasks that costs at most the limits of the plan and of the collection
// and lies within the band. If that takes more than max_steps, it records none at all, and the result says so.
template <int W>
DepthFirstResult search_networks(const Choices<W>& choices, const ChoiceIndex<W>& index, const Plan<W>& plan,
                                 bool by_class, const std::vector<int>& rank, Collection& collection,
                                 std::uint64_t max_steps, TaskRange range, Band band, unsigned n_threads,
                                 const Watch& watch) {
  StepCount steps(max_steps);
  StopFlag stop;
  const unsigned n_workers = std::max(1u, n_threads);
  std::vector<Recorder<W>> recorders;
  std::vector<DepthFirst<W>> searchers;
  recorders.reserve(n_workers);
  searchers.reserve(n_workers);
  for (unsigned worker = 0; worker < n_workers; ++worker) {
    recorders.emplace_back(choices, index, by_class, rank, collection, band);
    searchers.emplace_back(choices, plan, by_class, rank, collection, recorders.back(), steps, stop,
                           collection.spare_bytes() / n_workers);
  }
  const auto tasks = tasks_of(searchers[0], choices.n());
  const std::size_t last = std::min(range.last, tasks.size()), first = std::min(range.first, last);
  auto hand_in = [&](const Watch& while_handing_in) {
    StopFlag stop_handing_in;
    try {
      run_tasks(n_workers, n_workers, while_handing_in, stop_handing_in,
                [&](std::size_t worker, unsigned, TaskProgress&) { searchers[worker].hand_in(stop_handing_in); });
    } catch (const Stopped&) {
      for (Recorder<W>& recorder : recorders) recorder.flush();
      throw;
    }
    for (Recorder<W>& recorder : recorders) recorder.flush();
  };
  // After a stop, a moment is left to record what was found.
  const auto for_a_moment = [end = std::chrono::steady_clock::time_point()](double) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point()) end = now + std::chrono::milliseconds(300);
    return now < end;
  };
  std::atomic<std::size_t> n_done{0};
  try {
    run_tasks(last - first, n_workers, watch, stop, [&](std::size_t task, unsigned worker, TaskProgress&) {
      searchers[worker].run(tasks[first + task]);
      ++n_done;
    });
  } catch (const StepLimitReached&) {
    return {false, steps.count(), double(n_done.load()) / double(last - first)};
  } catch (const Stopped&) {
    hand_in(for_a_moment);
    throw;
  }
  hand_in(watch);
  return {true, steps.count(), 1.0};
}

// The number of tasks of a search.
template <int W>
std::size_t count_tasks(const Choices<W>& choices, const ChoiceIndex<W>& index, const Plan<W>& plan, bool by_class,
                        const std::vector<int>& rank, Collection& collection) {
  StepCount steps(~std::uint64_t(0));
  StopFlag stop;
  Recorder<W> recorder(choices, index, by_class, rank, collection);
  DepthFirst<W> searcher(choices, plan, by_class, rank, collection, recorder, steps, stop, 0);
  return tasks_of(searcher, choices.n()).size();
}

}  // namespace credibn::cuts
