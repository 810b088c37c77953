/* gpu.c - the source of GPUs: calls on the worker, rounds of the node, what reporters are told. */
#include "koordlet/device/gpu.h"

#include <stdio.h>

#include "base/klog.h"
#include "koordlet/device/gpu_int.h"
#include "loop/loop.h"

struct job { /* outlives its owner when a call is under way */
    struct gpu_ask ask;
    struct gpu_self *owner; /* NULL: gone */
};
struct gpu_self {
    struct loop *loop;
    const struct host *host;
    struct job *job;
    bool under_way, finished, stuck;
    nsec_t asked_at, next_try; /* monotonic */
    char absent[256];          /* why there is no driver, as it was logged; "": there is */
    bool known;
    struct gpu_infos out;
    struct gpu_now now;
    bool *measured;            /* by GPU, in the newest call */
    struct gpu_series *series; /* by GPU */
    struct gpu_pods pods;
};

/* ---- samples --------------------------------------------------------------------------------- */

static void put_one(struct series **s, struct metriccache *mc, enum metric_kind k,
                    const char *owner, const struct gpu_info *g, int64_t ms, double value)
{
    if (!*s) {
        char minor[16];
        snprintf(minor, sizeof minor, "%d", g->minor);
        const char *const labels[] = { owner, minor, g->uuid };
        *s = metriccache_open(mc, k, owner ? labels : labels + 1);
    }
    /* A round's time is new for the series, so only a clock that was set back is refused, and that
     * is said elsewhere. */
    (void)series_append(*s, ms, value, NULL);
}

void gpu_series_put(struct gpu_series *s, struct metriccache *mc, const enum metric_kind kinds[2],
                    const char *owner, const struct gpu_info *g, int64_t ms, double core,
                    double memory)
{
    put_one(&s->core, mc, kinds[0], owner, g, ms, core);
    put_one(&s->memory, mc, kinds[1], owner, g, ms, memory);
}

