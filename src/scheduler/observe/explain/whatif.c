/* whatif.c - an attempt on a cluster made of objects, told node by node. */
#include "scheduler/observe/explain/whatif.h"

#include "api/kobj.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/model/objects.h"
#include "scheduler/observe/debug.h"
#include "scheduler/observe/explain/missing.h"
#include "json/kj.h"

struct whatif {
    struct nodecache *cache;
    struct nominator *nominator;
    struct objects *objects;
    struct service_table *services;
    struct ks_env env;
    struct profile *profile;
    struct vec_of(struct kobj *) pods; /* services are told of them with the first question */
    struct kobj *pod;                  /* of the last question */
    struct attempt attempt;
    struct arena *arena;
    const struct kind *kinds[SCHEDULER_KINDS_MAX]; /* that plugins read */
    unsigned nkinds;
};

static bool somebody_reads(const struct whatif *w, const struct kind *k)
{
    for (unsigned i = 0; i < w->nkinds; i++)
        if (w->kinds[i] == k)
            return true;
    return false;
}

/* Each kind once, in the order in which plugins name them. */
static void note_kinds(struct whatif *w)
{
    for (uint32_t i = 0; i < w->profile->n; i++)
        for (const struct kind *const *k = w->profile->slots[i].plugin->kinds; k && *k; k++)
            if (!somebody_reads(w, *k) &&
                ks_reads_kind(w->profile->slots[i].plugin, *k, w->env.gates)) {
                assert(w->nkinds < SCHEDULER_KINDS_MAX);
                w->kinds[w->nkinds++] = *k;
            }
}

const struct kind *whatif_kind(const struct whatif *w, unsigned i)
{
    return i < w->nkinds ? w->kinds[i] : NULL;
}

struct whatif *whatif_new(const struct profile_config *c, const struct ks_registered *table,
                          struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *w = xnew0(struct whatif);

    w->nominator = nominator_new();
    w->objects = objects_new();
    w->cache = nodecache_new(w->objects);
    w->services = service_table_new();
    w->env = (struct ks_env){ .objects = w->objects,
                              .nodes = nodecache_nodes(w->cache),
                              .service_table = w->services,
                              .network_topology = true };
    w->arena = arena_new();
    w->profile = profile_new(c, table, &w->env, err);
    if (!w->profile)
        return NULL;
    note_kinds(w);
    return take(w);
}

struct whatif *whatif_free(struct whatif *w)
{
    if (!w)
        return NULL;
    attempt_end(&w->attempt);
    kobj_unref(w->pod);
    vec_foreach(&w->pods, i)
        kobj_unref(w->pods.items[i]);
    vec_fini(&w->pods);
    profile_free(w->profile);
    service_table_free(w->services);
    nominator_free(w->nominator);
    nodecache_free(w->cache);
    objects_free(w->objects);
    arena_free(w->arena);
    free(w);
    return NULL;
}

static int add_pod(struct whatif *w, struct kobj *o, struct kerr *err)
{
    const struct pod *p = pod_of(o);

    if (kuid_is_empty(o->meta.uid))
        return kerr_set(err, -EINVAL, "pod %s/%s has no uid", o->meta.ns, o->meta.name);
    if (pod_is_terminal(p))
        return 0;
    vec_push(&w->pods, kobj_ref(o));
    services_tell(w->services, NULL, p);
    if (!str_empty(p->node_name))
        nodecache_put_pod(w->cache, o);
    else
        nominator_set(w->nominator, o, p->status.nominated_node_name);
    return 0;
}

/* The pod that stands for the object, if there is one. */
static int add_placeholder(struct whatif *w, const struct kobj *o, struct kerr *err)
{
    const struct service_instance *i = service_table_first(w->services);
    CLEANUP(kobj_unref) struct kobj *pod = NULL;

    while (i && !(i->key->placeholder && i->key->placeholder->kind == o->kind))
        i = i->next;
    pod = i ? i->key->placeholder->pod(i->self, o) : NULL;
    return pod ? add_pod(w, pod, err) : 0;
}

