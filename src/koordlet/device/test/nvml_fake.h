/* nvml_fake.h - a stand-in for NVIDIA's management library: what it answers, set by a test. */
#ifndef KOORD_KOORDLET_DEVICE_TEST_NVML_FAKE_H
#define KOORD_KOORDLET_DEVICE_TEST_NVML_FAKE_H
#include <pthread.h>

#include "koordlet/device/nvml.h"

enum { FAKE_GPUS = 4, FAKE_PROCESSES = 256, FAKE_EVENTS = 8 };

struct fake_gpu {
    char uuid[NVML_TEXT_SIZE], name[NVML_TEXT_SIZE], bus[32];
    unsigned minor;
    unsigned long long total;
    unsigned nrunning, nused;
    struct nvml_process running[FAKE_PROCESSES];
    struct nvml_utilization used[FAKE_PROCESSES];
    int handle_result, running_result, used_result; /* what calls answer instead, unless 0 */
    bool no_events;
};
struct fake_nvml {
    int init_result;
    unsigned ngpus;
    struct fake_gpu gpus[FAKE_GPUS];
    unsigned nevents;
    struct nvml_event events[FAKE_EVENTS];
    unsigned inits, shutdowns, asked; /* asked: for processes */
    bool hang;                        /* whoever asks for processes waits until it is over */
    pthread_mutex_t lock;             /* of hang and asked */
    pthread_cond_t over;
};
/* The state, found by this name in the library. */
typedef struct fake_nvml *(*fake_nvml_fn)(void);
#define FAKE_NVML_STATE "fake_nvml_state"
#endif
