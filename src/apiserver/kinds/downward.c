/* downward.c - what a pod tells its containers about itself: fieldRef and resourceFieldRef, in the
 * environment and in volumes. */
#include <ctype.h>

#include "apiserver/kinds/internal.h"

/* Paths that mean something in a pod, wherever they may be used. */
static bool is_known_path(const char *f)
{
    static const char *const known[] = {
        "metadata.annotations", "metadata.labels",    "metadata.name",
        "metadata.namespace",   "metadata.uid",       "spec.nodeName",
        "spec.restartPolicy",   "spec.schedulerName", "spec.serviceAccountName",
        "status.phase",         "status.hostIP",      "status.hostIPs",
        "status.podIP",         "status.podIPs"
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (streq(known[i], f))
            return true;
    return false;
}

/* metadata.labels['key']: the key in the arena; NULL when it is no such path. */
static const char *subscript(struct check *c, const char *f, bool *ret_annotation)
{
    static const char *const maps[] = { "metadata.annotations['", "metadata.labels['" };

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        const char *key = f + strlen(maps[i]);
        if (!str_starts(f, maps[i]) || !str_ends(key, "']"))
            continue;
        *ret_annotation = i == 0;
        return arena_strndup(c->a, key, strlen(key) - 2);
    }
    return NULL;
}

static void check_key(struct check *c, const char *path, const char *key, bool annotation)
{
    char *k = arena_strdup(c->a, key);
    for (char *p = k; annotation && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    check_qualified(c, path, k);
}

void check_field_ref(struct check *c, const char *path, const struct kj_val *ref,
                     const char *const *supported)
{
    const char *f = v_str(ref, "fieldPath"), *p = at(c, "%s.fieldPath", path);
    const char *version = v_str(ref, "apiVersion"), *key;
    bool annotation;

    if (!*f)
        err_required(c, p, "");
    else if (*version && !streq(version, "v1"))
        err_invalid(c, p, f,
                    at(c, "error converting fieldPath: unsupported pod version: %s", version));
    else if ((key = subscript(c, f, &annotation)))
        check_key(c, path, key, annotation);
    else if (!is_known_path(f))
        err_invalid(c, p, f, at(c, "error converting fieldPath: field label not supported: %s", f));
    else
        check_enum(c, p, f, supported, false);
}

static void check_divisor(struct check *c, const char *path, const char *resource,
                          const char *divisor)
{
    static const char *const cpu[] = { "1m", "1", NULL };
    static const char *const bytes[] = { "1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                         "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL };
    bool is_cpu = str_ends(resource, ".cpu");

    if (!*divisor || streq(divisor, "0"))
        return;
    for (const char *const *v = is_cpu ? cpu : bytes; *v; v++)
        if (streq(*v, divisor))
            return;
    err_invalid(c, at(c, "%s.divisor", path), resource,
                is_cpu ? "only divisor's values 1m and 1 are supported with the cpu resource"
                       : "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, "
                         "1Pi, 1Ei are supported with the resource");
}

void check_resource_ref(struct check *c, const char *path, const struct kj_val *ref, bool in_volume)
{
    static const char *const known[] = { "limits.cpu",
                                         "limits.ephemeral-storage",
                                         "limits.memory",
                                         "requests.cpu",
                                         "requests.ephemeral-storage",
                                         "requests.memory",
                                         NULL };
    const char *r = v_str(ref, "resource"), *p = at(c, "%s.resource", path);

    if (in_volume && !*v_str(ref, "containerName"))
        err_required(c, at(c, "%s.containerName", path), "");
    else if (!*r)
        err_required(c, p, "");
    else if (str_starts(r, "requests.hugepages-") || str_starts(r, "limits.hugepages-") ||
             check_enum(c, p, r, known, false))
        check_divisor(c, path, r, v_str(ref, "divisor"));
}

/* One file of a downwardAPI volume. Paths without the index, as upstream. */
static void check_file(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const supported[] = { "metadata.annotations", "metadata.labels",
                                             "metadata.name",        "metadata.namespace",
                                             "metadata.uid",         NULL };
    const char *file = v_str(v, "path");
    int64_t mode = kj_i64_or(kj_get(v, "mode"), 0);

    if (!*file)
        err_required(c, at(c, "%s.path", path), "");
    check_local_path(c, at(c, "%s.path", path), file, true);
    if (v_has(v, "fieldRef")) {
        check_field_ref(c, at(c, "%s.fieldRef", path), kj_get(v, "fieldRef"), supported);
        if (v_has(v, "resourceFieldRef"))
            err_invalid(c, path, "resource",
                        "fieldRef and resourceFieldRef can not be specified simultaneously");
    } else if (v_has(v, "resourceFieldRef")) {
        check_resource_ref(c, at(c, "%s.resourceFieldRef", path), kj_get(v, "resourceFieldRef"),
                           true);
    } else {
        err_required(c, path, "one of fieldRef and resourceFieldRef is required");
    }
    if (mode < 0 || mode > 0777)
        err_invalid_i64(c, at(c, "%s.mode", path), mode, FILE_MODE_WORDS);
}

void check_downward(struct check *c, const char *path, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(kj_get(v, "items"));
    const struct kj_val *item;
    int64_t mode = kj_i64_or(kj_get(v, "defaultMode"), 0);

    if (mode < 0 || mode > 0777)
        err_invalid_i64(c, at(c, "%s.defaultMode", path), mode, FILE_MODE_WORDS);
    while (kj_next(&it, NULL, &item))
        check_file(c, path, item);
}
