/* run_descheduler.c - the descheduler: order of pods, rounds of LowNodeLoad. */
#include "api/koord/nodemetric.h"
#include "base/intern.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/vec.h"
#include "descheduler/framework/evictor.h"
#include "descheduler/framework/podsort.h"
#include "descheduler/plugins/lownodeload/lownodeload.h"
#include "descheduler/plugins/plugins.h"
#include "runners.h"

typedef struct vec_of(struct kobj *) objects;

static int decode_all(const struct kj_val *list, const struct kind *k, struct kj_scratch *scratch,
                      objects *out, struct kerr *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < kj_len(list); i++) {
        struct kobj *o = NULL;
        r = kobj_decode(k, kj_at(list, i), scratch, &o, err);
        if (r == 0)
            vec_push(out, o);
    }
    return r;
}

static void objects_clear(objects *l)
{
    vec_foreach(l, i)
        kobj_unref(l->items[i]);
    vec_fini(l);
}

static const char *key_of(const struct pod *p, char *buf, size_t n)
{
    (void)kobj_key(&p->obj, buf, n);
    return buf;
}

/* ---- sorter ----------------------------------------------------------------------------------- */

struct excess {
    const char **names;
    int64_t *amounts, *weights, *usage;
    uint32_t n;
};

static int read_amount(const char *name, const struct kj_val *v, int64_t *ret, struct kerr *err)
{
    struct qty q = { 0 };
    const char *text = kj_str(v);

    if (text && qty_parse(text, strlen(text), &q, err) < 0)
        return err->code;
    *ret = resource_count(name, q);
    return 0;
}

static int read_excess(const struct kj_val *in, struct arena *a, struct excess *x, struct kerr *err)
{
    const struct kj_val *exceeded = kj_get(in, "exceeded"), *weights = kj_get(in, "weights"), *v;
    struct kj_iter it = kj_iter(exceeded);
    size_t n = kj_len(exceeded);
    struct str key;

    x->names = arena_newn0(a, n, const char *);
    x->amounts = arena_newn0(a, n, int64_t);
    x->weights = arena_newn0(a, n, int64_t);
    x->usage = arena_newn0(a, n, int64_t);
    while (kj_next(&it, &key, &v)) {
        uint32_t i = x->n++;
        x->names[i] = arena_strndup(a, key.p, key.n);
        (void)kj_i64(kj_getn(weights, key.p, key.n), &x->weights[i]);
        if (read_amount(x->names[i], v, &x->amounts[i], err) < 0)
            return err->code;
    }
    return 0;
}

static int set_score(const struct kj_val *usage, struct excess *x, struct podrank *rank,
                     struct kerr *err)
{
    if (!usage)
        return 0;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct kj_val *v = kj_get(usage, x->names[i]);
        x->usage[i] = -1;
        if (v && read_amount(x->names[i], v, &x->usage[i], err) < 0)
            return err->code;
    }
    rank->has_score = true;
    rank->score = lnl_usage_score(x->usage, x->amounts, x->weights, x->n);
    return 0;
}

static int sort_pods(const struct kj_val *in, const objects *pods, struct arena *a,
                     struct strbuf *got, struct kerr *err)
{
    struct podrank *all = arena_newn0(a, pods->n, struct podrank);
    struct excess x = { 0 };
    char key[KOBJ_KEY_MAX];
    struct kjw w = kjw_to(got);

    if (read_excess(in, a, &x, err) < 0)
        return err->code;
    vec_foreach(pods, i) {
        all[i] = podrank_of(pod_of(pods->items[i]));
        const struct kj_val *usage =
            kj_get(kj_get(in, "usage"), key_of(all[i].pod, key, sizeof key));
        if (kj_get(in, "exceeded") && set_score(usage, &x, &all[i], err) < 0)
            return err->code;
    }
    podrank_sort(all, pods->n);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "order");
    vec_foreach(pods, i)
        kjw_str(&w, NULL, key_of(all[i].pod, key, sizeof key));
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

static int run_sorter(const struct kj_val *in, struct arena *a, struct strbuf *got,
                      struct kerr *err)
{
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    objects pods = { 0 };
    int r = decode_all(kj_get(in, "pods"), &kind_pod, scratch, &pods, err);

    if (r == 0)
        r = sort_pods(in, &pods, a, got, err);
    objects_clear(&pods);
    kj_scratch_free(scratch);
    intern_free(strings);
    return r;
}

/* ---- LowNodeLoad ------------------------------------------------------------------------------ */

struct rounds {
    const struct kj_val *in;
    struct kjw *w;
    struct kj_mval *metrics; /* as of the last round that gave them */
};

static bool is_listed(const struct kj_val *list, const struct pod *p)
{
    char key[KOBJ_KEY_MAX];

    (void)kobj_key(&p->obj, key, sizeof key);
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_at(list, i), ""), key))
            return true;
    return false;
}

