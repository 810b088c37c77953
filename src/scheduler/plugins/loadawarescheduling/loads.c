/* loads.c - pods on nodes and the metrics of nodes, summed (sched-loadaware 4).
 *
 * What a pod adds to the sums of its node follows from its vectors and flags; they are kept, so
 * that it is taken off exactly as it was added.
 */
#include "scheduler/plugins/loadawarescheduling/loads.h"

#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/loadaware.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/num.h"
#include "loop/loop.h"

#define DEFAULT_INTERVAL (60 * NSEC_PER_SEC)
/* Where nobody knows the time (explaining from files), a pod got its node after everything that
 * was reported. */
#define SINCE_NOW (INT64_MAX / 2)

/* ---- sums ------------------------------------------------------------------------------------ */

/* Adds the pod to the sums of its node, or takes it off (sign -1). */
static void count_pod(const struct loads *l, const struct load_pod *p, int64_t sign)
{
    const int64_t *e = p->v, *u = p->v + l->n;
    struct load_node *n = p->node;

    for (uint32_t r = 0; r < l->n; r++) {
        int64_t over = MAX(e[r] - u[r], 0);
        int64_t prod_over = p->flags & LOAD_PROD_USAGE ? over : e[r];
        if (p->flags & LOAD_PROD_USAGE)
            load_sum(n, l, LOAD_SUM_PROD_USAGE)[r] += sign * u[r];
        if (p->flags & LOAD_NODE_DELTA)
            load_sum(n, l, LOAD_SUM_NODE_DELTA)[r] += sign * over;
        if (p->flags & LOAD_PROD_DELTA)
            load_sum(n, l, LOAD_SUM_PROD_DELTA)[r] += sign * prod_over;
        if (p->flags & LOAD_ESTIMATED)
            load_sum(n, l, LOAD_SUM_ESTIMATED)[r] += sign * e[r];
    }
}

/* What the pod contributes, given what its node reports of it (NULL: nothing). */
static void judge_pod(const struct loads *l, struct load_pod *p, const struct pod_metric_info *m)
{
    const struct load_node *n = p->node;
    bool prod = p->flags & LOAD_IS_PROD, prod_usage = prod && m && streq(m->priority, "koord-prod");
    bool estimated = p->flags & LOAD_ESTIMATED;
    bool should = !m || n->update_time - n->interval < p->timestamp ||
                  (p->deadline && p->deadline > n->update_time);

    p->flags &= LOAD_IS_PROD | LOAD_ESTIMATED;
    memset(p->v + l->n, 0, l->n * sizeof *p->v);
    if (m) {
        load_vector_of(l, &m->usage.resources, p->v + l->n);
        p->flags |= LOAD_REPORTED;
    }
    p->flags |= prod_usage ? LOAD_PROD_USAGE : 0;
    p->flags |= estimated && should ? LOAD_NODE_DELTA : 0;
    /* A prod pod that the node reports as another counts with its whole estimate. */
    p->flags |= estimated && prod && (should || !prod_usage) ? LOAD_PROD_DELTA : 0;
}

static void uncount_pod(const struct loads *l, struct load_pod *p)
{
    if (p->flags & LOAD_COUNTED)
        count_pod(l, p, -1);
    p->flags &= (uint8_t)~LOAD_COUNTED;
}

static void recount_pod(const struct loads *l, struct load_pod *p, const struct pod_metric_info *m)
{
    uncount_pod(l, p);
    judge_pod(l, p, m);
    count_pod(l, p, 1);
    p->flags |= LOAD_COUNTED;
}

/* ---- pods in a metric ------------------------------------------------------------------------ */

static bool is_about(const struct pod_metric_info *m, const struct pod *p)
{
    return m->usage.resources.n && streq(m->name, p->obj.meta.name) &&
           streq(str_or(m->ns, ""), str_or(p->obj.meta.ns, ""));
}

/* The last one counts. */
static const struct pod_metric_info *find_usage(const struct nodemetric *m, const struct pod *p)
{
    for (uint32_t i = m->status.pods_metric.n; i-- > 0;)
        if (is_about(&m->status.pods_metric.items[i], p))
            return &m->status.pods_metric.items[i];
    return NULL;
}

static uint16_t name_hash(const char *name)
{
    return (uint16_t)hash_bytes(name, strlen(name));
}

/* Where entries are, by the hash of their pod's name. */
struct usage_index {
    struct usage_slot {
        uint32_t at; /* index + 1; 0: free */
        uint16_t hash;
    } * slots;
    uint32_t mask;
};

