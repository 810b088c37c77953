/* run_cel.c - expressions: values, types, messages, costs and estimates. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "apiserver/admission/admitexpr.h"
#include "apiserver/crd/internal.h"
#include "apiserver/registry/internal.h"
#include "base/b64.h"
#include "base/num.h"
#include "cel/cel.h"
#include "cel/clock.h"
#include "cel/device.h"
#include "cel/lib.h"
#include "cel/schema.h"
#include "runners.h"
#include "sys/tzone.h"

/* ---- types and values of the input --------------------------------------------------------------- */

static const struct cel_type *read_type(struct arena *a, struct str *s)
{
    static const struct {
        const char *name;
        const struct cel_type *type;
    } names[] = {
        { "int", &cel_int },          { "uint", &cel_uint },     { "double", &cel_double },
        { "bool", &cel_bool },        { "string", &cel_string }, { "bytes", &cel_bytes },
        { "null_type", &cel_null },   { "dyn", &cel_dyn },       { "timestamp", &cel_timestamp },
        { "duration", &cel_duration }
    };
    size_t n = 0;

    while (n < s->n && (s->p[n] == '_' || (s->p[n] >= 'a' && s->p[n] <= 'z')))
        n++;
    struct str word = { s->p, n };
    s->p += n;
    s->n -= n;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eqz(word, names[i].name))
            return names[i].type;
    }
    s->p++; /* ( */
    s->n--;
    const struct cel_type *first = read_type(a, s), *out;
    if (str_eqz(word, "map")) {
        s->p += 2; /* ", " */
        s->n -= 2;
        out = cel_type_map(a, first, read_type(a, s));
    } else {
        out = str_eqz(word, "list") ? cel_type_list(a, first) : cel_type_of(a, CT_OPTIONAL, first);
    }
    s->p++; /* ) */
    s->n--;
    return out;
}

static struct cel_val read_value(struct arena *a, const struct kj_val *v);

static struct cel_val read_list(struct arena *a, const struct kj_val *v)
{
    struct cel_val *items = arena_newn0(a, kj_len(v) + 1, struct cel_val);
    for (size_t i = 0; i < kj_len(v); i++)
        items[i] = read_value(a, kj_at(v, i));
    return cel_v_list(a, items, kj_len(v));
}

static struct cel_val read_map(struct arena *a, const struct kj_val *v)
{
    struct cel_entry *e = arena_newn0(a, kj_len(v) + 1, struct cel_entry);
    for (size_t i = 0; i < kj_len(v); i++)
        e[i] = (struct cel_entry){ read_value(a, kj_at(kj_at(v, i), 0)),
                                   read_value(a, kj_at(kj_at(v, i), 1)) };
    return cel_v_map(a, e, kj_len(v));
}

static struct cel_val read_tagged(struct arena *a, struct str tag, const struct kj_val *v)
{
    struct str s = { kj_str(v), kj_len(v) };
    struct cel_run r = { .a = a, .limit = UINT64_MAX };
    struct cel_val text = cel_v_str(s.p ? s.p : "", s.p ? s.n : 0);
    const struct cel_function *fn = cel_function_find(tag);

    if (str_eqz(tag, "map"))
        return read_map(a, v);
    if (str_eqz(tag, "optional"))
        return kj_type(v) == KJ_NULL ? cel_v_none()
                                     : cel_v_some(a, read_value(a, kj_get(v, "some")));
    if (str_eqz(tag, "bytes")) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        (void)b64_decode(s.p, s.n, &b);
        text = cel_v_dup(a, strbuf_str(&b), b.len);
        text.kind = CK_BYTES;
        return text;
    }
    return fn ? fn->fn(&r, &text, 1) : text;
}

static struct cel_val read_value(struct arena *a, const struct kj_val *v)
{
    struct str key;
    const struct kj_val *inner;

    if (kj_type(v) == KJ_ARR)
        return read_list(a, v);
    if (kj_type(v) != KJ_OBJ)
        return cel_v_json(a, v, &cel_dyn);
    struct kj_iter it = kj_iter(v);
    (void)kj_next(&it, &key, &inner);
    return read_tagged(a, key, inner);
}

