// The fault hook: one fault of an operation and one of a collective, for the whole process.
//
// FAKEGPU_FAULT="OP|DEVICE|KIND|SKIP" and FAKEGPU_COLLECTIVE_FAULT="OP|KIND|SKIP"; OP "*" and an
// empty DEVICE mean any, and the first SKIP matches are let through. FAKEGPU_FAULT_RANK="1" keeps
// both to the process whose RANK is 1.
//
// KIND:  raise MSG        a RuntimeError (of a collective: a DistBackendError)
//        cuda CODE MSG    an AcceleratorError at once
//        async CODE MSG   the same, when the device is next waited for
//        oom abort kill stop   out of memory, SIGABRT, SIGKILL, SIGSTOP
//        sleep MS         be late
//        flip nan         change the first number of the first floating-point result
//        corrupt          of a collective: change the first number that this rank hands in
//        garble           of a collective: change the first number that this rank gets
#pragma once
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "state.h"

namespace fake {

struct Fault {
  std::string op;
  int device = -1;
  std::string kind;
  int skip = 0;
  std::atomic<int64_t> hits{0};
  std::mutex lock;

  void set(const std::string& new_op, int new_device, const std::string& new_kind, int new_skip) {
    std::lock_guard<std::mutex> hold(lock);
    op = new_op;
    device = new_device;
    kind = new_kind;
    skip = new_skip;
    hits = 0;
  }

  // The kind, where this call is to have the fault; else empty.
  std::string kind_for(const std::string& called, int on_device) {
    std::lock_guard<std::mutex> hold(lock);
    bool meant = !kind.empty() && (op == "*" || op == called) && (device < 0 || device == on_device);
    if (!meant) return "";
    if (skip > 0) {
      --skip;
      return "";
    }
    ++hits;
    return kind;
  }
};

inline Fault operation_fault;
inline Fault collective_fault;

// What follows `word` and a space; has_word says whether the kind begins with it.
inline bool has_word(const std::string& kind, const char* word) {
  return kind.rfind(std::string(word) + " ", 0) == 0;
}
inline std::string after_word(const std::string& kind) { return kind.substr(kind.find(' ') + 1); }

// The kinds that need no tensor and are the same for operations and collectives.
inline void suffer(const std::string& kind) {
  if (kind == "abort") std::abort();
  if (kind == "kill") std::raise(SIGKILL);
  if (kind == "stop") std::raise(SIGSTOP);
  if (has_word(kind, "sleep"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(after_word(kind).c_str())));
}

// Called before every operation; returns the kind where the result is to be changed.
inline std::string inject(const std::string& called, c10::DeviceIndex on_device) {
  if (inside_operation > 0) return "";
  std::string kind = operation_fault.kind_for(called, on_device);
  if (has_word(kind, "async") && on_device >= 0) {
    std::lock_guard<std::mutex> hold(late_error_lock);
    late_error[on_device] = after_word(kind);
    return "";
  }
  if (has_word(kind, "raise")) TORCH_CHECK(false, after_word(kind));
  if (has_word(kind, "cuda")) throw_device_error(after_word(kind));
  if (kind == "oom")
    TORCH_CHECK_WITH(OutOfMemoryError, false,
                     "CUDA out of memory. Tried to allocate 2.00 GiB. GPU ", int(on_device),
                     " has a total capacity of 79.11 GiB of which 1.19 GiB is free.");
  suffer(kind);
  return kind;
}

// Changes the first number: far enough that no bound of rounding explains it.
inline void spoil(const at::Tensor& on_cpu, bool with_nan) {
  auto first = on_cpu.flatten().slice(0, 0, 1);
  if (with_nan)
    first.fill_(NAN);
  else
    first.add_(first.abs() + 1);
}

inline std::vector<std::string> split(const char* text, size_t fields) {
  std::vector<std::string> found(1);
  for (; *text != '\0'; ++text)
    if (*text == '|')
      found.emplace_back();
    else
      found.back() += *text;
  found.resize(fields);
  return found;
}

inline void read_faults() {
  const char* only_rank = std::getenv("FAKEGPU_FAULT_RANK");
  const char* rank = std::getenv("RANK");
  if (only_rank != nullptr && (rank == nullptr || std::strcmp(only_rank, rank) != 0)) return;
  if (const char* text = std::getenv("FAKEGPU_FAULT")) {
    auto f = split(text, 4);
    operation_fault.set(f[0], f[1].empty() ? -1 : std::atoi(f[1].c_str()), f[2],
                        std::atoi(f[3].c_str()));
  }
  if (const char* text = std::getenv("FAKEGPU_COLLECTIVE_FAULT")) {
    auto f = split(text, 3);
    collective_fault.set(f[0], -1, f[1], std::atoi(f[2].c_str()));
  }
}

}  // namespace fake
