/* device.h - what a kind of devices (GPU, RDMA, XPU) gives to the collectors and the reporters.
 *
 * A source is a struct of functions, written in device/; the wiring hands the table of those it
 * has to the collectors (collect_env.devices). The node collector calls node_round() once a round,
 * the pod collector pod_round() for each pod; both append to the metric cache themselves, with
 * series they keep open. A source that fails never stops a round. Loop thread only; a round does
 * not block and, in the steady state, does not allocate.
 */
#ifndef KOORD_KOORDLET_DEVICE_H
#define KOORD_KOORDLET_DEVICE_H
#include "base/base.h"
#include "koordlet/states/podset.h"

struct collect_env;

struct device_pod { /* one pod in a round */
    const struct npod *pod;
    struct collect_env *env;
};
struct device_pids { /* borrowed until the next call of device_pod_pids() */
    const uint32_t *pids;
    size_t n;
};
/* The processes of a container of the pod, from its cgroup.procs. */
int device_pod_pids(const struct device_pod *p, uint32_t container, struct device_pids *ret,
                    struct kerr *err);

struct device_source {
    const char *type; /* "GPU", "RDMA", "XPU": the key its infos are stored under */
    bool (*enabled)(const struct collect_env *e);
    /* Why this machine has none of it, for people; NULL: it has. */
    const char *(*unsupported)(const struct collect_env *e);
    int (*setup)(struct collect_env *e, void **ret_self, struct kerr *err);
    void (*destroy)(void *self);
    /* ms: the time of the round's samples. -EAGAIN: not ready yet, no failure. */
    int (*node_round)(void *self, struct collect_env *e, int64_t ms, struct kerr *err);
    int (*pod_round)(void *self, const struct device_pod *p, int64_t ms, struct kerr *err);
    void (*pod_gone)(void *self, const char *uid); /* its series are closed */
    /* For the reporters, by the source's own header; NULL: nothing is known yet. Borrowed until the
     * next turn. */
    const void *(*infos)(const void *self);
};

/* The infos of a type; NULL: no such source, not enabled, or nothing known yet. */
const void *collect_device_infos(const struct collect_env *e, const char *type);
#endif
