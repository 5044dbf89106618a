// The networks found so far, and the cost up to which more are wanted. In a search by class, each of them is the
// canonical member of its equivalence class and stands for all members. The limit falls when a cheaper network is found
// (credible means: within epsilon of the best) and when a quota is full (only the best stay, with all that tie with the
// last of them), so the engines read it often: one mechanism serves the credible set, the k best and bounded memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "search/network_store.hpp"
#include "search/sorted_networks.hpp"

namespace credibn::search {

using base::Watch;

struct Quota {
  static constexpr std::uint64_t kNone = ~std::uint64_t(0);
  std::uint64_t max_entries = kNone;   // networks; in a search by class, classes
  std::uint64_t max_networks = kNone;  // members of all classes together
  std::uint64_t max_bytes = kNone;
};

// Thrown when even the networks that tie with the best exceed the memory quota.
struct QuotaFull : std::exception {
  const char* what() const noexcept override { return "the memory quota is full"; }
};

class Collection {
 public:
  // width: the gap above the best cost that is still credible, tolerance included; below 0, only better networks are
  // wanted, by that gap. tie: what counts as equal.
  Collection(std::size_t n, std::size_t size_words, double width, double tie, Quota quota)
      : quota_(quota), width_(width), tie_(tie), networks_(n, size_words) {}

  // Only costs up to here are wanted.
  double limit() const { return limit_.load(std::memory_order_relaxed); }
  double best() const { return best_.load(std::memory_order_relaxed); }
  // Whether a quota has lowered the limit: then some credible network may be missing.
  bool is_truncated() const { return limit() < best() + width_; }
  // Whether the wanted networks exceed the memory quota.
  bool is_full() const { return is_full_; }
  // The number of networks so far, of which some may yet be dropped; safe to call while threads add more.
  std::size_t count() const {
    std::lock_guard lock(mutex_);
    return networks_.count();
  }
  const NetworkStore& networks() const { return networks_; }
  std::size_t n() const { return networks_.n(); }
  std::size_t size_words() const { return networks_.size_words(); }
  // How much all threads together may buffer before they hand it in.
  std::uint64_t spare_bytes() const { return quota_.max_bytes == Quota::kNone ? Quota::kNone : quota_.max_bytes / 4; }

  // A network of this cost exists. If the network itself is given and is the cheapest so far, it becomes the incumbent.
  void update_incumbent(double cost, const std::uint32_t* network = nullptr) {
    std::lock_guard lock(mutex_);
    if (network && cost < incumbent_cost_) {
      incumbent_cost_ = cost;
      incumbent_.assign(network, network + n());
    }
    update_best(cost);
  }
  // The cheapest network that was given to update_incumbent, whether or not it was taken; empty if none was.
  std::vector<std::uint32_t> incumbent() const {
    std::lock_guard lock(mutex_);
    return incumbent_;
  }
  // A network of this cost is not recorded, because some member of its class uses a parent set that is no candidate.
  void leave_out_class(double cost) {
    std::lock_guard lock(mutex_);
    left_out_ = std::min(left_out_, cost);
  }
  // The least cost of those, infinite if there are none.
  double least_class_left_out() const {
    std::lock_guard lock(mutex_);
    return left_out_;
  }
  void take(Networks& networks) {
    std::lock_guard lock(mutex_);
    for (double cost : networks.costs) update_best(cost);
    networks_.append(networks);
    networks.clear();
    if (networks_.count() >= check_at_ && is_over(2)) {
      drop_worst();
      check_at_ = networks_.count() + networks_.count() / 2;  // because of ties most of them may have stayed
    }
  }
  // Networks that cost more may be missing, because a quota was full elsewhere.
  void truncate(double limit) {
    std::lock_guard lock(mutex_);
    lower(limit);
  }
  // How often networks were dropped. While it does not change, new networks only follow the others.
  std::size_t generation() const { return generation_; }
  // Moves out what is wanted, the best first, equal costs in increasing order of their choices. When the watch stops
  // the sort, only the first of them: then `missing_from` is the least cost of what is left out, else infinite.
  SortedNetworks finish(unsigned n_threads, const Watch& watch, double& missing_from) {
    try {
      drop_worst();
    } catch (const QuotaFull&) {
      // The caller checks is_full.
    }
    SortedNetworks sorted = sorted_networks(networks_, n_threads, watch, missing_from);
    networks_ = NetworkStore(networks_.n(), networks_.size_words());
    return sorted;
  }

