// The search by dynamic programming over subsets.
#include <nanobind/stl/optional.h>

#include <optional>
#include <type_traits>

#include "bind/arrays.hpp"
#include "bind/collection.hpp"
#include "classes/node_order.hpp"
#include "subsets/subset_search.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace subsets;
using base::Bits;
using base::stage_of;
using base::Stopped;
using classes::ranks_along;
using search::Choices;

// From this number of nodes on, bounds are rounded to take half the memory.
constexpr int kFloatNodes = 27;

// Calls use(bounds type) with the smallest types that are large enough.
template <class Use>
auto with_bounds(const SubsetChoices& subsets, Use&& use) {
  const bool is_short = subsets.most_candidates() < 65536;
  if (subsets.n >= kFloatNodes)
    return is_short ? use(std::type_identity<SubsetBounds<std::uint16_t, float>>())
                    : use(std::type_identity<SubsetBounds<std::uint32_t, float>>());
  return is_short ? use(std::type_identity<SubsetBounds<std::uint16_t, double>>())
                  : use(std::type_identity<SubsetBounds<std::uint32_t, double>>());
}

// Returns a bound on what was left out, infinite if nothing was.
template <int W, class Bounds>
double list_networks(const Choices<W>& choices, const SubsetChoices& subsets, bool by_class, Collection& collection,
                     std::uint64_t max_bytes, unsigned n_threads, std::optional<double> seconds, const Watch& watch,
                     SearchStatistics& statistics) {
  const Bounds bounds(subsets, n_threads, stage_of(watch, 0.0, 0.5));
  if (bounds.completion(0) == std::numeric_limits<double>::infinity())
    return bounds.completion(0);  // no network at all
  const std::vector<std::uint32_t> optimum = bounds.optimum();
  std::vector<Bits<W>> parents(std::size_t(choices.n()));
  std::vector<std::uint32_t> network(parents.size());
  for (const auto& settled : subsets.settled) network[std::size_t(settled.node)] = settled.position;
  double cost = subsets.base_cost();
  for (std::size_t v = 0; v < optimum.size(); ++v) {
    const int node = subsets.nodes[v];
    network[std::size_t(node)] = subsets.positions[v][optimum[v]];
    parents[std::size_t(node)] = choices.parents(node, subsets.positions[v][optimum[v]]);
    cost += subsets.costs[v][optimum[v]];
  }
  collection.update_incumbent(cost + choices.rounding(), network.data());
  SubsetSearch<W, Bounds> listing(choices, subsets, bounds, ranks_along(parents), by_class, collection, max_bytes);
  return listing.list(n_threads, stage_of(watch, 0.5, 0.5), seconds, statistics);
}

template <int W>
double search_with_width(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                         const In<std::uint64_t, 2>& masks, const In<std::uint8_t, 1>& is_open, Collection& collection,
                         bool by_class, std::uint64_t max_bytes, unsigned n_threads, std::optional<double> seconds,
                         const Watch& watch, SearchStatistics& statistics) {
  const std::size_t n = offsets.shape(0) - 1;
  const Choices<W> choices(int(n), offsets.data(), costs.data(), masks.data(), int(masks.shape(1)));
  const SubsetChoices subsets(choices, is_open.data());
  if (!subsets.is_possible()) throw std::invalid_argument("too many nodes for a search over subsets");
  try {
    return with_bounds(subsets, [&]<class Bounds>(std::type_identity<Bounds>) {
      return list_networks<W, Bounds>(choices, subsets, by_class, collection, max_bytes, n_threads, seconds, watch,
                                      statistics);
    });
  } catch (const Stopped&) {
    return -std::numeric_limits<double>::infinity();  // stopped before the optimum was found
  }
}

void check(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs, const In<std::uint64_t, 2>& masks,
           const In<std::uint8_t, 1>& is_open) {
  require_candidates(offsets, costs, masks);
  require(is_open.shape(0) == costs.shape(0), "is_open must have one entry for each candidate");
}

// A bound on what was left out, infinite if nothing was, and statistics; the networks are in the collection.
nb::object search_subsets(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                          const In<std::uint64_t, 2>& masks, const In<std::uint8_t, 1>& is_open, Collection& collection,
                          bool by_class, std::optional<std::uint64_t> max_bytes, unsigned n_threads,
                          std::optional<double> seconds, const nb::object& watch) {
  check(offsets, costs, masks, is_open);
  require_threads(n_threads);
  require_room(collection, offsets.shape(0) - 1, by_class);
  require(!seconds || *seconds >= 0, "the seconds must not be negative");
  SearchStatistics statistics;
  const auto run = [&](auto search_with) {
    nb::gil_scoped_release release;
    return search_with(offsets, costs, masks, is_open, collection, by_class, max_bytes.value_or(~std::uint64_t(0)),
                       n_threads, seconds, make_watch(watch), statistics);
  };
  try {
    const double unexplored = masks.shape(1) == 1   ? run(search_with_width<1>)
                              : masks.shape(1) == 2 ? run(search_with_width<2>)
                                                    : run(search_with_width<4>);
    nb::dict counted;
    counted["n_layers"] = statistics.n_layers;
    counted["n_dead_ends"] = statistics.n_dead_ends;
    counted["n_complete"] = statistics.n_complete;
    counted["n_bounds"] = statistics.n_bounds;
    return nb::make_tuple(unexplored, counted);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

// The number of nodes that take part and the bytes that the bounds need; None for the latter if there are too many
// nodes.
nb::object subset_search_size(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                              const In<std::uint64_t, 2>& masks, const In<std::uint8_t, 1>& is_open) {
  check(offsets, costs, masks, is_open);
  const auto measure = [&](auto choices) -> nb::object {
    const SubsetChoices subsets(choices, is_open.data());
    if (!subsets.is_possible()) return nb::make_tuple(subsets.n, nb::none());
    return nb::make_tuple(subsets.n, with_bounds(subsets, [&]<class Bounds>(std::type_identity<Bounds>) {
                            return Bounds::bytes(subsets);
                          }));
  };
  const int n = int(offsets.shape(0) - 1), words = int(masks.shape(1));
  try {
    if (words == 1) return measure(Choices<1>(n, offsets.data(), costs.data(), masks.data(), words));
    if (words == 2) return measure(Choices<2>(n, offsets.data(), costs.data(), masks.data(), words));
    return measure(Choices<4>(n, offsets.data(), costs.data(), masks.data(), words));
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

}  // namespace

void bind_subsets(nb::module_& module) {
  module.def("search_subsets", &search_subsets, array("offsets"), array("costs"), array("masks"), array("is_open"),
             nb::arg("collection"), nb::arg("by_class"), nb::arg("max_bytes").none(), nb::arg("n_threads"),
             nb::arg("seconds").none(), nb::arg("watch").none());
  module.def("subset_search_size", &subset_search_size, array("offsets"), array("costs"), array("masks"),
             array("is_open"));
}

}  // namespace credibn::bind