static struct usage_index index_usage(const struct nodemetric *m, struct arena *a)
{
    struct usage_index x = { .mask = 15 };

    while (x.mask < 2 * m->status.pods_metric.n)
        x.mask = 2 * x.mask + 1;
    x.slots = arena_newn0(a, x.mask + 1, struct usage_slot);
    for (uint32_t i = m->status.pods_metric.n; i-- > 0;) { /* the last one is found first */
        uint16_t hash = name_hash(m->status.pods_metric.items[i].name);
        uint32_t at = hash & x.mask;
        while (x.slots[at].at)
            at = (at + 1) & x.mask;
        x.slots[at] = (struct usage_slot){ i + 1, hash };
    }
    return x;
}

static const struct pod_metric_info *look_up(const struct usage_index *x,
                                             const struct nodemetric *m, const struct load_pod *p)
{
    for (uint32_t at = p->hash & x->mask; x->slots[at].at; at = (at + 1) & x->mask) {
        const struct pod_metric_info *u = &m->status.pods_metric.items[x->slots[at].at - 1];
        if (x->slots[at].hash == p->hash && is_about(u, pod_of(p->pod)))
            return u;
    }
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct load_node *loads_find(const struct loads *l, const char *node)
{
    return map_getz(&l->nodes, node);
}

static struct load_node *node_get(struct loads *l, const char *name)
{
    struct load_node *n = loads_find(l, name);

    if (n)
        return n;
    n = xcalloc(1, sizeof *n + (LOAD_SUMS + LOAD_CLASSES) * l->n * sizeof *n->v);
    n->name = xstrdup(name);
    map_putz(&l->nodes, n->name, n);
    return n;
}

static void node_free(struct load_node *n)
{
    load_own_free(n->own);
    kobj_unref(n->metric);
    vec_fini(&n->pods);
    free(n->name);
    free(n);
}

static void node_drop_if_unused(struct loads *l, struct load_node *n)
{
    if (n->metric || n->pods.n)
        return;
    map_removez(&l->nodes, n->name);
    node_free(n);
}

static nsec_t interval_of(const struct nodemetric *m)
{
    const struct metric_collect_policy *p = m->collect_policy;

    return p && p->report_interval_seconds.set
               ? i64_mul_sat(p->report_interval_seconds.v, NSEC_PER_SEC)
               : DEFAULT_INTERVAL;
}

static bool is_negative(const reslist *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (qty_sign(list->items[i].value) < 0)
            return true;
    return false;
}

static bool has_negative(const struct nodemetric *m)
{
    const struct node_metric_info *info = m->status.node_metric;

    for (uint32_t i = 0; i < m->status.pods_metric.n; i++)
        if (is_negative(&m->status.pods_metric.items[i].usage.resources))
            return true;
    return info &&
           (is_negative(&info->node_usage.resources) || is_negative(&info->system_usage.resources));
}

/* What is wrong with the reports of a node is said once, whatever follows. */
static void complain(const struct loads *l, struct load_node *n)
{
    static const char *const texts[] = {
        "NodeMetric has no updateTime: it counts as expired",
        "NodeMetric is from the future: it will expire late",
        "NodeMetric has negative usage, which counts as 0",
    };
    const struct nodemetric *m = nodemetric_of(n->metric);
    bool future = l->env.loop && m->status.update_time > loop_wall(l->env.loop) + n->interval;
    /* A NodeMetric is made before its node reports for the first time. */
    bool timeless = m->status.node_metric && m->status.update_time == 0;
    unsigned bad = (timeless ? LOAD_WITHOUT_TIME : 0) | (future ? LOAD_FROM_THE_FUTURE : 0) |
                   (has_negative(m) ? LOAD_NEGATIVE : 0);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (bad & ~n->bad & 1u << i)
            KLOG_W(texts[i], KV_S("node", n->name));
    n->bad |= (uint8_t)bad;
}

/* The pods of a node are all over the memory: waiting for them one by one would take longer than
 * everything else. */
static void fetch_pods(const struct load_node *n)
{
    vec_foreach(&n->pods, i) {
        __builtin_prefetch(n->pods.items[i]);
        __builtin_prefetch((const char *)n->pods.items[i] + 64);
    }
    vec_foreach(&n->pods, i) {
        __builtin_prefetch(n->pods.items[i]->pod);
        __builtin_prefetch((const char *)n->pods.items[i]->pod + 64);
    }
}

static void read_metric(struct loads *l, struct load_node *n)
{
    const struct nodemetric *m = nodemetric_of(n->metric);
    const struct node_metric_info *info = m->status.node_metric;

    fetch_pods(n);
    arena_reset(l->scratch);
    const struct usage_index x = index_usage(m, l->scratch);
    n->update_time = m->status.update_time;
    n->interval = interval_of(m);
    complain(l, n);
    memset(n->v, 0, LOAD_SUMS * l->n * sizeof *n->v);
    if (info)
        load_vector_of(l, &info->node_usage.resources, load_sum(n, l, LOAD_NODE_USAGE));
    if (info && l->args->include_sys)
        load_vector_of(l, &info->system_usage.resources, load_sum(n, l, LOAD_SUM_PROD_USAGE));
    vec_foreach(&n->pods, i) {
        n->pods.items[i]->flags &= (uint8_t)~LOAD_COUNTED; /* the sums were emptied */
        recount_pod(l, n->pods.items[i], look_up(&x, m, n->pods.items[i]));
    }
}

static void forget_metric(struct loads *l, struct load_node *n)
{
    n->update_time = n->interval = 0;
    vec_foreach(&n->pods, i)
        n->pods.items[i]->flags &= (uint8_t)~LOAD_COUNTED;
    memset(n->v, 0, LOAD_SUMS * l->n * sizeof *n->v);
}

static void on_metric(void *arg, struct kobj *before, struct kobj *now)
{
    struct loads *l = arg;
    struct load_node *n = now ? node_get(l, now->meta.name) : loads_find(l, before->meta.name);

    if (!n)
        return;
    struct kobj *was = n->metric;
    n->metric = now ? kobj_ref(now) : NULL;
    kobj_unref(was);
    if (now)
        read_metric(l, n);
    else
        forget_metric(l, n);
    loads_notice(l, n); /* the row knows: the object belongs to it */
    node_drop_if_unused(l, n);
}

/* Where koordlet evicts; the row knows of this one too. */
static void on_slo(void *arg, struct kobj *before, struct kobj *now)
{
    struct loads *l = arg;
    struct load_node *n = loads_find(l, (now ? now : before)->meta.name);

    if (n)
        loads_notice(l, n);
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Its node is not told yet, and may be of no use any more. */
static struct load_node *detach(struct loads *l, struct load_pod *p)
{
    struct load_node *n = p->node;

    uidmap_remove(&l->pods, p->uid);
    uncount_pod(l, p);
    vec_swap_remove(&n->pods, p->at);
    if (p->at < n->pods.n)
        n->pods.items[p->at]->at = p->at;
    kobj_unref(p->pod);
    free(p);
    return n;
}

/* The row is another one, and attempts that were in vain may succeed. */
static void pods_changed(struct loads *l, struct load_node *n)
{
    if (l->env.nodes)
        ks_touch_row(l->env.nodes, n->name);
    loads_notice(l, n);
    node_drop_if_unused(l, n);
}

static nsec_t scheduled_at(const struct loads *l, const struct pod *p)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");

    if (c && c->status == COND_TRUE && c->last_transition_time)
        return c->last_transition_time;
    return l->env.loop ? loop_wall(l->env.loop) : SINCE_NOW;
}

/* Said when the pod gets its node. */
static void complain_of_factors(const struct loads *l, const struct pod *p)
{
    struct i64map_value unused;
    struct kerr err = { 0 };

    if (l->args->customize &&
        load_scaling_factors_read(&p->obj.meta.annotations, l->scratch, &unused, &err) < 0)
        KLOG_W("Ignoring an annotation that cannot be read", KV_S("namespace", p->obj.meta.ns),
               KV_S("pod", p->obj.meta.name), KV_S("annotation", ANNO_LOAD_SCALING_FACTORS),
               KV_S("err", err.text));
}

static struct load_node *put_on(struct loads *l, const struct pod *pod, const char *node)
{
    struct load_pod *p = xcalloc(1, sizeof *p + 2 * l->n * sizeof *p->v);
    struct load_node *n = node_get(l, node);

    p->uid = pod->obj.meta.uid;
    p->pod = kobj_ref((struct kobj *)&pod->obj);
    p->node = n;
    p->at = (uint32_t)n->pods.n;
    p->hash = name_hash(pod->obj.meta.name);
    p->timestamp = scheduled_at(l, pod);
    p->deadline = load_deadline(l, pod, p->timestamp);
    arena_reset(l->scratch);
    load_estimate(l, pod, l->scratch, p->v);
    p->flags |= load_class_of(pod) == LOAD_PROD ? LOAD_IS_PROD : 0;
    p->flags |= load_vector_is_empty(l, p->v) ? 0 : LOAD_ESTIMATED;
    vec_push(&n->pods, p);
    uidmap_put(&l->pods, p);
    if (n->metric)
        recount_pod(l, p, find_usage(nodemetric_of(n->metric), pod));
    return n;
}

/* Placeholders of reservations use nothing. */
static bool counts(const struct pod *p, const char *node)
{
    const char *reserve = kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVE_POD);

    return !str_empty(node) && !pod_is_terminal(p) && !(reserve && streq(reserve, "true"));
}

