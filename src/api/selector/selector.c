/* selector.c - label selectors: from structs, matching, canonical text. */
#include "api/names.h"
#include "api/selector/selector_int.h"
#include "base/num.h"
#include "json/kj.h"

/* ---- requirements ---------------------------------------------------------------------------- */

static int invalid(struct kerr *err, const char *path, const char *value, const char *why)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: \"%s\": %s", path, value, why);
}

/* As Go's JSON prints the list: null when there is none. */
static int wrong_count(const struct labelreq *r, const char *why, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    for (uint32_t i = 0; i < r->n; i++) {
        strbuf_append(&list, i ? "," : "[");
        kj_append_string(&list, r->values[i], strlen(r->values[i]));
    }
    strbuf_append(&list, r->n ? "]" : "null");
    return kerr_api(err, -EINVAL, KR_INVALID, "values: Invalid value: %.100s: %s",
                    strbuf_str(&list), why);
}

static int check_count(const struct labelreq *r, struct kerr *err)
{
    const char *why = NULL;
    switch (r->op) {
    case LABELOP_IN:
    case LABELOP_NOT_IN:
        if (r->n == 0)
            why = "for 'in', 'notin' operators, values set can't be empty";
        break;
    case LABELOP_EXISTS:
    case LABELOP_NOT_EXISTS:
        if (r->n != 0)
            why = "values set must be empty for exists and does not exist";
        break;
    case LABELOP_GT:
    case LABELOP_LT:
        if (r->n != 1)
            why = "for 'Gt', 'Lt' operators, exactly one value is required";
        break;
    default:
        if (r->n != 1)
            why = "exact-match compatibility requires one single value";
    }
    return why ? wrong_count(r, why, err) : 0;
}

static int check_values(struct labelreq *r, struct kerr *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const char *v = r->values[i], *why;
        if ((r->op == LABELOP_GT || r->op == LABELOP_LT) && i64_parse(v, strlen(v), &r->number) < 0)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "values[%u]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, the "
                            "value must be an integer",
                            i, v);
        why = name_check_label_value(str_of(v));
        if (why)
            return kerr_api(err, -EINVAL, KR_INVALID, "values[%u][%s]: Invalid value: \"%s\": %s",
                            i, r->key, v, why);
    }
    return 0;
}

static int cmp_text(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return strcmp(x, y);
}

int labelreq_init(struct labelreq *r, const char *key_path, struct arena *a, struct kerr *err)
{
    const char *why = name_check_label_key(str_of(r->key));
    if (why)
        return invalid(err, key_path, r->key, why);
    int code = check_count(r, err);
    if (code == 0)
        code = check_values(r, err);
    if (code < 0 || r->n < 2)
        return code;
    const char **sorted = arena_alloc(a, r->n * sizeof *sorted, sizeof(char *));
    memcpy(sorted, r->values, r->n * sizeof *sorted);
    qsort(sorted, r->n, sizeof *sorted, cmp_text);
    r->values = sorted;
    return 0;
}

/* Insertion sort: a handful of requirements, and those of one key keep their order. */
void labelreq_sort(struct labelreq *reqs, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct labelreq r = reqs[i];
        uint32_t at = i;
        for (; at > 0 && strcmp(reqs[at - 1].key, r.key) > 0; at--)
            reqs[at] = reqs[at - 1];
        reqs[at] = r;
    }
}

/* ---- from structs ---------------------------------------------------------------------------- */

static struct labelsel *new_selector(uint32_t n, struct arena *a)
{
    struct labelsel *s = arena_new0(a, struct labelsel);
    if (n)
        s->reqs = arena_newn0(a, n, struct labelreq);
    return s;
}

static int req_from(const struct selreq *in, struct labelreq *r, struct arena *a, struct kerr *err)
{
    static const uint8_t ops[] = { [SELOP_IN] = LABELOP_IN,
                                   [SELOP_NOT_IN] = LABELOP_NOT_IN,
                                   [SELOP_EXISTS] = LABELOP_EXISTS,
                                   [SELOP_DOES_NOT_EXIST] = LABELOP_NOT_EXISTS };
    if (in->op == SELOP_NONE || in->op > SELOP_DOES_NOT_EXIST)
        return kerr_api(err, -EINVAL, KR_INVALID, "\"%s\" is not a valid label selector operator",
                        selop_names[in->op]);
    *r = (struct labelreq){
        .key = in->key, .values = in->values.items, .n = in->values.n, .op = ops[in->op]
    };
    return labelreq_init(r, "key", a, err);
}

