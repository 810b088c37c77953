/* quota.c - the step, accounting of what is stored, counting anew. */
#include "apiserver/admission/quota.h"

#include "apiserver/registry/internal.h"
#include "base/klog.h"

#define QUOTAS      "resourcequotas"
#define COUNT_EVERY (300 * NSEC_PER_SEC)

struct quotas {
    struct apiserver *s;
    struct timer *recount;
    bool soon; /* the timer runs because something failed */
};

/* ---- reading quotas -------------------------------------------------------------------------- */

struct one_quota {
    const char *ns, *name;
    uint64_t rev;
    struct kj_doc *doc;
};
struct quota_list vec_of(struct one_quota);

struct reading {
    struct quota_list list;
    struct arena *a;
};

static bool on_quota(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct reading *x = arg;
    struct one_quota q = { arena_strdup(x->a, k->ns), arena_strdup(x->a, k->name), rev, NULL };

    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &q.doc, NULL) == 0)
        vec_push(&x->list, q);
    return true;
}

/* Newest versions, in the order of their names. ns NULL: of all namespaces. */
static struct quota_list quotas_of(const struct quotas *q, const char *ns, struct arena *a)
{
    struct reading x = { .a = a };

    (void)store_list_latest(q->s->store, QUOTAS, ns, on_quota, &x, NULL);
    return x.list;
}

static void list_fini(struct quota_list *l)
{
    vec_foreach(l, i)
        kj_doc_free(l->items[i].doc);
    vec_fini(l);
}
static inline void list_fini_p(struct quota_list *l)
{
    list_fini(l);
}

bool quotas_concern(const struct quotas *q, const struct store_key *k)
{
    return q && *k->ns && (streq(k->res, QUOTAS) || store_has_latest(q->s->store, QUOTAS, k->ns));
}

/* ---- writing quotas -------------------------------------------------------------------------- */

static void on_timer(struct loop *l, void *arg)
{
    struct quotas *q = arg;

    (void)l;
    q->recount = NULL;
    q->soon = false;
    quotas_count_all(q);
}

static void count_within(struct quotas *q, nsec_t delay, bool soon)
{
    if (q->recount && (!soon || q->soon))
        return;
    timer_cancel(q->recount);
    q->soon = soon;
    q->recount = loop_after(q->s->loop, delay, on_timer, q);
}

static void on_written(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)rev;
    if (err)
        count_within(arg, NSEC_PER_SEC, true);
}

/* status.used becomes this, and status.hard what the spec says. */
static void write_status(struct quotas *q, const struct one_quota *o,
                         const struct quota_usage *used)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct resource *r = res_table_find(q->s->resources, "", "v1", QUOTAS);
    struct kj_mval *obj = kj_mcopy(d, kj_root(o->doc)), *status = kj_mobj(d), *list = kj_mobj(d);
    const struct kj_val *hard = kj_path(kj_root(o->doc), "spec.hard");
    struct store_key k = { QUOTAS, o->ns, o->name };
    struct kerr err = { 0 };

    for (size_t i = 0; i < used->n; i++)
        kj_mset(d, list, used->items[i].name,
                kj_mstr(d, qty_format(used->items[i].value, used->a)));
    kj_mset(d, status, "hard", hard ? kj_mcopy(d, hard) : kj_mobj(d));
    kj_mset(d, status, "used", list);
    kj_mset(d, obj, "status", status);
    now = kj_freeze(obj);
    if (!r || kj_equal(kj_root(now), kj_root(o->doc)))
        return;
    object_write(r, obj, store_next_revision(q->s->store), &text);
    if (store_put(q->s->store, &k, o->rev, text.data, text.len, on_written, q, &err) < 0) {
        KLOG_E(&err, "Failed to account a quota", KV_S("namespace", o->ns), KV_S("name", o->name));
        count_within(q, NSEC_PER_SEC, true);
    }
}

/* What the status says is used of each thing that is limited; absent counts as none. */
static void read_used(const struct one_quota *o, struct quota_usage *ret)
{
    const struct kj_val *status = kj_get(kj_root(o->doc), "status"), *v;
    struct kj_iter it = kj_iter(kj_path(kj_root(o->doc), "spec.hard"));
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(ret->a, key.p, key.n);
        const char *text = kj_str_or(kj_get(kj_get(status, "used"), name), "0");
        struct qty q = { 0 };
        (void)qty_parse(text, strlen(text), &q, NULL);
        quota_usage_add(ret, name, q);
    }
}

