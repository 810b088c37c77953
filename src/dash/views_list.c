/* views_list.c - JSON of lists: one node with its pods and events, pods that wait, moves. */
#include "dash/views.h"

#include "api/event.h"
#include "api/koord/nodeslo.h"
#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"
#include "api/pod.h"
#include "json/kj.h"

/* Times are seconds since 1970; 0: none. */
static void put_wall(struct kjw *w, const char *key, nsec_t wall)
{
    kjw_i64(w, key, wall / NSEC_PER_SEC);
}

/* ---- the first so many of a list ------------------------------------------------------------- */

/* The k smallest of any number, without sorting all of them. */
struct smallest {
    void **items;
    size_t n, max;
    int (*cmp)(const void *a, const void *b); /* of two pointers */
};

static void smallest_add(struct smallest *s, void *item)
{
    size_t lo = 0, hi = s->n;

    if (s->n == s->max && s->cmp(item, s->items[s->n - 1]) >= 0)
        return;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->cmp(item, s->items[mid]) < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    size_t kept = s->n == s->max ? s->n - 1 : s->n;
    memmove(s->items + lo + 1, s->items + lo, (kept - lo) * sizeof *s->items);
    s->items[lo] = item;
    s->n = kept + 1;
}

static int by_key(const struct kobj *a, const struct kobj *b)
{
    int c = strcmp(str_or(a->meta.ns, ""), str_or(b->meta.ns, ""));
    return c ? c : strcmp(a->meta.name, b->meta.name);
}

/* ---- a node ---------------------------------------------------------------------------------- */

struct node_pod {
    const struct dash_pod *p;
    struct dash_pod_use u;
};

static int by_use(const void *x, const void *y)
{
    const struct node_pod *a = x, *b = y;

    if (a->u.used.mcpu != b->u.used.mcpu)
        return a->u.used.mcpu > b->u.used.mcpu ? -1 : 1;
    return by_key(&a->p->obj, &b->p->obj);
}

static void put_node_pod(struct kjw *w, const struct node_pod *np)
{
    kjw_obj(w, NULL);
    kjw_str(w, "ns", np->u.ns);
    kjw_str(w, "name", np->u.name);
    kjw_str(w, "qos", qos_class_name(np->u.qos));
    kjw_str(w, "class", priority_class_name(np->u.priority));
    kjw_str(w, "phase", np->p->obj.meta.deleted ? "Terminating" : pod_phase_names[np->p->phase]);
    kjw_bool(w, "measured", np->u.is_measured);
    view_amount(w, "used", np->u.used);
    view_amount(w, "requested", np->u.requested);
    view_amount(w, "batch", np->u.batch_requested);
    kjw_end(w);
}

static void put_node_pods(struct kjw *w, const struct row *r)
{
    size_t n = r->pods.n;
    CLEANUP(mem_free) struct node_pod *pods = xnewn0(n + 1, struct node_pod);

    for (size_t i = 0; i < n; i++)
        pods[i] = (struct node_pod){ r->pods.items[i], dash_pod_use(r->pods.items[i], r) };
    qsort(pods, n, sizeof *pods, by_use);
    kjw_arr(w, "pods");
    for (size_t i = 0; i < MIN(n, (size_t)VIEW_PODS); i++)
        put_node_pod(w, &pods[i]);
    kjw_end(w);
}

static void put_figures(struct kjw *w, const struct dash_node *n)
{
    static const char *const users[] = { "prod", "mid", "batchUsed", "system" };

    kjw_bool(w, "fresh", n->is_fresh);
    kjw_bool(w, "ready", n->is_ready);
    kjw_bool(w, "unschedulable", n->is_unschedulable);
    put_wall(w, "reported", n->reported);
    kjw_i64(w, "podCount", n->pods);
    view_amount(w, "capacity", n->capacity);
    view_amount(w, "allocatable", n->allocatable);
    view_amount(w, "used", n->used);
    view_amount(w, "requested", n->requested);
    view_amount(w, "batchAllocatable", n->batch_allocatable);
    view_amount(w, "batchRequested", n->batch_requested);
    for (int i = 0; i < DASH_USERS; i++)
        view_amount(w, users[i], n->by_user[i]);
    kjw_arr(w, "qos");
    for (int q = QOS_NONE; q < QOS_COUNT; q++) {
        if (!n->by_qos[q].mcpu && !n->by_qos[q].bytes)
            continue;
        kjw_obj(w, NULL);
        kjw_str(w, "name", q == QOS_NONE ? "none" : qos_class_name((enum qos_class)q));
        view_amount(w, "used", n->by_qos[q]);
        kjw_end(w);
    }
    kjw_end(w);
}