int whatif_add(struct whatif *w, struct kobj *o, struct kerr *err)
{
    attempt_end(&w->attempt);
    if (o->kind == &kind_pod)
        return add_pod(w, o, err);
    if (o->kind == &kind_node) {
        nodecache_put_node(w->cache, o);
        services_tell_node(w->services, NULL, node_of(o));
    } else if (somebody_reads(w, o->kind)) {
        objects_put(w->objects, o);
        return add_placeholder(w, o, err);
    }
    return 0;
}

/* ---- one node -------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* As plugins have said it: two reservations may be short of the same. */
static const char **sorted(struct ks_texts *t, uint32_t *ret_n)
{
    if (t->n)
        qsort(t->items, t->n, sizeof *t->items, by_text);
    *ret_n = t->n;
    return t->items;
}

static int by_plugin(const void *a, const void *b)
{
    return strcmp(((const struct whatif_score *)a)->plugin,
                  ((const struct whatif_score *)b)->plugin);
}

static void tell_scores(struct whatif *w, uint32_t row, struct whatif_node *n)
{
    const struct attempt *a = &w->attempt;

    n->total = a->total[row];
    n->scores = arena_newn0(w->arena, a->profile->n, struct whatif_score);
    for (uint32_t i = 0; i < a->profile->n; i++)
        if (a->scored >> i & 1)
            n->scores[n->nscores++] =
                (struct whatif_score){ a->profile->slots[i].plugin->name, a->score[i][row],
                                       a->profile->slots[i].weight };
    if (n->nscores)
        qsort(n->scores, n->nscores, sizeof *n->scores, by_plugin);
}

static const char *tell_details(struct whatif *w, uint32_t row)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw out = kjw_to(&text);

    kjw_obj(&out, NULL);
    attempt_show(&w->attempt, row, &out);
    kjw_end(&out);
    return arena_strdup(w->arena, strbuf_str(&text));
}

/* All that pods of the node request: a pod that holds room for others in full, and these too. */
static void sum_requests(struct whatif *w, const struct ks_podlist *pods, struct whatif_node *n)
{
    struct requests r;

    for (uint32_t i = 0; i < pods->n; i++) {
        requests_accounted(pods->items[i], w->arena, &r);
        n->used_mcpu += r.fixed[KS_MCPU];
        n->used_memory += r.fixed[KS_MEMORY];
    }
}

static void tell_reservations(struct whatif *w, uint32_t row, struct whatif_node *n)
{
    const struct ks_cycle *c = &w->attempt.cycle;
    const struct ks_reservation *r;

    if (w->attempt.code != KS_SUCCESS) {
        sum_requests(w, &c->nodes->pods[row], n);
        return;
    }
    n->used_mcpu = c->nodes->used[KS_MCPU][row];
    n->used_memory = c->nodes->used[KS_MEMORY][row];
    for (uint32_t i = 0; ks_usable(c, row, i); i++)
        n->nusable++;
    n->usable = arena_newn0(w->arena, n->nusable, const char *);
    for (uint32_t i = 0; (r = ks_usable(c, row, i)); i++)
        n->usable[i] = r->name;
}

static void tell_node(struct whatif *w, uint32_t row, uint8_t *scratch, struct whatif_node *n)
{
    struct ks_texts texts = { .arena = w->arena };

    n->name = nodecache_row_name(w->cache, row);
    n->code = attempt_code(&w->attempt, row);
    n->details = tell_details(w, row);
    tell_reservations(w, row, n);
    if (n->code == KS_SUCCESS) {
        tell_scores(w, row, n);
        return;
    }
    n->plugin = attempt_plugin(&w->attempt, row);
    attempt_texts(&w->attempt, row, &texts);
    n->reasons = sorted(&texts, &n->nreasons);
    n->changes = missing_find(&w->attempt, row, scratch, &n->nchanges);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct whatif_node *)a)->name, ((const struct whatif_node *)b)->name);
}

static void find_best(struct whatif *w, struct whatif_result *r)
{
    int64_t best = INT64_MIN;

    r->best = arena_newn0(w->arena, r->nnodes, const char *);
    for (uint32_t i = 0; i < r->nnodes; i++)
        if (r->nodes[i].code == KS_SUCCESS && r->nodes[i].total > best)
            best = r->nodes[i].total;
    for (uint32_t i = 0; i < r->nnodes; i++)
        if (r->nodes[i].code == KS_SUCCESS && r->nodes[i].total == best)
            r->best[r->nbest++] = r->nodes[i].name;
}

