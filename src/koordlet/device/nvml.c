/* nvml.c - finding NVIDIA's management library and its functions. */
#include "koordlet/device/nvml.h"

#include <dlfcn.h>

static const struct symbol {
    const char *name;
    size_t off;
    bool optional;
} symbols[] = {
#define SYMBOL(member, text)                       \
    {                                              \
        text, offsetof(struct nvml, member), false \
    }
    SYMBOL(init, "nvmlInit_v2"),
    SYMBOL(shutdown, "nvmlShutdown"),
    SYMBOL(driver_version, "nvmlSystemGetDriverVersion"),
    SYMBOL(device_count, "nvmlDeviceGetCount_v2"),
    SYMBOL(device_by_index, "nvmlDeviceGetHandleByIndex_v2"),
    SYMBOL(device_uuid, "nvmlDeviceGetUUID"),
    SYMBOL(device_minor, "nvmlDeviceGetMinorNumber"),
    SYMBOL(device_name, "nvmlDeviceGetName"),
    SYMBOL(device_memory, "nvmlDeviceGetMemoryInfo"),
    SYMBOL(device_pci, "nvmlDeviceGetPciInfo_v3"),
    SYMBOL(device_utilization, "nvmlDeviceGetProcessUtilization"),
    SYMBOL(event_set_create, "nvmlEventSetCreate"),
    SYMBOL(event_set_wait, "nvmlEventSetWait_v2"),
    SYMBOL(event_set_free, "nvmlEventSetFree"),
    SYMBOL(device_event_types, "nvmlDeviceGetSupportedEventTypes"),
    SYMBOL(device_register_events, "nvmlDeviceRegisterEvents"),
#undef SYMBOL
    { "nvmlErrorString", offsetof(struct nvml, error_string), true },
};

/* The newest form of it that there is; the first has shorter structs. */
static bool find_processes(struct nvml *n, nvml_find_fn find)
{
    static const char *const names[] = { "nvmlDeviceGetComputeRunningProcesses_v3",
                                         "nvmlDeviceGetComputeRunningProcesses_v2",
                                         "nvmlDeviceGetComputeRunningProcesses" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        void *f = find(n->handle, names[i]);
        if (f) {
            memcpy(&n->device_processes, &f, sizeof f);
            n->process_v1 = i == 2;
            return true;
        }
    }
    return false;
}

static int lacks(struct nvml *n, const char *name, struct kerr *err)
{
    nvml_unload(n);
    return kerr_set(err, -ENOSYS, "the library has no function %s", name);
}

int nvml_bind(void *handle, nvml_find_fn find, struct nvml *ret, struct kerr *err)
{
    struct nvml n = { .handle = handle };

    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *f = find(n.handle, symbols[i].name);
        if (!f && !symbols[i].optional)
            return lacks(&n, symbols[i].name, err);
        memcpy((char *)&n + symbols[i].off, &f, sizeof f);
    }
    if (!find_processes(&n, find))
        return lacks(&n, "nvmlDeviceGetComputeRunningProcesses", err);
    *ret = n;
    return 0;
}

int nvml_load(const char *library, struct nvml *ret, struct kerr *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return kerr_set(err, -ENOENT, "%s", dlerror());
    return nvml_bind(handle, dlsym, ret, err);
}

void nvml_unload(struct nvml *n)
{
    if (n->handle)
        dlclose(n->handle);
    *n = (struct nvml){ 0 };
}

int nvml_failed(const struct nvml *n, const char *what, int result, struct kerr *err)
{
    if (n->error_string)
        return kerr_set(err, -EIO, "%s: %s", what, n->error_string(result));
    return kerr_set(err, -EIO, "%s: error %d", what, result);
}
