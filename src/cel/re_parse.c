/* re_parse.c - the tree of a pattern. */
#include "cel/re_int.h"

#include <ctype.h>

struct flags {
    bool fold, multiline, dot_all, ungreedy;
};

struct parser {
    struct re_cursor c;
    const char *start;
    struct arena *a;
    struct flags flags;
    int depth;
};

static int parse_alternatives(struct parser *p, struct re_node **ret);

static int refuse(struct parser *p, const char *why, const char *part, size_t n)
{
    return re_refuse(p->c.err, why, part, n);
}

static bool at_end(const struct parser *p)
{
    return p->c.p >= p->c.end;
}

static struct re_node *node_new(struct parser *p, enum re_kind kind)
{
    struct re_node *n = arena_new0(p->a, struct re_node);
    n->kind = (uint8_t)kind;
    return n;
}

static struct re_node *pair(struct parser *p, enum re_kind kind, struct re_node *l,
                            struct re_node *r)
{
    struct re_node *n = node_new(p, kind);
    n->left = l;
    n->right = r;
    return n;
}

static struct re_node *assertion(struct parser *p, enum re_assert what)
{
    struct re_node *n = node_new(p, RN_ASSERT);
    n->assertion = (uint8_t)what;
    return n;
}

/* Uses up the set. */
static struct re_node *set_node(struct parser *p, struct re_set *set)
{
    struct re_node *n = node_new(p, RN_SET);

    re_set_clean(set);
    n->n_ranges = (uint32_t)set->n;
    n->ranges = arena_newn0(p->a, set->n, struct re_range);
    if (set->n)
        memcpy(n->ranges, set->items, set->n * sizeof *set->items);
    vec_fini(set);
    return n;
}

static struct re_node *rune_node(struct parser *p, uint32_t rune)
{
    struct re_node *n;

    if (p->flags.fold && re_fold_next(rune) != rune) {
        struct re_set set = { 0 };
        re_set_add(&set, rune, rune);
        for (uint32_t o = re_fold_next(rune); o != rune; o = re_fold_next(o))
            re_set_add(&set, o, o);
        return set_node(p, &set);
    }
    n = node_new(p, RN_RUNE);
    n->rune = rune;
    return n;
}

static struct re_node *dot_node(struct parser *p)
{
    struct re_set set = { 0 };

