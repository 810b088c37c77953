/* cel.c - koordctl cel: an expression tried on an object or a device, with its type and cost. */
#include <fcntl.h>
#include <unistd.h>

#include "api/dra.h"
#include "cel/cel.h"
#include "cel/device.h"
#include "cel/schema.h"
#include "cel/trace.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "ctl/resource.h"
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
    struct cel_trace trace;
    struct strbuf why;
    enum cel_failure failure;
    struct cel_val value;
    uint64_t cost;
};

static void trial_fini(struct trial *t)
{
    cel_expr_free(t->expr);
    cel_trace_fini(&t->trace);
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

/* ---- from files, or from the server -------------------------------------------------------------- */

static bool is_file(const char *path)
{
    return streq(path, "-") || access(path, F_OK) == 0;
}

static int read_file(struct ctl *c, const char *path, struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    if (file_read_all(AT_FDCWD, streq(path, "-") ? "/dev/stdin" : path, FILE_MAX, &text, &err) <
            0 ||
        kj_parse_yaml(strbuf_str(&text), text.len, 0, ret, &err) < 0)
        return ctl_fail(c, "read %s: %s", path, err.text);
    return CTL_OK;
}

static int read_server(struct ctl *c, const struct kind *kind, const char *name,
                       struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };
    const struct kube_req r = { .verb = KUBE_GET,
                                .kind = kind,
                                .ns = kind->namespaced ? ctl_namespace(c) : NULL,
                                .name = name };
    if (ctl_call(c, &r, &text, &err) < 0)
        return ctl_complain(c, &err);
    if (kj_parse(strbuf_str(&text), text.len, 0, ret, &err) < 0)
        return ctl_fail(c, "read %s %s: %s", kind->kind, name, err.text);
    return CTL_OK;
}

/* A file, or else KIND/NAME of the server. */
static int read_object(struct ctl *c, struct trial *t, const char *from, struct kj_doc **ret)
{
    const char *slash = strchr(from, '/');

    if (!*from || is_file(from) || !slash || slash == from || strchr(slash + 1, '/'))
        return *from ? read_file(c, from, ret) : CTL_OK;
    const struct kind *kind;
    int code = ctl_connect(c);
    code = code ? code : resource_find(c, arena_strndup(t->a, from, (size_t)(slash - from)), &kind);
    return code ? code : read_server(c, kind, slash + 1, ret);
}

/* A file, or else the name of a definition. */
static int read_crd(struct ctl *c, const char *from, struct kj_doc **ret)
{
    if (!*from || is_file(from) || strchr(from, '/'))
        return *from ? read_file(c, from, ret) : CTL_OK;
    int code = ctl_connect(c);
    return code ? code : read_server(c, &kind_crd_object, from, ret);
}

struct wanted {
    const char *node, *pool, *name;
    int64_t generation;
    struct strbuf text; /* the device, with its driver; empty: not found */
};

/* The device of the newest generation of its pool; slices of no node serve all. */
static bool on_slice(void *arg, const struct kj_val *item)
{
    struct wanted *w = arg;
    const struct kj_val *spec = kj_get(item, "spec"), *d, *v;
    const char *node = kj_str_or(kj_get(spec, "nodeName"), "");
    int64_t generation = kj_i64_or(kj_path(spec, "pool.generation"), 0);
    struct str key;

    if (!streq(kj_str_or(kj_path(spec, "pool.name"), ""), w->pool) ||
        (*node && !streq(node, w->node)) || (w->text.len && generation < w->generation))
        return true;
    for (struct kj_iter it = kj_iter(kj_get(spec, "devices")); kj_next(&it, NULL, &d);) {
        if (!streq(kj_str_or(kj_get(d, "name"), ""), w->name))
            continue;
        struct kjw out = kjw_to(&w->text);
        strbuf_reset(&w->text);
        w->generation = generation;
        kjw_obj(&out, NULL);
        kjw_str(&out, "driver", kj_str_or(kj_get(spec, "driver"), ""));
        for (struct kj_iter members = kj_iter(d); kj_next(&members, &key, &v);) {
            CLEANUP(strbuf_fini) struct strbuf raw = STRBUF_INIT;
            CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;
            kj_write(v, 0, &raw);
            strbuf_appendn(&name, key.p, key.n);
            kjw_raw(&out, strbuf_str(&name), raw.data, raw.len);
        }
        kjw_end(&out);
    }
    return true;
}

