/* cel.c - koordctl cel: an expression tried on an object or a device, with its type and cost. */
#include <fcntl.h>

#include "cel/cel.h"
#include "cel/device.h"
#include "cel/schema.h"
#include "ctl/ctl.h"
#include "sys/file.h"
#include "sys/tzone.h"

enum { FILE_MAX = 4 << 20 };

struct cel_options {
    const char *object, *old, *crd, *device;
};

struct trial {
    struct arena *a;
    struct kj_doc *object, *old, *crd, *device;
    struct cel_expr *expr;
    struct strbuf why;
    enum cel_failure failure;
    struct cel_val value;
    uint64_t cost;
};

static void trial_fini(struct trial *t)
{
    cel_expr_free(t->expr);
    kj_doc_free(t->object);
    kj_doc_free(t->old);
    kj_doc_free(t->crd);
    kj_doc_free(t->device);
    strbuf_fini(&t->why);
    arena_free(t->a);
}
static void trial_fini_p(struct trial *t)
{
    trial_fini(t);
}

static int read_document(struct ctl *c, const char *path, struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    if (!*path)
        return CTL_OK;
    if (file_read_all(AT_FDCWD, streq(path, "-") ? "/dev/stdin" : path, FILE_MAX, &text, &err) <
            0 ||
        kj_parse_yaml(strbuf_str(&text), text.len, 0, ret, &err) < 0)
        return ctl_fail(c, "read %s: %s", path, err.text);
    return CTL_OK;
}

/* ---- on an object -------------------------------------------------------------------------------- */

/* The schema of the version that is stored. */
static const struct kj_val *schema_of(const struct kj_val *crd)
{
    const struct kj_val *v, *versions = kj_path(crd, "spec.versions");
    struct str key;

    for (struct kj_iter it = kj_iter(versions); kj_next(&it, &key, &v);) {
        if (kj_bool(kj_get(v, "storage"), false))
            return kj_path(v, "schema.openAPIV3Schema");
    }
    return kj_path(kj_at(versions, 0), "schema.openAPIV3Schema");
}

static void try_object(struct trial *t, const char *text)
{
    const struct kj_val *schema = schema_of(kj_root(t->crd));
    const struct cel_type *type = schema ? cel_schema_type(t->a, schema, "Object", true) : &cel_dyn;
    const struct cel_var vars[] = {
        { "self", type }, { "oldSelf", type }, { "object", type }, { "oldObject", type }
    };
    const struct cel_env env = { .vars = vars, .n_vars = ARRAY_LEN(vars) };
    struct cel_val now = cel_v_json(t->a, kj_root(t->object), type),
                   old = cel_v_json(t->a, kj_root(t->old), type);
    const struct cel_val values[] = { now, old, now, old };

    t->failure = cel_compile(&env, text, strlen(text), &t->expr, &t->why);
    if (t->failure == CEL_OK)
        t->failure = cel_eval(t->expr, values, CEL_LIMIT_CALL, t->a, &t->value, &t->cost);
}

/* ---- on a device --------------------------------------------------------------------------------- */

static int read_attr(struct ctl *c, struct str name, const struct kj_val *v,
                     struct cel_device_attr *ret)
{
    const struct kj_val *text = kj_get(v, "string"), *version = kj_get(v, "version");

    *ret = (struct cel_device_attr){ .name = name };
    if (kj_get(v, "int")) {
        ret->kind = CEL_ATTR_INT;
        ret->i = kj_i64_or(kj_get(v, "int"), 0);
    } else if (kj_get(v, "bool")) {
        ret->kind = CEL_ATTR_BOOL;
        ret->b = kj_bool(kj_get(v, "bool"), false);
    } else if (kj_str(text) || kj_str(version)) {
        ret->kind = kj_str(text) ? CEL_ATTR_STRING : CEL_ATTR_VERSION;
        ret->s = str_of(kj_str(text) ? kj_str(text) : kj_str(version));
    } else {
        return ctl_fail(c, "attribute %.*s has no int, bool, string or version", (int)name.n,
                        name.p);
    }
    return CTL_OK;
}

static int read_device(struct ctl *c, struct trial *t, struct cel_device *d)
{
    const struct kj_val *in = kj_root(t->device), *v, *attrs = kj_get(in, "attributes"),
                        *capacity = kj_get(in, "capacity");
    struct cel_device_attr *list = arena_newn0(t->a, kj_len(attrs) + 1, struct cel_device_attr);
    struct cel_device_capacity *amounts =
        arena_newn0(t->a, kj_len(capacity) + 1, struct cel_device_capacity);
    struct kerr err = { 0 };
    struct str key;

    *d = (struct cel_device){ .driver = str_of(kj_str_or(kj_get(in, "driver"), "")),
                              .attrs = list,
                              .capacity = amounts,
                              .allow_multiple =
                                  kj_bool(kj_get(in, "allowMultipleAllocations"), false) };
    for (struct kj_iter it = kj_iter(attrs); kj_next(&it, &key, &v);) {
        int code = read_attr(c, key, v, &list[d->n_attrs++]);
        if (code != CTL_OK)
            return code;
    }
    for (struct kj_iter it = kj_iter(capacity); kj_next(&it, &key, &v);) {
        const struct kj_val *amount = kj_get(v, "value");
        struct cel_device_capacity *one = &amounts[d->n_capacity++];
        one->name = key;
        if (qty_parse(kj_str_or(amount, ""), kj_len(amount), &one->value, &err) < 0)
            return ctl_fail(c, "capacity %.*s: %s", (int)key.n, key.p, err.text);
    }
    return CTL_OK;
}

