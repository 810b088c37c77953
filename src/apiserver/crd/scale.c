/* scale.c - what the paths of a scale subresource lead to: numbers of replicas. */
#include <inttypes.h>
#include <stdio.h>

#include "apiserver/crd/internal.h"

/* A value as Go's %v prints it: that is what kube-apiserver shows. */
static void print_go(const struct kj_val *v, struct strbuf *out)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    const char *space = "";
    struct str key;

    switch (kj_type(v)) {
    case KJ_STR: strbuf_appendn(out, kj_str(v), kj_len(v)); return;
    case KJ_ARR:
    case KJ_OBJ:
        strbuf_append(out, kj_type(v) == KJ_OBJ ? "map[" : "[");
        for (; kj_next(&it, &key, &item); space = " ") {
            strbuf_append(out, space);
            if (kj_type(v) == KJ_OBJ)
                strbuf_appendf(out, "%.*s:", (int)key.n, key.p);
            print_go(item, out);
        }
        strbuf_appendc(out, ']');
        return;
    default: break;
    }
    if (kj_type(v) <= KJ_NULL)
        strbuf_append(out, "<nil>");
    else
        kj_write(v, 0, out);
}

static const char *go_type(const struct kj_val *v)
{
    int64_t n;

    switch (kj_type(v)) {
    case KJ_BOOL: return "bool";
    case KJ_STR: return "string";
    case KJ_ARR: return "[]interface {}";
    case KJ_OBJ: return "map[string]interface {}";
    default: return kj_type(v) <= KJ_NULL ? "<nil>" : kj_i64(v, &n) == 0 ? "int64" : "float64";
    }
}

/* The value is not what the first n bytes of the path should lead to. */
static void misplaced(const char *path, size_t n, const struct kj_val *v, const char *wanted,
                      struct field_errors *errors)
{
    CLEANUP(strbuf_fini) struct strbuf where = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf sorted = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    strbuf_appendf(&where, ".%s", path);
    kj_write(v, KJ_SORTED, &sorted); /* as Go prints maps */
    if (kj_parse(sorted.data, sorted.len, KJ_RAW_NUMBERS, &doc, NULL) == 0)
        print_go(kj_root(doc), &shown);
    field_error(errors, FIELD_INVALID, where.data, "0",
                ".%.*s accessor error: %s is of the type %s, expected %s", (int)n, path,
                strbuf_str(&shown), go_type(v), wanted);
}

/* The value at "spec.replicas". NULL: there is none, or something on the way is no object, which
 * was told. */
static const struct kj_val *find(const struct kj_val *obj, const char *path,
                                 struct field_errors *errors)
{
    const struct kj_val *v = obj;

    for (const char *p = path;; p++) {
        size_t n = strcspn(p, ".");
        if (kj_type(v) <= KJ_NULL)
            return NULL;
        if (kj_type(v) != KJ_OBJ) {
            misplaced(path, (size_t)(p - path) + n, v, "map[string]interface{}", errors);
            return NULL;
        }
        v = kj_getn(v, p, n);
        p += n;
        if (!*p)
            return v;
    }
}

void scale_validate(const struct kj_val *obj, const char *path, struct field_errors *errors)
{
    const struct kj_val *v = path ? find(obj, path, errors) : NULL;
    char shown[24], where[256];
    int64_t n;

    if (!v)
        return;
    if (kj_i64(v, &n) < 0) {
        misplaced(path, strlen(path), v, "int64", errors);
        return;
    }
    (void)snprintf(shown, sizeof shown, "%" PRId64, n);
    (void)snprintf(where, sizeof where, ".%s", path);
    if (n < 0)
        field_error(errors, FIELD_INVALID, where, shown, "should be a non-negative integer");
    else if (n > INT32_MAX)
        field_error(errors, FIELD_INVALID, where, shown, "should be less than or equal to %d",
                    INT32_MAX);
}
