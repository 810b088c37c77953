/* fields.c - sets of fields: building, operations, FieldsV1. */
#include "apiserver/apply/fields.h"
#include "base/strbuf.h"

/* ---- elements -----------------------------------------------------------------------------------
 */

/* Members before items by key, by value, by place. */
static int rank(struct str element)
{
    switch (element.n ? element.p[0] : '\0') {
    case 'f': return 0;
    case 'k': return 1;
    case 'v': return 2;
    case 'i': return 3;
    default: return 4;
    }
}

static int compare(struct str x, struct str y)
{
    int d = x.n && y.n && x.p[0] == y.p[0] ? 0 : rank(x) - rank(y);

    if (d == 0)
        d = memcmp(x.p, y.p, MIN(x.n, y.n));
    return d ? d : (x.n > y.n) - (x.n < y.n);
}

static size_t place(const struct fields *s, struct str element, bool *found)
{
    size_t lo = 0, hi = s->n;

    *found = false;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = compare(s->kids[mid]->element, element);
        if (d == 0) {
            *found = true;
            return mid;
        }
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct str field_member(struct arena *a, struct str key)
{
    char *p = arena_alloc(a, key.n + 3, 1);

    p[0] = 'f';
    p[1] = ':';
    memcpy(p + 2, key.p, key.n);
    p[key.n + 2] = '\0';
    return (struct str){ p, key.n + 2 };
}

/* ---- building -----------------------------------------------------------------------------------
 */

struct fields *fields_new(struct arena *a)
{
    return arena_new0(a, struct fields);
}

static void add_kid(struct arena *a, struct fields *s, size_t at, struct fields *kid)
{
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 4;
        struct fields **more = arena_newn0(a, cap, struct fields *);
        if (s->n)
            memcpy(more, s->kids, s->n * sizeof *more);
        s->kids = more;
        s->cap = cap;
    }
    memmove(s->kids + at + 1, s->kids + at, (s->n - at) * sizeof *s->kids);
    s->kids[at] = kid;
    s->n++;
}

/* The node of this element below s, made where there is none. */
static struct fields *enter(struct arena *a, struct fields *s, const struct field_at *at)
{
    bool found;
    struct str element = at->name ? field_member(a, at->element) : at->element;
    size_t i = place(s, element, &found);

    if (!found) {
        struct fields *kid = fields_new(a);
        kid->element =
            at->name ? element : (struct str){ arena_strndup(a, element.p, element.n), element.n };
        add_kid(a, s, i, kid);
    }
    return s->kids[i];
}

/* A walker comes to a place many times: with each of the fields below it. */
static struct fields *descend(struct arena *a, struct fields *s, struct field_at *at)
{
    struct known_at *known = at ? at->known : NULL;

    if (!at)
        return s;
    for (size_t i = 0; i < ARRAY_LEN(at->known) && known->set; i++, known++)
        if (known->set == s)
            return known->node;
    struct fields *node = enter(a, descend(a, s, at->up), at);
    if (known < at->known + ARRAY_LEN(at->known))
        *known = (struct known_at){ s, node };
    return node;
}

struct fields *fields_open(struct arena *a, const struct fields *s, struct str element)
{
    bool found;
    size_t i = place(s, element, &found);

    if (found)
        return s->kids[i];
    struct fields *kid = fields_new(a);
    kid->element = element;
    return kid;
}

void fields_close(struct arena *a, struct fields *s, struct fields *kid)
{
    bool found;

    if (!kid->member && kid->n == 0)
        return;
    size_t i = place(s, kid->element, &found);
    if (!found)
        add_kid(a, s, i, kid);
}

void fields_insert(struct arena *a, struct fields *s, struct field_at *at)
{
    if (at)
        descend(a, s, at)->member = true;
}

bool fields_empty(const struct fields *s)
{
    if (!s)
        return true;
    if (s->member)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!fields_empty(s->kids[i]))
            return false;
    return true;
}

