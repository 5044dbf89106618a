// The table of contents of the compiled core. Each group has a file of its own in bind/, which checks what comes from
// Python, releases the GIL while the core works, and returns arrays. No file outside bind/ knows Python.
#include <nanobind/nanobind.h>

namespace credibn::bind {

void bind_scoring(nanobind::module_& module);
void bind_scoring_tasks(nanobind::module_& module);
void bind_collection(nanobind::module_& module);
void bind_cuts(nanobind::module_& module);
void bind_subsets(nanobind::module_& module);
void bind_classes(nanobind::module_& module);
void bind_averages(nanobind::module_& module);
void bind_posterior(nanobind::module_& module);
void bind_factored(nanobind::module_& module);
void bind_factored_sets(nanobind::module_& module);

}  // namespace credibn::bind

NB_MODULE(_core, module) {
  module.doc() = "The compiled core of credibn: arrays in, arrays out. Not a public interface.";
  credibn::bind::bind_scoring(module);
  credibn::bind::bind_scoring_tasks(module);
  credibn::bind::bind_collection(module);
  credibn::bind::bind_cuts(module);
  credibn::bind::bind_subsets(module);
  credibn::bind::bind_classes(module);
  credibn::bind::bind_averages(module);
  credibn::bind::bind_posterior(module);
  credibn::bind::bind_factored(module);
  credibn::bind::bind_factored_sets(module);
}
