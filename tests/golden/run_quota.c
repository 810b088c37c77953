/* run_quota.c - quota trees: runtimes, admission, over-use, preemption. */
#include <stdio.h>

#include "api/kobj.h"
#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/intern.h"
#include "quota/admit.h"
#include "quota/revoke.h"
#include "runners.h"

struct quota_fixture {
    struct quota_forest *forest;
    struct intern *strings;
    struct kj_scratch *scratch;
    unsigned pods; /* given UIDs so far */
};

static struct quota_fixture *fixture_free(struct quota_fixture *x)
{
    forest_free(x->forest);
    kj_scratch_free(x->scratch);
    intern_free(x->strings);
    return NULL;
}
DEFINE_CLEANUP(fixture_free, struct quota_fixture *)

static int add_quotas(struct quota_fixture *x, const struct kj_val *list, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = kobj_decode(&kind_elasticquota, kj_at(list, i), x->scratch, &o, err);
        if (r == 0)
            r = forest_put(x->forest, elasticquota_of(o), err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The vectors' pods have no UID, or one that is no UUID. */
static int decode_pod(struct quota_fixture *x, const struct kj_val *v, struct kobj **ret,
                      struct kerr *err)
{
    int r = kobj_decode(&kind_pod, v, x->scratch, ret, err);
    char uid[40];

    if (r < 0)
        return r;
    int n = snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012u", ++x->pods);
    (*ret)->meta.uid = kuid_parse(uid, (size_t)n);
    return 0;
}

static int add_pods(struct quota_fixture *x, const struct kj_val *list, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = decode_pod(x, kj_at(list, i), &o, err);
        if (r < 0)
            return r;
        forest_put_pod(x->forest, pod_of(o), !str_empty(pod_of(o)->node_name));
    }
    return 0;
}

/* Pods are deleted by name. */
static bool delete_pod(struct quota_fixture *x, const char *name, struct arena *a)
{
    uint32_t n;
    struct quota **all = forest_list(x->forest, NULL, a, &n);
    struct quota_pod p;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t at = 0; quota_next_pod(x->forest, all[i], &at, &p);) {
            if (streq(p.pod->obj.meta.name, name)) {
                forest_remove_pod(x->forest, p.pod->obj.meta.uid);
                return true;
            }
        }
    }
    return false;
}

static int begin(struct quota_fixture *x, const struct kj_val *in, struct quota_options o,
                 struct arena *a, struct kerr *err)
{
    static const struct reslist_value huge; /* without the objects of the built-in quotas */
    struct reslist_value total = { 0 };

    x->strings = intern_new();
    x->scratch = kj_scratch_new(x->strings);
    x->forest = forest_new(&o);
    forest_set_special(x->forest, QUOTA_DEFAULT_NAME, &huge.v);
    if (kj_get(in, "total")) {
        int r = kj_decode(&reslist_value_schema, kj_get(in, "total"), 0, a, &total, err);
        if (r < 0)
            return r;
    }
    forest_add_total(x->forest, &total.v, 1);
    return add_quotas(x, kj_get(in, "quotas"), err);
}

/* ---- runtime --------------------------------------------------------------------------------- */

/* As numbers, or as quantities. */
static void write_field(struct quota_fixture *x, struct quota *q, enum quota_field field,
                        uint64_t mask, const char *name, bool quantities, struct kjw *w,
                        struct arena *a)
{
    const struct quota_columns *cols = forest_columns(x->forest);
    uint64_t keys;
    const int64_t *v = quota_values(x->forest, q, field, &keys);

    kjw_obj(w, name);
    columns_foreach(c, keys & mask) {
        int64_t count = quota_at(v, c);
        if (quantities)
            kjw_str(w, cols->name[c], qty_format(resource_from_count(cols->name[c], count), a));
        else
            kjw_i64(w, cols->name[c], count);
    }
    kjw_end(w);
}

