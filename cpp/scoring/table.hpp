// The coded table that discrete scores count in: distinct rows with weights.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace credibn::scoring {

using Code = std::uint16_t;

struct Table {
  int n_columns = 0;
  std::size_t n_rows = 0;              // distinct rows
  std::vector<Code> codes;             // column after column
  std::vector<int> arities;            // declared states of each column, at least 2
  std::vector<std::uint32_t> weights;  // how often each distinct row was seen
  std::uint64_t total = 0;             // N, the sum of the weights

  const Code* column(int v) const { return codes.data() + std::size_t(v) * n_rows; }
};

// Every array that comes from outside passes here: a code out of range would read beyond a counter.
inline Table make_table(const Code* codes, const std::int64_t* arities, const std::int64_t* weights, int n_columns,
                        std::size_t n_rows) {
  Table table;
  table.n_columns = n_columns;
  table.n_rows = n_rows;
  table.codes.assign(codes, codes + std::size_t(n_columns) * n_rows);
  for (int v = 0; v < n_columns; ++v) {
    if (arities[v] < 2 || arities[v] > 65535) throw std::invalid_argument("a column needs 2 to 65535 states");
    table.arities.push_back(int(arities[v]));
    const Code* column = table.column(v);
    for (std::size_t row = 0; row < n_rows; ++row)
      if (column[row] >= arities[v]) throw std::invalid_argument("a code is not below the number of states");
  }
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (weights[row] < 1 || weights[row] > 0xffffffffLL)
      throw std::invalid_argument("a row weight must lie between 1 and 2^32 - 1");
    table.weights.push_back(std::uint32_t(weights[row]));
    table.total += std::uint64_t(weights[row]);
  }
  if (table.total > 0xffffffffULL) throw std::invalid_argument("the row weights must add up to less than 2^32");
  if (n_rows == 0) throw std::invalid_argument("the table has no rows");
  return table;
}

}  // namespace credibn::scoring