/* ---- counting anew --------------------------------------------------------------------------- */

struct counting {
    const struct one_quota *o;
    const char *res;
    struct quota_usage *sum;
    nsec_t now;
};

static bool on_object(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct counting *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct quota_usage u = { .a = a };

    (void)k, (void)rev;
    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &parsed, NULL) < 0 ||
        !quota_scopes_match(kj_get(kj_root(x->o->doc), "spec"), x->res, kj_root(parsed)))
        return true;
    quota_usage_of(&u, x->res, kj_root(parsed), x->now);
    for (size_t i = 0; i < x->sum->n; i++) {
        struct quota_item *item = &x->sum->items[i];
        item->value = qty_add(item->value, quota_usage_get(&u, item->name));
    }
    return true;
}

static void count_quota(struct quotas *q, const struct one_quota *o)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct quota_usage sum = { .a = a }, kinds = { .a = a };
    struct kj_iter it = kj_iter(kj_path(kj_root(o->doc), "spec.hard"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(a, key.p, key.n);
        quota_usage_add(&sum, name, (struct qty){ 0 });
        quota_usage_add(&kinds, quota_counts(name, a), (struct qty){ 0 });
    }
    for (size_t i = 0; i < kinds.n; i++) {
        struct counting x = { o, kinds.items[i].name, &sum, loop_wall(q->s->loop) };
        (void)store_list_latest(q->s->store, x.res, o->ns, on_object, &x, NULL);
    }
    write_status(q, o, &sum);
}

void quotas_count_all(struct quotas *q)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(list_fini) struct quota_list list = quotas_of(q, NULL, a);

    vec_foreach(&list, i)
        count_quota(q, &list.items[i]);
}

/* ---- accounting ------------------------------------------------------------------------------ */

/* What this object counts for in this quota. */
static void usage_in(const struct one_quota *o, const char *res, const struct kj_val *obj,
                     nsec_t now, struct quota_usage *ret)
{
    if (obj && quota_scopes_match(kj_get(kj_root(o->doc), "spec"), res, obj))
        quota_usage_of(ret, res, obj, now);
}

static void account(struct quotas *q, const struct one_quota *o, const char *res,
                    const struct kj_val *before, const struct kj_val *after)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct quota_usage was = { .a = a }, is = { .a = a }, used = { .a = a };
    nsec_t now = loop_wall(q->s->loop);

    usage_in(o, res, before, now, &was);
    usage_in(o, res, after, now, &is);
    read_used(o, &used);
    for (size_t i = 0; i < used.n; i++) {
        struct quota_item *u = &used.items[i];
        struct qty delta = qty_sub(quota_usage_get(&is, u->name), quota_usage_get(&was, u->name));
        u->value = qty_add(u->value, delta);
        if (qty_sign(u->value) < 0)
            u->value = (struct qty){ 0 };
    }
    write_status(q, o, &used);
}

void quotas_account(struct quotas *q, const struct store_key *k, const struct strbuf *before,
                    const char *doc, size_t n)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *was = NULL, *is = NULL;
    CLEANUP(list_fini) struct quota_list list = quotas_of(q, k->ns, a);

    if (before->len)
        (void)kj_parse(before->data, before->len, KJ_RAW_NUMBERS, &was, NULL);
    if (n)
        (void)kj_parse(doc, n, KJ_RAW_NUMBERS, &is, NULL);
    const struct kj_val *old = was ? kj_root(was) : NULL, *new = is ? kj_root(is) : NULL;
    vec_foreach(&list, i) {
        const struct one_quota *o = &list.items[i];
        if (streq(k->res, QUOTAS) && streq(o->name, k->name))
            count_quota(q, o); /* it is new or another, or somebody has written its status */
        else
            account(q, o, k->res, old, new);
    }
    if (old && streq(k->res, "pods") && quota_pod_overdue(old, loop_wall(q->s->loop)))
        count_within(q, 0, true); /* did it count until now? */
    if (list.n)
        count_within(q, COUNT_EVERY, false);
}

/* ---- the step -------------------------------------------------------------------------------- */

struct excess {
    struct strbuf requested, used, limited;
};

