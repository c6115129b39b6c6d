/* A libnvidia-ml.so.1 for nvidia-ml-py: the same devices as fakecuda.cpp, from the same variables.
 *
 * FAKEGPU_COUNT, FAKEGPU_NAME and FAKEGPU_CC ("A|A|B": one a device, the last for all that follow),
 * FAKEGPU_MEM_MB, FAKEGPU_DRIVER, FAKEGPU_DRIVER_CUDA (12020 for 12.2), and FAKENVML_INIT, the
 * error of nvmlInit (9: driver not loaded, 18: library and kernel module differ).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, MOST_DEVICES = 64 };

typedef struct { int index; } Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
} Pci;

static Device devices[MOST_DEVICES];

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

static const char* text_of(const char* name, const char* otherwise) {
  const char* text = getenv(name);
  return text && *text ? text : otherwise;
}

/* Field `index` of a list with "|" between, its last where there are fewer. */
static void field(const char* list, int index, char* out, unsigned length) {
  const char* bar;
  while (index-- > 0 && (bar = strchr(list, '|'))) list = bar + 1;
  snprintf(out, length, "%.*s", (int)strcspn(list, "|"), list);
}

int nvmlInit_v2(void) { return number("FAKENVML_INIT", SUCCESS); }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case 0: return "The operation was successful";
    case 9: return "Driver Not Loaded";
    case 12: return "Shared Library Not Found";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  snprintf(out, length, "%s", text_of("FAKEGPU_DRIVER", "580.95.05"));
  return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = number("FAKEGPU_DRIVER_CUDA", 13000);
  return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = number("FAKEGPU_COUNT", 8);
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  if (index >= (unsigned)number("FAKEGPU_COUNT", 8)) return INVALID_ARGUMENT;
  devices[index].index = (int)index;
  *device = &devices[index];
  return SUCCESS;
}

int nvmlDeviceGetName(Device* device, char* out, unsigned length) {
  field(text_of("FAKEGPU_NAME", "NVIDIA H100 80GB HBM3"), device->index, out, length);
  return SUCCESS;
}

int nvmlDeviceGetUUID(Device* device, char* out, unsigned length) {
  snprintf(out, length, "GPU-fa4e0000-0000-0000-0000-%012d", device->index);
  return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(Device* device, int* major, int* minor) {
  char text[16];
  field(text_of("FAKEGPU_CC", "9.0"), device->index, text, sizeof text);
  return sscanf(text, "%d.%d", major, minor) == 2 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetMemoryInfo(Device* device, Memory* memory) {
  memory->total = (unsigned long long)number("FAKEGPU_MEM_MB", 81559) << 20;
  memory->used = 1ull << 30;
  memory->free = memory->total - memory->used;
  return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(Device* device, Pci* pci) {
  memset(pci, 0, sizeof *pci);
  pci->bus = (unsigned)device->index + 1;
  snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "0000:%02X:00.0", pci->bus);
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
  return SUCCESS;
}
