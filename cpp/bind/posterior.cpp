// The sum over all networks.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "posterior/network_sum.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace posterior;

// The log of the sum, relative to the sum of the nodes' best scores; then the probability of each candidate and of each
// descent, [ancestor, descendant], or None for both; then, if there is a cause, the probability of each of its
// candidates together with each descendant, or None. None for all if the watch stopped the work.
nb::object sum_networks_py(const In<std::int64_t, 1>& offsets, const In<double, 1>& scores,
                           const In<std::uint64_t, 1>& masks, bool with_marginals, std::optional<int> cause,
                           const nb::object& watch) {
  require(offsets.shape(0) >= 2 && offsets.shape(0) <= LocalSums::kMostNodes + 1, "the core takes 1 to 24 nodes");
  const std::size_t n = offsets.shape(0) - 1;
  require_offsets(offsets, scores.shape(0));
  require(masks.shape(0) == scores.shape(0), "there must be a mask for each score");
  require(!cause || (*cause >= 0 && *cause < int(n) && with_marginals), "the cause must be a node, with marginals");
  const LocalScores local{int(n), offsets.data(), scores.data(), masks.data()};
  try {
    NetworkSumResult found = [&] {
      nb::gil_scoped_release release;
      return sum_networks(local, with_marginals, cause.value_or(-1), make_watch(watch));
    }();
    if (found.descents.empty()) return nb::make_tuple(found.log_mass, nb::none(), nb::none(), nb::none());
    const std::size_t m = found.paths.size() / n;
    const nb::object paths = cause ? nb::cast(to_numpy(std::move(found.paths), {m, n})) : nb::none();
    return nb::make_tuple(found.log_mass, to_numpy(std::move(found.probabilities), {scores.shape(0)}),
                          to_numpy(std::move(found.descents), {n, n}), paths);
  } catch (const base::Stopped&) {
    return nb::none();
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

std::uint64_t network_sum_bytes(int n, bool with_marginals) {
  require(n >= 1 && n <= LocalSums::kMostNodes, "the core takes 1 to 24 nodes");
  return NetworkSum::bytes(n, with_marginals);
}

double network_sum_rounding(int n) {
  require(n >= 1 && n <= LocalSums::kMostNodes, "the core takes 1 to 24 nodes");
  return NetworkSum::rounding_error(n);
}

}  // namespace

void bind_posterior(nb::module_& module) {
  module.def("sum_networks", &sum_networks_py, array("offsets"), array("scores"), array("masks"),
             nb::arg("with_marginals"), nb::arg("cause").none(), nb::arg("watch").none());
  module.def("network_sum_rounding", &network_sum_rounding, nb::arg("n"));
  module.def("network_sum_bytes", &network_sum_bytes, nb::arg("n"), nb::arg("with_marginals"));
}

}  // namespace credibn::bind
