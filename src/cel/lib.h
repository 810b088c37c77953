/* lib.h - how functions are declared: once, in a table per library, with what they take, what they
 * cost and what they do.
 */
#ifndef KOORD_CEL_LIB_H
#define KOORD_CEL_LIB_H
#include "cel/clock.h"
#include "cel/val.h"

/* What a call costs; the estimate has the same rules over sizes that are known in part. s(x): the
 * size of x, results are rounded up. */
enum cel_cost_rule {
    CC_ONE,
    CC_ZERO,        /* part of another node upstream: optional's or and orValue */
    CC_TENTH,       /* 0.1 s(first) */
    CC_TENTH_SIZED, /* the same; the result is as long as the first */
    CC_FIFTH,       /* 0.2 s(first) */
    CC_REPLACE,     /* 0.2 s(first), with an estimate of the result */
    CC_SPLIT,
    CC_JOIN,      /* 0.2 s(result) */
    CC_PREFIX,    /* startsWith, endsWith */
    CC_TO_BYTES,  /* bytes(string) */
    CC_TO_STRING, /* string(bytes) */
    CC_QUOTE,
    CC_FORMAT,
    CC_MATCHES,
    CC_FIND,
    CC_CONTAINS,
    CC_IN_LIST,
    CC_EQUAL,
    CC_LESS,
    CC_ADD_TEXT,
    CC_ADD_LIST,
    CC_TRAVERSE,
    CC_IP,
    CC_CONTAINS_IP,
    CC_CONTAINS_CIDR,
    CC_VALIDATE,
    CC_RANGE,
    CC_SLICE,
    CC_REVERSE,
    CC_FLATTEN,
    CC_DISTINCT,
    CC_SORT,
    CC_SORT_BY,
    CC_SETS,
    CC_SETS_EQUIVALENT,
    CC_COND, /* _?_:_ */
    CC_LOGIC,
    CC_INDEX_LIST,
    CC_INDEX_MAP,
    CC_CHECK,
    CC_SELECTOR,
};

/* What the error says when the kinds of the arguments fit no overload. */
enum cel_misfit {
    CM_TYPED,   /* no such overload: int(bool) */
    CM_NAMED,   /* no such overload: size */
    CM_PLAIN,   /* no such overload */
    CM_LENIENT, /* takes whatever there is, errors too */
    CM_TRAIT,   /* plain when the first argument knows such operations (traits), else named */
};

struct cel_run;
struct re;
/* CK_ABSENT: the arguments fit no overload. Errors among them get here with CM_LENIENT only. */
typedef struct cel_val (*cel_fn)(struct cel_run *r, const struct cel_val *args, unsigned n);

struct cel_overload {
    const struct cel_type *result;
    const struct cel_type *args[4]; /* of a member function the first is its target */
    uint8_t n_args;
    bool member;
    uint8_t cost; /* enum cel_cost_rule: where this is the only overload that fits */
};

struct cel_function {
    const char *name;
    cel_fn fn;
    const struct cel_overload *overloads;
    uint8_t n_overloads;
    uint8_t cost; /* of all overloads, if not CC_ONE */
    uint8_t misfit;
    uint32_t traits;
};

#define CEL_ARGS(...)        \
    .args = { __VA_ARGS__ }, \
    .n_args = sizeof((const struct cel_type *[]){ __VA_ARGS__ }) / sizeof(const struct cel_type *)
#define CEL_GLOBAL(ret, ...)                   \
    {                                          \
        .result = (ret), CEL_ARGS(__VA_ARGS__) \
    }
#define CEL_MEMBER(ret, ...)                                   \
    {                                                          \
        .result = (ret), .member = true, CEL_ARGS(__VA_ARGS__) \
    }
#define CEL_GLOBAL_COST(cost_, ret, ...)                        \
    {                                                           \
        .result = (ret), .cost = (cost_), CEL_ARGS(__VA_ARGS__) \
    }
#define CEL_MEMBER_COST(cost_, ret, ...)                                        \
    {                                                                           \
        .result = (ret), .member = true, .cost = (cost_), CEL_ARGS(__VA_ARGS__) \
    }
#define CEL_FN(name_, fn_, overloads_, ...)                      \
    {                                                            \
        .name = (name_), .fn = (fn_), .overloads = (overloads_), \
        .n_overloads = ARRAY_LEN(overloads_), __VA_ARGS__        \
    }

/* Variables of signatures and what is made of them. */
extern const struct cel_type cel_A, cel_B, cel_list_A, cel_map_AB, cel_opt_A, cel_opt_B, cel_type_A,
    cel_list_opt_A, cel_list_string, cel_list_list_A, cel_list_int;