/* A file, or else NODE/POOL/DEVICE. */
static int read_device_of(struct ctl *c, struct trial *t, const char *from, struct kj_doc **ret)
{
    const char *one = strchr(from, '/'), *two = one ? strchr(one + 1, '/') : NULL;
    const struct kube_req slices = { .verb = KUBE_LIST,
                                     .kind = &kind_resource_slice,
                                     .limit = 500 };
    struct kerr err = { 0 };

    if (!*from || is_file(from) || !two || one == from || strchr(two + 1, '/'))
        return *from ? read_file(c, from, ret) : CTL_OK;
    struct wanted w = { .node = arena_strndup(t->a, from, (size_t)(one - from)),
                        .pool = arena_strndup(t->a, one + 1, (size_t)(two - one) - 1),
                        .name = two + 1,
                        .text = STRBUF_INIT };
    int code = ctl_connect(c);
    if (code == CTL_OK && ctl_each(c, &slices, on_slice, &w, &err) < 0)
        code = ctl_complain(c, &err);
    else if (code == CTL_OK && w.text.len == 0)
        code = ctl_fail(c, "no ResourceSlice has device %s in pool %s for node %s", w.name, w.pool,
                        w.node);
    else if (code == CTL_OK && kj_parse(w.text.data, w.text.len, 0, ret, &err) < 0)
        code = ctl_fail(c, "read device %s: %s", from, err.text);
    strbuf_fini(&w.text);
    return code;
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
    const struct cel_env env = {
        .vars = vars, .n_vars = ARRAY_LEN(vars), .zone = tzone_offset_of, .trace = &t->trace
    };
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
                                        .zone = tzone_offset_of,
                                        .trace = &t->trace };
    t->failure = cel_device_compile(&env, text, strlen(text), &t->expr, &t->why);
    if (t->failure == CEL_OK)
        t->failure = cel_device_eval(t->expr, &d, CEL_LIMIT_CALL, t->a, &t->value, &t->cost);
    return CTL_OK;
}

/* ---- what came of it ----------------------------------------------------------------------------- */

/* Sizes that are not known count as the largest number, and as a tenth of it where that is taken.
 */
#define NO_BOUND (UINT64_MAX / 1000)

/* Where people stumble, in words that upstream's message lacks. */
static const char *hint(const struct trial *t, const char *text)
{
    if (strstr(strbuf_str(&t->why), "invalid argument to has() macro"))
        return "has() asks for a field, has(a.b); for a key of a map write: 'a/b' in labels";
    if (!t->expr || cel_expr_estimate(t->expr).max < NO_BOUND)
        return NULL;
    if (strstr(text, "string("))
        return "nobody knows beforehand how long the text of string(x) becomes, so the cost has no "
               "bound, and a rule or messageExpression of a CRD is refused. Leave the number out, "
               "or let the message name the field instead";
    return "the length of some text or list is not known beforehand, so the cost has no bound. A "
           "rule of a CRD is refused then: set maxLength, maxItems or maxProperties";
}

/* "1:12  all(n, n.size() < 10)": the place, and what stands there. */
static void put_place(struct strbuf *out, const char *text, uint32_t pos)
{
    const char *p = text + MIN((size_t)pos, strlen(text)), *line = text;
    size_t n = 1;

    for (const char *q = text; q < p; q++) {
        if (*q == '\n') {
            line = q + 1;
            n++;
        }
    }
    if (*p == '(') /* a call is known by its bracket: its name stands before */
        while (p > line && (p[-1] == '_' || (p[-1] >= '0' && p[-1] <= '9') ||
                            ((p[-1] | 32) >= 'a' && (p[-1] | 32) <= 'z')))
            p--;
    size_t shown = strcspn(p, "\n"), max = 40;
    size_t column = cel_runes((struct str){ line, (size_t)(p - line) });
    if (shown > max) {
        for (shown = max; shown > 0 && ((unsigned char)p[shown] & 0xc0) == 0x80;)
            shown--;
    }
    strbuf_appendf(out, "%zu:%zu  %.*s%s", n, column + 1, (int)shown, p,
                   p[shown] && p[shown] != '\n' ? "..." : "");
}

enum { PARTS_SHOWN = 3, WORTH_PERCENT = 10 };

/* The parts that most of the cost comes from. */
static void put_parts(struct trial *t, const char *text, struct strbuf *out)
{
    size_t n = cel_trace_sort(&t->trace);

    for (size_t i = 0; i < MIN(n, (size_t)PARTS_SHOWN); i++) {
        const struct cel_part *p = &t->trace.parts.items[i];
        if (p->cost * 100 < t->cost * WORTH_PERCENT)
            break;
        strbuf_appendf(out, "%s%llu of %llu  at ",
                       i ? "           " : "Parts:     ", (unsigned long long)p->cost,
                       (unsigned long long)t->cost);
        put_place(out, text, p->pos);
        if (p->times > 1)
            strbuf_appendf(out, "  (%llu times)", (unsigned long long)p->times);
        strbuf_appendc(out, '\n');
    }
}

