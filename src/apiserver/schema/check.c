/* check.c - strict field validation and the decoder's type errors, in kube-apiserver's words.
 *
 * Two spellings of a path, both kube-apiserver's own: problems name list items
 * ("spec.containers[0].foo"), type errors come from Go's decoder, which does not
 * ("Container.spec.containers.name").
 */
#include <stdio.h>

#include "apiserver/schema/tables.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/qty.h"

enum { PROBLEMS_MAX = 100, FEW_MEMBERS = 16 };

/* Where we are: a chain on the stack, written out only when there is something to say. */
struct at {
    const struct at *up;
    struct str key; /* a field or map key; empty: a list item */
    size_t index;
    bool is_map_key;
};
struct checker {
    types_problem_fn fn;
    void *arg;
    size_t problems;
    bool
        restored; /* out of maps, as a strategic patch leaves them: its converter has other words */
    struct kerr *err;
};

static int check_object(struct checker *c, const struct at *at, const struct t_type *t,
                        const struct kj_val *v);
static int check_field(struct checker *c, const struct at *at, const struct t_type *parent,
                       const struct t_field *f, const struct kj_val *v);

static void append_path(struct strbuf *b, const struct at *at, bool go)
{
    if (!at)
        return;
    append_path(b, at->up, go);
    if (at->key.n && !(go && at->is_map_key)) {
        if (b->len)
            strbuf_appendc(b, '.');
        strbuf_appendn(b, at->key.p, at->key.n);
    } else if (!at->key.n && !go) {
        strbuf_appendf(b, "[%zu]", at->index);
    }
}

/* "PodSpec" of "io.k8s.api.core.v1.PodSpec". */
static const char *short_name(const struct t_type *t)
{
    const char *dot = strrchr(t->name, '.');
    return dot ? dot + 1 : t->name;
}

static void problem(struct checker *c, const char *what, const struct at *at)
{
    if (!c->fn || c->problems++ >= PROBLEMS_MAX)
        return;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    append_path(&text, at, false);
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;
    strbuf_appendf(&line, "%s field \"%s\"", what, strbuf_str(&text));
    c->fn(c->arg, strbuf_str(&line));
}

static const char *json_name(const struct kj_val *v)
{
    switch (kj_type(v)) {
    case KJ_BOOL: return "bool";
    case KJ_NUM: return "number";
    case KJ_STR: return "string";
    case KJ_ARR: return "array";
    case KJ_OBJ: return "object";
    default: return "null";
    }
}

static void scalar_go_name(const struct t_field *f, char *buf, size_t size)
{
    static const char *const names[] = {
        [T_STR] = "string",    [T_BOOL] = "bool",  [T_I32] = "int32",     [T_I64] = "int64",
        [T_NUM] = "float64",   [T_QTY] = "string", [T_IOS] = "int32",     [T_TIME] = "string",
        [T_MICRO] = "string",  [T_DUR] = "string", [T_BYTES] = "[]uint8", [T_ANY] = "interface {}",
        [T_STRS] = "[]string",
    };
    if (f->kind == T_OBJ)
        snprintf(buf, size, "v1.%s", short_name(f->type));
    else if (f->go && !(f->shape == T_MAP && f->kind == T_QTY))
        snprintf(buf, size, "%s", f->go);
    else
        snprintf(buf, size, "%s", names[f->kind]);
}

/* The Go type of the whole field: []v1.Container, map[string]string, v1.ResourceList. */
static void go_name(const struct t_field *f, enum t_shape shape, char *buf, size_t size)
{
    char one[96];

    if (shape == T_MAP && f->kind == T_QTY && f->go) {
        snprintf(buf, size, "%s", f->go);
        return;
    }
    scalar_go_name(f, one, sizeof one);
    snprintf(buf, size, "%s%s", shape == T_LIST ? "[]" : shape == T_MAP ? "map[string]" : "", one);
}

