/* gpu_ask.c - one call to the driver: GPUs, critical errors, processes. Runs on a worker. */
#include "koordlet/device/gpu_ask.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    EVENTS_A_CALL = 64,
    FIRST_ROOM = 64,
    /* Utilisation newer than this is asked for, in microseconds since 1970: all there is. */
    UTILIZATION_AFTER = 1024,
};

/* ---- who is asked ---------------------------------------------------------------------------- */

/* Of the process, as the library is. */
static _Atomic(const char *) under_way;

#define CALL(what, call) (atomic_store(&under_way, (what)), (call))

const char *gpu_ask_under_way(void)
{
    return atomic_load(&under_way);
}

/* Of the last call. The first failure is the one that tells. */
static void failed(struct gpu_ask *a, int result)
{
    if (a->err.code == 0)
        nvml_failed(&a->lib, gpu_ask_under_way(), result, &a->err);
}

static void set_fault(struct gpu_card *c, const char *code, const char *message)
{
    snprintf(c->info.fault.code, sizeof c->info.fault.code, "%s", code);
    snprintf(c->info.fault.message, sizeof c->info.fault.message, "%s", message);
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool no_card(struct gpu_ask *a, int result)
{
    failed(a, result);
    return false;
}

static bool read_card(struct gpu_ask *a, unsigned index, struct gpu_card *c)
{
    const struct nvml *n = &a->lib;
    struct nvml_memory memory = { 0 };
    struct nvml_pci pci = { 0 };
    unsigned minor = 0;
    int r;

    if ((r = CALL("nvmlDeviceGetHandleByIndex_v2", n->device_by_index(index, &c->handle))))
        return no_card(a, r);
    if ((r = CALL("nvmlDeviceGetUUID",
                  n->device_uuid(c->handle, c->info.uuid, sizeof c->info.uuid))))
        return no_card(a, r);
    if ((r = CALL("nvmlDeviceGetMinorNumber", n->device_minor(c->handle, &minor))))
        return no_card(a, r);
    if ((r = CALL("nvmlDeviceGetMemoryInfo", n->device_memory(c->handle, &memory))))
        return no_card(a, r);
    c->info.minor = (int32_t)MIN(minor, (unsigned)INT32_MAX);
    c->info.memory_total = (int64_t)MIN(memory.total, (unsigned long long)INT64_MAX);
    c->info.node = -1;
    if (CALL("nvmlDeviceGetName", n->device_name(c->handle, c->info.name, sizeof c->info.name)))
        c->info.name[0] = '\0';
    if (CALL("nvmlDeviceGetPciInfo_v3", n->device_pci(c->handle, &pci)) ||
        pci_address_parse(pci.bus_id, c->info.bus, NULL) < 0)
        c->info.bus[0] = '\0';
    return true;
}

static void watch_events(struct gpu_ask *a, struct gpu_card *c)
{
    unsigned long long types = 0;
    int r = a->events ? CALL("nvmlDeviceGetSupportedEventTypes",
                             a->lib.device_event_types(c->handle, &types))
                      : NVML_ERROR_NOT_SUPPORTED;

    if (r == 0)
        r = types & NVML_EVENT_XID
                ? CALL("nvmlDeviceRegisterEvents",
                       a->lib.device_register_events(c->handle, NVML_EVENT_XID, a->events))
                : NVML_ERROR_NOT_SUPPORTED;
    if (r)
        set_fault(c, "DeviceHealthCheckNotSupported", "device does not support health checking");
}

static bool start(struct gpu_ask *a)
{
    unsigned n = 0;

    int r = CALL("nvmlInit_v2", a->lib.init());
    if (r) {
        failed(a, r);
        return false;
    }
    if ((r = CALL("nvmlDeviceGetCount_v2", a->lib.device_count(&n)))) {
        failed(a, r);
        CALL("nvmlShutdown", a->lib.shutdown());
        return false;
    }
    if (CALL("nvmlSystemGetDriverVersion", a->lib.driver_version(a->driver, sizeof a->driver)))
        a->driver[0] = '\0';
    if (CALL("nvmlEventSetCreate", a->lib.event_set_create(&a->events)))
        a->events = NULL;
    n = MIN(n, (unsigned)GPUS_MAX);
    a->cards = xnewn0(MAX(n, 1U), struct gpu_card);
    for (unsigned i = 0; i < n; i++) {
        struct gpu_card *c = &a->cards[a->ncards];
        *c = (struct gpu_card){ 0 };
        if (!read_card(a, i, c))
            continue;
        watch_events(a, c);
        a->ncards++;
    }
    return true;
}

/* ---- critical errors ------------------------------------------------------------------------- */

/* Errors of the application, not of the card. */
static bool is_ignored(unsigned long long xid)
{
    static const unsigned short ignored[] = { 13, 31, 43, 45, 68, 109 };

    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (ignored[i] == xid)
            return true;
    return false;
}

/* Whose event it is; NULL: nobody can tell. */
static struct gpu_card *card_of(struct gpu_ask *a, nvml_device d)
{
    char uuid[NVML_TEXT_SIZE] = "";

    for (uint32_t i = 0; i < a->ncards; i++)
        if (a->cards[i].handle == d)
            return &a->cards[i];
    if (!d || CALL("nvmlDeviceGetUUID", a->lib.device_uuid(d, uuid, sizeof uuid)))
        return NULL;
    for (uint32_t i = 0; i < a->ncards; i++)
        if (streq(a->cards[i].info.uuid, uuid))
            return &a->cards[i];
    return NULL;
}

static void take_event(struct gpu_ask *a, const struct nvml_event *ev)
{
    char code[40], message[96];

    if (ev->type != NVML_EVENT_XID || is_ignored(ev->data))
        return;
    snprintf(code, sizeof code, "Xid%llu", ev->data);
    snprintf(message, sizeof message, "Xid error detected on device, error code: %llu", ev->data);
    struct gpu_card *c = card_of(a, ev->device);
    for (uint32_t i = 0; i < a->ncards; i++)
        if (!c || c == &a->cards[i])
            set_fault(&a->cards[i], code, message);
}

static void take_events(struct gpu_ask *a)
{
    for (int i = 0; a->events && i < EVENTS_A_CALL; i++) {
        struct nvml_event ev = { 0 };
        int r = CALL("nvmlEventSetWait_v2", a->lib.event_set_wait(a->events, &ev, 0));
        if (r == NVML_ERROR_TIMEOUT)
            return;
        if (r) {
            failed(a, r);
            return;
        }
        take_event(a, &ev);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

/* The first form has shorter structs, in the same room. */
static void widen(struct nvml_process *items, unsigned n)
{
    for (unsigned i = n; i-- > 0;) {
        struct nvml_process_v1 v1;
        memcpy(&v1, (const char *)items + i * sizeof v1, sizeof v1);
        items[i] = (struct nvml_process){ .pid = v1.pid, .used_memory = v1.used_memory };
    }
}

/* How much room the next try gets: processes may be born between two calls. */
static unsigned more_room(size_t cap, unsigned said)
{
    unsigned want = MAX(said + said / 4 + 8, (unsigned)FIRST_ROOM);
    return MAX(MIN(want, (unsigned)GPU_PROCESSES_MAX),
               (unsigned)MIN(cap, (size_t)GPU_PROCESSES_MAX));
}

static int read_running(struct gpu_ask *a, const struct gpu_card *c)
{
    int r = NVML_ERROR_INSUFFICIENT_SIZE;
    unsigned n = 0;

    for (int tries = 0; r == NVML_ERROR_INSUFFICIENT_SIZE && tries < 4; tries++) {
        vec_clear(&a->running);
        vec_reserve(&a->running, more_room(a->running.cap, n));
        n = (unsigned)a->running.cap;
        r = CALL("nvmlDeviceGetComputeRunningProcesses",
                 a->lib.device_processes(c->handle, &n, a->running.items));
    }
    if (r)
        return r;
    a->running.n = MIN((size_t)n, a->running.cap);
    if (a->lib.process_v1)
        widen(a->running.items, (unsigned)a->running.n);
    return 0;
}

static int read_used(struct gpu_ask *a, const struct gpu_card *c)
{
    int r = NVML_ERROR_INSUFFICIENT_SIZE;
    unsigned n = 0;

    for (int tries = 0; r == NVML_ERROR_INSUFFICIENT_SIZE && tries < 4; tries++) {
        vec_clear(&a->used);
        vec_reserve(&a->used, more_room(a->used.cap, n));
        n = (unsigned)a->used.cap;
        r = CALL("nvmlDeviceGetProcessUtilization",
                 a->lib.device_utilization(c->handle, a->used.items, &n, UTILIZATION_AFTER));
    }
    if (r == NVML_ERROR_NOT_FOUND) /* nothing ran */
        n = 0;
    else if (r)
        return r;
    a->used.n = MIN((size_t)n, a->used.cap);
    return 0;
}

/* Of several samples of a process the newest counts. */
static const struct nvml_utilization *newest_of(const struct gpu_ask *a, unsigned pid)
{
    const struct nvml_utilization *newest = NULL;

    vec_foreach(&a->used, i) {
        const struct nvml_utilization *u = &a->used.items[i];
        if (u->pid == pid && (!newest || u->time > newest->time))
            newest = u;
    }
    return newest;
}

static void add_process(struct gpu_ask *a, const struct nvml_process *p, uint32_t gpu, size_t first)
{
    const struct nvml_utilization *u = newest_of(a, p->pid);
    uint64_t memory = p->used_memory == NVML_VALUE_NOT_AVAILABLE ? 0 : p->used_memory;

    if (!u)
        return;
    for (size_t i = first; i < a->processes.n; i++)
        if (a->processes.items[i].pid == p->pid) { /* once for each instance of the GPU */
            a->processes.items[i].memory += memory;
            return;
        }
    struct gpu_process one = { p->pid, gpu, MIN(u->sm, 100U), memory };
    vec_push(&a->processes, one);
}

static int read_processes(struct gpu_ask *a, uint32_t gpu)
{
    size_t first = a->processes.n;

    int r = read_running(a, &a->cards[gpu]);
    if (r) {
        failed(a, r);
        return r;
    }
    if (a->running.n == 0)
        return 0;
    if ((r = read_used(a, &a->cards[gpu]))) {
        failed(a, r);
        return r;
    }
    vec_foreach(&a->running, i)
        add_process(a, &a->running.items[i], gpu, first);
    return 0;
}

static int by_pid(const void *x, const void *y)
{
    const struct gpu_process *a = x, *b = y;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->gpu < b->gpu ? -1 : a->gpu > b->gpu;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static const char lost[] = "GPULost";

/* Unlike a critical error, this is over once the device answers again: it was reset. */
static void judge(struct gpu_card *c, int r)
{
    bool is_lost = r == NVML_ERROR_GPU_IS_LOST || r == NVML_ERROR_RESET_REQUIRED;

    if (is_lost && !c->info.fault.code[0])
        set_fault(c, lost, "the driver has lost the device");
    else if (r == 0 && streq(c->info.fault.code, lost))
        c->info.fault = (struct gpu_fault){ 0 };
    c->measured = r == 0;
}

static void ask_all(struct gpu_ask *a)
{
    a->err = (struct kerr){ 0 };
    vec_clear(&a->processes);
    if (!a->up && !(a->up = start(a)))
        return;
    take_events(a);
    for (uint32_t i = 0; i < a->ncards; i++)
        judge(&a->cards[i], read_processes(a, i));
    if (a->processes.n)
        qsort(a->processes.items, a->processes.n, sizeof *a->processes.items, by_pid);
}

void gpu_ask_run(struct gpu_ask *a)
{
    ask_all(a);
    atomic_store(&under_way, NULL);
}

void gpu_ask_fini(struct gpu_ask *a)
{
    if (a->up) {
        if (a->events)
            CALL("nvmlEventSetFree", a->lib.event_set_free(a->events));
        CALL("nvmlShutdown", a->lib.shutdown());
    }
    nvml_unload(&a->lib);
    atomic_store(&under_way, NULL);
    free(a->cards);
    vec_fini(&a->processes);
    vec_fini(&a->running);
    vec_fini(&a->used);
}
