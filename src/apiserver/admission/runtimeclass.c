/* runtimeclass.c - a pod gets overhead, node selector and tolerations of the RuntimeClass it names;
 * a class that does not exist, or another overhead, is refused. */
#include "apiserver/registry/registry.h"
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "base/qty.h"

static bool concerns(const struct admission_req *r)
{
    return !*r->res->group && streq(r->res->plural, "pods") && streq(r->operation, "CREATE") &&
           !*r->subresource;
}

/* *ret NULL: the pod names none. */
static int find_class(struct apiserver *s, const struct admission_req *r, const char *name,
                      struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct store_key k = { "runtimeclasses.node.k8s.io", "", name };

    if (!name)
        return 0;
    if (store_get_latest(s->store, &k, &text, NULL, NULL) < 0)
        return admission_forbid(r, err, "pod rejected: RuntimeClass \"%s\" not found", name);
    return kj_parse(text.data, text.len, 0, ret, err);
}

/* ---- overhead -------------------------------------------------------------------------------- */

static bool same_quantity(const struct kj_val *a, const struct kj_val *b)
{
    struct qty x, y;

    return kj_str(a) && kj_str(b) && qty_parse(kj_str(a), strlen(kj_str(a)), &x, NULL) == 0 &&
           qty_parse(kj_str(b), strlen(kj_str(b)), &y, NULL) == 0 && qty_cmp(x, y) == 0;
}

static bool same_overhead(const struct kj_val *a, const struct kj_val *b)
{
    struct kj_iter it = kj_iter(a);
    const struct kj_val *v;
    struct str key;

    if (kj_len(a) != kj_len(b))
        return false;
    while (kj_next(&it, &key, &v))
        if (!same_quantity(v, kj_getn(b, key.p, key.n)))
            return false;
    return true;
}

static int set_overhead(const struct admission_req *r, const struct kj_val *class,
                        struct kj_mdoc *d, struct kj_mval *spec, struct kerr *err)
{
    const struct kj_val *fixed = kj_path(class, "overhead.podFixed");
    struct kj_mval *own = kj_mget(spec, "overhead");
    CLEANUP(kj_doc_free) struct kj_doc *now = own ? kj_freeze(own) : NULL;

    if (kj_type(kj_get(class, "overhead")) != KJ_OBJ)
        return 0;
    if (kj_mlen(own) && !same_overhead(fixed, kj_root(now)))
        return admission_forbid(
            r, err, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    if (kj_len(fixed))
        kj_mset(d, spec, "overhead", kj_mcopy(d, fixed));
    return 0;
}

/* ---- scheduling ------------------------------------------------------------------------------ */

static int set_selector(const struct admission_req *r, const struct kj_val *selector,
                        struct kj_mdoc *d, struct kj_mval *spec, struct kerr *err)
{
    struct kj_mval *own = kj_mget(spec, "nodeSelector");
    struct kj_iter it = kj_iter(selector);
    const struct kj_val *v;
    struct str key;

