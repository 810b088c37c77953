/* newpods.c - what pods are to get in kernel files from their start on, until the reconciler knows
 * them from the kubelet. */
#include "api/qos.h"
#include "base/map.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/runtime/delivery_int.h"
#include "loop/loop.h"

#define LOOK_EVERY NSEC_PER_SEC
#define PATIENCE   (60 * NSEC_PER_SEC) /* a pod that the kubelet never tells of */

enum { PODS_MAX = 1024 };

struct newpod {
    char *uid, *dir, *closid, *schemata;
    struct opt_i64 bvt, idle, shares, quota, memory;
    nsec_t since;
    bool known; /* seen in the snapshot: the reconciler has had its turn by the next look */
};
struct newpods {
    struct delivery_env env;
    struct map pods; /* by UID */
    struct timer *look;
};

struct newpods *newpods_new(const struct delivery_env *env)
{
    struct newpods *n = xnew0(struct newpods);

    n->env = *env;
    return n;
}

static void newpod_free(struct newpod *p)
{
    free(p->uid);
    free(p->dir);
    free(p->closid);
    free(p->schemata);
    free(p);
}

struct newpods *newpods_free(struct newpods *n)
{
    if (!n)
        return NULL;
    timer_cancel(n->look);
    map_foreach(&n->pods, e)
        newpod_free(e->value);
    map_fini(&n->pods);
    free(n);
    return NULL;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void propose(struct plan *p, const char *dir, enum plan_file f, struct opt_i64 v)
{
    if (v.set)
        plan_number(p, (struct plan_at){ arena_strdup(p->arena, dir), NULL, NULL }, f, v.v);
}

static void propose_resctrl(struct plan *p, const struct newpod *n)
{
    struct plan_at at = { arena_strdup(p->arena, n->closid), NULL, NULL };

    plan_number(p, at, PLAN_RESCTRL_GROUP, 1);
    for (const char *line = n->schemata; line && *line;) {
        size_t len = strcspn(line, "\n") + 1;
        plan_item(p, at, PLAN_RESCTRL_SCHEMATA, arena_strndup(p->arena, line, strcspn(line, ":")),
                  arena_strndup(p->arena, line, len));
        line += len;
    }
}

static void submit(struct newpods *n)
{
    struct plan *p = executor_plan(n->env.executor, PLAN_POD_START, NULL);

    map_foreach(&n->pods, e) {
        const struct newpod *pod = e->value;
        if (pod->dir) {
            propose(p, pod->dir, PLAN_CPU_BVT, pod->bvt);
            propose(p, pod->dir, PLAN_CPU_IDLE_CLASS, pod->idle);
            propose(p, pod->dir, PLAN_CPU_SHARES, pod->shares);
            propose(p, pod->dir, PLAN_CPU_QUOTA, pod->quota);
            propose(p, pod->dir, PLAN_MEMORY_LIMIT, pod->memory);
        }
        if (pod->closid)
            propose_resctrl(p, pod);
    }
    executor_submit(n->env.executor, p);
}

/* ---- who is new ------------------------------------------------------------------------------ */

static void drop(struct newpods *n, const char *uid)
{
    struct newpod *p = map_removez(&n->pods, uid);

    if (p)
        newpod_free(p);
}

static const char *over(struct newpods *n, nsec_t now)
{
    const struct podset *pods = snapshots_get(n->env.snapshots)->pods;

    map_foreach(&n->pods, e) {
        struct newpod *p = e->value;
        if (p->known || now - p->since > PATIENCE)
            return p->uid;
        p->known = podset_find(pods, p->uid) != NULL;
    }
    return NULL;
}

static void on_look(struct loop *l, void *arg)
{
    struct newpods *n = arg;
    const char *uid;
    bool any = false;

    n->look = NULL;
    while ((uid = over(n, loop_mono(l)))) {
        drop(n, uid);
        any = true;
    }
    if (any)
        submit(n);
    if (n->pods.n > 0)
        n->look = loop_after(l, LOOK_EVERY, on_look, n);
}

/* A kernel without group identities keeps best effort apart by the idle class. */
static void identity(const struct newpods *n, const struct hook_context *c, struct newpod *p)
{
    if (!c->response.bvt.set || !reconciler_rules(n->env.reconciler)->bvt.enable)
        return;
    if (n->env.caps->caps[CAP_BVT].state == CAP_YES)
        p->bvt = c->response.bvt;
    else if (c->response.bvt.v < 0)
        p->idle = (struct opt_i64){ true, 1 };
}

void newpods_add(struct newpods *n, const struct hook_context *c)
{
    const struct hook_resources *r = &c->response;
    const char *dir = request_cgroup_dir(str_of(c->cgroup_parent), c->arena);
    struct newpod *p = xnew0(struct newpod);

    if (n->pods.n >= PODS_MAX || str_empty(c->uid)) {
        free(p);
        return;
    }
    *p = (struct newpod){
        .uid = xstrdup(c->uid),
        .dir = dir ? xstrdup(dir) : NULL,
        .closid = c->resctrl.closid ? xstrdup(c->resctrl.closid) : NULL,
        .schemata = c->resctrl.schemata ? xstrdup(c->resctrl.schemata) : NULL,
        .shares = r->cpu_shares,
        .memory = r->memory_limit,
        .since = loop_mono(n->env.loop),
    };
    /* A normalized quota waits until all containers have theirs: cgroup v1 refuses to start one
     * whose quota is above its pod's. */
    if (qos_raw(c->labels) == QOS_BE || r->cfs_quota.v == -1)
        p->quota = r->cfs_quota;
    identity(n, c, p);
    drop(n, p->uid);
    map_putz(&n->pods, p->uid, p);
    submit(n);
    if (!n->look)
        n->look = loop_after(n->env.loop, LOOK_EVERY, on_look, n);
}

void newpods_remove(struct newpods *n, const char *uid)
{
    if (!map_getz(&n->pods, uid))
        return;
    drop(n, uid);
    submit(n);
}
