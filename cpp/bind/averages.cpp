// Averages over classes and random members of them, for Python.
#include <algorithm>

#include "averages/class_averages.hpp"
#include "bind/networks.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace averages;
using base::CompensatedSum;

// The networks of a credible set: one candidate for each node, and a weight.
struct WeightedNetworks {
  const In<std::int64_t, 1>& offsets;
  const In<std::uint64_t, 2>& masks;
  const In<std::uint32_t, 2>& choices;
  const In<double, 1>& weights;

  std::size_t n() const { return choices.shape(1); }
  std::size_t words() const { return masks.shape(1); }
  void check() const {
    require_shape(n(), words());
    require(weights.shape(0) == choices.shape(0), "there must be a weight for each network");
    require_offsets(offsets, masks.shape(0));
    require(offsets.shape(0) == n() + 1, "the offsets must run from 0 to the number of candidates, for each node");
    for (std::size_t k = 0; k < weights.shape(0); ++k)
      require(weights.data()[k] >= 0.0 && weights.data()[k] <= 1.0, "weights must lie between 0 and 1");
  }
  // Calls visit(parents, weight) for each network, without the GIL, after the class has analysed it.
  template <int W, class Visit>
  void each(EquivalenceClass<W>& classes, const Visit& visit) const {
    const nb::object no_callback = nb::none();
    const Watch watch = make_watch(no_callback);
    nb::gil_scoped_release release;
    std::vector<Bits<W>> parents(n());
    Words network(n() * words());
    for (std::size_t k = 0; k < choices.shape(0); ++k) {
      if (k % kNetworksPerCheck == kNetworksPerCheck - 1) watch(double(k) / double(choices.shape(0)));
      for (std::size_t v = 0; v < n(); ++v) {
        const std::int64_t at = offsets.data()[v] + choices.data()[k * n() + v];
        if (at >= offsets.data()[v + 1]) throw std::invalid_argument("a network names a candidate that does not exist");
        std::copy_n(masks.data() + std::size_t(at) * words(), words(), network.data() + v * words());
      }
      read_network(network.data(), words(), parents);
      classes.analyse(parents.data());
      visit(parents.data(), weights.data()[k]);
    }
  }
};

Out<double> to_matrix(const std::vector<CompensatedSum>& sums, std::size_t n) {
  std::vector<double> values;
  for (const CompensatedSum& sum : sums) values.push_back(sum.value());
  return to_numpy(std::move(values), {n, n});
}

// The parent sets of each node with their probabilities: nodes, masks and probabilities as columns.
template <int W>
nb::tuple to_columns(const std::vector<ParentSetSums<W>>& parent_sets, std::size_t words) {
  std::vector<std::int64_t> nodes;
  Words masks;
  std::vector<double> probabilities;
  for (std::size_t v = 0; v < parent_sets.size(); ++v)
    for (std::size_t k = 0; k < parent_sets[v].size(); ++k) {
      nodes.push_back(std::int64_t(v));
      append(&parent_sets[v].set(k), 1, words, masks);
      probabilities.push_back(parent_sets[v].sum(k));
    }
  const std::size_t m = nodes.size();
  return nb::make_tuple(to_numpy(std::move(nodes), {m}), to_numpy(std::move(masks), {m, words}),
                        to_numpy(std::move(probabilities), {m}));
}

template <int W>
nb::object to_python(const ClassAverages<W>& averages, std::size_t n, std::size_t words) {
  std::vector<std::int64_t> triples;
  std::vector<double> of_triples;
  for (const auto& [key, probability] : averages.v_structures()) {
    triples.insert(triples.end(), {std::int64_t(key / n / n), std::int64_t(key / n % n), std::int64_t(key % n)});
    of_triples.push_back(probability);
  }
  const std::size_t j = of_triples.size();
  return to_columns(averages.parent_sets, words) +
         nb::make_tuple(to_matrix(averages.compelled, n), to_matrix(averages.reversible, n),
                        to_matrix(averages.blankets, n), to_numpy(std::move(triples), {j, 3}),
                        to_numpy(std::move(of_triples), {j}));
}

template <int W>
nb::object to_python(const AncestorAverages<W>& averages, std::size_t n, std::size_t) {
  return nb::cast(to_matrix(averages.sums, n));
}

// The parent sets of each node, and the probability of each together with each descendant of the node.
template <int W>
nb::object to_python(const CauseAverages<W>& averages, std::size_t n, std::size_t words) {
  std::vector<double> paths;
  for (const auto& of_node : averages.paths)
    for (const CompensatedSum& sum : of_node) paths.push_back(sum.value());
  const std::size_t m = paths.size() / n;
  return to_columns(averages.parent_sets, words) + nb::make_tuple(to_numpy(std::move(paths), {m, n}));
}

// Adds every network, or the class it stands for, to averages of some kind.
template <int W, template <int> class Averages>
Averages<W> averaged(const WeightedNetworks& networks, bool are_classes) {
  EquivalenceClass<W> classes{int(networks.n())};
  Averages<W> averages{int(networks.n())};
  networks.each(classes, [&](const Bits<W>* parents, double weight) {
    if (are_classes)
      averages.add_class(classes, parents, weight);
    else
      averages.add_network(classes, parents, weight);
  });
  return averages;
}

template <template <int> class Averages>
nb::object average_py(const In<std::int64_t, 1>& offsets, const In<std::uint64_t, 2>& masks,
                      const In<std::uint32_t, 2>& choices, const In<double, 1>& weights, bool are_classes) {
  const WeightedNetworks networks{offsets, masks, choices, weights};
  networks.check();
  return with_width(networks.words(), [&](auto width) {
    return to_python(averaged<decltype(width)::value, Averages>(networks, are_classes), networks.n(), networks.words());
  });
}

nb::object sample_members_py(const In<std::uint64_t, 3>& masks, std::uint64_t seed) {
  const std::size_t k = masks.shape(0), n = masks.shape(1), words = masks.shape(2);
  require_shape(n, words);
  Words drawn;
  with_width(words, [&](auto width) {
    constexpr int W = decltype(width)::value;
    EquivalenceClass<W> classes{int(n)};
    MemberSampler<W> sampler(seed);
    std::vector<Bits<W>> member(n);
    each_class(masks, classes, [&](std::size_t, const Bits<W>*) {
      for (std::size_t v = 0; v < n; ++v) member[v] = classes.compelled(int(v));
      for (int c = 0; c < classes.n_components(); ++c) {
        const Bits<W>& component = classes.component(c);
        sampler.orient(component, classes.undirected(), classes.compelled(component.lowest()), member.data());
      }
      append(member.data(), n, words, drawn);
    });
  });
  return nb::cast(to_numpy(std::move(drawn), {k, n, words}));
}

}  // namespace

void bind_averages(nb::module_& module) {
  const auto define = [&](const char* name, auto function) {
    module.def(name, function, array("offsets"), array("masks"), array("choices"), array("weights"),
               nb::arg("are_classes"));
  };
  define("average_structure", &average_py<ClassAverages>);
  define("average_ancestors", &average_py<AncestorAverages>);
  define("average_causes", &average_py<CauseAverages>);
  module.def("sample_members", &sample_members_py, array("masks"), nb::arg("seed"));
}

}  // namespace credibn::bind
