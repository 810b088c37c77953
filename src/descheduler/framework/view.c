/* view.c - nodes, pods and objects of one moment. */
#include "descheduler/framework/view.h"

#include "api/podresources.h"
#include "api/protocol/cpu.h"
#include "api/selector/selector.h"
#include "base/cpuset.h"
#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "controllers/caches.h"

struct slot { /* a node */
    struct kd_node n;
    struct kobj *held;
    const struct pod **all, **active; /* one array when no pod has ended */
    uint32_t nall, nactive;
    bool loaded;
    int64_t *requested; /* by resource; those beyond are 0. NULL: not summed up yet */
    uint32_t nrequested;
};
/* What follows from a spec; pods of one workload share theirs. */
struct specinfo {
    const struct pod_spec *key;
    struct kd_amounts requests;
    struct kd_where where;
    bool has_requests, has_where;
};
struct group { /* of objects that were given: the pods of a node */
    struct vec_of(const struct pod *) pods;
};
struct kd_view {
    struct kd_view_opts o;
    struct arena *arena;
    struct slot *slots;
    uint32_t n;
    struct map by_name; /* of nodes: struct slot */
    struct map specs;   /* struct specinfo, by the address of the spec */
    struct map resources;
    struct vec_of(const char *) resource_names;
    uint32_t pods_resource;
    kobjvec held;
    struct map groups; /* struct group, by node; only of given objects */
};

/* ---- adapted nodes and pods ------------------------------------------------------------------- */

const char *kd_pod_scheduler(const struct pod *p)
{
    const char *name = kstrmap_get(&p->obj.meta.labels, LABEL_SCHEDULER_NAME);
    return str_empty(name) ? p->spec->scheduler_name : name;
}

static bool is_batch(const char *name)
{
    return streq(name, RES_BATCH_CPU) || streq(name, RES_BATCH_MEMORY);
}

/* A list of CPUs counts instead of a number of them. */
static struct qty reserved_of(const struct node_reservation *r, const char *name)
{
    struct cpuset cpus;

    if (streq(name, "cpu") && *r->reserved_cpus &&
        cpuset_parse(r->reserved_cpus, strlen(r->reserved_cpus), &cpus, NULL) == 0)
        return qty_from_i64(cpuset_count(&cpus), QTY_DECIMAL_SI);
    return reslist_get(&r->resources, name);
}

/* What the annotation takes is not there; a bad annotation takes nothing. */
static reslist adapted_allocatable(const struct node *n, struct arena *a)
{
    struct node_reservation r;
    reslist l;

    reslist_rename_old(&n->status.allocatable, a, &l);
    if (node_reservation_read(&n->obj.meta.annotations, a, &r, NULL) <= 0 ||
        r.apply_policy != NODE_RESERVATION_DEFAULT)
        return l;
    reslist out = { arena_newn0(a, l.n, struct resqty), l.n };
    for (uint32_t i = 0; i < l.n; i++) {
        struct resqty *e = &out.items[i];
        *e = l.items[i];
        if (is_batch(e->name))
            continue;
        struct qty rest = qty_sub(e->value, reserved_of(&r, e->name));
        e->value = qty_sign(rest) < 0 ? qty_from_i64(0, (enum qty_format)e->value.format) : rest;
    }
    return out;
}

/* ---- making ----------------------------------------------------------------------------------- */

static bool is_ready(const struct node *n)
{
    const struct condition *c = condition_find(&n->status.conditions, "Ready");
    return !c || c->status == COND_TRUE;
}

static bool is_shown(const struct kd_view_opts *o, const struct node *n)
{
    if (!o->not_ready && !is_ready(n))
        return false;
    return !o->include || labelsel_matches(o->include, &n->obj.meta.labels);
}

static int by_node_name(const void *a, const void *b)
{
    return strcmp((*(struct kobj *const *)a)->meta.name, (*(struct kobj *const *)b)->meta.name);
}