static bool stub_filter(void *self, const struct kd_view *v, const struct pod *p,
                        struct kd_why *why)
{
    const struct rounds *x = self;

    (void)v;
    return !is_listed(kj_get(x->in, "notEvictable"), p) || kd_no(why, "not evictable");
}

struct evicted {
    char *pod, *reason;
};
typedef struct vec_of(struct evicted) evictions;
struct stub {
    struct rounds *rounds;
    evictions evicted;
};

static bool stub_evict(void *self, const struct kd_view *v, const struct pod *p,
                       const struct kd_eviction *e, struct kd_why *why)
{
    struct stub *s = self;
    char key[KOBJ_KEY_MAX];

    (void)v;
    if (is_listed(kj_get(s->rounds->in, "refused"), p))
        return kd_no(why, "refused");
    struct evicted x = { xstrdup(key_of(p, key, sizeof key)), xstrdup(e->reason) };
    vec_push(&s->evicted, x);
    return true;
}

static const struct kd_plugin filter_plugin = { .name = "filter", .filter = stub_filter };
static const struct kd_plugin evict_plugin = { .name = "evict", .evict = stub_evict };

static void write_class(struct kjw *w, const struct lnl_round *r, enum lnl_class class)
{
    kjw_arr(w, lnl_class_names[class]);
    for (uint32_t i = 0; i < r->nnodes; i++)
        if (r->nodes[i].usable && r->nodes[i].class == class)
            kjw_str(w, NULL, r->nodes[i].name);
    kjw_end(w);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct lnl_node *const *)a)->name, (*(struct lnl_node *const *)b)->name);
}

static void write_nodes(struct kjw *w, const char *key, const struct lnl_nodes *l)
{
    if (l->n == 0)
        return;
    CLEANUP(mem_free) struct lnl_node **sorted = xmemdup(l->items, l->n * sizeof *l->items);
    qsort(sorted, l->n, sizeof *sorted, by_name);
    kjw_arr(w, key);
    for (size_t i = 0; i < l->n; i++)
        kjw_str(w, NULL, sorted[i]->name);
    kjw_end(w);
}

static void write_pool(void *arg, const struct lnl_outcome *o)
{
    struct kjw *w = arg;

    kjw_obj(w, NULL);
    kjw_str(w, "name", o->pool->pool->name);
    for (int i = LNL_LOW; i < LNL_CLASSES; i++)
        write_class(w, o->pool, (enum lnl_class)i);
    write_nodes(w, "abnormal", o->abnormal);
    write_nodes(w, "prodAbnormal", o->prod_abnormal);
    kjw_end(w);
}

static void write_evicted(struct kjw *w, evictions *l)
{
    kjw_arr(w, "evicted");
    vec_foreach(l, i) {
        kjw_obj(w, NULL);
        kjw_str(w, "pod", l->items[i].pod);
        kjw_str(w, "reason", l->items[i].reason);
        kjw_end(w);
        free(l->items[i].pod);
        free(l->items[i].reason);
    }
    vec_fini(l);
    kjw_end(w);
}

static void run_plugin(void *self, struct kd_evictor *ev, const struct kd_view *v)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n = kd_view_count(v);
    struct kd_round round = { .view = v, .now = kd_view_time(v), .arena = a, .evictor = ev };
    uint32_t *nodes = arena_newn0(a, n, uint32_t);
    struct kerr err = { 0 };

    for (uint32_t i = 0; i < n; i++)
        nodes[i] = i;
    round.nodes = nodes;
    round.nnodes = n;
    while (plugin_lownodeload.balance(self, &round, &err) > 0)
        continue;
}

/* The reports of the round before, as if they were made now. */
static void renew(struct kj_mdoc *doc, struct kj_mval *metrics, const char *now)
{
    for (size_t i = 0; i < kj_mlen(metrics); i++) {
        struct kj_mval *status = kj_mget(kj_mat(metrics, i), "status");
        if (status && kj_mget(status, "updateTime"))
            kj_mset(doc, status, "updateTime", kj_mstr(doc, now));
    }
}

static int one_round(struct rounds *x, struct lnl *plugin, const struct kj_val *round,
                     struct kj_mdoc *doc, const objects *fixed, struct kj_scratch *scratch,
                     struct kerr *err)
{
    const char *now = kj_str_or(kj_get(round, "now"), "");
    objects metrics = { 0 }, all = { 0 };
    struct kd_limits none = { 0 };
    CLEANUP(limiter_free) struct limiter *limiter = limiter_new();
    struct kd_shared shared = { .limiter = limiter };
    struct stub stub = { .rounds = x };
    struct instance filter = { &filter_plugin, x }, evict = { &evict_plugin, &stub };
    struct instance *filters[] = { &filter };
    struct kd_evictor ev = {
        .shared = &shared, .profile = "golden", .filters = filters, .nfilters = 1, .evict = &evict
    };
    struct kd_view_opts o = { .not_ready = true };

