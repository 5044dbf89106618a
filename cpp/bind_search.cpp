// The search by integer programming: candidates, rows, bounds and enumeration, called from search/integer_program.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <variant>

#include "bind.hpp"
#include "bind_collection.hpp"
#include "depth_first.hpp"
#include "incumbent.hpp"
#include "node_order.hpp"
#include "row_pool.hpp"
#include "row_scores.hpp"

namespace nb = nanobind;
using namespace credibn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Candidates with what every call needs of them, for one width of the masks.
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
  RowPool<W> pool;
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

// The best network found, and its cost; None where none was, be it that there is none or that the watch said stop.
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
    PatientWatch patient(watch);
    OrderSearch search(problem.choices, seed, patient);
    try {
      nb::gil_scoped_release release;
      if (!start.empty())
        search.run(start, effort);
      else
        for (int restart = 0; restart < 8; ++restart) search.run_from_random(effort / 8);
    } catch (const Stopped&) {
      // What was found until now is a network like any other.
    }
    if (!search.is_possible()) return nb::none();
    std::vector<std::uint32_t> row = search.row();
    return nb::make_tuple(to_numpy(std::move(row), {n}), search.cost());
  });
}

void require_values(const SearchProblem& self, const In<double, 1>& values) {
  require(values.shape(0) == self.size(), "values must have one entry for each candidate");
  require_finite(values, "values must be finite");
}

std::vector<std::int64_t> separate_clusters(SearchProblem& self, const In<double, 1>& values, int max_k,
                                            std::size_t max_rows, double least) {
  require_values(self, values);
  require(max_k >= 1, "max_k must be 1 or more");
  return self.with([&](auto& problem) {
    nb::gil_scoped_release release;
    return problem.pool.separate_clusters(values.data(), std::min(max_k, problem.choices.n()), max_rows, least);
  });
}

template <class P>
std::vector<const Row*> rows_of(const P& problem, const In<std::int64_t, 1>& ids) {
  std::vector<const Row*> rows;
  for (std::size_t k = 0; k < ids.shape(0); ++k) {
    require(ids(k) >= 0 && std::size_t(ids(k)) < problem.pool.size(), "there is no such row");
    rows.push_back(&problem.pool.row(std::size_t(ids(k))));
  }
  return rows;
}

std::vector<std::int64_t> separate_halves(SearchProblem& self, const In<double, 1>& values,
                                          const In<std::int64_t, 1>& ids, std::size_t max_rows, double least) {
  require_values(self, values);
  return self.with([&](auto& problem) {
    rows_of(problem, ids);
    nb::gil_scoped_release release;
    return problem.pool.separate_halves(values.data(), {ids.data(), ids.data() + ids.shape(0)}, max_rows, least);
  });
}

std::int64_t add_cluster(SearchProblem& self, const std::vector<int>& nodes, int k) {
  return self.with([&](auto& problem) {
    auto set = problem.choices.parents(0, 0);
    set -= set;
    for (int v : nodes) {
      require(v >= 0 && v < problem.choices.n(), "there is no such node");
      set.set(v);
    }
    require(k >= 1 && k < set.count(), "a cluster row needs 1 <= k < the cluster's size");
    return problem.pool.add({set, k});
  });
}