static void excess_fini_p(struct excess *x)
{
    strbuf_fini(&x->requested);
    strbuf_fini(&x->used);
    strbuf_fini(&x->limited);
}

static void tell(struct strbuf *b, const char *name, struct qty q, struct arena *a)
{
    strbuf_appendf(b, "%s%s=%s", b->len ? "," : "", name, qty_format(q, a));
}

/* Does the quota count anything of this resource? */
static bool limits_kind(const struct one_quota *o, const char *res, struct arena *a)
{
    struct kj_iter it = kj_iter(kj_path(kj_root(o->doc), "spec.hard"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (streq(quota_counts(arena_strndup(a, key.p, key.n), a), res))
            return true;
    return false;
}

static int check_quota(struct quotas *q, const struct one_quota *o, const struct admission_req *r,
                       const struct kj_val *obj, struct arena *a, struct kerr *err)
{
    CLEANUP(excess_fini) struct excess x = { STRBUF_INIT, STRBUF_INIT, STRBUF_INIT };
    const char *res = r->res->store_res, *why;
    const struct kj_val *spec = kj_get(kj_root(o->doc), "spec"), *hard = kj_get(spec, "hard");
    struct quota_usage was = { .a = a }, is = { .a = a }, used = { .a = a };
    nsec_t now = loop_wall(q->s->loop);

    if (!limits_kind(o, res, a) || !quota_scopes_match(spec, res, obj))
        return 0;
    why = streq(res, "pods") ? quota_missing(hard, obj, a) : NULL;
    if (why)
        return admission_forbid(r, err, "failed quota: %s: %s", o->name, why);
    quota_usage_of(&is, res, obj, now);
    usage_in(o, res, r->old, now, &was);
    read_used(o, &used);
    for (size_t i = 0; i < used.n; i++) {
        const char *name = used.items[i].name, *text = kj_str_or(kj_get(hard, name), "");
        struct qty limit = { 0 };
        struct qty more = qty_sub(quota_usage_get(&is, name), quota_usage_get(&was, name));
        (void)qty_parse(text, strlen(text), &limit, NULL);
        if (qty_sign(more) <= 0 || qty_cmp(qty_add(used.items[i].value, more), limit) <= 0)
            continue;
        tell(&x.requested, name, more, a);
        tell(&x.used, name, used.items[i].value, a);
        tell(&x.limited, name, limit, a);
    }
    if (!x.requested.len)
        return 0;
    return admission_forbid(r, err, "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                            o->name, x.requested.data, x.used.data, x.limited.data);
}

/* Objects count when they are made; Services and claims also when they change, pods when they are
 * resized or move between the scopes Terminating and NotTerminating. */
static bool is_counted(const struct admission_req *r, const struct kj_val *obj)
{
    const char *res = r->res->store_res;
    bool update = streq(r->operation, "UPDATE"), pod = streq(res, "pods");

    if (!r->res->namespaced)
        return false;
    if (*r->subresource)
        return pod && update && streq(r->subresource, "resize");
    if (pod && update)
        return quota_pod_terminating(r->old) != quota_pod_terminating(obj);
    return streq(r->operation, "CREATE") ||
           (update && (streq(res, "services") || streq(res, "persistentvolumeclaims") ||
                       streq(res, "resourceclaims.resource.k8s.io")));
}

static int quota_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                          struct kerr *err)
{
    struct quotas *q = self;
    struct store_key k = { r->res->store_res, r->ns, r->name };

    if (!obj || !is_counted(r, obj) || !quotas_concern(q, &k))
        return 0;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(list_fini) struct quota_list list = quotas_of(q, r->ns, a);
    vec_foreach(&list, i) {
        int e = check_quota(q, &list.items[i], r, obj, a, err);
        if (e < 0)
            return e;
    }
    return 0;
}

static const struct admission_step quota_step = { "ResourceQuota", NULL, quota_validate };

struct quotas *quotas_new(struct apiserver *s)
{
    struct quotas *q = xnew0(struct quotas);

    q->s = s;
    vec_push(&s->last_steps, ((struct admission_entry){ &quota_step, q }));
    return q;
}

struct quotas *quotas_free(struct quotas *q)
{
    if (!q)
        return NULL;
    timer_cancel(q->recount);
    free(q);
    return NULL;
}