    if (ktime_parse(now, strlen(now), &o.now, err) < 0)
        return err->code;
    limiter_set(limiter, &none);
    if (kj_get(round, "nodeMetrics"))
        x->metrics = kj_mcopy(doc, kj_get(round, "nodeMetrics"));
    else
        renew(doc, x->metrics, now);
    CLEANUP(kj_doc_free) struct kj_doc *frozen = kj_freeze(x->metrics);
    int r = decode_all(kj_root(frozen), &kind_nodemetric, scratch, &metrics, err);
    if (r == 0) {
        vec_foreach(fixed, i)
            vec_push(&all, fixed->items[i]);
        vec_foreach(&metrics, i)
            vec_push(&all, metrics.items[i]);
        o.objects = (const struct kobj *const *)all.items;
        o.nobjects = all.n;
        struct kd_view *v = kd_view_new(&o);
        kjw_obj(x->w, NULL);
        kjw_arr(x->w, "pools");
        plugin->outcome_arg = x->w;
        run_plugin(plugin, &ev, v);
        kjw_end(x->w);
        write_evicted(x->w, &stub.evicted);
        kjw_end(x->w);
        kd_view_free(v);
    }
    vec_fini(&all);
    objects_clear(&metrics);
    return r;
}

static int decode_args(const struct kj_val *in, struct arena *a, void **ret, struct kerr *err)
{
    const struct kd_args *t = plugin_lownodeload.args;
    const struct kd_args_context c = { 0 };

    *ret = arena_zalloc(a, t->schema->size);
    int r = kj_decode(t->schema, kj_get(in, "args"), KJ_STRICT, a, *ret, err);
    if (r < 0)
        return r;
    kj_default(t->schema, a, *ret);
    t->fill(*ret, &c, a);
    return t->check(*ret, a, err);
}

static int run_lownodeload(const struct kj_val *in, struct arena *a, struct strbuf *got,
                           struct kerr *err)
{
    struct kjw w = kjw_to(got);
    void *args = NULL, *self = NULL;

    if (decode_args(in, a, &args, err) < 0) {
        kjw_obj(&w, NULL);
        kjw_str(&w, "error", err->text);
        kjw_end(&w);
        return 0;
    }
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *doc = kj_mdoc_new();
    struct rounds x = { .in = in, .w = &w };
    const struct kj_val *rounds = kj_get(in, "rounds");
    objects fixed = { 0 };
    int r = plugin_lownodeload.create(NULL, args, &self, err);

    if (r == 0)
        r = decode_all(kj_get(in, "nodes"), &kind_node, scratch, &fixed, err);
    if (r == 0)
        r = decode_all(kj_get(in, "pods"), &kind_pod, scratch, &fixed, err);
    struct lnl *plugin = self;
    plugin->outcome = write_pool;
    kjw_obj(&w, NULL);
    kjw_arr(&w, "rounds");
    for (size_t i = 0; r == 0 && i < kj_len(rounds); i++)
        r = one_round(&x, plugin, kj_at(rounds, i), doc, &fixed, scratch, err);
    kjw_end(&w);
    kjw_end(&w);
    plugin_lownodeload.destroy(self);
    objects_clear(&fixed);
    kj_scratch_free(scratch);
    intern_free(strings);
    return r;
}

static bool is_empty(const struct kj_val *v)
{
    return !v || kj_type(v) == KJ_NULL || (kj_type(v) == KJ_ARR && kj_len(v) == 0);
}

/* Absent, null and empty lists are the same. */
static bool same_lists(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter it;
    struct str key;
    const struct kj_val *v;

    if (is_empty(out) || is_empty(got))
        return is_empty(out) && is_empty(got);
    if (kj_type(out) == KJ_ARR) {
        bool same = kj_type(got) == KJ_ARR && kj_len(out) == kj_len(got);
        for (size_t i = 0; same && i < kj_len(out); i++)
            same = same_lists(kj_at(out, i), kj_at(got, i));
        return same;
    }
    if (kj_type(out) != KJ_OBJ || kj_type(got) != KJ_OBJ)
        return kj_equal(out, got);
    if (kj_get(out, "error"))
        return kj_get(got, "error") != NULL;
    it = kj_iter(out);
    while (kj_next(&it, &key, &v))
        if (!same_lists(v, kj_getn(got, key.p, key.n)))
            return false;
    it = kj_iter(got);
    while (kj_next(&it, &key, &v))
        if (!is_empty(v) && !kj_getn(out, key.p, key.n))
            return false;
    return true;
}

const struct golden_runner golden_descheduler[] = {
    { "lownodeload", run_lownodeload, same_lists },
    { "sorter", run_sorter, NULL },
    { "filter", golden_migration_filter, golden_migration_filter_same },
    { "arbitrate", golden_migration_arbitrate, NULL },
    { NULL, NULL, NULL },
};
