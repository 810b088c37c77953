/* gpu.h - NVIDIA's GPUs: what they are, how well they are, who uses them.
 *
 * Every round of the collectors a worker asks the driver once, and the round takes what the newest
 * finished call brought. One call is under way at most: a driver that does not come back costs one
 * thread of the pool, no more, and after GPU_STUCK_AFTER its devices count as not healthy. The loop
 * waits for it when it is freed, so a program that has GPUs sets its end a deadline.
 */
#ifndef KOORD_KOORDLET_GPU_H
#define KOORD_KOORDLET_GPU_H
#include "koordlet/collect/device.h"
#include "koordlet/device/nvml.h"
#include "koordlet/facts/pci.h"

#define GPU_STUCK_AFTER (30 * NSEC_PER_SEC)
#define GPU_RETRY       (60 * NSEC_PER_SEC) /* without a driver, until it is asked again */
enum { GPUS_MAX = 64, GPU_PROCESSES_MAX = 4096 };

struct gpu_fault { /* code "": none */
    char code[40], message[96];
};
struct gpu_info {
    char uuid[NVML_TEXT_SIZE], name[NVML_TEXT_SIZE];
    int32_t minor;
    int64_t memory_total;       /* bytes */
    char bus[PCI_ADDRESS_SIZE]; /* "" when it is not known */
    char root[16];              /* PCIe root: "pci0000:3a"; "" */
    int32_t node;               /* NUMA node; -1: not known */
    struct gpu_fault fault;
};
struct gpu_infos {
    uint32_t n;
    const struct gpu_info *items; /* in NVML's order */
    const char *driver;           /* version; "" */
    bool partial;                 /* the driver never answered: there may be some */
};

/* The function of the driver's that has been called and has not returned; NULL: none. For messages,
 * on any thread. */
const char *gpu_ask_under_way(void);

extern const struct device_source device_source_gpu; /* infos: struct gpu_infos */
#endif
