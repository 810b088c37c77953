/* args.c - plugin args: decoded strictly, defaulted, checked. */
#include "scheduler/framework/args.h"

#include "base/arena.h"
#include "json/kj.h"

int args_decode(const struct ks_args *t, const struct kj_val *given,
                const struct ks_args_context *c, struct arena *a, void **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *nothing = NULL;
    void *args = arena_zalloc(a, t->schema->size);
    int r = given ? 0 : kj_parse("{}", 2, 0, &nothing, err);

    if (r == 0)
        r = kj_decode(t->schema, given ? given : kj_root(nothing), KJ_STRICT, a, args, err);
    if (r < 0)
        return r;
    kj_default(t->schema, a, args);
    if (t->fill)
        t->fill(args, c, a);
    if (t->check)
        r = t->check(args, err); /* before the table, which has words of its own */
    if (r == 0)
        r = kj_validate(t->schema, args, err);
    if (r == 0)
        *ret = args;
    return r;
}

void *args_copy(const struct ks_args *t, const void *args, struct arena *a)
{
    void *copy = arena_zalloc(a, t->schema->size);

    kj_copy(t->schema, args, a, copy);
    return copy;
}
