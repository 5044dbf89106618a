// Counting without a list.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>

#include "bind/arrays.hpp"
#include "factored/counting.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace factored;

template <int W>
std::unique_ptr<NetworkCounter> with_width(const In<std::int64_t, 1>& offsets, const In<std::int64_t, 1>& costs,
                                           const In<std::uint64_t, 2>& masks, const Wanted& wanted) {
  Candidates<W> candidates(int(offsets.shape(0) - 1), offsets.data(), costs.data(), masks.data(), masks.shape(1));
  return std::make_unique<Counting<W>>(std::move(candidates), wanted);
}

// All sums of costs must be far from the ends of the range.
constexpr std::int64_t kLargest = std::int64_t(1) << 58;

bool is_small(std::int64_t x) {
  return x > -kLargest && x < kLargest;
}

std::unique_ptr<NetworkCounter> make_counter(const In<std::int64_t, 1>& offsets, const In<std::int64_t, 1>& costs,
                                             const In<std::uint64_t, 2>& masks, std::int64_t best, std::int64_t width,
                                             bool with_classes, std::uint64_t max_bytes) {
  require_offsets(offsets, costs.shape(0));
  require(masks.shape(0) == costs.shape(0), "there must be a mask for each cost");
  require(masks.shape(1) == (offsets.shape(0) - 1 + 63) / 64, "masks need one word for every 64 nodes");
  require(width >= 0 && is_small(best) && is_small(width), "the best cost and the width must be small enough");
  const std::int64_t most = kLargest / std::int64_t(offsets.shape(0));
  const auto fits = [most](std::int64_t x) { return x >= 0 && x < most; };
  require(std::all_of(costs.data(), costs.data() + costs.size(), fits), "costs must be small enough and not negative");
  const Wanted wanted{best, width, with_classes, std::size_t(max_bytes)};
  try {
    const std::size_t words = masks.shape(1);
    return words == 1   ? with_width<1>(offsets, costs, masks, wanted)
           : words == 2 ? with_width<2>(offsets, costs, masks, wanted)
                        : with_width<4>(offsets, costs, masks, wanted);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

const char* name_of(Outcome outcome) {
  if (outcome == Outcome::complete) return "complete";
  return outcome == Outcome::stopped ? "stopped" : "too_large";
}

// Branch k has the candidates chosen[ends[k]] to chosen[ends[k + 1]], and row k of `lowers`.
std::vector<Branch> branches_of(const NetworkCounter& counter, const In<std::int64_t, 1>& chosen,
                                const In<std::int64_t, 1>& ends, const In<std::int64_t, 2>& lowers,
                                const In<std::int64_t, 2>& reduced) {
  const std::size_t n_branches = lowers.shape(0);
  require(ends.shape(0) == n_branches + 1 && ends(0) == 0 && ends(n_branches) == std::int64_t(chosen.shape(0)) &&
              std::is_sorted(ends.data(), ends.data() + n_branches + 1),
          "the ends must run from 0 to the number of candidates");
  const std::size_t n_bounds = lowers.shape(1), m = chosen.shape(0);
  require(reduced.shape(0) == n_bounds && reduced.shape(1) == m,
          "there must be a reduced cost for each bound and candidate");
  const std::int64_t most = kLargest / std::int64_t(counter.n() + 1);
  const auto fits = [most](std::int64_t x) { return x >= 0 && x < most; };
  require(std::all_of(reduced.data(), reduced.data() + reduced.size(), fits),
          "reduced costs must be small enough and not negative");
  require(std::all_of(lowers.data(), lowers.data() + lowers.size(), is_small), "bounds must be small enough");
  std::vector<Branch> branches(n_branches);
  for (std::size_t k = 0; k < branches.size(); ++k) {
    Branch& branch = branches[k];
    for (std::int64_t at = ends.data()[k]; at < ends.data()[k + 1]; ++at) {
      const std::int64_t candidate = chosen.data()[at];
      require(candidate >= 0 && candidate < std::int64_t(counter.size()) &&
                  (branch.chosen.empty() || candidate > std::int64_t(branch.chosen.back())),
              "candidates must be positions in increasing order");
      branch.chosen.push_back(std::uint32_t(candidate));
    }
    branch.lowers.assign(lowers.data() + k * n_bounds, lowers.data() + (k + 1) * n_bounds);
    for (std::size_t j = 0; j < n_bounds; ++j)
      branch.reduced.insert(branch.reduced.end(), reduced.data() + j * m + ends.data()[k],
                            reduced.data() + j * m + ends.data()[k + 1]);
  }
  return branches;
}

// Ways to states as rows of candidates, -1 where a node is not decided.
Out<std::int64_t> prefixes_of(const NetworkCounter& counter, const Added& added) {
  std::vector<std::int64_t> prefixes;
  for (const std::uint32_t candidate : added.prefixes)
    prefixes.push_back(candidate == kOpen ? -1 : std::int64_t(candidate));
  const std::size_t n_rows = prefixes.size() / counter.n();
  return to_numpy(std::move(prefixes), {n_rows, counter.n()});
}

nb::tuple add_whole(NetworkCounter& counter, const In<std::int64_t, 1>& chosen, const In<std::int64_t, 1>& ends,
                    const In<std::int64_t, 2>& lowers, const In<std::int64_t, 2>& reduced, std::uint64_t max_steps,
                    bool searches_order, const nb::object& watch) {
  const std::vector<Branch> branches = branches_of(counter, chosen, ends, lowers, reduced);
  require(branches.size() == 1, "the whole is one branch");
  Added added;
  try {
    nb::gil_scoped_release release;
    added = counter.add_whole(branches[0], std::size_t(max_steps), searches_order, make_watch(watch));
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
  return nb::make_tuple(name_of(added.outcome), prefixes_of(counter, added), added.n_expected);
}

nb::list add(NetworkCounter& counter, const In<std::int64_t, 1>& chosen, const In<std::int64_t, 1>& ends,
             const In<std::int64_t, 2>& lowers, const In<std::int64_t, 2>& reduced, std::uint64_t max_steps,
             unsigned n_threads, const nb::object& watch) {
  require_threads(n_threads);
  const std::vector<Branch> branches = branches_of(counter, chosen, ends, lowers, reduced);
  std::vector<Added> added;
  try {
    nb::gil_scoped_release release;
    added = counter.add(branches, std::size_t(max_steps), n_threads, make_watch(watch));
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
  nb::list found;
  for (const Added& each : added) found.append(nb::make_tuple(name_of(each.outcome), prefixes_of(counter, each)));
  return found;
}

// What was added; with `unexplored`, some branches are missing, whose networks cost at least this.
std::unique_ptr<Counted> count(NetworkCounter& counter, std::optional<std::int64_t> unexplored, bool is_stopped,
                               const nb::object& watch) {
  const Outcome outcome = is_stopped ? Outcome::stopped : unexplored ? Outcome::too_large : Outcome::complete;
  require(!unexplored || is_small(*unexplored), "the bound must be small enough");
  nb::gil_scoped_release release;
  return counter.count(outcome, unexplored.value_or(kNever), make_watch(watch));
}

void require_counted(const Counted& counted) {
  require(!counted.empty(), "nothing was counted");
}

Out<Word> count_up_to(const Counted& counted, std::int64_t limit) {
  require_counted(counted);
  std::vector<Word> words = counted.counts->count(std::min(limit, counted.networks.limit));
  const std::size_t n = words.size();
  return to_numpy(std::move(words), {n});
}

nb::object classes_up_to(const Counted& counted, std::int64_t limit) {
  require_counted(counted);
  if (!counted.class_counts) return nb::none();
  std::vector<Word> words = counted.class_counts->count(std::min(limit, counted.networks.limit));
  const std::size_t n = words.size();
  return nb::cast(to_numpy(std::move(words), {n}));
}

// The sum of the weights relative to the best network's, and the share of each candidate in it.
nb::tuple weigh(const Counted& counted, double step) {
  require_counted(counted);
  require(step >= 0 && std::isfinite(step), "the step must be a number and not negative");
  const WeightedPaths paths(counted.networks, *counted.counts, step);
  std::vector<double> shares = paths.shares();
  const std::size_t m = shares.size();
  return nb::make_tuple(paths.total(), to_numpy(std::move(shares), {m}));
}

// A random network for each row of random numbers: the candidate of each node, and the costs.
nb::tuple sample(const Counted& counted, const In<double, 2>& random, double step) {
  require_counted(counted);
  require(step >= 0 && std::isfinite(step), "the step must be a number and not negative");
  const std::size_t n = counted.networks.n(), count = random.shape(0);
  require(random.shape(1) == n + 2, "there must be two more random numbers than nodes");
  require(std::all_of(random.data(), random.data() + random.size(), [](double x) { return x >= 0 && x < 1; }),
          "random numbers must be from 0 to below 1");
  std::vector<std::uint32_t> chosen(count * n);
  std::vector<Cost> costs;
  WeightedPaths paths(counted.networks, *counted.counts, step);
  paths.sample(random.data(), count, chosen.data(), costs);
  return nb::make_tuple(to_numpy(std::move(chosen), {count, n}), to_numpy(std::move(costs), {count}));
}

}  // namespace

void bind_factored(nb::module_& module) {
  nb::class_<Counted>(module, "CountedNetworks")
      .def_prop_ro("outcome", [](const Counted& counted) { return name_of(counted.outcome); })
      .def_prop_ro("is_empty", &Counted::empty)
      .def_prop_ro("bound", [](const Counted& counted) { return counted.bound; })
      .def_prop_ro("best", [](const Counted& counted) { return require_counted(counted), counted.networks.best(); })
      .def_prop_ro("limit", [](const Counted& counted) { return require_counted(counted), counted.networks.limit; })
      .def_prop_ro("n_states", [](const Counted& counted) { return counted.networks.n_states(); })
      .def_prop_ro("n_class_states", [](const Counted& counted) { return counted.classes.n_states(); })
      .def("count_up_to", &count_up_to, nb::arg("limit"))
      .def("classes_up_to", &classes_up_to, nb::arg("limit"))
      .def("weigh", &weigh, nb::arg("step"))
      .def("sample", &sample, array("random"), nb::arg("step"));
  nb::class_<NetworkCounter>(module, "NetworkCounter")
      .def(nb::new_(&make_counter), array("offsets"), array("costs"), array("masks"), nb::arg("best"), nb::arg("width"),
           nb::arg("with_classes"), nb::arg("max_bytes"))
      .def_prop_ro("bytes", &NetworkCounter::bytes)
      .def("add_whole", &add_whole, array("chosen"), array("ends"), array("lowers"), array("reduced"),
           nb::arg("max_steps"), nb::arg("searches_order"), nb::arg("watch").none())
      .def("add", &add, array("chosen"), array("ends"), array("lowers"), array("reduced"), nb::arg("max_steps"),
           nb::arg("n_threads"), nb::arg("watch").none())
      .def("count", &count, nb::arg("unexplored").none(), nb::arg("is_stopped"), nb::arg("watch").none());
}

}  // namespace credibn::bind
