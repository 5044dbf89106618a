// Counts all networks up to a limit, and their classes, without listing them: finds an order of the nodes, builds the
// diagram in stages, and makes the lists of costs. Where memory or time ends first, the answer is that of the last
// stage that was finished: all networks up to a smaller limit.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "factored/averages.hpp"
#include "factored/class_diagram.hpp"
#include "factored/cost_lists.hpp"
#include "factored/deepening.hpp"
#include "factored/node_order.hpp"

namespace credibn::factored {

enum class Outcome { complete, too_large, stopped };

struct Question {
  Cost best;   // what some network costs
  Cost width;  // wanted are all networks that cost at most the optimum and this
  bool with_classes;
  std::size_t max_bytes;
};

// The networks that cost at most diagram.limit; `classes` counts theirs, where that was asked for and possible.
struct Counted {
  Outcome outcome = Outcome::complete;
  Cost bound = -kNever;  // no network costs less
  std::vector<int> order;
  std::size_t n_states = 0;  // generated in the last stage that was finished
  Diagram networks, classes;
  std::unique_ptr<PathCounts> counts, class_counts;

  bool empty() const { return counts == nullptr; }
};

template <int W>
class Counting {
 public:
  Counting(const Candidates<W>& candidates, const Question& question, const base::Watch& watch)
      : candidates_(candidates), question_(question), watch_(watch), limit_(question.best + question.width) {}

  std::unique_ptr<Counted> count() {
    auto counted = std::make_unique<Counted>();
    try {
      base::ThrottledWatch watch(watch_);
      build(*counted, watch);
    } catch (const base::Stopped&) {
      counted->outcome = Outcome::stopped;
    }
    if (!counted->networks.empty()) make_lists(*counted);
    return counted;
  }

 private:
  static constexpr std::size_t kFewSteps = 200'000;
  static constexpr std::array<std::size_t, 2> kOrderEfforts{1'000'000, 8'000'000};
  static constexpr std::size_t kStepsPerEffort = 8;
  static constexpr std::size_t kBytesAfterStop = std::size_t(1) << 26;

  void build(Counted& counted, base::ThrottledWatch& watch) {
    const NodeOrders<W> orders(candidates_, limit_);
    const Allowance allowed{question_.max_bytes / 2};
    Cost lowest = *std::max_element(candidates_.lower.begin(), candidates_.lower.end());
    counted.bound = lowest;
    counted.order = orders.annealed(1, 0.7);
    {
      Deepening<W> deepening(candidates_, counted.order);
      lowest = deepening.bound();
      if (deepen(deepening, counted, lowest, {allowed.bytes, kFewSteps}, watch)) return;
    }
    for (const std::size_t effort : kOrderEfforts) {  // what an order may cost grows with what it may save
      std::vector<Cost> limits;
      for (const double part : {0.14, 0.24, 0.32, 0.4}) limits.push_back(between(lowest, part));
      counted.order = orders.search(limits, allowed, effort, watch);
      Deepening<W> deepening(candidates_, counted.order);
      const bool is_last = effort == kOrderEfforts.back();
      const Allowance here{allowed.bytes, is_last ? allowed.steps : kStepsPerEffort * effort};
      if (deepen(deepening, counted, lowest, here, watch)) return;
    }
    counted.outcome = Outcome::too_large;
  }
  Cost between(Cost lowest, double part) const {
    return std::min(limit_, lowest + Cost(part * double(std::max<Cost>(0, limit_ - lowest))));
  }
  // Stage after stage; the best network is the optimum as soon as a stage has found one. False: more than allowed.
  bool deepen(Deepening<W>& deepening, Counted& counted, Cost lowest, const Allowance& allowed,
              base::ThrottledWatch& watch) {
    for (const double part : {0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
      Cost limit = between(lowest, part);
      if (part == 1.0) limit = limit_;
      if (!deepening.stage(limit, allowed, watch)) return false;
      counted.bound = std::max(counted.bound, deepening.bound());
      if (deepening.bound() > limit) continue;  // no network there
      Diagram found = deepening.diagram(question_.with_classes);
      if (found.empty() || (!counted.networks.empty() && limit < counted.networks.limit)) continue;
      counted.networks = std::move(found);
      counted.n_states = deepening.n_generated();
      limit_ = std::min(limit_, counted.networks.best() + question_.width);
      if (limit >= limit_) {
        if (limit > limit_) counted.networks.lower_limit_to(limit_);
        return true;
      }
    }
    return true;
  }
  void make_lists(Counted& counted) {
    std::size_t max_bytes = question_.max_bytes;
    base::Watch no_watch;
    if (counted.outcome == Outcome::stopped) max_bytes = std::min(max_bytes, kBytesAfterStop);
    while (true) {
      base::ThrottledWatch watch(counted.outcome == Outcome::stopped ? no_watch : watch_);
      try {
        counted.counts = std::make_unique<PathCounts>(counted.networks, true,
                                                      max_bytes - std::min(max_bytes, counted.networks.bytes()), watch);
        break;
      } catch (const TooLarge&) {  // what is closer to the optimum may fit
        if (counted.outcome == Outcome::complete) counted.outcome = Outcome::too_large;
        const Cost best = counted.networks.best(), width = counted.networks.limit - best;
        if (width == 0) return;
        counted.networks.lower_limit_to(best + Cost(0.8 * double(width)) - (width < 5 ? 1 : 0));
      } catch (const base::Stopped&) {
        counted.outcome = Outcome::stopped;
        max_bytes = std::min(max_bytes, kBytesAfterStop);
      }
    }
    if (!question_.with_classes) return;
    const std::size_t in_use = counted.networks.bytes() + counted.counts->bytes();
    max_bytes -= std::min(max_bytes, in_use);
    try {
      base::ThrottledWatch watch(counted.outcome == Outcome::stopped ? no_watch : watch_);
      counted.classes = ClassDiagram<W>(candidates_, counted.networks, max_bytes).build(watch);
      if (counted.classes.empty()) return;
      counted.class_counts = std::make_unique<PathCounts>(
          counted.classes, false, max_bytes - std::min(max_bytes, counted.classes.bytes()), watch);
    } catch (const TooLarge&) {  // the networks are counted, the classes are not
      counted.classes = Diagram();
    } catch (const base::Stopped&) {
      counted.classes = Diagram();
    }
  }

  const Candidates<W>& candidates_;
  Question question_;
  const base::Watch& watch_;
  Cost limit_;
};

}  // namespace credibn::factored
