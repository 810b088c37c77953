/* toomanyrestarts.c - RemovePodsHavingTooManyRestarts: pods whose containers keep crashing here. */
#include "api/pod.h"
#include "base/num.h"
#include "component/config.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct restarts_args {
    struct kube_common common;
    int32_t threshold;
    kstrlist states;
    bool init_containers;
};

#define STYPE struct restarts_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF(STYPE, threshold, "podRestartThreshold", KF_I32),
    KF_LIST_OF(STYPE, states, "states", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, init_containers, "includingInitContainers", KF_BOOL, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema =
    KSCHEMA("RemovePodsHavingTooManyRestartsArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct restarts_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    if (r == 0 && x->threshold < 1)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "podRestartThreshold: Invalid value: %d: must be greater than 0",
                     (int)x->threshold);
    for (uint32_t i = 0; i < x->states.n && r == 0; i++)
        if (!streq(x->states.items[i], "Running") && !streq(x->states.items[i], "CrashLoopBackOff"))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "states[%u]: Unsupported value: \"%.64s\": supported values: "
                         "\"CrashLoopBackOff\", \"Running\"",
                         i, x->states.items[i]);
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

static int64_t sum(const containerstatuslist *l)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < l->n; i++)
        n += l->items[i].restart_count;
    return n;
}

static int64_t restarts(const struct pod *p, bool init_containers)
{
    return sum(&p->status.container_statuses) +
           (init_containers ? sum(&p->status.init_container_statuses) : 0);
}

static bool waits_in(const containerstatuslist *l, const kstrlist *states)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].state.waiting && args_has(states, l->items[i].state.waiting->reason))
            return true;
    return false;
}

static bool in_state(const struct restarts_args *x, const struct pod *p)
{
    return x->states.n == 0 || args_has(&x->states, pod_phase_names[p->status.phase]) ||
           waits_in(&p->status.container_statuses, &x->states) ||
           (x->init_containers && waits_in(&p->status.init_container_statuses, &x->states));
}

struct counted {
    const struct pod *pod;
    int64_t restarts;
};

static int by_restarts(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;

    if (x->restarts != y->restarts)
        return x->restarts < y->restarts ? 1 : -1;
    int r = strcmp(x->pod->obj.meta.ns, y->pod->obj.meta.ns);
    return r ? r : strcmp(x->pod->obj.meta.name, y->pod->obj.meta.name);
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct restarts_args *x = kube_args(self);

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++) {
        podvec pods = { 0 };
        struct vec_of(struct counted) due = { 0 };
        /* Also those that have ended: how often they were tried counts all the same. */
        kube_list(r, r->nodes[i],
                  &(struct kube_listing){ .common = &x->common, .filter = true, .all = true },
                  &pods);
        vec_foreach(&pods, j) {
            struct counted c = { pods.items[j], restarts(pods.items[j], x->init_containers) };
            if (c.restarts >= x->threshold && in_state(x, c.pod))
                vec_push(&due, c);
        }
        if (due.n)
            qsort(due.items, due.n, sizeof *due.items, by_restarts);
        vec_foreach(&due, j)
            (void)kd_evict(r, due.items[j].pod, NULL);
        vec_fini(&pods);
        vec_fini(&due);
    }
    return 0;
}

const struct kd_plugin plugin_toomanyrestarts = {
    KUBE_PLUGIN("RemovePodsHavingTooManyRestarts", &args_table), .deschedule = deschedule
};