/* ---- answers ------------------------------------------------------------------------------------- */

/* Values nest deeper than a kjw does. */
static void print_value(struct strbuf *w, struct arena *a, struct cel_val v);

static void print_tag(struct strbuf *w, const char *tag, const char *text, size_t n)
{
    strbuf_appendf(w, "{\"%s\":", tag);
    kj_append_string(w, text, n);
    strbuf_appendc(w, '}');
}

static void print_double(struct strbuf *w, double d)
{
    char text[64];

    if (isnan(d) || isinf(d))
        (void)snprintf(text, sizeof text, "%s",
                       isnan(d) ? "NaN"
                       : d > 0  ? "Infinity"
                                : "-Infinity");
    else
        (void)snprintf(text, sizeof text, "%.17g", d);
    print_tag(w, "double", text, strlen(text));
}

static void print_map(struct strbuf *w, struct arena *a, const struct cel_map *m)
{
    const struct cel_entry *e = cel_map_sorted(a, m);

    strbuf_append(w, "{\"map\":[");
    for (uint32_t i = 0; i < m->n; i++) {
        strbuf_append(w, i ? ",[" : "[");
        print_value(w, a, e[i].key);
        strbuf_appendc(w, ',');
        print_value(w, a, e[i].val);
        strbuf_appendc(w, ']');
    }
    strbuf_append(w, "]}");
}

static void print_object(struct strbuf *w, struct arena *a, const struct cel_map *m)
{
    struct cel_run r = { .a = a, .limit = UINT64_MAX };
    const char *comma = "";

    strbuf_append(w, "{\"map\":[");
    for (uint32_t i = 0; i < m->type->n_fields; i++) {
        struct str name = m->type->fields[i].name;
        struct cel_val v = cel_find_field(&r, m, name);
        if (v.kind == CK_ABSENT)
            continue;
        strbuf_appendf(w, "%s[\"%.*s\",", comma, (int)name.n, name.p);
        print_value(w, a, v);
        strbuf_appendc(w, ']');
        comma = ",";
    }
    strbuf_append(w, "]}");
}

static void print_list(struct strbuf *w, struct arena *a, const struct cel_list *l)
{
    strbuf_appendc(w, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        strbuf_append(w, i ? "," : "");
        print_value(w, a, cel_list_at(a, l, i));
    }
    strbuf_appendc(w, ']');
}

static void print_optional(struct strbuf *w, struct arena *a, struct cel_val v)
{
    strbuf_append(w, v.opt ? "{\"optional\":{\"some\":" : "{\"optional\":null");
    if (v.opt)
        print_value(w, a, *v.opt);
    strbuf_append(w, v.opt ? "}}" : "}");
}

static void print_other(struct strbuf *w, struct arena *a, struct cel_val v)
{
    static const char *const tags[] = {
        [CK_TIMESTAMP] = "timestamp", [CK_TYPE] = "type",
        [CK_QUANTITY] = "quantity",   [CK_IP] = "ip",
        [CK_CIDR] = "cidr",           [CK_URL] = "url",
        [CK_SEMVER] = "semver",
    };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct cel_run r = { .a = a, .limit = UINT64_MAX };

    if (v.kind == CK_TIMESTAMP)
        v.zone = 0;
    if (v.kind == CK_UINT) {
        strbuf_appendf(&b, "%" PRIu64, v.u);
        print_tag(w, "uint", b.data, b.len);
    } else if (v.kind == CK_DURATION) {
        strbuf_appendf(&b, "%" PRId64 "ns", v.i);
        print_tag(w, "duration", b.data, b.len);
    } else if (v.kind == CK_BYTES) {
        b64_encode(v.s, v.n, &b);
        print_tag(w, "bytes", strbuf_str(&b), b.len);
    } else if (v.kind < ARRAY_LEN(tags) && tags[v.kind] && cel_to_string(&r, v, &b)) {
        print_tag(w, tags[v.kind], strbuf_str(&b), b.len);
    } else {
        print_tag(w, "other", cel_type_name(v), strlen(cel_type_name(v)));
    }
}

