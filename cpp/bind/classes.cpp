// Equivalence classes. A network is given by the masks of its n parent sets; everything from outside is checked here.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <variant>

#include "bind/networks.hpp"
#include "classes/class_keys.hpp"

namespace nb = nanobind;

namespace credibn::bind {
namespace {

using namespace classes;
using base::BigCount;

constexpr std::size_t kMembersReserved = 1 << 16;

std::vector<int> rank_of(const In<std::int64_t, 1>& rank, std::size_t n) {
  require(rank.shape(0) == n, "the rank needs one number for each node");
  std::vector<int> ranks;
  std::vector<char> is_taken(n);
  for (std::size_t v = 0; v < n; ++v) {
    const std::int64_t r = rank.data()[v];
    require(r >= 0 && r < std::int64_t(n) && !is_taken[std::size_t(r)], "the rank must be a permutation of 0..n-1");
    is_taken[std::size_t(r)] = 1;
    ranks.push_back(int(r));
  }
  return ranks;
}

nb::object class_forms_py(const In<std::uint64_t, 3>& masks, const In<std::int64_t, 1>& rank) {
  const std::size_t k = masks.shape(0), n = masks.shape(1), words = masks.shape(2);
  require_shape(n, words);
  const std::vector<int> ranks = rank_of(rank, n);
  Words canonical, compelled, undirected;
  std::vector<BigCount> counts;
  std::size_t size_words = 1;
  with_width(words, [&](auto width) {
    constexpr int W = decltype(width)::value;
    EquivalenceClass<W> classes{int(n)};
    std::vector<Bits<W>> member(n);
    each_class(masks, classes, [&](std::size_t, const Bits<W>*) {
      classes.member(ranks.data(), member.data());
      append(member.data(), n, words, canonical);
      append(classes.compelled(), n, words, compelled);
      append(classes.undirected(), n, words, undirected);
      counts.push_back(classes.size());
      size_words = std::max(size_words, counts.back().n_words());
    });
  });
  Words sizes(k * size_words);
  for (std::size_t j = 0; j < k; ++j) counts[j].to_words(sizes.data() + j * size_words, size_words);
  return nb::make_tuple(to_numpy(std::move(canonical), {k, n, words}), to_numpy(std::move(compelled), {k, n, words}),
                        to_numpy(std::move(undirected), {k, n, words}), to_numpy(std::move(sizes), {k, size_words}));
}

nb::object are_canonical_py(const In<std::uint64_t, 3>& masks, const In<std::int64_t, 1>& rank) {
  const std::size_t k = masks.shape(0), n = masks.shape(1), words = masks.shape(2);
  require_shape(n, words);
  const std::vector<int> ranks = rank_of(rank, n);
  std::vector<std::uint8_t> found(k);
  with_width(words, [&](auto width) {
    constexpr int W = decltype(width)::value;
    EquivalenceClass<W> classes{int(n)};
    each_class(masks, classes, [&](std::size_t number, const Bits<W>* parents) {
      found[number] = classes.is_canonical(ranks.data(), parents);
    });
  });
  return nb::cast(to_numpy(std::move(found), {k}));
}

nb::object group_by_class_py(const In<std::uint64_t, 3>& masks) {
  const std::size_t k = masks.shape(0), n = masks.shape(1), words = masks.shape(2);
  require_shape(n, words);
  std::vector<int> rank(n);
  for (std::size_t v = 0; v < n; ++v) rank[v] = int(v);
  std::vector<std::int64_t> groups(k);
  with_width(words, [&](auto width) {
    constexpr int W = decltype(width)::value;
    // The canonical members of the groups one after another, and a set of the numbers of the groups that compares these
    // members.
    std::vector<Bits<W>> keys;
    auto hash = [&](std::size_t group) {
      std::uint64_t h = 0;
      for (std::size_t v = 0; v < n; ++v) h = h * 0x9e3779b97f4a7c15ULL + keys[group * n + v].hash();
      return std::size_t(h ^ h >> 32);
    };
    auto equal = [&](std::size_t a, std::size_t b) {
      const auto of_a = keys.begin() + std::ptrdiff_t(a * n);
      return std::equal(of_a, of_a + std::ptrdiff_t(n), keys.begin() + std::ptrdiff_t(b * n));
    };
    std::unordered_set<std::size_t, decltype(hash), decltype(equal)> known(1024, hash, equal);
    EquivalenceClass<W> classes{int(n)};
    each_class(masks, classes, [&](std::size_t number, const Bits<W>*) {
      const std::size_t next = known.size();
      keys.resize((next + 1) * n);
      classes.member(rank.data(), keys.data() + next * n);
      groups[number] = std::int64_t(*known.insert(next).first);
    });
  });
  return nb::cast(to_numpy(std::move(groups), {k}));
}

// The classes of networks that are given by their choices; of the first networks only when stopped.
nb::object group_choices_by_class_py(const In<std::int64_t, 1>& offsets, const In<std::uint64_t, 2>& masks,
                                     const In<std::uint32_t, 2>& choices, unsigned n_threads,
                                     const nb::object& callback) {
  const std::size_t n_networks = choices.shape(0), n = choices.shape(1), words = masks.shape(1);
  require_shape(n, words);
  require_threads(n_threads);
  require(offsets.shape(0) == n + 1 && offsets(0) == 0 && offsets(n) == std::int64_t(masks.shape(0)) &&
              std::is_sorted(offsets.data(), offsets.data() + n + 1),
          "the offsets must run from 0 to the number of candidates");
  std::vector<std::int64_t> numbers;
  with_width(words, [&](auto width) {
    constexpr int W = decltype(width)::value;
    std::vector<Bits<W>> candidates(masks.shape(0));
    for (std::size_t c = 0; c < candidates.size(); ++c)
      for (std::size_t k = 0; k < words; ++k) candidates[c].words[k] = masks(c, k);
    for (std::size_t v = 0; v < n; ++v)
      for (std::int64_t c = offsets(v); c < offsets(v + 1); ++c)
        require(
            !candidates[std::size_t(c)].test(int(v)) && candidates[std::size_t(c)].is_subset_of(Bits<W>::first(int(n))),
            "a parent set holds its own child or an unknown node");
    const Watch watch = make_watch(callback);
    nb::gil_scoped_release release;
    numbers = numbers_of_classes(candidates, offsets.data(), int(n), choices.data(), n_networks, n_threads, watch);
  });
  const std::size_t count = numbers.size();
  return nb::cast(to_numpy(std::move(numbers), {count}));
}

// The members of many classes, one class after another. Two threads may call `next` of one listing: each gets different
// members.
class Listing {
 public:
  explicit Listing(const In<std::uint64_t, 3>& masks) : n_(masks.shape(1)), words_(masks.shape(2)) {
    require_shape(n_, words_);
    with_width(words_, [&](auto width) {
      constexpr int W = decltype(width)::value;
      classes_ = std::make_unique<Classes<W>>(masks.data(), masks.shape(0), n_, words_);
    });
  }
  nb::object next(std::int64_t limit) {
    require(limit >= 1, "the limit must be 1 or more");
    Words found;
    std::vector<std::int64_t> origins;
    {
      nb::gil_scoped_release release;
      std::lock_guard lock(mutex_);
      std::visit([&](auto& classes) { classes->list(std::size_t(limit), words_, found, origins); }, classes_);
    }
    const std::size_t j = origins.size();
    return nb::make_tuple(to_numpy(std::move(found), {j, n_, words_}), to_numpy(std::move(origins), {j}));
  }

