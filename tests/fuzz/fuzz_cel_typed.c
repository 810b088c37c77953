/* fuzz_cel_typed.c - expressions over values of a schema. The first line is the expression, the
 * second a schema, the rest a JSON document: `self` and `oldSelf`.
 *
 * A refusal says why; an evaluation ends within its budget, however small that is, and gives the
 * same value and cost again; who asks for the costs of its parts gets the same too.
 */
#include "cel/cel.h"
#include "cel/schema.h"
#include "cel/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 20000, ONE_CALL = 1 << 28, BYTES_MAX = 48 << 20, WHY_MAX = 8 << 20 };

static uint64_t evaluate(const struct cel_expr *e, const struct kj_val *doc,
                         const struct cel_type *type, uint64_t limit)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cel_val self = cel_v_json(a, doc, type), v;
    const struct cel_val vars[] = { self, self };
    uint64_t cost;
    enum cel_failure f = cel_eval(e, vars, limit, a, &v, &cost);

    assert((f == CEL_COST) == (cost > limit));
    assert((f == CEL_OK) == (v.kind != CK_ERROR));
    assert(cost <= limit + ONE_CALL);
    assert(arena_used(a) <= BYTES_MAX);
    return cost;
}

static struct cel_expr *compile(const struct cel_type *type, struct str text,
                                struct cel_trace *trace)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    const struct cel_var vars[] = { { "self", type }, { "oldSelf", type } };
    const struct cel_env env = { .vars = vars, .n_vars = 2, .trace = trace };

    if (cel_compile(&env, text.p, text.n, &e, &why) == CEL_OK)
        return take(e);
    assert(why.len > 0 && why.len <= WHY_MAX);
    return NULL;
}

static void check(struct str text, const struct kj_val *schema, const struct kj_val *doc)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct cel_type *type = cel_schema_type(a, schema, "Object", true);
    struct cel_trace trace = { 0 };

    type = type ? type : &cel_dyn;
    CLEANUP(cel_expr_free) struct cel_expr *e = compile(type, text, NULL);
    if (!e)
        return;
    assert(cel_expr_estimate(e).min <= cel_expr_estimate(e).max);
    uint64_t cost = evaluate(e, doc, type, LIMIT);
    assert(evaluate(e, doc, type, LIMIT) == cost);
    if (cost > 0)
        (void)evaluate(e, doc, type, cost - 1);
    CLEANUP(cel_expr_free) struct cel_expr *traced = compile(type, text, &trace);
    assert(traced && (cost > LIMIT || evaluate(traced, doc, type, LIMIT) == cost));
    (void)cel_trace_sort(&trace);
    cel_trace_fini(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *schema = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    const char *end = line ? memchr(line + 1, '\n', size - (size_t)(line + 1 - text)) : NULL;

    if (!end || kj_parse(line + 1, (size_t)(end - line) - 1, 0, &schema, NULL) < 0)
        return 0;
    (void)kj_parse(end + 1, size - (size_t)(end + 1 - text), 0, &doc, NULL);
    check((struct str){ text, (size_t)(line - text) }, kj_root(schema), kj_root(doc));
    return 0;
}
