// The descent engine as tasks for threads and for other machines: a node is one task, or each subtree below one of its
// free parents is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "base/progress.hpp"
#include "scoring/descent.hpp"

namespace credibn::scoring {

using base::run_tasks;
using base::StopFlag;
using base::TaskProgress;
using base::Watch;

struct DescentTask {
  static constexpr std::size_t kWhole = std::size_t(-1);
  int child;
  std::size_t subtree;  // kWhole: everything; 0: the root; s: below the position s - 1
};

// A rough estimate of the work of a task, independent of the data: its sets of at most four free parents. Of the larger
// ones the rules leave few.
inline double descent_weight(const Request& request, const DescentTask& task) {
  const NodeChoice& choice = request.nodes[std::size_t(task.child)];
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

// In the order in which their candidates are joined. What a task of a node repeats, such as the costs of its pairs of
// parents, can be a third of the node's work, so a node is split only where it is a large share of all work.
inline std::vector<DescentTask> descent_tasks(const Request& request) {
  constexpr std::size_t kFew = 18;
  constexpr double kShares = 32.0;
  std::vector<double> weights;
  for (int child = 0; child < request.n; ++child)
    weights.push_back(descent_weight(request, {child, DescentTask::kWhole}));
  const double largest = std::accumulate(weights.begin(), weights.end(), 0.0) / kShares;
  std::vector<DescentTask> tasks;
  for (int child = 0; child < request.n; ++child) {
    const NodeChoice& choice = request.nodes[std::size_t(child)];
    if (choice.free.size() <= kFew || choice.max_free < 2 || weights[std::size_t(child)] <= largest)
      tasks.push_back({child, DescentTask::kWhole});
    else
      for (std::size_t s = 0; s <= choice.free.size(); ++s) tasks.push_back({child, s});
  }
  return tasks;
}

// Runs tasks one after the other; those of one child share the costs of its pairs of parents.
template <class Lane>
class DescentWorker {
 public:
  Candidates run(const DescentProblem& problem, const DescentTask& task, const StopFlag& stop, TaskProgress& progress) {
    if (!terms_) terms_ = problem.terms.borrow();
    if (child_ != task.child) {
      descent_ = std::make_unique<Descent<Lane>>(problem, task.child, *terms_, stop);
      child_ = task.child;
    }
    if (task.subtree == DescentTask::kWhole)
      descent_->whole(progress);
    else if (task.subtree == 0)
      descent_->root();
    else
      descent_->subtree(task.subtree - 1, progress);
    Candidates found = std::move(descent_->found);
    descent_->found = Candidates(problem.request.n);
    return found;
  }

 private:
  int child_ = -1;
  std::shared_ptr<TermTables<double>> terms_;
  std::unique_ptr<Descent<Lane>> descent_;
};

// The candidates of tasks first..last-1, before the final application of rule 1.
template <class Lane>
Candidates descend_tasks_in(const DescentProblem& problem, const std::vector<DescentTask>& tasks, std::size_t first,
                            std::size_t last, const Watch& watch) {
  StopFlag stop;
  Candidates all(problem.request.n);
  DescentWorker<Lane> worker;
  run_tasks(last - first, 1, watch, stop, [&](std::size_t index, unsigned, TaskProgress& progress) {
    all.append(worker.run(problem, tasks[first + index], stop, progress));
  });
  return all;
}
inline Candidates descend_tasks(const DescentProblem& problem, const std::vector<DescentTask>& tasks, std::size_t first,
                                std::size_t last, const Watch& watch) {
  return problem.table.total <= std::numeric_limits<std::uint16_t>::max()
             ? descend_tasks_in<std::uint16_t>(problem, tasks, first, last, watch)
             : descend_tasks_in<std::uint32_t>(problem, tasks, first, last, watch);
}

}  // namespace credibn::scoring
