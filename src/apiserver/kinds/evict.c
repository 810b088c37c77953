/* evict.c - pods/eviction: a deletion that asks the disruption budget first.
 *
 * Steps, each answered by the store before the next: take one disruption from the budget, note on
 * the pod why it goes, delete it as DELETE would.
 */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"
#include "base/ktime.h"
#include "loop/loop.h"

enum { DISRUPTED_MAX = 2000, STILL_PROCESSED_RETRY_S = 10 };
#define REFUSAL "Cannot evict pod as it would violate the pod's disruption budget."

struct eviction {
    struct apiserver *s;
    const struct resource *pods, *budgets;
    const char *budget; /* name; NULL: none */
    char now[KTIME_TEXT_MAX];
};

static void evict_done(void *arg, struct api_call *c, const char *doc, size_t n)
{
    (void)arg, (void)doc, (void)n;
    api_reply_success(c, 201, NULL, NULL);
}

static void evict_delete(void *arg, struct api_call *c, const char *doc, size_t n)
{
    struct eviction *e = arg;
    (void)doc, (void)n;
    api_delete_object(c, e->pods, c->ns, c->name, evict_done, e);
}

/* ---- the pod --------------------------------------------------------------------------------- */

static struct kj_mval *find_condition(struct kj_mdoc *d, struct kj_mval *status, const char *type)
{
    struct kj_mval *list = kj_mget(status, "conditions"), *v;

    if (kj_mtype(list) != KJ_ARR) {
        kj_mset(d, status, "conditions", kj_marr(d));
        list = kj_mget(status, "conditions");
    }
    for (struct kj_miter it = kj_miter(list); kj_mnext(&it, NULL, &v);)
        if (streq(m_str(v, "type"), type))
            return v;
    v = kj_mobj(d);
    kj_mset(d, v, "type", kj_mstr(d, type));
    kj_mpush(list, v);
    return v;
}

static int mark_target(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                       struct kj_mval *obj, struct kerr *err)
{
    struct eviction *e = arg;
    struct kj_mval *v = find_condition(d, m_obj(d, obj, "status"), "DisruptionTarget");

    (void)c, (void)old, (void)err;
    if (!streq(m_str(v, "status"), "True"))
        kj_mset(d, v, "lastTransitionTime", kj_mstr(d, e->now));
    kj_mset(d, v, "status", kj_mstr(d, "True"));
    kj_mset(d, v, "lastProbeTime", kj_mnull(d));
    kj_mset(d, v, "reason", kj_mstr(d, "EvictionByEvictionAPI"));
    kj_mset(d, v, "message", kj_mstr(d, "Eviction API: evicting"));
    return 0;
}

static void evict_mark(void *arg, struct api_call *c, const char *doc, size_t n)
{
    (void)doc, (void)n;
    api_change(c, &(struct api_change){ .verb = RES_STATUS,
                                        .edit = mark_target,
                                        .reply = evict_delete,
                                        .arg = arg,
                                        .skip_prepare = true });
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* Answers the call; returns what an edit returns when it has. */
static int refuse(struct api_call *c, const char *why, int retry_after_s)
{
    struct kerr err;
    kerr_api(&err, -EBUSY, KR_TOO_MANY_REQUESTS, "%s", REFUSAL);
    api_fail_cause(c, &err, "DisruptionBudget", why, retry_after_s);
    return 1;
}

static int check_budget(struct eviction *e, struct api_call *c, const struct kj_val *pdb,
                        struct kerr *err)
{
    const struct kj_val *status = kj_get(pdb, "status");
    int64_t allowed = kj_i64_or(kj_get(status, "disruptionsAllowed"), 0);
    const char *why = NULL;

    if (kj_i64_or(kj_get(status, "observedGeneration"), 0) <
        kj_i64_or(kj_path(pdb, "metadata.generation"), 0))
        return refuse(c,
                      arena_printf(c->arena,
                                   "The disruption budget %s is still being processed by the "
                                   "server.",
                                   e->budget),
                      STILL_PROCESSED_RETRY_S);
    if (allowed < 0)
        why = "pdb disruptions allowed is negative";
    else if (kj_len(kj_get(status, "disruptedPods")) > DISRUPTED_MAX)
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    if (why)
        return api_err(c, err, -EPERM, KR_FORBIDDEN,
                       "poddisruptionbudgets.policy \"%s\" is forbidden: %s", e->budget, why);
    if (allowed > 0)
        return 0;
    return refuse(c,
                  arena_printf(c->arena,
                               "The disruption budget %s needs %lld healthy pods and has %lld "
                               "currently",
                               e->budget, (long long)kj_i64_or(kj_get(status, "desiredHealthy"), 0),
                               (long long)kj_i64_or(kj_get(status, "currentHealthy"), 0)),
                  -1);
}

static int take_disruption(void *arg, struct api_call *c, const struct kj_val *old,
                           struct kj_mdoc *d, struct kj_mval *obj, struct kerr *err)
{
    struct eviction *e = arg;
    int r = check_budget(e, c, old, err);

    if (r != 0)
        return r;
    struct kj_mval *status = m_obj(d, obj, "status");
    int64_t left = m_i64(status, "disruptionsAllowed", 0) - 1;
    kj_mset(d, status, "disruptionsAllowed", kj_mi64(d, left));
    kj_mset(d, m_obj(d, status, "disruptedPods"), c->name, kj_mstr(d, e->now));
    if (left == 0) {
        struct kj_mval *v = find_condition(d, status, "DisruptionAllowed");
        if (!streq(m_str(v, "status"), "False"))
            kj_mset(d, v, "lastTransitionTime", kj_mstr(d, e->now));
        kj_mset(d, v, "status", kj_mstr(d, "False"));
        kj_mset(d, v, "observedGeneration",
                kj_mi64(d, kj_i64_or(kj_path(old, "metadata.generation"), 0)));
        kj_mset(d, v, "reason", kj_mstr(d, "InsufficientPods"));
        kj_mset(d, v, "message", kj_mstr(d, ""));
    }
    return 0;
}

struct search {
    const struct kj_val *labels;
    struct arena *a;
    size_t found;
    const char *name;
    struct kj_doc *doc;
};

static bool match_budget(void *arg, const struct store_key *k, uint64_t rev, const char *text,
                         size_t n)
{
    struct search *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)rev;
    if (kj_parse(text, n, 0, &doc, NULL) < 0 ||
        !v_selector_matches(kj_path(kj_root(doc), "spec.selector"), x->labels))
        return true;
    x->found++;
    x->name = arena_strdup(x->a, k->name);
    if (!x->doc)
        x->doc = take(doc);
    return x->found < 2;
}

