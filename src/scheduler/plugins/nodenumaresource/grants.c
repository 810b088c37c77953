/* grants.c - which CPUs and which parts of NUMA nodes pods hold (sched-numa 2). */
#include "scheduler/plugins/nodenumaresource/grants.h"

#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "api/qos.h"
#include "base/arena.h"
#include "base/klog.h"
#include "scheduler/plugins/nodenumaresource/view.h"

const struct grant *grants_find(const struct grants *g, struct kuid uid)
{
    return uidmap_get(&g->by_uid, uid);
}

static void touch(const struct grants *g, const char *node)
{
    if (g->env.nodes)
        ks_touch_row(g->env.nodes, node);
}

static void grant_free(struct grant *x)
{
    kobj_unref(x->pod);
    free(x->node);
    free(x->reservation);
    free(x);
}

static void drop(struct grants *g, struct grant *x)
{
    uidmap_remove(&g->by_uid, x->uid);
    touch(g, x->node);
    grant_free(x);
}

static void put(struct grants *g, const struct pod *p, const char *node, struct grant *x)
{
    struct grant *was = uidmap_get(&g->by_uid, p->obj.meta.uid);

    x->uid = p->obj.meta.uid;
    x->seq = was ? was->seq : ++g->seq;
    x->pod = kobj_ref((struct kobj *)&p->obj);
    x->node = xstrdup(node);
    if (was)
        drop(g, was);
    uidmap_put(&g->by_uid, x);
    touch(g, node);
}

/* ---- what an annotation says ----------------------------------------------------------------- */

static void say_bad(const struct pod *p, const char *what, const struct kerr *err)
{
    KLOG_W("Pod holds no CPUs or NUMA resources: its annotation does not parse",
           KV_S("err", err->text), KV_S("namespace", p->obj.meta.ns), KV_S("pod", p->obj.meta.name),
           KV_S("annotation", what));
}

static void read_parts(struct grants *g, const struct numa_node_resource *n,
                       struct numa_allocation *x)
{
    for (uint32_t k = 0; k < n->resources.n && x->nparts < ARRAY_LEN(x->part); k++) {
        const struct resqty *q = &n->resources.items[k];
        int at = numa_names_add(&g->names, q->name);
        int64_t amount = resource_count(q->name, q->value);
        if (at >= 0 && n->node >= 0 && n->node < NUMA_MAX && amount > 0)
            x->part[x->nparts++] =
                (struct numa_part){ (uint8_t)n->node, (uint8_t)at, MIN(amount, KS_ALLOC_MAX) };
    }
}

int grants_read(struct grants *g, const struct resource_status *s, struct numa_allocation *ret,
                struct kerr *err)
{
    ret->cpus = (struct cpuset){ 0 };
    ret->nparts = 0;
    if (!str_empty(s->cpuset)) {
        int r = cpuset_parse(s->cpuset, strlen(s->cpuset), &ret->cpus, err);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < s->numa_node_resources.n; i++)
        read_parts(g, &s->numa_node_resources.items[i], ret);
    return ret->nparts || !cpuset_is_empty(&ret->cpus);
}

static struct grant *grant_make(const struct numa_allocation *x,
                                enum cpu_exclusive_policy exclusive)
{
    struct grant *g = xcalloc(1, sizeof *g + x->nparts * sizeof *g->part);

    g->cpus = x->cpus;
    g->exclusive = (uint8_t)exclusive;
    g->nparts = x->nparts;
    if (x->nparts)
        memcpy(g->part, x->part, x->nparts * sizeof *x->part);
    return g;
}

/* NULL: the pod holds nothing, or says so in a way that nobody understands. */
static struct grant *grant_of(struct grants *g, const struct pod *p)
{
    const kstrmap *annotations = &p->obj.meta.annotations;
    struct numa_allocation x;
    struct resource_status status;
    struct resource_spec spec;
    struct kerr err = { 0 };

