/* linediff.c - the longest common subsequence of lines, after what is equal at both ends. */
#include "ctl/linediff.h"

#include "base/vec.h"

enum { CONTEXT = 3, LINES_MAX = 2000 };

typedef struct vec_of(struct str) lines;

static void split(const char *text, lines *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        vec_push(out, ((struct str){ text, n }));
        text += n + (text[n] == '\n');
    }
}

static bool same(const lines *a, size_t i, const lines *b, size_t j)
{
    return str_eq(a->items[i], b->items[j]);
}

/* One line of the result: '-', '+' or ' '. */
struct edit {
    char mark;
    struct str line;
};
typedef struct vec_of(struct edit) edits;

static void push(edits *e, char mark, struct str line)
{
    vec_push(e, ((struct edit){ mark, line }));
}

/* The part between equal heads and tails; length[i][j]: the common lines of a from i and b from j.
 */
static void walk(const lines *a, size_t from_a, size_t to_a, const lines *b, size_t from_b,
                 size_t to_b, edits *out)
{
    size_t na = to_a - from_a, nb = to_b - from_b, i = 0, j = 0;
    uint16_t *length = NULL;

    if (na <= LINES_MAX && nb <= LINES_MAX) {
        length = xcalloc((na + 1) * (nb + 1), sizeof *length);
        for (size_t x = na; x-- > 0;)
            for (size_t y = nb; y-- > 0;) {
                uint16_t down = length[(x + 1) * (nb + 1) + y],
                         right = length[x * (nb + 1) + y + 1];
                length[x * (nb + 1) + y] = same(a, from_a + x, b, from_b + y)
                                               ? (uint16_t)(length[(x + 1) * (nb + 1) + y + 1] + 1)
                                               : MAX(down, right);
            }
    }
    while (i < na || j < nb) {
        if (length && i < na && j < nb && same(a, from_a + i, b, from_b + j)) {
            push(out, ' ', a->items[from_a + i]);
            i++, j++;
        } else if (i < na && (!length || j == nb ||
                              length[(i + 1) * (nb + 1) + j] >= length[i * (nb + 1) + j + 1])) {
            push(out, '-', a->items[from_a + i++]);
        } else {
            push(out, '+', b->items[from_b + j++]);
        }
    }
    free(length);
}

static bool is_near_change(const edits *e, size_t i)
{
    size_t from = i > CONTEXT ? i - CONTEXT : 0, to = MIN(i + CONTEXT + 1, e->n);

    for (size_t k = from; k < to; k++)
        if (e->items[k].mark != ' ')
            return true;
    return false;
}

static void print(const edits *e, struct strbuf *out)
{
    bool gap = false;

    for (size_t i = 0; i < e->n; i++) {
        if (!is_near_change(e, i)) {
            gap = true;
            continue;
        }
        if (gap)
            strbuf_append(out, " ...\n");
        gap = false;
        strbuf_appendf(out, "%c%.*s\n", e->items[i].mark, (int)e->items[i].line.n,
                       e->items[i].line.p);
    }
}

void linediff(const char *from, const char *to, struct strbuf *out)
{
    lines a = { 0 }, b = { 0 };
    edits e = { 0 };
    size_t head = 0, tail = 0;

    split(from, &a);
    split(to, &b);
    while (head < a.n && head < b.n && same(&a, head, &b, head))
        push(&e, ' ', a.items[head++]);
    while (tail < a.n - head && tail < b.n - head && same(&a, a.n - 1 - tail, &b, b.n - 1 - tail))
        tail++;
    walk(&a, head, a.n - tail, &b, head, b.n - tail, &e);
    for (size_t i = a.n - tail; i < a.n; i++)
        push(&e, ' ', a.items[i]);
    print(&e, out);
    vec_fini(&a);
    vec_fini(&b);
    vec_fini(&e);
}
