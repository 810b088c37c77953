/* aggregate.c - follows ClusterRoles; a turn after a change all aggregated ones are made again. */
#include "apiserver/authz/aggregate.h"

#include "apiserver/authz/rbac.h"
#include "apiserver/registry/internal.h"
#include "base/klog.h"

static const char roles_res[] = "clusterroles." RBAC_GROUP;

struct aggregate {
    struct apiserver *s;
    struct store_watch *watch;
    struct timer *timer; /* there is something to do */
};

struct parsed { /* all ClusterRoles, in the order of their names */
    struct vec_of(struct kj_doc *) docs;
    struct vec_of(uint64_t) revs;
};

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct parsed *p = arg;
    struct kj_doc *d = NULL;

    (void)k;
    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &d, NULL) == 0) {
        vec_push(&p->docs, d);
        vec_push(&p->revs, rev);
    }
    return true;
}

static void parsed_fini_p(struct parsed *p)
{
    vec_foreach(&p->docs, i)
        kj_doc_free(p->docs.items[i]);
    vec_fini(&p->docs);
    vec_fini(&p->revs);
}

static bool selects(const struct kj_val *selectors, const struct kj_val *role)
{
    for (size_t i = 0; i < kj_len(selectors); i++)
        if (selector_matches(kj_at(selectors, i), role))
            return true;
    return false;
}

static bool has_rule(const struct kj_mval *rules, const struct kj_mval *rule)
{
    for (size_t i = 0; i < kj_mlen(rules); i++)
        if (kj_mequal(kj_mat(rules, i), rule))
            return true;
    return false;
}

static void add_rules(struct kj_mdoc *d, struct kj_mval *rules, const struct kj_val *role)
{
    const struct kj_val *from = kj_get(role, "rules");

    for (size_t i = 0; i < kj_len(from); i++) {
        struct kj_mval *rule = kj_mcopy(d, kj_at(from, i));
        if (!has_rule(rules, rule))
            kj_mpush(rules, rule);
    }
}

static const char *name_of(const struct kj_val *role)
{
    return kj_str_or(kj_path(role, "metadata.name"), "");
}

static void on_put(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err && err->reason != KR_CONFLICT) /* somebody was faster: his change is an event too */
        KLOG_E(err, "Failed to store an aggregated ClusterRole");
}

/* The rules of role number i are those of the roles that it selects. */
static void make_role(struct aggregate *g, const struct parsed *p, size_t i)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    const struct kj_val *role = kj_root(p->docs.items[i]),
                        *selectors = kj_path(role, "aggregationRule.clusterRoleSelectors");
    const struct resource *r = res_table_find(g->s->resources, RBAC_GROUP, "v1", "clusterroles");
    struct kj_mval *obj = kj_mcopy(d, role), *rules = kj_marr(d);

    if (!kj_len(selectors) || !r || kj_path(role, "metadata.deletionTimestamp"))
        return;
    vec_foreach(&p->docs, k)
        if (k != i && selects(selectors, kj_root(p->docs.items[k])))
            add_rules(d, rules, kj_root(p->docs.items[k]));
    const struct kj_mval *now = kj_mget(obj, "rules");
    if ((!kj_mlen(now) && !kj_mlen(rules)) || kj_mequal(now, rules))
        return;
    kj_mset(d, obj, "rules", rules);
    object_write(r, obj, store_next_revision(g->s->store), &doc);
    const struct store_key key = { roles_res, "", name_of(role) };
    (void)store_put(g->s->store, &key, p->revs.items[i], doc.data, doc.len, on_put, NULL, NULL);
}

static void on_timer(struct loop *l, void *arg)
{
    struct aggregate *g = arg;
    __attribute__((cleanup(parsed_fini_p))) struct parsed p = { 0 };

    (void)l;
    g->timer = NULL;
    (void)store_list(g->s->store, roles_res, NULL, 0, NULL, on_item, &p, NULL);
    vec_foreach(&p.docs, i)
        make_role(g, &p, i);
}

static void wake(struct aggregate *g)
{
    if (!g->timer)
        g->timer = loop_after(g->s->loop, 0, on_timer, g);
}

static bool on_event(void *arg, const struct store_event *e)
{
    (void)e;
    wake(arg);
    return true;
}

static void follow(struct aggregate *g);

static void on_end(void *arg, const struct kerr *err)
{
    struct aggregate *g = arg;

    g->watch = NULL;
    if (err && err->reason == KR_EXPIRED)
        follow(g);
}

static void follow(struct aggregate *g)
{
    static const struct store_watch_handler h = { on_event, NULL, on_end };
    struct store *st = g->s->store;
    struct kerr err = { 0 };

    if (store_watch(st, roles_res, NULL, store_revision(st), &h, g, &g->watch, &err) < 0)
        KLOG_E(&err, "Failed to follow ClusterRoles");
    wake(g);
}

struct aggregate *aggregate_start(struct apiserver *s)
{
    struct aggregate *g = xnew0(struct aggregate);

    g->s = s;
    follow(g);
    return g;
}

struct aggregate *aggregate_stop(struct aggregate *g)
{
    if (!g)
        return NULL;
    store_unwatch(g->watch);
    timer_cancel(g->timer);
    free(g);
    return NULL;
}
