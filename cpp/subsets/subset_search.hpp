// Lists all networks below a cost with the exact bounds of SubsetBounds.
//
// A network has one decomposition into layers: its sources, the sources of the rest, and so on; each node of a
// layer has a parent in the layer before. Layers are chosen from the sources on. With S placed, choosing a layer L
// costs at least the chosen parent sets plus completion(S + L), which only grows with L, so a subset is rejected as
// soon as it is too expensive. A node that is left out of the layer must have a parent outside S (else it would belong
// to this layer or an earlier one). Its regret, the least by which the cost of such a parent set exceeds that of its
// own best subset, can be added for all of them together, because dropping parents never makes a cycle.
//
// By class, a node is rejected when one of its edges u -> v is covered (parents(v) = parents(u) + u) and u has the
// larger rank: the canonical member of a class has no such edge.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "search/recorder.hpp"
#include "subsets/bound_table.hpp"
#include "subsets/subset_bounds.hpp"

namespace credibn::subsets {

using base::Bits;
using base::run_tasks;
using base::stage_of;
using base::StopFlag;
using base::Stopped;
using base::TaskProgress;
using base::ThrottledWatch;
using base::Watch;
using search::Band;
using search::ChoiceIndex;
using search::Choices;
using search::Collection;
using search::QuotaFull;
using search::Recorder;

// Called from time to time; throws Stopped when the search is to end.
using Check = std::function<void()>;

struct SearchStatistics {
  std::uint64_t n_layers = 0, n_dead_ends = 0, n_complete = 0, n_bounds = 0;
};

// For each node its parent sets by how much their cost exceeds that of their best subset.
class Regrets {
 public:
  template <class Bounds>
  Regrets(const SubsetChoices& choices, const Bounds& bounds) : by_regret_(std::size_t(choices.n)) {
    for (std::size_t v = 0; v < by_regret_.size(); ++v) {
      for (std::size_t k = 0; k < choices.masks[v].size(); ++k) {
        const Subset parents = choices.masks[v][k];
        by_regret_[v].push_back({choices.costs[v][k] - choices.costs[v][bounds.best(int(v), parents)], parents});
      }
      std::stable_sort(by_regret_[v].begin(), by_regret_[v].end(),
                       [](const Regret& a, const Regret& b) { return a.value < b.value; });
    }
  }
  // The least regret of v when it must have a parent outside the set; infinite where that exceeds `most`.
  double beyond(int v, Subset set, double most) const {
    for (const Regret& regret : by_regret_[std::size_t(v)]) {
      if (regret.value > most) break;
      if (regret.parents & ~set) return regret.value;
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  struct Regret {
    double value;
    Subset parents;
  };
  std::vector<std::vector<Regret>> by_regret_;
};

// Whether the placed nodes can be completed at a given cost when each node of the next layer must have a parent in the
// last one: the exact test for a search by layers, which then has no dead ends (by class: few). Each answer bounds the
// least such cost from above or from below, and is cached. Used by one thread.
template <class Bounds>
class LayerBounds {
 public:
  LayerBounds(const SubsetChoices& choices, const Bounds& bounds, const Regrets& regrets, std::uint64_t max_bytes)
      : choices_(choices), bounds_(bounds), regrets_(regrets), levels_(std::size_t(choices.n) + 1), known_(max_bytes) {}

  bool can_complete(Subset placed, Subset layer, double room, const Check& check) {
    return complete(placed, layer, room, 0, check) <= room;
  }
  std::size_t size() const { return known_.size(); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Open {
    int node;
    double regret, cost;
  };
  struct Level {
    Subset placed = 0;
    double room = 0.0, left_out = 0.0;
    std::vector<Open> open;
  };

  // The cost of some completion that costs at most `room`; infinite where there is none.
  double complete(Subset placed, Subset layer, double room, int depth, const Check& check) {
    if ((++n_calls_ & 255) == 0) check();
    const double bound = bounds_.completion(placed);
    if (bound > room) return kInfinity;
    if (placed == all_of(choices_.n)) return bound;
    const std::uint64_t key = std::uint64_t(placed) << 32 | layer;
    if (const TwoBounds* known = known_.find(key)) {
      if (known->possible <= room) return known->possible;
      if (known->impossible >= room) return kInfinity;
    }
    Level& level = levels_[std::size_t(depth)];
    level.placed = placed;
    level.room = room;
    level.left_out = 0.0;
    level.open.clear();
    for (int v = 0; v < choices_.n; ++v) {
      if (placed >> v & 1) continue;
      const double regret = regrets_.beyond(v, placed, room - bound);
      const double cost = cheapest(v, placed, layer, room - bounds_.completion(placed | Subset(1) << v));
      if (cost == kInfinity)
        level.left_out += regret;
      else
        level.open.push_back({v, regret, cost});
    }
    const double cost = extend(level, 0, 0, 0.0, 0.0, depth, check);
    TwoBounds& known = known_[key];
    if (cost <= room)
      known.possible = std::min(known.possible, cost);
    else
      known.impossible = std::max(known.impossible, room);
    return cost;
  }
  double cheapest(int v, Subset placed, Subset layer, double allowed) const {
    const auto& masks = choices_.masks[std::size_t(v)];
    const auto& costs = choices_.costs[std::size_t(v)];
    for (std::size_t k = bounds_.best(v, placed); k < masks.size() && costs[k] <= allowed; ++k)
      if (!(masks[k] & ~placed) && (masks[k] & layer)) return costs[k];
    return kInfinity;
  }
  // Decides about the open nodes from `next` on, as SubsetSearch does, up to the first success.
  double extend(Level& level, std::size_t next, Subset layer, double cost, double skipped, int depth,
                const Check& check) {
    const double base = cost + bounds_.completion(level.placed | layer) + level.left_out;
    for (std::size_t i = next; i < level.open.size(); ++i) {
      const Open open = level.open[i];
      const Subset with_v = layer | Subset(1) << open.node;
      const double with_cost = cost + open.cost;
      if (with_cost + bounds_.completion(level.placed | with_v) + skipped + level.left_out <= level.room) {
        const double total = extend(level, i + 1, with_v, with_cost, skipped, depth, check);
        if (total <= level.room) return total;
      }
      skipped += open.regret;
      if (base + skipped > level.room) return kInfinity;
    }
    if (layer == 0 || base + skipped > level.room) return kInfinity;
    const double room = level.room;
    const double total = cost + complete(level.placed | layer, layer, room - cost, depth + 1, check);
    return total <= room ? total : kInfinity;
  }

  const SubsetChoices& choices_;
  const Bounds& bounds_;
  const Regrets& regrets_;
  std::vector<Level> levels_;
  BoundTable known_;
  std::uint64_t n_calls_ = 0;
};

template <int W, class Bounds>
class SubsetSearch {
 public:
  SubsetSearch(const Choices<W>& choices, const SubsetChoices& subsets, const Bounds& bounds, std::vector<int> rank,
               bool by_class, Collection& collection, std::uint64_t max_bytes)
      : choices_(choices),
        subsets_(subsets),
        bounds_(bounds),
        regrets_(subsets, bounds),
        rank_(std::move(rank)),
        by_class_(by_class),
        collection_(collection),
        max_bytes_(max_bytes),
        index_(choices),
        base_(subsets.base_cost()),
        slack_(choices.rounding()) {
    for (int v : subsets.nodes) ranks_.push_back(rank_[std::size_t(v)]);
  }

  // No network below the returned cost is missing; infinite unless stopped. Where the time is limited to some seconds,
  // networks near the optimum are listed first, then those farther away, so that a stop leaves a list that is complete
  // up to some epsilon. Each stage repeats the steps of those before, so none follows one that took much of the time.
  double list(unsigned n_threads, const Watch& watch, std::optional<double> seconds, SearchStatistics& statistics) {
    const double best = collection_.best(), width = collection_.limit() - best;
    if (seconds && std::isfinite(width)) {
      for (const double share : {0.01, 0.3, 0.6}) {
        const auto begin = std::chrono::steady_clock::now();
        band_.up_to = best + share * width;
        const double unexplored = run(n_threads, stage_of(watch, 0.0, 0.0), statistics);
        if (std::isfinite(unexplored)) return std::max(unexplored, band_.above);
        if (collection_.limit() <= band_.up_to) return unexplored;  // a quota is full
        band_.above = band_.up_to;
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (spent.count() > kStageShare * *seconds) break;
      }
      band_.up_to = std::numeric_limits<double>::infinity();
    }
    return std::max(run(n_threads, watch, statistics), band_.above);
  }

 private:
  // The networks of the band; the result as above.
  double run(unsigned n_threads, const Watch& watch, SearchStatistics& statistics) {
    std::vector<std::unique_ptr<Worker>> workers;
    const unsigned n_workers = std::max(1u, n_threads);
    for (unsigned k = 0; k < n_workers; ++k) workers.push_back(std::make_unique<Worker>(*this, max_bytes_ / n_workers));
    std::vector<Task> tasks{first_task()};
    std::vector<std::uint8_t> is_done(1, 0);
    StopFlag stop;
    const Check check = [&] { stop.check(); };
    double unexplored = std::numeric_limits<double>::infinity();
    try {
      tasks = split(*workers[0], 64 * n_threads, watch);
      // The least bound first: if the search is stopped, the bound on the rest has risen.
      std::stable_sort(tasks.begin(), tasks.end(),
                       [&](const Task& a, const Task& b) { return least_of(a) < least_of(b); });
      is_done.assign(tasks.size(), 0);
      run_tasks(tasks.size(), n_threads, watch, stop, [&](std::size_t k, unsigned worker, TaskProgress&) {
        workers[worker]->begin(tasks[k]);
        workers[worker]->next_layer(tasks[k].placed, tasks[k].layer, tasks[k].cost, 0, check);
        is_done[k] = 1;
      });
    } catch (const Stopped&) {
      unexplored = least_of(tasks, is_done);
    } catch (const QuotaFull&) {
      unexplored = least_of(tasks, is_done);
    }
    for (auto& worker : workers) {
      try {
        worker->recorder.flush();
      } catch (const QuotaFull&) {
        unexplored = std::min(unexplored, collection_.limit() - base_);
      }
      statistics.n_layers += worker->statistics.n_layers;
      statistics.n_dead_ends += worker->statistics.n_dead_ends;
      statistics.n_complete += worker->statistics.n_complete;
      statistics.n_bounds += worker->bounds.size();
    }
    return unexplored + base_ - slack_;
  }
  double limit() const { return std::min(collection_.limit(), band_.up_to); }

  // A task: some layers are chosen already.
  struct Task {
    Subset placed = 0, layer = 0;
    double cost = 0.0;
    std::vector<Subset> parents;
    std::vector<std::uint32_t> chosen;
  };

  double least_of(const Task& task) const { return task.cost + bounds_.completion(task.placed); }
  // The least cost of a network in the tasks that were not finished.
  double least_of(const std::vector<Task>& tasks, const std::vector<std::uint8_t>& is_done) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < tasks.size(); ++k)
      if (!is_done[k]) least = std::min(least, least_of(tasks[k]));
    return least;
  }

  Task first_task() const {
    const std::size_t n = std::size_t(subsets_.n);
    return {0, 0, 0.0, std::vector<Subset>(n), std::vector<std::uint32_t>(n)};
  }
  struct Worker;

  // Chooses layer by layer until there are enough independent tasks.
  std::vector<Task> split(Worker& worker, std::size_t wanted, const Watch& watch) {
    std::vector<Task> tasks{first_task()};
    ThrottledWatch throttled(watch);
    const Check check = [&] { throttled.check(); };
    for (int depth = 0; depth < subsets_.n && tasks.size() < wanted; ++depth) {
      std::vector<Task> deeper;
      for (const Task& task : tasks) {
        if (deeper.size() >= wanted) {  // each task can split into millions
          deeper.push_back(task);
          continue;
        }
        worker.begin(task);
        worker.collect = &deeper;
        worker.next_layer(task.placed, task.layer, task.cost, 0, check);
        worker.collect = nullptr;
      }
      tasks = std::move(deeper);
    }
    return tasks;
  }

  struct Worker {
    Worker(const SubsetSearch& owner, std::uint64_t max_bytes)
        : search(owner),
          recorder(owner.choices_, owner.index_, owner.by_class_, owner.rank_, owner.collection_, owner.band_),
          bounds(owner.subsets_, owner.bounds_, owner.regrets_, max_bytes),
          parents(std::size_t(owner.subsets_.n)),
          chosen(std::size_t(owner.subsets_.n)),
          levels(std::size_t(owner.subsets_.n) + 1),
          parent_sets(std::size_t(owner.choices_.n())),
          network(std::size_t(owner.choices_.n())) {
      for (const auto& settled : owner.subsets_.settled) network[std::size_t(settled.node)] = settled.position;
    }

    void begin(const Task& task) {
      parents = task.parents;
      chosen = task.chosen;
    }

    // Chooses a layer to follow `layer`, the last of the placed ones.
    void next_layer(Subset placed, Subset layer, double cost, int depth, const Check& check) {
      ++statistics.n_layers;
      if (placed == all_of(search.subsets_.n)) return complete();
      Level& level = levels[std::size_t(depth)];
      level.placed = placed;
      level.room = search.limit() + search.slack_ - search.base_;
      level.is_dead_end = true;
      find_open(level, layer, cost);
      extend(level, 0, 0, cost, 0.0, depth, check);
      statistics.n_dead_ends += level.is_dead_end;
    }

    // A node that may join the layer, with the positions of its parent sets, the cheapest first.
    struct Open {
      int node;
      double regret;  // if it does not join
      std::vector<std::uint32_t> positions;
    };
    struct Level {
      Subset placed = 0;
      double room = 0.0;
      double left_out = 0.0;  // regrets of the nodes that cannot join
      bool is_dead_end = true;
      std::vector<Open> open;
      std::size_t n_open = 0;
    };

    void find_open(Level& level, Subset layer, double cost) {
      level.n_open = 0;
      level.left_out = 0.0;
      for (int v = 0; v < search.subsets_.n; ++v) {
        const Subset bit = Subset(1) << v;
        if (level.placed & bit) continue;
        if (level.open.size() == level.n_open) level.open.emplace_back();
        Open& open = level.open[level.n_open];
        open.node = v;
        open.regret =
            search.regrets_.beyond(v, level.placed, level.room - cost - search.bounds_.completion(level.placed));
        open.positions.clear();
        const double allowed = level.room - cost - search.bounds_.completion(level.placed | bit);
        const auto& costs = search.subsets_.costs[std::size_t(v)];
        const auto& masks = search.subsets_.masks[std::size_t(v)];
        for (std::size_t k = search.bounds_.best(v, level.placed); k < costs.size() && costs[k] <= allowed; ++k)
          if (!(masks[k] & ~level.placed) && (level.placed == 0 || (masks[k] & layer)) &&
              !(search.by_class_ && has_wrong_covered_edge(v, masks[k])))
            open.positions.push_back(std::uint32_t(k));
        if (open.positions.empty())
          level.left_out += open.regret;
        else
          ++level.n_open;
      }
    }
    bool has_wrong_covered_edge(int v, Subset set) const {
      for (Subset left = set; left; left &= left - 1) {
        const int u = std::countr_zero(left);
        if (search.ranks_[std::size_t(u)] > search.ranks_[std::size_t(v)] &&
            parents[std::size_t(u)] == (set & ~(Subset(1) << u)))
          return true;
      }
      return false;
    }

    // Decides about the open nodes from `next` on; `layer` is what was chosen so far, `skipped` the regrets of those
    // that were not.
    void extend(Level& level, std::size_t next, Subset layer, double cost, double skipped, int depth,
                const Check& check) {
      if ((++n_extended & 255) == 0) check();
      const double base = search.bounds_.completion(level.placed | layer);
      for (std::size_t i = next; i < level.n_open; ++i) {
        const int v = level.open[i].node;
        const Subset with_v = layer | Subset(1) << v;
        const double after = search.bounds_.completion(level.placed | with_v) + skipped + level.left_out;
        for (std::uint32_t k : level.open[i].positions) {
          const double with_cost = cost + search.subsets_.costs[std::size_t(v)][k];
          if (with_cost + after > level.room) break;
          parents[std::size_t(v)] = search.subsets_.masks[std::size_t(v)][k];
          chosen[std::size_t(v)] = k;
          extend(level, i + 1, with_v, with_cost, skipped, depth, check);
        }
        skipped += level.open[i].regret;
        if (cost + base + skipped + level.left_out > level.room) return;
      }
      if (layer == 0 || cost + base + skipped + level.left_out > level.room) return;
      if (!bounds.can_complete(level.placed | layer, layer, level.room - cost, check)) return;
      level.is_dead_end = false;
      if (collect)
        collect->push_back({level.placed | layer, layer, cost, parents, chosen});
      else
        next_layer(level.placed | layer, layer, cost, depth + 1, check);
    }

    void complete() {
      ++statistics.n_complete;
      for (std::size_t v = 0; v < chosen.size(); ++v) {
        const std::size_t node = std::size_t(search.subsets_.nodes[v]);
        network[node] = search.subsets_.positions[v][chosen[v]];
        parent_sets[node] = search.choices_.parents(int(node), network[node]);
      }
      recorder.found(parent_sets.data(), network.data());
    }

    const SubsetSearch& search;
    Recorder<W> recorder;
    LayerBounds<Bounds> bounds;
    std::vector<Subset> parents;
    std::vector<std::uint32_t> chosen;
    std::vector<Level> levels;
    std::vector<Bits<W>> parent_sets;
    std::vector<std::uint32_t> network;
    std::vector<Task>* collect = nullptr;  // receives finished layers instead of the search
    SearchStatistics statistics;
    std::uint64_t n_extended = 0;
  };

  const Choices<W>& choices_;
  const SubsetChoices& subsets_;
  const Bounds& bounds_;
  Regrets regrets_;
  std::vector<int> rank_;   // of all nodes
  std::vector<int> ranks_;  // of the nodes that take part
  bool by_class_;
  Collection& collection_;
  std::uint64_t max_bytes_;  // for the bounds that the threads cache
  ChoiceIndex<W> index_;
  Band band_;
  static constexpr double kStageShare = 0.05;  // of the time
  double base_;                                // what every network costs; all other costs are relative to it
  double slack_;                               // more than the rounding of any sum of costs
};

}  // namespace credibn::subsets
