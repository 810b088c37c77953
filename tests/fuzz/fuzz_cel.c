/* fuzz_cel.c - expressions. The first line is the expression, the rest a JSON document: `self`.
 *
 * A refusal says why; an evaluation ends within its budget, of cost, of steps and of memory, and
 * gives the same value and cost again.
 */
#include "cel/cel.h"
#include "cel/lib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    LIMIT = 20000,
    BYTES_MAX = 48 << 20, /* what an evaluation may use for this limit, and one step beyond */
    TEXT_MAX = 16 << 20,
    WHY_MAX = 8 << 20,
};

static void evaluate(const struct cel_expr *e, const struct kj_val *doc, struct strbuf *shown,
                     uint64_t *cost)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cel_val self = cel_v_json(a, doc, &cel_dyn), v;
    enum cel_failure f = cel_eval(e, &self, LIMIT, a, &v, cost);

    assert((f == CEL_COST) == (*cost > LIMIT));
    assert((f == CEL_OK) == (v.kind != CK_ERROR));
    assert(arena_used(a) <= BYTES_MAX);
    cel_val_print(a, v, shown);
    assert(shown->len <= TEXT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf one = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf two = STRBUF_INIT;
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    const struct cel_var var = { "self", &cel_dyn };
    const struct cel_env env = { &var, 1, true, NULL };
    size_t n = line ? (size_t)(line - text) : size;
    uint64_t cost1, cost2;

    if (cel_compile(&env, text, n, &e, &why) != CEL_OK) {
        assert(why.len > 0 && why.len <= WHY_MAX);
        /* What one pass of the parser refuses the other one knows words for. */
        assert(!streq(strbuf_str(&why), "ERROR: <input>:-1:0: Syntax error"));
        return 0;
    }
    if (line)
        (void)kj_parse(line + 1, size - n - 1, 0, &doc, NULL);
    evaluate(e, kj_root(doc), &one, &cost1);
    evaluate(e, kj_root(doc), &two, &cost2);
    assert(cost1 == cost2 && streq(strbuf_str(&one), strbuf_str(&two)));
    return 0;
}
