// Devices named cuda:0 to cuda:7 for a CPU-only torch: it takes the place of libtorch_cuda.
//
// It must be loaded before torch is imported, since libtorch asks for the CUDA hooks once. Written
// against the headers of the installed torch; see build.py.
#include "collectives.h"

#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

// torch warns that collectives are registered again, which is what is wanted: nobody is to hear it.
// Static objects of one file are made from the top down.
namespace {
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
} quiet;
[[maybe_unused]] const bool quiet_from_here = [] {
  c10::WarningUtils::set_warning_handler(&quiet);
  return true;
}();
}  // namespace

namespace c10::impl {
C10_REGISTER_GUARD_IMPL(CUDA, fake::DeviceGuard);
}

namespace at {
using fake::CUDAHooks;  // torch looks the class up by this name
REGISTER_CUDA_HOOKS(CUDAHooks)
}  // namespace at

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fake::fallback>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", fake::empty);
  m.impl("empty_strided", fake::empty_strided);
  m.impl("resize_", fake::resize_);
  m.impl("copy_", fake::copy_);
  m.impl("_copy_from", fake::copy_from);
  m.impl("_copy_from_and_resize", fake::copy_from_and_resize);
  m.impl("_local_scalar_dense", fake::item);
  m.impl("view", fake::view);
  m.impl("_reshape_alias", fake::reshape_alias);
  m.impl("as_strided", fake::as_strided);
  m.impl("set_.source_Storage_storage_offset", fake::set_offset);
  m.impl("set_.source_Storage", fake::set_storage);
  m.impl("set_.source_Tensor", fake::set_tensor);
  m.impl("convolution_overrideable", fake::convolution);
  m.impl("convolution_backward_overrideable", fake::convolution_backward);
}

TORCH_LIBRARY_IMPL(c10d, CUDA, m) {
  for (auto* name :
       {"allreduce_", "allreduce_coalesced_", "allgather_", "_allgather_base_",
        "allgather_coalesced_", "allgather_into_tensor_coalesced_", "reduce_scatter_",
        "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "reduce_", "gather_",
        "scatter_", "alltoall_", "alltoall_base_", "broadcast_", "send", "recv_",
        "recv_any_source_", "barrier"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fake::collective>());
}

// What the Python side calls.
TORCH_LIBRARY(fakegpu, m) {
  m.def("device_count() -> int", []() -> int64_t { return fake::device_count; });
  m.def("current_device() -> int", []() -> int64_t { return fake::current; });
  m.def("set_device(int index) -> ()", [](int64_t index) {
    fake::check_index(index);
    fake::current = index;
  });
  m.def("synchronize(int index) -> ()",
        [](int64_t index) { fake::synchronize(index < 0 ? fake::current : index); });
  m.def("pending(int index) -> int", [](int64_t index) -> int64_t { return fake::pending[index]; });
  m.def("seed_all(int seed) -> ()", [](int64_t seed) {
    for (int i = 0; i < fake::device_count; ++i) {
      auto generator = fake::default_generator(i);
      generator.set_current_seed(seed);
    }
  });
  m.def("resize_storage(Tensor tensor, int num_bytes) -> ()",
        [](const at::Tensor& tensor, int64_t num_bytes) {
          fake::resize_storage(tensor.storage(), num_bytes);
        });
  m.def("hits() -> int", []() -> int64_t { return fake::operation_fault.hits; });
}

extern "C" void fakegpu_set_count(int count) { fake::device_count = count; }

// DDP's reducer times its own work and finds its timer by device type.
namespace c10d {
namespace {
struct FakeTimer : Timer {
  explicit FakeTimer(c10::Device) {}
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    auto from = getTimeRef(start), to = getTimeRef(end);
    if (from == kUnsetTime || to == kUnsetTime) return std::nullopt;
    return to - from;
  }
};
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, FakeTimer)
}  // namespace
}  // namespace c10d

[[maybe_unused]] static const bool ready = [] {
  c10::SetAllocator(fake::kType, &fake::Memory::get(), /*priority=*/1);
  fake::read_faults();
  c10::WarningUtils::set_warning_handler(nullptr);
  return true;
}();
