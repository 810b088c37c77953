/* type.c - types: constants, comparison, text. */
#include "cel/type.h"

#define SIMPLE(kind_, name_)                                       \
    {                                                              \
        .kind = kind_, .name = name_, .size_max = CEL_SIZE_UNKNOWN \
    }
const struct cel_type cel_dyn = SIMPLE(CT_DYN, "dyn"), cel_error = SIMPLE(CT_ERROR, "*error*"),
                      cel_null = SIMPLE(CT_NULL, "null_type"), cel_bool = SIMPLE(CT_BOOL, "bool"),
                      cel_int = SIMPLE(CT_INT, "int"), cel_uint = SIMPLE(CT_UINT, "uint"),
                      cel_double = SIMPLE(CT_DOUBLE, "double"),
                      cel_string = SIMPLE(CT_STRING, "string"),
                      cel_bytes = SIMPLE(CT_BYTES, "bytes"),
                      cel_timestamp = SIMPLE(CT_TIMESTAMP, "google.protobuf.Timestamp"),
                      cel_duration = SIMPLE(CT_DURATION, "google.protobuf.Duration"),
                      cel_quantity = SIMPLE(CT_OBJECT, "kubernetes.Quantity"),
                      cel_ip = SIMPLE(CT_OPAQUE, "net.IP"),
                      cel_cidr = SIMPLE(CT_OPAQUE, "net.CIDR"),
                      cel_url = SIMPLE(CT_OBJECT, "kubernetes.URL"),
                      cel_semver = SIMPLE(CT_OBJECT, "kubernetes.Semver"),
                      cel_format = SIMPLE(CT_OBJECT, "kubernetes.NamedFormat"),
                      cel_authorizer = SIMPLE(CT_OBJECT, "kubernetes.authorization.Authorizer"),
                      cel_path_check = SIMPLE(CT_OBJECT, "kubernetes.authorization.PathCheck"),
                      cel_group_check = SIMPLE(CT_OBJECT, "kubernetes.authorization.GroupCheck"),
                      cel_resource_check =
                          SIMPLE(CT_OBJECT, "kubernetes.authorization.ResourceCheck"),
                      cel_decision = SIMPLE(CT_OBJECT, "kubernetes.authorization.Decision");
const struct cel_type cel_list_dyn = {
    .kind = CT_LIST, .name = "list", .elem = &cel_dyn, .size_max = CEL_SIZE_UNKNOWN
};
const struct cel_type cel_map_dyn = {
    .kind = CT_MAP, .name = "map", .elem = &cel_dyn, .key = &cel_dyn, .size_max = CEL_SIZE_UNKNOWN
};

static uint32_t inside(const struct cel_type *key, const struct cel_type *elem)
{
    return (elem ? elem->inside + 1 : 0) + (key ? key->inside + 1 : 0);
}

static struct cel_type *make(struct arena *a, enum cel_type_kind kind, const char *name,
                             const struct cel_type *key, const struct cel_type *elem)
{
    struct cel_type *t = arena_new0(a, struct cel_type);
    t->kind = (uint8_t)kind;
    t->name = name;
    t->key = key;
    t->elem = elem;
    t->inside = inside(key, elem);
    t->size_max = CEL_SIZE_UNKNOWN;
    return t;
}

const struct cel_type *cel_type_list(struct arena *a, const struct cel_type *elem)
{
    return make(a, CT_LIST, "list", NULL, elem);
}

const struct cel_type *cel_type_map(struct arena *a, const struct cel_type *key,
                                    const struct cel_type *elem)
{
    return make(a, CT_MAP, "map", key, elem);
}

const struct cel_type *cel_type_of(struct arena *a, enum cel_type_kind kind,
                                   const struct cel_type *elem)
{
    const char *name = kind == CT_TYPE       ? "type"
                       : kind == CT_OPTIONAL ? "optional_type"
                                             : elem->name;
    return make(a, kind, name, NULL, elem);
}

bool cel_type_is_any(const struct cel_type *t)
{
    return t->kind == CT_DYN && streq(t->name, "google.protobuf.Any");
}

bool cel_type_eq(const struct cel_type *a, const struct cel_type *b)
{
    if (a == b)
        return true;
    if (!a || !b)
        return false;
    a = a->kind == CT_WRAPPER ? a->elem : a;
    b = b->kind == CT_WRAPPER ? b->elem : b;
    if (a->kind != b->kind)
        return false;
    switch ((enum cel_type_kind)a->kind) {
    case CT_PARAM: return a->param == b->param;
    case CT_OBJECT:
    case CT_OPAQUE: return streq(a->name, b->name);
    case CT_LIST:
    case CT_TYPE:
    case CT_OPTIONAL: return cel_type_eq(a->elem, b->elem);
    case CT_MAP: return cel_type_eq(a->key, b->key) && cel_type_eq(a->elem, b->elem);
    case CT_DYN: return cel_type_is_any(a) == cel_type_is_any(b);
    default: return true;
    }
}

const struct cel_field *cel_type_field(const struct cel_type *t, struct str name)
{
    size_t lo = 0, hi = t->n_fields;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct cel_field *f = &t->fields[mid];
        int c = memcmp(name.p, f->name.p, MIN(name.n, f->name.n));
        if (c == 0)
            c = name.n < f->name.n ? -1 : name.n > f->name.n;
        if (c == 0)
            return f;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

void cel_type_print(const struct cel_type *t, bool message, struct strbuf *out)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_LIST:
    case CT_TYPE:
    case CT_OPTIONAL:
    case CT_WRAPPER:
    case CT_MAP:
        strbuf_appendf(out, "%s(", t->kind == CT_WRAPPER ? "wrapper" : t->name);
        if (t->kind == CT_MAP) {
            cel_type_print(t->key, message, out);
            strbuf_append(out, ", ");
        }
        if (t->elem)
            cel_type_print(t->elem, message, out);
        strbuf_appendc(out, ')');
        break;
    case CT_TIMESTAMP: strbuf_append(out, message ? "timestamp" : t->name); break;
    case CT_DURATION: strbuf_append(out, message ? "duration" : t->name); break;
    case CT_NULL: strbuf_append(out, message ? "null" : t->name); break;
    case CT_ERROR: strbuf_append(out, "!error!"); break;
    case CT_DYN: strbuf_append(out, message && cel_type_is_any(t) ? "any" : t->name); break;
    case CT_PARAM:
        if (t->param >= CEL_PARAM_FIRST)
            strbuf_appendf(out, "_var%u", t->param - CEL_PARAM_FIRST);
        else
            strbuf_append(out, t->name);
        break;
    default: strbuf_append(out, t->name); break;
    }
}

const struct cel_type *cel_type_with(struct arena *a, const struct cel_type *t,
                                     const struct cel_type *key, const struct cel_type *elem)
{
    if (elem == t->elem && key == t->key)
        return t;
    struct cel_type *copy = arena_new0(a, struct cel_type);
    *copy = *t;
    copy->key = key;
    copy->elem = elem;
    copy->inside = inside(key, elem);
    return copy;
}

const struct cel_type *cel_type_keep(struct arena *a, const struct cel_type *t)
{
    if (!t || !t->elem || t->kind == CT_OBJECT) /* a constant, or of a schema */
        return t;
    struct cel_type *copy = arena_new0(a, struct cel_type);
    *copy = *t;
    copy->elem = cel_type_keep(a, t->elem);
    copy->key = cel_type_keep(a, t->key);
    return copy;
}
