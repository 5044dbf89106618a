// The prefix tree of all sets of variables up to a size, split into tasks for threads and for other machines.
#pragma once

#include <algorithm>
#include <vector>

namespace credibn::scoring {

// A task of the prefix tree of sets: the subtrees below `prefix` plus each v of first..last-1, and before them, if
// requested, the children of `prefix` themselves (with the empty set, where the prefix is empty).
struct SetTask {
  std::vector<int> prefix;
  bool scores_children;
  int first, last;
};

// The sets of the subtree below a set of `size` variables of which v is the last.
inline double sets_below(int n, int max_size, int size, int v) {
  double sum = 0.0, choose = 1.0;
  for (int k = 1; k <= max_size - size && k < n - v; ++k) {
    choose *= double(n - v - k) / double(k);
    sum += choose;
  }
  return sum;
}
inline double set_weight(int n, int max_size, const SetTask& task) {
  const int size = int(task.prefix.size()), last = size == 0 ? -1 : task.prefix.back();
  double sum = task.scores_children ? double(n - last - 1) + (size == 0) : 0.0;
  for (int v = task.first; v < task.last; ++v) sum += sets_below(n, max_size, size + 1, v);
  return sum;
}

// Splits the tree into tasks of at most `most` sets, or little more, in the order of the traversal.
class SetTasks {
 public:
  SetTasks(int n, int max_size, double most) : n_(n), max_size_(max_size), most_(most) { split(); }
  std::vector<SetTask> tasks;

 private:
  void split() {
    const int size = int(prefix_.size()), begin = size == 0 ? 0 : prefix_.back() + 1;
    SetTask task{prefix_, true, begin, begin};
    double n_sets = double(n_ - begin);
    for (int v = begin; size + 1 < max_size_ && v + 1 < n_; ++v) {
      const double below = sets_below(n_, max_size_, size + 1, v);
      if (n_sets + below > most_) {
        if (task.scores_children || task.first < task.last) tasks.push_back(task);
        n_sets = 0.0;
        task = {prefix_, false, v, v};
      }
      if (below > most_) {
        prefix_.push_back(v);
        split();
        prefix_.pop_back();
        task.first = v + 1;
      } else {
        n_sets += below;
      }
      task.last = v + 1;
    }
    if (task.scores_children || task.first < task.last) tasks.push_back(task);
  }

  const int n_, max_size_;
  const double most_;
  std::vector<int> prefix_;
};
inline std::vector<SetTask> set_tasks(int n, int max_size) {
  constexpr double kTasks = 256.0, kFew = 64.0;  // so that the way from the root to each task costs little
  const double total = 1.0 + sets_below(n, max_size, 0, -1);
  return SetTasks(n, max_size, std::max(kFew, total / kTasks)).tasks;
}

// Calls `visit(members, size)` for each set of a task, in the order in which a SetCounter takes them.
template <class Visit>
class SetTraversal {
 public:
  SetTraversal(int n, int max_size, const Visit& visit) : n_(n), max_size_(max_size), visit_(visit) {}
  void run(const SetTask& task) {
    const int depth = int(task.prefix.size());
    std::copy(task.prefix.begin(), task.prefix.end(), members_);
    if (task.scores_children) {
      if (depth == 0) visit_(members_, 0);
      children(depth);
    }
    for (int v = task.first; v < task.last; ++v) {
      members_[depth] = v;
      traverse(depth + 1);
    }
  }

 private:
  void children(int depth) {
    for (int v = depth == 0 ? 0 : members_[depth - 1] + 1; v < n_; ++v) {
      members_[depth] = v;
      visit_(members_, depth + 1);
    }
  }
  void traverse(int depth) {
    children(depth);
    if (depth + 1 >= max_size_) return;
    for (int v = members_[depth - 1] + 1; v + 1 < n_; ++v) {
      members_[depth] = v;
      traverse(depth + 1);
    }
  }

  const int n_, max_size_;
  const Visit& visit_;
  int members_[256] = {};
};

}  // namespace credibn::scoring
