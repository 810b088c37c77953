/* openapi.c - the field tables as OpenAPI schemas, for kubectl's validation, explain and
 * client-side merging, and for generators of clients.
 *
 * Quantities, times and the like are definitions of their own, by their usual names; what a value
 * may be besides its type only version 3 can say. */
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

struct dialect {
    struct kjw *w;
    bool v2;
};

static void write_ref(struct dialect o, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf ref = STRBUF_INIT;
    strbuf_appendf(&ref, "#/%s/%s", o.v2 ? "definitions" : "components/schemas", name);
    kjw_str(o.w, "$ref", strbuf_str(&ref));
}

/* Scalars that have a definition of their own. */
#define MACHINERY "io.k8s.apimachinery.pkg."
static const struct {
    enum t_kind kind;
    const char *name, *type, *also, *format, *text; /* also: another type that it may have */
} scalars[] = {
    { T_QTY, MACHINERY "api.resource.Quantity", "string", "number", NULL,
      "An amount with a unit, such as 500m, 2 or 1Gi." },
    { T_DUR, MACHINERY "apis.meta.v1.Duration", "string", NULL, NULL,
      "A time span, such as 1m30s." },
    { T_MICRO, MACHINERY "apis.meta.v1.MicroTime", "string", NULL, "date-time",
      "A point in time, in RFC 3339, with microseconds." },
    { T_TIME, MACHINERY "apis.meta.v1.Time", "string", NULL, "date-time",
      "A point in time, in RFC 3339." },
    { T_IOS, MACHINERY "util.intstr.IntOrString", "string", "integer", "int-or-string",
      "A number, or a text such as a name or a percentage." },
};

#define FIELDS_V1 MACHINERY "apis.meta.v1.FieldsV1"