static int try_device(struct ctl *c, struct trial *t, const char *text)
{
    struct cel_device d;
    int code = read_device(c, t, &d);

    if (code != CTL_OK)
        return code;
    const struct cel_device_env env = { .consumable = true,
                                        .zone = tzone_offset_of };
    t->failure = cel_device_compile(&env, text, strlen(text), &t->expr, &t->why);
    if (t->failure == CEL_OK)
        t->failure = cel_device_eval(t->expr, &d, CEL_LIMIT_CALL, t->a, &t->value, &t->cost);
    return CTL_OK;
}

/* ---- what came of it ----------------------------------------------------------------------------- */

/* Where people stumble, in words that upstream's message lacks. */
static const char *hint(const struct trial *t)
{
    if (strstr(strbuf_str(&t->why), "invalid argument to has() macro"))
        return "has() asks for a field, has(a.b); for a key of a map write: 'a/b' in labels";
    if (t->expr && cel_expr_estimate(t->expr).max == UINT64_MAX)
        return "the length of some text or list is not known beforehand, so the cost has no bound: "
               "string(int) is such a text. A rule of a CRD is refused then; set maxLength, "
               "maxItems or maxProperties, or leave the conversion out";
    return NULL;
}

static void put_bounds(struct strbuf *out, struct cel_cost b)
{
    strbuf_appendf(out, "%llu to ", (unsigned long long)b.min);
    if (b.max == UINT64_MAX)
        strbuf_append(out, "unlimited");
    else
        strbuf_appendf(out, "%llu", (unsigned long long)b.max);
}

static void put_text(struct trial *t, struct strbuf *out)
{
    if (t->expr) {
        strbuf_append(out, "Type:      ");
        cel_type_print(cel_expr_type(t->expr), false, out);
        strbuf_append(out, "\nEstimate:  ");
        put_bounds(out, cel_expr_estimate(t->expr));
        strbuf_appendf(out, "\nMemory:    %zu bytes\n", cel_expr_bytes(t->expr));
    }
    if (t->failure == CEL_PARSE || t->failure == CEL_CHECK) {
        strbuf_appendf(out, "%s\n", strbuf_str(&t->why));
    } else {
        strbuf_appendf(out, "Cost:      %llu of %llu\n%s", (unsigned long long)t->cost,
                       (unsigned long long)CEL_LIMIT_CALL,
                       t->failure == CEL_OK ? "Value:     " : "Error:     ");
        cel_val_print(t->a, t->value, out);
        strbuf_appendc(out, '\n');
    }
    if (hint(t))
        strbuf_appendf(out, "Hint:      %s\n", hint(t));
}

static void put_json(struct trial *t, struct strbuf *out)
{
    static const char *const names[] = { "", "parse", "check", "runtime", "cost" };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    if (t->failure != CEL_OK)
        kjw_str(&w, "error", names[t->failure]);
    if (t->expr) {
        cel_type_print(cel_expr_type(t->expr), false, &b);
        kjw_str(&w, "type", strbuf_str(&b));
        strbuf_reset(&b);
        put_bounds(&b, cel_expr_estimate(t->expr));
        kjw_str(&w, "estimate", strbuf_str(&b));
    }
    strbuf_reset(&b);
    if (t->failure == CEL_PARSE || t->failure == CEL_CHECK) {
        kjw_str(&w, "message", strbuf_str(&t->why));
    } else {
        cel_val_print(t->a, t->value, &b);
        kjw_str(&w, t->failure == CEL_OK ? "value" : "message", strbuf_str(&b));
        kjw_i64(&w, "cost", (int64_t)MIN(t->cost, (uint64_t)INT64_MAX));
    }
    kjw_end(&w);
    strbuf_appendc(out, '\n');
}

static int run(struct ctl *c, const void *options)
{
    const struct cel_options *o = options;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(trial_fini) struct trial t = { .a = arena_new() };
    int code;

    if (flags_nargs(c->flags) != 1)
        return ctl_usage(c, "cel takes one expression");
    if (*o->device && (*o->object || *o->old || *o->crd))
        return ctl_usage(c, "--device stands alone");
    code = read_document(c, o->object, &t.object);
    code = code ? code : read_document(c, o->old, &t.old);
    code = code ? code : read_document(c, o->crd, &t.crd);
    code = code ? code : read_document(c, o->device, &t.device);
    if (code == CTL_OK && t.device)
        code = try_device(c, &t, flags_arg(c->flags, 0));
    else if (code == CTL_OK)
        try_object(&t, flags_arg(c->flags, 0));
    if (code != CTL_OK)
        return code;
    if (streq(c->o.output, "json"))
        put_json(&t, &out);
    else
        put_text(&t, &out);
    if (!ctl_print(c, &out))
        return CTL_FAILED;
    return t.failure == CEL_OK ? CTL_OK : CTL_FAILED;
}

#define O(member) .off = offsetof(struct cel_options, member)
static const struct flag flags[] = {
    { "object", FLAG_STR, O(object),
      .help = "`file` with the object: self and object in the expression; - reads stdin" },
    { "old-object", FLAG_STR, O(old), .help = "`file` with oldSelf and oldObject" },
    { "crd", FLAG_STR, O(crd),
      .help = "`file` with a CustomResourceDefinition: types and sizes come from its schema" },
    { "device", FLAG_STR, O(device),
      .help = "`file` with a device (driver, attributes, capacity): the expression is a selector" },
};

const struct ctl_command ctl_command_cel = {
    .name = "cel",
    .args = "EXPRESSION",
    .help = "Try a CEL expression: its type, value, cost and the estimate of its cost",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct cel_options),
    .run = run,
};
