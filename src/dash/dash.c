/* dash.c - informers feed rows; rows give sums; each minute the sums are kept. */
#include "dash/dash_int.h"

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"
#include "api/node.h"
#include "api/pod.h"
#include "client/kube.h"
#include "dash/amount.h"
#include "loop/loop.h"

#define MINUTE (60 * NSEC_PER_SEC)
enum { NOWHERE = UINT32_MAX }; /* slot of a pod that is in no list */

/* ---- rows ------------------------------------------------------------------------------------ */

static struct row *row_make(struct dash *d, const char *name)
{
    struct row *r = map_getz(&d->rows, name);

    if (r)
        return r;
    size_t n = strlen(name);
    r = xcalloc(1, sizeof *r + n + 1);
    memcpy(r->name, name, n);
    r->n.name = r->name;
    map_put(&d->rows, r->name, n, r);
    return r;
}

static void row_free(struct row *r)
{
    kobj_unref(r->node);
    kobj_unref(r->metric);
    vec_fini(&r->pods);
    free(r);
}

static void row_touch(struct dash *d, struct row *r)
{
    r->is_dirty = d->is_dirty = true;
    if (r->node || r->metric || r->pods.n)
        return;
    map_removez(&d->rows, r->name);
    row_free(r);
}

static void row_take_node(struct row *r, const struct node *n)
{
    r->n.capacity = amount_of(&n->status.capacity, "cpu", "memory");
    r->n.allocatable = amount_of(&n->status.allocatable, "cpu", "memory");
    r->n.batch_allocatable = amount_of(&n->status.allocatable, RES_BATCH_CPU, RES_BATCH_MEMORY);
    r->n.is_ready = condition_is_true(&n->status.conditions, "Ready");
    r->n.is_unschedulable = n->spec.unschedulable;
}

static void row_refresh(struct row *r, bool is_fresh)
{
    r->n = (struct dash_node){ .name = r->name, .is_fresh = is_fresh };
    if (r->node)
        row_take_node(r, node_of(r->node));
    if (r->metric)
        r->n.reported = dash_metric_of(r->metric)->reported;
    if (is_fresh) {
        const struct dash_metric *m = dash_metric_of(r->metric);
        r->n.used = m->used;
        memcpy(r->n.by_user, m->by_user, sizeof r->n.by_user);
        memcpy(r->n.by_qos, m->by_qos, sizeof r->n.by_qos);
    }
    vec_foreach(&r->pods, i) {
        amount_add(&r->n.requested, r->pods.items[i]->requested);
        amount_add(&r->n.batch_requested, r->pods.items[i]->batch_requested);
    }
    r->n.pods = (uint32_t)r->pods.n;
}

static void sums_add(struct dash_sums *s, const struct dash_node *n)
{
    s->nodes++;
    if (!n->is_fresh)
        return;
    s->reporting++;
    amount_add(&s->capacity, n->capacity);
    amount_add(&s->used, n->used);
    for (int i = 0; i < DASH_USERS; i++)
        amount_add(&s->by_user[i], n->by_user[i]);
    amount_add(&s->batch_allocatable, n->batch_allocatable);
    amount_add(&s->batch_requested, n->batch_requested);
}

