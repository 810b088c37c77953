/* nvml.h - NVIDIA's management library, loaded while the program runs.
 *
 * Only what this agent calls, declared here by the library's binary interface and under its names
 * without the prefix: a build needs nothing of NVIDIA's. Calls may block for as long as the driver
 * likes, so they belong on a worker.
 */
#ifndef KOORD_KOORDLET_NVML_H
#define KOORD_KOORDLET_NVML_H
#include "base/base.h"

enum nvml_result { /* nvmlReturn_t; others are passed on as numbers */
                   NVML_SUCCESS = 0,
                   NVML_ERROR_NOT_SUPPORTED = 3,
                   NVML_ERROR_NOT_FOUND = 6,
                   NVML_ERROR_INSUFFICIENT_SIZE = 7,
                   NVML_ERROR_TIMEOUT = 10,
                   NVML_ERROR_GPU_IS_LOST = 15,
                   NVML_ERROR_RESET_REQUIRED = 16,
};
enum { NVML_TEXT_SIZE = 96, NVML_EVENT_XID = 8 };
#define NVML_VALUE_NOT_AVAILABLE (~0ULL)

typedef void *nvml_device;
typedef void *nvml_event_set;

struct nvml_memory { /* bytes */
    unsigned long long total, free, used;
};
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32]; /* "00000000:3B:00.0" */
};
struct nvml_process { /* of _v2 and _v3 */
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used_memory;
};
struct nvml_utilization {
    unsigned pid;
    unsigned long long time; /* microseconds */
    unsigned sm, memory, encoder, decoder;
};
struct nvml_event {
    nvml_device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_pci) == 68 && sizeof(struct nvml_process) == 24 &&
                   sizeof(struct nvml_process_v1) == 16 && sizeof(struct nvml_utilization) == 32 &&
                   sizeof(struct nvml_event) == 32,
               "the library writes structs of these sizes");

struct nvml {
    void *handle; /* NULL: not loaded */
    bool process_v1;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *text, unsigned size);
    int (*device_count)(unsigned *ret);
    int (*device_by_index)(unsigned index, nvml_device *ret);
    int (*device_uuid)(nvml_device d, char *text, unsigned size);
    int (*device_minor)(nvml_device d, unsigned *ret);
    int (*device_name)(nvml_device d, char *text, unsigned size);
    int (*device_memory)(nvml_device d, struct nvml_memory *ret);
    int (*device_pci)(nvml_device d, struct nvml_pci *ret);
    /* items: struct nvml_process, or its first form with process_v1. *n: room, then how many. */
    int (*device_processes)(nvml_device d, unsigned *n, void *items);
    int (*device_utilization)(nvml_device d, struct nvml_utilization *items, unsigned *n,
                              unsigned long long after);
    int (*event_set_create)(nvml_event_set *ret);
    int (*event_set_wait)(nvml_event_set s, struct nvml_event *ret, unsigned timeout_ms);
    int (*event_set_free)(nvml_event_set s);
    int (*device_event_types)(nvml_device d, unsigned long long *ret);
    int (*device_register_events)(nvml_device d, unsigned long long types, nvml_event_set s);
    const char *(*error_string)(int result); /* may be NULL */
};

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* Finds the library and its functions; nothing is initialised. -ENOENT: the library is not there,
 * -ENOSYS: it lacks a function. */
int nvml_load(const char *library, struct nvml *ret, struct kerr *err);
/* The second half of it, apart so that a test can hide functions. Takes the handle over; find is
 * dlsym(). */
typedef void *(*nvml_find_fn)(void *handle, const char *name);
int nvml_bind(void *handle, nvml_find_fn find, struct nvml *ret, struct kerr *err);
void nvml_unload(struct nvml *n);
/* "nvmlInit_v2: Driver Not Loaded", -EIO. */
int nvml_failed(const struct nvml *n, const char *what, int result, struct kerr *err);
#endif
