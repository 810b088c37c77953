/* re_prog.c - the program of a tree: Thompson's construction. */
#include "cel/re_int.h"

struct builder {
    struct vec_of(struct re_inst) insts;
    struct vec_of(struct re_prog_set) sets;
    struct vec_of(struct re_range) ranges;
    bool too_large;
};

static uint32_t emit(struct builder *b, enum re_op op, uint32_t next, uint32_t other)
{
    struct re_inst i = { .op = op, .next = next, .other = other };

    if (b->insts.n >= RE_PROGRAM_MAX) {
        b->too_large = true;
        return 0;
    }
    vec_push(&b->insts, i);
    return (uint32_t)b->insts.n - 1;
}

static uint32_t add_set(struct builder *b, const struct re_node *n)
{
    struct re_prog_set s = { .begin = (uint32_t)b->ranges.n, .n = n->n_ranges };

    /* The copies of a repeat share their set: they follow each other. */
    if (b->sets.n) {
        const struct re_prog_set *last = &vec_last(&b->sets);
        if (last->n == n->n_ranges &&
            (n->n_ranges == 0 || memcmp(b->ranges.items + last->begin, n->ranges,
                                        n->n_ranges * sizeof *n->ranges) == 0))
            return (uint32_t)b->sets.n - 1;
    }
    if (b->ranges.n + n->n_ranges > RE_SETS_MAX) {
        b->too_large = true;
        return 0;
    }
    for (uint32_t i = 0; i < n->n_ranges; i++) {
        vec_push(&b->ranges, n->ranges[i]);
        for (uint32_t c = n->ranges[i].lo; c <= n->ranges[i].hi && c < 128; c++)
            s.ascii[c / 64] |= 1ULL << (c % 64);
    }
    vec_push(&b->sets, s);
    return (uint32_t)b->sets.n - 1;
}

static bool may_be_empty(const struct re_node *n)
{
    switch ((enum re_kind)n->kind) {
    case RN_EMPTY:
    case RN_ASSERT: return true;
    case RN_RUNE:
    case RN_SET: return false;
    case RN_REPEAT: return n->min == 0 || may_be_empty(n->left);
    case RN_CAT:
        for (; n->kind == RN_CAT; n = n->left) {
            if (!may_be_empty(n->right))
                return false;
        }
        return may_be_empty(n);
    case RN_ALT:
        for (; n->kind == RN_ALT; n = n->left) {
            if (may_be_empty(n->right))
                return true;
        }
        return may_be_empty(n);
    }
    return true;
}

static uint32_t split(struct builder *b, uint32_t more, uint32_t done, bool lazy)
{
    return lazy ? emit(b, RO_SPLIT, done, more) : emit(b, RO_SPLIT, more, done);
}

static uint32_t build(struct builder *b, const struct re_node *n, uint32_t next);

static uint32_t build_plus(struct builder *b, const struct re_node *n, uint32_t next)
{
    uint32_t loop = emit(b, RO_SPLIT, 0, 0), body = build(b, n->left, loop);

    if (b->too_large)
        return 0;
    b->insts.items[loop].next = n->lazy ? next : body;
    b->insts.items[loop].other = n->lazy ? body : next;
    return body;
}

static uint32_t build_star(struct builder *b, const struct re_node *n, uint32_t next)
{
    /* A body that may match nothing is tried once before the loop, as in Perl. */
    if (may_be_empty(n->left))
        return split(b, build_plus(b, n, next), next, n->lazy);
    uint32_t loop = emit(b, RO_SPLIT, 0, 0), body = build(b, n->left, loop);
    if (b->too_large)
        return 0;
    b->insts.items[loop].next = n->lazy ? next : body;
    b->insts.items[loop].other = n->lazy ? body : next;
    return loop;
}

static uint32_t build_repeat(struct builder *b, const struct re_node *n, uint32_t next)
{
    int32_t copies = n->min;

    if (n->max == RE_UNBOUNDED) {
        if (n->min == 0)
            return build_star(b, n, next);
        next = build_plus(b, n, next);
        copies--;
    } else {
        uint32_t done = next;
        for (int32_t i = n->min; i < n->max && !b->too_large; i++)
            next = split(b, build(b, n->left, next), done, n->lazy);
    }
    for (; copies > 0 && !b->too_large; copies--)
        next = build(b, n->left, next);
    return next;
}

/* Built from the back: the instruction to enter at, given the one that follows. */
static uint32_t build(struct builder *b, const struct re_node *n, uint32_t next)
{
    uint32_t at;

    if (b->too_large)
        return 0;
    switch ((enum re_kind)n->kind) {
    case RN_EMPTY: return next;
    case RN_RUNE: return emit(b, RO_RUNE, next, n->rune);
    case RN_SET: return emit(b, RO_SET, next, add_set(b, n));
    case RN_ASSERT:
        at = emit(b, RO_ASSERT, next, 0);
        if (!b->too_large)
            b->insts.items[at].arg = n->assertion;
        return at;
    case RN_CAT:
        for (; n->kind == RN_CAT; n = n->left)
            next = build(b, n->right, next);
        return build(b, n, next);
    case RN_ALT: {
        /* a|b|c leans to the left; the first alternative is preferred. */
        uint32_t last = build(b, n->right, next);
        for (n = n->left; n->kind == RN_ALT; n = n->left)
            last = emit(b, RO_SPLIT, build(b, n->right, next), last);
        return emit(b, RO_SPLIT, build(b, n, next), last);
    }
    case RN_REPEAT: return build_repeat(b, n, next);
    }
    return next;
}

/* What every match begins with: lets the search skip text that cannot begin one. */
static void find_prefix(struct re *re)
{
    const struct re_inst *i = &re->insts[re->start];

    if (i->op == RO_ASSERT && i->arg == RA_TEXT_BEGIN) {
        re->anchored = true;
        return;
    }
    for (; i->op == RO_RUNE && i->other < 128 && re->prefix_n < sizeof re->prefix;
         i = &re->insts[i->next])
        re->prefix[re->prefix_n++] = (char)i->other;
}

int re_new(const char *pattern, size_t n, struct re **ret, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct builder b = { 0 };
    struct re_node *tree;
    int e = re_parse(pattern, n, a, &tree, err);

    if (e < 0)
        return e;
    uint32_t start = build(&b, tree, emit(&b, RO_MATCH, 0, 0));
    if (b.too_large) {
        vec_fini(&b.insts);
        vec_fini(&b.sets);
        vec_fini(&b.ranges);
        return re_refuse(err, "expression too large", pattern, MIN(n, (size_t)100));
    }
    struct re *re = xnew0(struct re);
    *re = (struct re){ .insts = b.insts.items,
                       .sets = b.sets.items,
                       .ranges = b.ranges.items,
                       .n_insts = (uint32_t)b.insts.n,
                       .n_sets = (uint32_t)b.sets.n,
                       .n_ranges = (uint32_t)b.ranges.n,
                       .start = start };
    find_prefix(re);
    *ret = re;
    return 0;
}

struct re *re_free(struct re *re)
{
    if (!re)
        return NULL;
    free(re->insts);
    free(re->sets);
    free(re->ranges);
    free(re);
    return NULL;
}