void gpu_series_close(struct gpu_series *s)
{
    s->core = series_close(s->core);
    s->memory = series_close(s->memory);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void on_worker(void *arg)
{
    struct job *j = arg;
    gpu_ask_run(&j->ask);
}

static void job_free(struct job *j)
{
    gpu_ask_fini(&j->ask);
    free(j);
}

/* Where on the machine it is: only the loop thread may read through the host. */
static void locate(const struct gpu_self *s, struct gpu_info *g)
{
    struct pci_device d;

    if (!g->bus[0] || pci_device_read(s->host, g->bus, &d, NULL) < 0)
        return;
    g->node = d.node;
    snprintf(g->root, sizeof g->root, "%s", d.root);
}

/* The first call that found the driver. */
static void meet(struct gpu_self *s)
{
    const struct gpu_ask *a = &s->job->ask;

    s->now.n = a->ncards;
    s->now.infos = xnewn0(MAX(s->now.n, 1U), struct gpu_info);
    s->measured = xnewn0(MAX(s->now.n, 1U), bool);
    s->series = xnewn0(MAX(s->now.n, 1U), struct gpu_series);
    for (uint32_t i = 0; i < s->now.n; i++) {
        s->now.infos[i] = a->cards[i].info;
        locate(s, &s->now.infos[i]);
    }
    s->out = (struct gpu_infos){ s->now.n, s->now.infos, a->driver, false };
    KLOG_I(0, "Found the GPUs of this node", KV_I("gpus", s->now.n), KV_S("driver", a->driver));
}

static void on_done(struct loop *l, void *arg)
{
    struct job *j = arg;
    struct gpu_self *s = j->owner;

    if (!s) {
        job_free(j);
        return;
    }
    s->under_way = false;
    s->finished = s->known = true;
    if (s->stuck)
        KLOG_I(0, "The GPU driver answers again", KV_D("after", loop_mono(l) - s->asked_at));
    s->stuck = s->out.partial = false;
    if (!j->ask.up)
        return;
    if (!s->now.infos)
        meet(s);
    for (uint32_t i = 0; i < s->now.n; i++)
        s->now.infos[i].fault = j->ask.cards[i].info.fault;
}

static void ask(struct gpu_self *s)
{
    nsec_t now = loop_mono(s->loop);

    if (!s->job->ask.up && now < s->next_try)
        return;
    s->next_try = now + GPU_RETRY;
    s->asked_at = now;
    s->under_way = true;
    loop_work(s->loop, on_worker, on_done, s->job);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int wait_on(struct gpu_self *s, struct kerr *err)
{
    if (loop_mono(s->loop) - s->asked_at < GPU_STUCK_AFTER)
        return kerr_set(err, -EAGAIN, "the GPU driver has not answered yet");
    if (!s->stuck) {
        s->out.partial = !s->known;
        s->stuck = s->known = true;
        for (uint32_t i = 0; i < s->now.n; i++)
            if (!s->now.infos[i].fault.code[0])
                s->now.infos[i].fault =
                    (struct gpu_fault){ "DriverNotResponding", "the GPU driver does not answer" };
    }
    return kerr_set(err, -ETIMEDOUT, "the GPU driver does not answer: %s",
                    str_or(gpu_ask_under_way(), "not called yet"));
}

static void put_node(struct gpu_self *s, struct metriccache *mc, int64_t ms)
{
    static const enum metric_kind kinds[2] = { M_NODE_GPU_CORE, M_NODE_GPU_MEMORY };
    double core[GPUS_MAX] = { 0 }, memory[GPUS_MAX] = { 0 };

    vec_foreach(&s->now.processes, i) {
        const struct gpu_process *p = &s->now.processes.items[i];
        core[p->gpu] += p->sm;
        memory[p->gpu] += (double)p->memory;
    }
    for (uint32_t i = 0; i < s->now.n; i++)
        if (s->measured[i])
            gpu_series_put(&s->series[i], mc, kinds, NULL, &s->now.infos[i], ms, core[i],
                           memory[i]);
}

static uint64_t generation_of(const struct gpu_processes *p)
{
    uint64_t h = 0;

    vec_foreach(p, i) {
        uint64_t parts[] = { h, p->items[i].pid };
        h = hash_stable(parts, sizeof parts);
    }
    return h;
}

static int absent(struct gpu_self *s, const struct kerr *why, struct kerr *err)
{
    if (!streq(s->absent, why->text)) {
        snprintf(s->absent, sizeof s->absent, "%s", why->text);
        KLOG_W("No GPU found on this node", KV_S("reason", why->text));
    }
    return kerr_set(err, -EAGAIN, "%s", why->text);
}

static int take_call(struct gpu_self *s, struct collect_env *e, int64_t ms, struct kerr *err)
{
    struct gpu_ask *a = &s->job->ask;
    struct gpu_processes before = s->now.processes;

    s->finished = false;
    if (!a->up)
        return absent(s, &a->err, err);
    s->now.processes = a->processes;
    a->processes = before;
    s->now.generation = generation_of(&s->now.processes);
    s->now.ms = ms;
    for (uint32_t i = 0; i < s->now.n; i++)
        s->measured[i] = a->cards[i].measured;
    put_node(s, e->mc, ms);
    return a->err.code ? kerr_set(err, a->err.code, "%s", a->err.text) : 0;
}

static int gpu_node_round(void *self, struct collect_env *e, int64_t ms, struct kerr *err)
{
    struct gpu_self *s = self;

    if (s->under_way)
        return wait_on(s, err);
    int r = s->finished ? take_call(s, e, ms, err) : 0;
    ask(s);
    return r;
}

static int gpu_pod_round(void *self, const struct device_pod *p, int64_t ms, struct kerr *err)
{
    struct gpu_self *s = self;
    return gpu_pods_round(&s->pods, &s->now, p, ms, err);
}

static void gpu_pod_gone(void *self, const char *uid)
{
    struct gpu_self *s = self;
    gpu_pods_gone(&s->pods, uid);
}

static const void *gpu_infos(const void *self)
{
    const struct gpu_self *s = self;
    return s->known ? &s->out : NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool gpu_enabled(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_ACCELERATORS);
}

static int load(const struct collect_env *e, struct nvml *ret, struct kerr *err)
{
    return (e->nvml_load ? e->nvml_load : nvml_load)(NVML_LIBRARY, ret, err);
}

static const char *gpu_unsupported(const struct collect_env *e)
{
    struct nvml n;
    int r = load(e, &n, NULL);

    if (r == 0)
        nvml_unload(&n);
    return r == 0         ? NULL
           : r == -ENOSYS ? NVML_LIBRARY " is too old: it lacks functions"
                          : NVML_LIBRARY " is not there: no driver of NVIDIA's";
}

static int gpu_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct nvml lib;

    if (load(e, &lib, err) < 0)
        return err->code;
    struct gpu_self *s = xnew0(struct gpu_self);
    s->loop = e->loop;
    s->host = e->host;
    s->job = xnew0(struct job);
    s->job->ask.lib = lib;
    s->job->owner = s;
    s->out.driver = "";
    *ret = s;
    return 0;
}

static void gpu_destroy(void *self)
{
    struct gpu_self *s = self;

    /* A call under way frees the job when it is done; if the loop ends first, the process does. */
    if (s->under_way)
        s->job->owner = NULL;
    else
        job_free(s->job);
    for (uint32_t i = 0; i < s->now.n; i++)
        gpu_series_close(&s->series[i]);
    gpu_pods_fini(&s->pods);
    vec_fini(&s->now.processes);
    free(s->now.infos);
    free(s->measured);
    free(s->series);
    free(s);
}

const struct device_source device_source_gpu = {
    .type = "GPU",
    .enabled = gpu_enabled,
    .unsupported = gpu_unsupported,
    .setup = gpu_setup,
    .destroy = gpu_destroy,
    .node_round = gpu_node_round,
    .pod_round = gpu_pod_round,
    .pod_gone = gpu_pod_gone,
    .infos = gpu_infos,
};
