// The search by dynamic programming over subsets, called from search/dynamic_programming.py.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind.hpp"
#include "node_order.hpp"
#include "subset_search.hpp"

namespace nb = nanobind;
using namespace credibn;

namespace {

struct Answer {
  std::vector<std::uint32_t> choices;
  std::vector<double> costs;
  std::vector<std::uint64_t> sizes;
  double best = std::numeric_limits<double>::infinity();
  double unexplored = std::numeric_limits<double>::infinity();
  bool is_cut = false;
  SearchStatistics statistics;
};

template <int W, class Position>
void search(const Choices<W>& choices, const SubsetChoices& subsets, bool by_class, Collection& collection,
            unsigned n_threads, const Watch& watch, Answer& answer) {
  const SubsetBounds<Position> bounds(subsets, n_threads, stage_of(watch, 0.0, 0.5));
  const std::vector<std::uint32_t> optimum = bounds.optimum();
  if (optimum.size() != std::size_t(subsets.n)) return;
  std::vector<Bits<W>> parents;
  for (int v = 0; v < choices.n(); ++v) parents.push_back(choices.parents(v, 0));
  for (std::size_t v = 0; v < optimum.size(); ++v) {
    const int node = subsets.nodes[v];
    parents[std::size_t(node)] = choices.parents(node, optimum[v]);
  }
  double cost = bounds.completion(0);
  for (int v = 0; v < choices.n(); ++v)
    if (choices.size(v) == 1 && std::find(subsets.nodes.begin(), subsets.nodes.end(), v) == subsets.nodes.end())
      cost += choices.cost(v, 0);
  collection.know(cost);
  SubsetSearch<W, Position> listing(choices, subsets, bounds, ranks_along(parents), by_class, collection);
  answer.unexplored = listing.run(n_threads, stage_of(watch, 0.5, 0.5), answer.statistics);
}

template <int W>
Answer search_width(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs, const In<std::uint64_t, 2>& masks,
                    double width, double tie, bool by_class, const Quota& quota, std::size_t size_words,
                    unsigned n_threads, const Watch& watch) {
  const std::size_t n = offsets.shape(0) - 1;
  const Choices<W> choices(int(n), offsets.data(), costs.data(), masks.data(), int(masks.shape(1)));
  const SubsetChoices subsets(choices);
  Collection collection(n, by_class ? size_words : 0, width, tie, quota);
  Answer answer;
  try {
    std::size_t most = 0;
    for (const auto& of_node : subsets.costs) most = std::max(most, of_node.size());
    if (most < 65536)
      search<W, std::uint16_t>(choices, subsets, by_class, collection, n_threads, watch, answer);
    else
      search<W, std::uint32_t>(choices, subsets, by_class, collection, n_threads, watch, answer);
  } catch (const Stopped&) {
    answer.unexplored = -std::numeric_limits<double>::infinity();  // not even the optimum is known
  }
  try {
    collection.finish();
  } catch (const Full&) {
    answer.unexplored = std::min(answer.unexplored, collection.limit());
  }
  answer.best = collection.best();
  answer.is_cut = collection.is_cut();
  answer.choices = collection.rows().choices;
  answer.costs = collection.rows().costs;
  answer.sizes = collection.rows().sizes;
  return answer;
}

void check(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs, const In<std::uint64_t, 2>& masks) {
  require(offsets.shape(0) >= 2 && offsets.shape(0) <= 257, "the core takes 1 to 256 variables");
  const std::size_t n = offsets.shape(0) - 1;
  require(offsets(0) == 0 && offsets(n) == std::int64_t(costs.shape(0)) && masks.shape(0) == costs.shape(0) &&
              masks.shape(1) == (n + 63) / 64,
          "offsets, costs and masks do not agree");
  for (std::size_t v = 0; v < n; ++v) require(offsets(v) <= offsets(v + 1), "offsets must not fall");
}

nb::object search_subsets(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                          const In<std::uint64_t, 2>& masks, double width, double tie, bool by_class,
                          std::optional<std::uint64_t> max_rows, std::optional<std::uint64_t> max_networks,
                          std::optional<std::uint64_t> max_bytes, std::size_t size_words, unsigned n_threads,
                          const nb::object& watch) {
  check(offsets, costs, masks);
  require(width >= 0.0 && tie >= 0.0, "width and tie must not be negative");
  const Quota quota{max_rows.value_or(Quota::kNone), max_networks.value_or(Quota::kNone),
                    max_bytes.value_or(Quota::kNone)};
  const auto run = [&](auto search_with) {
    nb::gil_scoped_release release;
    return search_with(offsets, costs, masks, width, tie, by_class, quota, size_words, n_threads, make_watch(watch));
  };
  try {
    Answer answer = masks.shape(1) == 1   ? run(search_width<1>)
                    : masks.shape(1) == 2 ? run(search_width<2>)
                                          : run(search_width<4>);
    const std::size_t k = answer.costs.size(), n = offsets.shape(0) - 1, words = by_class ? size_words : 0;
    nb::dict statistics;
    statistics["layers"] = answer.statistics.n_layers;
    statistics["dead_ends"] = answer.statistics.n_dead_ends;
    statistics["networks_reached"] = answer.statistics.n_complete;
    statistics["bounds_kept"] = answer.statistics.n_bounds;
    return nb::make_tuple(to_numpy(std::move(answer.choices), {k, n}), to_numpy(std::move(answer.costs), {k}),
                          to_numpy(std::move(answer.sizes), {k, words}), answer.best, answer.is_cut, answer.unexplored,
                          statistics);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

// The number of nodes that take part and the bytes that the bounds will need; the bytes are 0 for too many nodes.
nb::object subset_search_size(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                              const In<std::uint64_t, 2>& masks) {
  check(offsets, costs, masks);
  const auto measure = [&](auto choices) {
    const std::size_t n = connected_nodes(choices).size();
    if (n > std::size_t(kMostSubsetNodes)) return nb::make_tuple(n, 0);
    const SubsetChoices subsets(choices);
    std::size_t most = 0;
    for (const auto& of_node : subsets.costs) most = std::max(most, of_node.size());
    return nb::make_tuple(
        n, most < 65536 ? SubsetBounds<std::uint16_t>::bytes(subsets) : SubsetBounds<std::uint32_t>::bytes(subsets));
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

namespace credibn {

void bind_subsets(nb::module_& module) {
  module.def("search_subsets", &search_subsets, array("offsets"), array("costs"), array("masks"), nb::arg("width"),
             nb::arg("tie"), nb::arg("by_class"), nb::arg("max_rows").none(), nb::arg("max_networks").none(),
             nb::arg("max_bytes").none(), nb::arg("size_words"), nb::arg("n_threads"), nb::arg("watch").none());
  module.def("subset_search_size", &subset_search_size, array("offsets"), array("costs"), array("masks"));
}

}  // namespace credibn