static void add_nodes(struct kd_view *v, kobjvec *nodes)
{
    if (nodes->n)
        qsort(nodes->items, nodes->n, sizeof *nodes->items, by_node_name);
    v->n = (uint32_t)nodes->n;
    v->slots = xnewn0(nodes->n ? nodes->n : 1, struct slot);
    map_reserve(&v->by_name, nodes->n);
    vec_foreach(nodes, i) {
        struct slot *s = &v->slots[i];
        s->held = kobj_ref(nodes->items[i]);
        s->n.node = node_of(s->held);
        s->n.name = s->held->meta.name;
        s->n.ready = is_ready(s->n.node);
        s->n.allocatable = adapted_allocatable(s->n.node, v->arena);
        map_putz(&v->by_name, s->n.name, s);
    }
}

static void add_given_pod(struct kd_view *v, const struct pod *p)
{
    struct group *g = map_getz(&v->groups, p->node_name);

    if (!g) {
        g = arena_new0(v->arena, struct group);
        map_putz(&v->groups, p->node_name, g);
    }
    vec_push(&g->pods, p);
}

static struct kobj *unconst(const struct kobj *o)
{
    struct kobj *p;
    memcpy(&p, &o, sizeof p);
    return p;
}

static void collect(struct kd_view *v, kobjvec *nodes)
{
    const struct kd_view_opts *o = &v->o;
    size_t it = 0;
    struct kobj *obj;

    for (size_t i = 0; i < o->nobjects; i++) {
        const struct kobj *x = o->objects[i];
        if (x->kind == &kind_node && is_shown(o, node_of(x)))
            vec_push(nodes, unconst(x));
        else if (x->kind == &kind_pod)
            add_given_pod(v, pod_of(x));
    }
    while (o->nodes && (obj = informer_next(o->nodes, &it)))
        if (is_shown(o, node_of(obj)))
            vec_push(nodes, obj);
}

struct kd_view *kd_view_new(const struct kd_view_opts *o)
{
    struct kd_view *v = xnew0(struct kd_view);
    kobjvec nodes = { 0 };

    v->o = *o;
    v->arena = arena_new();
    v->pods_resource = kd_view_resource(v, "pods");
    collect(v, &nodes);
    add_nodes(v, &nodes);
    vec_fini(&nodes);
    return v;
}

static void slot_fini(struct slot *s, bool holds_pods)
{
    for (uint32_t i = 0; holds_pods && i < s->nall; i++)
        kobj_unref(unconst(&s->all[i]->obj));
    if (s->active != s->all)
        free(s->active);
    free(s->all);
    free(s->requested);
    kobj_unref(s->held);
}

struct kd_view *kd_view_free(struct kd_view *v)
{
    if (!v)
        return NULL;
    for (uint32_t i = 0; i < v->n; i++)
        slot_fini(&v->slots[i], v->o.pods != NULL);
    map_foreach(&v->groups, e)
        vec_fini(&((struct group *)e->value)->pods);
    vec_foreach(&v->held, i)
        kobj_unref(v->held.items[i]);
    vec_fini(&v->held);
    free(v->slots);
    map_fini(&v->groups);
    map_fini(&v->by_name);
    map_fini(&v->specs);
    map_fini(&v->resources);
    vec_fini(&v->resource_names);
    arena_free(v->arena);
    free(v);
    return NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

nsec_t kd_view_time(const struct kd_view *v)
{
    return v->o.now;
}

uint32_t kd_view_count(const struct kd_view *v)
{
    return v->n;
}

const struct kd_node *kd_view_node(const struct kd_view *v, uint32_t i)
{
    return &v->slots[i].n;
}

int64_t kd_view_find(const struct kd_view *v, const char *name)
{
    const struct slot *s = map_getz(&v->by_name, name);
    return s ? s - v->slots : -1;
}

int64_t kd_view_node_of(const struct kd_view *v, const struct pod *p)
{
    return *p->node_name ? kd_view_find(v, p->node_name) : -1;
}

/* ---- pods ------------------------------------------------------------------------------------- */

static int by_pod_name(const void *a, const void *b)
{
    const struct objmeta *x = &(*(const struct pod *const *)a)->obj.meta;
    const struct objmeta *y = &(*(const struct pod *const *)b)->obj.meta;
    int r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->name, y->name);
}