/* The base type of a scalar, whatever Go calls it: v1.RestartPolicy is a string. */
static const char *scalar_kind(const struct t_field *f)
{
    switch ((enum t_kind)f->kind) {
    case T_BOOL: return "bool";
    case T_I32: return "int32";
    case T_I64: return "int64";
    case T_NUM: return "float64";
    default: return "string";
    }
}

/* What the converter from maps to structs says, which knows nothing of paths. */
static int not_restored(struct checker *c, const struct t_field *f, enum t_shape shape,
                        const struct kj_val *v)
{
    static const char *const kinds[] = {
        [KJ_BOOL] = "bool", [KJ_STR] = "string", [KJ_ARR] = "slice", [KJ_OBJ] = "map"
    };
    char number[64] = "", type[128];
    if (kj_type(v) == KJ_NUM)
        kj_num_text(v, number, sizeof number);
    const char *is = *number ? strpbrk(number, ".eE") ? "float64" : "int64" : kinds[kj_type(v)];

    if (shape == T_LIST || (f->kind == T_STRS && kj_type(v) != KJ_NUM))
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "cannot restore slice from %s", is);
    if (shape == T_MAP)
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "cannot restore map from %s", is);
    if (f->kind == T_OBJ)
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "cannot restore struct from: %s", is);
    if (f->kind == T_TIME || f->kind == T_MICRO || f->kind == T_DUR || f->kind == T_IOS)
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST,
                        "json: cannot unmarshal %s into Go value of type %s", json_name(v),
                        f->kind == T_IOS ? "int32" : "string");
    if (*number && f->kind != T_BOOL) {
        scalar_go_name(f, type, sizeof type);
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "cannot convert %s to %s", is, type);
    }
    return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "unrecognized type: %s", scalar_kind(f));
}

/* parent: the struct that holds the field. shape T_ONE: an item of the list or map. */
static int mismatch(struct checker *c, const struct at *at, const struct t_type *parent,
                    const struct t_field *f, enum t_shape shape, const struct kj_val *v,
                    bool tell_number)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    char type[128], number[40] = "";

    if (c->restored)
        return not_restored(c, f, shape, v);
    append_path(&path, at, true);
    go_name(f, shape, type, sizeof type);
    if (tell_number) {
        number[0] = ' ';
        kj_num_text(v, number + 1, sizeof number - 1);
    }
    return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST,
                    "json: cannot unmarshal %s%s into Go struct field %s.%s of type %s",
                    json_name(v), number, short_name(parent), strbuf_str(&path), type);
}

static int check_int(struct checker *c, const struct at *at, const struct t_type *parent,
                     const struct t_field *f, const struct kj_val *v)
{
    int64_t i;

    if (kj_type(v) != KJ_NUM)
        return mismatch(c, at, parent, f, T_ONE, v, false);
    char text[64];
    kj_num_text(v, text, sizeof text); /* "1.0" and "1e3" are no integers to Go */
    if (strpbrk(text, ".eE") || kj_i64(v, &i) < 0 ||
        (f->kind != T_I64 && (i < INT32_MIN || i > INT32_MAX)))
        return mismatch(c, at, parent, f, T_ONE, v, true);
    return 0;
}

/* Which of the three things Go says about a text that is no quantity. */
static const char *quantity_error(const char *s)
{
    size_t digits = strspn(s, "+-0123456789.");
    static const char form[] = "quantities must match the regular expression "
                               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

    if (*s == '\0' || digits == 0)
        return form;
    const char *suffix = s + digits;
    suffix += strspn(suffix, "eEinumkKMGTP");
    suffix += strspn(suffix, "+-");
    suffix += strspn(suffix, "0123456789");
    if (*suffix)
        return form;
    return s[digits] ? "unable to parse quantity's suffix"
                     : "unable to parse numeric part of quantity";
}

