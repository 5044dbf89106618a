// The pool of all cuts found so far, each once, numbered in the order in which they were found.
#pragma once

#include <deque>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "cuts/cluster_cuts.hpp"
#include "cuts/cut_selection.hpp"
#include "cuts/zero_half_cuts.hpp"

namespace credibn::cuts {

using search::Choices;

template <int W>
class CutPool {
 public:
  explicit CutPool(const Choices<W>& choices) : choices_(choices) {}

  std::size_t size() const { return cuts_.size(); }
  const Cut& cut(std::size_t id) const { return cuts_[id]; }

  // The number of a cluster cut, which is added unless it is in the pool.
  std::int64_t add(const Cluster<W>& cluster) {
    const auto [at, is_new] = clusters_.emplace(cluster, std::int64_t(cuts_.size()));
    if (is_new) append(cluster_cut(choices_, cluster), {cluster, {}, {}});
    return at->second;
  }
  // The number of the zero-half cut of some cuts of the pool and some nodes' equations.
  std::int64_t add_zero_half(std::vector<std::int64_t> sources, std::vector<int> equations) {
    std::vector<const Cut*> cuts;
    for (std::int64_t id : sources) cuts.push_back(&cuts_[std::size_t(id)]);
    Cut cut = zero_half_cut(choices_, cuts, equations);
    std::uint64_t hash = std::uint64_t(cut.rhs);
    for (std::size_t k = 0; k < cut.at.size(); ++k)
      hash = (hash ^ (std::uint64_t(cut.at[k]) << 8 ^ std::uint64_t(cut.coefficients[k]))) * 0xff51afd7ed558ccdULL;
    const auto [at, is_new] = zero_halves_.emplace(hash, std::int64_t(cuts_.size()));
    if (is_new) append(std::move(cut), {{}, std::move(sources), std::move(equations)});
    return at->second;
  }

  // The definitions of some cuts, from which another pool can make them. For each cut, in order: either 0, k, the
  // number of the cluster's nodes and the nodes; or 1, the numbers of cuts and of equations of a zero-half cut, the
  // places of these cuts in the list, all of them earlier, and the nodes. Cuts that others are made of are listed too.
  // `places` are those of the requested cuts.
  std::vector<std::int64_t> definitions(const std::vector<std::int64_t>& ids, std::vector<std::int64_t>& places) const {
    std::vector<char> is_needed(cuts_.size(), 0);
    for (std::int64_t id : ids) is_needed[std::size_t(id)] = 1;
    for (std::size_t id = cuts_.size(); id-- > 0;)
      if (is_needed[id])
        for (std::int64_t source : origins_[id].sources) is_needed[std::size_t(source)] = 1;  // they come earlier
    std::vector<std::int64_t> list, place_of(cuts_.size());
    std::int64_t n_listed = 0;
    for (std::size_t id = 0; id < cuts_.size(); ++id) {
      if (!is_needed[id]) continue;
      place_of[id] = n_listed++;
      const Origin& origin = origins_[id];
      if (origin.sources.empty()) {
        list.insert(list.end(), {0, origin.cluster.k, origin.cluster.nodes.count()});
        origin.cluster.nodes.each([&](int v) { list.push_back(v); });
      } else {
        list.insert(list.end(), {1, std::int64_t(origin.sources.size()), std::int64_t(origin.equations.size())});
        for (std::int64_t source : origin.sources) list.push_back(place_of[std::size_t(source)]);
        list.insert(list.end(), origin.equations.begin(), origin.equations.end());
      }
    }
    places.clear();
    for (std::int64_t id : ids) places.push_back(place_of[std::size_t(id)]);
    return list;
  }
  // Makes the cuts that such a list defines, and returns their numbers. Any list that is accepted gives valid cuts.
  std::vector<std::int64_t> make(const std::int64_t* list, std::size_t length) {
    std::vector<std::int64_t> ids;
    const std::int64_t n = choices_.n();
    std::size_t at = 0;
    const auto next = [&](std::int64_t least, std::int64_t most) {
      if (at >= length || list[at] < least || list[at] > most)
        throw std::invalid_argument("the definition of a cut is wrong");
      return list[at++];
    };
    while (at < length) {
      if (next(0, 1) == 0) {
        const std::int64_t k = next(1, n), count = next(k + 1, n);
        Cluster<W> cluster{{}, int(k)};
        for (std::int64_t j = 0; j < count; ++j) cluster.nodes.set(int(next(0, n - 1)));
        if (cluster.nodes.count() != count) throw std::invalid_argument("the definition of a cut is wrong");
        ids.push_back(add(cluster));
      } else {
        const std::int64_t n_sources = next(1, std::int64_t(ids.size())), n_equations = next(0, n);
        std::vector<std::int64_t> sources;
        std::vector<int> equations;
        for (std::int64_t j = 0; j < n_sources; ++j)
          sources.push_back(ids[std::size_t(next(0, std::int64_t(ids.size()) - 1))]);
        for (std::int64_t j = 0; j < n_equations; ++j) equations.push_back(int(next(0, n - 1)));
        std::int64_t magnitude = n_equations;
        for (std::int64_t id : sources) magnitude += cuts_[std::size_t(id)].magnitude();
        if (magnitude > 1 << 24) throw std::invalid_argument("the definition of a cut is wrong");  // sums stay in range
        ids.push_back(add_zero_half(std::move(sources), std::move(equations)));
      }
    }
    return ids;
  }

