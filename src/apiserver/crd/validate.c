/* validate.c - values against a compiled schema, in the words and the order of kube-apiserver.
 *
 * Ratcheting as there: on an update, a part that did not change is not complained about
 * (correlate.c).
 */
#include <math.h>
#include <stdio.h>

#include "apiserver/crd/rules.h"
#include "base/num.h"

struct walk {
    struct strbuf path;
    size_t skip; /* of it: where a default stands in its definition; messages leave that out */
    struct field_errors *errors;
};

static void check(struct walk *w, const struct snode *n, const struct kj_val *v,
                  const struct kj_val *old);

/* ---- words --------------------------------------------------------------------------------------
 */

static const char *const type_names[] = {
    [S_ANY] = "",           [S_OBJECT] = "object",   [S_ARRAY] = "array",
    [S_STRING] = "string",  [S_INTEGER] = "integer", [S_NUMBER] = "number",
    [S_BOOLEAN] = "boolean"
};

static const char *kind_of(const struct kj_val *v)
{
    int64_t i;
    switch (kj_type(v)) {
    case KJ_BOOL: return "boolean";
    case KJ_NUM: return kj_i64(v, &i) == 0 ? "integer" : "number";
    case KJ_STR: return "string";
    case KJ_ARR: return "array";
    case KJ_OBJ: return "object";
    default: return "null";
    }
}

/* The path as messages name it. */
static const char *said(const struct walk *w)
{
    const char *p = strbuf_str(&w->path) + w->skip;
    return w->skip && *p == '.' ? p + 1 : p;
}

/* A limit as Go prints a float: shortest digits, exponents from 1e+06 on. */
static const char *limit_text(const struct kj_val *v, char buf[64])
{
    double d = 0, back;
    char e[64];
    int p = 0;

    (void)kj_f64(v, &d);
    do {
        (void)snprintf(e, sizeof e, "%.*e", p, d);
        back = strtod(e, NULL);
    } while ((back < d || back > d) && ++p < 17);
    int x = (int)strtol(strchr(e, 'e') ? strchr(e, 'e') + 1 : "0", NULL, 10);
    if (x < -4 || x >= 6)
        (void)snprintf(buf, 64, "%s", e);
    else
        (void)snprintf(buf, 64, "%.*f", MAX(p - x, 0), d);
    return buf;
}

/* The value as errors show it: strings quoted, the others as JSON. */
static void value_text(const struct kj_val *v, struct strbuf *out)
{
    if (kj_type(v) == KJ_STR)
        strbuf_append_quoted(out, kj_str(v), kj_len(v));
    else
        kj_write(v, KJ_SORTED, out);
}

/* "<path> in body <words><limit><tail>" */
static void invalid(struct walk *w, const struct kj_val *v, const char *words, const char *limit,
                    const char *tail)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    value_text(v, &text);
    field_error(w->errors, FIELD_INVALID, strbuf_str(&w->path), text.data, "%s in body %s%s%s",
                said(w), words, limit, tail);
}

static void invalid_count(struct walk *w, size_t have, const char *what, int64_t want)
{
    char count[24];
    (void)snprintf(count, sizeof count, "%zu", have);
    field_error(w->errors, FIELD_INVALID, strbuf_str(&w->path), count,
                "%s in body should have at least %lld %s", said(w), (long long)want, what);
}

static void too_many(struct walk *w, size_t have, int64_t max)
{
    field_error(w->errors, FIELD_TOO_MANY, strbuf_str(&w->path), NULL,
                "%zu: must have at most %lld %s", have, (long long)max,
                max == 1 ? "item" : "items");
}

static void forbidden(struct walk *w, struct str key)
{
    CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
    strbuf_append_quoted(&quoted, key.p, key.n);
    field_error(w->errors, FIELD_INVALID, strbuf_str(&w->path), quoted.data,
                "%s.%.*s in body is a forbidden property", said(w), (int)key.n, key.p);
}