// Rows as they enter a linear program: for each node, the commonest coefficient is taken off, which changes nothing by
// the node's equation and leaves few entries. Positions from `size` on are the nodes' artificial candidates, which have
// the node's largest coefficient.
// The entries of some rows (numbers in the pool) in some columns (positions), as (row of `ids`, column of `positions`,
// value), and the rows' right-hand sides.
nb::object entries_of(SearchProblem& self, const In<std::int64_t, 1>& ids, const In<std::int64_t, 1>& positions) {
  return self.with([&](auto& problem) -> nb::object {
    const std::vector<const Row*> rows = rows_of(problem, ids);
    const std::size_t n_positions = problem.choices.size() + std::size_t(problem.choices.n());
    std::vector<std::int64_t> at_row, at_column;
    std::vector<double> values, sides;
    std::vector<std::vector<std::size_t>> of_node(std::size_t(problem.choices.n()));  // columns
    for (std::size_t k = 0; k < positions.shape(0); ++k) {
      require(positions(k) >= 0 && std::size_t(positions(k)) < n_positions, "there is no such position");
      of_node[std::size_t(problem.node_of(std::size_t(positions(k))))].push_back(k);
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      int rhs = rows[r]->rhs;
      for (const auto& [v, common, largest] : rows[r]->shifts) {
        rhs -= common;
        for (std::size_t k : of_node[std::size_t(v)]) {
          const std::size_t position = std::size_t(positions(k));
          const bool is_artificial = position >= problem.choices.size();
          const int value = (is_artificial ? largest : rows[r]->coefficient(position)) - common;
          if (value == 0) continue;
          at_row.push_back(std::int64_t(r));
          at_column.push_back(std::int64_t(k));
          values.push_back(value);
        }
      }
      sides.push_back(rhs);
    }
    const std::size_t length = values.size(), n_rows = rows.size();
    return nb::make_tuple(to_numpy(std::move(at_row), {length}), to_numpy(std::move(at_column), {length}),
                          to_numpy(std::move(values), {length}), to_numpy(std::move(sides), {n_rows}));
  });
}

nb::object row_of(SearchProblem& self, std::size_t id) {
  return self.with([&](auto& problem) -> nb::object {
    require(id < problem.pool.size(), "there is no such row");
    const Row& row = problem.pool.row(id);
    std::vector<std::uint32_t> at = row.at;
    std::vector<int> coefficients = row.coefficients;
    const std::size_t length = at.size();
    return nb::make_tuple(to_numpy(std::move(at), {length}), to_numpy(std::move(coefficients), {length}), row.rhs);
  });
}

// The one place where dual values come in.
DualValues dual_values(const In<std::int64_t, 1>& ids, const In<double, 1>& duals) {
  require(ids.shape(0) == duals.shape(0), "each row needs one dual value");
  return DualValues(duals.data(), duals.shape(0));
}

nb::object bound_of(SearchProblem& self, const In<std::int64_t, 1>& ids, const In<double, 1>& multipliers,
                    const In<std::uint8_t, 1>& alive) {
  const DualValues duals = dual_values(ids, multipliers);
  require(alive.shape(0) == self.size(), "alive must have one entry for each candidate");
  return self.with([&](auto& problem) -> nb::object {
    DualBound bound = dual_bound(problem.choices, alive.data(), rows_of(problem, ids), duals);
    const std::size_t m = bound.reduced.size();
    return nb::make_tuple(bound.lower, bound.margin, to_numpy(std::move(bound.reduced), {m}));
  });
}

// The node order in which a search by classes meets few members twice: along a network, given by its candidates.
std::vector<int> ranks_along_network(SearchProblem& self, const In<std::uint32_t, 1>& row) {
  return self.with([&](auto& problem) {
    const std::size_t n = std::size_t(problem.choices.n());
    require(row.shape(0) == n, "the row must have one entry for each node");
    auto parents = std::vector(n, problem.choices.parents(0, 0));
    for (std::size_t v = 0; v < n; ++v) {
      require(row(v) < problem.choices.size(int(v)), "there is no such candidate");
      parents[v] = problem.choices.parents(int(v), row(v));
    }
    require(is_acyclic(parents.data(), int(n)), "the row is no network: it has a directed cycle");
    return ranks_along(parents);
  });
}