static void take_given(const struct kd_view *v, struct slot *s)
{
    const struct group *g = map_getz(&v->groups, s->n.name);

    if (!g)
        return;
    s->nall = (uint32_t)g->pods.n;
    s->all = xmemdup(g->pods.items, g->pods.n * sizeof *g->pods.items);
    qsort(s->all, s->nall, sizeof *s->all, by_pod_name);
}

static void take_cached(const struct kd_view *v, struct slot *s)
{
    kobjvec pods = { 0 };

    objects_by(v->o.pods, index_pod_node, s->n.name, &pods);
    s->nall = (uint32_t)pods.n;
    s->all = xnewn0(pods.n ? pods.n : 1, const struct pod *);
    vec_foreach(&pods, i)
        s->all[i] = pod_of(kobj_ref(pods.items[i]));
    vec_fini(&pods);
}

static struct slot *load(const struct kd_view *v, uint32_t i)
{
    struct slot *s = &v->slots[i];
    uint32_t n = 0;

    if (s->loaded)
        return s;
    s->loaded = true;
    if (v->o.pods)
        take_cached(v, s);
    else
        take_given(v, s);
    for (uint32_t j = 0; j < s->nall; j++)
        n += !pod_is_terminal(s->all[j]);
    s->active = s->all;
    s->nactive = n;
    if (n == s->nall)
        return s;
    s->active = xnewn0(n ? n : 1, const struct pod *);
    n = 0;
    for (uint32_t j = 0; j < s->nall; j++)
        if (!pod_is_terminal(s->all[j]))
            s->active[n++] = s->all[j];
    return s;
}

struct kd_pods kd_view_pods(const struct kd_view *v, uint32_t i)
{
    const struct slot *s = load(v, i);
    return (struct kd_pods){ s->all, s->nall };
}

struct kd_pods kd_view_active(const struct kd_view *v, uint32_t i)
{
    const struct slot *s = load(v, i);
    return (struct kd_pods){ s->active, s->nactive };
}

/* ---- amounts ---------------------------------------------------------------------------------- */

static struct kd_view *writable(const struct kd_view *v) /* memos are filled while reading */
{
    struct kd_view *w;
    memcpy(&w, &v, sizeof w);
    return w;
}

uint32_t kd_view_resource(const struct kd_view *cv, const char *name)
{
    struct kd_view *v = writable(cv);
    uintptr_t known = (uintptr_t)map_getz(&v->resources, name);

    if (known)
        return (uint32_t)known - 1;
    const char *copy = arena_strdup(v->arena, name);
    vec_push(&v->resource_names, copy);
    map_putz(&v->resources, copy, (void *)(uintptr_t)v->resource_names.n);
    return (uint32_t)v->resource_names.n - 1;
}

const char *kd_view_resource_name(const struct kd_view *v, uint32_t resource)
{
    return v->resource_names.items[resource];
}

static struct specinfo *info_of(const struct kd_view *cv, const struct pod *p)
{
    struct kd_view *v = writable(cv);
    struct specinfo *s = map_get(&v->specs, (const char *)&p->spec, sizeof p->spec);

    if (s)
        return s;
    s = arena_new0(v->arena, struct specinfo);
    s->key = p->spec;
    map_put(&v->specs, (const char *)&s->key, sizeof s->key, s);
    return s;
}

struct kd_amounts kd_view_requests(const struct kd_view *v, const struct pod *p)
{
    struct specinfo *s = info_of(v, p);
    reslist l;

    if (s->has_requests)
        return s->requests;
    reslist given = pod_requests(p, NULL, v->arena);
    reslist_rename_old(&given, v->arena, &l);
    struct kd_amount *items = arena_newn0(v->arena, l.n, struct kd_amount);
    for (uint32_t i = 0; i < l.n; i++)
        items[i] =
            (struct kd_amount){ kd_view_resource(v, l.items[i].name), qty_milli(l.items[i].value) };
    s->requests = (struct kd_amounts){ items, l.n };
    s->has_requests = true;
    return s->requests;
}