    if (kj_len(selector) && kj_mtype(own) != KJ_OBJ) {
        own = kj_mobj(d);
        kj_mset(d, spec, "nodeSelector", own);
    }
    while (kj_next(&it, &key, &v)) {
        const char *has = kj_mstr_get(kj_mgetn(own, key.p, key.n)), *want = kj_str_or(v, "");
        if (has && !streq(has, want))
            return admission_forbid(r, err,
                                    "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = %s; "
                                    "pod.spec.nodeSelector[%.*s] = %s",
                                    (int)key.n, key.p, want, (int)key.n, key.p, has);
        kj_msetn(d, own, key.p, key.n, kj_mcopy(d, v));
    }
    return 0;
}

static const char *text_of(const struct kj_val *v, const char *key)
{
    return kj_str_or(kj_get(v, key), "");
}

/* Does `more` tolerate all that `t` does? */
static bool covers(const struct kj_val *more, const struct kj_val *t)
{
    const char *how = text_of(more, "operator");
    bool all = streq(how, "Exists");
    int64_t limit, asked;

    if (kj_equal(more, t))
        return true;
    if (!streq(text_of(t, "key"), text_of(more, "key")) && (*text_of(more, "key") || !all))
        return false;
    if (*text_of(more, "effect") && !streq(text_of(t, "effect"), text_of(more, "effect")))
        return false;
    if (streq(text_of(more, "effect"), "NoExecute") &&
        kj_i64(kj_get(more, "tolerationSeconds"), &limit) == 0 &&
        (kj_i64(kj_get(t, "tolerationSeconds"), &asked) < 0 || asked > limit))
        return false;
    if (*how && !streq(how, "Equal"))
        return all;
    return streq(text_of(t, "operator"), "Equal") &&
           streq(text_of(t, "value"), text_of(more, "value"));
}

struct tolerations vec_of(const struct kj_val *);

static void add_all(struct tolerations *to, const struct kj_val *list)
{
    const struct kj_val *v;

    for (struct kj_iter it = kj_iter(list); kj_next(&it, NULL, &v);)
        vec_push(to, v);
}

/* Another one, kept before or to come, says all that this one says. */
static bool is_redundant(const struct tolerations *all, size_t i, const bool *kept)
{
    const struct kj_val *t = all->items[i];

    for (size_t j = 0; j < all->n; j++) {
        const struct kj_val *other = all->items[j];
        if (j < i ? kept[j] && covers(other, t) : j > i && !kj_equal(other, t) && covers(other, t))
            return true;
    }
    return false;
}

static void add_tolerations(const struct kj_val *more, struct kj_mdoc *d, struct kj_mval *spec)
{
    enum { COMPARED_MAX = 200 }; /* each with each; nobody has that many */
    struct kj_mval *own = kj_mget(spec, "tolerations"), *merged = kj_marr(d);
    CLEANUP(kj_doc_free) struct kj_doc *now = own ? kj_freeze(own) : NULL;
    struct tolerations all = { 0 };
    bool kept[COMPARED_MAX] = { false };

    add_all(&all, kj_root(now));
    add_all(&all, more);
    vec_foreach(&all, i) {
        if (all.n <= COMPARED_MAX && is_redundant(&all, i, kept))
            continue;
        if (i < COMPARED_MAX)
            kept[i] = true;
        kj_mpush(merged, kj_mcopy(d, all.items[i]));
    }
    if (all.n)
        kj_mset(d, spec, "tolerations", merged);
    vec_fini(&all);
}

/* ---- the step -------------------------------------------------------------------------------- */

static int runtimeclass_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                               struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *class = NULL;
    struct kj_mval *spec = kj_mget(obj, "spec");
    const struct kj_val *scheduling;

    if (!concerns(r))
        return 0;
    int e = find_class(self, r, kj_mstr_get(kj_mget(spec, "runtimeClassName")), &class, err);
    if (e < 0 || !class)
        return e;
    e = set_overhead(r, kj_root(class), d, spec, err);
    scheduling = kj_get(kj_root(class), "scheduling");
    if (e < 0 || kj_type(scheduling) != KJ_OBJ)
        return e;
    e = set_selector(r, kj_get(scheduling, "nodeSelector"), d, spec, err);
    if (e == 0)
        add_tolerations(kj_get(scheduling, "tolerations"), d, spec);
    return e;
}

static int runtimeclass_validate(void *self, const struct admission_req *r,
                                 const struct kj_val *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *class = NULL;
    const struct kj_val *spec = kj_get(obj, "spec");

    if (!concerns(r))
        return 0;
    int e = find_class(self, r, kj_str(kj_get(spec, "runtimeClassName")), &class, err);
    if (e < 0)
        return e;
    if (kj_type(kj_get(kj_root(class), "overhead")) == KJ_OBJ)
        return same_overhead(kj_path(kj_root(class), "overhead.podFixed"), kj_get(spec, "overhead"))
                   ? 0
                   : admission_forbid(
                         r, err,
                         "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
                         "Overhead");
    if (kj_len(kj_get(spec, "overhead")))
        return admission_forbid(
            r, err,
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
            "Overhead");
    return 0;
}

void runtimeclass_add(struct apiserver *s)
{
    static const struct admission_step step = { "RuntimeClass", runtimeclass_mutate,
                                                runtimeclass_validate };
    apiserver_add_admission(s, &step, s);
}
