/* gpu_ask.h - asking the driver of NVIDIA's GPUs, on a worker.
 *
 * All of struct gpu_ask belongs to the worker while a call is under way, and to the loop thread
 * otherwise.
 */
#ifndef KOORD_KOORDLET_GPU_ASK_H
#define KOORD_KOORDLET_GPU_ASK_H
#include "base/vec.h"
#include "koordlet/device/gpu.h"

struct gpu_process {       /* on one GPU */
    uint32_t pid, gpu, sm; /* sm: percent */
    uint64_t memory;       /* bytes */
};
struct gpu_processes vec_of(struct gpu_process); /* by (pid, gpu) */

struct gpu_card {
    nvml_device handle;
    struct gpu_info info; /* bus as the library writes it; node and root are not filled */
    bool measured;        /* by the last call */
};
struct gpu_ask {
    struct nvml lib;
    bool up; /* initialised; cards are known */
    nvml_event_set events;
    char driver[NVML_TEXT_SIZE];
    uint32_t ncards;
    struct gpu_card *cards;
    struct gpu_processes processes; /* of the last call */
    struct vec_of(struct nvml_process) running;
    struct vec_of(struct nvml_utilization) used;
    struct kerr err; /* the first failure of the last call; code 0: none */
};

/* One call: starts the library when it is not up, then looks at events and processes. */
void gpu_ask_run(struct gpu_ask *a);
/* Not while a call is under way. The driver is asked once more, and may take its time. */
void gpu_ask_fini(struct gpu_ask *a);
#endif
