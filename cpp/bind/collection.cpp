// The networks that a search has found, and the scores of networks.
#include "bind/collection.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <memory>
#include <optional>

#include "search/network_scores.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace search;
using base::run_tasks;
using base::StopFlag;
using base::TaskProgress;

Out<double> network_scores_py(const In<std::int64_t, 1>& offsets, const In<double, 1>& scores,
                              const In<std::uint32_t, 2>& choices, unsigned n_threads) {
  const std::size_t n = choices.shape(1), n_networks = choices.shape(0);
  require_offsets(offsets, scores.shape(0));
  require(offsets.shape(0) == n + 1, "the offsets must run from 0 to the number of candidates, for each node");
  require_threads(n_threads);
  auto sums = std::make_unique_for_overwrite<double[]>(n_networks);
  {
    nb::gil_scoped_release release;
    constexpr std::size_t kNetworksPerTask = 1 << 15;
    const NodeScores local{n, offsets.data(), scores.data()};
    StopFlag stop;
    run_tasks((n_networks + kNetworksPerTask - 1) / kNetworksPerTask, n_threads, Watch(), stop,
              [&](std::size_t task, unsigned, TaskProgress&) {
                for (std::size_t k = task * kNetworksPerTask, end = std::min(n_networks, k + kNetworksPerTask); k < end;
                     ++k)
                  sums[k] = local.of(choices.data() + k * n);
              });
  }
  return to_numpy(std::move(sums), {n_networks});
}

bool networks_in_order_py(const In<double, 1>& scores, const In<std::uint32_t, 2>& choices) {
  const std::size_t n_networks = choices.shape(0);
  require(scores.shape(0) == n_networks, "there must be a score for each network");
  nb::gil_scoped_release release;
  return are_in_order(scores.data(), choices.data(), n_networks, choices.shape(1));
}

// Takes networks that were found elsewhere; the caller guarantees that their costs are right.
void take_networks(Collection& collection, const In<std::uint32_t, 2>& choices, const In<double, 1>& costs,
                   const In<std::uint64_t, 2>& sizes) {
  const std::size_t count = costs.shape(0), n = collection.n(), words = collection.size_words();
  require(choices.shape(0) == count && sizes.shape(0) == count, "each network needs choices, a cost and a size");
  require(choices.shape(1) == n && sizes.shape(1) == words,
          "the networks have another number of nodes, or sizes of another width, than the collection");
  for (std::size_t k = 0; k < count; ++k) require(std::isfinite(costs(k)), "costs must be finite");
  Networks networks(n, words);
  networks.choices.assign(choices.data(), choices.data() + count * n);
  networks.costs.assign(costs.data(), costs.data() + count);
  networks.sizes.assign(sizes.data(), sizes.data() + count * words);
  try {
    nb::gil_scoped_release release;
    collection.take(networks);
  } catch (const QuotaFull&) {
    // The caller checks is_full.
  }
}

// A copy of the networks from `first` on, as they are now.
nb::object networks_from(const Collection& collection, std::size_t first) {
  const NetworkStore& networks = collection.networks();
  require(first <= networks.count(), "there are fewer networks");
  const std::size_t count = networks.count() - first, n = networks.n(), words = networks.size_words();
  Networks tail(n, words);
  tail.reserve(count);
  for (std::size_t k = first; k < networks.count(); ++k)
    tail.add(networks.network(k), networks.cost(k), networks.size(k));
  return nb::make_tuple(to_numpy(std::move(tail.choices), {count, n}), to_numpy(std::move(tail.costs), {count}),
                        to_numpy(std::move(tail.sizes), {count, words}));
}

// Choices, costs and sizes in order, and the least cost of what a stop left out, infinite if nothing.
nb::object finish(Collection& collection, unsigned n_threads, const nb::object& callback) {
  require_threads(n_threads);
  double missing_from;
  SortedNetworks networks = [&] {
    const Watch watch = make_watch(callback);
    nb::gil_scoped_release release;
    return collection.finish(n_threads, watch, missing_from);
  }();
  return nb::make_tuple(to_numpy(std::move(networks.choices), {networks.count, networks.n}),
                        to_numpy(std::move(networks.costs), {networks.count}),
                        to_numpy(std::move(networks.sizes), {networks.count, networks.size_words}), missing_from);
}

void update_incumbent(Collection& collection, double cost, const std::optional<In<std::uint32_t, 1>>& network) {
  require(!std::isnan(cost), "a cost must be a number");
  require(!network || network->shape(0) == collection.n(), "the network must have one entry for each node");
  collection.update_incumbent(cost, network ? network->data() : nullptr);
}

void truncate(Collection& collection, double limit) {
  require(!std::isnan(limit), "the limit must be a number");
  collection.truncate(limit);
}

void leave_out_class(Collection& collection, double cost) {
  require(!std::isnan(cost), "a cost must be a number");
  collection.leave_out_class(cost);
}

nb::object incumbent(Collection& collection) {
  std::vector<std::uint32_t> network = collection.incumbent();
  if (network.empty()) return nb::none();
  const std::size_t n = network.size();
  return nb::cast(to_numpy(std::move(network), {n}));
}

}  // namespace

void bind_collection(nb::module_& module) {
  module.def("network_scores", &network_scores_py, array("offsets"), array("scores"), array("choices"),
             nb::arg("n_threads") = 1);
  module.def("networks_in_order", &networks_in_order_py, array("scores"), array("choices"));
  nb::class_<Collection>(module, "Collection")
      .def("__init__", &make_collection, nb::arg("n"), nb::arg("size_words"), nb::arg("width"), nb::arg("tie"),
           nb::arg("max_entries").none(), nb::arg("max_networks").none(), nb::arg("max_bytes").none())
      .def("update_incumbent", &update_incumbent, nb::arg("cost"), nb::arg("network").noconvert().none() = nb::none())
      .def("incumbent", &incumbent)
      .def("limit", &Collection::limit)
      .def("best", &Collection::best)
      .def("is_truncated", &Collection::is_truncated)
      .def("is_full", &Collection::is_full)
      .def("count", &Collection::count)
      .def("truncate", &truncate, nb::arg("limit"))
      .def("leave_out_class", &leave_out_class, nb::arg("cost"))
      .def("least_class_left_out", &Collection::least_class_left_out)
      .def("generation", &Collection::generation)
      .def("take", &take_networks, array("choices"), array("costs"), array("sizes"))
      .def("networks_from", &networks_from, nb::arg("first"))
      .def("finish", &finish, nb::arg("n_threads"), nb::arg("watch").none());
}

}  // namespace credibn::bind
