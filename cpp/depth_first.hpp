// All networks up to a cost, depth first over nodes, with the reduced costs of a dual bound (dual_bound.hpp).
//
// A partial network costs at least
//     lower + reduced costs of what is chosen + sum over open nodes of their cheapest candidate that closes no cycle
//           + y_r for each unit by which row r is certainly exceeded.
// A row that the choices so far fulfil makes each further member y_r dearer, so its open members are raised at once.
// The node with the fewest candidates within the budget comes next. Each level has its own filtered candidate lists:
// going back costs nothing, and nothing is allocated on the way.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "dual_bound.hpp"
#include "progress.hpp"
#include "recorder.hpp"

namespace credibn {

// Thrown when the cap on steps is reached.
struct GaveUp : std::exception {
  const char* what() const noexcept override { return "more steps than allowed"; }
};

// What all threads share: the candidates within the budget and the rows with a positive dual value.
template <int W>
struct Plan {
  struct Entry {
    Bits<W> parents;
    double reduced;
    std::uint32_t choice;  // position among the node's candidates
    std::uint32_t id;      // among all entries of the plan
  };
  struct Member {
    std::uint32_t other;  // a row of an entry, or an entry of a row
    int coefficient;
  };

  // most: networks that cost more are not wanted.
  Plan(const Choices<W>& choices, const std::vector<const Row*>& rows, const DualValues& duals, const DualBound& bound,
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
    rows_of.resize(n_entries);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (duals[r] == 0 || rows[r]->rhs <= 0) continue;  // the latter would always have a surplus
      const std::uint32_t row = std::uint32_t(members.size());
      members.emplace_back();
      price.push_back(duals[r]);
      rhs.push_back(rows[r]->rhs);
      for (std::size_t k = 0; k < rows[r]->at.size(); ++k) {
        const std::uint32_t id = id_of[rows[r]->at[k]];
        if (id == kNone) continue;
        members[row].push_back({id, rows[r]->coefficients[k]});
        rows_of[id].push_back({row, rows[r]->coefficients[k]});
      }
    }
  }

  // The running bound is changed up to n^2 / 2 + 2 n times on the way down, each time off by at most 2^-53 of its size,
  // which is at most 4 times the magnitude.
  static double running_rounding(int n, double magnitude) {
    return std::ldexp(magnitude, -53) * (512.0 + 4.0 * double(n) * double(n));
  }

  double limit, lower, margin;
  std::uint32_t n_entries = 0;
  std::vector<std::vector<Entry>> entries;   // of each node, the cheapest first
  std::vector<std::vector<Member>> rows_of;  // of each entry
  std::vector<std::vector<Member>> members;  // of each row
  std::vector<double> price;                 // dual value of each row
  std::vector<int> rhs;
};

// Counts the steps of all threads.
class StepCount {
 public:
  explicit StepCount(std::uint64_t most) : most_(most) {}
  void add(std::uint64_t steps) {
    if (count_.fetch_add(steps, std::memory_order_relaxed) + steps > most_) throw GaveUp();
  }
  bool is_capped() const { return most_ != ~std::uint64_t(0); }
  std::uint64_t count() const { return count_.load(); }

 private:
  std::uint64_t most_;
  std::atomic<std::uint64_t> count_{0};
};

