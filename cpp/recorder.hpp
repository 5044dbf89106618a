// Where the enumerations hand in complete networks: by class, only the canonical member of each class is recorded, in a
// form that depends neither on the engine nor on its node order.
//
// A class with a member that uses no candidate for some node is not recorded: where scores are equivalent, that set was
// pruned, and the class is not credible (docs/guarantees.md, "Equivalence classes"). Its cost is made known, so that it
// can be told at the end whether this was true.
#pragma once

#include <limits>

#include "choices.hpp"
#include "classes.hpp"
#include "collection.hpp"
#include "compensated.hpp"

namespace credibn {

// The costs that are asked for: above one, up to another. Two searches with bands that touch record nothing twice.
struct Band {
  double above = -std::numeric_limits<double>::infinity();
  double up_to = std::numeric_limits<double>::infinity();
};

// One for each thread.
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
        batch_(rank.size(), collection.size_words()),
        class_(choices.n()),
        member_(rank.size()),
        row_(rank.size()),
        size_(collection.size_words()) {
    for (std::size_t v = 0; v < identity_.size(); ++v) identity_[v] = int(v);
    slack_ = choices.rounding();
  }
  double limit() const { return std::min(collection_.limit(), band_.up_to); }

  // A complete acyclic network: the parents of each node and their positions among its candidates.
  void found(const Bits<W>* parents, const std::uint32_t* row) {
    const double cost = cost_of(row);
    if (!by_class_) {
      if (is_wanted(cost)) add(row, cost);
    } else {
      if (cost > limit() + slack_) return;
      class_.analyse(parents);
      if (!class_.is_canonical(rank_.data(), parents)) return;
      class_.member(identity_.data(), member_.data());
      for (int v = 0; v < choices_.n(); ++v) {
        const std::size_t at = std::size_t(v);
        row_[at] = index_.find(v, member_[at]);
        if (row_[at] == ChoiceIndex<W>::kAbsent) {
          collection_.leave_out_class(cost);
          return;
        }
      }
      const double standard_cost = cost_of(row_.data());
      if (!is_wanted(standard_cost)) return;
      class_.size().to_words(size_.data(), size_.size());
      add(row_.data(), standard_cost);
    }
  }
  void flush() { collection_.take(batch_); }

 private:
  bool is_wanted(double cost) const { return cost > band_.above && cost <= limit(); }
  // In the order of the nodes: the same for every engine.
  double cost_of(const std::uint32_t* row) const {
    CompensatedSum sum;
    for (int v = 0; v < choices_.n(); ++v) sum += choices_.cost(v, row[v]);
    return sum.value();
  }
  void add(const std::uint32_t* row, double cost) {
    batch_.add(row, cost, size_.data());
    if (cost < collection_.best() || batch_.count() >= 1024) flush();
  }

  const Choices<W>& choices_;
  const ChoiceIndex<W>& index_;
  bool by_class_;
  const std::vector<int>& rank_;
  std::vector<int> identity_;
  Collection& collection_;
  Band band_;
  Rows batch_;
  EquivalenceClass<W> class_;
  std::vector<Bits<W>> member_;
  std::vector<std::uint32_t> row_;
  std::vector<std::uint64_t> size_;
  double slack_;
};

}  // namespace credibn