/* What cannot be read is said beside what can. */
static void put_problem(struct kjw *w, const char *key, const struct informer *inf)
{
    struct dash_source s = dash_source_of(inf);

    if (s.state == DASH_WELL || s.state == DASH_LISTING)
        return;
    kjw_obj(w, key);
    kjw_str(w, "resource", s.resource);
    kjw_str(w, "group", s.group);
    kjw_str(w, "problem", s.problem);
    kjw_end(w);
}

static void put_slo(struct kjw *w, const struct informer *inf)
{
    size_t it = 0;
    struct kobj *o = informer_next(inf, &it);

    put_problem(w, "sloProblem", inf);
    if (!o)
        return;
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;
    kj_encode(&nodeslo_spec_schema, &nodeslo_of(o)->spec, &spec);
    kjw_raw(w, "slo", spec.data, spec.len);
}

static nsec_t event_at(const struct event *e)
{
    nsec_t at = e->series ? e->series->last_observed_time : e->last_timestamp;
    return at ? at : e->event_time ? e->event_time : e->obj.meta.created;
}

static const struct event *event_of(const struct kobj *o)
{
    return container_of(o, const struct event, obj);
}

static int newest_first(const void *x, const void *y)
{
    nsec_t a = event_at(event_of(x)), b = event_at(event_of(y));
    return a != b ? (a > b ? -1 : 1) : by_key(x, y);
}

static void put_event(struct kjw *w, const struct event *e)
{
    int32_t times = e->series ? e->series->count : e->count;

    kjw_obj(w, NULL);
    put_wall(w, "at", event_at(e));
    kjw_str(w, "type", str_or(e->type, ""));
    kjw_str(w, "reason", str_or(e->reason, ""));
    kjw_str(w, "text", str_or(e->note, ""));
    kjw_str(w, "from",
            *str_or(e->reporting_controller, "") ? e->reporting_controller
                                                 : str_or(e->source.component, ""));
    kjw_i64(w, "count", MAX(times, 1));
    kjw_end(w);
}

static void put_events(struct kjw *w, const struct informer *inf)
{
    void *items[VIEW_EVENTS + 1];
    struct smallest newest = { items, 0, VIEW_EVENTS, newest_first };
    size_t it = 0;

    put_problem(w, "eventsProblem", inf);
    /* A pod may be called like a node. */
    for (struct kobj *o; (o = informer_next(inf, &it));)
        if (streq(str_or(event_of(o)->regarding.kind, ""), "Node"))
            smallest_add(&newest, o);
    kjw_arr(w, "events");
    for (size_t i = 0; i < newest.n; i++)
        put_event(w, event_of(newest.items[i]));
    kjw_end(w);
}

void view_node(struct dash *d, const char *name, const struct nodeview *nv, struct strbuf *out)
{
    struct row *r = dash_row(d, name);
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "name", name);
    kjw_bool(&w, "found", r != NULL);
    if (r) {
        put_figures(&w, &r->n);
        put_node_pods(&w, r);
        put_slo(&w, nodeview_slo(nv));
        put_events(&w, nodeview_events(nv));
        kjw_bool(&w, "listing",
                 dash_source_of(nodeview_slo(nv)).state == DASH_LISTING ||
                     dash_source_of(nodeview_events(nv)).state == DASH_LISTING);
    }
    kjw_end(&w);
}

/* ---- pods that wait -------------------------------------------------------------------------- */

struct reason {
    const struct dash_pod *first;
    size_t count;
};

static int oldest_first(const void *x, const void *y)
{
    const struct dash_pod *a = x, *b = y;
    nsec_t t = a->obj.meta.created, u = b->obj.meta.created;
    return t != u ? (t < u ? -1 : 1) : by_key(&a->obj, &b->obj);
}

static int commonest_first(const void *x, const void *y)
{
    const struct reason *a = x, *b = y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    int c = strcmp(a->first->reason, b->first->reason);
    return c ? c : strcmp(a->first->text, b->first->text);
}

static void put_reasons(struct kjw *w, struct map *reasons)
{
    void *items[VIEW_REASONS + 1];
    struct smallest most = { items, 0, VIEW_REASONS, commonest_first };

    map_foreach(reasons, e)
        smallest_add(&most, e->value);
    kjw_arr(w, "reasons");
    for (size_t i = 0; i < most.n; i++) {
        const struct reason *r = most.items[i];
        kjw_obj(w, NULL);
        kjw_str(w, "reason", r->first->reason);
        kjw_str(w, "text", r->first->text);
        kjw_i64(w, "count", (int64_t)r->count);
        kjw_end(w);
    }
    kjw_end(w);
    map_foreach(reasons, e)
        free(e->value);
    map_fini(reasons);
}

