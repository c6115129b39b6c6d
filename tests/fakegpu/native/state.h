// What a fake device is: an index, a stream number, and what has happened since it was last waited
// for. All of it is memory of this process; devices exist in every process anew.
#pragma once
#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>

namespace fake {

constexpr c10::DeviceType kType = c10::DeviceType::CUDA;
constexpr c10::DispatchKey kKey = c10::DispatchKey::CUDA;
constexpr int kMostDevices = 64;

inline int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

// How many there are may be changed once, before the first use: CUDA_VISIBLE_DEVICES hides some.
inline int device_count = number_from("FAKEGPU_COUNT", 8);
inline std::atomic<int64_t> capacity_bytes{
    static_cast<int64_t>(number_from("FAKEGPU_MEM_MB", 81559)) << 20};
inline thread_local c10::DeviceIndex current = 0;
inline thread_local std::array<int64_t, kMostDevices> current_stream{};

inline void check_index(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < device_count, "CUDA error: invalid device ordinal");
}

inline double now_ms() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

// Operations since the last synchronisation: a clock that is read while this is not 0 is wrong.
inline std::array<std::atomic<int64_t>, kMostDevices> pending{};

// "CODE MESSAGE" of an error that this device will report when it is next waited for. It stays, as
// a sticky CUDA error does.
inline std::array<std::string, kMostDevices> late_error{};
inline std::mutex late_error_lock;

[[noreturn]] inline void throw_device_error(const std::string& code_and_message) {
  auto space = code_and_message.find(' ');
  throw c10::AcceleratorError(
      c10::SourceLocation{__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
      std::atoi(code_and_message.c_str()), code_and_message.substr(space + 1));
}

// Above 0 while an operation runs on the CPU in the device's stead: what it calls in turn is
// neither counted nor given a fault.
inline thread_local int inside_operation = 0;

struct InsideOperation {
  InsideOperation() { ++inside_operation; }
  ~InsideOperation() { --inside_operation; }
};

inline void synchronize(c10::DeviceIndex index) {
  if (inside_operation > 0) return;
  pending[index] = 0;
  std::string error;
  {
    std::lock_guard<std::mutex> hold(late_error_lock);
    error = late_error[index];
  }
  if (!error.empty()) throw_device_error(error);
}

}  // namespace fake
