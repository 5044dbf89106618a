// Work shared among threads, with one channel for progress and interruption.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace credibn::base {

// Called from the thread that started the work, a few times per second; returns false to stop.
using Watch = std::function<bool(double fraction_done)>;

// The watch of a stage that is a share of the whole work.
inline Watch stage_of(const Watch& watch, double done_before, double share) {
  if (!watch) return watch;
  return [&watch, done_before, share](double fraction_done) { return watch(done_before + share * fraction_done); };
}

struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped by the caller"; }
};

// Tells a running task whether to stop; tasks check it often.
class StopFlag {
 public:
  void raise() { flag_.store(true, std::memory_order_relaxed); }
  void check() const {
    if (flag_.load(std::memory_order_relaxed)) throw Stopped();
  }

 private:
  std::atomic<bool> flag_{false};
};

// For work in the thread that started it: calls the watch a few times per second, however often it is checked itself.
class ThrottledWatch {
 public:
  explicit ThrottledWatch(const Watch& watch) : watch_(watch) {}
  void check() {
    if (std::chrono::steady_clock::now() >= next_) call();
  }
  // Whatever the time: for work that may end before the first check that is due.
  void call() {
    if (!watch_) return;
    next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    if (!watch_(0.0)) throw Stopped();
  }

 private:
  const Watch& watch_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
};

// The fraction of its current task that a worker has done; long tasks set it.
class TaskProgress {
 public:
  void set(double fraction) { fraction_.store(fraction, std::memory_order_relaxed); }
  double get() const { return fraction_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> fraction_{0.0};
};

// Runs task(index, worker, progress) for index 0..n_tasks-1 on n_threads threads; tasks start in increasing order. The
// results must not depend on the worker. The first exception of a task stops the others and is rethrown here; Stopped
// is thrown when `watch` returned false.
inline void run_tasks(std::size_t n_tasks, unsigned n_threads, const Watch& watch, StopFlag& stop,
                      const std::function<void(std::size_t index, unsigned worker, TaskProgress& progress)>& task) {
  if (watch && !watch(0.0)) throw Stopped();  // also where the work ends before the first timeout
  // A worker without a task would only cost a thread.
  const unsigned n_workers = unsigned(std::clamp<std::size_t>(n_tasks, 1, std::max(1u, n_threads)));
  std::atomic<std::size_t> next{0}, done{0};
  std::vector<TaskProgress> progress(n_workers);
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable finished;
  unsigned running = 0;
  auto work = [&](unsigned worker) {
    try {
      for (std::size_t i = next++; i < n_tasks; i = next++) {
        stop.check();
        task(i, worker, progress[worker]);
        progress[worker].set(0.0);
        ++done;
      }
    } catch (const Stopped&) {
      // The caller asked for it, or another worker failed and has reported it.
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop.raise();
    }
    std::lock_guard lock(mutex);
    --running;
    finished.notify_one();
  };
  double reported = 0.0;
  auto fraction_done = [&] {
    double sum = double(done);
    for (const TaskProgress& of_worker : progress) sum += of_worker.get();
    return reported = std::clamp(sum / double(std::max<std::size_t>(1, n_tasks)), reported, 1.0);
  };
  std::vector<std::thread> threads;
  threads.reserve(n_workers);
  try {
    for (unsigned worker = 0; worker < n_workers; ++worker) {
      {
        std::lock_guard lock(mutex);
        ++running;
      }
      threads.emplace_back(work, worker);
    }
  } catch (const std::system_error&) {
    // The system has no more threads: those that run do all the work.
    std::lock_guard lock(mutex);
    --running;
    if (threads.empty()) throw;
  }
  bool stopped = false;
  std::exception_ptr watch_failure;
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      lock.unlock();
      try {
        if (!stopped && watch && !watch(fraction_done())) stopped = true;
      } catch (...) {
        stopped = true;
        watch_failure = std::current_exception();
      }
      if (stopped) stop.raise();
      lock.lock();
    }
  }
  for (auto& thread : threads) thread.join();
  if (watch_failure) std::rethrow_exception(watch_failure);
  if (failure) std::rethrow_exception(failure);
  if (stopped) throw Stopped();
}

}  // namespace credibn::base