static void wrong_type(struct walk *w, const char *want, const char *have)
{
    CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
    strbuf_append_quoted(&quoted, have, strlen(have));
    field_error(w->errors, FIELD_TYPE_INVALID, strbuf_str(&w->path), quoted.data,
                "%s in body must be of type %s: %s", said(w), want, quoted.data);
}

static size_t push(struct walk *w, const char *key, size_t n)
{
    size_t at = w->path.len;
    if (at)
        strbuf_appendc(&w->path, '.');
    strbuf_appendn(&w->path, key, n);
    return at;
}

/* ---- scalars ------------------------------------------------------------------------------------
 */

static size_t count_runes(const char *s, size_t n)
{
    size_t runes = 0;
    for (size_t i = 0; i < n; i++)
        runes += ((unsigned char)s[i] & 0xc0) != 0x80;
    return runes;
}

static void check_string(struct walk *w, const struct srules *r, const struct kj_val *v)
{
    const char *s = kj_str(v);
    size_t n = kj_len(v), runes = count_runes(s, n);
    char text[32];

    if (r->max_len >= 0 && runes > (size_t)r->max_len) {
        field_error(w->errors, FIELD_TOO_LONG, strbuf_str(&w->path), NULL,
                    "may not be more than %lld bytes", (long long)r->max_len);
    } else if (r->min_len >= 0 && runes < (size_t)r->min_len) {
        (void)snprintf(text, sizeof text, "%lld", (long long)r->min_len);
        invalid(w, v, "should be at least ", text, " chars long");
    } else if (r->pattern && r->re && !regex_match(r->re, s, n)) {
        invalid(w, v, "should match '", r->pattern, "'");
    }
    if (r->format && !format_matches(r->format, s, n))
        wrong_type(w, r->format, s);
}

/* -1, 0, 1; exact for 64-bit integers. */
static int compare(const struct kj_val *a, const struct kj_val *b)
{
    int64_t x, y;
    double p = 0, q = 0;
    if (kj_i64(a, &x) == 0 && kj_i64(b, &y) == 0)
        return (x > y) - (x < y);
    (void)kj_f64(a, &p);
    (void)kj_f64(b, &q);
    return (p > q) - (p < q);
}

static void check_multiple(struct walk *w, const struct srules *r, const struct kj_val *v)
{
    char text[64];
    double d = 0, factor = 0;
    int64_t i;

    (void)kj_f64(r->multiple_of, &factor);
    if (kj_i64(v, &i) == 0) { /* kube-apiserver cuts the factor, too */
        int64_t whole = i64_from_f64(factor);
        if (whole <= 0) {
            (void)snprintf(text, sizeof text, "%lld", (long long)whole);
            field_error(w->errors, FIELD_INVALID, strbuf_str(&w->path), text,
                        "factor MultipleOf declared for %s must be positive: %s", said(w), text);
        } else if (i % whole) {
            invalid(w, v, "should be a multiple of ", limit_text(r->multiple_of, text), "");
        }
        return;
    }
    (void)kj_f64(v, &d);
    double times = factor < 1 ? 1 / factor * d : d / factor;
    if (times < floor(times) || times > floor(times))
        invalid(w, v, "should be a multiple of ", limit_text(r->multiple_of, text), "");
}

/* A bound as the message has it: whole where the value is. */
static const char *bound_text(const struct kj_val *v, const struct kj_val *limit, char buf[64])
{
    int64_t x, y;

    if (kj_i64(v, &x) < 0 || kj_i64(limit, &y) < 0)
        return limit_text(limit, buf);
    (void)snprintf(buf, 64, "%lld", (long long)y);
    return buf;
}

static void check_number(struct walk *w, const struct srules *r, const struct kj_val *v)
{
    char text[64];

    if (r->multiple_of)
        check_multiple(w, r, v);
    if (r->max && compare(v, r->max) >= (r->excl_max ? 0 : 1))
        invalid(w, v, r->excl_max ? "should be less than " : "should be less than or equal to ",
                bound_text(v, r->max, text), "");
    if (r->min && compare(v, r->min) <= (r->excl_min ? 0 : -1))
        invalid(w, v,
                r->excl_min ? "should be greater than " : "should be greater than or equal to ",
                bound_text(v, r->min, text), "");
}