// One thread's walk.
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
             std::uint64_t most_held)
      : choices_(choices),
        plan_(plan),
        by_class_(by_class),
        rank_(rank),
        collection_(collection),
        recorder_(recorder),
        steps_(steps),
        stop_(stop),
        most_held_(most_held),
        n_(std::size_t(choices.n())),
        levels_(n_ + 1),
        activity_(plan.rhs.size()),
        raise_(plan.n_entries),
        parents_(n_),
        row_(n_) {
    for (Level& level : levels_) {
      level.begin.resize(n_);
      level.end.resize(n_);
      level.below.resize(n_);
      level.cheapest.resize(n_);
    }
  }

  // Walks the tree below a prefix.
  void run(const Prefix& prefix) {
    follow(prefix, [&] { walk(prefix.size()); });
    count_steps();
  }
  // The prefixes one level below: the same ones whatever has been found meanwhile.
  std::vector<Prefix> expand(const Prefix& prefix) {
    std::vector<Prefix> longer;
    heeds_found_ = false;
    follow(prefix, [&] {
      Level& level = levels_[prefix.size()];
      if (!level.open.any()) {
        longer.push_back(prefix);
        return;
      }
      each_choice(level, [&] {
        longer.push_back(prefix);
        longer.back().push_back(level.steps);
      });
    });
    heeds_found_ = true;
    return longer;
  }
  // Hands in what a capped walk has found.
  void hand_in(const StopFlag& stop) {
    std::vector<Bits<W>> parents(n_);
    for (std::size_t k = 0; k * n_ < rows_.size(); ++k) {
      if (k % 256 == 0) stop.check();
      const std::uint32_t* row = rows_.data() + k * n_;
      for (std::size_t v = 0; v < n_; ++v) parents[v] = choices_.parents(int(v), row[v]);
      recorder_.found(parents.data(), row);
    }
    rows_.clear();
  }

 private:
  struct Level {
    std::vector<Entry> entries;
    std::vector<std::size_t> begin, end;  // of each open node
    std::vector<Bits<W>> below;           // of each node: itself and its descendants
    std::vector<double> cheapest;         // candidate of each open node
    Bits<W> open;
    double lower = 0;           // of the decided nodes and the rows
    double least = 0;           // with the cheapest candidates of the open nodes
    std::vector<Step> steps;    // decided next
    std::size_t n_applied = 0;  // of them
  };

  double limit() const {
    return (heeds_found_ ? std::min(recorder_.limit(), plan_.limit) : plan_.limit) + plan_.margin;
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
    cut(level, limit());
    return level.least <= limit();
  }

  // Does `then` after the steps of a prefix, if they are possible still.
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

  void walk(std::size_t depth) {
    if (++unreported_ == 256) {
      count_steps();
      stop_.check();
    }
    Level& level = levels_[depth];
    if (!level.open.any()) {
      found();
      return;
    }
    each_choice(level, [&] {
      if (enter(depth)) walk(depth + 1);
      leave(depth);
    });
  }
  // Calls visit() with each alternative in level.steps: all nodes with one candidate left take it together; if there is
  // none, the node with the fewest takes one after the other.
  template <class Visit>
  void each_choice(Level& level, Visit&& visit) {
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

  // Takes the level's steps: fills the next level, and tells whether it may hold a network.
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
    if (is_possible) cut(next, limit_now);
    return is_possible;
  }
  // For all candidates that can be copied to the next level. Most levels are far smaller than the first.
  static void make_room(const Level& here, Level& next) {
    std::size_t most = 0;
    next.open.each([&](int w) { most += here.end[std::size_t(w)] - here.begin[std::size_t(w)]; });
    if (next.entries.size() < most) next.entries.resize(most);
  }
  // Whether the next step agrees with those taken before it at this level; earlier levels have seen to themselves.
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
    row_[std::size_t(v)] = entry.choice;
    next.open.reset(v);
    double price = entry.reduced + raise_[entry.id];
    for (const auto& [r, coefficient] : plan_.rows_of[entry.id]) {
      const int before = activity_[r];
      activity_[r] += coefficient;
      if (before >= plan_.rhs[r] || activity_[r] < plan_.rhs[r]) continue;  // the former were raised already
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
      for (const auto& [r, coefficient] : plan_.rows_of[level.steps[k].entry.id]) activity_[r] -= coefficient;
    level.n_applied = 0;
  }
  // The parents of w with which its edge with a decided node would be covered but against the rank order, if any.
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
  // Copies the candidates of w that close no cycle to the next level, from `at` on; returns where they end.
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
  // Drops the candidates that are dearer than their node's cheapest by more than the budget.
  void cut(Level& level, double limit_now) {
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
    for (std::size_t v = 0; v < n_; ++v) cost += choices_.cost(int(v), row_[v]);
    if (cost > recorder_.limit() + choices_.rounding()) return;
    if (cost < best_) {
      best_ = cost;
      collection_.know(cost + choices_.rounding(), row_.data());
    }
    if (steps_.is_capped()) {
      if (4 * rows_.size() >= most_held_) throw GaveUp();
      rows_.insert(rows_.end(), row_.begin(), row_.end());
    } else {
      recorder_.found(parents_.data(), row_.data());
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
  std::uint64_t most_held_;  // bytes of rows that a capped walk may keep for itself
  std::size_t n_;
  std::vector<Level> levels_;
  std::vector<int> activity_;  // of each row, over the decided nodes
  std::vector<double> raise_;  // of each entry, while a level is made
  std::vector<std::uint32_t> raised_;
  std::vector<Bits<W>> uncanonical_;
  std::vector<Bits<W>> parents_;
  std::vector<std::uint32_t> row_;
  double best_ = std::numeric_limits<double>::infinity();
  std::uint64_t unreported_ = 0;
  bool heeds_found_ = true;
  std::vector<std::uint32_t> rows_;  // found by a capped walk
};

struct WalkResult {
  bool is_complete;
  std::uint64_t n_steps;
  double share;  // of the pieces of work that were done
};

// Some of the pieces that a walk is cut into, see walk_pieces.
struct PieceRange {
  std::size_t first = 0, last = ~std::size_t(0);
};

// The pieces of a walk, as prefixes: they depend on the plan alone, so that they can be done at different times and
// places.
template <int W>
std::vector<typename DepthFirst<W>::Prefix> walk_pieces(DepthFirst<W>& walker, int n) {
  std::vector<typename DepthFirst<W>::Prefix> pieces(1);
  const std::size_t n_wanted = 256;  // does not depend on the threads, nor do the results
  for (int depth = 0; depth < n && pieces.size() < n_wanted && !pieces.empty(); ++depth) {
    std::vector<typename DepthFirst<W>::Prefix> longer;
    for (const auto& prefix : pieces)
      for (auto& more : walker.expand(prefix)) longer.push_back(std::move(more));
    pieces = std::move(longer);
  }
  return pieces;
}

// Hands every network up to the limits of the plan and of the collection to it, of some pieces and with a cost within
// the band; when that takes more than max_steps, none at all, and the result says so.
template <int W>
WalkResult walk_networks(const Choices<W>& choices, const ChoiceIndex<W>& index, const Plan<W>& plan, bool by_class,
                         const std::vector<int>& rank, Collection& collection, std::uint64_t max_steps,
                         PieceRange range, Band band, unsigned n_threads, const Watch& watch) {
  StepCount steps(max_steps);
  StopFlag stop;
  const unsigned n_workers = std::max(1u, n_threads);
  std::vector<Recorder<W>> recorders;
  std::vector<DepthFirst<W>> walkers;
  recorders.reserve(n_workers);
  walkers.reserve(n_workers);
  for (unsigned worker = 0; worker < n_workers; ++worker) {
    recorders.emplace_back(choices, index, by_class, rank, collection, band);
    walkers.emplace_back(choices, plan, by_class, rank, collection, recorders.back(), steps, stop,
                         collection.spare_bytes() / n_workers);
  }
  const auto pieces = walk_pieces(walkers[0], choices.n());
  const std::size_t last = std::min(range.last, pieces.size()), first = std::min(range.first, last);
  auto hand_in = [&](const Watch& while_handing_in) {
    StopFlag stop_handing_in;
    try {
      run_tasks(n_workers, n_workers, while_handing_in, stop_handing_in,
                [&](std::size_t worker, unsigned, PartDone&) { walkers[worker].hand_in(stop_handing_in); });
    } catch (const Stopped&) {
      for (Recorder<W>& recorder : recorders) recorder.flush();
      throw;
    }
    for (Recorder<W>& recorder : recorders) recorder.flush();
  };
  // What is found is worth a moment after the stop.
  const auto for_a_moment = [end = std::chrono::steady_clock::time_point()](double) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point()) end = now + std::chrono::milliseconds(300);
    return now < end;
  };
  std::atomic<std::size_t> n_done{0};
  try {
    run_tasks(last - first, n_workers, watch, stop, [&](std::size_t task, unsigned worker, PartDone&) {
      walkers[worker].run(pieces[first + task]);
      ++n_done;
    });
  } catch (const GaveUp&) {
    return {false, steps.count(), double(n_done.load()) / double(last - first)};
  } catch (const Stopped&) {
    hand_in(for_a_moment);
    throw;
  }
  hand_in(watch);
  return {true, steps.count(), 1.0};
}

// How many pieces a walk is cut into.
template <int W>
std::size_t count_pieces(const Choices<W>& choices, const ChoiceIndex<W>& index, const Plan<W>& plan, bool by_class,
                         const std::vector<int>& rank, Collection& collection) {
  StepCount steps(~std::uint64_t(0));
  StopFlag stop;
  Recorder<W> recorder(choices, index, by_class, rank, collection);
  DepthFirst<W> walker(choices, plan, by_class, rank, collection, recorder, steps, stop, 0);
  return walk_pieces(walker, choices.n()).size();
}

}  // namespace credibn
