/* gpu_pods.c - the GPUs' use by pods and containers. */
#include <stdio.h>

#include "koordlet/device/gpu_int.h"

enum { WHOLE_POD = -1 };

struct gpu_pid { /* a process of the pod that is on a GPU */
    uint32_t pid, container;
};
struct gpu_use { /* of one GPU by one container, or the whole pod */
    int64_t container;
    uint32_t gpu;
    int64_t ms; /* the round of the sums */
    double core, memory;
    struct gpu_series series;
};
struct gpu_pod {
    char uid[64];
    bool scanned;
    uint64_t stamp, generation; /* of the pod and the processes that were scanned */
    struct vec_of(struct gpu_pid) pids;
    struct vec_of(struct gpu_use) uses;
};

/* ---- life ------------------------------------------------------------------------------------ */

static void pod_free(struct gpu_pod *gp)
{
    vec_foreach(&gp->uses, i)
        gpu_series_close(&gp->uses.items[i].series);
    vec_fini(&gp->uses);
    vec_fini(&gp->pids);
    free(gp);
}

void gpu_pods_gone(struct gpu_pods *ps, const char *uid)
{
    struct gpu_pod *gp = map_removez(&ps->by_uid, uid);

    if (gp)
        pod_free(gp);
}

void gpu_pods_fini(struct gpu_pods *ps)
{
    map_foreach(&ps->by_uid, en)
        pod_free(en->value);
    map_fini(&ps->by_uid);
}

static struct gpu_pod *pod_of_uid(struct gpu_pods *ps, const char *uid)
{
    struct gpu_pod *gp = map_getz(&ps->by_uid, uid);

    if (gp)
        return gp;
    gp = xnew0(struct gpu_pod);
    snprintf(gp->uid, sizeof gp->uid, "%s", uid);
    map_putz(&ps->by_uid, gp->uid, gp);
    return gp;
}

/* ---- whose processes ------------------------------------------------------------------------- */

/* The first entry of the process; the end when there is none. */
static size_t find_process(const struct gpu_processes *all, uint32_t pid)
{
    size_t from = 0, to = all->n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (all->items[mid].pid < pid)
            from = mid + 1;
        else
            to = mid;
    }
    return from < all->n && all->items[from].pid == pid ? from : all->n;
}

static int scan(struct gpu_pod *gp, const struct gpu_now *now, const struct device_pod *p,
                struct kerr *err)
{
    gp->scanned = false;
    vec_clear(&gp->pids);
    for (uint32_t c = 0; c < p->pod->ncontainers; c++) {
        struct device_pids pids = { 0 };
        int r = device_pod_pids(p, c, &pids, err);
        if (r < 0 && p->pod->containers[c].running)
            return r;
        for (size_t i = 0; r == 0 && i < pids.n; i++)
            if (find_process(&now->processes, pids.pids[i]) < now->processes.n) {
                struct gpu_pid one = { pids.pids[i], c };
                vec_push(&gp->pids, one);
            }
    }
    gp->scanned = true;
    gp->stamp = p->pod->stamp;
    gp->generation = now->generation;
    return 0;
}

/* Containers may be others behind the same index now. */
static void drop_containers(struct gpu_pod *gp)
{
    size_t kept = 0;

    vec_foreach(&gp->uses, i) {
        if (gp->uses.items[i].container == WHOLE_POD)
            gp->uses.items[kept++] = gp->uses.items[i];
        else
            gpu_series_close(&gp->uses.items[i].series);
    }
    gp->uses.n = kept;
}

static int follow(struct gpu_pod *gp, const struct gpu_now *now, const struct device_pod *p,
                  struct kerr *err)
{
    if (gp->scanned && gp->stamp == p->pod->stamp && gp->generation == now->generation)
        return 0;
    if (gp->stamp != p->pod->stamp)
        drop_containers(gp);
    return scan(gp, now, p, err);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add(struct gpu_pod *gp, int64_t container, const struct gpu_process *of, int64_t ms)
{
    struct gpu_use *use = NULL;

    for (size_t i = 0; i < gp->uses.n && !use; i++)
        if (gp->uses.items[i].container == container && gp->uses.items[i].gpu == of->gpu)
            use = &gp->uses.items[i];
    if (!use) {
        struct gpu_use fresh = { .container = container, .gpu = of->gpu };
        vec_push(&gp->uses, fresh);
        use = &vec_last(&gp->uses);
    }
    if (use->ms != ms) {
        use->ms = ms;
        use->core = use->memory = 0;
    }
    use->core += of->sm;
    use->memory += (double)of->memory;
}

static void put(struct gpu_pod *gp, const struct gpu_now *now, const struct device_pod *p,
                int64_t ms)
{
    static const enum metric_kind of_pod[2] = { M_POD_GPU_CORE, M_POD_GPU_MEMORY },
                                  of_container[2] = { M_CONTAINER_GPU_CORE,
                                                      M_CONTAINER_GPU_MEMORY };

    vec_foreach(&gp->uses, i) {
        struct gpu_use *u = &gp->uses.items[i];
        bool whole = u->container == WHOLE_POD;
        if (u->ms != ms)
            continue;
        gpu_series_put(&u->series, p->env->mc, whole ? of_pod : of_container,
                       whole ? gp->uid : p->pod->containers[u->container].id, &now->infos[u->gpu],
                       ms, u->core, u->memory);
    }
}

static bool has_running(const struct npod *pod)
{
    for (uint32_t i = 0; i < pod->ncontainers; i++)
        if (pod->containers[i].running)
            return true;
    return false;
}

int gpu_pods_round(struct gpu_pods *ps, const struct gpu_now *now, const struct device_pod *p,
                   int64_t ms, struct kerr *err)
{
    if (now->ms != ms || now->processes.n == 0 || !has_running(p->pod))
        return 0;
    struct gpu_pod *gp = pod_of_uid(ps, p->pod->uid);
    int r = follow(gp, now, p, err);
    if (r < 0)
        return r;
    vec_foreach(&gp->pids, k) {
        const struct gpu_pid *one = &gp->pids.items[k];
        size_t i = find_process(&now->processes, one->pid);
        for (; i < now->processes.n && now->processes.items[i].pid == one->pid; i++) {
            add(gp, WHOLE_POD, &now->processes.items[i], ms);
            if (p->pod->containers[one->container].running)
                add(gp, one->container, &now->processes.items[i], ms);
        }
    }
    put(gp, now, p, ms);
    return 0;
}