static void check_enum(struct walk *w, const struct kj_val *values, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, list = STRBUF_INIT;
    struct kj_iter it = kj_iter(values);
    const struct kj_val *one;
    struct str key;

    while (kj_next(&it, &key, &one))
        if (kj_equal(one, v) ||
            (kj_type(v) == KJ_NUM && kj_type(one) == KJ_NUM && compare(one, v) == 0))
            return;
    for (it = kj_iter(values); kj_next(&it, &key, &one);) {
        CLEANUP(strbuf_fini) struct strbuf raw = STRBUF_INIT;
        strbuf_append(&list, list.len ? ", " : "");
        if (kj_type(one) == KJ_STR) {
            strbuf_append_quoted(&list, kj_str(one), kj_len(one));
            continue;
        }
        kj_write(one, 0, &raw);
        strbuf_append_quoted(&list, raw.data, raw.len);
    }
    value_text(v, &text);
    field_error(w->errors, FIELD_NOT_SUPPORTED, strbuf_str(&w->path), text.data,
                "supported values: %s", strbuf_str(&list));
}

/* ---- lists --------------------------------------------------------------------------------------
 */

/* The keys of a list-type map's item, as JSON in the order of their names. */
static void item_keys(const struct snode *n, const struct kj_val *item, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *keys = kj_mobj(d);
    for (size_t i = 0; i < kj_len(n->list_keys); i++) {
        const char *key = kj_str_or(kj_at(n->list_keys, i), "");
        const struct kj_val *v = kj_get(item, key);
        if (v)
            kj_mset(d, keys, key, kj_mcopy(d, v));
    }
    kj_mwrite(keys, KJ_SORTED, out);
}

/* The first item that is none is told, and then nobody looks for duplicates. */
static bool all_objects(struct walk *w, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *item;
    struct str none;
    size_t at = w->path.len;

    for (size_t i = 0; kj_next(&it, &none, &item); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        if (kj_type(item) == KJ_OBJ || kj_type(item) == KJ_NULL)
            continue;
        value_text(item, &text);
        strbuf_appendf(&w->path, "[%zu]", i);
        field_error(w->errors, FIELD_INVALID, w->path.data, text.data,
                    "must be an object for an array of list-type map");
        strbuf_truncate(&w->path, at);
        return false;
    }
    return true;
}

static void check_unique(struct walk *w, const struct snode *n, const struct kj_val *v)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map seen = { 0 };
    static char once, told; /* marks: met before; named before, once is enough */
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str none;
    size_t at = w->path.len;

    if (n->list == S_LIST_MAP && !all_objects(w, v))
        return;
    for (size_t i = 0; kj_next(&it, &none, &item); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        if (n->list == S_LIST_MAP)
            item_keys(n, item, &text); /* of null: none */
        else
            value_text(item, &text);
        strbuf_appendf(&w->path, "[%zu]", i);
        const void *mark = map_get(&seen, text.data, text.len);
        if (mark == &once)
            field_error(w->errors, FIELD_DUPLICATE, w->path.data, text.data, NULL);
        map_put(&seen, arena_strndup(a, text.data, text.len), text.len, mark ? &told : &once);
        strbuf_truncate(&w->path, at);
    }
}

static void check_list(struct walk *w, const struct snode *n, const struct kj_val *v,
                       const struct kj_val *old)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = n, .old = old };
    const struct srules *r = n->rules;
    size_t len = kj_len(v), at = w->path.len;
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str none;

    for (size_t i = 0; n->items && kj_next(&it, &none, &item); i++) {
        strbuf_appendf(&w->path, "[%zu]", i);
        check(w, n->items, item, old_item(&olds, item));
        strbuf_truncate(&w->path, at);
    }
    if (r && r->min_items >= 0 && len < (size_t)r->min_items)
        invalid_count(w, len, "items", r->min_items);
    if (r && r->max_items >= 0 && len > (size_t)r->max_items)
        too_many(w, len, r->max_items);
    if (n->list != S_ATOMIC || (r && r->unique))
        check_unique(w, n, v);
}

