// The search by integer programming: candidates, cuts, bounds and the depth-first search.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/collection.hpp"
#include "classes/node_order.hpp"
#include "cuts/cut_pool.hpp"
#include "cuts/depth_first.hpp"
#include "search/incumbent.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace cuts;
using base::Stopped;
using base::ThrottledWatch;
using search::ChoiceIndex;
using search::Choices;
using search::OrderSearch;
using search::QuotaFull;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The candidates and what is derived from them, for one width of the masks.
template <int W>
struct Problem {
  Problem(int n, const std::int64_t* offsets, const double* costs, const std::uint64_t* masks, int words)
      : choices(n, offsets, costs, masks, words), index(choices), pool(choices) {}

  // The node of a candidate, or of an artificial candidate: these follow all others, one for each node.
  int node_of(std::size_t position) const {
    if (position >= choices.size()) return int(position - choices.size());
    int v = 0;
    while (position >= choices.first(v) + choices.size(v)) ++v;
    return v;
  }

  Choices<W> choices;
  ChoiceIndex<W> index;
  CutPool<W> pool;
};

class SearchProblem {
 public:
  SearchProblem(const In<std::int64_t, 1>& offsets, const In<double, 1>& costs, const In<std::uint64_t, 2>& masks) {
    require_candidates(offsets, costs, masks);
    const std::size_t n = offsets.shape(0) - 1, m = costs.shape(0), words = masks.shape(1);
    try {
      if (words <= 1)
        any_ = make<1>(n, offsets, costs, masks, words);
      else if (words <= 2)
        any_ = make<2>(n, offsets, costs, masks, words);
      else
        any_ = make<4>(n, offsets, costs, masks, words);
    } catch (const std::invalid_argument& error) {
      throw nb::value_error(error.what());
    }
    size_ = m;
  }
  std::size_t size() const { return size_; }

  template <class Work>
  auto with(Work&& work) {
    return std::visit([&](auto& problem) { return work(*problem); }, any_);
  }

 private:
  template <int W>
  static std::unique_ptr<Problem<W>> make(std::size_t n, const In<std::int64_t, 1>& offsets, const In<double, 1>& costs,
                                          const In<std::uint64_t, 2>& masks, std::size_t words) {
    return std::make_unique<Problem<W>>(int(n), offsets.data(), costs.data(), masks.data(), int(words));
  }
  std::variant<std::unique_ptr<Problem<1>>, std::unique_ptr<Problem<2>>, std::unique_ptr<Problem<4>>> any_;
  std::size_t size_ = 0;
};

// The best network found, and its cost; None if none was found, because there is none or the watch stopped the search.
nb::object find_network(SearchProblem& self, const In<std::int64_t, 1>& order, std::uint64_t seed, std::uint64_t effort,
                        const nb::object& callback) {
  return self.with([&](auto& problem) -> nb::object {
    const std::size_t n = std::size_t(problem.choices.n());
    for (std::size_t k = 0; k < order.shape(0); ++k)
      require(order(k) >= 0 && order(k) < std::int64_t(n), "the order must hold each node once");
    std::vector<int> start(order.data(), order.data() + order.shape(0));
    std::vector<int> sorted = start;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t v = 0; v < sorted.size(); ++v) require(sorted[v] == int(v), "the order must hold each node once");
    require(start.empty() || start.size() == n, "the order must hold each node once");
    const Watch watch = make_watch(callback);
    ThrottledWatch throttled(watch);
    OrderSearch search(problem.choices, seed, throttled);
    try {
      nb::gil_scoped_release release;
      if (!start.empty())
        search.run(start, effort);
      else
        for (int restart = 0; restart < 8; ++restart) search.run_from_random(effort / 8);
    } catch (const Stopped&) {
      // The best network so far is a network like any other.
    }
    if (!search.is_possible()) return nb::none();
    std::vector<std::uint32_t> network = search.network();
    return nb::make_tuple(to_numpy(std::move(network), {n}), search.cost());
  });
}

void require_values(const SearchProblem& self, const In<double, 1>& values) {
  require(values.shape(0) == self.size(), "values must have one entry for each candidate");
  require_finite(values, "values must be finite");
}

