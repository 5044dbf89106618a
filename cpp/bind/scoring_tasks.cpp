// Scoring in tasks: the weights of an engine's tasks, the results of some tasks, and the candidates from all results.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/scoring.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace scoring;

nb::object weights_to_python(std::vector<double>&& weights) {
  const std::size_t n = weights.size();
  return nb::cast(to_numpy(std::move(weights), {n}));
}

nb::object descent_weights(const DiscreteProblem& problem) {
  std::vector<double> weights;
  for (const DescentTask& task : descent_tasks(problem.request))
    weights.push_back(descent_weight(problem.request, task));
  return weights_to_python(std::move(weights));
}

nb::object table_weights(const DiscreteProblem& problem) {
  const int n = problem.request.n, max_size = largest_family(problem.request);
  std::vector<double> weights;
  for (const SetTask& task : set_tasks(n, max_size)) weights.push_back(set_weight(n, max_size, task));
  return weights_to_python(std::move(weights));
}

nb::object join_descent_py(const DiscreteProblem& problem, const In<std::int32_t, 1>& nodes, const In<double, 1>& costs,
                           const In<std::uint64_t, 2>& masks, std::uint64_t n_local_scores, unsigned n_threads,
                           const nb::object& watch) {
  Candidates found(problem.request.n);
  const std::size_t m = nodes.shape(0);
  require(costs.shape(0) == m && masks.shape(0) == m && masks.shape(1) == std::size_t(found.words),
          "candidates need one node, one cost and one mask each");
  require_finite(costs, "costs must be finite");
  require_threads(n_threads);
  const std::size_t n = std::size_t(problem.request.n), last = masks.shape(1) - 1;
  for (std::size_t k = 0; n % 64 && k < m; ++k)
    require(masks(k, last) >> (n % 64) == 0, "a mask holds a variable that does not exist");
  found.nodes.assign(nodes.data(), nodes.data() + m);
  found.costs.assign(costs.data(), costs.data() + m);
  found.masks.assign(masks.data(), masks.data() + m * masks.shape(1));
  found.n_local_scores = n_local_scores;
  return run([&] { return join_descent(problem, found, n_threads, make_watch(watch)); });
}

nb::object run_table_tasks_py(const DiscreteProblem& problem, std::size_t first, std::size_t last,
                              const nb::object& watch) {
  try {
    TaskCosts found = [&] {
      nb::gil_scoped_release release;
      return run_table_tasks(problem, first, last, make_watch(watch));
    }();
    const std::size_t n_costs = found.costs.size(), n_cells = found.cells.size();
    return nb::make_tuple(to_numpy(std::move(found.costs), {n_costs}), to_numpy(std::move(found.cells), {n_cells}));
  } catch (const base::Stopped&) {
    return nb::none();
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

}  // namespace

void bind_scoring_tasks(nb::module_& module) {
  nb::class_<DiscreteProblem>(module, "DiscreteProblem")
      .def(
          "__init__",
          [](DiscreteProblem* self, const In<Code, 2>& codes, const In<std::int64_t, 1>& arities,
             const In<std::int64_t, 1>& weights, bool is_bdeu, double parameter, double epsilon,
             const In<std::uint8_t, 2>& allowed, const In<std::uint8_t, 2>& required,
             const In<std::int64_t, 1>& max_parents, const In<double, 2>& edge_costs,
             const std::vector<std::string>& rules) {
            new (self) DiscreteProblem(table_of(codes, arities, weights), make_score(is_bdeu, parameter),
                                       request_of(codes.shape(0), epsilon, allowed, required, max_parents, edge_costs),
                                       rules_of(rules));
          },
          array("codes"), array("arities"), array("weights"), nb::arg("is_bdeu"), nb::arg("parameter"),
          nb::arg("epsilon"), array("allowed"), array("required"), array("max_parents"), array("edge_costs"),
          nb::arg("rules"))
      .def("descent_weights", &descent_weights)
      .def(
          "run_descent_tasks",
          [](const DiscreteProblem& problem, std::size_t first, std::size_t last, const nb::object& watch) {
            return run([&] { return run_descent_tasks(problem, first, last, make_watch(watch)); });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("watch").none())
      .def("join_descent", &join_descent_py, array("nodes"), array("costs"), array("masks"), nb::arg("n_local_scores"),
           nb::arg("n_threads"), nb::arg("watch").none())
      .def("table_weights", &table_weights)
      .def("run_table_tasks", &run_table_tasks_py, nb::arg("first"), nb::arg("last"), nb::arg("watch").none())
      .def(
          "join_table",
          [](const DiscreteProblem& problem, const In<double, 1>& costs, const In<std::uint32_t, 1>& cells,
             unsigned n_threads, const nb::object& watch) {
            require_finite(costs, "costs must be finite");
            require_threads(n_threads);
            return run([&] {
              return join_table(problem, costs.data(), costs.shape(0), cells.data(), cells.shape(0), n_threads,
                                make_watch(watch));
            });
          },
          array("costs"), array("cells"), nb::arg("n_threads"), nb::arg("watch").none());
}

}  // namespace credibn::bind
