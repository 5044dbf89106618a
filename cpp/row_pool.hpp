// The rows found so far, each once, numbered in the order in which they were found.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "cluster_rows.hpp"
#include "half_rows.hpp"

namespace credibn {

template <int W>
class RowPool {
 public:
  explicit RowPool(const Choices<W>& choices) : choices_(choices) {}

  std::size_t size() const { return rows_.size(); }
  const Row& row(std::size_t id) const { return rows_[id]; }

  // The number of a cluster's row, which is made unless it is there.
  std::int64_t add(const Cluster<W>& cluster) {
    const auto [at, is_new] = clusters_.emplace(cluster, std::int64_t(rows_.size()));
    if (is_new) append(cluster_row(choices_, cluster));
    return at->second;
  }
  std::int64_t add(Row&& row) {
    std::uint64_t hash = std::uint64_t(row.rhs);
    for (std::size_t k = 0; k < row.at.size(); ++k)
      hash = (hash ^ (std::uint64_t(row.at[k]) << 8 ^ std::uint64_t(row.coefficients[k]))) * 0xff51afd7ed558ccdULL;
    const auto [at, is_new] = halves_.emplace(hash, std::int64_t(rows_.size()));
    if (is_new) append(std::move(row));
    return at->second;
  }
  std::vector<Fraction<W>> support(const double* values) const {
    std::vector<Fraction<W>> support;
    for (int v = 0; v < choices_.n(); ++v)
      for (std::size_t k = 0, at = choices_.first(v); k < choices_.size(v); ++k, ++at)
        if (values[at] > 1e-7) support.push_back({v, std::uint32_t(at), choices_.parents(v, k), values[at]});
    return support;
  }
  // The numbers of up to max_rows violated cluster rows.
  std::vector<std::int64_t> separate_clusters(const double* values, int max_k, std::size_t max_rows, double least) {
    ClusterSeparator<W> separator(choices_.n(), support(values));
    std::vector<std::int64_t> ids;
    for (const auto& found : separator.find(max_k, least)) {
      if (ids.size() == max_rows) break;
      ids.push_back(add(found.cluster));
    }
    return ids;
  }
  std::vector<std::int64_t> separate_halves(const double* values, const std::vector<const Row*>& rows,
                                            std::size_t max_rows, double least) {
    const std::vector<Fraction<W>> fractions = support(values);
    std::vector<std::int64_t> ids;
    for (Row& row : HalfSeparator<W>(choices_, rows, fractions).find(max_rows, least))
      ids.push_back(add(std::move(row)));
    return ids;
  }

 private:
  void append(Row&& row) {
    shift_common(choices_, row);
    rows_.push_back(std::move(row));
  }

  const Choices<W>& choices_;
  std::deque<Row> rows_;
  std::unordered_map<Cluster<W>, std::int64_t, ClusterHash<W>> clusters_;
  std::unordered_map<std::uint64_t, std::int64_t> halves_;
};

}  // namespace credibn