static void print_value(struct strbuf *w, struct arena *a, struct cel_val v)
{
    switch (v.kind) {
    case CK_NULL: strbuf_append(w, "null"); return;
    case CK_BOOL: strbuf_append(w, v.b ? "true" : "false"); return;
    case CK_INT: strbuf_append_i64(w, v.i); return;
    case CK_STRING: kj_append_string(w, v.s, v.n); return;
    case CK_DOUBLE: print_double(w, v.d); return;
    case CK_LIST: print_list(w, a, v.list); return;
    case CK_OPTIONAL: print_optional(w, a, v); return;
    case CK_MAP:
        if (v.map->type && v.map->type->kind == CT_OBJECT)
            print_object(w, a, v.map);
        else
            print_map(w, a, v.map);
        return;
    default: break;
    }
    print_other(w, a, v);
}

static void write_value(struct kjw *w, const char *key, struct arena *a, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    print_value(&b, a, v);
    kjw_raw(w, key, b.data, b.len);
}

static void write_u64(struct kjw *w, const char *key, uint64_t v)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRIu64, v);
    kjw_raw(w, key, text, (size_t)n);
}

/* ---- cel/eval ------------------------------------------------------------------------------------ */

static void write_type(struct kjw *w, const struct cel_expr *e)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    cel_type_print(cel_expr_type(e), false, &b);
    kjw_str(w, "type", strbuf_str(&b));
}

struct outcome {
    enum cel_failure failure;
    struct cel_val value;
    uint64_t cost;
    const char *why;
};

static void write_outcome(struct kjw *w, struct arena *a, const struct cel_expr *e,
                          const struct outcome *o)
{
    static const char *const names[] = { "", "parse", "check", "runtime", "cost" };

    kjw_obj(w, NULL);
    if (o->failure != CEL_OK)
        kjw_str(w, "error", names[o->failure]);
    if (o->failure == CEL_PARSE || o->failure == CEL_CHECK)
        kjw_str(w, "message", o->why);
    else if (o->failure != CEL_OK)
        kjw_strn(w, "message", o->value.s, o->value.n);
    if (e && o->failure != CEL_CHECK) {
        write_type(w, e);
        struct cel_cost c = cel_expr_estimate(e);
        write_u64(w, "minCost", c.min);
        write_u64(w, "maxCost", c.max);
        if (o->failure != CEL_COST)
            write_u64(w, "cost", o->cost);
        if (o->failure == CEL_OK)
            write_value(w, "value", a, o->value);
    }
    kjw_end(w);
}

static void read_device(struct arena *a, const struct kj_val *in, struct cel_device *d)
{
    const struct kj_val *attrs = kj_get(in, "attributes"), *capacity = kj_get(in, "capacity"), *v;
    struct cel_device_attr *list = arena_newn0(a, kj_len(attrs) + 1, struct cel_device_attr);
    struct cel_device_capacity *amounts =
        arena_newn0(a, kj_len(capacity) + 1, struct cel_device_capacity);
    struct str key;

    *d = (struct cel_device){ .driver = str_of(kj_str_or(kj_get(in, "driver"), "")),
                              .attrs = list,
                              .capacity = amounts,
                              .allow_multiple =
                                  kj_bool(kj_get(in, "allowMultipleAllocations"), false) };
    for (struct kj_iter it = kj_iter(attrs); kj_next(&it, &key, &v); d->n_attrs++) {
        struct cel_device_attr *one = &list[d->n_attrs];
        one->name = key;
        if (kj_get(v, "int")) {
            one->kind = CEL_ATTR_INT;
            one->i = kj_i64_or(kj_get(v, "int"), 0);
        } else if (kj_get(v, "bool")) {
            one->kind = CEL_ATTR_BOOL;
            one->b = kj_bool(kj_get(v, "bool"), false);
        } else {
            one->kind = kj_get(v, "version") ? CEL_ATTR_VERSION : CEL_ATTR_STRING;
            one->s = str_of(kj_str_or(kj_get(v, kj_get(v, "version") ? "version" : "string"), ""));
        }
    }
    for (struct kj_iter it = kj_iter(capacity); kj_next(&it, &key, &v); d->n_capacity++) {
        struct cel_device_capacity *one = &amounts[d->n_capacity];
        const char *text = kj_str_or(kj_get(v, "value"), "0");
        one->name = key;
        (void)qty_parse(text, strlen(text), &one->value, NULL);
    }
}

