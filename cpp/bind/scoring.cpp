// The limits of a scoring problem, and rule 1 for set costs that were computed elsewhere.
#include "bind/scoring.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace scoring;

nb::object plan_scoring_py(const In<Code, 2>& codes, const In<std::int64_t, 1>& arities,
                           const In<std::int64_t, 1>& weights, bool is_bdeu, double parameter, double epsilon,
                           const In<std::uint8_t, 2>& allowed, const In<std::uint8_t, 2>& required,
                           const In<std::int64_t, 1>& max_parents, const In<double, 2>& edge_costs) {
  const DiscreteProblem problem(table_of(codes, arities, weights), make_score(is_bdeu, parameter),
                                request_of(codes.shape(0), epsilon, allowed, required, max_parents, edge_costs),
                                Rules{});
  std::vector<std::int64_t> limits;
  for (const NodeChoice& choice : problem.request.nodes)
    limits.push_back(std::int64_t(choice.required.size()) + choice.max_free);
  const std::size_t n = limits.size();
  return nb::make_tuple(to_numpy(std::move(limits), {n}), problem.scale.accuracy.tolerance);
}

nb::object prune_set_costs_py(const std::vector<In<double, 1>>& set_costs, std::size_t n, double epsilon,
                              const In<std::uint8_t, 2>& allowed, const In<std::uint8_t, 2>& required,
                              const In<std::int64_t, 1>& max_parents, const In<double, 2>& edge_costs,
                              const In<double, 1>& floors, const In<double, 1>& size_penalties, double allowance,
                              unsigned n_threads, const nb::object& watch) {
  require_threads(n_threads);
  require(allowance >= 0.0 && std::isfinite(allowance), "the allowance must be finite and not negative");
  const Request request = request_of(n, epsilon, allowed, required, max_parents, edge_costs);
  const int max_size = largest_family(request);
  const Ranks ranks(int(n), max_size);
  require(set_costs.size() >= std::size_t(max_size) + 1, "set costs are missing for the largest family");
  require(floors.shape(0) == n && size_penalties.shape(0) >= std::size_t(max_size), "bounds are too short");
  SetCosts sets;
  for (int k = 0; k <= max_size; ++k) {
    const auto& level = set_costs[std::size_t(k)];
    require(level.shape(0) == ranks.choose(int(n), k), "a level of set costs has the wrong length");
    require_finite(level, "set costs must be finite");
    sets.costs.emplace_back(level.data(), level.data() + level.shape(0));
  }
  const SizeBound bound({floors.data(), floors.data() + n},
                        {size_penalties.data(), size_penalties.data() + size_penalties.shape(0)});
  return run(
      [&] { return sweep_lattices(request, sets, ranks, epsilon + allowance, bound, n_threads, make_watch(watch)); });
}

}  // namespace

void bind_scoring(nb::module_& module) {
  module.def("plan_scoring", &plan_scoring_py, array("codes"), array("arities"), array("weights"), nb::arg("is_bdeu"),
             nb::arg("parameter"), nb::arg("epsilon"), array("allowed"), array("required"), array("max_parents"),
             array("edge_costs"));
  module.def("prune_set_costs", &prune_set_costs_py, nb::arg("set_costs"), nb::arg("n"), nb::arg("epsilon"),
             array("allowed"), array("required"), array("max_parents"), array("edge_costs"), array("floors"),
             array("size_penalties"), nb::arg("allowance"), nb::arg("n_threads"), nb::arg("watch").none());
}

}  // namespace credibn::bind
