/* text.h - lines and words of kernel files, for the parsers of this folder. */
#ifndef KOORD_KOORDLET_CGROUP_TEXT_H
#define KOORD_KOORDLET_CGROUP_TEXT_H
#include "base/base.h"

/* The next line without its newline; false at the end. The end of a text after its last newline is
 * no line. */
static inline bool text_line(struct str *rest, struct str *ret)
{
    if (rest->n == 0)
        return false;
    const char *nl = memchr(rest->p, '\n', rest->n);
    size_t n = nl ? (size_t)(nl - rest->p) : rest->n, used = n + (nl != NULL);
    *ret = (struct str){ rest->p, n };
    *rest = (struct str){ rest->p + used, rest->n - used };
    return true;
}

static inline bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next word between blanks; false when there is none. */
static inline bool text_word(struct str *rest, struct str *ret)
{
    size_t at = 0, end;

    while (at < rest->n && text_is_blank(rest->p[at]))
        at++;
    for (end = at; end < rest->n && !text_is_blank(rest->p[end]);)
        end++;
    *ret = (struct str){ rest->p + at, end - at };
    *rest = (struct str){ rest->p + end, rest->n - end };
    return ret->n > 0;
}

static inline bool text_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}
#endif