static bool has_gate(const struct kj_val *in, const char *gate)
{
    const struct kj_val *gates = kj_get(in, "gates"), *v;
    struct str key;

    for (struct kj_iter it = kj_iter(gates); kj_next(&it, &key, &v);) {
        if (streq(kj_str_or(v, ""), gate))
            return true;
    }
    return kj_bool(kj_get(gates, gate), false);
}

static int run_device(const struct kj_val *in, struct arena *a, struct strbuf *got)
{
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const char *text = kj_str_or(kj_get(in, "expr"), "");
    struct cel_device d;
    struct outcome o = { 0 };
    struct kjw w = kjw_to(got);

    read_device(a, kj_get(in, "device"), &d);
    const struct cel_device_env env = { .consumable = has_gate(in, "DRAConsumableCapacity"),
                                        .zone = tzone_offset_of };
    o.failure = cel_device_compile(&env, text, kj_len(kj_get(in, "expr")), &e, &why);
    o.why = strbuf_str(&why);
    if (o.failure == CEL_OK)
        o.failure =
            cel_device_eval(e, &d, (uint64_t)kj_i64_or(kj_get(in, "costLimit"), CEL_LIMIT_CALL), a,
                            &o.value, &o.cost);
    write_outcome(&w, a, e, &o);
    return 0;
}

/* ---- expressions of admission -------------------------------------------------------------------- */

/* The same as tests/system/celpeer has: the reason tells what was asked. */
static void answer(void *arg, const struct cel_access *x, struct arena *a,
                   struct cel_access_answer *ret)
{
    bool account = x->service_account.n > 0;

    (void)arg;
    ret->allowed = str_eqz(x->verb, "get");
    ret->error = str_of(str_eqz(x->verb, "fail") ? "cannot tell" : "");
    ret->reason = str_of(arena_printf(
        a, "%s%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s",
        account ? "system:serviceaccount:" : "alice", (int)x->service_account.n,
        x->service_account.p, (int)x->verb.n, x->verb.p, (int)x->group.n, x->group.p,
        (int)x->resource.n, x->resource.p, (int)x->subresource.n, x->subresource.p,
        (int)x->namespace.n, x->namespace.p, (int)x->name.n, x->name.p, (int)x->path.n, x->path.p));
}

static struct cel_val dyn_of(struct arena *a, const struct kj_val *v)
{
    return kj_type(v) <= KJ_NULL ? cel_v_null() : cel_v_json(a, v, &cel_dyn);
}

static void read_admission(struct arena *a, const struct kj_val *in, struct admitexpr_input *ret)
{
    const struct kj_val *ns = kj_get(in, "namespaceObject");
    const struct cel_access access = { .group = str_of("apps"),
                                       .resource = str_of("deployments"),
                                       .subresource = str_of("scale"),
                                       .namespace = str_of("ns"),
                                       .name = str_of("web") };

    *ret = (struct admitexpr_input){ .a = a, .authorizer = { answer, NULL } };
    ret->vars[ADMITEXPR_OBJECT] = dyn_of(a, kj_get(in, "object"));
    ret->vars[ADMITEXPR_OLD] = dyn_of(a, kj_get(in, "oldObject"));
    ret->vars[ADMITEXPR_PARAMS] = dyn_of(a, kj_get(in, "params"));
    ret->vars[ADMITEXPR_REQUEST] = admitexpr_request(a, kj_get(in, "request"));
    ret->vars[ADMITEXPR_AUTHORIZER] = cel_v_authorizer(a, &ret->authorizer);
    ret->vars[ADMITEXPR_RESOURCE] = cel_v_resource_check(a, &ret->authorizer, &access);
    admitexpr_input_namespace(ret, kj_type(ns) == KJ_OBJ ? ns : NULL);
}

