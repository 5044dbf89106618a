// Rule 8: what a few more parents can tell about the child at most, all together, from the counts of each alone.
//
// Rule 7 allows for all variables that may still be added, and many variables tell nearly everything about few rows.
// But every further parent at least doubles the penalty, so only a few can be added; and of the rows of a cell, most
// share the most common state of each of them. These rows stay together, and keep their part of the entropy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace credibn::scoring {

class FewParents {
 public:
  // For supersets of a set that leaves this entropy of the child, N*H(i | S), and that has this penalty, w*t(S), and at
  // least this prior cost, whatever is added.
  void start(double entropy, double penalty, double prior) {
    entropy_ = entropy - kRounding * entropy;
    penalty_ = penalty;
    prior_ = prior;
    losses_.clear();
  }
  // One of the variables that may be added, with its number of states: `loss` is what leaving only the rows with one
  // state of it in each cell takes from the entropy. More than two states also add to the penalty, which is allowed for
  // here. Returns the loss to be used in `exclude`.
  double add(std::size_t position, double loss, int n_states) {
    const double net = loss + kRounding * loss - 2.0 * penalty_ * (n_states - 2);
    losses_.emplace_back(net, position);
    return net;
  }
  void sort() { std::sort(losses_.begin(), losses_.end(), std::greater<>()); }

  // Whether every set costs more than `limit` that adds l and at least one and at most `most` other variables.
  bool exclude(std::size_t l, double loss, int most, double limit) const {
    return exclude(l, l, entropy_ - loss, 2.0 * penalty_, most, limit);
  }
  // Whether every set costs more than `limit` that adds l, t and at most `most` other variables.
  bool exclude(std::size_t l, double loss, std::size_t t, double loss_of_t, int most, double limit) const {
    const double entropy = entropy_ - loss - loss_of_t, penalty = 4.0 * penalty_;
    return penalty + entropy + prior_ > limit && exclude(l, t, entropy, penalty, most, limit);
  }

 private:
  static constexpr double kRounding = 1e-9;  // far more than the error of the sums, relative to them

  bool exclude(std::size_t l, std::size_t t, double entropy, double penalty, int most, double limit) const {
    for (const auto& [loss, position] : losses_) {
      if (position == l || position == t) continue;
      if (most-- == 0) break;
      entropy -= loss;
      penalty *= 2.0;
      if (penalty + entropy + prior_ <= limit) return false;
    }
    return true;
  }

  double entropy_ = 0.0, penalty_ = 0.0, prior_ = 0.0;
  std::vector<std::pair<double, std::size_t>> losses_;  // with their positions, the largest first
};

}  // namespace credibn::scoring
