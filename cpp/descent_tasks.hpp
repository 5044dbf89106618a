// The descent engine as tasks for threads and for other machines: a node with few possible parents is one task; of a
// node with many, each subtree below one free parent is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "descent.hpp"
#include "progress.hpp"

namespace credibn {

struct DescentTask {
  static constexpr std::size_t kWhole = std::size_t(-1);
  int child;
  std::size_t subtree;  // kWhole: everything; 0: the root; s: below the position s - 1
};

// In the order in which their candidates are put together.
inline std::vector<DescentTask> descent_tasks(const Question& question) {
  constexpr std::size_t kFew = 18;
  std::vector<DescentTask> tasks;
  for (int child = 0; child < question.n; ++child) {
    const NodeChoice& choice = question.nodes[std::size_t(child)];
    if (choice.free.size() <= kFew || choice.max_free < 2)
      tasks.push_back({child, DescentTask::kWhole});
    else
      for (std::size_t s = 0; s <= choice.free.size(); ++s) tasks.push_back({child, s});
  }
  return tasks;
}

// About how much work a task is, before anything is known of the data: its sets of at most four free parents. Of the
// larger ones the rules leave few.
inline double descent_weight(const Question& question, const DescentTask& task) {
  const NodeChoice& choice = question.nodes[std::size_t(task.child)];
  const std::size_t n_free = choice.free.size();
  const int most = std::min(choice.max_free, 4);
  auto n_sets = [](std::size_t n, int least, int largest) {
    double sum = 0.0, choose = 1.0;
    for (int k = 0; k <= largest; ++k) {
      if (k >= least) sum += choose;
      choose *= n > std::size_t(k) ? double(n - std::size_t(k)) / double(k + 1) : 0.0;
    }
    return sum;
  };
  if (task.subtree == DescentTask::kWhole) return n_sets(n_free, 0, most);
  return task.subtree == 0 ? n_sets(n_free, 0, 1) : n_sets(n_free - task.subtree, 1, most - 1);
}

// Does tasks one after the other; those of one child share what is known of its pairs of parents.
template <class Lane>
class DescentWorker {
 public:
  Candidates run(const DescentProblem& problem, const DescentTask& task, const StopFlag& stop, PartDone& part) {
    if (!terms_) terms_ = std::make_unique<TermTables<double>>(problem.score, problem.grid, problem.table.total);
    if (child_ != task.child) {
      descent_ = std::make_unique<Descent<Lane>>(problem, task.child, *terms_, stop);
      child_ = task.child;
    }
    if (task.subtree == DescentTask::kWhole)
      descent_->whole(part);
    else if (task.subtree == 0)
      descent_->root();
    else
      descent_->subtree(task.subtree - 1, part);
    Candidates found = std::move(descent_->found);
    descent_->found = Candidates(problem.question.n);
    return found;
  }

 private:
  int child_ = -1;
  std::unique_ptr<TermTables<double>> terms_;
  std::unique_ptr<Descent<Lane>> descent_;
};

// The candidates of tasks first..last-1, before the last of rule 1.
template <class Lane>
Candidates descend_tasks_in(const DescentProblem& problem, const std::vector<DescentTask>& tasks, std::size_t first,
                            std::size_t last, unsigned n_threads, const Watch& watch) {
  StopFlag stop;
  std::vector<Candidates> found(last - first, Candidates(problem.question.n));
  std::vector<DescentWorker<Lane>> workers(std::max(1u, n_threads));
  run_tasks(found.size(), n_threads, watch, stop, [&](std::size_t index, unsigned w, PartDone& part) {
    found[index] = workers[w].run(problem, tasks[first + index], stop, part);
  });
  Candidates all(problem.question.n);
  for (const Candidates& part : found) all.append(part);
  return all;
}
inline Candidates descend_tasks(const DescentProblem& problem, const std::vector<DescentTask>& tasks, std::size_t first,
                                std::size_t last, unsigned n_threads, const Watch& watch) {
  return problem.table.total <= std::numeric_limits<std::uint16_t>::max()
             ? descend_tasks_in<std::uint16_t>(problem, tasks, first, last, n_threads, watch)
             : descend_tasks_in<std::uint32_t>(problem, tasks, first, last, n_threads, watch);
}

}  // namespace credibn
