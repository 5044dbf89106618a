// Sorts networks with several threads, so that what is sorted at any moment can be used: the networks are distributed
// to buckets of consecutive ones, which are sorted and copied one after the other. A stop leaves out whole buckets, the
// most expensive ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "search/network_store.hpp"

namespace credibn::search {

using base::run_tasks;
using base::stage_of;
using base::StopFlag;
using base::Stopped;
using base::TaskProgress;
using base::Watch;

inline constexpr std::size_t kSortingBytes = 16;  // for each network, besides the two copies of it

// Arrays of networks that no pass clears first: the threads that fill them touch the memory first.
struct SortedNetworks {
  SortedNetworks(std::size_t n_networks, std::size_t n_nodes, std::size_t n_words)
      : count(n_networks),
        n(n_nodes),
        size_words(n_words),
        choices(std::make_unique_for_overwrite<std::uint32_t[]>(n_networks * n)),
        costs(std::make_unique_for_overwrite<double[]>(n_networks)),
        sizes(std::make_unique_for_overwrite<std::uint64_t[]>(n_networks * n_words)) {}

  void set(std::size_t k, const std::uint32_t* network, double cost, const std::uint64_t* size) {
    std::copy_n(network, n, choices.get() + k * n);
    costs[k] = cost;
    std::copy_n(size, size_words, sizes.get() + k * size_words);
  }