// Calls work(problem, plan) with the plan of a walk: for networks up to `limit`, by default that of the collection.
template <class Work>
auto with_plan(SearchProblem& self, const Collection& collection, const In<std::int64_t, 1>& ids,
               const In<double, 1>& multipliers, const In<std::uint8_t, 1>& alive, const std::vector<int>& rank,
               bool by_class, std::optional<double> limit, Work&& work) {
  require(!limit || !std::isnan(*limit), "the limit must be a number");
  const DualValues duals = dual_values(ids, multipliers);
  require(alive.shape(0) == self.size(), "alive must have one entry for each candidate");
  return self.with([&](auto& problem) {
    std::vector<int> sorted = rank;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t v = 0; v < sorted.size(); ++v) require(sorted[v] == int(v), "rank must hold each position once");
    require(rank.size() == std::size_t(problem.choices.n()), "rank must have one entry for each node");
    require_room(collection, rank.size(), by_class);
    const auto rows = rows_of(problem, ids);
    nb::gil_scoped_release release;
    const DualBound bound = dual_bound(problem.choices, alive.data(), rows, duals);
    return work(problem, Plan(problem.choices, rows, duals, bound, limit.value_or(collection.limit())));
  });
}

// (is_complete, n_steps, share done); None when stopped.
nb::object walk(SearchProblem& self, Collection& collection, const In<std::int64_t, 1>& ids,
                const In<double, 1>& multipliers, const In<std::uint8_t, 1>& alive, const std::vector<int>& rank,
                bool by_class, std::optional<double> limit, std::optional<std::uint64_t> max_steps, std::size_t first,
                std::optional<std::size_t> last, unsigned n_threads, const nb::object& watch, double above,
                double up_to) {
  require_threads(n_threads);
  require(!std::isnan(above) && !std::isnan(up_to), "the costs wanted must be numbers");
  try {
    const WalkResult result = with_plan(
        self, collection, ids, multipliers, alive, rank, by_class, limit, [&](auto& problem, const auto& plan) {
          return walk_networks(problem.choices, problem.index, plan, by_class, rank, collection,
                               max_steps.value_or(~std::uint64_t(0)), {first, last.value_or(~std::size_t(0))},
                               {above, up_to}, n_threads, make_watch(watch));
        });
    return nb::make_tuple(result.is_complete, result.n_steps, result.share);
  } catch (const Stopped&) {
    return nb::none();
  } catch (const Full&) {
    return nb::none();
  }
}

std::size_t count_walk_pieces(SearchProblem& self, Collection& collection, const In<std::int64_t, 1>& ids,
                              const In<double, 1>& multipliers, const In<std::uint8_t, 1>& alive,
                              const std::vector<int>& rank, bool by_class, double limit) {
  return with_plan(self, collection, ids, multipliers, alive, rank, by_class, limit,
                   [&](auto& problem, const auto& plan) {
                     return count_pieces(problem.choices, problem.index, plan, by_class, rank, collection);
                   });
}

// How to make rows again, and the places of these rows in the list.
nb::object recipes_of(SearchProblem& self, const In<std::int64_t, 1>& ids) {
  return self.with([&](auto& problem) -> nb::object {
    rows_of(problem, ids);
    std::vector<std::int64_t> places, list = problem.pool.recipes({ids.data(), ids.data() + ids.shape(0)}, places);
    const std::size_t length = list.size(), count = places.size();
    return nb::make_tuple(to_numpy(std::move(list), {length}), to_numpy(std::move(places), {count}));
  });
}

std::vector<std::int64_t> make_rows(SearchProblem& self, const In<std::int64_t, 1>& recipes) {
  return self.with([&](auto& problem) {
    try {
      return problem.pool.make(recipes.data(), recipes.shape(0));
    } catch (const std::invalid_argument& error) {
      throw nb::value_error(error.what());
    }
  });
}

