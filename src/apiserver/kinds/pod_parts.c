/* pod_parts.c - parts of a pod that change through paths of their own: pods/ephemeralcontainers and
 * pods/resize. Whatever else the body says is left as it was. */
#include "api/qos.h"
#include "apiserver/kinds/internal.h"

/* ---- what stays ------------------------------------------------------------------------------- */

/* Labels, annotations and the like are not written through these paths. */
static void keep_metadata(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old)
{
    static const char *const keys[] = { "labels", "annotations", "finalizers", "ownerReferences" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        m_keep_old(d, m_obj(d, obj, "metadata"), kj_get(old, "metadata"), keys[i]);
}

static struct kj_mval *find_named(const struct kj_mval *list, const char *name)
{
    struct kj_mval *v;

    for (struct kj_miter it = kj_miter(list); kj_mnext(&it, NULL, &v);)
        if (streq(m_str(v, "name"), name))
            return v;
    return NULL;
}

/* Resources and resize policies of containers by name; of a pod as a whole too. */
static void take_resources(struct kj_mdoc *d, struct kj_mval *spec, const struct kj_mval *asked)
{
    static const char *const lists[] = { "containers", "initContainers" };
    static const char *const keys[] = { "resources", "resizePolicy" };
    struct kj_mval *v;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct kj_miter it = kj_miter(kj_mget(spec, lists[i])); kj_mnext(&it, NULL, &v);) {
            struct kj_mval *from = find_named(kj_mget(asked, lists[i]), m_str(v, "name"));
            for (size_t k = 0; from && k < ARRAY_LEN(keys); k++)
                if (kj_mget(from, keys[k]))
                    kj_mset(d, v, keys[k], kj_mclone(d, kj_mget(from, keys[k])));
        }
    if (kj_mget(asked, "resources"))
        kj_mset(d, spec, "resources", kj_mclone(d, kj_mget(asked, "resources")));
}

void pod_prepare_part(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                      const struct kj_val *old)
{
    static const char extra[] = "ephemeralContainers";
    struct kj_mval *asked = kj_mclone(d, m_obj(d, obj, "spec")),
                   *spec = kj_mcopy(d, kj_get(old, "spec"));

    if (verb == RES_RESIZE)
        take_resources(d, spec, asked);
    else if (kj_mlen(kj_mget(asked, extra)) > 0)
        kj_mset(d, spec, extra, kj_mclone(d, kj_mget(asked, extra)));
    else
        kj_mdel(spec, extra, sizeof extra - 1);
    kj_mset(d, obj, "spec", spec);
    m_keep_old(d, obj, old, "status");
    keep_metadata(d, obj, old);
}

/* ---- ephemeral containers --------------------------------------------------------------------- */

static bool has_container(const struct kj_val *spec, const char *name)
{
    struct kj_iter it = kj_iter(kj_get(spec, "containers"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "name"), name))
            return true;
    return false;
}

static void check_ephemeral(struct check *c, const char *p, const struct kj_val *v,
                            const struct kj_val *spec, struct map *names)
{
    /* What would have to be planned for when the pod starts. */
    static const char *const never[] = { "ports",         "resources",      "resizePolicy",
                                         "livenessProbe", "readinessProbe", "startupProbe",
                                         "lifecycle" };
    const char *name = v_str(v, "name"), *target = v_str(v, "targetContainerName");

    if (!*name)
        err_required(c, at(c, "%s.name", p), "");
    else
        check_dns_label(c, at(c, "%s.name", p), name);
    if (!*v_str(v, "image"))
        err_required(c, at(c, "%s.image", p), "");
    if (*name && !names_add(names, name))
        err_duplicate(c, at(c, "%s.name", p), name);
    if (*target && !has_container(spec, target))
        field_error_text(c->errors, FIELD_NOT_FOUND, at(c, "%s.targetContainerName", p), target,
                         NULL);
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        if (kj_len(kj_get(v, never[i])) > 0)
            err_forbidden(c, at(c, "%s.%s", p, never[i]),
                          "cannot be set for an Ephemeral Container");
    check_volume_mounts(c, p, v, spec);
}