/* Of the pods' resources alone: whatever gets a number later is asked for by none of them. */
static void sum_requests(const struct kd_view *v, struct slot *s)
{
    uint32_t cap = (uint32_t)v->resource_names.n;

    for (uint32_t i = 0; i < s->nactive; i++)
        (void)kd_view_requests(v, s->active[i]);
    cap = MAX(cap, (uint32_t)v->resource_names.n);
    s->requested = xnewn0(cap, int64_t);
    s->nrequested = cap;
    for (uint32_t i = 0; i < s->nactive; i++) {
        struct kd_amounts a = kd_view_requests(v, s->active[i]);
        for (uint32_t j = 0; j < a.n; j++) {
            int64_t *sum = &s->requested[a.items[j].resource];
            *sum = i64_add_sat(*sum, a.items[j].milli);
        }
    }
    s->requested[v->pods_resource] = (int64_t)s->nactive * 1000;
}

int64_t kd_view_requested(const struct kd_view *v, uint32_t i, uint32_t resource)
{
    struct slot *s = load(v, i);

    if (!s->requested)
        sum_requests(v, s);
    return resource < s->nrequested ? s->requested[resource] : 0;
}

int64_t kd_view_allocatable(const struct kd_view *v, uint32_t i, uint32_t resource)
{
    return qty_milli(reslist_get(&v->slots[i].n.allocatable, kd_view_resource_name(v, resource)));
}

/* ---- where a pod may go ----------------------------------------------------------------------- */

static void compile_apart(struct kd_where *w, const struct pod_affinity *anti, struct arena *a)
{
    struct kd_apart *items = arena_newn0(a, anti->required.n, struct kd_apart);

    for (uint32_t i = 0; i < anti->required.n; i++) {
        struct labelsel *sel = NULL;
        items[i].term = &anti->required.items[i];
        if (labelsel_from(items[i].term->label_selector, a, &sel, NULL) == 0)
            items[i].selector = sel;
    }
    w->apart = items;
    w->napart = anti->required.n;
}

const struct kd_where *kd_view_where(const struct kd_view *v, const struct pod *p)
{
    struct specinfo *s = info_of(v, p);
    const struct pod_spec *spec = p->spec;

    if (s->has_where)
        return &s->where;
    s->has_where = true;
    if (spec->node_selector.n)
        s->where.selector = labelsel_from_map(&spec->node_selector, v->arena);
    if (spec->affinity && spec->affinity->node && spec->affinity->node->required)
        s->where.required = nodesel_from(spec->affinity->node->required, v->arena);
    if (spec->affinity && spec->affinity->pod_anti)
        compile_apart(&s->where, spec->affinity->pod_anti, v->arena);
    return &s->where;
}

/* ---- other objects ---------------------------------------------------------------------------- */

static const struct kobj *given_object(const struct kd_view *v, const struct kind *k,
                                       const char *key)
{
    char mine[KOBJ_KEY_MAX];

    for (size_t i = 0; i < v->o.nobjects; i++) {
        const struct kobj *o = v->o.objects[i];
        if (o->kind != k)
            continue;
        (void)kobj_key(o, mine, sizeof mine);
        if (streq(mine, key))
            return o;
    }
    return NULL;
}

const struct kobj *kd_view_object(const struct kd_view *v, const struct kind *k, const char *key)
{
    if (!v->o.caches)
        return given_object(v, k, key);
    return informer_get(caches_get(v->o.caches, k), key);
}

const struct kobj *kd_view_hold(const struct kd_view *cv, const struct kobj *o)
{
    struct kd_view *v = writable(cv);

    if (o)
        vec_push(&v->held, kobj_ref(unconst(o)));
    return o;
}

const struct kobj *kd_view_next(const struct kd_view *v, const struct kind *k, size_t *it)
{
    if (v->o.caches)
        return informer_next(caches_get(v->o.caches, k), it);
    while (*it < v->o.nobjects) {
        const struct kobj *o = v->o.objects[(*it)++];
        if (o->kind == k)
            return o;
    }
    return NULL;
}
