/* bench_cel.c - expressions alone: a device selector and two rules of a definition.
 *
 *     bench_cel FILE       FILE: cel.json, which celpeer measures too
 *
 * One line: words with numbers. Times are nanoseconds, the best of several rounds; allocs counts
 * malloc() and its kind while things are evaluated with a warm arena.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "cel/cel.h"
#include "cel/device.h"
#include "cel/schema.h"
#include "sys/file.h"

enum { ROUNDS = 5, ROUND_MS = 200, RULES_MAX = 8, ATTRS_MAX = 32 };

/* ---- counted ----------------------------------------------------------------------------------- */

static unsigned long allocs;
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    allocs++;
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
    allocs++;
    return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
    allocs++;
    return __real_realloc(p, n);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* one thread that never waits */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best(void (*call)(void *), void *arg)
{
    double fastest = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double began = now_ns(), passed;
        unsigned long n = 0;
        do {
            for (int i = 0; i < 64; i++)
                call(arg);
            n += 64;
            passed = now_ns() - began;
        } while (passed < ROUND_MS * 1e6);
        double one = passed / (double)n;
        fastest = round == 0 || one < fastest ? one : fastest;
    }
    return fastest;
}

/* ---- the case ---------------------------------------------------------------------------------- */

struct bench {
    const struct kj_val *in;
    struct arena *a; /* of evaluations */
    struct arena *keep;
    const char *selector;
    struct cel_device device;
    struct cel_val value;
    struct cel_expr *match, *rules[RULES_MAX];
    size_t n_rules;
    const struct cel_type *type;
    bool held;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_cel: %s: %s\n", what, why);
    exit(1);
}

static void read_device(struct bench *b)
{
    const struct kj_val *d = kj_get(b->in, "device"), *v;
    struct cel_device_attr *attrs = arena_newn0(b->keep, ATTRS_MAX, struct cel_device_attr);
    struct cel_device_capacity *amounts =
        arena_newn0(b->keep, ATTRS_MAX, struct cel_device_capacity);
    struct str key;

    b->device = (struct cel_device){ .driver = str_of(kj_str_or(kj_get(d, "driver"), "")),
                                     .attrs = attrs,
                                     .capacity = amounts };
    for (struct kj_iter it = kj_iter(kj_get(d, "attributes")); kj_next(&it, &key, &v);) {
        struct cel_device_attr *one = &attrs[b->device.n_attrs++];
        const char *text = kj_str(kj_get(v, "string")), *version = kj_str(kj_get(v, "version"));
        *one = (struct cel_device_attr){ .name = key, .kind = CEL_ATTR_BOOL, .b = true };
        if (kj_get(v, "int")) {
            one->kind = CEL_ATTR_INT;
            one->i = kj_i64_or(kj_get(v, "int"), 0);
        } else if (text || version) {
            one->kind = text ? CEL_ATTR_STRING : CEL_ATTR_VERSION;
            one->s = str_of(text ? text : version);
        }
    }
    for (struct kj_iter it = kj_iter(kj_get(d, "capacity")); kj_next(&it, &key, &v);) {
        struct cel_device_capacity *one = &amounts[b->device.n_capacity++];
        const char *text = kj_str_or(kj_get(v, "value"), "");
        one->name = key;
        (void)qty_parse(text, strlen(text), &one->value, NULL);
    }
}

static void compile_selector(void *arg)
{
    static const struct cel_device_env env;
    struct bench *b = arg;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    b->match = cel_expr_free(b->match);
    if (cel_device_compile(&env, b->selector, strlen(b->selector), &b->match, &why) != CEL_OK)
        fail(b->selector, strbuf_str(&why));
}

/* The scheduler makes a device into a value once, for all selectors. */
static void match(void *arg)
{
    struct bench *b = arg;
    struct cel_val v;
    uint64_t cost;

    arena_reset(b->a);
    b->held =
        cel_device_match(b->match, b->value, CEL_LIMIT_CALL, NULL, b->a, &v, &cost) == CEL_OK &&
        v.kind == CK_BOOL && v.b;
}

/* The peer does it each time. */
static void match_all(void *arg)
{
    struct bench *b = arg;
    struct cel_val v;

    arena_reset(b->a);
    b->held = cel_device_eval(b->match, &b->device, CEL_LIMIT_CALL, b->a, &v, NULL) == CEL_OK &&
              v.kind == CK_BOOL && v.b;
}

static void compile_rules(void *arg)
{
    struct bench *b = arg;
    const struct cel_var var = { "self", b->type };
    const struct cel_env env = { .vars = &var, .n_vars = 1 };
    const struct kj_val *rules = kj_get(b->in, "rules");

    b->n_rules = kj_len(rules);
    for (size_t i = 0; i < b->n_rules; i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        const char *text = kj_str_or(kj_at(rules, i), "");
        b->rules[i] = cel_expr_free(b->rules[i]);
        if (cel_compile(&env, text, strlen(text), &b->rules[i], &why) != CEL_OK)
            fail(text, strbuf_str(&why));
    }
}

static void judge(void *arg)
{
    struct bench *b = arg;

    arena_reset(b->a);
    struct cel_val v, self = cel_v_json(b->a, kj_get(b->in, "object"), b->type);
    b->held = true;
    for (size_t i = 0; i < b->n_rules; i++)
        b->held = cel_eval(b->rules[i], &self, CEL_LIMIT_CALL, b->a, &v, NULL) == CEL_OK &&
                  v.kind == CK_BOOL && v.b && b->held;
}

static unsigned long counted(void (*call)(void *), void *arg)
{
    call(arg);
    unsigned long before = allocs;
    for (int i = 0; i < 1000; i++)
        call(arg);
    return allocs - before;
}

int main(int argc, char **argv)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct bench b = { .a = arena_new(), .keep = arena_new() };
    struct kerr err = { 0 };

    if (argc != 2 || file_read_all(AT_FDCWD, argv[1], 1 << 20, &text, &err) < 0 ||
        kj_parse(text.data, text.len, 0, &doc, &err) < 0)
        fail("usage: bench_cel FILE", err.text);
    b.in = kj_root(doc);
    b.selector = kj_str_or(kj_get(b.in, "selector"), "");
    b.type = cel_schema_type(b.keep, kj_get(b.in, "schema"), "Object", true);
    read_device(&b);
    b.value = cel_device_value(b.keep, &b.device);
    compile_selector(&b);
    compile_rules(&b);
    match(&b);
    printf("cel matches=%d", b.held);
    judge(&b);
    printf(" hold=%d selector_chars=%zu", b.held, strlen(b.selector));
    printf(" selector_compile=%.0f selector_eval=%.0f selector_all=%.0f",
           best(compile_selector, &b), best(match, &b), best(match_all, &b));
    printf(" rules_compile=%.0f rules_eval=%.0f", best(compile_rules, &b), best(judge, &b));
    size_t largest = cel_expr_bytes(b.match);
    for (size_t i = 0; i < b.n_rules; i++)
        largest = MAX(largest, cel_expr_bytes(b.rules[i]));
    printf(" allocs=%lu bytes=%zu\n", counted(match, &b) + counted(judge, &b), largest);
    cel_expr_free(b.match);
    for (size_t i = 0; i < b.n_rules; i++)
        cel_expr_free(b.rules[i]);
    arena_free(b.a);
    arena_free(b.keep);
    return 0;
}
