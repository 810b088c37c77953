/* openapi.c - the structural schema of a CRD out of a schema table.
 *
 * In the shape controller-gen gives the same Go types, since that is what users' tools and a real
 * kube-apiserver are used to. Keys of each schema are written in alphabetical order.
 */
#include "json/codec.h"

#define QTY_PATTERN                               \
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))" \
    "(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"

/* One schema: of a field, of an element, or of the root. */
struct node {
    const char *key; /* NULL: none (the root) */
    unsigned type, elem;
    const struct kschema *sub;
    const struct kmeta *meta; /* limits, default, enum ...; never NULL */
    const char *description;
    bool int_or_string, is_root;
};

static void write_node(struct kjw *w, const struct node *n);

static bool is_number(unsigned type)
{
    switch (type) {
    case KF_I32:
    case KF_OPT_I32:
    case KF_I64:
    case KF_OPT_I64:
    case KF_F64:
    case KF_OPT_F64: return true;
    default: return false;
    }
}

static bool is_qty(unsigned type)
{
    return type == KF_QTY || type == KF_OPT_QTY;
}

static bool is_string(unsigned type)
{
    return type == KF_STR || type == KF_OPT_STR || type == KF_ENUM || type == KF_UID;
}

static const char *type_of(const struct node *n)
{
    if (n->int_or_string || n->type == KF_INT_OR_STR || is_qty(n->type))
        return NULL; /* anyOf says it */
    switch (n->type) {
    case KF_BOOL:
    case KF_OPT_BOOL: return "boolean";
    case KF_I32:
    case KF_OPT_I32:
    case KF_I64:
    case KF_OPT_I64: return "integer";
    case KF_F64:
    case KF_OPT_F64: return "number";
    case KF_LIST: return "array";
    case KF_OBJ:
    case KF_MAP: return "object";
    case KF_RAW: return n->meta->raw_object ? "object" : NULL;
    default: return "string";
    }
}

static const char *format_of(const struct node *n)
{
    if (n->meta->format)
        return n->meta->format;
    if (n->int_or_string)
        return NULL;
    switch (n->type) {
    case KF_I32:
    case KF_OPT_I32: return "int32";
    case KF_I64:
    case KF_OPT_I64: return "int64";
    case KF_TIME:
    case KF_MICROTIME: return "date-time";
    default: return NULL;
    }
}

static void write_any_of(struct kjw *w)
{
    kjw_arr(w, "anyOf");
    kjw_obj(w, NULL);
    kjw_str(w, "type", "integer");
    kjw_end(w);
    kjw_obj(w, NULL);
    kjw_str(w, "type", "string");
    kjw_end(w);
    kjw_end(w);
}

static void write_enum(struct kjw *w, const struct node *n)
{
    if (!n->meta->names || n->meta->open_enum || !is_string(n->type))
        return;
    kjw_arr(w, "enum");
    for (const char *const *name = n->meta->names; *name; name++)
        if (**name)
            kjw_str(w, NULL, *name);
    kjw_end(w);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void write_element(struct kjw *w, const struct node *n, const char *key)
{
    /* Limits and allowed values of a list or map are those of its elements. */
    struct kmeta meta = { .names = n->meta->names,
                          .min = n->meta->min,
                          .max = n->meta->max,
                          .pattern = n->meta->pattern,
                          .format = n->meta->format,
                          .open_enum = n->meta->open_enum,
                          .min_len = n->meta->min_len,
                          .max_len = n->meta->max_len };
    struct node elem = { .key = key,
                         .type = n->elem,
                         .sub = n->sub,
                         .meta = &meta,
                         .description = n->meta->elem_description,
                         .int_or_string = n->meta->int_or_string_items };

    if (!elem.description && elem.type == KF_OBJ)
        elem.description = n->sub->description;
    write_node(w, &elem);
}

/* ---- objects --------------------------------------------------------------------------------- */

static const struct kmeta no_meta;

static void write_properties(struct kjw *w, const struct kschema *s, bool is_root)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        if (kf_is_inline(f)) {
            write_properties(w, f->sub, is_root);
            continue;
        }
        if (is_root && streq(f->json, "metadata")) {
            /* The API server knows ObjectMeta and refuses any other opinion on it. */
            kjw_obj(w, f->json);
            kjw_str(w, "type", "object");
            kjw_end(w);
            continue;
        }
        struct node n = { .key = f->json,
                          .type = f->type,
                          .elem = f->elem,
                          .sub = f->sub,
                          .meta = f->meta ? f->meta : &no_meta };
        n.description = n.meta->description;
        if (!n.description && n.type == KF_OBJ)
            n.description = f->sub->description;
        write_node(w, &n);
    }
}