/* Pods with one text are one line: 5,000 replicas wait for the same reason. */
static void count_reason(struct map *reasons, const struct dash_pod *p)
{
    const char *key = *p->text ? p->text : p->reason;
    struct reason *r = map_getz(reasons, key);

    if (!r) {
        r = xnew0(struct reason);
        r->first = p;
        map_putz(reasons, key, r);
    }
    r->count++;
}

static void put_waiting(struct kjw *w, const struct dash_pod *p)
{
    bool batch = p->batch_requested.mcpu || p->batch_requested.bytes;

    kjw_obj(w, NULL);
    kjw_str(w, "ns", p->obj.meta.ns);
    kjw_str(w, "name", p->obj.meta.name);
    put_wall(w, "since", p->obj.meta.created);
    kjw_str(w, "qos", qos_class_name(p->qos));
    kjw_i64(w, "priority", p->priority_value);
    kjw_str(w, "reason", p->reason);
    kjw_str(w, "text", p->text);
    kjw_bool(w, "isBatch", batch);
    view_amount(w, "requested", batch ? p->batch_requested : p->requested);
    kjw_end(w);
}

void view_pending(struct dash *d, struct strbuf *out)
{
    void *items[VIEW_PODS + 1];
    struct smallest oldest = { items, 0, VIEW_PODS, oldest_first };
    struct map reasons = { 0 };
    struct kjw w = kjw_to(out);

    vec_foreach(&d->waiting, i) {
        smallest_add(&oldest, d->waiting.items[i]);
        count_reason(&reasons, d->waiting.items[i]);
    }
    kjw_obj(&w, NULL);
    kjw_i64(&w, "total", (int64_t)d->waiting.n);
    put_reasons(&w, &reasons);
    kjw_arr(&w, "pods");
    for (size_t i = 0; i < oldest.n; i++)
        put_waiting(&w, oldest.items[i]);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- Reservations and PodMigrationJobs ------------------------------------------------------- */

static int youngest_first(const void *x, const void *y)
{
    const struct kobj *a = x, *b = y;

    if (a->meta.created != b->meta.created)
        return a->meta.created > b->meta.created ? -1 : 1;
    return by_key(a, b);
}

static void put_resources(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    reslist_encode(l, &json);
    kjw_raw(w, key, json.data, json.len);
}

static void put_reservation(struct kjw *w, const struct kobj *o)
{
    const struct reservation *r = reservation_of(o);
    uint8_t phase = r->status.phase ? r->status.phase : RESERVATION_PENDING;

    kjw_obj(w, NULL);
    kjw_str(w, "name", o->meta.name);
    kjw_str(w, "phase", reservation_phase_names[phase]);
    kjw_str(w, "node", str_or(r->status.node_name, ""));
    put_wall(w, "since", o->meta.created);
    kjw_i64(w, "owners", r->status.current_owners.n);
    put_resources(w, "allocatable", &r->status.allocatable);
    put_resources(w, "allocated", &r->status.allocated);
    kjw_end(w);
}

static void put_migration(struct kjw *w, const struct kobj *o)
{
    const struct podmigrationjob *j = podmigrationjob_of(o);
    uint8_t phase = j->status.phase ? j->status.phase : MIGRATION_PENDING;

    kjw_obj(w, NULL);
    kjw_str(w, "name", o->meta.name);
    kjw_str(w, "phase", migration_phase_names[phase]);
    kjw_str(w, "ns", j->spec.pod_ref ? str_or(j->spec.pod_ref->ns, "") : "");
    kjw_str(w, "pod", j->spec.pod_ref ? str_or(j->spec.pod_ref->name, "") : "");
    kjw_str(w, "mode", str_or(j->spec.mode, ""));
    kjw_str(w, "node", str_or(j->status.node_name, ""));
    kjw_str(w, "reason", str_or(j->status.reason, ""));
    kjw_str(w, "text", str_or(j->status.message, ""));
    put_wall(w, "since", o->meta.created);
    kjw_end(w);
}

static void put_moves(struct kjw *w, const char *key, const struct informer *inf,
                      void (*put)(struct kjw *w, const struct kobj *o))
{
    void *items[VIEW_MOVES + 1];
    struct smallest youngest = { items, 0, VIEW_MOVES, youngest_first };
    size_t it = 0;

    for (struct kobj *o; inf && (o = informer_next(inf, &it));)
        smallest_add(&youngest, o);
    kjw_obj(w, key);
    kjw_i64(w, "total", inf ? (int64_t)informer_count(inf) : 0);
    kjw_arr(w, "items");
    for (size_t i = 0; i < youngest.n; i++)
        put(w, youngest.items[i]);
    kjw_end(w);
    kjw_end(w);
}

void view_moves(struct dash *d, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    put_moves(&w, "reservations", d->source[SOURCE_RESERVATIONS], put_reservation);
    put_moves(&w, "migrations", d->source[SOURCE_MIGRATIONS], put_migration);
    kjw_end(&w);
}
