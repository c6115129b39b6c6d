// What torch asks a device type for: guards, streams, events, generators, hooks.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "memory.h"

namespace fake {

struct Moment {
  double ms;
};

// Everything has happened when the call returns; only `pending` and late errors need a wait.
struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  DeviceGuard() = default;
  explicit DeviceGuard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kType; }

  c10::Device exchangeDevice(c10::Device to) const override {
    auto before = current;
    check_index(to.index());
    current = to.index();
    return c10::Device(kType, before);
  }
  c10::Device getDevice() const override { return c10::Device(kType, current); }
  void setDevice(c10::Device to) const override {
    check_index(to.index());
    current = to.index();
  }
  void uncheckedSetDevice(c10::Device to) const noexcept override { current = to.index(); }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(device_count);
  }

  static c10::Device with_index(c10::Device device) {
    return device.has_index() ? device : c10::Device(kType, current);
  }
  static c10::Stream stream(c10::Device device, int64_t id) {
    return c10::Stream(c10::Stream::UNSAFE, with_index(device), id);
  }
  c10::Stream getStream(c10::Device device) const noexcept override {
    device = with_index(device);
    return stream(device, current_stream[device.index()]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    static std::atomic<int64_t> made{0};
    return stream(device, ++made);
  }
  c10::Stream exchangeStream(c10::Stream to) const noexcept override {
    auto before = current_stream[to.device_index()];
    current_stream[to.device_index()] = to.id();
    return stream(to.device(), before);
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& which) const override {
    synchronize(which.device_index());
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    synchronize(index < 0 ? current : index);
  }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Moment;
    static_cast<Moment*>(*event)->ms = now_ms();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Moment*>(event);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { synchronize(current); }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr, "both events must be recorded");
    return static_cast<Moment*>(end)->ms - static_cast<Moment*>(start)->ms;
  }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};

// A generator of the device that draws from one of the CPU's, which operations use in its stead.
struct Generator final : at::CPUGeneratorImpl {
  at::Generator inner;
  explicit Generator(c10::DeviceIndex index)
      : at::CPUGeneratorImpl(c10::default_rng_seed_val), inner(at::detail::createCPUGenerator()) {
    device_ = c10::Device(kType, index);
    key_set_ = c10::DispatchKeySet(kKey);
  }
  void set_current_seed(uint64_t seed) override { inner.set_current_seed(seed); }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override { return inner.seed(); }
  void set_state(const c10::TensorImpl& state) override {
    inner.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return inner.unsafeGetGeneratorImpl()->get_state();
  }
};

inline const at::Generator& default_generator(c10::DeviceIndex index) {
  static auto* all = [] {
    auto* made = new std::vector<at::Generator>;
    for (int i = 0; i < device_count; ++i)
      made->push_back(at::make_generator<Generator>(static_cast<c10::DeviceIndex>(i)));
    return made;
  }();
  if (index < 0) index = current;
  check_index(index);
  return (*all)[index];
}

struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count > 0; }
  bool hasCUDA() const override { return device_count > 0; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return device_count; }
  c10::DeviceIndex deviceCount() const override { return device_count; }
  c10::DeviceIndex current_device() const override { return current; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    check_index(index);
    current = index;
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    auto before = current;
    setCurrentDevice(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    auto before = current;
    if (index >= 0) current = index;
    return before;
  }
  void deviceSynchronize(c10::DeviceIndex index) const override { synchronize(index); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    return default_generator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<Generator>(index < 0 ? current : index);
  }
  c10::Device getDeviceFromPtr(void* block) const override {
    auto owner = Memory::get().owner(block);
    return owner < 0 ? c10::Device(c10::kCPU) : c10::Device(kType, owner);
  }
  c10::Allocator* getCUDADeviceAllocator() const override { return &Memory::get(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::kCPU); }
};

}  // namespace fake