  std::size_t count, n, size_words;
  std::unique_ptr<std::uint32_t[]> choices;
  std::unique_ptr<double[]> costs;
  std::unique_ptr<std::uint64_t[]> sizes;
};

// A network by its number, with what the order compares.
struct NetworkPlace {
  double cost;
  const std::uint32_t* network;
  std::size_t number;
};

// By cost, equal costs by the choices.
struct InOrder {
  std::size_t n;
  bool operator()(const NetworkPlace& a, const NetworkPlace& b) const {
    if (a.cost != b.cost) return a.cost < b.cost;
    std::size_t k = 0;  // networks that tie often agree in many positions: compare two at a time
    while (k + 2 <= n && std::memcmp(a.network + k, b.network + k, 2 * sizeof(*a.network)) == 0) k += 2;
    return std::lexicographical_compare(a.network + k, a.network + n, b.network + k, b.network + n);
  }
};

class Buckets {
 public:
  // Splits at quantiles of a sample: of the networks themselves, not of the costs, because millions may have the same
  // cost.
  explicit Buckets(const NetworkStore& networks) : in_order_{networks.n()} {
    const std::size_t n_buckets = std::min<std::size_t>(networks.count() / kPerBucket + 1, 1 << 15);
    if (n_buckets == 1) return;
    const std::size_t n_sampled = std::min(networks.count(), n_buckets * kSampledPerBucket);
    std::vector<NetworkPlace> sample;
    for (std::size_t k = 0; k < n_sampled; ++k)
      sample.push_back(place(networks, std::size_t(double(k) / double(n_sampled) * double(networks.count()))));
    std::sort(sample.begin(), sample.end(), in_order_);
    for (std::size_t b = 1; b < n_buckets; ++b) firsts_.push_back(sample[b * n_sampled / n_buckets]);
  }
  static NetworkPlace place(const NetworkStore& networks, std::size_t k) {
    return {networks.cost(k), networks.network(k), k};
  }
  std::size_t count() const { return firsts_.size() + 1; }
  std::size_t of(const NetworkPlace& network) const {
    return std::size_t(std::upper_bound(firsts_.begin(), firsts_.end(), network, in_order_) - firsts_.begin());
  }
  // No network of this bucket or a later one costs less.
  double least(std::size_t bucket) const {
    return bucket ? firsts_[bucket - 1].cost : -std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr std::size_t kPerBucket = 1 << 14, kSampledPerBucket = 32;

  InOrder in_order_;
  std::vector<NetworkPlace> firsts_;  // of each bucket but the first
};

// Where the networks of each bucket begin, and the numbers of the networks, bucket by bucket.
struct Distribution {
  std::vector<std::size_t> begins;
  std::vector<std::size_t> networks;
};

inline Distribution distribute(const NetworkStore& networks, const Buckets& buckets, unsigned n_threads,
                               const Watch& watch, StopFlag& stop) {
  constexpr std::size_t kNetworksPerTask = 1 << 18;
  const std::size_t n_tasks = (networks.count() + kNetworksPerTask - 1) / kNetworksPerTask, n_buckets = buckets.count();
  std::vector<std::vector<std::size_t>> places(n_tasks);  // of the next network of each bucket, for each task
  std::vector<std::uint16_t> bucket_of(networks.count());
  const auto each_network = [&](std::size_t task, auto&& visit) {
    for (std::size_t k = task * kNetworksPerTask, end = std::min(networks.count(), k + kNetworksPerTask); k < end; ++k)
      visit(k);
  };
  run_tasks(n_tasks, n_threads, watch, stop, [&](std::size_t task, unsigned, TaskProgress&) {
    places[task].resize(n_buckets);
    each_network(task, [&](std::size_t k) {
      bucket_of[k] = std::uint16_t(buckets.of(Buckets::place(networks, k)));
      ++places[task][bucket_of[k]];
    });
  });
  Distribution distribution{std::vector<std::size_t>(n_buckets + 1), std::vector<std::size_t>(networks.count())};
  std::size_t sum = 0;
  for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
    distribution.begins[bucket] = sum;
    for (auto& of_task : places) sum += std::exchange(of_task[bucket], sum);
  }
  distribution.begins[n_buckets] = sum;
  run_tasks(n_tasks, n_threads, watch, stop, [&](std::size_t task, unsigned, TaskProgress&) {
    each_network(task, [&](std::size_t k) { distribution.networks[places[task][bucket_of[k]]++] = k; });
  });
  return distribution;
}

// The networks by cost, equal costs in increasing order of the choices. When the watch stops the sort, only the first
// of them: then `missing_from` is at most the least cost of what is left out, else it is infinite. A few networks are
// sorted without a call of the watch.
inline SortedNetworks sorted_networks(const NetworkStore& networks, unsigned n_threads, const Watch& watch,
                                      double& missing_from) {
  missing_from = std::numeric_limits<double>::infinity();
  const Buckets buckets(networks);
  const Watch sort_watch = buckets.count() > 1 ? watch : Watch();
  SortedNetworks sorted(networks.count(), networks.n(), networks.size_words());
  std::vector<std::uint8_t> is_done(buckets.count());
  Distribution distribution;
  StopFlag stop;
  try {
    distribution = distribute(networks, buckets, n_threads, stage_of(sort_watch, 0.0, 0.1), stop);
    run_tasks(
        buckets.count(), n_threads, stage_of(sort_watch, 0.1, 0.9), stop, [&](std::size_t b, unsigned, TaskProgress&) {
          std::vector<NetworkPlace> order;
          order.reserve(distribution.begins[b + 1] - distribution.begins[b]);
          for (std::size_t k = distribution.begins[b]; k < distribution.begins[b + 1]; ++k)
            order.push_back(Buckets::place(networks, distribution.networks[k]));
          std::sort(order.begin(), order.end(), InOrder{networks.n()});
          for (std::size_t k = 0; k < order.size(); ++k)
            sorted.set(distribution.begins[b] + k, order[k].network, order[k].cost, networks.size(order[k].number));
          is_done[b] = 1;
        });
  } catch (const Stopped&) {
    const std::size_t n_done = std::size_t(std::find(is_done.begin(), is_done.end(), 0) - is_done.begin());
    sorted.count = n_done ? distribution.begins[n_done] : 0;
    if (n_done < buckets.count()) missing_from = buckets.least(n_done);
  }
  return sorted;
}

}  // namespace credibn::search
