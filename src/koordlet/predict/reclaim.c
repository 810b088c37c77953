/* reclaim.c - prod reclaimable and prod peak. */
#include "koordlet/predict/reclaim.h"

#include "api/podresources.h"
#include "api/protocol/node.h"
#include "api/protocol/pod_protocol.h"
#include "base/num.h"

struct reclaim_options reclaim_options_default(void)
{
    return (struct reclaim_options){ .cold_start = 24 * 3600 * NSEC_PER_SEC,
                                     .safety_margin_percent = 10 };
}

/* ---- amounts --------------------------------------------------------------------------------- */

static struct amounts sum(struct amounts a, struct amounts b)
{
    return (struct amounts){ i64_add_sat(a.cpu, b.cpu), i64_add_sat(a.memory, b.memory) };
}

/* What is left of a after b, never below 0. */
static struct amounts left(struct amounts a, struct amounts b)
{
    return (struct amounts){ MAX(i64_sub_sat(a.cpu, b.cpu), 0),
                             MAX(i64_sub_sat(a.memory, b.memory), 0) };
}

static struct amounts lesser(struct amounts a, struct amounts b)
{
    return (struct amounts){ MIN(a.cpu, b.cpu), MIN(a.memory, b.memory) };
}

static struct amounts greater(struct amounts a, struct amounts b)
{
    return (struct amounts){ MAX(a.cpu, b.cpu), MAX(a.memory, b.memory) };
}

static struct amounts with_margin(const struct reclaim *r, struct amounts a)
{
    double k = (double)(100 + r->o.safety_margin_percent) / 100;
    return (struct amounts){ i64_from_f64((double)a.cpu * k), i64_from_f64((double)a.memory * k) };
}

static struct amounts amounts_of(const reslist *l)
{
    return (struct amounts){ resource_count("cpu", reslist_get(l, "cpu")),
                             resource_count("memory", reslist_get(l, "memory")) };
}

static int predict_peak(const struct reclaim *r, const char *uid, struct amounts *ret,
                        struct kerr *err)
{
    struct prediction p;
    int code = r->predictor.predict(r->predictor.arg, uid, &p, err);
    if (code == 0)
        *ret = (struct amounts){ p.p95.cpu, p.p98.memory };
    return code;
}

/* ---- pods ------------------------------------------------------------------------------------ */

void reclaim_init(struct reclaim *r, struct predictor p, const struct reclaim_options *o,
                  nsec_t now)
{
    *r = (struct reclaim){ .predictor = p, .o = *o, .now = now, .arena = arena_new() };
}

void reclaim_fini(struct reclaim *r)
{
    map_fini(&r->seen);
    r->arena = arena_free(r->arena);
}

static bool is_gone(const struct pod *p)
{
    return p->obj.meta.deleted != 0 || pod_is_terminal(p);
}

/* Static pods have no time of creation: they are never new. */
static bool is_new(const struct reclaim *r, const struct pod *p)
{
    nsec_t created = p->obj.meta.created;
    return created != 0 && i64_sub_sat(r->now, created) <= r->o.cold_start;
}

static int add_by_pod(struct reclaim *r, const struct pod *p, const char *uid,
                      struct amounts request, struct kerr *err)
{
    struct amounts peak;

    if (map_putz(&r->seen, uid, (void *)(uintptr_t)uid))
        return kerr_set(err, -EEXIST, "pod %s was added before", uid);
    if (is_new(r, p)) { /* also when it is on its way out: as upstream counts */
        r->unpredicted = sum(r->unpredicted, request);
        return 0;
    }
    if (is_gone(p))
        return 0;
    int code = predict_peak(r, uid, &peak, err);
    if (code < 0) {
        r->unpredicted = sum(r->unpredicted, request);
        return code;
    }
    peak = with_margin(r, peak);
    r->unreclaimable = sum(r->unreclaimable, peak);
    r->spared = sum(r->spared, left(request, peak));
    return 0;
}

int reclaim_add(struct reclaim *r, const struct pod *p, struct kerr *err)
{
    enum priority_class class = pod_priority_class(p);
    char uid[MODEL_UID_MAX];

    if (class != PRIO_PROD && class != PRIO_NONE)
        return 0;
    reslist requests = pod_requests(p, NULL, r->arena);
    struct amounts request = amounts_of(&requests);
    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    int code = add_by_pod(r, p, arena_strdup(r->arena, uid), request, err);
    if (code < 0)
        return code;
    if (!is_gone(p))
        r->requested = sum(r->requested, request);
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

static int peak_by_class(const struct reclaim *r, struct amounts *ret, struct kerr *err)
{
    const char *const uids[] = { MODEL_SYSTEM, model_of_class(PRIO_PROD),
                                 model_of_class(PRIO_NONE) };
    struct amounts all = { 0 }, one = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        int code = predict_peak(r, uids[i], &one, err);
        if (code < 0)
            return code;
        all = sum(all, one);
    }
    *ret = with_margin(r, all);
    return 0;
}

static int allocatable_of(const struct node *n, struct arena *a, struct amounts *ret,
                          struct kerr *err)
{
    struct reslist_value raw;

    if (!n)
        return kerr_set(err, -EINVAL, "there is no node");
    if (raw_allocatable_read(&n->obj.meta.annotations, a, &raw, NULL) > 0) {
        *ret = amounts_of(&raw.v); /* also when it says that there is nothing */
        return 0;
    }
    if (n->status.allocatable.n == 0)
        return kerr_set(err, -EINVAL, "node %s has no allocatable", n->obj.meta.name);
    *ret = amounts_of(&n->status.allocatable);
    return 0;
}

int reclaim_result_views(const struct reclaim *r, const struct node *n, struct reclaim_views *ret,
                         struct kerr *err)
{
    struct amounts allocatable, used;

    int code = allocatable_of(n, r->arena, &allocatable, err);
    if (code == 0)
        code = peak_by_class(r, &used, err);
    if (code < 0)
        return code;
    ret->by_pod = lesser(left(allocatable, r->unreclaimable), r->spared);
    ret->by_class = lesser(left(allocatable, used), left(r->requested, used));
    ret->answer = lesser(ret->by_pod, ret->by_class);
    return 0;
}

int reclaim_peak_views(const struct reclaim *r, struct reclaim_views *ret, struct kerr *err)
{
    int code = peak_by_class(r, &ret->by_class, err);
    if (code < 0)
        return code;
    ret->by_pod = sum(r->unreclaimable, r->unpredicted);
    ret->answer = greater(ret->by_pod, ret->by_class);
    return 0;
}