static int run_admission(const struct kj_val *in, struct arena *a, struct strbuf *got)
{
    static const struct admitexpr_env env = { .params = true, .authorizer = true };
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const struct kj_val *text = kj_get(in, "expr");
    struct admitexpr_input input;
    struct outcome o = { 0 };
    struct kjw w = kjw_to(got);

    read_admission(a, kj_get(in, "admission"), &input);
    if (admitexpr_compile(&env, (struct str){ kj_str_or(text, ""), kj_len(text) }, NULL, &e, &why) <
        0)
        o.failure = CEL_CHECK;
    else
        o.failure = cel_eval(e, input.vars, CEL_LIMIT_CALL, a, &o.value, &o.cost);
    o.why = strbuf_str(&why);
    write_outcome(&w, a, e, &o);
    return 0;
}

/* ---- variables of simple types, or of schemas ---------------------------------------------------- */

/* `optional`: the value may be absent, as that of oldSelf with optionalOldSelf. */
static void read_var(struct arena *a, const struct kj_val *in, struct cel_var *ret,
                     struct cel_val *ret_value)
{
    const struct kj_val *schema = kj_get(in, "schema"), *value = kj_get(in, "value");
    struct str type = { kj_str(kj_get(in, "type")), kj_len(kj_get(in, "type")) };

    ret->type = schema ? cel_schema_type(a, schema, "type_self", false) : read_type(a, &type);
    if (value)
        *ret_value = schema ? cel_v_json(a, value, ret->type) : read_value(a, value);
    if (kj_bool(kj_get(in, "optional"), false)) {
        ret->type = cel_type_of(a, CT_OPTIONAL, ret->type);
        *ret_value = value ? cel_v_some(a, *ret_value) : cel_v_none();
    }
}

static int run_eval(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const struct kj_val *vars = kj_get(in, "vars"), *v;
    struct cel_var *declared = arena_newn0(a, kj_len(vars) + 1, struct cel_var);
    struct cel_val *values = arena_newn0(a, kj_len(vars) + 1, struct cel_val);
    struct cel_env env = { .vars = declared, .zone = tzone_offset_of };
    struct outcome o = { 0 };
    struct kjw w = kjw_to(got);
    struct str key;

    (void)err;
    if (kj_get(in, "device"))
        return run_device(in, a, got);
    if (kj_get(in, "admission"))
        return run_admission(in, a, got);
    for (struct kj_iter it = kj_iter(vars); kj_next(&it, &key, &v); env.n_vars++) {
        declared[env.n_vars].name = arena_strndup(a, key.p, key.n);
        read_var(a, v, &declared[env.n_vars], &values[env.n_vars]);
    }
    o.failure =
        cel_compile(&env, kj_str_or(kj_get(in, "expr"), ""), kj_len(kj_get(in, "expr")), &e, &why);
    o.why = strbuf_str(&why);
    if (o.failure == CEL_OK)
        o.failure =
            cel_eval(e, values, (uint64_t)kj_i64_or(kj_get(in, "costLimit"), CEL_LIMIT_CALL), a,
                     &o.value, &o.cost);
    write_outcome(&w, a, e, &o);
    return 0;
}

/* The original holds some quantities by a pointer, which the writer of the vectors did not know. */
static bool same_value(const struct kj_val *want, const struct kj_val *got)
{
    return kj_equal(want, got) ||
           (streq(kj_str_or(kj_get(want, "other"), ""), "kubernetes.Quantity") &&
            kj_get(got, "quantity"));
}

static bool same_outcome(const struct kj_val *out, const struct kj_val *got)
{
    const char *error = kj_str_or(kj_get(out, "error"), ""),
               *message = kj_str_or(kj_get(out, "message"), ""),
               *said = kj_str_or(kj_get(got, "message"), "");
    struct str key;
    const struct kj_val *v;

    if (!streq(error, kj_str_or(kj_get(got, "error"), "")))
        return false;
    for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);) {
        if (str_eqz(key, "message") || str_eqz(key, "error"))
            continue;
        if (!same_value(v, kj_getn(got, key.p, key.n)))
            return false;
    }
    if (!kj_get(out, "message")) /* in words of Go's own parsers, which nobody compares */
        return true;
    return streq(message, said);
}

/* ---- cel/crd-rules ------------------------------------------------------------------------------- */

