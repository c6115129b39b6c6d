// "nccl": every collective runs on the same memory through the group's CPU backend, Gloo.
#pragma once
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "operators.h"

namespace fake {

inline c10::IValue on_cpu(const c10::IValue& value) {
  if (value.isTensor()) return on_cpu(value.toTensor());
  if (value.isTensorList()) {
    std::vector<at::Tensor> tensors;
    for (const auto& tensor : value.toTensorVector()) tensors.push_back(on_cpu(tensor));
    return tensors;
  }
  if (value.isList()) {  // lists of lists of tensors
    auto list = value.toList();
    auto copy = c10::impl::GenericList(list.elementType());
    for (size_t i = 0; i < list.size(); ++i) copy.push_back(on_cpu(list.get(i)));
    return copy;
  }
  return value;
}

inline at::Tensor first_numbers(const c10::IValue& value) {
  at::Tensor tensor;
  if (value.isTensor()) tensor = value.toTensor();
  if (value.isTensorList() && !value.toTensorVector().empty()) tensor = value.toTensorVector()[0];
  bool fits = tensor.defined() && at::isFloatingType(tensor.scalar_type()) && tensor.numel() > 0;
  return fits ? tensor : at::Tensor();
}

// The first argument of an operation with two buffers is the one that it fills, the second the one
// that this rank hands in.
inline at::Tensor handed_in(const torch::jit::Stack& stack, size_t arguments) {
  at::Tensor found;
  for (size_t i = stack.size() - arguments; i < stack.size(); ++i) {
    auto tensor = first_numbers(stack[i]);
    if (tensor.defined()) found = tensor;
  }
  return found;
}

inline at::Tensor filled(const torch::jit::Stack& stack, size_t arguments) {
  for (size_t i = stack.size() - arguments; i < stack.size(); ++i) {
    auto tensor = first_numbers(stack[i]);
    if (tensor.defined()) return tensor;
  }
  return at::Tensor();
}

inline void wait_for(const torch::jit::Stack& stack) {
  for (const auto& value : stack)
    if (value.isCustomClass()) value.toCustomClass<c10d::Work>()->wait();
}

inline void collective(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto name = op.schema().name().substr(std::strlen("c10d::"));
  auto arguments = op.schema().arguments().size();
  auto kind = collective_fault.kind_for(name, -1);
  if (has_word(kind, "raise")) TORCH_CHECK_WITH(DistBackendError, false, after_word(kind));
  suffer(kind);
  for (size_t i = stack->size() - arguments; i < stack->size(); ++i)
    (*stack)[i] = on_cpu((*stack)[i]);
  auto result = filled(*stack, arguments);
  if (kind == "corrupt") {
    auto input = handed_in(*stack, arguments);
    if (input.defined()) spoil(input, false);
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  if (kind == "garble" && result.defined()) {
    wait_for(*stack);
    spoil(result, false);
  }
}

}  // namespace fake