/* ---- objects ------------------------------------------------------------------------------------
 */

static void check_required(struct walk *w, const struct kj_val *v, const char *name)
{
    if (kj_get(v, name))
        return;
    size_t at = push(w, name, strlen(name));
    field_error(w->errors, FIELD_REQUIRED, strbuf_str(&w->path), NULL, NULL);
    strbuf_truncate(&w->path, at);
}

static void check_object(struct walk *w, const struct snode *n, const struct kj_val *v,
                         const struct kj_val *old)
{
    CLEANUP(old_parts_fini) struct old_parts olds = { .n = n, .old = old };
    const struct srules *r = n->rules;
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;

    if (r && r->max_props >= 0 && kj_len(v) > (size_t)r->max_props)
        too_many(w, kj_len(v), r->max_props);
    if (r && r->min_props >= 0 && kj_len(v) < (size_t)r->min_props)
        invalid_count(w, kj_len(v), "properties", r->min_props);
    for (size_t i = 0; r && i < kj_len(r->required); i++)
        check_required(w, v, kj_str_or(kj_at(r->required, i), ""));
    if (n->embedded) {
        check_required(w, v, "apiVersion");
        check_required(w, v, "kind");
    }
    while (kj_next(&it, &key, &m)) {
        bool known;
        const struct snode *below = snode_member(n, key.p, key.n, &known);
        if (!known && n->additional_none)
            forbidden(w, key);
        if (!below)
            continue;
        size_t at = push(w, key.p, key.n);
        check(w, below, m, old_member(&olds, key));
        strbuf_truncate(&w->path, at);
    }
}

/* ---- combinations -------------------------------------------------------------------------------
 */

/* How many of the alternatives hold; the errors of the first that does not are kept. */
static size_t count_valid(struct walk *w, const struct snodes *list, const struct kj_val *v,
                          size_t *first_bad)
{
    size_t valid = 0;
    *first_bad = list->n;
    for (size_t i = 0; i < list->n; i++) {
        CLEANUP(field_errors_free) struct field_errors *trial = field_errors_new();
        struct walk sub = { .path = w->path, .skip = w->skip, .errors = trial };
        check(&sub, list->list[i], v, NULL);
        w->path = sub.path;
        if (field_errors_count(trial) == 0)
            valid++;
        else if (*first_bad == list->n)
            *first_bad = i;
    }
    return valid;
}

static void combination(struct walk *w, const char *words)
{
    field_error(w->errors, FIELD_INVALID, "<nil>", "\"\"", "\"%s\" %s", said(w), words);
}

static void check_one_of(struct walk *w, const struct snodes *list, const struct kj_val *v)
{
    size_t bad, valid = count_valid(w, list, v, &bad);
    char words[96] = "must validate one and only one schema (oneOf). Found none valid";

    if (valid == 1)
        return;
    if (valid)
        (void)snprintf(
            words, sizeof words,
            "must validate one and only one schema (oneOf). Found %zu valid alternatives", valid);
    combination(w, words);
    if (!valid)
        check(w, list->list[bad], v, NULL);
}