    if (p->flags.dot_all) {
        re_set_add(&set, 0, RE_RUNE_MAX);
    } else {
        re_set_add(&set, 0, '\n' - 1);
        re_set_add(&set, '\n' + 1, RE_RUNE_MAX);
    }
    return set_node(p, &set);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A name may come twice: what groups have found is never asked for by name. */
static int read_name(struct parser *p, const char *open, size_t intro)
{
    const char *name = open + intro;
    const char *close = memchr(name, '>', (size_t)(p->c.end - name));

    if (!close)
        return refuse(p, "invalid named capture", open, (size_t)(p->c.end - open));
    struct str s = { name, (size_t)(close - name) };
    bool fine = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        fine = fine && (isalnum((unsigned char)s.p[i]) || s.p[i] == '_');
    if (!fine)
        return refuse(p, "invalid named capture", open, (size_t)(close + 1 - open));
    p->c.p = close + 1;
    return 0;
}

/* (?flags) or (?flags: ; the cursor behind the question mark. *ret_open: a group begins. */
static int read_flags(struct parser *p, const char *open, bool *ret_open)
{
    struct flags f = p->flags;
    bool on = true, any = false;

    for (; !at_end(p); p->c.p++) {
        char ch = *p->c.p;
        if (ch == 'i' || ch == 'm' || ch == 's' || ch == 'U') {
            *(ch == 'i'   ? &f.fold
              : ch == 'm' ? &f.multiline
              : ch == 's' ? &f.dot_all
                          : &f.ungreedy) = on;
            any = true;
        } else if (ch == '-' && on) {
            on = any = false;
        } else if ((ch == ':' || ch == ')') && (on || any)) {
            *ret_open = ch == ':';
            p->c.p++;
            p->flags = f;
            return 0;
        } else {
            break;
        }
    }
    if (at_end(p))
        return refuse(p, "missing closing )", p->start, (size_t)(p->c.end - p->start));
    unsigned len;
    (void)re_rune(p->c.p, (size_t)(p->c.end - p->c.p), &len);
    return refuse(p, "invalid or unsupported Perl syntax", open, (size_t)(p->c.p + len - open));
}

/* At "(". *ret stays NULL for (?flags), which stands for nothing by itself. */
static int parse_group(struct parser *p, struct re_node **ret)
{
    const char *open = p->c.p++;
    struct str rest = { open, (size_t)(p->c.end - open) };
    struct flags outer = p->flags;
    bool group = true;
    int e = 0;

    if (rest.n >= 4 && memcmp(open, "(?P<", 4) == 0) {
        e = read_name(p, open, 4);
    } else if (rest.n >= 3 && memcmp(open, "(?<", 3) == 0) {
        e = read_name(p, open, 3);
    } else if (rest.n >= 2 && open[1] == '?') {
        p->c.p++;
        e = read_flags(p, open, &group);
    }
    if (e < 0 || !group)
        return e;
    if (++p->depth > RE_NESTING_MAX)
        return refuse(p, "expression nests too deeply", p->start, (size_t)(p->c.end - p->start));
    p->c.fold = p->flags.fold;
    e = parse_alternatives(p, ret);
    if (e < 0)
        return e;
    if (at_end(p))
        return refuse(p, "missing closing )", p->start, (size_t)(p->c.end - p->start));
    p->c.p++;
    p->depth--;
    p->flags = outer;
    return 0;
}

/* ---- one item and its repeats ------------------------------------------------------------------ */

static bool escape_asserts(struct parser *p, struct re_node **ret)
{
    if (p->c.end - p->c.p < 2)
        return false;
    switch (p->c.p[1]) {
    case 'A': *ret = assertion(p, RA_TEXT_BEGIN); break;
    case 'z': *ret = assertion(p, RA_TEXT_END); break;
    case 'b': *ret = assertion(p, RA_WORD_EDGE); break;
    case 'B': *ret = assertion(p, RA_NO_WORD_EDGE); break;
    default: return false;
    }
    p->c.p += 2;
    return true;
}

static int parse_escape(struct parser *p, struct re_node **ret)
{
    struct re_set set = { 0 };
    uint32_t rune;

    if (escape_asserts(p, ret))
        return 0;
    int e = re_class_escape(&p->c, &set);
    if (e > 0) {
        *ret = set_node(p, &set);
        return 0;
    }
    vec_fini(&set);
    if (e == 0)
        e = re_escaped_rune(&p->c, &rune);
    if (e == 0)
        *ret = rune_node(p, rune);
    return e;
}

static int parse_item(struct parser *p, struct re_node **ret)
{
    struct re_set set = { 0 };
    uint32_t rune;
    int e;

    p->c.fold = p->flags.fold;
    switch (*p->c.p) {
    case '(': return parse_group(p, ret);
    case '\\': return parse_escape(p, ret);
    case '[':
        e = re_class_bracket(&p->c, &set);
        if (e == 0)
            *ret = set_node(p, &set);
        return e;
    case '.':
        p->c.p++;
        *ret = dot_node(p);
        return 0;
    case '^':
        p->c.p++;
        *ret = assertion(p, p->flags.multiline ? RA_LINE_BEGIN : RA_TEXT_BEGIN);
        return 0;
    case '$':
        p->c.p++;
        *ret = assertion(p, p->flags.multiline ? RA_LINE_END : RA_TEXT_END);
        return 0;
    default:
        e = re_plain_rune(&p->c, &rune);
        if (e == 0)
            *ret = rune_node(p, rune);
        return e;
    }
}

/* Digits at *q; -1: none. More than anybody may ask for stays above the limit. */
static int32_t read_number(const char **q, const char *end)
{
    int32_t v = -1;

    if (*q + 1 < end && **q == '0' && isdigit((unsigned char)(*q)[1]))
        return -1; /* no leading zeros */
    for (; *q < end && isdigit((unsigned char)**q); ++*q)
        v = MIN((v < 0 ? 0 : v) * 10 + (**q - '0'), RE_REPEAT_MAX + 1);
    return v;
}

/* * + ? {n,m} at the cursor; false: something else ({ may be text). */
static bool read_repeat(const struct parser *p, int32_t *min, int32_t *max, const char **after)
{
    const char *q = p->c.p;

    if (q >= p->c.end)
        return false;
    *after = q + 1;
    *min = *q == '+';
    *max = *q == '?' ? 1 : RE_UNBOUNDED;
    if (*q == '*' || *q == '+' || *q == '?')
        return true;
    if (*q++ != '{' || (*min = *max = read_number(&q, p->c.end)) < 0)
        return false;
    if (q < p->c.end && *q == ',') {
        q++;
        if (q < p->c.end && *q == '}')
            *max = RE_UNBOUNDED;
        else if ((*max = read_number(&q, p->c.end)) < 0)
            return false;
    }
    *after = q + 1;
    return q < p->c.end && *q == '}';
}

/* How often the innermost item would be written out; unbounded repeats count once. */
static int64_t copies(const struct re_node *n)
{
    if (n->kind == RN_CAT || n->kind == RN_ALT) {
        int64_t most = 1;
        for (; n->kind == RN_CAT || n->kind == RN_ALT; n = n->left)
            most = MAX(most, copies(n->right));
        return MAX(most, copies(n));
    }
    if (n->kind != RN_REPEAT)
        return 1;
    return copies(n->left) * MAX(1, n->max == RE_UNBOUNDED ? n->min : n->max);
}

/* The repeats behind an item; *item NULL: there is none to repeat. */
static int parse_repeats(struct parser *p, struct re_node **item)
{
    const char *last = NULL, *after;
    int32_t min, max;

    while (read_repeat(p, &min, &max, &after)) {
        const char *at = p->c.p;
        bool counted = *at == '{';
        if (counted && (min > RE_REPEAT_MAX || max > RE_REPEAT_MAX || (max >= 0 && max < min)))
            return refuse(p, "invalid repeat count", at, (size_t)(after - at));
        bool lazy = after < p->c.end && *after == '?';
        after += lazy;
        if (last)
            return refuse(p, "invalid nested repetition operator", last, (size_t)(after - last));
        if (!*item)
            return refuse(p, "missing argument to repetition operator", at, (size_t)(after - at));
        struct re_node *n = pair(p, RN_REPEAT, *item, NULL);
        n->min = min;
        n->max = max;
        n->lazy = lazy != p->flags.ungreedy;
        if (counted && copies(n) > RE_REPEAT_MAX)
            return refuse(p, "invalid repeat count", at, (size_t)(after - at));
        *item = n;
        last = at;
        p->c.p = after;
    }
    return 0;
}

/* \Q...\E: text as it stands. The last character of it may be repeated. */
static int parse_quoted(struct parser *p, struct re_node **cat)
{
    struct re_node *item = NULL;

    p->c.p += 2;
    while (!at_end(p)) {
        uint32_t rune;
        if (p->c.end - p->c.p >= 2 && p->c.p[0] == '\\' && p->c.p[1] == 'E') {
            p->c.p += 2;
            break;
        }
        int e = re_plain_rune(&p->c, &rune);
        if (e < 0)
            return e;
        if (item)
            *cat = *cat ? pair(p, RN_CAT, *cat, item) : item;
        item = rune_node(p, rune);
    }
    if (!item)
        return 0;
    int e = parse_repeats(p, &item);
    *cat = *cat ? pair(p, RN_CAT, *cat, item) : item;
    return e;
}

static int parse_sequence(struct parser *p, struct re_node **ret)
{
    struct re_node *cat = NULL;
    int e = 0;

    while (e == 0 && !at_end(p) && *p->c.p != '|' && *p->c.p != ')') {
        struct re_node *item = NULL;
        const char *at = p->c.p, *after;
        int32_t min, max;
        if (p->c.end - at >= 2 && at[0] == '\\' && at[1] == 'Q') {
            e = parse_quoted(p, &cat);
            continue;
        }
        if (!read_repeat(p, &min, &max, &after)) {
            e = parse_item(p, &item);
            if (e < 0)
                return e;
            if (!item && !read_repeat(p, &min, &max, &after))
                continue; /* (?flags) */
        }
        e = parse_repeats(p, &item);
        if (e == 0)
            cat = cat ? pair(p, RN_CAT, cat, item) : item;
    }
    *ret = cat ? cat : node_new(p, RN_EMPTY);
    return e;
}

static int parse_alternatives(struct parser *p, struct re_node **ret)
{
    struct re_node *alt = NULL;

    for (;;) {
        struct re_node *one;
        int e = parse_sequence(p, &one);
        if (e < 0)
            return e;
        alt = alt ? pair(p, RN_ALT, alt, one) : one;
        if (at_end(p) || *p->c.p != '|')
            break;
        p->c.p++;
    }
    *ret = alt;
    return 0;
}

int re_parse(const char *pattern, size_t n, struct arena *a, struct re_node **ret, struct kerr *err)
{
    struct parser p = { .c = { .p = pattern, .end = pattern + n, .err = err },
                        .start = pattern,
                        .a = a };
    int e = parse_alternatives(&p, ret);

    if (e == 0 && !at_end(&p))
        e = refuse(&p, "unexpected )", pattern, n);
    return e;
}