static const struct kj_val *named(const struct kj_val *list, const char *name)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "name"), name))
            return v;
    return NULL;
}

/* They come, and never go or change: there is no restart that could make it so. */
static void check_kept(struct check *c, const struct kj_val *now, const struct kj_val *old)
{
    struct kj_iter it = kj_iter(old);
    const struct kj_val *was;

    while (kj_next(&it, NULL, &was)) {
        const struct kj_val *v = named(now, v_str(was, "name"));
        if (!v || !kj_equal(v, was))
            err_forbidden(c, "spec.ephemeralContainers",
                          at(c, "existing ephemeral containers \"%s\" may not be %s\n",
                             v_str(was, "name"), v ? "changed" : "removed"));
    }
}

static void check_ephemeral_containers(struct check *c, const struct kj_val *spec,
                                       const struct kj_val *old)
{
    static const char *const lists[] = { "containers", "initContainers" };
    CLEANUP(map_fini) struct map names = { 0 };
    const struct kj_val *list = kj_get(spec, "ephemeralContainers"), *v;
    struct kj_iter it;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (it = kj_iter(kj_get(spec, lists[i])); kj_next(&it, NULL, &v);)
            (void)names_add(&names, v_str(v, "name"));
    it = kj_iter(list);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_ephemeral(c, at(c, "spec.ephemeralContainers[%zu]", i), v, spec, &names);
    if (field_errors_count(c->errors) == 0)
        check_kept(c, list, kj_get(old, "ephemeralContainers"));
}

/* ---- resize ----------------------------------------------------------------------------------- */

static bool is_mutable(struct str resource)
{
    return str_eqz(resource, "cpu") || str_eqz(resource, "memory");
}

/* Whether anything but CPU and memory differs, in either direction. */
static bool others_differ(const struct kj_val *a, const struct kj_val *b)
{
    struct kj_iter it = kj_iter(a);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (!is_mutable(key) && !kj_equal(v, kj_getn(b, key.p, key.n)))
            return true;
    return false;
}

static void check_not_removed(struct check *c, const char *path, const struct kj_val *now,
                              const struct kj_val *was, const char *what)
{
    struct kj_iter it = kj_iter(was);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (is_mutable(key) && !kj_getn(now, key.p, key.n)) {
            err_forbidden(c, path, at(c, "resource %s cannot be removed", what));
            return;
        }
}

static void check_resized(struct check *c, const struct kj_val *spec, const struct kj_val *old,
                          const char *list, bool *others)
{
    static const char *const parts[] = { "requests", "limits" };
    struct kj_iter it = kj_iter(kj_get(spec, list));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const struct kj_val *now = kj_get(v, "resources"),
                            *was = kj_get(kj_at(kj_get(old, list), i), "resources");
        for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
            const struct kj_val *a = kj_get(now, parts[k]), *b = kj_get(was, parts[k]);
            *others |= others_differ(a, b) || others_differ(b, a);
            check_not_removed(c, at(c, "spec.%s[%zu].resources.%s", list, i, parts[k]), a, b,
                              parts[k]);
        }
    }
}

static void check_resize(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    enum kube_qos was = kube_qos_of_document(old);
    bool others = false;

    check_pod_spec(c, "spec", spec);
    if (field_errors_count(c->errors) > 0)
        return;
    if (kube_qos_of_document(spec) != was)
        err_invalid(c, "spec", kube_qos_name(was),
                    "Pod QOS Class may not change as a result of resizing");
    check_resized(c, spec, old, "containers", &others);
    check_resized(c, spec, old, "initContainers", &others);
    if (others)
        err_forbidden(c, "spec", "only cpu and memory resources are mutable");
}

void check_pod_part(struct check *c, enum res_verb verb, const struct kj_val *spec,
                    const struct kj_val *old)
{
    if (verb == RES_RESIZE)
        check_resize(c, spec, old);
    else
        check_ephemeral_containers(c, spec, old);
}