static int check_quantity(struct checker *c, const struct kj_val *v)
{
    char number[64];
    struct qty q;
    const char *s = kj_str(v);

    if (kj_type(v) == KJ_NUM) {
        kj_num_text(v, number, sizeof number);
        s = number;
    }
    /* Anything else reaches Go's parser as its JSON text, which is no quantity either. */
    struct str t = s ? qty_trim(s, strlen(s)) : STR("");
    if (qty_parse(t.p, t.n, &q, NULL) != -EINVAL)
        return 0;
    CLEANUP(mem_free) char *trimmed = xstrndup(t.p, t.n);
    return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "%s", quantity_error(trimmed));
}

static int check_time(struct checker *c, const struct t_field *f, const struct kj_val *v)
{
    const char *s = kj_str(v);
    char shown[80];
    nsec_t t;

    if (ktime_parse(s, strlen(s), &t, NULL) != -EINVAL) {
        /* MicroTime wants its six digits, no more and no less. */
        const char *rest = s + MIN(strlen(s), (size_t)19);
        if (f->kind != T_MICRO || (*rest == '.' && strspn(rest + 1, "0123456789") == 6))
            return 0;
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST,
                        "parsing time %s as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse "
                        "\"%.40s\" as \".000000\"",
                        text_quote(shown, sizeof shown, s, strlen(s)), rest);
    }
    return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST,
                    "parsing time %s as \"2006-01-02T15:04:05%sZ07:00\": cannot parse %s as "
                    "\"2006\"",
                    text_quote(shown, sizeof shown, s, strlen(s)),
                    f->kind == T_MICRO ? ".000000" : "",
                    text_quote(shown, sizeof shown, s, strlen(s)));
}

static int check_bytes(struct checker *c, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *s = kj_str(v);
    size_t i = 0;

    if (b64_decode(s, kj_len(v), &out) == 0)
        return 0;
    while (s[i] && (strchr("+/\r\n", s[i]) || (s[i] >= '0' && s[i] <= '9') ||
                    (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z')))
        i++;
    return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "illegal base64 data at input byte %zu", i);
}

static int check_strings(struct checker *c, const struct at *at, const struct t_type *parent,
                         const struct t_field *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;

    if (kj_type(v) != KJ_ARR)
        return mismatch(c, at, parent, f, T_ONE, v, false);
    while (kj_next(&it, NULL, &item))
        if (kj_type(item) != KJ_STR && kj_type(item) != KJ_NULL)
            return mismatch(c, at, parent, f, T_ONE, item, false);
    return 0;
}

/* One form or another. Go reads it with a decoder of its own, which tells nobody of unknown fields,
 * and leaves a value that has none of the forms away. */
static int check_either(struct checker *c, const struct at *at, const struct t_type *t,
                        const struct kj_val *v)
{
    const struct t_field *f = types_form(t, kj_type(v));
    types_problem_fn fn = c->fn;

    if (!f && types_form(t, KJ_BOOL))
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "boolean or JSON schema expected");
    c->fn = NULL;
    int r = f ? check_field(c, at, t, f, v) : 0;
    c->fn = fn;
    return r;
}

static int check_item(struct checker *c, const struct at *at, const struct t_type *parent,
                      const struct t_field *f, const struct kj_val *v)
{
    enum kj_type type = kj_type(v);
    char shown[80];
    nsec_t dur;

    if (type == KJ_NULL || f->kind == T_ANY)
        return 0;
    switch ((enum t_kind)f->kind) {
    case T_OBJ:
        if (f->type->either)
            return check_either(c, at, f->type, v);
        return type == KJ_OBJ ? check_object(c, at, f->type, v)
                              : mismatch(c, at, parent, f, T_ONE, v, 0);
    case T_BOOL: return type == KJ_BOOL ? 0 : mismatch(c, at, parent, f, T_ONE, v, false);
    case T_I32:
    case T_I64: return check_int(c, at, parent, f, v);
    case T_IOS: return type == KJ_STR ? 0 : check_int(c, at, parent, f, v);
    case T_NUM: return type == KJ_NUM ? 0 : mismatch(c, at, parent, f, T_ONE, v, false);
    case T_QTY: return check_quantity(c, v);
    case T_STRS: return check_strings(c, at, parent, f, v);
    default: break;
    }
    if (type != KJ_STR)
        return mismatch(c, at, parent, f, T_ONE, v, false);
    if (f->kind == T_TIME || f->kind == T_MICRO)
        return check_time(c, f, v);
    if (f->kind == T_BYTES)
        return check_bytes(c, v);
    if (f->kind == T_DUR && kdur_parse(kj_str(v), kj_len(v), &dur, NULL) < 0)
        return kerr_api(c->err, -EINVAL, KR_BAD_REQUEST, "time: invalid duration %s",
                        text_quote(shown, sizeof shown, kj_str(v), kj_len(v)));
    return 0;
}

/* Members seen so far: a scan while there are few, a map when a client sends thousands. */
struct seen {
    struct str few[FEW_MEMBERS];
    size_t n;
    struct map many;
};

static bool seen_before(struct seen *s, struct str key)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->few[i], key))
            return true;
    if (s->n < FEW_MEMBERS) {
        s->few[s->n++] = key;
        return false;
    }
    return map_put(&s->many, key.p, key.n, s) != NULL;
}