  std::vector<Fraction<W>> support(const double* values) const {
    std::vector<Fraction<W>> support;
    for (int v = 0; v < choices_.n(); ++v)
      for (std::size_t k = 0, at = choices_.first(v); k < choices_.size(v); ++k, ++at)
        if (values[at] > 1e-7) support.push_back({v, std::uint32_t(at), choices_.parents(v, k), values[at]});
    return support;
  }
  // The numbers of up to max_cuts violated cluster cuts.
  std::vector<std::int64_t> separate_clusters(const double* values, int max_k, std::size_t max_cuts, double least) {
    ClusterSeparator<W> separator(choices_.n(), support(values));
    std::vector<std::int64_t> ids;
    for (const auto& found : separator.find(max_k, least)) {
      if (ids.size() == max_cuts) break;
      ids.push_back(add(found.cluster));
    }
    return ids;
  }
  // The numbers of up to max_cuts violated cuts that differ from each other: cluster cuts of all points, the last of
  // which is the fractional solution, and zero-half cuts of the cuts with these numbers. Only these enter the pool. At
  // most max_found of each kind are compared, over the candidates that count.
  std::vector<std::int64_t> separate_diverse(const std::vector<const double*>& points, const std::uint8_t* counts,
                                             const std::vector<std::int64_t>& ids, int max_k, std::size_t max_found,
                                             std::size_t max_cuts, double max_cosine, double least) {
    std::vector<Cluster<W>> clusters;
    for (const double* point : points) {
      const auto found = ClusterSeparator<W>(choices_.n(), support(point)).find(max_k, least);
      for (std::size_t k = 0; k < std::min(found.size(), max_found); ++k) clusters.push_back(found[k].cluster);
    }
    std::vector<const Cut*> sources;
    for (std::int64_t id : ids) sources.push_back(&cuts_[std::size_t(id)]);
    const double* solution = points.back();
    const std::vector<Fraction<W>> fractions = support(solution);
    const std::vector<ZeroHalf> halves = ZeroHalfSeparator<W>(choices_, sources, fractions).find(max_found, 2 * least);
    std::vector<Cut> cuts;
    for (const Cluster<W>& cluster : clusters) cuts.push_back(cluster_cut(choices_, cluster));
    for (const ZeroHalf& half : halves) {
      std::vector<const Cut*> terms;
      for (std::uint32_t place : half.cuts) terms.push_back(sources[place]);
      cuts.push_back(zero_half_cut(choices_, terms, half.equations));
    }
    std::vector<std::int64_t> selected;
    for (std::size_t k : CutSelection<W>(choices_, solution, counts).select(cuts, max_cuts, max_cosine)) {
      if (k < clusters.size()) {
        selected.push_back(add(clusters[k]));
        continue;
      }
      const ZeroHalf& half = halves[k - clusters.size()];
      std::vector<std::int64_t> terms;
      for (std::uint32_t place : half.cuts) terms.push_back(ids[place]);
      selected.push_back(add_zero_half(std::move(terms), half.equations));
    }
    return selected;
  }

 private:
  // What a cut is made of: a cluster; or, for a zero-half cut, earlier cuts and nodes.
  struct Origin {
    Cluster<W> cluster;
    std::vector<std::int64_t> sources;
    std::vector<int> equations;
  };

  void append(Cut&& cut, Origin&& origin) {
    shift_common(choices_, cut);
    cuts_.push_back(std::move(cut));
    origins_.push_back(std::move(origin));
  }

  const Choices<W>& choices_;
  std::deque<Cut> cuts_;
  std::vector<Origin> origins_;
  std::unordered_map<Cluster<W>, std::int64_t, ClusterHash<W>> clusters_;
  std::unordered_map<std::uint64_t, std::int64_t> zero_halves_;
};

}  // namespace credibn::cuts