std::vector<std::int64_t> separate_cluster_cuts(SearchProblem& self, const In<double, 1>& values, int max_k,
                                                std::size_t max_cuts, double least) {
  require_values(self, values);
  require(max_k >= 1, "max_k must be 1 or more");
  return self.with([&](auto& problem) {
    nb::gil_scoped_release release;
    return problem.pool.separate_clusters(values.data(), std::min(max_k, problem.choices.n()), max_cuts, least);
  });
}

template <class P>
std::vector<const Cut*> cuts_of(const P& problem, const In<std::int64_t, 1>& ids) {
  std::vector<const Cut*> cuts;
  for (std::size_t k = 0; k < ids.shape(0); ++k) {
    require(ids(k) >= 0 && std::size_t(ids(k)) < problem.pool.size(), "there is no such cut");
    cuts.push_back(&problem.pool.cut(std::size_t(ids(k))));
  }
  return cuts;
}

std::vector<std::int64_t> separate_diverse_cuts(SearchProblem& self, const In<double, 2>& points,
                                                const In<std::uint8_t, 1>& counts, const In<std::int64_t, 1>& ids,
                                                int max_k, std::size_t max_found, std::size_t max_cuts,
                                                double max_cosine, double least) {
  require(max_k >= 1, "max_k must be 1 or more");
  require(points.shape(0) >= 1 && points.shape(1) == self.size(), "a point must have one value for each candidate");
  require(counts.shape(0) == self.size(), "counts must have one entry for each candidate");
  std::vector<const double*> rows;
  for (std::size_t k = 0; k < points.shape(0); ++k) {
    rows.push_back(points.data() + k * self.size());
    for (std::size_t at = 0; at < self.size(); ++at) require(std::isfinite(rows[k][at]), "values must be finite");
  }
  return self.with([&](auto& problem) {
    cuts_of(problem, ids);
    nb::gil_scoped_release release;
    return problem.pool.separate_diverse(rows, counts.data(), {ids.data(), ids.data() + ids.shape(0)},
                                         std::min(max_k, problem.choices.n()), max_found, max_cuts, max_cosine, least);
  });
}

std::int64_t add_cluster_cut(SearchProblem& self, const std::vector<int>& nodes, int k) {
  return self.with([&](auto& problem) {
    auto set = problem.choices.parents(0, 0);
    set -= set;
    for (int v : nodes) {
      require(v >= 0 && v < problem.choices.n(), "there is no such node");
      set.set(v);
    }
    require(k >= 1 && k < set.count(), "a cluster cut needs 1 <= k < the cluster's size");
    return problem.pool.add({set, k});
  });
}

// The entries of some cuts (numbers in the pool) in some columns (positions) of a linear program: for each cut a list
// of (place in `positions`, value), or for each column a list of (n + place in `ids`, value), since the rows of the
// cuts follow the equations of the n nodes; and the right-hand sides of the cuts.
//
// For each node, the most common coefficient is subtracted: the node's equation makes up for it, and few entries
// remain. Positions from `size` on are the nodes' artificial candidates, which have the node's largest coefficient.
nb::object entries_of(SearchProblem& self, const In<std::int64_t, 1>& ids, const In<std::int64_t, 1>& positions,
                      bool by_column) {
  return self.with([&](auto& problem) -> nb::object {
    const std::vector<const Cut*> cuts = cuts_of(problem, ids);
    const std::size_t n = std::size_t(problem.choices.n()), n_positions = problem.choices.size() + n;
    std::vector<double> sides;
    std::vector<std::vector<std::size_t>> of_node(n);  // columns
    for (std::size_t k = 0; k < positions.shape(0); ++k) {
      require(positions(k) >= 0 && std::size_t(positions(k)) < n_positions, "there is no such position");
      of_node[std::size_t(problem.node_of(std::size_t(positions(k))))].push_back(k);
    }
    std::vector<nb::list> lists(by_column ? positions.shape(0) : cuts.size());
    for (std::size_t r = 0; r < cuts.size(); ++r) {
      int rhs = cuts[r]->rhs;
      for (const auto& [v, common, largest] : cuts[r]->shifts) {
        rhs -= common;
        for (std::size_t k : of_node[std::size_t(v)]) {
          const std::size_t position = std::size_t(positions(k));
          const bool is_artificial = position >= problem.choices.size();
          const int value = (is_artificial ? largest : cuts[r]->coefficient(position)) - common;
          if (value == 0) continue;
          lists[by_column ? k : r].append(nb::make_tuple(by_column ? n + r : k, double(value)));
        }
      }
      sides.push_back(rhs);
    }
    nb::list entries;
    for (nb::list& list : lists) entries.append(std::move(list));
    const std::size_t n_cuts = cuts.size();
    return nb::make_tuple(std::move(entries), to_numpy(std::move(sides), {n_cuts}));
  });
}