static int run_runtime(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err)
{
    struct quota_fixture fixture = { 0 };
    CLEANUP(fixture_free) struct quota_fixture *x = &fixture;
    const struct kj_val *gates = kj_get(in, "featureGates"), *gone = kj_get(in, "deletePods");
    struct quota_options o = { .scale_min = kj_bool(kj_get(in, "enableMinQuotaScale"), false),
                               .guarantee =
                                   kj_bool(kj_get(gates, "ElasticQuotaGuaranteeUsage"), false) };
    struct kjw w = kjw_to(got);
    uint32_t n;

    int r = begin(x, in, o, a, err);
    if (r == 0)
        r = add_pods(x, kj_get(in, "pods"), err);
    if (r == 0)
        r = add_quotas(x, kj_get(in, "updates"), err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < kj_len(gone); i++)
        delete_pod(x, kj_str_or(kj_at(gone, i), ""), a);
    struct quota **all = forest_list(x->forest, NULL, a, &n);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "quotas");
    for (uint32_t i = 0; i < n; i++) {
        if (quota_is_special(all[i]))
            continue;
        kjw_obj(&w, quota_name(all[i]));
        write_field(x, all[i], QUOTA_RUNTIME, quota_keys(all[i]), "runtime", false, &w, a);
        write_field(x, all[i], QUOTA_REQUEST, UINT64_MAX, "request", false, &w, a);
        write_field(x, all[i], QUOTA_USED, UINT64_MAX, "used", false, &w, a);
        if (o.guarantee) {
            write_field(x, all[i], QUOTA_GUARANTEED, UINT64_MAX, "guaranteed", false, &w, a);
            write_field(x, all[i], QUOTA_ALLOCATED, UINT64_MAX, "allocated", false, &w, a);
        }
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

/* ---- admission ------------------------------------------------------------------------------- */

static int schedule(struct quota_fixture *x, const struct kj_val *v,
                    const struct admit_rules *rules, struct arena *a, struct kjw *w,
                    struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    int64_t amounts[QUOTA_COLUMNS_MAX] = { 0 };
    struct admit_request p = { .amount = amounts };
    struct admit_verdict verdict;

    int r = decode_pod(x, v, &o, err);
    if (r < 0)
        return r;
    forest_put_pod(x->forest, pod_of(o), false);
    struct quota *q = forest_charged(x->forest, o->meta.uid);
    reslist list = forest_request_list(x->forest, pod_of(o), a);
    p.list = &list;
    p.keys = forest_request(x->forest, &list, amounts);
    p.preemptible = pod_quota_preemptible(&o->meta.labels);
    admit_own(x->forest, q, rules, &p, &verdict);
    if (verdict.code == ADMIT_OK)
        admit_above(x->forest, q, rules, &p, &verdict);
    kjw_obj(w, NULL);
    kjw_bool(w, "admitted", verdict.code == ADMIT_OK);
    kjw_str(w, "quota", quota_name(q));
    if (verdict.code != ADMIT_OK) {
        kjw_str(w, "code", "Unschedulable");
        kjw_str(w, "message", admit_text(x->forest, &verdict, rules, &p, a));
    } else {
        forest_assign_pod(x->forest, o->meta.uid, true);
    }
    kjw_end(w);
    return 0;
}

static int run_admission(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    struct quota_fixture fixture = { 0 };
    CLEANUP(fixture_free) struct quota_fixture *x = &fixture;
    const struct kj_val *args = kj_get(in, "args"), *steps = kj_get(in, "steps");
    struct quota_options o = { .scale_min = kj_bool(kj_get(args, "enableMinQuotaScale"), true) };
    struct admit_rules rules = {
        .runtime = kj_bool(kj_get(args, "enableRuntimeQuota"), true),
        .check_parent = kj_bool(kj_get(args, "enableCheckParentQuota"), false),
    };
    struct kjw w = kjw_to(got);
    int r = begin(x, in, o, a, err);

    kjw_obj(&w, NULL);
    kjw_arr(&w, "steps");
    for (size_t i = 0; r == 0 && i < kj_len(steps); i++) {
        const struct kj_val *step = kj_at(steps, i);
        if (streq(kj_str_or(kj_get(step, "op"), ""), "schedule")) {
            r = schedule(x, kj_get(step, "pod"), &rules, a, &w, err);
            continue;
        }
        kjw_obj(&w, NULL);
        kjw_bool(&w, "deleted", delete_pod(x, kj_str_or(kj_get(step, "podName"), ""), a));
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    return r;
}

/* ---- over-use -------------------------------------------------------------------------------- */

static void write_overuse(struct quota_fixture *x, struct quota *q, struct kjw *w, struct arena *a)
{
    bool over = revoke_is_overused(x->forest, q), enough;
    uint32_t n = 0;
    const struct pod **pods = NULL;

    if (over)
        pods = revoke_choose(x->forest, q, NULL, a, &n, &enough);
    kjw_obj(w, quota_name(q));
    write_field(x, q, QUOTA_RUNTIME, quota_keys(q), "runtime", true, w, a);
    write_field(x, q, QUOTA_USED, UINT64_MAX, "used", true, w, a);
    kjw_bool(w, "overUsed", over);
    kjw_arr(w, "revoke");
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, arena_printf(a, "%s/%s", pods[i]->obj.meta.ns, pods[i]->obj.meta.name));
    kjw_end(w);
    kjw_end(w);
}

static int run_overuse(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err)
{
    struct quota_fixture fixture = { 0 };
    CLEANUP(fixture_free) struct quota_fixture *x = &fixture;
    struct quota_options o = { .scale_min = true };
    struct kjw w = kjw_to(got);
    uint32_t n;
    int r = begin(x, in, o, a, err);

    if (r == 0)
        r = add_pods(x, kj_get(in, "pods"), err);
    if (r < 0)
        return r;
    struct quota **all = forest_list(x->forest, NULL, a, &n);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "quotas");
    for (uint32_t i = 0; i < n; i++)
        if (!quota_is_special(all[i]) && !quota_parent_flag(all[i]))
            write_overuse(x, all[i], &w, a);
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Lists by value; an amount that is 0 says as much as none. */
static bool same_amounts(const struct kj_val *a, const struct kj_val *b, bool both_ways)
{
    struct kj_iter it = kj_iter(a);
    struct str key;
    const struct kj_val *v;

    while (kj_next(&it, &key, &v)) {
        CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
        const struct kj_val *other = kj_getn(b, key.p, key.n);
        struct qty p = { 0 }, q = { 0 };
        kj_write(v, 0, &x);
        if (other)
            kj_write(other, 0, &y);
        struct str xs = { strbuf_str(&x), x.len }, ys = { strbuf_str(&y), y.len };
        if (xs.n > 1 && *xs.p == '"')
            xs = (struct str){ xs.p + 1, xs.n - 2 };
        if (ys.n > 1 && *ys.p == '"')
            ys = (struct str){ ys.p + 1, ys.n - 2 };
        if (qty_parse(xs.p, xs.n, &p, NULL) < 0 || (other && qty_parse(ys.p, ys.n, &q, NULL) < 0) ||
            qty_cmp(p, q) != 0)
            return false;
    }
    return !both_ways || same_amounts(b, a, false);
}

static bool same_quotas(const struct kj_val *out, const struct kj_val *got)
{
    static const char *const lists[] = { "runtime", "request", "used", "guaranteed", "allocated" };
    struct kj_iter it = kj_iter(kj_get(out, "quotas"));
    struct str name;
    const struct kj_val *want;

    while (kj_next(&it, &name, &want)) {
        const struct kj_val *have = kj_getn(kj_get(got, "quotas"), name.p, name.n);
        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
            if (kj_get(want, lists[i]) &&
                !same_amounts(kj_get(want, lists[i]), kj_get(have, lists[i]), true))
                return false;
        if (!kj_equal(kj_get(want, "revoke"), kj_get(have, "revoke")) ||
            !kj_equal(kj_get(want, "overUsed"), kj_get(have, "overUsed")))
            return false;
    }
    return true;
}

const struct golden_runner golden_quota[] = {
    { "runtime", run_runtime, same_quotas },
    { "admission", run_admission, kj_equal },
    { "overuse", run_overuse, same_quotas },
    { "preempt", golden_quota_preempt, kj_equal },
    { NULL, NULL, NULL },
};
