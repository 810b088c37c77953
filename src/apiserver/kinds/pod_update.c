/* pod_update.c - the few fields of a pod's spec that may change after it was made. */
#include "apiserver/kinds/internal.h"

static void check_images(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!*v_str(v, "image"))
            err_required(c, at(c, "%s[%zu].image", path, i), "");
}

static void check_deadline(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    const char *key = "activeDeadlineSeconds", *path = "spec.activeDeadlineSeconds";
    int64_t was = kj_i64_or(kj_get(old, key), 0), now = kj_i64_or(kj_get(spec, key), 0);

    if (!v_has(old, key))
        return;
    if (!v_has(spec, key))
        field_error(c->errors, FIELD_INVALID, path, "null",
                    "must not update from a positive integer to nil value");
    else if (now > was)
        err_invalid_i64(c, path, now, "must be less than or equal to previous value");
}

static bool same_toleration(const struct kj_val *a, const struct kj_val *b)
{
    static const char *const keys[] = { "key", "operator", "value", "effect" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!streq(v_str(a, keys[i]), v_str(b, keys[i])))
            return false;
    return true;
}

static void check_tolerations_kept(struct check *c, const struct kj_val *spec,
                                   const struct kj_val *old)
{
    struct kj_iter was = kj_iter(kj_get(old, "tolerations"));
    const struct kj_val *o, *n;

    while (kj_next(&was, NULL, &o)) {
        bool kept = false;
        for (struct kj_iter it = kj_iter(kj_get(spec, "tolerations"));
             !kept && kj_next(&it, NULL, &n);)
            kept = same_toleration(o, n);
        if (!kept) {
            err_forbidden(c, "spec.tolerations",
                          "existing toleration can not be modified except its tolerationSeconds");
            return;
        }
    }
}

static void check_gates_kept(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    CLEANUP(map_fini) struct map had = { 0 };
    struct kj_iter it = kj_iter(kj_get(old, "schedulingGates"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        (void)names_add(&had, v_str(v, "name"));
    it = kj_iter(kj_get(spec, "schedulingGates"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!map_getz(&had, v_str(v, "name")))
            err_forbidden(c, at(c, "spec.schedulingGates[%zu].name", i),
                          at(c, "only deletion is allowed, but found new scheduling gate '%s'",
                             v_str(v, "name")));
}

/* A gated pod may become harder to place, never easier: labels are only added. */
static void check_node_selector_grows(struct check *c, const struct kj_val *spec,
                                      const struct kj_val *old)
{
    struct kj_iter it = kj_iter(kj_get(old, "nodeSelector"));
    const struct kj_val *now = kj_get(spec, "nodeSelector"), *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *have = kj_str(kj_getn(now, key.p, key.n));
        if (have && streq(have, kj_str_or(v, "")))
            continue;
        field_error(c->errors, FIELD_INVALID, "spec.nodeSelector", as_json(c, now),
                    "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
        return;
    }
}

static bool list_contains(const struct kj_val *list, const struct kj_val *items)
{
    struct kj_iter want = kj_iter(items);
    const struct kj_val *w, *v;

    while (kj_next(&want, NULL, &w)) {
        bool found = false;
        for (struct kj_iter it = kj_iter(list); !found && kj_next(&it, NULL, &v);)
            found = kj_equal(v, w);
        if (!found)
            return false;
    }
    return true;
}

static void check_affinity_grows(struct check *c, const struct kj_val *spec,
                                 const struct kj_val *old)
{
    static const char terms[] = "affinity.nodeAffinity."
                                "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    const struct kj_val *was = kj_path(old, terms), *now = kj_path(spec, terms), *o, *n;
    struct kj_iter a = kj_iter(was), b = kj_iter(now);
    const char *path = at(c, "spec.%s", terms);

    if (kj_len(was) == 0)
        return;
    if (kj_len(was) != kj_len(now)) {
        field_error(c->errors, FIELD_INVALID, path, as_json(c, now),
                    "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (size_t i = 0; kj_next(&a, NULL, &o) && kj_next(&b, NULL, &n); i++)
        if (!list_contains(kj_get(n, "matchExpressions"), kj_get(o, "matchExpressions")) ||
            !list_contains(kj_get(n, "matchFields"), kj_get(o, "matchFields")))
            field_error(c->errors, FIELD_INVALID, at(c, "%s[%zu]", path, i), as_json(c, n),
                        "only additions are allowed (no mutations or deletions)");
}

static void take_images(struct kj_mdoc *d, struct kj_mval *list, struct kj_mval *from)
{
    struct kj_miter a = kj_miter(list), b = kj_miter(from);
    struct kj_mval *x, *y;

    while (kj_mnext(&a, NULL, &x) && kj_mnext(&b, NULL, &y))
        if (m_has(y, "image"))
            kj_mset(d, x, "image", kj_mclone(d, kj_mget(y, "image")));
}

static void take_member(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *from,
                        const char *key)
{
    struct kj_mval *v = kj_mget(from, key);

    if (v)
        kj_mset(d, obj, key, kj_mclone(d, v));
    else
        kj_mdel(obj, key, strlen(key));
}

/* Is the new spec the old one when what may change is set aside? */
static bool rest_is_equal(const struct kj_val *spec, const struct kj_val *old, bool gated)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *now = kj_mcopy(d, spec), *was = kj_mcopy(d, old);

    take_images(d, kj_mget(now, "containers"), kj_mget(was, "containers"));
    take_images(d, kj_mget(now, "initContainers"), kj_mget(was, "initContainers"));
    take_member(d, now, was, "activeDeadlineSeconds");
    take_member(d, now, was, "tolerations");
    take_member(d, now, was, "schedulingGates");
    if (m_i64(was, "terminationGracePeriodSeconds", 0) < 0 &&
        m_i64(now, "terminationGracePeriodSeconds", 0) == 1)
        take_member(d, now, was, "terminationGracePeriodSeconds");
    if (gated) {
        take_member(d, now, was, "nodeSelector");
        struct kj_mval *node = kj_mget(kj_mget(was, "affinity"), "nodeAffinity");
        struct kj_mval *affinity = node ? m_obj(d, now, "affinity") : kj_mget(now, "affinity");
        if (affinity)
            take_member(d, affinity, kj_mget(was, "affinity"), "nodeAffinity");
        if (affinity && kj_mlen(affinity) == 0 && !kj_mget(was, "affinity"))
            kj_mdel(now, "affinity", strlen("affinity"));
    }
    return kj_mequal(now, was);
}

void check_pod_update(struct check *c, const struct kj_val *obj, const struct kj_val *old_obj)
{
    static const char *const lists[] = { "containers", "initContainers" };
    const struct kj_val *spec = kj_get(obj, "spec"), *old = kj_get(old_obj, "spec");
    bool gated = kj_len(kj_get(old, "schedulingGates")) > 0, stop = false;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *path = at(c, "spec.%s", lists[i]);
        if (kj_len(kj_get(spec, lists[i])) != kj_len(kj_get(old, lists[i]))) {
            err_forbidden(c, path, "pod updates may not add or remove containers");
            stop = true;
        }
        check_images(c, path, kj_get(spec, lists[i]));
    }
    if (stop)
        return;
    check_deadline(c, spec, old);
    check_gates_kept(c, spec, old);
    check_tolerations_kept(c, spec, old);
    if (gated) {
        check_node_selector_grows(c, spec, old);
        check_affinity_grows(c, spec, old);
    }
    if (!rest_is_equal(spec, old, gated))
        err_forbidden(c, "spec",
                      "pod updates may not change fields other than "
                      "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                      "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 "
                      "if it was previously negative)");
}
