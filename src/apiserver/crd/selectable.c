/* selectable.c - selectableFields of a version: which fields a field selector may name. */
#include <stdio.h>

#include "apiserver/crd/internal.h"
#include "apiserver/crd/jsonpath.h"
#include "base/map.h"

enum { SELECTABLE_MAX = 8 };

/* ---- validation ------------------------------------------------------------------------------ */

/* The next part of a path: a delimiter, or what stands before the next one. */
static struct str next_token(const char **at)
{
    const char *p = *at;
    size_t n = strcspn(p, ".[]");

    n = n ? n : *p != '\0';
    *at = p + n;
    return (struct str){ p, n };
}

/* The schema that a path leads to; NULL: *why says why there is none. */
static const struct kj_val *follow(const char *path, const struct kj_val *schema, const char **why)
{
    *why = NULL;
    for (const char *at = path; *at;) {
        struct str t = next_token(&at);
        if (str_eqz(t, "["))
            *why = "array notation is not allowed";
        else if (!str_eqz(t, "."))
            *why = "expected [ or . but got: ";
        else if (!*at)
            *why = "unexpected end of JSON path";
        if (*why)
            return NULL;
        t = next_token(&at);
        const struct kj_val *props = kj_get(schema, "properties");
        const struct kj_val *rest = kj_get(schema, "additionalProperties");
        if (kj_type(props) == KJ_OBJ)
            schema = kj_getn(props, t.p, t.n);
        else
            schema = rest;
        if (kj_type(schema) != KJ_OBJ) {
            *why = "does not refer to a valid field";
            return NULL;
        }
    }
    return schema;
}

static bool has_simple_type(const struct kj_val *schema)
{
    const char *type = kj_str_or(kj_get(schema, "type"), "");
    return streq(type, "string") || streq(type, "boolean") || streq(type, "integer");
}

/* Counts it, unless it leads nowhere or was there before. */
static size_t check_one(const struct kj_val *field, const struct kj_val *schema, const char *at,
                        struct map *seen, struct field_errors *e)
{
    const char *path = kj_str_or(kj_get(field, "jsonPath"), ""), *why;

    if (!*path) {
        field_error(e, FIELD_REQUIRED, at, NULL, NULL);
        return 0;
    }
    const struct kj_val *found = follow(path, schema, &why);
    if (!found) {
        bool shown = str_ends(why, ": ");
        field_error_text(e, FIELD_INVALID, at, path, "is an invalid path: %s%.*s", why,
                         shown ? (int)strcspn(path, ".[]") : 0, path);
        return 0;
    }
    if (str_starts(path, ".metadata") && (path[9] == '.' || !path[9]))
        field_error_text(e, FIELD_INVALID, at, path, "must not point to fields in metadata");
    if (!has_simple_type(found))
        field_error_text(e, FIELD_INVALID, at, path,
                         "must point to a field of type string, boolean or integer. Enum string "
                         "fields and strings with formats are allowed.");
    if (!map_putz(seen, path, (void *)(uintptr_t)path))
        return 1;
    field_error_text(e, FIELD_DUPLICATE, at, path, NULL);
    return 0;
}

void selectable_check(const struct kj_val *list, const struct kj_val *schema, const char *where,
                      bool stored, struct field_errors *e)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *field;
    char count[24];
    size_t n = 0;

    for (size_t i = 0; kj_next(&it, NULL, &field); i++) {
        CLEANUP(mem_free) char *at = xasprintf("%s[%zu].jsonPath", where, i);
        n += check_one(field, schema, at, &seen, e);
    }
    (void)snprintf(count, sizeof count, "%zu", n);
    if (n > SELECTABLE_MAX && !stored)
        field_error(e, FIELD_TOO_MANY, where, count, "must have at most %d items", SELECTABLE_MAX);
}

/* ---- selecting ------------------------------------------------------------------------------- */

const char *crd_field(const struct crd_schema *s, const struct kj_val *obj, const char *field,
                      struct arena *a)
{
    const struct kj_val *list = kj_get(kj_root(s->doc), "selectableFields");

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *path = kj_str_or(kj_get(kj_at(list, i), "jsonPath"), "");
        if (!streq(path + (*path == '.'), field))
            continue;
        const struct kj_val *v = obj ? jsonpath_first(path, obj) : NULL;
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        if (kj_type(v) == KJ_STR)
            return kj_str(v);
        if (kj_type(v) == KJ_BOOL || kj_type(v) == KJ_NUM)
            kj_write(v, 0, &text);
        return arena_strdup(a, strbuf_str(&text));
    }
    return NULL;
}
