// Counts all networks up to a limit, and their classes, without listing them: finds an order of the nodes, builds the
// diagram in stages, and makes the lists of costs. The networks may come in branches, each with its own candidates and
// bounds, and a root of its own in the diagram. Where memory or time ends first, the answer is all networks up to a
// smaller limit: those of the last stage that was finished for the whole, or those of the branches that are done.
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

struct Wanted {
  Cost best;   // what some network costs
  Cost width;  // wanted are all networks that cost at most the optimum and this
  bool with_classes;
  std::size_t max_bytes;
};

// The networks that cost at most diagram.limit; `classes` counts theirs, where that was asked for and possible.
struct Counted {
  Outcome outcome = Outcome::complete;
  Cost bound = -kNever;  // no network costs less
  Diagram networks, classes;
  std::unique_ptr<PathCounts> counts, class_counts;

  bool empty() const { return counts == nullptr; }
};

struct Bounds {  // on the networks of a branch, in its candidates' order
  const std::int64_t *lowers, *reduced;
  std::size_t count;
};

class NetworkCounter {  // with any number of nodes
 public:
  virtual ~NetworkCounter() = default;
  // Adds the networks that take no other candidates than these, unless that takes more memory than there is, or a stage
  // tries candidates more often than `max_steps`: then its branches may be added. First comes the whole.
  virtual Outcome add(const std::vector<std::uint32_t>& chosen, const Bounds& bounds, std::size_t max_steps,
                      const base::Watch& watch) = 0;
  // Counts what was added: all networks that cost less than `unexplored`. Nothing can be added afterwards.
  virtual std::unique_ptr<Counted> count(Outcome outcome, Cost unexplored, const base::Watch& watch) = 0;
  virtual std::size_t bytes() const = 0;  // of what was added
  virtual std::size_t n() const = 0;
  virtual std::size_t size() const = 0;  // candidates
};

template <int W>
class Counting final : public NetworkCounter {
 public:
  Counting(Candidates<W> candidates, const Wanted& wanted)
      : candidates_(std::move(candidates)), wanted_(wanted), limit_(wanted.best + wanted.width) {
    networks_.costs = candidates_.costs;
  }
  std::size_t bytes() const override { return networks_.bytes(); }
  std::size_t n() const override { return std::size_t(candidates_.n); }
  std::size_t size() const override { return candidates_.size(); }

  Outcome add(const std::vector<std::uint32_t>& chosen, const Bounds& bounds, std::size_t max_steps,
              const base::Watch& watch) override {
    const Candidates<W> branch(candidates_, chosen, bounds.lowers, bounds.reduced, bounds.count);
    const bool is_whole = chosen.size() == candidates_.size();
    if (!is_whole && networks_.order.empty()) throw std::invalid_argument("the whole comes before its branches");
    const Allowance allowed{(wanted_.max_bytes - std::min(wanted_.max_bytes, bytes())) / 2, max_steps};
    Diagram found;
    Outcome outcome;
    try {
      base::ThrottledWatch throttled(watch);
      outcome = is_whole ? build_whole(branch, allowed, throttled, found) : deepen(branch, allowed, throttled, found);
    } catch (const base::Stopped&) {
      outcome = Outcome::stopped;
    }
    if (outcome == Outcome::complete && !found.empty())
      networks_.add(found, chosen);
    else if (is_whole)
      part_ = std::move(found);
    return outcome;
  }
  std::unique_ptr<Counted> count(Outcome outcome, Cost unexplored, const base::Watch& watch) override {
    auto counted = std::make_unique<Counted>();
    counted->outcome = outcome;
    counted->bound = bound_;
    networks_.limit = std::min(limit_, unexplored - 1);
    const bool is_part_better = !part_.empty() && part_.limit > networks_.limit;
    counted->networks = std::move(is_part_better ? part_ : networks_);
    if (!counted->networks.empty()) counted->networks.trim();
    if (!counted->networks.empty()) make_lists(*counted, watch);
    return counted;
  }

 private:
  static constexpr std::size_t kFewSteps = 200'000;
  static constexpr std::size_t kBytesAfterStop = std::size_t(1) << 26;