static void put_bounds(struct strbuf *out, struct cel_cost b)
{
    strbuf_appendf(out, "%llu to ", (unsigned long long)b.min);
    if (b.max >= NO_BOUND)
        strbuf_append(out, "unlimited");
    else
        strbuf_appendf(out, "%llu", (unsigned long long)b.max);
}

static void put_text(struct trial *t, const char *text, struct strbuf *out)
{
    if (t->expr) {
        strbuf_append(out, "Type:      ");
        cel_type_print(cel_expr_type(t->expr), false, out);
        strbuf_append(out, "\nEstimate:  ");
        put_bounds(out, cel_expr_estimate(t->expr));
        if (t->trace.bound > 1) {
            strbuf_append(out, ", most of it at ");
            put_place(out, text, t->trace.bound_pos);
        }
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
        put_parts(t, text, out);
    }
    if (hint(t, text))
        strbuf_appendf(out, "Hint:      %s\n", hint(t, text));
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
        kjw_arr(&w, "parts");
        for (size_t i = 0, n = cel_trace_sort(&t->trace); i < MIN(n, (size_t)PARTS_SHOWN); i++) {
            const struct cel_part *p = &t->trace.parts.items[i];
            kjw_obj(&w, NULL);
            kjw_i64(&w, "cost", (int64_t)p->cost);
            kjw_i64(&w, "times", (int64_t)p->times);
            kjw_i64(&w, "offset", p->pos);
            kjw_end(&w);
        }
        kjw_end(&w);
    }
    kjw_end(&w);
    strbuf_appendc(out, '\n');
}

#define DASHES "an expression that begins with a minus stands last, behind --"

static int run(struct ctl *c, const void *options)
{
    const struct cel_options *o = options;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(trial_fini) struct trial t = { .a = arena_new() };
    int code;

    if (flags_nargs(c->flags) != 1)
        return ctl_usage(c, "cel takes one expression; " DASHES);
    if (*o->device && (*o->object || *o->old || *o->crd))
        return ctl_usage(c, "--device stands alone");
    code = read_object(c, &t, o->object, &t.object);
    code = code ? code : read_object(c, &t, o->old, &t.old);
    code = code ? code : read_crd(c, o->crd, &t.crd);
    code = code ? code : read_device_of(c, &t, o->device, &t.device);
    if (code == CTL_OK && t.device)
        code = try_device(c, &t, flags_arg(c->flags, 0));
    else if (code == CTL_OK)
        try_object(&t, flags_arg(c->flags, 0));
    if (code != CTL_OK)
        return code;
    if (streq(c->o.output, "json"))
        put_json(&t, &out);
    else
        put_text(&t, flags_arg(c->flags, 0), &out);
    if (!ctl_print(c, &out))
        return CTL_FAILED;
    return t.failure == CEL_OK ? CTL_OK : CTL_FAILED;
}

#define O(member) .off = offsetof(struct cel_options, member)
static const struct flag flags[] = {
    { "object", FLAG_STR, O(object),
      .help =
          "`object`: a file (- reads stdin) or KIND/NAME of the cluster; self and object in the "
          "expression" },
    { "old-object", FLAG_STR, O(old), .help = "the same for oldSelf and oldObject" },
    { "crd", FLAG_STR, O(crd),
      .help =
          "`definition`: a file or the name of a CustomResourceDefinition; types and sizes come "
          "from its schema" },
    { "device", FLAG_STR, O(device),
      .help = "`device`: a file (driver, attributes, capacity) or NODE/POOL/DEVICE of the cluster; "
              "the expression is a selector" },
};

const struct ctl_command ctl_command_cel = {
    .name = "cel",
    .args = "EXPRESSION",
    .help = "Try a CEL expression: its type, value, cost, which part of it is expensive, and the "
            "estimate",
    .about = "Examples:\n"
             "  koordctl cel \"self.spec.replicas > 2\" --object deployment.yaml\n"
             "  koordctl cel \"device.attributes['gpu.example.com'].model == 'a100'\" --device "
             "node-1/pool-1/gpu-0\n"
             "  koordctl cel --object thing.yaml -- \"-self.spec.n < 0\"\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct cel_options),
    .run = run,
    .dashes = DASHES,
};