const struct fields *fields_below(const struct fields *s, struct str element)
{
    bool found = false;
    size_t i = s ? place(s, element, &found) : 0;

    return found ? s->kids[i] : NULL;
}

bool fields_equal(const struct fields *x, const struct fields *y)
{
    if (fields_empty(x) || fields_empty(y))
        return fields_empty(x) == fields_empty(y);
    if (x->member != y->member || x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (compare(x->kids[i]->element, y->kids[i]->element) != 0 ||
            !fields_equal(x->kids[i], y->kids[i]))
            return false;
    return true;
}

/* ---- operations ---------------------------------------------------------------------------------
 */

enum operation { UNION, BOTH, MINUS, WITHOUT };

static const struct fields *combine(struct arena *a, enum operation op, const struct fields *x,
                                    const struct fields *y);

static bool is_member(enum operation op, const struct fields *x, const struct fields *y)
{
    switch (op) {
    case UNION: return x->member || y->member;
    case BOTH: return x->member && y->member;
    default: return x->member && !y->member;
    }
}

static void add_if_any(struct arena *a, struct fields *out, const struct fields *kid)
{
    if (!fields_empty(kid))
        add_kid(a, out, out->n, (struct fields *)(uintptr_t)kid);
}

/* Both are there. */
static const struct fields *combine_nodes(struct arena *a, enum operation op,
                                          const struct fields *x, const struct fields *y)
{
    struct fields *out = fields_new(a);
    uint32_t i = 0, j = 0;

    *out = (struct fields){ .element = x->element, .member = is_member(op, x, y) };
    if (op == WITHOUT && y->member)
        return NULL;
    while (i < x->n || j < y->n) {
        int d = i == x->n ? 1 : j == y->n ? -1 : compare(x->kids[i]->element, y->kids[j]->element);
        const struct fields *kx = d <= 0 ? x->kids[i] : NULL, *ky = d >= 0 ? y->kids[j] : NULL;
        add_if_any(a, out, combine(a, op, kx, ky));
        i += d <= 0;
        j += d >= 0;
    }
    return fields_empty(out) ? NULL : out;
}

static const struct fields *combine(struct arena *a, enum operation op, const struct fields *x,
                                    const struct fields *y)
{
    if (x && y)
        return combine_nodes(a, op, x, y);
    if (op == BOTH)
        return NULL;
    return x || op != UNION ? x : y;
}

const struct fields *fields_union(struct arena *a, const struct fields *x, const struct fields *y)
{
    return combine(a, UNION, x, y);
}

const struct fields *fields_both(struct arena *a, const struct fields *x, const struct fields *y)
{
    return combine(a, BOTH, x, y);
}

const struct fields *fields_minus(struct arena *a, const struct fields *x, const struct fields *y)
{
    return combine(a, MINUS, x, y);
}

const struct fields *fields_without(struct arena *a, const struct fields *x, const struct fields *y)
{
    return combine(a, WITHOUT, x, y);
}

/* ---- for people ---------------------------------------------------------------------------------
 */

static void append_keys(struct strbuf *path, struct str json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *v;
    struct str key;

    if (kj_parse(json.p, json.n, KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return;
    strbuf_appendc(path, '[');
    const char *comma = "";
    for (struct kj_iter it = kj_iter(kj_root(doc)); kj_next(&it, &key, &v); comma = ",") {
        strbuf_append(path, comma);
        strbuf_appendn(path, key.p, key.n);
        strbuf_appendc(path, '=');
        kj_write(v, 0, path);
    }
    strbuf_appendc(path, ']');
}

static void append_element(struct strbuf *path, struct str element)
{
    struct str rest = { element.p + 2, element.n - 2 };

    switch (element.p[0]) {
    case 'f':
        strbuf_appendc(path, '.');
        strbuf_appendn(path, rest.p, rest.n);
        break;
    case 'k': append_keys(path, rest); break;
    case 'v': strbuf_appendf(path, "[=%.*s]", (int)rest.n, rest.p); break;
    default: strbuf_appendf(path, "[%.*s]", (int)rest.n, rest.p);
    }
}

static void each(const struct fields *s, struct strbuf *path, fields_fn fn, void *arg)
{
    size_t n = path->len;

    if (s->member)
        fn(arg, strbuf_str(path));
    for (uint32_t i = 0; i < s->n; i++) {
        append_element(path, s->kids[i]->element);
        each(s->kids[i], path, fn, arg);
        strbuf_truncate(path, n);
    }
}

void fields_each(const struct fields *s, fields_fn fn, void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;

    if (s)
        each(s, &path, fn, arg);
}

/* ---- FieldsV1 -----------------------------------------------------------------------------------
 */

static bool is_index(struct str s)
{
    size_t sign = s.n > 1 && (s.p[0] == '-' || s.p[0] == '+');

    for (size_t i = sign; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > sign;
}

/* Keys and values in one form, whoever wrote them: sorted, without blanks. */
static int canonical(struct arena *a, struct str key, struct str *ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool bad = key.n < 2 || key.p[1] != ':' || rank(key) > 3;

    if (!bad && (key.p[0] == 'k' || key.p[0] == 'v')) {
        bad = kj_parse(key.p + 2, key.n - 2, KJ_RAW_NUMBERS, &doc, NULL) < 0 ||
              (key.p[0] == 'k' && kj_type(kj_root(doc)) != KJ_OBJ);
        strbuf_appendn(&text, key.p, MIN(key.n, (size_t)2));
        if (!bad)
            kj_write(kj_root(doc), KJ_SORTED, &text);
    } else {
        bad = bad || (key.p[0] == 'i' && !is_index((struct str){ key.p + 2, key.n - 2 }));
        strbuf_appendn(&text, key.p, key.n);
    }
    if (bad)
        return kerr_set(err, -EINVAL, "\"%.*s\" is no element of a path",
                        (int)MIN(key.n, (size_t)60), key.p);
    *ret = (struct str){ arena_strndup(a, strbuf_str(&text), text.len), text.len };
    return 0;
}

static int read_node(struct arena *a, const struct kj_val *v, struct fields *out, int depth,
                     bool ours, struct kerr *err)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;
    bool found;
    int e = 0;

    if (kj_type(v) != KJ_OBJ || depth > FIELDS_DEPTH_MAX)
        return kerr_set(err, -EINVAL, "fields are no object, or too deep");
    if (depth > 0 && kj_len(v) == 0)
        out->member = true;
    while (e == 0 && kj_next(&it, &key, &m)) {
        struct str element = { 0 };
        if (str_eqz(key, ".")) {
            out->member = true;
            continue;
        }
        if (key.n >= 2 && key.p[1] == ':' && rank(key) > 3)
            continue; /* of a kind yet to come: ignored, as there */
        if (ours)
            element = (struct str){ arena_strndup(a, key.p, key.n), key.n };
        else
            e = canonical(a, key, &element, err);
        if (e < 0)
            return e;
        size_t i = place(out, element, &found);
        if (!found) {
            struct fields *kid = fields_new(a);
            kid->element = element;
            add_kid(a, out, i, kid);
        }
        e = read_node(a, m, out->kids[i], depth + 1, ours, err);
    }
    return e;
}

int fields_read(struct arena *a, const struct kj_val *v, bool ours, const struct fields **ret,
                struct kerr *err)
{
    struct fields *s = fields_new(a);
    int e = read_node(a, v, s, 0, ours, err);

    s->member = false;
    *ret = s;
    return e;
}

struct kj_mval *fields_value(const struct fields *s, struct kj_mdoc *d)
{
    struct kj_mval *out = kj_mobj(d);

    if (!s)
        return out;
    if (s->member && s->n)
        kj_mappend(d, out, ".", 1, kj_mobj(d));
    for (uint32_t i = 0; i < s->n; i++) {
        const struct fields *kid = s->kids[i];
        if (!fields_empty(kid))
            kj_mappend(d, out, kid->element.p, kid->element.n, fields_value(kid, d));
    }
    return out;
}