struct cel_library {
    const struct cel_function *functions;
    size_t n;
};
extern const struct cel_library cel_lib_operators, cel_lib_convert, cel_lib_time, cel_lib_strings,
    cel_lib_lists, cel_lib_aggregates, cel_lib_sets, cel_lib_regex, cel_lib_url, cel_lib_net,
    cel_lib_quantity, cel_lib_semver, cel_lib_formats, cel_lib_optional, cel_lib_authz;
/* NULL: there is none of this name. */
const struct cel_function *cel_function_find(struct str name);

/* ---- the state of an evaluation, as far as functions see it -------------------------------------- */

struct cel_interrupt;
struct cel_trace;
struct cel_finds;
struct cel_run {
    struct arena *a;
    uint64_t cost, limit;
    bool cancelled; /* the cost or the work went beyond its limit, or somebody interrupts: unwind */
    bool stopped;   /* the latter */
    uint16_t depth; /* of values in values, where one goes through them */
    uint32_t rounds;                  /* of loops; counted while somebody may interrupt */
    uint64_t steps;                   /* that no cost stands for, see below */
    size_t held;                      /* bytes of the arena that are not of this evaluation */
    const struct cel_interrupt *stop; /* NULL: nobody does */
    const struct cel_val *vars;
    struct cel_val *locals;
    /* Of the call that runs: its pattern where that is constant, its overload where one fits. */
    const struct re *pattern;
    const struct cel_overload *overload;
    int (*zone)(struct str name, int64_t t, int64_t *ret);
    struct cel_trace *trace;
    struct cel_val unequal;  /* why two elements could not be compared; else no error */
    struct cel_finds *finds; /* how things are found in long lists and maps; NULL: not yet asked */
};

static inline bool cel_charge(struct cel_run *r, uint64_t cost) /* false: beyond the limit */
{
    r->cost += cost;
    if (r->cost > r->limit)
        r->cancelled = true;
    return !r->cancelled;
}

/* What the cost does not see is bounded all the same, and ends as what is too expensive does: a
 * step is what takes some 25 ns. Lists and maps that are compared, printed or unfolded count one
 * and an eighth of their elements each time they are met, since a value may hold another many
 * times. */
enum {
    CEL_STEPS_MAX = 1 << 21,
    CEL_STEPS_LOOK = 1 << 12, /* after so many it is asked whether somebody interrupts */
    CEL_NESTING_MAX = 1000,   /* of values in values that are gone through */
    CEL_TEXT_FREE = 1024,     /* bytes of an argument that count no steps */
};
/* Bytes of one evaluation, besides what each unit of its cost may need. */
#define CEL_BYTES_MAX      (UINT64_C(32) << 20)
#define CEL_BYTES_PER_COST UINT64_C(64)

bool cel_work_look(struct cel_run *r);
static inline bool cel_work(struct cel_run *r, uint64_t steps) /* false: no more, unwind */
{
    uint64_t before = r->steps / CEL_STEPS_LOOK;

    r->steps += steps;
    return r->steps / CEL_STEPS_LOOK == before ? !r->cancelled : cel_work_look(r);
}
/* A text is read sign by sign, so many times: that takes longer than what each call counts. */
static inline bool cel_reads(struct cel_run *r, struct cel_val text, unsigned passes)
{
    return text.n <= CEL_TEXT_FREE || cel_work(r, text.n / 16 * (uint64_t)passes);
}
/* A value of n elements is gone through; when that is true, cel_leave() follows. */
static inline bool cel_enter(struct cel_run *r, uint32_t n)
{
    if (UNLIKELY(r->depth >= CEL_NESTING_MAX))
        r->cancelled = true;
    if (!cel_work(r, 1 + n / 8U))
        return false;
    r->depth++;
    return true;
}
static inline void cel_leave(struct cel_run *r)
{
    r->depth--;
}
/* May so many bytes more be in use? false: unwind. */
bool cel_room(struct cel_run *r, uint64_t bytes);
/* n pieces in the arena, not zeroed, where arguments decide how many. NULL: too much, unwind. */
void *cel_alloc(struct cel_run *r, uint64_t n, size_t size);
/* Puts v behind the first n of a list that grows; false: too much, unwind. */
bool cel_append(struct cel_run *r, struct cel_val **items, size_t n, size_t *cap, struct cel_val v);
/* Between them the arena tells the evaluation how it grows. */
struct cel_watch {
    struct arena_watch arena;
    struct cel_run *run;
};
void cel_run_begin(struct cel_run *r, struct cel_watch *w);
void cel_run_end(struct cel_run *r, struct cel_watch *w);

/* ---- finding (find.c) ---------------------------------------------------------------------------- */

