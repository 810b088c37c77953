/* openapi.c - the field tables as OpenAPI v3 schemas, as far as kubectl's validation, explain and
 * client-side merging read them. */
#include "apiserver/schema/tables.h"
#include "base/vec.h"

struct reached vec_of(const struct t_type *);

static void reach(struct reached *all, const struct t_type *t)
{
    vec_foreach(all, i) {
        if (all->items[i] == t)
            return;
    }
    vec_push(all, t);
    for (const struct t_field *f = t->fields; f->name; f++)
        if (f->kind == T_OBJ)
            reach(all, f->type);
}

static int by_name(const void *a, const void *b)
{
    const struct t_type *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void write_ref(struct kjw *w, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf ref = STRBUF_INIT;
    strbuf_appendf(&ref, "#/components/schemas/%s", name);
    kjw_str(w, "$ref", strbuf_str(&ref));
}

static void write_one_of(struct kjw *w, const char *a, const char *b)
{
    kjw_arr(w, "oneOf");
    kjw_obj(w, NULL);
    kjw_str(w, "type", a);
    kjw_end(w);
    kjw_obj(w, NULL);
    kjw_str(w, "type", b);
    kjw_end(w);
    kjw_end(w);
}

static void write_format(struct kjw *w, const char *type, const char *format)
{
    kjw_str(w, "type", type);
    if (format)
        kjw_str(w, "format", format);
}

/* The members of the schema of one value, without shape. */
static void write_scalar(struct kjw *w, const struct t_field *f)
{
    switch ((enum t_kind)f->kind) {
    case T_STR: write_format(w, "string", NULL); break;
    case T_BOOL: write_format(w, "boolean", NULL); break;
    case T_I32: write_format(w, "integer", "int32"); break;
    case T_I64: write_format(w, "integer", "int64"); break;
    case T_NUM: write_format(w, "number", "double"); break;
    case T_QTY: write_one_of(w, "string", "number"); break;
    case T_IOS:
        kjw_str(w, "format", "int-or-string");
        write_one_of(w, "integer", "string");
        break;
    case T_TIME:
    case T_MICRO: write_format(w, "string", "date-time"); break;
    case T_DUR: write_format(w, "string", NULL); break;
    case T_BYTES: write_format(w, "string", "byte"); break;
    case T_STRS:
        kjw_str(w, "type", "array");
        kjw_obj(w, "items");
        write_format(w, "string", NULL);
        kjw_end(w);
        break;
    case T_OBJ: write_ref(w, f->type->name); break;
    case T_ANY:
        kjw_str(w, "type", "object");
        kjw_bool(w, "x-kubernetes-preserve-unknown-fields", true);
        break;
    }
    if (!f->values)
        return;
    kjw_arr(w, "enum");
    for (size_t i = 0; f->values[i]; i++)
        kjw_str(w, NULL, f->values[i]);
    kjw_end(w);
}

static void write_merge(struct kjw *w, const struct t_field *f)
{
    const char *keys = f->merge_key;
    bool merges = (f->flags & (T_KEY | T_SET)) && !(f->flags & T_REPLACE);
    bool retain = f->flags & T_RETAIN;

    if (f->shape == T_LIST && (f->flags & T_ATOMIC))
        kjw_str(w, "x-kubernetes-list-type", "atomic");
    else if (f->flags & T_KEY)
        kjw_str(w, "x-kubernetes-list-type", "map");
    else if (f->flags & T_SET)
        kjw_str(w, "x-kubernetes-list-type", "set");
    else if (f->flags & T_ATOMIC)
        kjw_str(w, "x-kubernetes-map-type", "atomic");
    if ((f->flags & T_KEY) && keys && !(f->flags & T_ATOMIC)) {
        kjw_arr(w, "x-kubernetes-list-map-keys");
        for (const char *k = keys; k;) {
            size_t n = strcspn(k, ",");
            kjw_strn(w, NULL, k, n);
            k = k[n] ? k + n + 1 : NULL;
        }
        kjw_end(w);
    }
    if (merges && (f->flags & T_KEY) && keys)
        kjw_strn(w, "x-kubernetes-patch-merge-key", keys, strcspn(keys, ","));
    const char *strategy = merges && retain                              ? "merge,retainKeys"
                           : merges                                      ? "merge"
                           : retain                                      ? "retainKeys"
                           : f->shape == T_ONE && (f->flags & T_REPLACE) ? "replace"
                                                                         : NULL;
    if (strategy)
        kjw_str(w, "x-kubernetes-patch-strategy", strategy);
}

static void write_field(struct kjw *w, const struct t_field *f)
{
    kjw_obj(w, f->name);
    if (f->doc)
        kjw_str(w, "description", f->doc);
    if (f->shape == T_ONE && f->kind == T_OBJ) {
        /* A bare $ref takes no siblings in OpenAPI 3.0. */
        kjw_arr(w, "allOf");
        kjw_obj(w, NULL);
        write_ref(w, f->type->name);
        kjw_end(w);
        kjw_end(w);
    } else if (f->shape == T_ONE) {
        write_scalar(w, f);
    } else {
        kjw_str(w, "type", f->shape == T_LIST ? "array" : "object");
        kjw_obj(w, f->shape == T_LIST ? "items" : "additionalProperties");
        write_scalar(w, f);
        kjw_end(w);
    }
    if (f->def)
        kjw_raw(w, "default", f->def, strlen(f->def));
    write_merge(w, f);
    kjw_end(w);
}

static void write_type(struct kjw *w, const struct t_type *t)
{
    const char *group, *version, *kind;
    bool any_required = false;

    kjw_obj(w, t->name);
    if (t->doc)
        kjw_str(w, "description", t->doc);
    kjw_str(w, "type", "object");
    kjw_obj(w, "properties");
    for (const struct t_field *f = t->fields; f->name; f++) {
        write_field(w, f);
        any_required |= (f->flags & T_REQ) != 0;
    }
    kjw_end(w);
    if (any_required) {
        kjw_arr(w, "required");
        for (const struct t_field *f = t->fields; f->name; f++)
            if (f->flags & T_REQ)
                kjw_str(w, NULL, f->name);
        kjw_end(w);
    }
    if (types_gvk(t, &group, &version, &kind)) {
        kjw_arr(w, "x-kubernetes-group-version-kind");
        kjw_obj(w, NULL);
        kjw_str(w, "group", group);
        kjw_str(w, "kind", kind);
        kjw_str(w, "version", version);
        kjw_end(w);
        kjw_end(w);
    }
    kjw_end(w);
}

void types_openapi(const struct t_type *const *roots, size_t n, struct strbuf *out)
{
    struct reached all = { 0 };
    struct kjw w = kjw_to(out);

    for (size_t i = 0; i < n; i++)
        if (roots[i])
            reach(&all, roots[i]);
    if (all.n)
        qsort(all.items, all.n, sizeof all.items[0], by_name);
    kjw_obj(&w, NULL);
    vec_foreach(&all, i)
        write_type(&w, all.items[i]);
    kjw_end(&w);
    vec_fini(&all);
}
