/* re_run.c - all states of the program at once, one step a code point (Pike's method). */
#include "cel/re_int.h"

/* The states that are alive, in the order of preference: a sparse set. */
struct states {
    uint32_t n;
    uint32_t *dense, *sparse;
    size_t *begin; /* where the match of each would begin; NULL: nobody asks */
};

struct run {
    const struct re *re;
    const char *s;
    size_t n;
    uint32_t *stack;
    struct states now, next;
    uint64_t steps; /* that are left */
};

static bool is_word(const struct run *r, size_t at)
{
    unsigned char c = at < r->n ? (unsigned char)r->s[at] : 0;
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool holds(const struct run *r, enum re_assert what, size_t at)
{
    bool edge;

    switch (what) {
    case RA_TEXT_BEGIN: return at == 0;
    case RA_TEXT_END: return at == r->n;
    case RA_LINE_BEGIN: return at == 0 || r->s[at - 1] == '\n';
    case RA_LINE_END: return at == r->n || r->s[at] == '\n';
    case RA_WORD_EDGE:
    case RA_NO_WORD_EDGE:
        edge = (at > 0 && is_word(r, at - 1)) != is_word(r, at);
        return edge == (what == RA_WORD_EDGE);
    }
    return false;
}

static bool alive(const struct states *set, uint32_t pc)
{
    uint32_t i = set->sparse[pc];
    return i < set->n && set->dense[i] == pc;
}

/* Adds pc and what follows without reading. Each state enters once, the preferred way. */
static void enter(struct run *r, struct states *set, uint32_t pc, size_t at, size_t begin)
{
    uint32_t depth = 0;

    r->stack[depth++] = pc;
    while (depth) {
        pc = r->stack[--depth];
        if (alive(set, pc))
            continue;
        const struct re_inst *i = &r->re->insts[pc];
        set->sparse[pc] = set->n;
        set->dense[set->n] = pc;
        if (set->begin)
            set->begin[set->n] = begin;
        set->n++;
        if (i->op == RO_SPLIT) {
            r->stack[depth++] = i->other;
            r->stack[depth++] = i->next;
        } else if (i->op == RO_ASSERT && holds(r, (enum re_assert)i->arg, at)) {
            r->stack[depth++] = i->next;
        }
    }
}

static bool eats(const struct re *re, const struct re_inst *i, uint32_t c)
{
    return i->op == RO_RUNE ? i->other == c : i->op == RO_SET && re_in_set(re, i->other, c);
}

/* One step over the code point c that ends at `at`. true: a match ended before it, at `span`. */
static bool step(struct run *r, uint32_t c, size_t here, size_t at, struct re_span *span)
{
    for (uint32_t k = 0; k < r->now.n; k++) {
        const struct re_inst *i = &r->re->insts[r->now.dense[k]];
        size_t begin = r->now.begin ? r->now.begin[k] : 0;
        if (i->op == RO_MATCH) { /* what is less preferred ends here */
            *span = (struct re_span){ begin, here };
            return true;
        }
        if (here < r->n && eats(r->re, i, c))
            enter(r, &r->next, i->next, at, begin);
    }
    return false;
}

/* Where the next match could begin at all. */
static size_t skip(const struct run *r, size_t at)
{
    const struct re *re = r->re;

    if (!re->prefix_n || at >= r->n)
        return at;
    const char *hit = re->prefix_n == 1 ? memchr(r->s + at, re->prefix[0], r->n - at)
                                        : memmem(r->s + at, r->n - at, re->prefix, re->prefix_n);
    return hit ? (size_t)(hit - r->s) : r->n;
}

static bool search(struct run *r, size_t from, bool any, struct re_span *ret)
{
    bool found = false;

    for (size_t at = from;;) {
        if (r->now.n == 0) {
            if (found || (r->re->anchored && at > 0))
                return found;
            at = skip(r, at);
        }
        if (!found && (!r->re->anchored || at == 0))
            enter(r, &r->now, r->re->start, at, at);
        if (r->steps <= r->now.n) {
            r->steps = 0;
            return false;
        }
        r->steps -= r->now.n;
        unsigned len = 1;
        uint32_t c = at < r->n ? re_rune(r->s + at, r->n - at, &len) : 0;
        if (step(r, c, at, at + len, ret)) {
            found = true;
            if (any)
                return true;
        }
        if (at >= r->n)
            return found;
        at += len;
        struct states swap = r->now;
        r->now = r->next;
        r->next = swap;
        r->next.n = 0;
    }
}

/* Memory for the sets: two pairs of arrays and a stack, and where matches begin. */
static bool run(const struct re *re, const char *s, size_t n, size_t from, bool any,
                uint64_t *steps, struct re_span *ret)
{
    enum { SMALL = 128 };
    uint32_t small[SMALL * 6];
    size_t small_begin[SMALL * 2];
    struct run r = { .re = re, .s = s, .n = n, .steps = *steps };
    size_t size = re->n_insts;
    CLEANUP(mem_free) uint32_t *large = NULL;
    CLEANUP(mem_free) size_t *large_begin = NULL;
    uint32_t *mem = small;
    size_t *begin = small_begin;

    if (size > SMALL) {
        r.steps -= MIN(r.steps, size); /* that are cleared */
        mem = large = xcalloc(size * 6, sizeof *mem);
        if (!any)
            begin = large_begin = xcalloc(size * 2, sizeof *begin);
    } else {
        memset(small, 0, size * 6 * sizeof *small);
    }
    r.now = (struct states){ 0, mem, mem + size, any ? NULL : begin };
    r.next = (struct states){ 0, mem + 2 * size, mem + 3 * size, any ? NULL : begin + size };
    r.stack = mem + 4 * size;
    bool found = search(&r, from, any, ret);
    *steps = r.steps;
    return found;
}

size_t re_states(const struct re *re)
{
    return re->n_insts;
}

bool re_match_within(const struct re *re, const char *s, size_t n, uint64_t *steps)
{
    struct re_span span;
    return run(re, s, n, 0, true, steps, &span);
}

bool re_find_within(const struct re *re, const char *s, size_t n, size_t from, uint64_t *steps,
                    struct re_span *ret)
{
    return from <= n && run(re, s, n, from, false, steps, ret);
}

bool re_match(const struct re *re, const char *s, size_t n)
{
    uint64_t steps = UINT64_MAX;
    return re_match_within(re, s, n, &steps);
}
