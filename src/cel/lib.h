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
struct cel_run {
    struct arena *a;
    uint64_t cost, limit;
    bool cancelled;  /* the cost went beyond the limit, or somebody interrupts: unwind */
    bool stopped;    /* the latter */
    uint32_t rounds; /* of loops; counted while somebody may interrupt */
    const struct cel_interrupt *stop; /* NULL: nobody does */
    const struct cel_val *vars;
    struct cel_val *locals;
    /* Of the call that runs: its pattern where that is constant, its overload where one fits. */
    const struct re *pattern;
    const struct cel_overload *overload;
    int (*zone)(struct str name, int64_t t, int64_t *ret);
    struct cel_trace *trace;
};

static inline bool cel_charge(struct cel_run *r, uint64_t cost) /* false: beyond the limit */
{
    r->cost += cost;
    if (r->cost > r->limit)
        r->cancelled = true;
    return !r->cancelled;
}

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
bool cel_same_list_key(struct arena *a, const struct cel_type *t, struct cel_val x,
                       struct cel_val y);
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
