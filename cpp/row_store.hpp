// Rows of equal width: one candidate position for each node, a cost, and the class size in words. Many of them are kept
// in chunks, so that growing moves nothing and takes no memory beyond what is held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace credibn {

struct Rows {
  Rows(std::size_t n, std::size_t size_words) : n_(n), size_words_(size_words) {}

  std::size_t count() const { return costs.size(); }
  const std::uint32_t* row(std::size_t k) const { return choices.data() + k * n_; }
  const std::uint64_t* size(std::size_t k) const { return sizes.data() + k * size_words_; }
  void add(const std::uint32_t* row, double cost, const std::uint64_t* size) {
    choices.insert(choices.end(), row, row + n_);
    costs.push_back(cost);
    sizes.insert(sizes.end(), size, size + size_words_);
  }
  void reserve(std::size_t count) {
    choices.reserve(count * n_);
    costs.reserve(count);
    sizes.reserve(count * size_words_);
  }
  void resize(std::size_t count) {
    choices.resize(count * n_);
    costs.resize(count);
    sizes.resize(count * size_words_);
  }
  void set(std::size_t k, const std::uint32_t* row, double cost, const std::uint64_t* size) {
    std::copy_n(row, n_, choices.data() + k * n_);
    costs[k] = cost;
    std::copy_n(size, size_words_, sizes.data() + k * size_words_);
  }
  void clear() { resize(0); }

  std::size_t n_, size_words_;
  std::vector<std::uint32_t> choices;
  std::vector<double> costs;
  std::vector<std::uint64_t> sizes;
};

class RowStore {
 public:
  RowStore(std::size_t n, std::size_t size_words) : n_(n), size_words_(size_words) {}

  std::size_t n() const { return n_; }
  std::size_t size_words() const { return size_words_; }
  std::size_t count() const { return count_; }
  std::size_t row_bytes() const { return 4 * n_ + 8 * size_words_ + 8; }
  double cost(std::size_t k) const { return chunk(k).costs[k % kChunk]; }
  const std::uint32_t* row(std::size_t k) const { return chunk(k).row(k % kChunk); }
  const std::uint64_t* size(std::size_t k) const { return chunk(k).size(k % kChunk); }
  // The number of networks that row k stands for, or the largest number where it does not fit.
  std::uint64_t members(std::size_t k) const {
    for (std::size_t w = 1; w < size_words_; ++w)
      if (size(k)[w]) return ~std::uint64_t(0);
    return size_words_ ? size(k)[0] : 1;
  }
  std::vector<double> costs() const {
    std::vector<double> all;
    all.reserve(count_);
    for (const Rows& rows : chunks_) all.insert(all.end(), rows.costs.begin(), rows.costs.end());
    return all;
  }
  void append(const Rows& batch) {
    for (std::size_t k = 0; k < batch.count(); ++k) {
      if (count_ % kChunk == 0) {
        chunks_.emplace_back(n_, size_words_);
        chunks_.back().reserve(kChunk);
      }
      chunks_.back().add(batch.row(k), batch.costs[k], batch.size(k));
      ++count_;
    }
  }
  // Drops the rows that cost more; the others keep their order, and move within the chunks that are there.
  void keep_up_to(double limit) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      if (cost(k) > limit) continue;
      if (kept < k) chunks_[kept / kChunk].set(kept % kChunk, row(k), cost(k), size(k));
      ++kept;
    }
    count_ = kept;
    chunks_.erase(chunks_.begin() + std::ptrdiff_t((kept + kChunk - 1) / kChunk), chunks_.end());
    if (kept % kChunk) chunks_.back().resize(kept % kChunk);
  }

 private:
  static constexpr std::size_t kChunk = 1 << 12;

  const Rows& chunk(std::size_t k) const { return chunks_[k / kChunk]; }

  std::size_t n_, size_words_, count_ = 0;
  std::vector<Rows> chunks_;  // all but the last hold kChunk rows
};

}  // namespace credibn
