// The descent engine as tasks for threads: a node with few possible parents is one task; of a node with many, each
// subtree below one free parent is.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "descent.hpp"
#include "progress.hpp"
#include "subset_index.hpp"

namespace credibn {

template <class Lane>
Candidates descend_in(const DescentProblem& problem, unsigned n_threads, const Watch& watch) {
  const int n = problem.question.n;
  constexpr std::size_t kWhole = std::size_t(-1), kFew = 18;
  struct Task {
    int child;
    std::size_t subtree;  // kWhole: everything; 0: the root; s: below the position s - 1
  };
  std::vector<Task> tasks;
  for (int child = 0; child < n; ++child) {
    const NodeChoice& choice = problem.question.nodes[std::size_t(child)];
    if (choice.free.size() <= kFew || choice.max_free < 2)
      tasks.push_back({child, kWhole});
    else
      for (std::size_t s = 0; s <= choice.free.size(); ++s) tasks.push_back({child, s});
  }
  StopFlag stop;
  std::vector<Candidates> found(tasks.size(), Candidates(n));
  struct Worker {
    int child = -1;
    std::unique_ptr<Descent<Lane>> descent;
  };
  std::vector<Worker> workers(std::max(1u, n_threads));
  run_tasks(tasks.size(), n_threads, stage_of(watch, 0.0, 0.98), stop,
            [&](std::size_t index, unsigned w, PartDone& part) {
              Worker& worker = workers[w];
              const Task& task = tasks[index];
              if (worker.child != task.child) {
                worker.descent = std::make_unique<Descent<Lane>>(problem, task.child, stop);
                worker.child = task.child;
              }
              if (task.subtree == kWhole)
                worker.descent->whole(part);
              else if (task.subtree == 0)
                worker.descent->root();
              else
                worker.descent->subtree(task.subtree - 1, part);
              found[index] = std::move(worker.descent->found);
              worker.descent->found = Candidates(n);
            });
  std::vector<Candidates> by_child(static_cast<std::size_t>(n), Candidates(n));
  for (std::size_t t = 0; t < tasks.size(); ++t) by_child[std::size_t(tasks[t].child)].append(found[t]);
  run_tasks(std::size_t(n), n_threads, stage_of(watch, 0.98, 0.02), stop, [&](std::size_t child, unsigned, PartDone&) {
    by_child[child] = drop_dominated(by_child[child], problem.question.epsilon, n, stop);
  });
  Candidates all(n);
  for (const Candidates& part : by_child) all.append(part);
  return all;
}

inline Candidates descend(const DescentProblem& problem, unsigned n_threads, const Watch& watch) {
  return problem.table.total <= std::numeric_limits<std::uint16_t>::max()
             ? descend_in<std::uint16_t>(problem, n_threads, watch)
             : descend_in<std::uint32_t>(problem, n_threads, watch);
}

}  // namespace credibn
