/* problem.c - what is wrong with an expression, and where. */
#include "cel/ast.h"

void cel_problem(struct cel_problems *p, uint32_t pos, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    if (p->list.n >= CEL_PROBLEMS_MAX)
        p->left_out++;
    else
        vec_push(&p->list,
                 ((struct cel_problem){ pos, arena_strndup(p->a, strbuf_str(&b), b.len) }));
}

void cel_problems_cut(struct cel_problems *p, size_t n)
{
    if (p->list.n > n)
        p->list.n = n;
}

void cel_problems_join(struct cel_problems *p, const struct cel_problems *from)
{
    vec_foreach(&from->list, i)
        cel_problem(p, from->list.items[i].pos, "%s", from->list.items[i].text);
    p->left_out += from->left_out;
}

/* The line that begins at begin, tabs as blanks, and a mark below the place. */
static void print_line(const char *begin, const char *end, const char *at, struct strbuf *out)
{
    strbuf_append(out, "\n | ");
    for (const char *q = begin; q < end; q++)
        strbuf_appendc(out, *q == '\t' ? ' ' : *q);
    strbuf_append(out, "\n | ");
    for (const char *q = begin; q < at; q++) { /* one dot per sign, a wide one for a long one */
        if (((unsigned char)*q & 0xc0) == 0x80)
            continue;
        strbuf_append(out, (unsigned char)*q < 0x80 ? "." : "\uff0e");
    }
    strbuf_append(out, at < end && (unsigned char)*at >= 0x80 ? "\uff3e" : "^");
}

static void print_one(const struct cel_problems *p, const struct cel_problem *one,
                      struct strbuf *out)
{
    enum { LINE_MAX_SHOWN = 16384 };
    const char *s = p->source.n ? p->source.p : "";
    const char *end = s + p->source.n, *at = s + MIN(one->pos, p->source.n);
    size_t line = 1;

    if (one->pos == CEL_NOWHERE || p->source.n == 0) {
        strbuf_appendf(out, "ERROR: <input>:%s:0: %s", one->pos == CEL_NOWHERE ? "-1" : "1",
                       one->text);
        return;
    }
    if (one->pos == CEL_UNPLACED)
        at = s;
    const char *begin = s;
    for (const char *q = s; q < at; q++) {
        if (*q == '\n') {
            line++;
            begin = q + 1;
        }
    }
    const char *line_end = memchr(begin, '\n', (size_t)(end - begin));
    size_t column = cel_runes((struct str){ begin, (size_t)(at - begin) });
    strbuf_appendf(out, "ERROR: <input>:%zu:%zu: %s", line,
                   one->pos == CEL_UNPLACED ? 0 : column + 1, one->text);
    if ((line_end ? line_end : end) - begin <= LINE_MAX_SHOWN)
        print_line(begin, line_end ? line_end : end, at, out);
}

/* By place; at one place in the order of their coming. What has no place is first: + 2 makes it 0
 * or 1. */
static void sort_by_place(struct cel_problems *p)
{
    for (size_t i = 1; i < p->list.n; i++) {
        struct cel_problem one = p->list.items[i];
        size_t at = i;
        for (; at > 0 && p->list.items[at - 1].pos + 2 > one.pos + 2; at--)
            p->list.items[at] = p->list.items[at - 1];
        p->list.items[at] = one;
    }
}

void cel_problems_print(struct cel_problems *p, struct strbuf *out)
{
    sort_by_place(p);
    vec_foreach(&p->list, i) {
        if (i)
            strbuf_appendc(out, '\n');
        print_one(p, &p->list.items[i], out);
    }
    if (p->left_out)
        strbuf_appendf(out, "\n%zu more errors were truncated", p->left_out);
}