  // The whole, or the first branch: also decides on the order of the nodes.
  Outcome build_whole(const Candidates<W>& whole, const Allowance& allowed, base::ThrottledWatch& watch,
                      Diagram& found) {
    bound_ = *std::max_element(whole.lower.begin(), whole.lower.end());
    const NodeOrders<W> orders(whole, limit_);
    networks_.order = orders.annealed(1, 0.7);
    const Allowance little{allowed.bytes, std::min(kFewSteps, allowed.steps)};
    if (deepen(whole, little, watch, found) == Outcome::complete) return Outcome::complete;
    if (allowed.steps < kFewSteps) return Outcome::too_large;
    const Candidates<W> cheap = with_room(whole, between(bound_, 0.5));
    networks_.order = NodeOrders<W>(cheap, limit_).best(bound_, limit_, allowed, watch);
    return deepen(whole, allowed, watch, found);
  }
  // The candidates of networks that may cost at most this, and at least one of each node: they decide which order is
  // good.
  static Candidates<W> with_room(const Candidates<W>& all, Cost most) {
    std::vector<std::uint32_t> chosen;
    for (std::size_t v = 0; v < std::size_t(all.n); ++v) {
      Cost least = kNever;
      for (std::size_t c = all.first[v]; c < all.first[v + 1]; ++c) least = std::min(least, all.least_with(c));
      for (std::size_t c = all.first[v]; c < all.first[v + 1]; ++c)
        if (all.least_with(c) <= std::max(most, least)) chosen.push_back(std::uint32_t(c));
    }
    const std::size_t n_bounds = all.n_bounds() - 1;  // the last one is made of the costs
    std::vector<Cost> reduced;
    for (std::size_t j = 0; j < n_bounds; ++j)
      for (const std::uint32_t c : chosen) reduced.push_back(all.reduced_cost(j, c));
    return Candidates<W>(all, chosen, all.lower.data(), reduced.data(), n_bounds);
  }
  Cost between(Cost lowest, double part) const {
    return std::min(limit_, lowest + Cost(part * double(std::max<Cost>(0, limit_ - lowest))));
  }
  // Stage after stage; what costs more than the best network of a stage and the width is not wanted.
  Outcome deepen(const Candidates<W>& branch, const Allowance& allowed, base::ThrottledWatch& watch, Diagram& found) {
    Deepening<W> deepening(branch, networks_.order);
    const Cost lowest = deepening.bound();
    for (const double part : {0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
      const Cost limit = part == 1.0 ? limit_ : between(lowest, part);
      if (!deepening.stage(limit, allowed, watch)) return Outcome::too_large;
      if (branch.size() == candidates_.size()) bound_ = std::max(bound_, deepening.bound());
      if (deepening.bound() > limit) continue;  // no network there
      Diagram here = deepening.diagram(wanted_.with_classes);
      if (here.empty() || (!found.empty() && limit < found.limit)) continue;
      found = std::move(here);
      limit_ = std::min(limit_, found.best() + wanted_.width);
      if (limit >= limit_) break;
    }
    return Outcome::complete;
  }
  void make_lists(Counted& counted, const base::Watch& watching) {
    std::size_t max_bytes = wanted_.max_bytes;
    base::Watch no_watch;
    if (counted.outcome == Outcome::stopped) max_bytes = std::min(max_bytes, kBytesAfterStop);
    while (true) {
      base::ThrottledWatch watch(counted.outcome == Outcome::stopped ? no_watch : watching);
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
    if (!wanted_.with_classes) return;
    const std::size_t in_use = counted.networks.bytes() + counted.counts->bytes();
    max_bytes -= std::min(max_bytes, in_use);
    try {
      base::ThrottledWatch watch(counted.outcome == Outcome::stopped ? no_watch : watching);
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

  Candidates<W> candidates_;  // all, without bounds
  Wanted wanted_;
  Cost limit_, bound_ = -kNever;
  Diagram networks_;  // of the branches that are done
  Diagram part_;      // of the whole, up to the limit of the last stage that was finished
};

}  // namespace credibn::factored