    arena_reset(g->scratch);
    int r = resource_status_read(annotations, g->scratch, &status, &err);
    if (r > 0)
        r = grants_read(g, &status, &x, &err);
    if (r < 0)
        say_bad(p, ANNO_RESOURCE_STATUS, &err);
    if (r > 0 && resource_spec_read(annotations, g->scratch, &spec, &err) < 0) {
        say_bad(p, ANNO_RESOURCE_SPEC, &err);
        r = -1;
    }
    return r > 0 ? grant_make(
                       &x, cpu_exclusive_policy_parse(str_or(spec.preferred_exclusive_policy, "")))
                 : NULL;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool same_annotation(const struct pod *a, const struct pod *b, const char *key)
{
    return streq(str_or(kstrmap_get(&a->obj.meta.annotations, key), ""),
                 str_or(kstrmap_get(&b->obj.meta.annotations, key), ""));
}

/* Its annotation names the reservation by UID. */
static char *reservation_of_pod(const struct grants *g, const struct pod *p)
{
    struct reservation_allocated of;
    struct kerr err;

    if (reservation_allocated_read(&p->obj.meta.annotations, g->scratch, &of, &err) <= 0 ||
        str_empty(of.uid))
        return NULL;
    return xstrdup(of.uid);
}

static void read_pod(struct grants *g, const struct pod *p)
{
    struct grant *was = uidmap_get(&g->by_uid, p->obj.meta.uid);
    struct grant *x = grant_of(g, p);

    if (x)
        x->reservation = reservation_of_pod(g, p);
    if (x)
        put(g, p, p->node_name, x);
    else if (was)
        drop(g, was);
}

/* Is it bound by us, just now, to CPUs that the kubelet will not know of when it pins the pod too?
 * What reserve() made is replaced when the pod is placed, so this is so once in its life, and not
 * again after a restart. */
static bool is_pinned_twice(const struct grants *g, const struct pod *p)
{
    const struct grant *x = grants_find(g, p->obj.meta.uid);

    return x && x->reserved && x->kubelet_pins && !cpuset_is_empty(&x->cpus) &&
           streq(x->node, p->node_name) && pod_qos(p) == KUBE_QOS_GUARANTEED &&
           !is_reserve_pod(&p->obj.meta.annotations);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    struct grants *g = service;
    bool twice = g->env.scheduler && is_pinned_twice(g, now);

    (void)before;
    read_pod(g, now);
    if (!twice)
        return;
    CLEANUP(mem_free)
    char *note = xasprintf("the kubelet of node %s has the CPU manager policy static and pins this "
                           "Guaranteed pod too, to CPUs of its own choice",
                           now->node_name);
    ks_warn(&g->env, now, "PinnedTwice", note);
}

static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    /* A reservation may take it over while it runs. */
    if (!before || !same_annotation(before, now, ANNO_RESOURCE_STATUS) ||
        !same_annotation(before, now, ANNO_RESERVATION_ALLOCATED))
        read_pod(service, now);
}

static void on_gone(void *service, const struct pod *last)
{
    struct grants *g = service;
    struct grant *x = uidmap_get(&g->by_uid, last->obj.meta.uid);

    if (x)
        drop(g, x);
}

static const struct ks_pod_handler grants_pods = {
    .placed = on_placed,
    .changed = on_changed,
    .gone = on_gone,
};

void grants_reserve(struct grants *g, const struct pod *p, const char *node,
                    const struct ks_reservation *of, const struct numa_request *r,
                    const struct numa_allocation *x)
{
    struct grant *mine = grant_make(x, r->cpus.exclusive);
    char uid[KUID_TEXT_MAX];

    if (of) {
        kuid_format(of->uid, uid, sizeof uid);
        mine->reservation = xstrdup(uid);
    }

    mine->bind = (uint8_t)r->cpus.bind;
    mine->required = r->required;
    mine->kubelet_pins = r->kubelet_pins;
    mine->reserved = true;
    put(g, p, node, mine);
}

void grants_release(struct grants *g, struct kuid uid)
{
    struct grant *x = uidmap_get(&g->by_uid, uid);

    if (x && x->reserved)
        drop(g, x);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int grants_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct grants *g = xnew0(struct grants);

    (void)args, (void)err;
    g->env = *env;
    g->scratch = arena_new();
    numa_names_init(&g->names);
    *ret = g;
    return 0;
}

static void grants_destroy(void *service)
{
    struct grants *g = service;

    struct grant *x;
    for (size_t it = 0; (x = uidmap_next(&g->by_uid, &it));)
        grant_free(x);
    uidmap_fini(&g->by_uid);
    machines_fini(&g->machines);
    numa_names_fini(&g->names);
    arena_free(g->scratch);
    free(g);
}

const struct ks_service grants_service = {
    .name = "NodeNUMAResource",
    .create = grants_create,
    .destroy = grants_destroy,
    .pods = &grants_pods,
    .paths = numa_paths,
};