static void write_errors(struct kjw *w, const char *key, const struct field_errors *e)
{
    static const char *const reasons[] = {
        [FIELD_REQUIRED] = "FieldValueRequired",          [FIELD_INVALID] = "FieldValueInvalid",
        [FIELD_NOT_SUPPORTED] = "FieldValueNotSupported", [FIELD_FORBIDDEN] = "FieldValueForbidden",
        [FIELD_DUPLICATE] = "FieldValueDuplicate",        [FIELD_TOO_LONG] = "FieldValueTooLong",
        [FIELD_TOO_MANY] = "FieldValueTooMany",           [FIELD_NOT_FOUND] = "FieldValueNotFound",
        [FIELD_TYPE_INVALID] = "FieldValueTypeInvalid",   [FIELD_INTERNAL] = "InternalError",
    };
    static const char below[] = "spec.validation.openAPIV3Schema.";

    kjw_arr(w, key);
    vec_foreach(e, i) {
        const char *path = e->items[i].path;
        kjw_obj(w, NULL);
        kjw_str(w, "type", reasons[e->items[i].type]);
        kjw_str(w, "field", str_starts(path, below) ? path + sizeof below - 1 : path);
        kjw_str(w, "message", e->items[i].text);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_warnings(struct kjw *w, const struct field_errors *e)
{
    if (!e->n)
        return;
    kjw_arr(w, "warnings");
    vec_foreach(e, i) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        strbuf_appendf(&b, "%s: %s", e->items[i].path, e->items[i].text);
        kjw_str(w, NULL, b.data);
    }
    kjw_end(w);
}

/* A definition around the schema. */
static struct kj_doc *definition_of(const struct kj_val *schema)
{
    static const char frame[] =
        "{\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"kind\":"
        "\"Thing\","
        "\"plural\":\"things\"},\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":";
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_doc *doc = NULL;

    strbuf_append(&b, frame);
    kj_write(schema, 0, &b);
    strbuf_append(&b, "}}]}}");
    (void)kj_parse(b.data, b.len, KJ_RAW_NUMBERS, &doc, NULL);
    return doc;
}

static int run_crd_rules(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    CLEANUP(field_errors_free)
    struct field_errors *errors = field_errors_new(), *warnings = field_errors_new();
    const struct kj_val *schema = kj_get(in, "schema"), *object = kj_get(in, "object");
    struct kjw w = kjw_to(got);

    (void)a, (void)err;
    kjw_obj(&w, NULL);
    if (!object) {
        structural_validate(schema, "spec.validation.openAPIV3Schema", false, errors);
        write_errors(&w, "definition", errors);
    } else {
        CLEANUP(kj_doc_free) struct kj_doc *doc = definition_of(schema);
        struct crd_schema *s =
            crd_version_new(kj_root(doc), kj_at(kj_path(kj_root(doc), "spec.versions"), 0));
        crd_validate(s, RES_UPDATE, object, kj_get(in, "oldObject"), errors, warnings);
        write_errors(&w, "errors", errors);
        write_warnings(&w, warnings);
        crd_schema_release(&s->res);
    }
    kjw_end(&w);
    return 0;
}

/* Both lists have the same elements. */
static bool same_set(const struct kj_val *want, const struct kj_val *got)
{
    uint64_t taken = 0;

    if (kj_len(want) != kj_len(got) || kj_len(got) > 64)
        return false;
    for (size_t i = 0; i < kj_len(want); i++) {
        size_t k = 0;
        while (k < kj_len(got) && ((taken >> k & 1) || !kj_equal(kj_at(want, i), kj_at(got, k))))
            k++;
        if (k == kj_len(got))
            return false;
        taken |= UINT64_C(1) << k;
    }
    return true;
}

static bool same_judgement(const struct kj_val *out, const struct kj_val *got)
{
    return same_set(kj_get(out, "definition"), kj_get(got, "definition")) &&
           same_set(kj_get(out, "errors"), kj_get(got, "errors")) &&
           same_set(kj_get(out, "warnings"), kj_get(got, "warnings"));
}

const struct golden_runner golden_cel[] = {
    { "eval", run_eval, same_outcome },
    { "crd-rules", run_crd_rules, same_judgement },
    { NULL, NULL, NULL },
};
