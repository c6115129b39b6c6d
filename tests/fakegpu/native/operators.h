// Operations on the fake devices: each is done by the CPU on the same memory.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "hooks.h"

namespace fake {

using c10::SymInt;
using c10::SymIntArrayRef;

inline bool is_ours(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kType;
}

// The same memory as a tensor of the CPU.
inline at::Tensor on_cpu(const at::Tensor& tensor) {
  if (!is_ours(tensor)) return tensor;
  return at::from_blob(
      tensor.storage().mutable_data(), tensor.sizes(), tensor.strides(), tensor.storage_offset(),
      [keep = tensor.storage()](void*) {},
      tensor.options().device(c10::kCPU).requires_grad(false), c10::Device(c10::kCPU));
}

// -- making and resizing ---------------------------------------------------------------------

inline at::Tensor empty(c10::IntArrayRef sizes, std::optional<c10::ScalarType> dtype,
                        std::optional<c10::Layout>, std::optional<c10::Device> device,
                        std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  inject("aten::empty.memory_format", current);
  return at::detail::empty_generic(sizes, &Memory::get(), c10::DispatchKeySet(kKey),
                                   c10::dtype_or_default(dtype), format);
}

inline at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                                std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                                std::optional<c10::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  inject("aten::empty_strided", current);
  return at::detail::empty_strided_generic(sizes, strides, &Memory::get(),
                                           c10::DispatchKeySet(kKey), c10::dtype_or_default(dtype));
}

inline const at::Tensor& resize_(const at::Tensor& tensor, SymIntArrayRef new_sizes,
                                 std::optional<c10::MemoryFormat> format) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(new_sizes);
  if (tensor.sizes() == sizes) return tensor;
  int64_t numbers = tensor.storage_offset();
  int64_t count = 1;
  for (auto size : sizes) count *= size;
  numbers += count;
  size_t needed = numbers * tensor.dtype().itemsize();
  if (needed > tensor.storage().nbytes()) resize_storage(tensor.storage(), needed);
  auto* inside = tensor.unsafeGetTensorImpl();
  inside->set_sizes_contiguous(sizes);
  if (format && *format != c10::MemoryFormat::Preserve) inside->empty_tensor_restride(*format);
  return tensor;
}

// -- copies ----------------------------------------------------------------------------------

inline void copy_between(const at::Tensor& from, const at::Tensor& to) {
  auto device = (is_ours(to) ? to : from).device().index();
  auto kind = inject("aten::copy_", device);
  if (to.is_cpu())
    synchronize(device);  // a copy into pageable host memory waits for the device
  else
    ++pending[device];
  InsideOperation inside;
  auto target = on_cpu(to);
  target.copy_(on_cpu(from));
  if ((kind == "flip" || kind == "nan") && to.numel() > 0) spoil(target, kind == "nan");
}
inline at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  copy_between(from, to);
  return to;
}
inline at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  copy_between(from, to);
  return to;
}
inline at::Tensor& copy_(at::Tensor& to, const at::Tensor& from, bool) {
  copy_between(from, to);
  return to;
}
inline at::Scalar item(const at::Tensor& tensor) {
  inject("aten::_local_scalar_dense", tensor.device().index());
  synchronize(tensor.device().index());
  return at::native::_local_scalar_dense_cpu(on_cpu(tensor));
}

// -- views: no memory is touched ----------------------------------------------------------------

inline at::Tensor view(const at::Tensor& tensor, SymIntArrayRef sizes) {
  return at::native::view(tensor, C10_AS_INTARRAYREF_SLOW(sizes));
}
inline at::Tensor reshape_alias(const at::Tensor& tensor, SymIntArrayRef sizes,
                                SymIntArrayRef strides) {
  return at::native::_reshape_alias(tensor, C10_AS_INTARRAYREF_SLOW(sizes),
                                    C10_AS_INTARRAYREF_SLOW(strides));
}
inline at::Tensor as_strided(const at::Tensor& tensor, SymIntArrayRef sizes,
                             SymIntArrayRef strides, std::optional<SymInt> offset) {
  return at::cpu::as_strided_symint(tensor, sizes, strides, offset);
}
inline at::Tensor& set_offset(at::Tensor& tensor, at::Storage storage, SymInt offset,
                              SymIntArrayRef sizes, SymIntArrayRef strides) {
  return at::cpu::set__symint(tensor, storage, offset, sizes, strides);
}
inline at::Tensor& set_storage(at::Tensor& tensor, at::Storage storage) {
  return at::native::set_(tensor, storage);
}
inline at::Tensor& set_tensor(at::Tensor& tensor, const at::Tensor& from) {
  return at::native::set_tensor_(tensor, from);
}

// -- convolution: the CPU's own is not what the CUDA key is sent to ---------------------------

inline at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias, SymIntArrayRef stride,
                              SymIntArrayRef padding, SymIntArrayRef dilation, bool transposed,
                              SymIntArrayRef output_padding, SymInt groups) {
  auto bias_there = bias ? std::optional<at::Tensor>(on_cpu(*bias)) : bias;
  return at::convolution_symint(on_cpu(x), on_cpu(weight), bias_there, stride, padding, dilation,
                                transposed, output_padding, groups)
      .to(x.device());
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
    SymIntArrayRef stride, SymIntArrayRef padding, SymIntArrayRef dilation, bool transposed,
    SymIntArrayRef output_padding, SymInt groups, std::array<bool, 3> wanted) {
  std::vector<SymInt> bias_size{gradient.sym_size(1)};
  auto bias = wanted[2] ? at::OptionalSymIntArrayRef(bias_size) : std::nullopt;
  auto found = at::convolution_backward_symint(on_cpu(gradient), on_cpu(x), on_cpu(weight), bias,
                                               stride, padding, dilation, transposed,
                                               output_padding, groups, wanted);
  auto back = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(x.device()) : tensor;
  };
  return {back(std::get<0>(found)), back(std::get<1>(found)), back(std::get<2>(found))};
}

// -- all others ------------------------------------------------------------------------------

// The device of the arguments, which must be one; device generators become the CPU's.
inline c10::DeviceIndex prepare(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  c10::DeviceIndex device = -1;
  for (size_t i = stack->size() - schema.arguments().size(); i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (value.isGenerator()) {
      auto generator = value.toGenerator();
      if (generator.device().type() == kType)
        value = static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->inner;
    } else if (value.isTensor() && is_ours(value.toTensor())) {
      auto tensor = value.toTensor();
      auto index = tensor.device().index();
      TORCH_CHECK(device < 0 || tensor.dim() == 0 || index == device,
                  "Expected all tensors to be on the same device, but found at least two devices, "
                  "cuda:", int(device), " and cuda:", int(index), "! (", schema.name(), ")");
      if (device < 0 || tensor.dim() > 0) device = index;
    }
  }
  return device;
}

inline void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto device = prepare(op.schema(), stack);
  if (device >= 0) ++pending[device];
  auto kind = inject(op.schema().name(), device);
  {
    InsideOperation inside;
    std::optional<c10::DeviceGuard> guard;
    if (device >= 0) guard.emplace(c10::Device(kType, device));
    at::native::cpu_fallback(op, stack);
  }
  if (kind != "flip" && kind != "nan") return;
  for (auto& value : *stack) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    auto tensor = value.toTensor();
    if (!at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0) continue;
    spoil(on_cpu(tensor), kind == "nan");
    break;
  }
}

}  // namespace fake