nb::object cut_of(SearchProblem& self, std::size_t id) {
  return self.with([&](auto& problem) -> nb::object {
    require(id < problem.pool.size(), "there is no such cut");
    const Cut& cut = problem.pool.cut(id);
    std::vector<std::uint32_t> at = cut.at;
    std::vector<int> coefficients = cut.coefficients;
    const std::size_t length = at.size();
    return nb::make_tuple(to_numpy(std::move(at), {length}), to_numpy(std::move(coefficients), {length}), cut.rhs);
  });
}

// All dual values from Python pass here.
DualValues checked_duals(const In<std::int64_t, 1>& ids, const In<double, 1>& duals) {
  require(ids.shape(0) == duals.shape(0), "each cut needs one dual value");
  return DualValues(duals.data(), duals.shape(0));
}

nb::object bound_of(SearchProblem& self, const In<std::int64_t, 1>& ids, const In<double, 1>& dual_values,
                    const In<std::uint8_t, 1>& alive) {
  const DualValues duals = checked_duals(ids, dual_values);
  require(alive.shape(0) == self.size(), "alive must have one entry for each candidate");
  return self.with([&](auto& problem) -> nb::object {
    DualBound bound = dual_bound(problem.choices, alive.data(), cuts_of(problem, ids), duals);
    const std::size_t m = bound.reduced.size();
    return nb::make_tuple(bound.lower, bound.margin, to_numpy(std::move(bound.reduced), {m}));
  });
}

// The ranks of the nodes along a network, given by its candidates: with them a search by class finds few members twice.
std::vector<int> ranks_along_network(SearchProblem& self, const In<std::uint32_t, 1>& network) {
  return self.with([&](auto& problem) {
    const std::size_t n = std::size_t(problem.choices.n());
    require(network.shape(0) == n, "the network must have one entry for each node");
    auto parents = std::vector(n, problem.choices.parents(0, 0));
    for (std::size_t v = 0; v < n; ++v) {
      require(network(v) < problem.choices.size(int(v)), "there is no such candidate");
      parents[v] = problem.choices.parents(int(v), network(v));
    }
    require(classes::is_acyclic(parents.data(), int(n)), "the network has a directed cycle");
    return classes::ranks_along(parents);
  });
}

// Calls work(problem, plan) with the plan of a depth-first search for networks up to `limit`, by default the limit of
// the collection.
template <class Work>
auto with_plan(SearchProblem& self, const Collection& collection, const In<std::int64_t, 1>& ids,
               const In<double, 1>& dual_values, const In<std::uint8_t, 1>& alive, const std::vector<int>& rank,
               bool by_class, std::optional<double> limit, Work&& work) {
  require(!limit || !std::isnan(*limit), "the limit must be a number");
  const DualValues duals = checked_duals(ids, dual_values);
  require(alive.shape(0) == self.size(), "alive must have one entry for each candidate");
  return self.with([&](auto& problem) {
    std::vector<int> sorted = rank;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t v = 0; v < sorted.size(); ++v) require(sorted[v] == int(v), "rank must hold each position once");
    require(rank.size() == std::size_t(problem.choices.n()), "rank must have one entry for each node");
    require_room(collection, rank.size(), by_class);
    const auto cuts = cuts_of(problem, ids);
    nb::gil_scoped_release release;
    const DualBound bound = dual_bound(problem.choices, alive.data(), cuts, duals);
    return work(problem, Plan(problem.choices, cuts, duals, bound, limit.value_or(collection.limit())));
  });
}