/* What is long is not gone through each time. */
struct cel_val cel_at(struct cel_run *r, const struct cel_list *l, uint32_t i);
/* CK_ABSENT when there is none. Numbers find equal numbers of another type. */
struct cel_val cel_find(struct cel_run *r, const struct cel_map *m, struct cel_val key);
bool cel_is_key(struct cel_run *r, struct cel_val k, struct cel_val key); /* are they equal? */
/* The member of an object or map with this (escaped) name. */
struct cel_val cel_find_field(struct cel_run *r, const struct cel_map *m, struct str name);
/* Is it in a list of plain constants? */
bool cel_is_one_of(struct cel_run *r, const struct cel_list *l, struct cel_val v);

/* Positions by hash; of equal hashes the last that was put comes first. */
struct cel_table {
    struct arena *a; /* NULL: memory of its own, for cel_table_fini() */
    uint32_t *heads; /* NULL: nothing was put */
    struct cel_link *links;
    uint32_t n, mask, cap;
};
enum { CEL_LONG = 32 }; /* below that going through all of it is as fast */
void cel_table_put(struct cel_table *t, uint64_t hash, uint32_t at);
/* The next position with this hash, UINT32_MAX: none. *it is 0 at first. */
uint32_t cel_table_next(const struct cel_table *t, uint64_t hash, uint32_t *it);
void cel_table_fini(struct cel_table *t);
static inline UNUSED void cel_table_fini_p(struct cel_table *t)
{
    cel_table_fini(t);
}
/* The same for values that are equal. */
uint64_t cel_hash(struct cel_run *r, struct cel_val v);
/* Have elements of a set or list by key that are equal one hash? That is of their identity. */
bool cel_has_hashes(const struct cel_type *t, const struct cel_list *l);
uint64_t cel_list_key_hash(struct cel_run *r, const struct cel_type *t, struct cel_val v);

/* ---- shared by libraries ------------------------------------------------------------------------- */

struct cel_url {
    struct str text, scheme, host, hostname, port, path, query; /* host: with port */
};
struct cel_named_format {
    const char *name;
    uint32_t regex_size; /* what the cost counts as the length of a pattern */
    void (*check)(struct cel_run *r, struct str s, struct cel_val *msgs, unsigned *n);
};
enum { CEL_FORMAT_MSGS_MAX = 4 };

static inline struct cel_val cel_misfit(void)
{
    return (struct cel_val){ .kind = CK_ABSENT };
}
static inline struct cel_val cel_v_dup(struct arena *a, const char *s, size_t n)
{
    return cel_v_str(arena_strndup(a, s, n), n);
}
static inline struct cel_val cel_v_take(struct arena *a, struct strbuf *b)
{
    return cel_v_dup(a, strbuf_str(b), b->len);
}
/* Elements of a set list or list map with the same identity. */
bool cel_same_list_key(struct cel_run *r, const struct cel_type *t, struct cel_val x,
                       struct cel_val y);
/* As cel_val_print(), within what the evaluation may use. */
void cel_print(struct cel_run *r, struct cel_val v, struct strbuf *out);
bool cel_printing(struct cel_run *r, const struct strbuf *out); /* false: that is enough */
/* l + r: for lists of schemas by their kind. */
struct cel_val cel_list_concat(struct cel_run *r, struct cel_val x, struct cel_val y);
/* true and false, or an error: values of Kubernetes' types do not compare with others. */
struct cel_val cel_equal(struct cel_run *r, struct cel_val x, struct cel_val y);
/* Is an element equal? In lists of schemas a comparison that fails makes false an error. */
struct cel_val cel_list_contains(struct cel_run *r, const struct cel_list *l, struct cel_val v);
/* A version, or an error that says what is wrong with it. Borrows s. */
struct cel_val cel_v_semver(struct arena *a, struct str s);
int cel_semver_cmp(const struct cel_semver *x, const struct cel_semver *y);
bool cel_is_utf8(struct str s);
/* string(x), as far as there is one. false: no overload. */
bool cel_to_string(struct cel_run *r, struct cel_val v, struct strbuf *out);
/* An address without a zone. NULL, or what is wrong. */
const char *cel_addr_parse(struct str s, struct cel_addr *out);
void cel_addr_print(const struct cel_addr *addr, bool prefix, struct strbuf *out);
void cel_semver_print(const struct cel_semver *v, struct strbuf *out);
/* The work of format(); types NULL: values are there. 0, or -EINVAL with the text in `out`. */
int cel_format_text(struct cel_run *r, struct str fmt, const struct cel_val *items, uint32_t n,
                    struct strbuf *out);
#endif
