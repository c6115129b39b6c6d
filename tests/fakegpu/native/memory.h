// Memory of the fake devices: host memory that is counted per device and has the device's limit.
#pragma once
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <unordered_map>

#include "faults.h"

namespace fake {

class Memory final : public c10::DeviceAllocator {
 public:
  static Memory& get() {
    static auto* only = new Memory;  // never destroyed: tensors may outlive static objects
    return *only;
  }

  c10::DataPtr allocate(size_t num_bytes) override {
    c10::Device here(kType, current);
    if (num_bytes == 0) return {nullptr, nullptr, &release, here};
    std::lock_guard<std::mutex> hold(lock_);
    int64_t free_bytes = capacity_bytes - used_[current];
    TORCH_CHECK_WITH(OutOfMemoryError, static_cast<int64_t>(num_bytes) <= free_bytes,
                     "CUDA out of memory. Tried to allocate ", num_bytes >> 20, ".00 MiB. GPU ",
                     int(current), " has a total capacity of ", capacity_bytes >> 20,
                     ".00 MiB of which ", free_bytes >> 20, ".00 MiB is free.");
    void* block = nullptr;
    TORCH_CHECK(posix_memalign(&block, 64, num_bytes) == 0, "the host has no memory left");
    used_[current] += num_bytes;
    peak_[current] = std::max(peak_[current], used_[current]);
    live_[block] = {current, num_bytes};
    return {block, block, &release, here};
  }

  // Device of a pointer; -1 for memory that is the host's own.
  c10::DeviceIndex owner(void* block) {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = live_.find(block);
    return found == live_.end() ? -1 : found->second.first;
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t num_bytes) const override {
    std::memcpy(to, from, num_bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    std::lock_guard<std::mutex> hold(lock_);
    for (auto* group : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes}) {
      (*group)[0].current = used_[index];
      (*group)[0].peak = peak_[index];
    }
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex index) override {
    std::lock_guard<std::mutex> hold(lock_);
    peak_[index] = used_[index];
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override {
    return {static_cast<size_t>(capacity_bytes - used_[index]),
            static_cast<size_t>(capacity_bytes.load())};
  }

 private:
  static void release(void* block) {
    auto& memory = get();
    std::lock_guard<std::mutex> hold(memory.lock_);
    auto found = memory.live_.find(block);
    if (found == memory.live_.end()) return;
    memory.used_[found->second.first] -= found->second.second;
    memory.live_.erase(found);
    std::free(block);
  }

  std::mutex lock_;
  std::unordered_map<void*, std::pair<c10::DeviceIndex, size_t>> live_;
  std::array<int64_t, kMostDevices> used_{};
  std::array<int64_t, kMostDevices> peak_{};
};

// What a CUDA build does in resize_bytes_cuda; FSDP2 frees and refills its parameters this way.
inline void resize_storage(const c10::Storage& storage, size_t num_bytes) {
  c10::impl::VirtualGuardImpl guard(kType);
  auto before = guard.exchangeDevice(storage.device());
  auto block = Memory::get().allocate(num_bytes);
  guard.setDevice(before);
  if (num_bytes > 0 && storage.nbytes() > 0)
    std::memcpy(block.get(), storage.data(), std::min(num_bytes, storage.nbytes()));
  auto* inside = storage.unsafeGetStorageImpl();
  inside->set_data_ptr_noswap(std::move(block));
  inside->set_nbytes(num_bytes);
}

}  // namespace fake
