/* re_int.h - the steps of re.h: text -> tree -> program. */
#ifndef KOORD_CEL_RE_INT_H
#define KOORD_CEL_RE_INT_H
#include "base/arena.h"
#include "cel/re.h"
#include "cel/re_unicode.h"

/* ---- tree (arena) ---------------------------------------------------------------------------- */

enum re_kind { RN_EMPTY, RN_RUNE, RN_SET, RN_ASSERT, RN_CAT, RN_ALT, RN_REPEAT };
enum re_assert {
    RA_TEXT_BEGIN,
    RA_TEXT_END,
    RA_LINE_BEGIN,
    RA_LINE_END,
    RA_WORD_EDGE,
    RA_NO_WORD_EDGE,
};
enum { RE_UNBOUNDED = -1, RE_REPEAT_MAX = 1000, RE_NESTING_MAX = 1000 };

struct re_node {
    uint8_t kind, assertion;
    bool lazy;
    int32_t min, max;             /* RN_REPEAT */
    uint32_t rune;                /* RN_RUNE */
    uint32_t n_ranges;            /* RN_SET, clean */
    struct re_range *ranges;      /* arena */
    struct re_node *left, *right; /* RN_CAT, RN_ALT: both; RN_REPEAT: left */
};

/* The tree of a pattern, with its repeats still counted. */
int re_parse(const char *pattern, size_t n, struct arena *a, struct re_node **ret,
             struct kerr *err);
int re_refuse(struct kerr *err, const char *why, const char *part, size_t n);

/* ---- classes in brackets and behind a backslash (re_class.c) ----------------------------------- */

struct re_cursor {
    const char *p, *end;
    bool fold; /* (?i) is on */
    struct kerr *err;
};

/* [...] at the cursor. */
int re_class_bracket(struct re_cursor *c, struct re_set *out);
/* \d \W \pL \P{Greek} at the cursor: 1 and the members are added, 0: none of them, or an error. */
int re_class_escape(struct re_cursor *c, struct re_set *out);
/* \n \x{41} \101 \. at the cursor (at the backslash): the code point. */
int re_escaped_rune(struct re_cursor *c, uint32_t *ret);
/* One code point as it stands. */
int re_plain_rune(struct re_cursor *c, uint32_t *ret);

/* ---- program --------------------------------------------------------------------------------- */

enum re_op { RO_RUNE, RO_SET, RO_SPLIT, RO_ASSERT, RO_MATCH };
/* Programs of more instructions are refused; Go's own limit is of the same kind. */
enum { RE_PROGRAM_MAX = 1000000, RE_SETS_MAX = 1000000 };

struct re_inst {
    uint32_t op : 8, arg : 24; /* arg: the assertion */
    uint32_t next;
    uint32_t other; /* RO_SPLIT: the second choice; RO_RUNE: the rune; RO_SET: the set */
};

struct re_prog_set {
    uint64_t ascii[2];
    uint32_t begin, n; /* of ranges */
};

struct re {
    struct re_inst *insts;
    struct re_prog_set *sets;
    struct re_range *ranges;
    uint32_t n_insts, n_sets, n_ranges, start;
    bool anchored;    /* every match begins where the text does */
    uint8_t prefix_n; /* every match begins with these bytes */
    char prefix[15];
};

static inline bool re_in_set(const struct re *re, uint32_t set, uint32_t c)
{
    const struct re_prog_set *s = &re->sets[set];
    if (c < 128)
        return s->ascii[c / 64] >> (c % 64) & 1;
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        const struct re_range *r = &re->ranges[s->begin + mid];
        if (c < r->lo)
            hi = mid;
        else if (c > r->hi)
            lo = mid + 1;
        else
            return true;
    }
    return false;
}
#endif