// (is_complete, n_steps, share of the tasks that were finished); None when stopped.
nb::object search_depth_first(SearchProblem& self, Collection& collection, const In<std::int64_t, 1>& ids,
                              const In<double, 1>& dual_values, const In<std::uint8_t, 1>& alive,
                              const std::vector<int>& rank, bool by_class, std::optional<double> limit,
                              std::optional<std::uint64_t> max_steps, std::size_t first,
                              std::optional<std::size_t> last, unsigned n_threads, const nb::object& watch,
                              double above, double up_to) {
  require_threads(n_threads);
  require(!std::isnan(above) && !std::isnan(up_to), "above and up_to must be numbers");
  try {
    const DepthFirstResult result = with_plan(
        self, collection, ids, dual_values, alive, rank, by_class, limit, [&](auto& problem, const auto& plan) {
          return search_networks(problem.choices, problem.index, plan, by_class, rank, collection,
                                 max_steps.value_or(~std::uint64_t(0)), {first, last.value_or(~std::size_t(0))},
                                 {above, up_to}, n_threads, make_watch(watch));
        });
    return nb::make_tuple(result.is_complete, result.n_steps, result.share);
  } catch (const Stopped&) {
    return nb::none();
  } catch (const QuotaFull&) {
    return nb::none();
  }
}

std::size_t count_tasks_py(SearchProblem& self, Collection& collection, const In<std::int64_t, 1>& ids,
                           const In<double, 1>& dual_values, const In<std::uint8_t, 1>& alive,
                           const std::vector<int>& rank, bool by_class, double limit) {
  return with_plan(self, collection, ids, dual_values, alive, rank, by_class, limit,
                   [&](auto& problem, const auto& plan) {
                     return count_tasks(problem.choices, problem.index, plan, by_class, rank, collection);
                   });
}

// The definitions of some cuts, and the places of these cuts in the list.
nb::object definitions_of(SearchProblem& self, const In<std::int64_t, 1>& ids) {
  return self.with([&](auto& problem) -> nb::object {
    cuts_of(problem, ids);
    std::vector<std::int64_t> places, list = problem.pool.definitions({ids.data(), ids.data() + ids.shape(0)}, places);
    const std::size_t length = list.size(), count = places.size();
    return nb::make_tuple(to_numpy(std::move(list), {length}), to_numpy(std::move(places), {count}));
  });
}

std::vector<std::int64_t> make_cuts(SearchProblem& self, const In<std::int64_t, 1>& definitions) {
  return self.with([&](auto& problem) {
    try {
      return problem.pool.make(definitions.data(), definitions.shape(0));
    } catch (const std::invalid_argument& error) {
      throw nb::value_error(error.what());
    }
  });
}

}  // namespace

void bind_cuts(nb::module_& module) {
  nb::class_<SearchProblem>(module, "SearchProblem")
      .def(nb::init<const In<std::int64_t, 1>&, const In<double, 1>&, const In<std::uint64_t, 2>&>(), array("offsets"),
           array("costs"), array("masks"))
      .def("find_network", &find_network, array("order"), nb::arg("seed"), nb::arg("effort"),
           nb::arg("watch").none() = nb::none())
      .def("rounding",
           [](SearchProblem& self) { return self.with([](auto& problem) { return problem.choices.rounding(); }); })
      .def("ranks_along", &ranks_along_network, array("network"))
      .def("add_cluster_cut", &add_cluster_cut, nb::arg("nodes"), nb::arg("k"))
      .def("separate_cluster_cuts", &separate_cluster_cuts, array("values"), nb::arg("max_k"), nb::arg("max_cuts"),
           nb::arg("least"))
      .def("separate_diverse_cuts", &separate_diverse_cuts, array("points"), array("counts"), array("ids"),
           nb::arg("max_k"), nb::arg("max_found"), nb::arg("max_cuts"), nb::arg("max_cosine"), nb::arg("least"))
      .def("cut", &cut_of, nb::arg("id"))
      .def("entries", &entries_of, array("ids"), array("positions"), nb::arg("by_column") = false)
      .def("bound", &bound_of, array("ids"), array("dual_values"), array("alive"))
      .def("cut_definitions", &definitions_of, array("ids"))
      .def("make_cuts", &make_cuts, array("definitions"))
      .def("count_tasks", &count_tasks_py, nb::arg("collection"), array("ids"), array("dual_values"), array("alive"),
           nb::arg("rank"), nb::arg("by_class"), nb::arg("limit"))
      .def("search_depth_first", &search_depth_first, nb::arg("collection"), array("ids"), array("dual_values"),
           array("alive"), nb::arg("rank"), nb::arg("by_class"), nb::arg("limit").none(), nb::arg("max_steps").none(),
           nb::arg("first"), nb::arg("last").none(), nb::arg("n_threads"), nb::arg("watch").none(),
           nb::arg("above") = -kInfinity, nb::arg("up_to") = kInfinity);
}

}  // namespace credibn::bind
