/* jsonpath.c - simple JSON paths, read as they are followed. */
#include "apiserver/crd/jsonpath.h"

#include <ctype.h>

enum seg_type { SEG_NAME, SEG_INDEX, SEG_ALL, SEG_FILTER };
enum { NAME_MAX_BYTES = 320, DEPTH_MAX = 64 };

struct segment {
    enum seg_type type;
    char name[NAME_MAX_BYTES]; /* SEG_NAME; of a filter: its inner path */
    size_t n;
    int64_t index; /* negative: from the end */
    bool not_equal;
    char literal[NAME_MAX_BYTES]; /* of a filter */
    bool literal_is_text;
};

static bool put(char *buf, size_t *n, char c)
{
    if (*n + 1 >= NAME_MAX_BYTES)
        return false;
    buf[(*n)++] = c;
    buf[*n] = '\0';
    return true;
}

/* Up to the closing quote, which is consumed. */
static bool read_quoted(const char **p, char *buf, size_t *n)
{
    char quote = *(*p)++;
    for (*n = 0, buf[0] = '\0'; **p && **p != quote; (*p)++) {
        if (**p == '\\' && (*p)[1])
            (*p)++;
        if (!put(buf, n, **p))
            return false;
    }
    return *(*p)++ == quote;
}

static void skip_blanks(const char **p)
{
    *p += strspn(*p, " ");
}

/* ?(@.type=="Ready") */
static bool read_filter(const char **p, struct segment *s)
{
    size_t n = 0;

    s->type = SEG_FILTER;
    if ((*p)[1] != '(')
        return false;
    *p += 2;
    skip_blanks(p);
    if (*(*p)++ != '@')
        return false;
    for (s->n = 0, s->name[0] = '\0'; **p && !strchr("=!<> )", **p); (*p)++)
        if (!put(s->name, &s->n, **p))
            return false;
    skip_blanks(p);
    s->not_equal = **p == '!';
    if (!str_starts(*p, "==") && !str_starts(*p, "!="))
        return false;
    *p += 2;
    skip_blanks(p);
    s->literal_is_text = **p == '"' || **p == '\'';
    if (s->literal_is_text) {
        if (!read_quoted(p, s->literal, &n))
            return false;
    } else {
        for (s->literal[0] = '\0'; **p && !strchr(" )", **p); (*p)++)
            if (!put(s->literal, &n, **p))
                return false;
        if (!n)
            return false;
    }
    skip_blanks(p);
    return *(*p)++ == ')';
}

static bool read_bracket(const char **p, struct segment *s)
{
    (*p)++;
    if (**p == '\'' || **p == '"') {
        s->type = SEG_NAME;
        if (!read_quoted(p, s->name, &s->n))
            return false;
    } else if (**p == '?') {
        if (!read_filter(p, s))
            return false;
    } else if (**p == '*') {
        s->type = SEG_ALL;
        (*p)++;
    } else if (isdigit((unsigned char)**p) || (**p == '-' && isdigit((unsigned char)(*p)[1]))) {
        char *end;
        s->type = SEG_INDEX;
        s->index = strtoll(*p, &end, 10);
        *p = end;
    } else {
        return false;
    }
    return *(*p)++ == ']';
}

static bool read_segment(const char **p, struct segment *s)
{
    if (**p == '[')
        return read_bracket(p, s);
    if (*(*p)++ != '.')
        return false;
    if (**p == '*') {
        s->type = SEG_ALL;
        (*p)++;
        return true;
    }
    if (**p == '[') /* .['x'] */
        return read_bracket(p, s);
    s->type = SEG_NAME;
    for (s->n = 0, s->name[0] = '\0'; **p && **p != '.' && **p != '['; (*p)++) {
        if (strchr("]'\"{}() ", **p))
            return false;
        if (**p == '\\' && (*p)[1])
            (*p)++;
        if (!put(s->name, &s->n, **p))
            return false;
    }
    return s->n > 0;
}

bool jsonpath_is_valid(const char *path)
{
    struct segment s = { 0 };
    int n = 0;

    if (*path != '.')
        return false;
    while (*path) {
        if (++n > DEPTH_MAX || !read_segment(&path, &s))
            return false;
        if (s.type == SEG_FILTER && s.n > 0 && !jsonpath_is_valid(s.name))
            return false;
    }
    return true;
}

static const struct kj_val *follow(const char *p, const struct kj_val *v, int depth);

static bool passes(const struct segment *s, const struct kj_val *item)
{
    const struct kj_val *v = follow(s->name, item, 0); /* a filter has no filters inside */
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!v)
        return false;
    if (kj_type(v) == KJ_STR)
        return streq(kj_str(v), s->literal) != s->not_equal;
    kj_write(v, 0, &text);
    return (!s->literal_is_text && streq(strbuf_str(&text), s->literal)) != s->not_equal;
}

static const struct kj_val *follow_any(const struct segment *s, const char *rest,
                                       const struct kj_val *v, int depth)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m, *found;
    struct str key;

    while (kj_next(&it, &key, &m)) {
        if (s->type == SEG_FILTER && !passes(s, m))
            continue;
        found = follow(rest, m, depth);
        if (found)
            return found;
    }
    return NULL;
}

static const struct kj_val *follow(const char *p, const struct kj_val *v, int depth)
{
    while (*p && v) {
        struct segment s;
        if (++depth > DEPTH_MAX || !read_segment(&p, &s))
            return NULL;
        if (s.type == SEG_ALL || s.type == SEG_FILTER)
            return follow_any(&s, p, v, depth);
        if (s.type == SEG_INDEX) {
            int64_t n = (int64_t)kj_len(v), i = s.index < 0 ? n + s.index : s.index;
            v = kj_type(v) == KJ_ARR && i >= 0 && i < n ? kj_at(v, (size_t)i) : NULL;
        } else {
            v = kj_type(v) == KJ_OBJ ? kj_getn(v, s.name, s.n) : NULL;
        }
    }
    return v;
}

const struct kj_val *jsonpath_first(const char *path, const struct kj_val *root)
{
    return *path == '.' ? follow(path, root, 0) : NULL;
}
