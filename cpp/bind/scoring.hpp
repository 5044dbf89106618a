// What the files that bind scoring share: the request and the table from checked arrays, candidates to arrays.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "scoring/scoring.hpp"

namespace credibn::bind {

using scoring::Candidates;
using scoring::Code;
using scoring::Request;
using scoring::Rules;
using scoring::Table;

inline nanobind::object to_python(Candidates&& found) {
  const std::size_t m = found.costs.size(), words = std::size_t(found.words);
  return nanobind::make_tuple(to_numpy(std::move(found.nodes), {m}), to_numpy(std::move(found.costs), {m}),
                              to_numpy(std::move(found.masks), {m, words}), found.n_local_scores);
}

template <class Work>
nanobind::object run(const Work& work) {
  try {
    Candidates found = [&] {
      nanobind::gil_scoped_release release;
      return work();
    }();
    return to_python(std::move(found));
  } catch (const base::Stopped&) {
    return nanobind::none();
  } catch (const std::invalid_argument& error) {
    throw nanobind::value_error(error.what());
  }
}

inline Request request_of(std::size_t n, double epsilon, const In<std::uint8_t, 2>& allowed,
                          const In<std::uint8_t, 2>& required, const In<std::int64_t, 1>& max_parents,
                          const In<double, 2>& edge_costs) {
  require(n >= 1 && n <= kMostNodes, "the core takes 1 to 255 variables");
  require(allowed.shape(0) == n && allowed.shape(1) == n && required.shape(0) == n && required.shape(1) == n &&
              max_parents.shape(0) == n && edge_costs.shape(0) == n && edge_costs.shape(1) == n,
          "constraints and edge costs must have one row and column for each variable");
  require_finite(edge_costs, "edge costs must be finite");
  return scoring::make_request(int(n), epsilon, allowed.data(), required.data(), max_parents.data(), edge_costs.data());
}

inline Table table_of(const In<Code, 2>& codes, const In<std::int64_t, 1>& arities,
                      const In<std::int64_t, 1>& weights) {
  require(arities.shape(0) == codes.shape(0) && weights.shape(0) == codes.shape(1),
          "codes need one row for each arity and one column for each weight");
  return scoring::make_table(codes.data(), arities.data(), weights.data(), int(codes.shape(0)), codes.shape(1));
}

inline Rules rules_of(const std::vector<std::string>& names) {
  Rules rules{false, false, false, false, false, false, false};
  for (const std::string& name : names) {
    if (name == "penalty")
      rules.penalty = true;
    else if (name == "configurations")
      rules.configurations = true;
    else if (name == "parent_entropy")
      rules.parent_entropy = true;
    else if (name == "cells")
      rules.cells = true;
    else if (name == "suffix_floor")
      rules.suffix_floor = true;
    else if (name == "few_parents")
      rules.few_parents = true;
    else if (name == "splits")
      rules.splits = true;
    else
      throw nanobind::value_error(("unknown rule: " + name).c_str());
  }
  return rules;
}

}  // namespace credibn::bind
