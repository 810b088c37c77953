/* schema.c - types from schemas. */
#include "cel/schema.h"

#include <ctype.h>

#include "base/vec.h"

/* What fits into a request decides where a schema sets no limit. */
enum { REQUEST_MAX = 3 * 1024 * 1024 };

static const struct cel_type *node_type(struct arena *a, const struct kj_val *s, const char *name,
                                        bool root);

static struct cel_type *copy_of(struct arena *a, const struct cel_type *t, uint64_t size_max)
{
    struct cel_type *out = arena_new0(a, struct cel_type);
    *out = *t;
    out->size_max = size_max;
    return out;
}

/* ---- names --------------------------------------------------------------------------------------- */

static bool is_reserved(struct str s)
{
    static const char *const words[] = { "true",     "false",     "null",     "in",   "as",
                                         "break",    "const",     "continue", "else", "for",
                                         "function", "if",        "import",   "let",  "loop",
                                         "package",  "namespace", "return",   "var",  "void",
                                         "while" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eqz(s, words[i]))
            return true;
    }
    return false;
}

/* Keys of maps: kube-apiserver takes them for empty when it estimates costs. */
static const struct cel_type key_type = { .kind = CT_STRING, .name = "string", .size_max = 0 };

bool cel_field_name(struct arena *a, struct str s, struct str *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (s.n == 0 || (!isalpha((unsigned char)s.p[0]) && s.p[0] != '_'))
        return false;
    if (is_reserved(s)) {
        strbuf_appendf(&b, "__%.*s__", (int)s.n, s.p);
    } else {
        for (size_t i = 0; i < s.n; i++) {
            char c = s.p[i];
            if (c == '_' && i + 1 < s.n && s.p[i + 1] == '_') {
                strbuf_append(&b, "__underscores__");
                i++;
            } else if (isalnum((unsigned char)c) || c == '_') {
                strbuf_appendc(&b, c);
            } else if (c == '.' || c == '-' || c == '/') {
                strbuf_append(&b, c == '.' ? "__dot__" : c == '-' ? "__dash__" : "__slash__");
            } else {
                return false;
            }
        }
    }
    *ret = (struct str){ arena_strndup(a, strbuf_str(&b), b.len), b.len };
    return true;
}

/* ---- sizes --------------------------------------------------------------------------------------- */

static const char *text_of(const struct kj_val *s, const char *key)
{
    return kj_str_or(kj_get(s, key), "");
}

/* Is there a type for values of the schema? */
static bool has_type(const struct kj_val *s)
{
    const char *type = text_of(s, "type");
    const struct kj_val *more = kj_get(s, "additionalProperties");

    if (kj_bool(kj_get(s, "x-kubernetes-int-or-string"), false))
        return true;
    if (streq(type, "array"))
        return has_type(kj_get(s, "items"));
    return streq(type, "object") && kj_type(more) == KJ_OBJ ? has_type(more) : *type != 0;
}

/* The fewest bytes that a value takes in JSON. */
uint64_t cel_schema_least_bytes(const struct kj_val *s)
{
    const char *type = text_of(s, "type"), *format = text_of(s, "format");
    uint64_t sum = 2;
    struct str key;
    const struct kj_val *name;

    if (kj_bool(kj_get(s, "x-kubernetes-int-or-string"), false))
        return 1;
    if (streq(type, "string"))
        return streq(format, "date")        ? 12
               : streq(format, "date-time") ? 21
               : streq(format, "duration")  ? 3
                                            : 2;
    if (streq(type, "boolean"))
        return 4;
    if (streq(type, "integer") || streq(type, "number"))
        return 1;
    if (streq(type, "object")) {
        for (struct kj_iter it = kj_iter(kj_get(s, "required")); kj_next(&it, &key, &name);) {
            const struct kj_val *p =
                kj_getn(kj_get(s, "properties"), kj_str_or(name, ""), kj_len(name));
            if (p && !kj_get(p, "default") && has_type(p)) /* upstream leaves others out */
                sum += kj_len(name) + cel_schema_least_bytes(p) + 4;
        }
    }
    return sum;
}

static uint64_t string_max(const struct kj_val *s)
{
    const char *format = text_of(s, "format");
    const struct kj_val *all = kj_get(s, "enum"), *v;
    uint64_t longest = 0;
    struct str key;

    if (streq(format, "date"))
        return 12;
    if (streq(format, "date-time") || streq(format, "duration"))
        return 32;
    int64_t limit = kj_i64_or(kj_get(s, "maxLength"), -1);
    if (limit >= 0)
        return streq(format, "byte") ? (uint64_t)limit : (uint64_t)limit * 4;
    for (struct kj_iter it = kj_iter(all); kj_next(&it, &key, &v);)
        longest = MAX(longest, (uint64_t)kj_len(v));
    return kj_len(all) ? longest : REQUEST_MAX - 2;
}

static uint64_t count_max(const struct kj_val *s, const char *key, const struct kj_val *items,
                          uint64_t extra)
{
    int64_t limit = kj_i64_or(kj_get(s, key), -1);
    return limit >= 0 ? (uint64_t)limit
                      : (REQUEST_MAX - 2) / (cel_schema_least_bytes(items) + extra);
}

/* ---- types --------------------------------------------------------------------------------------- */

static const struct cel_type *string_type(struct arena *a, const struct kj_val *s)
{
    const char *format = text_of(s, "format");
    const struct cel_type *t = &cel_string;

    if (streq(format, "byte"))
        t = &cel_bytes;
    else if (streq(format, "date") || streq(format, "date-time"))
        t = &cel_timestamp;
    else if (streq(format, "duration"))
        t = &cel_duration;
    return copy_of(a, t, string_max(s));
}

