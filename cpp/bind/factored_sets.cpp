// What is asked of a diagram once it is there: masses, networks in order, a smaller limit, and its arrays for a file.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>

#include "bind/arrays.hpp"
#include "factored/best_first.hpp"
#include "factored/counting.hpp"
#include "factored/masses.hpp"
#include "factored/stored_diagram.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace factored;

void require_counted(const Counted& counted) {
  require(!counted.empty(), "nothing was counted");
}

Masses masses_of(const Counted& counted, double step) {
  require_counted(counted);
  require(step >= 0 && std::isfinite(step), "the step must be a number and not negative");
  return Masses(counted.networks, *counted.counts, step);
}

Out<double> masses_up_to(const Counted& counted, const In<std::int64_t, 1>& limits, double step) {
  const Masses masses = masses_of(counted, step);
  std::vector<double> sums = masses.up_to(limits.data(), limits.size());
  const std::size_t n = sums.size();
  return to_numpy(std::move(sums), {n});
}

Out<double> masses_without(const Counted& counted, const In<std::uint8_t, 1>& left_out, double step) {
  const Masses masses = masses_of(counted, step);
  require(left_out.shape(0) == counted.networks.costs.size(), "there must be flags for each candidate");
  std::vector<double> sums;
  {
    nb::gil_scoped_release release;
    const Masses::Row row = masses.without(left_out.data());
    sums.assign(row.begin(), row.end());
  }
  const std::size_t n = sums.size();
  return to_numpy(std::move(sums), {n});
}

std::size_t n_entries(const Counted& counted) {
  require_counted(counted);
  std::size_t sum = 0;
  for (std::size_t t = 0; t <= counted.networks.n(); ++t)
    sum += counted.counts->forward(t).size() + counted.counts->backward(t).size();
  return sum;
}

// Makes the lists; without them where they do not fit.
void list_costs(Counted& counted, std::size_t max_bytes, const Watch& watching) {
  base::ThrottledWatch watch(watching);
  const auto left = [&](const Diagram& diagram) { return max_bytes - std::min(max_bytes, diagram.bytes()); };
  try {
    counted.counts = std::make_unique<PathCounts>(counted.networks, true, left(counted.networks), watch);
    if (!counted.classes.empty())
      counted.class_counts = std::make_unique<PathCounts>(counted.classes, false, left(counted.classes), watch);
  } catch (const TooLarge&) {
    counted.outcome = Outcome::too_large;
  } catch (const base::Stopped&) {
    counted.outcome = Outcome::stopped;
  }
}

std::unique_ptr<Counted> lower_limit(const Counted& counted, std::int64_t limit, std::uint64_t max_bytes,
                                     const nb::object& watch) {
  require_counted(counted);
  require(limit >= counted.networks.best() && limit <= counted.networks.limit,
          "the limit must be between the best cost and the limit so far");
  nb::gil_scoped_release release;
  auto lower = std::make_unique<Counted>();
  lower->networks = counted.networks;
  lower->networks.lower_limit_to(limit);
  if (counted.class_counts) {
    lower->classes = counted.classes;
    lower->classes.lower_limit_to(limit);
  }
  list_costs(*lower, std::size_t(max_bytes), make_watch(watch));
  return lower;
}

nb::tuple arrays_of(const Diagram& diagram) {
  StoredDiagram arrays = stored(diagram);
  const auto out = [](auto&& values) {
    const std::size_t n = values.size();
    return to_numpy(std::move(values), {n});
  };
  return nb::make_tuple(out(std::move(arrays.order)), out(std::move(arrays.sizes)), out(std::move(arrays.degrees)),
                        out(std::move(arrays.to)), out(std::move(arrays.candidates)), out(std::move(arrays.weights)));
}

nb::object diagram_arrays(const Counted& counted, bool of_classes) {
  require_counted(counted);
  if (!of_classes) return arrays_of(counted.networks);
  return counted.class_counts ? nb::object(arrays_of(counted.classes)) : nb::none();
}

template <class T>
std::vector<T> copied(const nb::handle& array) {
  In<T, 1> values;
  if (!nb::try_cast(array, values, false)) throw nb::type_error("an array of a diagram has the wrong type");
  return std::vector<T>(values.data(), values.data() + values.size());
}