int labelsel_from(const struct label_selector *in, struct arena *a, struct labelsel **ret,
                  struct kerr *err)
{
    uint32_t nl = in ? in->match_labels.n : 0, ne = in ? in->match_expressions.n : 0;
    struct labelsel *s = new_selector(nl + ne, a);

    s->nothing = !in;
    for (uint32_t i = 0; i < nl; i++) {
        const struct kstrpair *p = &in->match_labels.items[i];
        struct labelreq *r = &s->reqs[s->n++];
        *r = (struct labelreq){ .key = p->key, .values = &p->value, .n = 1, .op = LABELOP_EQ };
        int code = labelreq_init(r, "key", a, err);
        if (code < 0)
            return code;
    }
    for (uint32_t i = 0; i < ne; i++) {
        int code = req_from(&in->match_expressions.items[i], &s->reqs[s->n++], a, err);
        if (code < 0)
            return code;
    }
    labelreq_sort(s->reqs, s->n);
    *ret = s;
    return 0;
}

struct labelsel *labelsel_from_map(const kstrmap *m, struct arena *a)
{
    struct labelsel *s = new_selector(m->n, a);
    for (; s->n < m->n; s->n++) /* the map is sorted */
        s->reqs[s->n] = (struct labelreq){
            .key = m->items[s->n].key, .values = &m->items[s->n].value, .n = 1, .op = LABELOP_EQ
        };
    return s;
}

struct labelsel *labelsel_and(const struct labelsel *s, const char *key, const char *value,
                              struct arena *a)
{
    struct labelsel *copy = new_selector(s->n + 1, a);
    const char **v = arena_alloc(a, sizeof *v, sizeof(char *));
    *v = value;
    if (s->n)
        memcpy(copy->reqs, s->reqs, s->n * sizeof *s->reqs);
    copy->reqs[s->n] = (struct labelreq){ .key = key, .values = v, .n = 1, .op = LABELOP_EQ };
    copy->n = s->n + 1;
    copy->nothing = s->nothing;
    labelreq_sort(copy->reqs, copy->n);
    return copy;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool has_value(const struct labelreq *r, const char *value)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->values[i] == value || streq(r->values[i], value))
            return true;
    return false;
}

static bool number_matches(const struct labelreq *r, const char *value)
{
    int64_t v;
    if (!value || i64_parse(value, strlen(value), &v) < 0)
        return false;
    return r->op == LABELOP_GT ? v > r->number : v < r->number;
}

bool labelreq_matches(const struct labelreq *r, const kstrmap *labels)
{
    const char *value = kstrmap_get(labels, r->key);
    switch (r->op) {
    case LABELOP_NE:
    case LABELOP_NOT_IN: return !value || !has_value(r, value);
    case LABELOP_EXISTS: return value;
    case LABELOP_NOT_EXISTS: return !value;
    case LABELOP_GT:
    case LABELOP_LT: return number_matches(r, value);
    default: return value && has_value(r, value);
    }
}

bool labelsel_matches(const struct labelsel *s, const kstrmap *labels)
{
    if (s->nothing)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!labelreq_matches(&s->reqs[i], labels))
            return false;
    return true;
}

bool labelsel_is_everything(const struct labelsel *s)
{
    return s->n == 0 && !s->nothing;
}

/* ---- canonical text -------------------------------------------------------------------------- */

static void format_req(const struct labelreq *r, struct strbuf *out)
{
    static const char *const words[] = { [LABELOP_EQ] = "=",
                                         [LABELOP_EQ2] = "==",
                                         [LABELOP_NE] = "!=",
                                         [LABELOP_IN] = " in (",
                                         [LABELOP_NOT_IN] = " notin (",
                                         [LABELOP_EXISTS] = "",
                                         [LABELOP_NOT_EXISTS] = "",
                                         [LABELOP_GT] = ">",
                                         [LABELOP_LT] = "<" };
    if (r->op == LABELOP_NOT_EXISTS)
        strbuf_appendc(out, '!');
    strbuf_append(out, r->key);
    strbuf_append(out, words[r->op]);
    for (uint32_t i = 0; i < r->n; i++) {
        if (i)
            strbuf_appendc(out, ',');
        strbuf_append(out, r->values[i]);
    }
    if (r->op == LABELOP_IN || r->op == LABELOP_NOT_IN)
        strbuf_appendc(out, ')');
}

void labelsel_format(const struct labelsel *s, struct strbuf *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (i)
            strbuf_appendc(out, ',');
        format_req(&s->reqs[i], out);
    }
}
