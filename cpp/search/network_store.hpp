// Networks as arrays: the position of each node's candidate, the cost, and the size of the class in words. Many of them
// are stored in chunks, so that growing moves nothing and takes no memory beyond what is stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace credibn::search {

struct Networks {
  Networks(std::size_t n, std::size_t size_words) : n_(n), size_words_(size_words) {}

  std::size_t count() const { return costs.size(); }
  const std::uint32_t* network(std::size_t k) const { return choices.data() + k * n_; }
  const std::uint64_t* size(std::size_t k) const { return sizes.data() + k * size_words_; }
  void add(const std::uint32_t* network, double cost, const std::uint64_t* size) {
    choices.insert(choices.end(), network, network + n_);
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
  void set(std::size_t k, const std::uint32_t* network, double cost, const std::uint64_t* size) {
    std::copy_n(network, n_, choices.data() + k * n_);
    costs[k] = cost;
    std::copy_n(size, size_words_, sizes.data() + k * size_words_);
  }
  void clear() { resize(0); }

  std::size_t n_, size_words_;
  std::vector<std::uint32_t> choices;
  std::vector<double> costs;
  std::vector<std::uint64_t> sizes;
};

class NetworkStore {
 public:
  NetworkStore(std::size_t n, std::size_t size_words) : n_(n), size_words_(size_words) {}

  std::size_t n() const { return n_; }
  std::size_t size_words() const { return size_words_; }
  std::size_t count() const { return count_; }
  std::size_t network_bytes() const { return 4 * n_ + 8 * size_words_ + 8; }
  double cost(std::size_t k) const { return chunk(k).costs[k % kChunk]; }
  const std::uint32_t* network(std::size_t k) const { return chunk(k).network(k % kChunk); }
  const std::uint64_t* size(std::size_t k) const { return chunk(k).size(k % kChunk); }
  // The number of members that network k stands for, or the largest number where that does not fit.
  std::uint64_t members(std::size_t k) const {
    for (std::size_t w = 1; w < size_words_; ++w)
      if (size(k)[w]) return ~std::uint64_t(0);
    return size_words_ ? size(k)[0] : 1;
  }
  std::vector<double> costs() const {
    std::vector<double> all;
    all.reserve(count_);
    for (const Networks& chunk : chunks_) all.insert(all.end(), chunk.costs.begin(), chunk.costs.end());
    return all;
  }
  void append(const Networks& networks) {
    for (std::size_t k = 0; k < networks.count(); ++k) {
      if (count_ % kChunk == 0) {
        chunks_.emplace_back(n_, size_words_);
        chunks_.back().reserve(kChunk);
      }
      chunks_.back().add(networks.network(k), networks.costs[k], networks.size(k));
      ++count_;
    }
  }
  // Drops the networks that cost more; the others keep their order and move within the existing chunks.
  void keep_up_to(double limit) {
    std::size_t n_left = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      if (cost(k) > limit) continue;
      if (n_left < k) chunks_[n_left / kChunk].set(n_left % kChunk, network(k), cost(k), size(k));
      ++n_left;
    }
    count_ = n_left;
    chunks_.erase(chunks_.begin() + std::ptrdiff_t((n_left + kChunk - 1) / kChunk), chunks_.end());
    if (n_left % kChunk) chunks_.back().resize(n_left % kChunk);
  }

 private:
  static constexpr std::size_t kChunk = 1 << 12;

  const Networks& chunk(std::size_t k) const { return chunks_[k / kChunk]; }

  std::size_t n_, size_words_, count_ = 0;
  std::vector<Networks> chunks_;  // all but the last hold kChunk networks
};

}  // namespace credibn::search
