// Where the engines record complete networks. By class, only the canonical member of each class is recorded, in a form
// that depends neither on the engine nor on its node order.
//
// A class is not recorded if a member of it gives some node a parent set that is no candidate: where scores are
// equivalent, that set was pruned, and the class is not credible (docs/guarantees.md, "Equivalence classes"). Its cost
// is reported to the collection, so that the caller can check this at the end.
#pragma once

#include <limits>

#include "base/compensated.hpp"
#include "classes/classes.hpp"
#include "search/choices.hpp"
#include "search/collection.hpp"

namespace credibn::search {

using base::Bits;
using base::CompensatedSum;
using classes::EquivalenceClass;

// The range of costs that is wanted: more than `above`, at most `up_to`. Two searches with adjacent bands record
// nothing twice.
struct Band {
  double above = -std::numeric_limits<double>::infinity();
  double up_to = std::numeric_limits<double>::infinity();
};

// Used by one thread.
template <int W>
class Recorder {
 public:
  // rank: the node order of the search, see EquivalenceClass::member.
  Recorder(const Choices<W>& choices, const ChoiceIndex<W>& index, bool by_class, const std::vector<int>& rank,
           Collection& collection, Band band = {})
      : choices_(choices),
        index_(index),
        by_class_(by_class),
        rank_(rank),
        identity_(rank.size()),
        collection_(collection),
        band_(band),
        pending_(rank.size(), collection.size_words()),
        class_(choices.n()),
        member_(rank.size()),
        network_(rank.size()),
        size_(collection.size_words()) {
    for (std::size_t v = 0; v < identity_.size(); ++v) identity_[v] = int(v);
    slack_ = choices.rounding();
  }
  double limit() const { return std::min(collection_.limit(), band_.up_to); }

  // A complete acyclic network: the parents of each node and their positions among its candidates.
  void found(const Bits<W>* parents, const std::uint32_t* network) {
    const double cost = cost_of(network);
    if (!by_class_) {
      if (is_wanted(cost)) add(network, cost);
    } else {
      if (cost > limit() + slack_) return;
      class_.analyse(parents);
      if (!class_.is_canonical(rank_.data(), parents)) return;
      class_.member(identity_.data(), member_.data());
      for (int v = 0; v < choices_.n(); ++v) {
        const std::size_t at = std::size_t(v);
        network_[at] = index_.find(v, member_[at]);
        if (network_[at] == ChoiceIndex<W>::kAbsent) {
          collection_.leave_out_class(cost);
          return;
        }
      }
      const double standard_cost = cost_of(network_.data());
      if (!is_wanted(standard_cost)) return;
      class_.size().to_words(size_.data(), size_.size());
      add(network_.data(), standard_cost);
    }
  }
  void flush() { collection_.take(pending_); }

 private:
  bool is_wanted(double cost) const { return cost > band_.above && cost <= limit(); }
  // In the order of the nodes: the same for every engine.
  double cost_of(const std::uint32_t* network) const {
    CompensatedSum sum;
    for (int v = 0; v < choices_.n(); ++v) sum += choices_.cost(v, network[v]);
    return sum.value();
  }
  void add(const std::uint32_t* network, double cost) {
    pending_.add(network, cost, size_.data());
    if (cost < collection_.best() || pending_.count() >= 1024) flush();
  }

  const Choices<W>& choices_;
  const ChoiceIndex<W>& index_;
  bool by_class_;
  const std::vector<int>& rank_;
  std::vector<int> identity_;
  Collection& collection_;
  Band band_;
  Networks pending_;
  EquivalenceClass<W> class_;
  std::vector<Bits<W>> member_;
  std::vector<std::uint32_t> network_;
  std::vector<std::uint64_t> size_;
  double slack_;
};

}  // namespace credibn::search
