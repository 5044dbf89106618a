// Rows in order, by several threads, so that what is sorted at any moment can be used: rows are dealt into buckets of
// consecutive ones, which are sorted and copied one after the other. A stop leaves out whole buckets, the dearest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "progress.hpp"
#include "row_store.hpp"

namespace credibn {

inline constexpr std::size_t kSortingBytes = 16;  // for each row, besides the two copies of it

// Arrays of rows without a pass over them only to clear them: the threads that fill them touch the memory first.
struct SortedRows {
  SortedRows(std::size_t n_rows, std::size_t n_nodes, std::size_t n_words)
      : count(n_rows),
        n(n_nodes),
        size_words(n_words),
        choices(std::make_unique_for_overwrite<std::uint32_t[]>(n_rows * n)),
        costs(std::make_unique_for_overwrite<double[]>(n_rows)),
        sizes(std::make_unique_for_overwrite<std::uint64_t[]>(n_rows * n_words)) {}

  void set(std::size_t k, const std::uint32_t* row, double cost, const std::uint64_t* size) {
    std::copy_n(row, n, choices.get() + k * n);
    costs[k] = cost;
    std::copy_n(size, size_words, sizes.get() + k * size_words);
  }

  std::size_t count, n, size_words;
  std::unique_ptr<std::uint32_t[]> choices;
  std::unique_ptr<double[]> costs;
  std::unique_ptr<std::uint64_t[]> sizes;
};

// A row by its number, with what it is compared by.
struct RowPlace {
  double cost;
  const std::uint32_t* row;
  std::size_t number;
};

// By cost, equal costs by the row.
struct InOrder {
  std::size_t n;
  bool operator()(const RowPlace& a, const RowPlace& b) const {
    if (a.cost != b.cost) return a.cost < b.cost;
    std::size_t k = 0;  // rows that tie often agree for long: two positions at a time
    while (k + 2 <= n && std::memcmp(a.row + k, b.row + k, 2 * sizeof(*a.row)) == 0) k += 2;
    return std::lexicographical_compare(a.row + k, a.row + n, b.row + k, b.row + n);
  }
};

class Buckets {
 public:
  // Splits at quantiles of a sample: of the rows themselves, not of costs, since millions may have the same cost.
  explicit Buckets(const RowStore& rows) : in_order_{rows.n()} {
    const std::size_t n_buckets = std::min<std::size_t>(rows.count() / kWanted + 1, 1 << 15);
    if (n_buckets == 1) return;
    const std::size_t n_sampled = std::min(rows.count(), n_buckets * kSampled);
    std::vector<RowPlace> sample;
    for (std::size_t k = 0; k < n_sampled; ++k)
      sample.push_back(place(rows, std::size_t(double(k) / double(n_sampled) * double(rows.count()))));
    std::sort(sample.begin(), sample.end(), in_order_);
    for (std::size_t b = 1; b < n_buckets; ++b) firsts_.push_back(sample[b * n_sampled / n_buckets]);
  }
  static RowPlace place(const RowStore& rows, std::size_t k) { return {rows.cost(k), rows.row(k), k}; }
  std::size_t count() const { return firsts_.size() + 1; }
  std::size_t of(const RowPlace& row) const {
    return std::size_t(std::upper_bound(firsts_.begin(), firsts_.end(), row, in_order_) - firsts_.begin());
  }
  // No row of this bucket, or a later one, costs less.
  double least(std::size_t bucket) const {
    return bucket ? firsts_[bucket - 1].cost : -std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr std::size_t kWanted = 1 << 14, kSampled = 32;

  InOrder in_order_;
  std::vector<RowPlace> firsts_;  // of each bucket but the first
};

// Where the rows of each bucket begin once they are dealt, and the numbers of the rows, bucket by bucket.
struct DealtRows {
  std::vector<std::size_t> begins;
  std::vector<std::size_t> rows;
};

inline DealtRows deal(const RowStore& rows, const Buckets& buckets, unsigned n_threads, const Watch& watch,
                      StopFlag& stop) {
  constexpr std::size_t kBlock = 1 << 18;
  const std::size_t n_blocks = (rows.count() + kBlock - 1) / kBlock, n_buckets = buckets.count();
  std::vector<std::vector<std::size_t>> places(n_blocks);  // of the next row of each bucket, for each block
  std::vector<std::uint16_t> bucket_of(rows.count());
  const auto each_row = [&](std::size_t block, auto&& visit) {
    for (std::size_t k = block * kBlock, end = std::min(rows.count(), k + kBlock); k < end; ++k) visit(k);
  };
  run_tasks(n_blocks, n_threads, watch, stop, [&](std::size_t block, unsigned, PartDone&) {
    places[block].resize(n_buckets);
    each_row(block, [&](std::size_t k) {
      bucket_of[k] = std::uint16_t(buckets.of(Buckets::place(rows, k)));
      ++places[block][bucket_of[k]];
    });
  });
  DealtRows dealt{std::vector<std::size_t>(n_buckets + 1), std::vector<std::size_t>(rows.count())};
  std::size_t sum = 0;
  for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
    dealt.begins[bucket] = sum;
    for (auto& of_block : places) sum += std::exchange(of_block[bucket], sum);
  }
  dealt.begins[n_buckets] = sum;
  run_tasks(n_blocks, n_threads, watch, stop, [&](std::size_t block, unsigned, PartDone&) {
    each_row(block, [&](std::size_t k) { dealt.rows[places[block][bucket_of[k]]++] = k; });
  });
  return dealt;
}

// The rows by cost, equal costs in increasing order of the rows. When the watch says stop, only the first of them: then
// `missing_from` is at most the least cost of what is left out, else it is infinite. A few rows are sorted unasked.
inline SortedRows sorted_rows(const RowStore& rows, unsigned n_threads, const Watch& watch, double& missing_from) {
  missing_from = std::numeric_limits<double>::infinity();
  const Buckets buckets(rows);
  const Watch asked = buckets.count() > 1 ? watch : Watch();
  SortedRows sorted(rows.count(), rows.n(), rows.size_words());
  std::vector<std::uint8_t> is_done(buckets.count());
  DealtRows dealt;
  StopFlag stop;
  try {
    dealt = deal(rows, buckets, n_threads, stage_of(asked, 0.0, 0.1), stop);
    run_tasks(buckets.count(), n_threads, stage_of(asked, 0.1, 0.9), stop, [&](std::size_t b, unsigned, PartDone&) {
      std::vector<RowPlace> order;
      order.reserve(dealt.begins[b + 1] - dealt.begins[b]);
      for (std::size_t k = dealt.begins[b]; k < dealt.begins[b + 1]; ++k)
        order.push_back(Buckets::place(rows, dealt.rows[k]));
      std::sort(order.begin(), order.end(), InOrder{rows.n()});
      for (std::size_t k = 0; k < order.size(); ++k)
        sorted.set(dealt.begins[b] + k, order[k].row, order[k].cost, rows.size(order[k].number));
      is_done[b] = 1;
    });
  } catch (const Stopped&) {
    const std::size_t n_done = std::size_t(std::find(is_done.begin(), is_done.end(), 0) - is_done.begin());
    sorted.count = n_done ? dealt.begins[n_done] : 0;
    if (n_done < buckets.count()) missing_from = buckets.least(n_done);
  }
  return sorted;
}

}  // namespace credibn
