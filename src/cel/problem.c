/* problem.c - what is wrong with an expression, and where. */
#include "cel/ast.h"

void cel_problem(struct cel_problems *p, uint32_t pos, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    struct cel_problem one = { pos, arena_strndup(p->a, strbuf_str(&b), b.len) };
    size_t at = p->list.n;
    while (at > 0 && p->list.items[at - 1].pos > pos && pos != CEL_NOWHERE)
        at--;
    vec_insert(&p->list, at, one);
}

static void print_one(const struct cel_problems *p, const struct cel_problem *one,
                      struct strbuf *out)
{
    const char *s = p->source.n ? p->source.p : "";
    const char *end = s + p->source.n, *at = s + MIN(one->pos, p->source.n);
    size_t line = 1;

    if (one->pos == CEL_NOWHERE) {
        strbuf_appendf(out, "ERROR: <input>:-1:0: %s", one->text);
        return;
    }
    const char *begin = s;
    for (const char *q = s; q < at; q++) {
        if (*q == '\n') {
            line++;
            begin = q + 1;
        }
    }
    const char *line_end = memchr(begin, '\n', (size_t)(end - begin));
    size_t column = cel_runes((struct str){ begin, (size_t)(at - begin) });
    strbuf_appendf(out, "ERROR: <input>:%zu:%zu: %s\n | %.*s\n | ", line, column + 1, one->text,
                   (int)((line_end ? line_end : end) - begin), begin);
    for (const char *q = begin; q < at; q++) { /* one dot per sign, a wide one for a long one */
        if (((unsigned char)*q & 0xc0) == 0x80)
            continue;
        strbuf_append(out, (unsigned char)*q < 0x80 ? "." : "\uff0e");
    }
    strbuf_appendc(out, '^');
}

void cel_problems_print(struct cel_problems *p, struct strbuf *out)
{
    enum { SHOWN = 100 };

    vec_foreach(&p->list, i) {
        if (i == SHOWN) {
            strbuf_appendf(out, "\n%zu more errors", p->list.n - SHOWN);
            break;
        }
        if (i)
            strbuf_appendc(out, '\n');
        print_one(p, &p->list.items[i], out);
    }
}