static size_t add_required(const struct kschema *s, const char **names, size_t n, size_t max)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        if (kf_is_inline(f))
            n = add_required(f->sub, names, n, max);
        else if (f->flags & KF_REQUIRED && n < max)
            names[n++] = f->json;
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_required(struct kjw *w, const struct kschema *s)
{
    const char *names[256];
    size_t n = add_required(s, names, 0, ARRAY_LEN(names));

    if (n == 0)
        return;
    qsort(names, n, sizeof names[0], by_name);
    kjw_arr(w, "required");
    for (size_t i = 0; i < n; i++)
        kjw_str(w, NULL, names[i]);
    kjw_end(w);
}

/* ---- one schema ------------------------------------------------------------------------------ */

static void write_limit(struct kjw *w, const char *key, uint32_t v)
{
    if (v)
        kjw_i64(w, key, v);
}

static void write_extensions(struct kjw *w, const struct node *n)
{
    const struct kmeta *m = n->meta;

    if (n->int_or_string || n->type == KF_INT_OR_STR || is_qty(n->type))
        kjw_bool(w, "x-kubernetes-int-or-string", true);
    if (n->type == KF_LIST && m->list_key) {
        kjw_arr(w, "x-kubernetes-list-map-keys");
        for (const char *p = m->list_key; *p;) { /* "a,b" for more than one */
            size_t len = strcspn(p, ",");
            kjw_strn(w, NULL, p, len);
            p += len + (p[len] == ',');
        }
        kjw_end(w);
    }
    if (n->type == KF_LIST && (m->list_type || m->list_key))
        kjw_str(w, "x-kubernetes-list-type", m->list_type ? m->list_type : "map");
    if (n->type == KF_OBJ && n->sub->map_atomic)
        kjw_str(w, "x-kubernetes-map-type", "atomic");
    if (n->type == KF_RAW || m->preserve_unknown)
        kjw_bool(w, "x-kubernetes-preserve-unknown-fields", true);
}

static void write_body(struct kjw *w, const struct node *n)
{
    const struct kmeta *m = n->meta;
    bool both = n->int_or_string || n->type == KF_INT_OR_STR || is_qty(n->type);
    bool bounded = is_number(n->type) && !n->int_or_string;

    if (n->type == KF_MAP)
        write_element(w, n, "additionalProperties");
    if (both)
        write_any_of(w);
    if (m->def)
        kjw_raw(w, "default", m->def, strlen(m->def));
    if (n->description)
        kjw_str(w, "description", n->description);
    write_enum(w, n);
    if (format_of(n) && n->type != KF_LIST && n->type != KF_MAP)
        kjw_str(w, "format", format_of(n));
    if (n->type == KF_LIST)
        write_element(w, n, "items");
    if (is_string(n->type))
        write_limit(w, "maxLength", m->max_len);
    if (bounded && m->max.set)
        kjw_i64(w, "maximum", m->max.v);
    if (n->type == KF_LIST)
        write_limit(w, "minItems", m->min_items);
    if (is_string(n->type))
        write_limit(w, "minLength", m->min_len);
    if (n->type == KF_OBJ)
        write_limit(w, "minProperties", n->sub->min_properties);
    if (bounded && m->min.set)
        kjw_i64(w, "minimum", m->min.v);
    if (m->nullable)
        kjw_bool(w, "nullable", true);
    if (is_qty(n->type))
        kjw_str(w, "pattern", QTY_PATTERN);
    else if (m->pattern && is_string(n->type))
        kjw_str(w, "pattern", m->pattern);
    if (n->type == KF_OBJ) {
        if (n->sub->nfields > 0 || n->is_root) {
            kjw_obj(w, "properties");
            write_properties(w, n->sub, n->is_root);
            kjw_end(w);
        }
        write_required(w, n->sub);
    }
    if (type_of(n))
        kjw_str(w, "type", type_of(n));
    write_extensions(w, n);
}

static void write_node(struct kjw *w, const struct node *n)
{
    /* A bare schema is the value of its only field, described by both. */
    if (n->type == KF_OBJ && n->sub->bare) {
        const struct kfield *f = &n->sub->fields[0];
        struct kmeta meta = f->meta ? *f->meta : no_meta;
        meta.nullable |= n->meta->nullable;
        meta.preserve_unknown |= n->meta->preserve_unknown;
        if (n->meta->def)
            meta.def = n->meta->def;
        struct node inner = { .key = n->key,
                              .type = f->type,
                              .elem = f->elem,
                              .sub = f->sub,
                              .meta = &meta,
                              .description = n->description ? n->description : meta.description };
        write_node(w, &inner);
        return;
    }
    kjw_obj(w, n->key);
    write_body(w, n);
    kjw_end(w);
}

void kj_openapi(const struct kschema *s, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    struct node root = {
        .type = KF_OBJ, .sub = s, .meta = &no_meta, .description = s->description, .is_root = true
    };

    write_node(&w, &root);
}
