// Counts all networks up to a limit, and their classes, without listing them: finds an order of the nodes, builds the
// diagram in stages, and makes the lists of costs. The networks may come in branches, each with its own candidates and
// bounds, and a root of its own in the diagram. Where memory or time ends first, the answer is all networks up to a
// smaller limit: those of the last stage that was finished for the whole, or those of the branches that are done.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
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

struct Branch {
  std::vector<std::uint32_t> chosen;  // the candidates that its networks take, as numbers among all
  std::vector<Cost> lowers, reduced;  // bounds on its networks, in the order of its candidates
};

struct Added {
  Outcome outcome;
  // Where it is too large, ways to some of the states of the last stage: for each way the candidate of each node, kOpen
  // where it is not decided. What proves that these lead to no network saves steps.
  std::vector<std::uint32_t> prefixes{};
  // About how many steps the last stage takes, where that is too many; infinite where memory ends or nothing is known.
  double n_expected = std::numeric_limits<double>::infinity();
};

class NetworkCounter {  // with any number of nodes
 public:
  virtual ~NetworkCounter() = default;
  // Adds all networks, unless that takes more memory than there is, or a stage tries candidates more often than
  // `max_steps`: then it may be tried again with other bounds, or in branches. Nothing else comes before it. The first
  // time decides on an order of the nodes; `searches_order`: a better one is looked for, by the bounds given.
  virtual Added add_whole(const Branch& whole, std::size_t max_steps, bool searches_order,
                          const base::Watch& watch) = 0;
  // Adds the networks that take no other candidates than those of a branch, on the same conditions.
  virtual std::vector<Added> add(const std::vector<Branch>& branches, std::size_t max_steps, unsigned n_threads,
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

  Added add_whole(const Branch& whole, std::size_t max_steps, bool searches_order, const base::Watch& watch) override {
    if (!networks_.empty()) throw std::invalid_argument("the whole comes before its branches");
    const Candidates<W> input = of_branch(whole);
    Built built{limit_, *std::max_element(input.lower.begin(), input.lower.end())};
    base::ThrottledWatch throttled(watch);
    const Allowance allowed{wanted_.max_bytes / 2, max_steps};
    try {
      throttled.call();
      if (networks_.order.empty()) networks_.order = NodeOrders<W>(input, limit_).annealed(1, 0.7);
      if (searches_order) search_order(input, std::max(bound_, built.bound), allowed, throttled);
      deepen(input, networks_.order, allowed, throttled, built);
    } catch (const base::Stopped&) {
      built.outcome = Outcome::stopped;
    }
    limit_ = built.limit;
    bound_ = std::max(bound_, built.bound);
    const bool is_complete = built.outcome == Outcome::complete;
    if (!built.networks.empty() && (is_complete || part_.empty() || part_.limit < built.networks.limit)) {
      Diagram& found = is_complete ? networks_ : part_;
      found = Diagram{networks_.order, candidates_.costs, built.networks.limit, {}};
      found.add(built.networks, whole.chosen);
    }
    return {built.outcome, among_all(built.prefixes, whole), built.n_expected};
  }
  std::vector<Added> add(const std::vector<Branch>& branches, std::size_t max_steps, unsigned n_threads,
                         const base::Watch& watch) override {
    if (networks_.order.empty()) throw std::invalid_argument("the whole comes before its branches");
    std::vector<Candidates<W>> inputs;
    for (const Branch& branch : branches) inputs.push_back(of_branch(branch));
    const std::size_t left = wanted_.max_bytes - std::min(wanted_.max_bytes, bytes());
    const Allowance allowed{left / kBranchesAtOnce, max_steps};
    std::vector<Built> built(inputs.size(), Built{limit_});
    base::StopFlag stop;
    const base::Watch check = [&stop](double) { return stop.check(), true; };
    try {
      base::run_tasks(inputs.size(), std::min(n_threads, kBranchesAtOnce), watch, stop,
                      [&](std::size_t k, unsigned, base::TaskProgress&) {
                        base::ThrottledWatch throttled(check);
                        deepen(inputs[k], networks_.order, allowed, throttled, built[k]);
                      });
    } catch (const base::Stopped&) {
      return std::vector<Added>(inputs.size(), {Outcome::stopped});
    }
    std::vector<Added> added;
    for (std::size_t k = 0; k < built.size(); ++k) {
      added.push_back({built[k].outcome, among_all(built[k].prefixes, branches[k])});
      limit_ = std::min(limit_, built[k].limit);
      if (built[k].outcome == Outcome::complete && !built[k].networks.empty())
        networks_.add(built[k].networks, branches[k].chosen);
      built[k].networks = Diagram();
    }
    return added;
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
  static constexpr std::size_t kPrefixes = 40;
  static constexpr std::size_t kLeastTrials = 400'000;  // steps to improve an order
  static constexpr unsigned kBranchesAtOnce = 16;       // share the memory, whatever the number of threads
  static constexpr std::size_t kBytesAfterStop = std::size_t(1) << 26;

  struct Built {
    Cost limit;  // what is not wanted costs more
    Cost bound = -kNever;
    Diagram networks{};  // of the last stage that was finished
    Outcome outcome = Outcome::too_large;
    std::vector<std::uint32_t> prefixes{};  // see Added
    double n_expected = std::numeric_limits<double>::infinity();
  };

  Candidates<W> of_branch(const Branch& branch) const {
    return Candidates<W>(candidates_, branch.chosen, branch.lowers.data(), branch.reduced.data(), branch.lowers.size());
  }
  static std::vector<std::uint32_t> among_all(std::vector<std::uint32_t> prefixes, const Branch& branch) {
    for (std::uint32_t& candidate : prefixes)
      if (candidate != kOpen) candidate = branch.chosen[candidate];
    return prefixes;
  }
  void search_order(const Candidates<W>& whole, Cost lowest, const Allowance& allowed, base::ThrottledWatch& watch) {
    const Candidates<W> cheap = with_room(whole, between(lowest, limit_, 0.5));
    const NodeOrders<W> orders(cheap, limit_);
    std::vector<int> order = orders.best(lowest, limit_, allowed, watch);
    if (was_searched_) {  // what takes many steps is worth many trials
      order = orders.better(order, networks_.order, lowest, limit_, allowed, watch);
      order = orders.improved(order, lowest, limit_, allowed, std::max(kLeastTrials, allowed.steps / 2), watch);
    }
    networks_.order = order;
    was_searched_ = true;
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
  static Cost between(Cost lowest, Cost limit, double part) {
    return std::min(limit, lowest + Cost(part * double(std::max<Cost>(0, limit - lowest))));
  }
  // Steps grow with the limit: as a power of it at least, and exponentially at most, as two stages say.
  static double expected_steps(double part, double n_steps, double next_part, double n_next) {
    if (n_steps == 0.0) return std::numeric_limits<double>::infinity();
    const double growth = std::log(std::max(1.0, n_next / n_steps));
    const double exponential = growth * (1.0 - next_part) / (next_part - part);
    const double power = growth * -std::log(next_part) / std::log(next_part / part);
    return n_next * std::exp(0.5 * (exponential + power));
  }
  // Stage after stage; what costs more than the best network of a stage and the width is not wanted.
  void deepen(const Candidates<W>& branch, const std::vector<int>& order, const Allowance& allowed,
              base::ThrottledWatch& watch, Built& built) const {
    Deepening<W> deepening(branch, order, built.limit);
    const Cost lowest = deepening.bound();
    double last_part = 0.0;
    std::size_t n_last = 0;
    for (const double part : {0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
      const Cost limit = part == 1.0 ? built.limit : between(lowest, built.limit, part);
      if (!deepening.stage(limit, allowed, watch)) {
        if (deepening.n_steps() <= allowed.steps) built.n_expected = std::numeric_limits<double>::infinity();
        built.prefixes = deepening.prefixes(kPrefixes);
        return;
      }
      built.n_expected = expected_steps(last_part, double(n_last), part, double(deepening.n_steps()));
      last_part = part;
      n_last = deepening.n_steps();
      built.bound = std::max(built.bound, deepening.bound());
      if (deepening.bound() > limit) continue;  // no network there
      Diagram here = deepening.diagram(wanted_.with_classes);
      if (here.empty() || (!built.networks.empty() && limit < built.networks.limit)) continue;
      built.networks = std::move(here);
      built.limit = std::min(built.limit, built.networks.best() + wanted_.width);
      if (limit >= built.limit) break;
    }
    built.outcome = Outcome::complete;
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
        counted.networks.lower_limit_to(best + std::min(width - 1, Cost(0.8 * double(width))));
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
  bool was_searched_ = false;  // an order better than the first one
  Diagram networks_;           // of the branches that are done
  Diagram part_;               // of the whole, up to the limit of the last stage that was finished
};

}  // namespace credibn::factored