static const char *message(struct whatif *w)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (w->attempt.n == 0)
        return "no nodes available to schedule pods";
    attempt_message(&w->attempt, &b);
    return arena_strdup(w->arena, strbuf_str(&b));
}

static void tell_gates(struct whatif *w, struct whatif_result *r)
{
    struct ks_texts why = { .arena = w->arena };
    int slot = profile_pre_enqueue(w->profile, pod_of(w->pod), &why);

    if (slot < 0)
        return;
    r->held_by = w->profile->slots[slot].plugin->name;
    r->held_reasons = sorted(&why, &r->nheld_reasons);
}

static void tell_services(struct whatif *w)
{
    struct service_pod *pods = arena_newn0(w->arena, w->pods.n, struct service_pod);

    for (size_t i = 0; i < w->pods.n; i++)
        pods[i].pod = pod_of(w->pods.items[i]);
    if (services_wait_for_pods(w->services))
        services_tell_all(w->services, pods, w->pods.n);
}

void *whatif_service(struct whatif *w, const struct ks_service *key)
{
    const struct service_instance *i = service_table_first(w->services);

    attempt_end(&w->attempt);
    tell_services(w);
    while (i && i->key != key)
        i = i->next;
    return i ? i->self : NULL;
}

static void set_pod(struct whatif *w, struct kobj *pod)
{
    attempt_end(&w->attempt);
    kobj_ref(pod);
    kobj_unref(w->pod);
    w->pod = pod;
    arena_reset(w->arena);
    tell_services(w);
    if (!kuid_is_empty(pod->meta.uid) && nodecache_remove_pod(w->cache, pod->meta.uid))
        services_tell_gone(w->services, pod_of(pod));
}

struct attempt *whatif_begin(struct whatif *w, struct kobj *pod, nsec_t now)
{
    set_pod(w, pod);
    attempt_init(&w->attempt,
                 &(struct attempt_input){ .profile = w->profile,
                                          .cache = w->cache,
                                          .nominator = w->nominator,
                                          .objects = w->objects,
                                          .pod = pod,
                                          .now = now },
                 w->arena);
    attempt_prepare(&w->attempt);
    return &w->attempt;
}

int whatif_explain(struct whatif *w, struct kobj *pod, nsec_t now, struct whatif_result *ret,
                   struct kerr *err)
{
    struct attempt *a = &w->attempt;
    struct whatif_result r = { 0 };

    set_pod(w, pod);
    attempt_init(a,
                 &(struct attempt_input){ .profile = w->profile,
                                          .cache = w->cache,
                                          .nominator = w->nominator,
                                          .objects = w->objects,
                                          .pod = pod,
                                          .now = now,
                                          .complete = true },
                 w->arena);
    if (a->n)
        attempt_filter(a);
    if (a->feasible)
        attempt_score(a);
    if (a->code == KS_ERROR)
        return kerr_set(err, -EIO, "%s", a->text);
    tell_gates(w, &r);
    r.nnodes = a->n;
    r.nodes = arena_newn0(w->arena, a->n, struct whatif_node);
    uint8_t *scratch = arena_zalloc(w->arena, 2 * (size_t)a->n);
    for (uint32_t i = 0; i < a->n; i++)
        tell_node(w, i, scratch, &r.nodes[i]);
    if (r.nnodes)
        qsort(r.nodes, r.nnodes, sizeof *r.nodes, by_name);
    if (a->feasible)
        find_best(w, &r);
    else
        r.message = message(w);
    *ret = r;
    return 0;
}

void whatif_write_scores(const struct whatif *w, unsigned max, struct strbuf *out)
{
    if (w->attempt.feasible)
        debug_score_table(&w->attempt, max, out);
}

/* ---- what the pod would get ------------------------------------------------------------------ */

struct placing { /* stands in for the engine's binding */
    struct ks_bind pub;
    struct whatif *w;
    struct vec_of(struct whatif_note) notes;
};

static void placing_write(struct ks_bind *b, bool label, const char *key, const char *value)
{
    struct placing *p = container_of(b, struct placing, pub);
    struct arena *a = p->w->arena;

    vec_push(&p->notes, ((struct whatif_note){ .label = label,
                                               .key = arena_strdup(a, key),
                                               .value = value ? arena_strdup(a, value) : NULL }));
}