static void assign(struct loads *l, const struct pod *p, const char *node)
{
    struct load_pod *known = uidmap_get(&l->pods, p->obj.meta.uid);
    struct load_node *was = known ? detach(l, known) : NULL;
    struct load_node *is = counts(p, node) ? put_on(l, p, node) : NULL;

    if (is && !was)
        complain_of_factors(l, p);
    if (is)
        pods_changed(l, is);
    if (was && was != is)
        pods_changed(l, was);
}

static bool conditions_equal(const conditionlist *a, const conditionlist *b)
{
    bool equal = a->n == b->n;

    for (uint32_t i = 0; equal && i < a->n; i++) {
        const struct condition *x = &a->items[i], *y = &b->items[i];
        equal = x->status == y->status && x->last_transition_time == y->last_transition_time &&
                streq(str_or(x->type, ""), str_or(y->type, "")) &&
                streq(str_or(x->reason, ""), str_or(y->reason, "")) &&
                streq(str_or(x->message, ""), str_or(y->message, ""));
    }
    return equal;
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    assign(service, now, now->node_name);
}

/* Other labels and annotations make no difference. Equal specs are one, as long as one is held. */
static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    struct loads *l = service;
    const struct load_pod *known = uidmap_get(&l->pods, now->obj.meta.uid);
    const struct pod *had = known ? pod_of(known->pod) : NULL;

    (void)before;
    if (had && streq(known->node->name, str_or(now->node_name, "")) && had->spec == now->spec &&
        conditions_equal(&had->status.conditions, &now->status.conditions))
        return;
    assign(l, now, now->node_name);
}