Out<double> row_scores_py(const In<std::int64_t, 1>& offsets, const In<double, 1>& scores,
                          const In<std::uint32_t, 2>& choices, unsigned n_threads) {
  const std::size_t n = choices.shape(1), n_rows = choices.shape(0);
  require_offsets(offsets, scores.shape(0));
  require(offsets.shape(0) == n + 1, "the offsets must run from 0 to the number of candidates, for each node");
  require_threads(n_threads);
  auto sums = std::make_unique_for_overwrite<double[]>(n_rows);
  {
    nb::gil_scoped_release release;
    constexpr std::size_t kBlock = 1 << 15;
    const NodeScores local{n, offsets.data(), scores.data()};
    StopFlag stop;
    run_tasks((n_rows + kBlock - 1) / kBlock, n_threads, Watch(), stop, [&](std::size_t block, unsigned, PartDone&) {
      for (std::size_t k = block * kBlock, end = std::min(n_rows, k + kBlock); k < end; ++k)
        sums[k] = local.of(choices.data() + k * n);
    });
  }
  return to_numpy(std::move(sums), {n_rows});
}

bool rows_in_order_py(const In<double, 1>& scores, const In<std::uint32_t, 2>& choices) {
  const std::size_t n_rows = choices.shape(0);
  require(scores.shape(0) == n_rows, "there must be a score for each row");
  nb::gil_scoped_release release;
  return are_in_order(scores.data(), choices.data(), n_rows, choices.shape(1));
}

// Takes rows that were found elsewhere; the caller vouches for their costs.
void take_rows(Collection& collection, const In<std::uint32_t, 2>& choices, const In<double, 1>& costs,
               const In<std::uint64_t, 2>& sizes) {
  const std::size_t count = costs.shape(0), n = collection.n(), words = collection.size_words();
  require(choices.shape(0) == count && sizes.shape(0) == count, "each row needs choices, a cost and a size");
  require(choices.shape(1) == n && sizes.shape(1) == words, "the rows are of another width than the collection");
  for (std::size_t k = 0; k < count; ++k) require(std::isfinite(costs(k)), "costs must be finite");
  Rows rows(n, words);
  rows.choices.assign(choices.data(), choices.data() + count * n);
  rows.costs.assign(costs.data(), costs.data() + count);
  rows.sizes.assign(sizes.data(), sizes.data() + count * words);
  try {
    nb::gil_scoped_release release;
    collection.take(rows);
  } catch (const Full&) {
    // The caller asks is_full.
  }
}

// A copy of the rows from one on, as they stand now.
nb::object rows_from(const Collection& collection, std::size_t first) {
  const RowStore& rows = collection.rows();
  require(first <= rows.count(), "there are fewer rows");
  const std::size_t count = rows.count() - first, n = rows.n(), words = rows.size_words();
  Rows tail(n, words);
  tail.reserve(count);
  for (std::size_t k = first; k < rows.count(); ++k) tail.add(rows.row(k), rows.cost(k), rows.size(k));
  return nb::make_tuple(to_numpy(std::move(tail.choices), {count, n}), to_numpy(std::move(tail.costs), {count}),
                        to_numpy(std::move(tail.sizes), {count, words}));
}

// Choices, costs and sizes in order, and the least cost of what a stop left out of them, infinite if nothing.
nb::object finish(Collection& collection, unsigned n_threads, const nb::object& callback) {
  require_threads(n_threads);
  double missing_from;
  SortedRows rows = [&] {
    const Watch watch = make_watch(callback);
    nb::gil_scoped_release release;
    return collection.finish(n_threads, watch, missing_from);
  }();
  return nb::make_tuple(to_numpy(std::move(rows.choices), {rows.count, rows.n}),
                        to_numpy(std::move(rows.costs), {rows.count}),
                        to_numpy(std::move(rows.sizes), {rows.count, rows.size_words}), missing_from);
}

void know(Collection& collection, double cost, const std::optional<In<std::uint32_t, 1>>& row) {
  require(!std::isnan(cost), "a cost must be a number");
  require(!row || row->shape(0) == collection.n(), "the row must have one entry for each node");
  collection.know(cost, row ? row->data() : nullptr);
}