/* The definition of the values of a field; NULL: they are described in place. */
static const char *definition_of(const struct t_field *f)
{
    if (f->kind == T_OBJ)
        return f->type->name;
    if (f->kind == T_ANY && streq(f->name, "fieldsV1"))
        return FIELDS_V1;
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
        if (scalars[i].kind == (enum t_kind)f->kind)
            return scalars[i].name;
    return NULL;
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_enum(struct kjw *w, const char *const *values)
{
    struct vec_of(const char *) sorted = { 0 };

    for (size_t i = 0; values[i]; i++)
        vec_push(&sorted, values[i]);
    if (sorted.n)
        qsort(sorted.items, sorted.n, sizeof sorted.items[0], by_text);
    kjw_arr(w, "enum");
    vec_foreach(&sorted, i)
        kjw_str(w, NULL, sorted.items[i]);
    kjw_end(w);
    vec_fini(&sorted);
}

/* The members of the schema of one value, without shape. */
static void write_scalar(struct dialect o, const struct t_field *f)
{
    struct kjw *w = o.w;

    if (definition_of(f)) {
        write_ref(o, definition_of(f));
        return;
    }
    switch ((enum t_kind)f->kind) {
    case T_STR: write_format(w, "string", NULL); break;
    case T_BOOL: write_format(w, "boolean", NULL); break;
    case T_I32: write_format(w, "integer", "int32"); break;
    case T_I64: write_format(w, "integer", "int64"); break;
    case T_NUM: write_format(w, "number", "double"); break;
    case T_QTY:
    case T_IOS:
    case T_TIME:
    case T_MICRO:
    case T_DUR:
    case T_OBJ: break; /* definitions */
    case T_BYTES: write_format(w, "string", "byte"); break;
    case T_STRS:
        kjw_str(w, "type", "array");
        kjw_obj(w, "items");
        write_format(w, "string", NULL);
        kjw_end(w);
        break;
    case T_ANY:
        kjw_str(w, "type", "object");
        if (!o.v2)
            kjw_bool(w, "x-kubernetes-preserve-unknown-fields", true);
        break;
    }
    if (!f->values)
        return;
    write_enum(w, f->values);
}

static void write_merge(struct kjw *w, const struct t_field *f)
{
    const char *keys = f->merge_key;
    bool merges = (f->flags & (T_KEY | T_SET)) && !(f->flags & T_REPLACE);
    bool retain = f->flags & T_RETAIN;

    if ((f->shape == T_LIST || f->kind == T_BYTES) && (f->flags & T_ATOMIC))
        kjw_str(w, "x-kubernetes-list-type", "atomic");
    else if (f->flags & T_KEY)
        kjw_str(w, "x-kubernetes-list-type", "map");
    else if (f->flags & T_SET)
        kjw_str(w, "x-kubernetes-list-type", "set");
    else if (f->flags & (T_ATOMIC | T_GRANULAR))
        kjw_str(w, "x-kubernetes-map-type", f->flags & T_ATOMIC ? "atomic" : "granular");
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

static void write_field(struct dialect o, const struct t_type *t, const struct t_field *f)
{
    struct kjw *w = o.w;
    const char *text = types_describe_field(t->name, f->name);

    kjw_obj(w, f->name);
    if (text)
        kjw_str(w, "description", text);
    if (f->shape == T_ONE && definition_of(f) && !o.v2) {
        /* A bare $ref takes no siblings in OpenAPI 3.0. */
        kjw_arr(w, "allOf");
        kjw_obj(w, NULL);
        write_ref(o, definition_of(f));
        kjw_end(w);
        kjw_end(w);
    } else if (f->shape == T_ONE) {
        write_scalar(o, f);
    } else {
        kjw_str(w, "type", f->shape == T_LIST ? "array" : "object");
        kjw_obj(w, f->shape == T_LIST ? "items" : "additionalProperties");
        write_scalar(o, f);
        kjw_end(w);
    }
    if (f->def && !o.v2) /* where kube-apiserver has none: clients would fill them in */
        kjw_raw(w, "default", f->def, strlen(f->def));
    write_merge(w, f);
    kjw_end(w);
}

static const char gvk_key[] = "x-kubernetes-group-version-kind";

static void write_gvk(struct kjw *w, const struct t_root *r, const char *suffix)
{
    CLEANUP(mem_free) char *kind = xasprintf("%s%s", r->kind, suffix);

    kjw_obj(w, NULL);
    kjw_str(w, "group", r->group);
    kjw_str(w, "kind", kind);
    kjw_str(w, "version", r->version);
    kjw_end(w);
}

/* Options and events of a watch are kinds of every group version. */
static void write_gvks(struct kjw *w, const struct t_root *roots, size_t n, const struct t_type *t)
{
    bool open = false;

    for (size_t i = 0; i < n; i++) {
        if (roots[i].type != t || !roots[i].kind)
            continue;
        if (!open)
            kjw_arr(w, gvk_key);
        open = true;
        write_gvk(w, &roots[i], "");
    }
    if (open)
        kjw_end(w);
}

static void write_type(struct dialect o, const struct t_type *t, const struct t_root *roots,
                       size_t n)
{
    struct kjw *w = o.w;
    const char *text = types_describe(t->name);
    bool any_required = false;

    kjw_obj(w, t->name);
    if (text)
        kjw_str(w, "description", text);
    if (t->either) { /* OpenAPI has no word for it */
        kjw_end(w);
        return;
    }
    kjw_str(w, "type", "object");
    if (t->fields->name)
        kjw_obj(w, "properties");
    for (const struct t_field *f = t->fields; f->name; f++) {
        write_field(o, t, f);
        any_required |= (f->flags & T_REQ) != 0;
    }
    if (t->fields->name)
        kjw_end(w);
    if (any_required) {
        kjw_arr(w, "required");
        for (const struct t_field *f = t->fields; f->name; f++)
            if (f->flags & T_REQ)
                kjw_str(w, NULL, f->name);
        kjw_end(w);
    }
    write_gvks(w, roots, n, t);
    if (t->atomic)
        kjw_str(w, "x-kubernetes-map-type", "atomic");
    kjw_end(w);
}

static void write_text_field(struct dialect o, const char *name)
{
    kjw_obj(o.w, name);
    kjw_str(o.w, "description", types_describe_field("", name));
    kjw_str(o.w, "type", "string");
    kjw_end(o.w);
}

/* The list of a kind, which has no table: all are made alike. */
static void write_list(struct dialect o, const struct t_root *r)
{
    struct kjw *w = o.w;
    CLEANUP(mem_free) char *name = xasprintf("%sList", r->type->name);
    CLEANUP(mem_free) char *text = xasprintf("A list of objects of the kind %s.", r->kind);

    kjw_obj(w, name);
    kjw_str(w, "description", text);
    kjw_str(w, "type", "object");
    kjw_obj(w, "properties");
    write_text_field(o, "apiVersion");
    kjw_obj(w, "items");
    kjw_str(w, "description", types_describe_field(name, "items"));
    kjw_str(w, "type", "array");
    kjw_obj(w, "items");
    write_ref(o, r->type->name);
    kjw_end(w);
    kjw_end(w);
    write_text_field(o, "kind");
    kjw_obj(w, "metadata");
    kjw_str(w, "description", "The version of the list, and where it goes on.");
    write_ref(o, meta_list_meta.name);
    kjw_end(w);
    kjw_end(w);
    kjw_raw(w, "required", "[\"items\"]", 9);
    kjw_arr(w, gvk_key);
    write_gvk(w, r, "List");
    kjw_end(w);
    kjw_end(w);
}

static void write_scalars(struct dialect o)
{
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
        kjw_obj(o.w, scalars[i].name);
        kjw_str(o.w, "description", scalars[i].text);
        if (o.v2 || !scalars[i].also)
            kjw_str(o.w, "type", scalars[i].type);
        else
            write_one_of(o.w, scalars[i].type, scalars[i].also);
        if (scalars[i].format)
            kjw_str(o.w, "format", scalars[i].format);
        kjw_end(o.w);
    }
    kjw_obj(o.w, FIELDS_V1);
    kjw_str(o.w, "description", "The names of fields, as a tree.");
    kjw_str(o.w, "type", "object");
    kjw_end(o.w);
}

void types_openapi(enum openapi_version v, const struct t_root *roots, size_t n, struct kjw *w)
{
    struct dialect o = { w, v == OPENAPI_V2 };
    struct reached all = { 0 };

    for (size_t i = 0; i < n; i++)
        if (roots[i].type)
            reach(&all, roots[i].type);
    if (all.n)
        qsort(all.items, all.n, sizeof all.items[0], by_name);
    vec_foreach(&all, i)
        write_type(o, all.items[i], roots, n);
    for (size_t i = 0; o.v2 && i < n; i++)
        if (roots[i].listed)
            write_list(o, &roots[i]);
    write_scalars(o);
    vec_fini(&all);
}