static void on_gone(void *service, const struct pod *last)
{
    struct loads *l = service;
    struct load_pod *known = uidmap_get(&l->pods, last->obj.meta.uid);

    if (known)
        pods_changed(l, detach(l, known));
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    assign(service, p, node);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    struct loads *l = service;
    struct load_pod *known = uidmap_get(&l->pods, p->obj.meta.uid);

    if (known && streq(known->node->name, node))
        pods_changed(l, detach(l, known));
}

static const struct ks_pod_handler pod_handler = {
    .placed = on_placed,
    .changed = on_changed,
    .gone = on_gone,
    .assumed = on_assumed,
    .forgotten = on_forgotten,
};

/* ---- life ------------------------------------------------------------------------------------ */

static void loads_destroy(void *service)
{
    struct loads *l = service;

    if (l->listener.fn) {
        objects_unlisten(l->env.objects, &l->listener);
        objects_unlisten(l->env.objects, &l->slo_listener);
    }
    for (size_t it = 0; (service = uidmap_next(&l->pods, &it));) {
        kobj_unref(((struct load_pod *)service)->pod);
        free(service);
    }
    map_foreach(&l->nodes, e)
        node_free(e->value);
    uidmap_fini(&l->pods);
    map_fini(&l->nodes);
    loads_forget_wishes(l);
    arena_free(l->scratch);
    free(l);
}

static int loads_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct loads *l = xnew0(struct loads);
    struct kobj *o;

    l->env = *env;
    l->args = args;
    l->scratch = arena_new();
    int r = loads_init_names(l, err);
    if (r < 0) {
        loads_destroy(l);
        return r;
    }
    if (env->objects) {
        l->listener = (struct objects_listener){ &kind_nodemetric, on_metric, l, NULL };
        objects_listen(env->objects, &l->listener);
        l->slo_listener = (struct objects_listener){ &kind_nodeslo, on_slo, l, NULL };
        objects_listen(env->objects, &l->slo_listener);
        for (size_t it = 0; (o = objects_next(env->objects, &kind_nodemetric, &it));)
            on_metric(l, NULL, o);
    }
    *ret = l;
    return 0;
}

const struct ks_service loads_service = {
    .name = "LoadAwareScheduling",
    .create = loads_create,
    .destroy = loads_destroy,
    .per_args = true,
    .pods = &pod_handler,
    .paths = loads_paths,
};
