// The networks (or classes) found so far, and the cost up to which more are wanted. The limit falls when a cheaper
// network is found (credible means: within epsilon of the best) and when a quota is full (only the best are kept, with
// all that tie with the last of them), so the engines read it often: one mechanism serves the credible set, the k best
// and bounded memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

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

// Rows of equal width: one candidate position for each node, a cost, and the class size in words.
struct Rows {
  Rows(std::size_t n, std::size_t size_words) : n_(n), size_words_(size_words) {}

  std::size_t count() const { return costs.size(); }
  std::size_t row_bytes() const { return 4 * n_ + 8 * size_words_ + 8; }
  std::size_t bytes() const { return count() * row_bytes(); }
  const std::uint32_t* row(std::size_t k) const { return choices.data() + k * n_; }
  const std::uint64_t* size(std::size_t k) const { return sizes.data() + k * size_words_; }
  void add(const std::uint32_t* row, double cost, const std::uint64_t* size) {
    choices.insert(choices.end(), row, row + n_);
    costs.push_back(cost);
    sizes.insert(sizes.end(), size, size + size_words_);
  }
  void append(const Rows& other) {
    choices.insert(choices.end(), other.choices.begin(), other.choices.end());
    costs.insert(costs.end(), other.costs.begin(), other.costs.end());
    sizes.insert(sizes.end(), other.sizes.begin(), other.sizes.end());
  }
  void clear() {
    choices.clear();
    costs.clear();
    sizes.clear();
  }
  // The number of networks that row k stands for, or the largest number where it does not fit.
  std::uint64_t members(std::size_t k) const {
    for (std::size_t w = 1; w < size_words_; ++w)
      if (size(k)[w]) return Quota::kNone;
    return size_words_ ? size(k)[0] : 1;
  }

  std::size_t n_, size_words_;
  std::vector<std::uint32_t> choices;
  std::vector<double> costs;
  std::vector<std::uint64_t> sizes;
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
  std::size_t size_words() const { return rows_.size_words_; }
  const Rows& rows() const { return rows_; }

  // A network of this cost exists.
  void know(double cost) {
    std::lock_guard lock(mutex_);
    know_locked(cost);
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
  // Counts how often rows were dropped or moved: while it does not change, new rows only follow the others.
  std::size_t generation() const { return generation_; }
  // Leaves only what is wanted, the best first, equal costs in increasing order of their rows.
  void finish() {
    drop_worst();
    std::vector<Entry> order = kept();
    std::sort(order.begin(), order.end(), [&](const Entry& a, const Entry& b) {
      if (a.cost != b.cost) return a.cost < b.cost;
      const std::uint32_t *left = rows_.row(a.row), *right = rows_.row(b.row);
      return std::lexicographical_compare(left, left + rows_.n_, right, right + rows_.n_);
    });
    reorder(order);
  }
  // Gives the rows away: nothing large is kept twice.
  Rows release() { return std::exchange(rows_, Rows(rows_.n_, rows_.size_words_)); }

 private:
  void know_locked(double cost) {
    if (cost >= best()) return;
    best_.store(cost, std::memory_order_relaxed);
    lower(cost + width_);
  }
  void lower(double limit) { limit_.store(std::min(limit, limit_.load()), std::memory_order_relaxed); }
  // Whether the rows fill `times` the quota. Twice as much is let through before the worst half is dropped, so that
  // dropping costs little for each row.
  bool is_over(std::uint64_t times) {
    if (rows_.bytes() / times > quota_.max_bytes / 2 || rows_.count() / times > quota_.max_rows) return true;
    if (quota_.max_networks == Quota::kNone) return false;
    for (; n_seen_ < rows_.count(); ++n_seen_) {
      const std::uint64_t members = rows_.members(n_seen_);
      n_networks_ = members > Quota::kNone - n_networks_ ? Quota::kNone : n_networks_ + members;
    }
    return n_networks_ / times > quota_.max_networks;
  }
  struct Entry {
    double cost;
    std::size_t row;
  };
  std::vector<Entry> kept() const {
    std::vector<Entry> order;
    for (std::size_t k = 0; k < rows_.count(); ++k)
      if (rows_.costs[k] <= limit()) order.push_back({rows_.costs[k], k});
    return order;
  }
  // Leaves what is wanted: rows up to the limit, of these the best that fill a quota and all that tie with the last.
  void drop_worst() {
    std::vector<Entry> order = kept();
    const std::uint64_t by_memory =
        quota_.max_bytes == Quota::kNone ? Quota::kNone : quota_.max_bytes / 2 / rows_.row_bytes();
    const std::uint64_t most = std::max<std::uint64_t>(1, std::min(quota_.max_rows, by_memory));
    if (order.size() > most || quota_.max_networks != Quota::kNone) {
      std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) { return a.cost < b.cost; });
      std::uint64_t networks = 0;
      std::size_t end = 0;
      while (end < order.size() && end < most && networks < quota_.max_networks) {
        const std::uint64_t members = rows_.members(order[end++].row);
        networks = members > Quota::kNone - networks ? Quota::kNone : networks + members;
      }
      if (end < order.size()) {
        const double last = order[end - 1].cost + tie_;
        while (end < order.size() && order[end].cost <= last) ++end;
        lower(last);
        order.resize(end);
      }
      std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) { return a.row < b.row; });
    }
    if (order.size() < rows_.count()) reorder(order);
    n_seen_ = n_networks_ = 0;
    is_full_ = rows_.count() > by_memory;
    if (is_full_) throw Full();
  }
  void reorder(const std::vector<Entry>& order) {
    Rows sorted(rows_.n_, rows_.size_words_);
    sorted.choices.reserve(order.size() * rows_.n_);
    sorted.costs.reserve(order.size());
    sorted.sizes.reserve(order.size() * rows_.size_words_);
    for (const Entry& entry : order) sorted.add(rows_.row(entry.row), entry.cost, rows_.size(entry.row));
    rows_ = std::move(sorted);
    ++generation_;
  }

  Quota quota_;
  double width_, tie_;
  std::atomic<double> best_{std::numeric_limits<double>::infinity()}, limit_{std::numeric_limits<double>::infinity()};
  Rows rows_;
  std::size_t check_at_ = 1024, generation_ = 0;
  bool is_full_ = false;
  std::uint64_t n_seen_ = 0, n_networks_ = 0;
  mutable std::mutex mutex_;
};

}  // namespace credibn