/* May a pod that is not ready go without asking the budget? */
static bool may_go_unready(const struct kj_val *pod, const struct kj_val *pdb)
{
    const struct kj_val *status = kj_get(pdb, "status");
    int64_t desired = kj_i64_or(kj_get(status, "desiredHealthy"), 0);

    if (pod_is_ready(pod))
        return false;
    if (streq(v_str(kj_get(pdb, "spec"), "unhealthyPodEvictionPolicy"), "AlwaysAllow"))
        return true;
    return desired > 0 && kj_i64_or(kj_get(status, "currentHealthy"), 0) >= desired;
}

/* A pod that has not started, has ended or goes already disturbs nobody. */
static bool is_free_to_go(const struct kj_val *pod)
{
    return pod_is_ended(pod) || streq(v_str(kj_get(pod, "status"), "phase"), "Pending") ||
           v_has(kj_get(pod, "metadata"), "deletionTimestamp");
}

/* 0 and e->budget set or NULL; the budget is only named when the pod must ask it. */
static int find_budget(struct eviction *e, struct api_call *c, const struct kj_val *pod,
                       struct kerr *err)
{
    struct search x = { .labels = kj_path(pod, "metadata.labels"), .a = c->arena };
    int r = store_list(apiserver_store(e->s), e->budgets->store_res, c->ns, 0, NULL, match_budget,
                       &x, err);
    CLEANUP(kj_doc_free) struct kj_doc *pdb = x.doc;

    if (r < 0)
        return r;
    if (x.found > 1)
        return kerr_set(err, -EINVAL,
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support.");
    if (x.found == 1 && !may_go_unready(pod, kj_root(pdb)))
        e->budget = x.name;
    return 0;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Positive: the call was answered, or waits for a step of admission. */
static int read_options(struct api_call *c, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int r = api_body(c, "policy/v1", "Eviction", &doc, err);

    if (r < 0)
        return r;
    if (!streq(kj_str_or(kj_path(kj_root(doc), "metadata.name"), ""), c->name))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "name in URL does not match name in Eviction object");
    if (!api_admit(c, "CREATE", "policy/v1", "Eviction", &doc))
        return 1;
    c->admitted = true;
    const struct kj_val *options = kj_get(kj_root(doc), "deleteOptions");
    if (kj_type(options) > KJ_NULL && kj_type(options) != KJ_OBJ)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "Eviction in version \"v1\" cannot be handled as a Eviction: json: cannot "
                        "unmarshal into Go struct field Eviction.deleteOptions of type "
                        "v1.DeleteOptions");
    return api_delete_options(c, options) ? 0 : 1;
}

void pod_evict(struct apiserver *s, struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *pod = NULL;
    struct eviction *e = arena_new0(c->arena, struct eviction);
    struct kerr err = { 0 };
    int r = read_options(c, &err);

    if (r > 0)
        return;
    *e = (struct eviction){ .s = s, .pods = c->res };
    e->budgets = res_table_find(apiserver_resources(s), "policy", "v1", "poddisruptionbudgets");
    ktime_format(loop_wall(apiserver_loop(s)), e->now);
    if (r == 0)
        r = api_read(c, c->res, c->ns, c->name, &pod, NULL, &err);
    bool free_to_go = r == 0 && is_free_to_go(kj_root(pod));
    if (r == 0 && !free_to_go && e->budgets)
        r = find_budget(e, c, kj_root(pod), &err);
    if (r < 0)
        api_fail(c, &err);
    else if (free_to_go)
        evict_delete(e, c, NULL, 0);
    else if (!e->budget)
        evict_mark(e, c, NULL, 0);
    else
        api_change(c, &(struct api_change){ .verb = RES_STATUS,
                                            .res = e->budgets,
                                            .name = e->budget,
                                            .edit = take_disruption,
                                            .reply = evict_mark,
                                            .arg = e,
                                            .skip_prepare = true });
}