static const struct cel_type *array_type(struct arena *a, const struct kj_val *s, const char *name)
{
    const struct kj_val *items = kj_get(s, "items"), *keys, *v;
    const char *kind = text_of(s, "x-kubernetes-list-type");
    const struct cel_type *elem = node_type(a, items, arena_printf(a, "%s.@idx", name), false);
    struct str key;
    uint32_t n = 0;

    if (!elem)
        return NULL;
    struct cel_type *t = copy_of(a, cel_type_list(a, elem), count_max(s, "maxItems", items, 1));
    t->of_schema = true;
    t->list_kind = streq(kind, "set")   ? CEL_LIST_SET
                   : streq(kind, "map") ? CEL_LIST_MAP
                                        : CEL_LIST_ATOMIC;
    keys = kj_get(s, "x-kubernetes-list-map-keys");
    struct str *list = arena_newn0(a, kj_len(keys) + 1, struct str);
    for (struct kj_iter it = kj_iter(keys); kj_next(&it, &key, &v);) {
        struct str plain = { kj_str_or(v, ""), kj_len(v) };
        if (!cel_field_name(a, plain, &list[n]))
            list[n] = plain;
        n++;
    }
    t->list_keys = list;
    t->n_list_keys = n;
    return t;
}

static int field_cmp(const void *x, const void *y)
{
    const struct cel_field *a = x, *b = y;
    int c = memcmp(a->name.p, b->name.p, MIN(a->name.n, b->name.n));
    return c ? c : a->name.n < b->name.n ? -1 : a->name.n > b->name.n;
}

static void add_field(struct arena *a, struct cel_field *fields, uint32_t *n, struct str json,
                      const struct cel_type *type)
{
    struct cel_field f = { .json = json, .type = type };

    if (!type || !cel_field_name(a, json, &f.name))
        return;
    for (uint32_t i = 0; i < *n; i++) {
        if (str_eq(fields[i].json, json)) {
            fields[i] = f;
            return;
        }
    }
    fields[(*n)++] = f;
}

static const struct cel_type *object_of(struct arena *a, const char *name, struct cel_field *fields,
                                        uint32_t n)
{
    struct cel_type *t = arena_new0(a, struct cel_type);

    qsort(fields, n, sizeof *fields, field_cmp);
    t->kind = CT_OBJECT;
    t->of_schema = true;
    t->name = name;
    t->fields = fields;
    t->n_fields = n;
    t->size_max = 0; /* the estimate counts no fields */
    return t;
}

/* apiVersion, kind and metadata, as every object has them. */
static void add_meta(struct arena *a, struct cel_field *fields, uint32_t *n, const char *name)
{
    struct cel_field *meta = arena_newn0(a, 2, struct cel_field);
    const struct cel_type *text = copy_of(a, &cel_string, REQUEST_MAX - 2);
    uint32_t count = 0;

    add_field(a, meta, &count, STR("name"), text);
    add_field(a, meta, &count, STR("generateName"), text);
    add_field(a, fields, n, STR("apiVersion"), text);
    add_field(a, fields, n, STR("kind"), text);
    add_field(a, fields, n, STR("metadata"),
              object_of(a, arena_printf(a, "%s.metadata", name), meta, count));
}

static const struct cel_type *object_type(struct arena *a, const struct kj_val *s, const char *name,
                                          bool root)
{
    const struct kj_val *more = kj_get(s, "additionalProperties"), *p,
                        *properties = kj_get(s, "properties");
    struct str key;
    uint32_t n = 0;

    root |= kj_bool(kj_get(s, "x-kubernetes-embedded-resource"), false);
    if (kj_type(more) == KJ_OBJ) {
        const struct cel_type *elem = node_type(a, more, arena_printf(a, "%s.@elem", name), false);
        if (!elem)
            return NULL;
        struct cel_type *t =
            copy_of(a, cel_type_map(a, &key_type, elem), count_max(s, "maxProperties", more, 6));
        t->of_schema = true;
        return t;
    }
    struct cel_field *fields = arena_newn0(a, kj_len(properties) + 4, struct cel_field);
    for (struct kj_iter it = kj_iter(properties); kj_next(&it, &key, &p);)
        add_field(a, fields, &n, key,
                  node_type(a, p, arena_printf(a, "%s.%.*s", name, (int)key.n, key.p), false));
    if (root)
        add_meta(a, fields, &n, name);
    return object_of(a, name, fields, n);
}

static const struct cel_type *node_type(struct arena *a, const struct kj_val *s, const char *name,
                                        bool root)
{
    const char *type = text_of(s, "type");

    if (kj_bool(kj_get(s, "x-kubernetes-int-or-string"), false)) {
        int64_t limit = kj_i64_or(kj_get(s, "maxLength"), -1);
        return copy_of(a, &cel_dyn, limit >= 0 ? (uint64_t)limit * 4 : REQUEST_MAX - 2);
    }
    if (streq(type, "array"))
        return array_type(a, s, name);
    if (streq(type, "object") || root ||
        kj_bool(kj_get(s, "x-kubernetes-embedded-resource"), false))
        return object_type(a, s, name, root);
    if (streq(type, "string"))
        return string_type(a, s);
    if (streq(type, "boolean"))
        return copy_of(a, &cel_bool, 0);
    if (streq(type, "integer"))
        return copy_of(a, &cel_int, 0);
    return streq(type, "number") ? copy_of(a, &cel_double, 0) : NULL;
}

const struct cel_type *cel_schema_type(struct arena *a, const struct kj_val *schema,
                                       const char *name, bool root)
{
    return node_type(a, schema, name, root);
}
