/* text.h - lines and words of kernel files, for the parsers of this folder. */
#ifndef KOORD_KOORDLET_KERNEL_TEXT_H
#define KOORD_KOORDLET_KERNEL_TEXT_H
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

#define TEXT_KEY(s)        \
    {                      \
        (s), sizeof(s) - 1 \
    }
/* The values of keys in lines of "key value", in one pass; of a key that repeats, the last. What is
 * not there stays { NULL, 0 }. */
static inline void text_values(struct str text, const struct str *keys, size_t n, struct str *found)
{
    struct str line, value;

    for (size_t i = 0; i < n; i++)
        found[i] = (struct str){ 0 };
    while (text_line(&text, &line)) {
        while (line.n > 0 && text_is_blank(line.p[0]))
            line = (struct str){ line.p + 1, line.n - 1 };
        for (size_t i = 0; i < n; i++) {
            const struct str k = keys[i];
            /* Few lines have a blank where the key would end: that one byte settles most of them.
             */
            if (line.n <= k.n || (unsigned char)line.p[k.n] > ' ' || memcmp(line.p, k.p, k.n) != 0)
                continue;
            struct str rest = { line.p + k.n, line.n - k.n };
            if (text_word(&rest, &value))
                found[i] = value;
            break;
        }
    }
}

static inline bool text_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}
#endif
