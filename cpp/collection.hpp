// The networks (or classes) found so far, and the cost up to which more are wanted. The limit falls when a cheaper
// network is found (credible means: within epsilon of the best) and when a quota is full (only the best are kept, with
// all that tie with the last of them), so the engines read it often: one mechanism serves the credible set, the k best
// and bounded memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "row_store.hpp"
#include "sorted_rows.hpp"

namespace credibn {

struct Quota {
  static constexpr std::uint64_t kNone = ~std::uint64_t(0);
  std::uint64_t max_rows = kNone;      // networks or classes, whichever a row stands for
  std::uint64_t max_networks = kNone;  // members of all classes together
  std::uint64_t max_bytes = kNone;
};

// Thrown when even the rows that tie with the best do not fit into the memory quota.
struct Full : std::exception {
  const char* what() const noexcept override { return "the memory quota is full"; }
};

class Collection {
 public:
  // width: the gap above the best cost that is still credible, tolerance included; tie: what counts as equal.
  Collection(std::size_t n, std::size_t size_words, double width, double tie, Quota quota)
      : quota_(quota), width_(width), tie_(tie), rows_(n, size_words) {}

  // Only costs up to here are wanted.
  double limit() const { return limit_.load(std::memory_order_relaxed); }
  double best() const { return best_.load(std::memory_order_relaxed); }
  // Whether a quota has lowered the limit: then some credible network may be missing.
  bool is_cut() const { return limit() < best() + width_; }
  // Whether more rows are wanted than the memory quota holds.
  bool is_full() const { return is_full_; }
  // The rows held so far, of which some may yet be dropped; safe to ask while threads add more.
  std::size_t count() const {
    std::lock_guard lock(mutex_);
    return rows_.count();
  }
  const RowStore& rows() const { return rows_; }
  std::size_t n() const { return rows_.n(); }
  std::size_t size_words() const { return rows_.size_words(); }
  // How much may be held outside, by all threads together, before it is handed in.
  std::uint64_t spare_bytes() const { return quota_.max_bytes == Quota::kNone ? Quota::kNone : quota_.max_bytes / 4; }

  // A network of this cost exists. Its row, if it is given, is kept as long as no cheaper one is known.
  void know(double cost, const std::uint32_t* row = nullptr) {
    std::lock_guard lock(mutex_);
    if (row && cost < known_cost_) {
      known_cost_ = cost;
      known_row_.assign(row, row + n());
    }
    know_locked(cost);
  }
  // The cheapest network that was made known by its row, whether or not it was handed in; empty if none was.
  std::vector<std::uint32_t> known_row() const {
    std::lock_guard lock(mutex_);
    return known_row_;
  }
  // A network of this cost is not recorded, since its class has a member that uses a set that is no candidate.
  void leave_out_class(double cost) {
    std::lock_guard lock(mutex_);
    left_out_ = std::min(left_out_, cost);
  }
  // The least cost of those, infinite if there are none.
  double least_class_left_out() const {
    std::lock_guard lock(mutex_);
    return left_out_;
  }
  void take(Rows& batch) {
    std::lock_guard lock(mutex_);
    for (double cost : batch.costs) know_locked(cost);
    rows_.append(batch);
    batch.clear();
    if (rows_.count() >= check_at_ && is_over(2)) {
      drop_worst();
      check_at_ = rows_.count() + rows_.count() / 2;  // ties may have kept most of them
    }
  }
  // Rows that cost more may have been left out, since a quota was full elsewhere.
  void cut(double limit) {
    std::lock_guard lock(mutex_);
    lower(limit);
  }
  // Counts how often rows were dropped: while it does not change, new rows only follow the others.
  std::size_t generation() const { return generation_; }
  // Gives away what is wanted, the best first, equal costs in increasing order of their rows. When the watch says stop,
  // only the first of them: then `missing_from` is the least cost of what is left out, else infinite.
  SortedRows finish(unsigned n_threads, const Watch& watch, double& missing_from) {
    try {
      drop_worst();
    } catch (const Full&) {
      // Whoever calls asks is_full.
    }
    SortedRows sorted = sorted_rows(rows_, n_threads, watch, missing_from);
    rows_ = RowStore(rows_.n(), rows_.size_words());
    return sorted;
  }