static const struct ks_bind_ops placing_ops = { .write = placing_write };

/* The slot that refuses, or -1. */
static int try_pre_bind(struct whatif *w, const char *node, struct whatif_placement *ret,
                        struct ks_texts *why)
{
    const struct profile_point *point = &w->profile->points[KS_POINT_PRE_BIND];
    struct placing p = { .pub = { .pod = w->pod, .node = node, .ops = &placing_ops }, .w = w };
    int refused = -1;

    for (uint32_t i = 0; i < point->n && refused < 0; i++) {
        const struct profile_slot *s = &w->profile->slots[point->slots[i]];
        if (!s->plugin->pre_bind || s->plugin->pre_flight) /* that one needs a server */
            continue;
        ret->code = s->plugin->pre_bind(s->self, &p.pub, why);
        if (ret->code != KS_SUCCESS && ret->code != KS_SKIP)
            refused = point->slots[i];
    }
    ret->nnotes = (uint32_t)p.notes.n;
    ret->notes = arena_newn0(w->arena, p.notes.n, struct whatif_note);
    if (p.notes.n)
        memcpy(ret->notes, p.notes.items, p.notes.n * sizeof *ret->notes);
    vec_fini(&p.notes);
    return refused;
}

int whatif_place(struct whatif *w, const char *node, struct whatif_placement *ret, struct kerr *err)
{
    struct whatif_placement r = { .point = "Reserve" };
    struct ks_texts why = { .arena = w->arena };
    uint32_t row = ks_row_of(nodecache_nodes(w->cache), node);

    if (!w->pod || row == KS_NO_ROW)
        return kerr_set(err, -ENOENT, "there is no node %s", node);
    int slot = attempt_nominate(&w->attempt, row, &r.code, &why);
    const struct ks_reservation *of = slot < 0 ? ks_nominated(&w->attempt.cycle, row) : NULL;
    r.reservation = of ? of->name : NULL;
    if (slot < 0)
        slot = attempt_reserve(&w->attempt, row, &r.code, &why);
    if (slot < 0) {
        r.point = "PreBind";
        slot = try_pre_bind(w, nodecache_row_name(w->cache, row), &r, &why);
        profile_unreserve(w->profile, pod_of(w->pod), nodecache_row_name(w->cache, row), NULL);
    }
    r.plugin = slot < 0 ? NULL : w->profile->slots[slot].plugin->name;
    r.code = slot < 0 ? KS_SUCCESS : r.code;
    r.reasons = sorted(&why, &r.nreasons);
    *ret = r;
    return 0;
}

/* ---- making room ----------------------------------------------------------------------------- */

/* Terminating victims go by themselves. */
static void tell_plan(struct whatif *w, const struct preemption *plan,
                      struct whatif_preemption *ret)
{
    const struct pod **victims;
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n; i++)
        n += plan->nodes[i].n;
    ret->victims = victims = arena_newn0(w->arena, n, const struct pod *);
    for (uint32_t i = 0; i < plan->n; i++)
        for (uint32_t k = 0; k < plan->nodes[i].n; k++)
            if (!plan->nodes[i].victims[k]->obj.meta.deleted)
                victims[ret->n++] = plan->nodes[i].victims[k];
    const char *node = preemption_node_for(plan, w->pod->meta.uid);
    ret->node = node ? node : "";
}

int whatif_preempt(struct whatif *w, struct whatif_preemption *ret, struct kerr *err)
{
    struct whatif_preemption p = { .code = KS_UNSCHEDULABLE, .message = "", .node = "" };
    struct post_filter_result r;

    if (!w->pod || w->attempt.feasible)
        return kerr_set(err, -EINVAL, "there is no pod that fits nowhere");
    if (w->profile->points[KS_POINT_POST_FILTER].n == 0)
        return kerr_set(err, -ENOTSUP, "no plugin of profile %s makes room",
                        w->profile->scheduler_name);
    if (w->attempt.n) {
        post_filter_run(&w->attempt, NULL, &r);
        p.code = r.code;
        if (p.code == KS_SUCCESS)
            tell_plan(w, &r.plan, &p);
        else if (r.why.n)
            p.message = ks_texts_join(&r.why);
    }
    *ret = p;
    return 0;
}