/* A NodeMetric grows old without any news, so all rows are looked at: 5,000 take 0.1 ms. */
void dash_settle(struct dash *d)
{
    nsec_t now = loop_wall(d->loop);
    struct dash_sums s = { .pods = d->placed + (uint32_t)d->waiting.n,
                           .pending = (uint32_t)d->waiting.n };

    if (!d->is_dirty && d->settled_at == now)
        return;
    d->generation++;
    map_foreach(&d->rows, e) {
        struct row *r = e->value;
        nsec_t reported = r->metric ? dash_metric_of(r->metric)->reported : 0;
        bool is_fresh = reported && now - reported < DASH_FRESH;
        if (r->is_dirty || is_fresh != r->n.is_fresh) {
            row_refresh(r, is_fresh);
            r->is_dirty = false;
            r->changed = d->generation;
        }
        if (r->node)
            sums_add(&s, &r->n);
    }
    d->sums = s;
    d->settled_at = now;
    d->is_dirty = false;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool is_terminal(const struct dash_pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static void list_add(dash_podvec *l, struct dash_pod *p)
{
    p->slot = (uint32_t)l->n;
    vec_push(l, p);
}

static void list_remove(dash_podvec *l, struct dash_pod *p)
{
    assert(l->items[p->slot] == p);
    struct dash_pod *last = vec_last(l);
    l->items[p->slot] = last;
    last->slot = p->slot;
    l->n--;
}

static void pod_take(struct dash *d, struct dash_pod *p)
{
    p->slot = NOWHERE;
    if (is_terminal(p))
        return;
    d->is_dirty = true;
    if (!*p->node) {
        list_add(&d->waiting, p);
        d->waiting_gen++;
        return;
    }
    struct row *r = row_make(d, p->node);
    list_add(&r->pods, p);
    d->placed++;
    row_touch(d, r);
}

static void pod_drop(struct dash *d, struct dash_pod *p)
{
    if (p->slot == NOWHERE)
        return;
    d->is_dirty = true;
    if (!*p->node) {
        list_remove(&d->waiting, p);
        d->waiting_gen++;
        return;
    }
    struct row *r = row_make(d, p->node);
    list_remove(&r->pods, p);
    d->placed--;
    row_touch(d, r);
}

static void pod_added(void *arg, struct kobj *obj)
{
    pod_take(arg, dash_pod_of(obj));
}

static void pod_updated(void *arg, struct kobj *old, struct kobj *obj)
{
    pod_drop(arg, dash_pod_of(old));
    pod_take(arg, dash_pod_of(obj));
}

static void pod_deleted(void *arg, struct kobj *obj)
{
    pod_drop(arg, dash_pod_of(obj));
}

/* ---- nodes, NodeMetrics ---------------------------------------------------------------------- */

static void node_set(struct dash *d, const char *name, struct kobj *obj)
{
    struct row *r = row_make(d, name);

    d->members_gen += !r->node != !obj;
    kobj_unref(r->node);
    r->node = obj ? kobj_ref(obj) : NULL;
    row_touch(d, r);
}

static void metric_set(struct dash *d, const char *name, struct kobj *obj)
{
    struct row *r = row_make(d, name);

    kobj_unref(r->metric);
    r->metric = obj ? kobj_ref(obj) : NULL;
    row_touch(d, r);
}

static void node_added(void *arg, struct kobj *obj)
{
    node_set(arg, obj->meta.name, obj);
}

static void node_updated(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    node_set(arg, obj->meta.name, obj);
}

static void node_deleted(void *arg, struct kobj *obj)
{
    node_set(arg, obj->meta.name, NULL);
}

static void metric_added(void *arg, struct kobj *obj)
{
    metric_set(arg, obj->meta.name, obj);
}

static void metric_updated(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    metric_set(arg, obj->meta.name, obj);
}

static void metric_deleted(void *arg, struct kobj *obj)
{
    metric_set(arg, obj->meta.name, NULL);
}

/* ---- Reservations, PodMigrationJobs: the view reads the caches ------------------------------- */

static void move_changed(void *arg, struct kobj *obj)
{
    (void)obj;
    ((struct dash *)arg)->moves_gen++;
}

static void move_updated(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    move_changed(arg, obj);
}

/* ---- sources --------------------------------------------------------------------------------- */

static const struct informer_handler handlers[SOURCES] = {
    [SOURCE_NODES] = { node_added, node_updated, node_deleted, NULL },
    [SOURCE_METRICS] = { metric_added, metric_updated, metric_deleted, NULL },
    [SOURCE_PODS] = { pod_added, pod_updated, pod_deleted, NULL },
    [SOURCE_RESERVATIONS] = { move_changed, move_updated, move_changed, NULL },
    [SOURCE_MIGRATIONS] = { move_changed, move_updated, move_changed, NULL },
};

static struct informer_opts source_opts(int i, const struct dash_opts *o)
{
    switch (i) {
    case SOURCE_NODES: return (struct informer_opts){ .kind = &dash_node_kind };
    case SOURCE_METRICS:
        return (struct informer_opts){ .kind = &dash_metric_source, .reduce = dash_metric_reduce };
    case SOURCE_PODS:
        return (struct informer_opts){ .kind = &kind_pod, .ns = o->ns, .reduce = dash_pod_reduce };
    case SOURCE_RESERVATIONS: return (struct informer_opts){ .kind = &kind_reservation };
    default: return (struct informer_opts){ .kind = &kind_podmigrationjob };
    }
}

static void start_sources(struct dash *d, const struct dash_opts *o)
{
    for (int i = 0; i < SOURCES; i++) {
        if ((i == SOURCE_PODS && o->no_pods) || (i >= SOURCE_RESERVATIONS && o->no_moves))
            continue;
        const struct informer_opts of = source_opts(i, o);
        d->source[i] = informer_new(d->kube, &of);
        informer_add_handler(d->source[i], &handlers[i], d);
        informer_start(d->source[i]);
    }
}

struct dash_source dash_source_of(const struct informer *inf)
{
    const struct kind *k = informer_kind(inf);
    const char *problem = informer_problem(inf);
    struct dash_source s = { k->plural, k->group, DASH_WELL, str_or(problem, "") };

    if (!problem) {
        s.state = informer_synced(inf) ? DASH_WELL : DASH_LISTING;
        return s;
    }
    switch (informer_problem_reason(inf)) {
    case KR_UNAUTHORIZED:
    case KR_FORBIDDEN: s.state = DASH_FORBIDDEN; break;
    case KR_NOT_FOUND: s.state = DASH_ABSENT; break;
    case KR_GONE:
    case KR_EXPIRED: s.state = DASH_LISTING; break; /* the server is well */
    default: s.state = DASH_LOST;
    }
    return s;
}

bool dash_source(const struct dash *d, size_t i, struct dash_source *ret)
{
    for (int k = 0; k < SOURCES; k++) {
        if (!d->source[k] || i-- > 0)
            continue;
        *ret = dash_source_of(d->source[k]);
        return true;
    }
    return false;
}

bool dash_settled(const struct dash *d)
{
    struct dash_source s;

    for (size_t i = 0; dash_source(d, i, &s); i++)
        if (s.state == DASH_LISTING || s.state == DASH_LOST)
            return false;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct dash_sums dash_sums(struct dash *d)
{
    dash_settle(d);
    return d->sums;
}

size_t dash_minutes(const struct dash *d, size_t max, struct dash_minute *ret)
{
    size_t n = MIN(max, d->series.n), from = d->series.n - n;

    for (size_t i = 0; i < n; i++)
        ret[i] = *series_at(&d->series, from + i);
    return n;
}

struct row *dash_row(struct dash *d, const char *name)
{
    dash_settle(d);
    struct row *r = map_getz(&d->rows, name);
    return r && r->node ? r : NULL;
}

const struct dash_node *dash_node(struct dash *d, const char *name)
{
    struct row *r = dash_row(d, name);
    return r ? &r->n : NULL;
}

const struct dash_node *dash_next_node(struct dash *d, size_t *it)
{
    dash_settle(d);
    for (struct map_entry *e; (e = map_next(&d->rows, it));) {
        const struct row *r = e->value;
        if (r->node)
            return &r->n;
    }
    return NULL;
}

struct dash_pod_use dash_pod_use(const struct dash_pod *p, const struct row *r)
{
    const struct dash_metric *m = r && r->n.is_fresh ? dash_metric_of(r->metric) : NULL;
    const struct dash_pod_metric *pm = m ? metric_find(m, p->obj.meta.ns, p->obj.meta.name) : NULL;

    return (struct dash_pod_use){
        .ns = p->obj.meta.ns,
        .name = p->obj.meta.name,
        .node = p->node,
        .requested = p->requested,
        .batch_requested = p->batch_requested,
        .used = pm ? pm->used : (struct dash_amount){ 0, 0 },
        .qos = p->qos,
        .priority = p->priority,
        .is_measured = pm != NULL,
    };
}

void dash_each_pod(struct dash *d, dash_pod_fn fn, void *arg)
{
    dash_settle(d);
    vec_foreach(&d->waiting, i) {
        const struct dash_pod_use u = dash_pod_use(d->waiting.items[i], NULL);
        fn(arg, &u);
    }
    map_foreach(&d->rows, e) {
        const struct row *r = e->value;
        vec_foreach(&r->pods, i) {
            const struct dash_pod_use u = dash_pod_use(r->pods.items[i], r);
            fn(arg, &u);
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

/* At the end of each minute of the wall clock, so that runs of several processes line up. */
static void on_minute(struct loop *l, void *arg);

static void arm_minute(struct dash *d)
{
    d->minute = loop_after(d->loop, MINUTE - loop_wall(d->loop) % MINUTE, on_minute, d);
}

static void on_minute(struct loop *l, void *arg)
{
    struct dash *d = arg;

    dash_settle(d);
    /* The minute that has just ended; of a cluster nobody has told us about there is nothing to
     * keep. */
    if (d->sums.nodes)
        series_put(&d->series, loop_wall(l) - NSEC_PER_SEC, &d->sums);
    arm_minute(d);
}

struct dash *dash_new(struct kube *k, const struct dash_opts *o)
{
    struct dash *d = xnew0(struct dash);

    d->kube = k;
    d->loop = k->loop;
    d->is_dirty = true;
    start_sources(d, o);
    arm_minute(d);
    return d;
}

struct dash *dash_free(struct dash *d)
{
    if (!d)
        return NULL;
    timer_cancel(d->minute);
    /* Rows first: their pods belong to the informers. */
    map_foreach(&d->rows, e)
        row_free(e->value);
    map_fini(&d->rows);
    vec_fini(&d->waiting);
    for (int i = 0; i < SOURCES; i++)
        informer_free(d->source[i]);
    series_fini(&d->series);
    free(d);
    return NULL;
}