 private:
  struct Entry {
    double cost;
    std::uint64_t members;
  };

  void know_locked(double cost) {
    if (cost >= best()) return;
    best_.store(cost, std::memory_order_relaxed);
    lower(cost + width_);
  }
  void lower(double limit) { limit_.store(std::min(limit, limit_.load()), std::memory_order_relaxed); }
  // Rows are copied once more when they are sorted.
  std::uint64_t most_rows_in_memory() const {
    if (quota_.max_bytes == Quota::kNone) return Quota::kNone;
    return quota_.max_bytes / (2 * rows_.row_bytes() + kSortingBytes);
  }
  // Whether the rows fill `times` the quota. Twice as much is let through before the worst half is dropped, so that
  // dropping costs little for each row.
  bool is_over(std::uint64_t times) {
    if (rows_.count() / times > std::min(quota_.max_rows, most_rows_in_memory())) return true;
    if (quota_.max_networks == Quota::kNone) return false;
    for (; n_seen_ < rows_.count(); ++n_seen_) n_networks_ = added(n_networks_, rows_.members(n_seen_));
    return n_networks_ / times > quota_.max_networks;
  }
  static std::uint64_t added(std::uint64_t a, std::uint64_t b) { return b > Quota::kNone - a ? Quota::kNone : a + b; }

  // Leaves what is wanted: rows up to the limit, of these the best that fill a quota and all that tie with the last.
  void drop_worst() {
    drop_unwanted();
    const std::uint64_t by_memory = most_rows_in_memory();
    const std::uint64_t most = std::max<std::uint64_t>(1, std::min(quota_.max_rows, by_memory));
    if (quota_.max_networks != Quota::kNone)
      cut_to_networks(most);
    else if (rows_.count() > most)
      cut_to_rows(most);
    n_seen_ = n_networks_ = 0;
    is_full_ = rows_.count() > by_memory;
    if (is_full_) throw Full();
  }
  void cut_to_rows(std::uint64_t most) {
    std::vector<double> costs = rows_.costs();
    const auto last = costs.begin() + std::ptrdiff_t(most - 1);
    std::nth_element(costs.begin(), last, costs.end());
    cut_after(*last);
  }
  void cut_to_networks(std::uint64_t most) {
    std::vector<Entry> order;
    order.reserve(rows_.count());
    for (std::size_t k = 0; k < rows_.count(); ++k) order.push_back({rows_.cost(k), rows_.members(k)});
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) { return a.cost < b.cost; });
    std::uint64_t networks = 0;
    std::size_t end = 0;
    while (end < order.size() && end < most && networks < quota_.max_networks)
      networks = added(networks, order[end++].members);
    if (end < order.size()) cut_after(order[end - 1].cost);
  }
  void cut_after(double last) {
    lower(last + tie_);
    drop_unwanted();
  }
  void drop_unwanted() {
    const std::size_t before = rows_.count();
    rows_.keep_up_to(limit());
    generation_ += rows_.count() < before;
  }

  Quota quota_;
  double width_, tie_;
  std::atomic<double> best_{std::numeric_limits<double>::infinity()}, limit_{std::numeric_limits<double>::infinity()};
  RowStore rows_;
  double known_cost_ = std::numeric_limits<double>::infinity();
  double left_out_ = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> known_row_;
  std::size_t check_at_ = 1024, generation_ = 0;
  bool is_full_ = false;
  std::uint64_t n_seen_ = 0, n_networks_ = 0;
  mutable std::mutex mutex_;
};

}  // namespace credibn