StoredDiagram stored_of(const nb::tuple& arrays) {
  require(arrays.size() == 6, "a diagram has six arrays");
  return {copied<std::int32_t>(arrays[0]),  copied<std::uint32_t>(arrays[1]), copied<std::uint32_t>(arrays[2]),
          copied<std::uint32_t>(arrays[3]), copied<std::uint32_t>(arrays[4]), copied<std::int32_t>(arrays[5])};
}

std::unique_ptr<Counted> counted_of_arrays(const In<std::int64_t, 1>& offsets, const In<std::int64_t, 1>& costs,
                                           const In<std::uint64_t, 2>& masks, std::int64_t limit,
                                           const nb::tuple& networks, const std::optional<nb::tuple>& classes,
                                           std::uint64_t max_bytes, const nb::object& watch) {
  require_offsets(offsets, costs.shape(0));
  require(masks.shape(0) == costs.shape(0), "there must be a mask for each cost");
  require(masks.shape(1) == (offsets.shape(0) - 1 + 63) / 64, "masks need one word for every 64 nodes");
  const std::int64_t largest = std::int64_t(1) << 58, most = largest / std::int64_t(offsets.shape(0));
  require(std::all_of(costs.data(), costs.data() + costs.size(), [&](auto x) { return x >= 0 && x < most; }) &&
              limit >= 0 && limit < largest,
          "costs must be small enough and not negative");
  const StoredDiagram of_networks = stored_of(networks);
  const StoredDiagram of_classes = classes ? stored_of(*classes) : StoredDiagram();
  try {
    nb::gil_scoped_release release;
    const std::vector<std::size_t> first(offsets.data(), offsets.data() + offsets.size());
    const std::vector<Cost> all_costs(costs.data(), costs.data() + costs.size());
    auto counted = std::make_unique<Counted>();
    counted->networks = diagram_of(of_networks, first, all_costs, limit);
    for (const Layer& layer : counted->networks.layers)
      for (const Edge& edge : layer.edges) require_valid(edge.weight == 1, "a network has a weight");
    require_valid(!has_cycle(counted->networks, masks.data(), masks.shape(1)), "a network has a directed cycle");
    if (classes) counted->classes = diagram_of(of_classes, first, all_costs, limit);
    list_costs(*counted, std::size_t(max_bytes), make_watch(watch));
    return counted;
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

nb::tuple take(BestFirst& networks, std::size_t n_nodes, std::size_t count) {
  std::vector<std::uint32_t> chosen(count * n_nodes);
  std::vector<Cost> costs(count);
  const std::size_t done = networks.take(count, chosen.data(), costs.data());
  chosen.resize(done * n_nodes);
  costs.resize(done);
  return nb::make_tuple(to_numpy(std::move(chosen), {done, n_nodes}), to_numpy(std::move(costs), {done}));
}

struct NetworksInOrder {
  explicit NetworksInOrder(const Counted& counted) : n(counted.networks.n()), networks(counted.networks) {}
  std::size_t n;
  BestFirst networks;
};

}  // namespace

void bind_factored_sets(nb::module_& module) {
  nb::class_<NetworksInOrder>(module, "NetworksInOrder")
      .def(nb::init<const Counted&>(), nb::arg("counted"), nb::keep_alive<1, 2>())
      .def(
          "take",
          [](NetworksInOrder& all, std::size_t count) {
            require(count <= std::size_t(1) << 20, "the core gives at most 2^20 networks at a time");
            return take(all.networks, all.n, count);
          },
          nb::arg("count"));
  module.def("masses_up_to", &masses_up_to, nb::arg("counted"), array("limits"), nb::arg("step"));
  module.def("masses_without", &masses_without, nb::arg("counted"), array("left_out"), nb::arg("step"));
  module.def("n_entries", &n_entries, nb::arg("counted"));
  module.def("lower_limit", &lower_limit, nb::arg("counted"), nb::arg("limit"), nb::arg("max_bytes"),
             nb::arg("watch").none());
  module.def("diagram_arrays", &diagram_arrays, nb::arg("counted"), nb::arg("of_classes"));
  module.def("counted_of_arrays", &counted_of_arrays, array("offsets"), array("costs"), array("masks"),
             nb::arg("limit"), nb::arg("networks"), nb::arg("classes").none(), nb::arg("max_bytes"),
             nb::arg("watch").none());
}

}  // namespace credibn::bind