void cut(Collection& collection, double limit) {
  require(!std::isnan(limit), "the limit must be a number");
  collection.cut(limit);
}

void leave_out_class(Collection& collection, double cost) {
  require(!std::isnan(cost), "a cost must be a number");
  collection.leave_out_class(cost);
}

nb::object known_row(Collection& collection) {
  std::vector<std::uint32_t> row = collection.known_row();
  if (row.empty()) return nb::none();
  const std::size_t n = row.size();
  return nb::cast(to_numpy(std::move(row), {n}));
}

}  // namespace

void credibn::bind_search(nb::module_& module) {
  module.def("row_scores", &row_scores_py, array("offsets"), array("scores"), array("choices"),
             nb::arg("n_threads") = 1);
  module.def("rows_in_order", &rows_in_order_py, array("scores"), array("choices"));
  nb::class_<Collection>(module, "Collection")
      .def("__init__", &make_collection, nb::arg("n"), nb::arg("size_words"), nb::arg("width"), nb::arg("tie"),
           nb::arg("max_rows").none(), nb::arg("max_networks").none(), nb::arg("max_bytes").none())
      .def("know", &know, nb::arg("cost"), nb::arg("row").noconvert().none() = nb::none())
      .def("known_row", &known_row)
      .def("limit", &Collection::limit)
      .def("best", &Collection::best)
      .def("is_cut", &Collection::is_cut)
      .def("is_full", &Collection::is_full)
      .def("count", &Collection::count)
      .def("cut", &cut, nb::arg("limit"))
      .def("leave_out_class", &leave_out_class, nb::arg("cost"))
      .def("least_class_left_out", &Collection::least_class_left_out)
      .def("generation", &Collection::generation)
      .def("take", &take_rows, array("choices"), array("costs"), array("sizes"))
      .def("rows_from", &rows_from, nb::arg("first"))
      .def("finish", &finish, nb::arg("n_threads"), nb::arg("watch").none());
  nb::class_<SearchProblem>(module, "SearchProblem")
      .def(nb::init<const In<std::int64_t, 1>&, const In<double, 1>&, const In<std::uint64_t, 2>&>(), array("offsets"),
           array("costs"), array("masks"))
      .def("find_network", &find_network, array("order"), nb::arg("seed"), nb::arg("effort"),
           nb::arg("watch").none() = nb::none())
      .def("rounding",
           [](SearchProblem& self) { return self.with([](auto& problem) { return problem.choices.rounding(); }); })
      .def("ranks_along", &ranks_along_network, array("row"))
      .def("add_cluster", &add_cluster, nb::arg("nodes"), nb::arg("k"))
      .def("separate_clusters", &separate_clusters, array("values"), nb::arg("max_k"), nb::arg("max_rows"),
           nb::arg("least"))
      .def("separate_halves", &separate_halves, array("values"), array("ids"), nb::arg("max_rows"), nb::arg("least"))
      .def("row", &row_of, nb::arg("id"))
      .def("entries", &entries_of, array("ids"), array("positions"))
      .def("bound", &bound_of, array("ids"), array("multipliers"), array("alive"))
      .def("recipes", &recipes_of, array("ids"))
      .def("make_rows", &make_rows, array("recipes"))
      .def("count_walk_pieces", &count_walk_pieces, nb::arg("collection"), array("ids"), array("multipliers"),
           array("alive"), nb::arg("rank"), nb::arg("by_class"), nb::arg("limit"))
      .def("walk", &walk, nb::arg("collection"), array("ids"), array("multipliers"), array("alive"), nb::arg("rank"),
           nb::arg("by_class"), nb::arg("limit").none(), nb::arg("max_steps").none(), nb::arg("first"),
           nb::arg("last").none(), nb::arg("n_threads"), nb::arg("watch").none(), nb::arg("above") = -kInfinity,
           nb::arg("up_to") = kInfinity);
}