static void check_combinations(struct walk *w, const struct srules *r, const struct kj_val *v)
{
    size_t bad, valid;

    if (r->any_of.n && count_valid(w, &r->any_of, v, &bad) == 0) {
        combination(w, "must validate at least one schema (anyOf)");
        check(w, r->any_of.list[bad], v, NULL);
    }
    if (r->one_of.n)
        check_one_of(w, &r->one_of, v);
    if (r->all_of.n && (valid = count_valid(w, &r->all_of, v, &bad)) != r->all_of.n) {
        for (size_t i = 0; i < r->all_of.n; i++)
            check(w, r->all_of.list[i], v, NULL);
        combination(w, valid ? "must validate all the schemas (allOf)"
                             : "must validate all the schemas (allOf). None validated");
    }
    if (r->not_) {
        const struct snode *not_[] = { r->not_ };
        if (count_valid(w, &(struct snodes){ not_, 1 }, v, &bad) == 1)
            combination(w, "must not validate the schema (not)");
    }
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static bool is_int_or_string(const struct kj_val *v)
{
    int64_t i;
    return kj_type(v) == KJ_STR || kj_i64(v, &i) == 0;
}

static void check_type(struct walk *w, const struct snode *n, const struct kj_val *v)
{
    const char *have = kind_of(v), *want = type_names[n->type];

    if (n->type == S_STRING && n->rules && n->rules->format && format_is_known(n->rules->format) &&
        (kj_type(v) == KJ_NUM || kj_type(v) == KJ_BOOL || kj_type(v) == KJ_OBJ)) {
        /* Then kube-apiserver names the format that is wanted, and that of Go's value. */
        wrong_type(w, n->rules->format,
                   streq(have, "integer")  ? "int64"
                   : streq(have, "number") ? "float64"
                                           : "");
    } else if (n->int_or_string) {
        if (!is_int_or_string(v))
            wrong_type(w, "integer,string", have);
    } else if (n->type != S_ANY && !streq(have, want) &&
               !(n->type == S_NUMBER && streq(have, "integer"))) {
        wrong_type(w, want, have);
    }
}

static void check(struct walk *w, const struct snode *n, const struct kj_val *v,
                  const struct kj_val *old)
{
    const struct srules *r = n->rules;
    enum kj_type t = kj_type(v);

    if ((t == KJ_NULL && n->nullable) || is_unchanged(n, v, old))
        return;
    check_type(w, n, v);
    if (t == KJ_NULL)
        return;
    if (r && !(n->plain_any_of && is_int_or_string(v)))
        check_combinations(w, r, v);
    if (r && t == KJ_STR)
        check_string(w, r, v);
    if (r && t == KJ_NUM)
        check_number(w, r, v);
    if (t == KJ_ARR)
        check_list(w, n, v, old);
    if (r && r->values)
        check_enum(w, r->values, v);
    if (t == KJ_OBJ)
        check_object(w, n, v, old);
}

void value_validate(const struct snode *n, const struct kj_val *v, const char *path,
                    struct field_errors *errors)
{
    struct walk w = { .errors = errors };
    strbuf_append(&w.path, path);
    w.skip = w.path.len;
    check(&w, n, v, NULL);
    strbuf_fini(&w.path);
}

void crd_validate(const struct crd_schema *s, enum res_verb verb, const struct kj_val *obj,
                  const struct kj_val *old, struct field_errors *errors,
                  struct field_errors *warnings)
{
    static const enum field_error_type blocking[] = { FIELD_REQUIRED, FIELD_TOO_LONG,
                                                      FIELD_TOO_MANY, FIELD_TYPE_INVALID,
                                                      FIELD_NOT_SUPPORTED };
    struct walk w = { .errors = errors };
    bool blocked = false;

    (void)verb; /* status updates are judged whole, as the others */
    check(&w, s->root, obj, old);
    strbuf_fini(&w.path);
    scale_validate(obj, s->scale.spec_replicas, errors);
    scale_validate(obj, s->scale.status_replicas, errors);
    if (!s->root->cel_below)
        return;
    for (size_t i = 0; i < ARRAY_LEN(blocking); i++)
        blocked |= field_errors_any(errors, blocking[i]);
    if (blocked)
        field_error(errors, FIELD_INVALID, "<nil>", "null",
                    "some validation rules were not checked because the object was invalid; "
                    "correct the existing errors to complete validation");
    else
        rules_eval(s->root, obj, old, "", errors, warnings);
}