static int check_map(struct checker *c, const struct at *at, const struct t_type *parent,
                     const struct t_field *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct seen seen = { .n = 0 };
    struct str key;
    int r = 0;

    while (r == 0 && kj_next(&it, &key, &item)) {
        struct at here = { .up = at, .key = key, .is_map_key = true };
        if (seen_before(&seen, key))
            problem(c, "duplicate", &here);
        r = check_item(c, &here, parent, f, item);
    }
    map_fini(&seen.many);
    return r;
}

static int check_list(struct checker *c, const struct at *at, const struct t_type *parent,
                      const struct t_field *f, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct at here = { .up = at };
    int r = 0;

    for (; r == 0 && kj_next(&it, NULL, &item); here.index++)
        r = check_item(c, &here, parent, f, item);
    return r;
}

static int check_field(struct checker *c, const struct at *at, const struct t_type *parent,
                       const struct t_field *f, const struct kj_val *v)
{
    enum kj_type type = kj_type(v);

    if (type == KJ_NULL)
        return 0;
    if (f->shape == T_LIST)
        return type == KJ_ARR ? check_list(c, at, parent, f, v)
                              : mismatch(c, at, parent, f, T_LIST, v, false);
    if (f->shape == T_MAP)
        return type == KJ_OBJ ? check_map(c, at, parent, f, v)
                              : mismatch(c, at, parent, f, T_MAP, v, false);
    return check_item(c, at, parent, f, v);
}

static int check_object(struct checker *c, const struct at *at, const struct t_type *t,
                        const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct seen seen = { .n = 0 };
    struct str key;
    int r = 0;

    while (r == 0 && kj_next(&it, &key, &item)) {
        const struct t_field *f = types_field(t, key.p, key.n);
        struct at here = { .up = at, .key = key };
        bool again = seen_before(&seen, key);
        if (f && again)
            problem(c, "duplicate", &here);
        else if (!f && !again)
            problem(c, "unknown", &here);
        if (f)
            r = check_field(c, &here, t, f, item);
    }
    map_fini(&seen.many);
    return r;
}

int types_check_restored(const struct t_type *t, const struct kj_val *v, types_problem_fn fn,
                         void *arg, struct kerr *err)
{
    struct checker c = { .fn = fn, .arg = arg, .restored = true, .err = err };
    return check_object(&c, NULL, t, v);
}

int types_check(const struct t_type *t, const struct kj_val *v, types_problem_fn fn, void *arg,
                struct kerr *err)
{
    struct checker c = { .fn = fn, .arg = arg, .err = err };
    int r;

    if (kj_type(v) == KJ_OBJ)
        r = check_object(&c, NULL, t, v);
    else
        r = kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                     "json: cannot unmarshal %s into Go value of type v1.%s", json_name(v),
                     short_name(t));
    return r;
}