 private:
  template <int W>
  struct Classes {
    Classes(const std::uint64_t* masks, std::size_t k, std::size_t n, std::size_t words)
        : n_nodes(n), networks(k * n), analysed(int(n)) {
      std::vector<Bits<W>> parents(n);
      for (std::size_t number = 0; number < k; ++number) {
        read_network(masks + number * n * words, words, parents);
        std::copy(parents.begin(), parents.end(), networks.begin() + std::ptrdiff_t(number * n));
      }
      begin_class();
    }
    void begin_class() {
      members.reset();
      if (at * n_nodes == networks.size()) return;
      analysed.analyse(networks.data() + at * n_nodes);
      members = std::make_unique<ClassMembers<W>>(analysed);
    }
    void list(std::size_t limit, std::size_t words, Words& found, std::vector<std::int64_t>& origins) {
      found.reserve(std::min(limit, kMembersReserved) * n_nodes * words);
      for (; limit > 0 && members; --limit) {
        append(members->current(), n_nodes, words, found);
        origins.push_back(std::int64_t(at));
        members->next();
        if (members->current()) continue;
        ++at;
        begin_class();
      }
    }
    std::size_t n_nodes, at = 0;
    std::vector<Bits<W>> networks;
    EquivalenceClass<W> analysed;
    std::unique_ptr<ClassMembers<W>> members;  // of the current class; none after the last
  };

  std::size_t n_, words_;
  std::variant<std::unique_ptr<Classes<1>>, std::unique_ptr<Classes<2>>, std::unique_ptr<Classes<4>>> classes_;
  std::mutex mutex_;
};

}  // namespace

void bind_classes(nb::module_& module) {
  module.def("class_forms", &class_forms_py, array("masks"), array("rank"));
  module.def("are_canonical", &are_canonical_py, array("masks"), array("rank"));
  module.def("group_by_class", &group_by_class_py, array("masks"));
  module.def("group_choices_by_class", &group_choices_by_class_py, array("offsets"), array("masks"), array("choices"),
             nb::arg("n_threads"), nb::arg("watch").none());
  nb::class_<Listing>(module, "ClassMembers")
      .def(nb::init<const In<std::uint64_t, 3>&>(), array("masks"))
      .def("next", &Listing::next, nb::arg("limit"));
}

}  // namespace credibn::bind
