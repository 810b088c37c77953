/* nvml_fake.c - a stand-in for NVIDIA's management library, under its names. */
#include "koordlet/device/test/nvml_fake.h"

#include <stdio.h>

static struct fake_nvml state = { .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .over = PTHREAD_COND_INITIALIZER };

struct fake_nvml *fake_nvml_state(void);
int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret);
int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size);
int nvmlDeviceGetMinorNumber(nvml_device d, unsigned *ret);
int nvmlDeviceGetName(nvml_device d, char *text, unsigned size);
int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *ret);
int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *ret);
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *n, struct nvml_process *items);
int nvmlDeviceGetComputeRunningProcesses_v2(nvml_device d, unsigned *n, struct nvml_process *items);
int nvmlDeviceGetComputeRunningProcesses(nvml_device d, unsigned *n, struct nvml_process_v1 *items);
int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_utilization *items, unsigned *n,
                                    unsigned long long after);
int nvmlEventSetCreate(nvml_event_set *ret);
int nvmlEventSetFree(nvml_event_set s);
int nvmlEventSetWait_v2(nvml_event_set s, struct nvml_event *ret, unsigned timeout_ms);
int nvmlDeviceGetSupportedEventTypes(nvml_device d, unsigned long long *ret);
int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set s);

struct fake_nvml *fake_nvml_state(void)
{
    return &state;
}

int nvmlInit_v2(void)
{
    state.inits += state.init_result == 0;
    return state.init_result;
}

int nvmlShutdown(void)
{
    state.shutdowns++;
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == 9 ? "Driver Not Loaded" : result == 15 ? "GPU is lost" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "535.104.05");
    return 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = state.ngpus;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret)
{
    *ret = &state.gpus[index];
    return state.gpus[index].handle_result;
}

int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size)
{
    const struct fake_gpu *g = d;
    snprintf(text, size, "%s", g->uuid);
    return 0;
}

int nvmlDeviceGetMinorNumber(nvml_device d, unsigned *ret)
{
    const struct fake_gpu *g = d;
    *ret = g->minor;
    return 0;
}

int nvmlDeviceGetName(nvml_device d, char *text, unsigned size)
{
    const struct fake_gpu *g = d;
    snprintf(text, size, "%s", g->name);
    return 0;
}

int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *ret)
{
    const struct fake_gpu *g = d;
    *ret = (struct nvml_memory){ .total = g->total };
    return 0;
}

int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *ret)
{
    const struct fake_gpu *g = d;
    memset(ret, 0, sizeof *ret);
    memcpy(ret->bus_id, g->bus, sizeof ret->bus_id);
    return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A result to end with, or -1: *n of them are to be written. */
static int begin(int result, unsigned there, unsigned *n)
{
    unsigned room = *n;

    if (result)
        return result;
    *n = there;
    return room < there ? NVML_ERROR_INSUFFICIENT_SIZE : -1;
}

static int begin_running(const struct fake_gpu *g, unsigned *n)
{
    pthread_mutex_lock(&state.lock);
    state.asked++;
    while (state.hang)
        pthread_cond_wait(&state.over, &state.lock);
    pthread_mutex_unlock(&state.lock);
    return begin(g->running_result, g->nrunning, n);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *n, struct nvml_process *items)
{
    const struct fake_gpu *g = d;
    int r = begin_running(g, n);

    if (r >= 0)
        return r;
    memcpy(items, g->running, *n * sizeof *items);
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(nvml_device d, unsigned *n, struct nvml_process *items)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(d, n, items);
}

int nvmlDeviceGetComputeRunningProcesses(nvml_device d, unsigned *n, struct nvml_process_v1 *items)
{
    const struct fake_gpu *g = d;
    int r = begin_running(g, n);

    if (r >= 0)
        return r;
    for (unsigned i = 0; i < *n; i++)
        items[i] = (struct nvml_process_v1){ g->running[i].pid, g->running[i].used_memory };
    return 0;
}

int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_utilization *items, unsigned *n,
                                    unsigned long long after)
{
    const struct fake_gpu *g = d;
    int r = begin(g->used_result, g->nused, n);

    (void)after;
    if (r >= 0)
        return r;
    if (*n == 0)
        return NVML_ERROR_NOT_FOUND;
    memcpy(items, g->used, *n * sizeof *items);
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

int nvmlEventSetCreate(nvml_event_set *ret)
{
    *ret = &state;
    return 0;
}

int nvmlEventSetFree(nvml_event_set s)
{
    (void)s;
    return 0;
}

int nvmlEventSetWait_v2(nvml_event_set s, struct nvml_event *ret, unsigned timeout_ms)
{
    (void)s, (void)timeout_ms;
    if (state.nevents == 0)
        return NVML_ERROR_TIMEOUT;
    *ret = state.events[0];
    memmove(state.events, state.events + 1, --state.nevents * sizeof *state.events);
    return 0;
}

int nvmlDeviceGetSupportedEventTypes(nvml_device d, unsigned long long *ret)
{
    const struct fake_gpu *g = d;
    *ret = g->no_events ? 0 : NVML_EVENT_XID | 1;
    return 0;
}

int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set s)
{
    (void)d, (void)s;
    return types == NVML_EVENT_XID ? 0 : NVML_ERROR_NOT_SUPPORTED;
}