 private:
  struct Entry {
    double cost;
    std::uint64_t members;
  };

  void update_best(double cost) {
    if (cost >= best()) return;
    best_.store(cost, std::memory_order_relaxed);
    lower(cost + width_);
  }
  void lower(double limit) { limit_.store(std::min(limit, limit_.load()), std::memory_order_relaxed); }
  // Sorting copies the networks once more.
  std::uint64_t most_entries_in_memory() const {
    if (quota_.max_bytes == Quota::kNone) return Quota::kNone;
    return quota_.max_bytes / (2 * networks_.network_bytes() + kSortingBytes);
  }
  // Whether the networks exceed `times` the quota. Twice the quota is accepted before the worst half is dropped, so
  // that the cost of dropping stays small for each network.
  bool is_over(std::uint64_t times) {
    if (networks_.count() / times > std::min(quota_.max_entries, most_entries_in_memory())) return true;
    if (quota_.max_networks == Quota::kNone) return false;
    for (; n_seen_ < networks_.count(); ++n_seen_) n_networks_ = added(n_networks_, networks_.members(n_seen_));
    return n_networks_ / times > quota_.max_networks;
  }
  static std::uint64_t added(std::uint64_t a, std::uint64_t b) { return b > Quota::kNone - a ? Quota::kNone : a + b; }

  // Drops what is not wanted: what remains costs at most the limit, and of that the best that fill a quota and all that
  // tie with the last.
  void drop_worst() {
    drop_unwanted();
    const std::uint64_t by_memory = most_entries_in_memory();
    const std::uint64_t most = std::max<std::uint64_t>(1, std::min(quota_.max_entries, by_memory));
    if (quota_.max_networks != Quota::kNone)
      truncate_to_networks(most);
    else if (networks_.count() > most)
      truncate_to_entries(most);
    n_seen_ = n_networks_ = 0;
    is_full_ = networks_.count() > by_memory;
    if (is_full_) throw QuotaFull();
  }
  void truncate_to_entries(std::uint64_t most) {
    std::vector<double> costs = networks_.costs();
    const auto last = costs.begin() + std::ptrdiff_t(most - 1);
    std::nth_element(costs.begin(), last, costs.end());
    truncate_after(*last);
  }
  void truncate_to_networks(std::uint64_t most) {
    std::vector<Entry> order;
    order.reserve(networks_.count());
    for (std::size_t k = 0; k < networks_.count(); ++k) order.push_back({networks_.cost(k), networks_.members(k)});
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) { return a.cost < b.cost; });
    std::uint64_t networks = 0;
    std::size_t end = 0;
    while (end < order.size() && end < most && networks < quota_.max_networks)
      networks = added(networks, order[end++].members);
    if (end < order.size()) truncate_after(order[end - 1].cost);
  }
  void truncate_after(double last) {
    lower(last + tie_);
    drop_unwanted();
  }
  void drop_unwanted() {
    const std::size_t before = networks_.count();
    networks_.keep_up_to(limit());
    generation_ += networks_.count() < before;
  }

  Quota quota_;
  double width_, tie_;
  std::atomic<double> best_{std::numeric_limits<double>::infinity()}, limit_{std::numeric_limits<double>::infinity()};
  NetworkStore networks_;
  double incumbent_cost_ = std::numeric_limits<double>::infinity();
  double left_out_ = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> incumbent_;
  std::size_t check_at_ = 1024, generation_ = 0;
  bool is_full_ = false;
  std::uint64_t n_seen_ = 0, n_networks_ = 0;
  mutable std::mutex mutex_;
};

}  // namespace credibn::search
