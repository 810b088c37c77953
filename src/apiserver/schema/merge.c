/* merge.c - merge tables for strategic patches, derived from the field tables.
 *
 * Built on first use and kept for the life of the process: they are constants that we are too lazy
 * to write down twice. Loop thread only.
 */
#include "apiserver/schema/tables.h"
#include "base/arena.h"
#include "base/vec.h"

static struct {
    struct vec_of(const struct t_type *) types;
    struct vec_of(const struct kmerge *) tables;
    struct arena *texts; /* merge keys cut from "a,b" */
} made;

static const struct kmerge nothing[] = { { .field = NULL } };

static const char *first_key(const char *keys)
{
    const char *comma = keys ? strchr(keys, ',') : NULL;

    if (!comma)
        return keys;
    if (!made.texts)
        made.texts = arena_new();
    return arena_strndup(made.texts, keys, (size_t)(comma - keys));
}

/* false: the field merges as one that is not listed. */
static bool merge_entry(const struct t_field *f, struct kmerge *ret)
{
    bool replace = f->flags & T_REPLACE;
    struct kmerge m = { .field = f->name };

    if (f->shape == T_MAP)
        return false;
    if (f->shape == T_LIST) {
        if (replace || !(f->flags & (T_KEY | T_SET)))
            return false;
        m.list = f->flags & T_KEY ? KMERGE_BY_KEY : KMERGE_SET;
        m.key = f->flags & T_KEY ? first_key(f->merge_key) : NULL;
    } else if (f->kind != T_OBJ) {
        return false;
    }
    m.replace = replace;
    m.retain_keys = f->flags & T_RETAIN;
    if (f->kind == T_OBJ)
        m.sub = types_merge(f->type);
    if (f->shape == T_ONE && !m.replace && !m.retain_keys && !m.sub->field)
        return false;
    *ret = m;
    return true;
}

const struct kmerge *types_merge(const struct t_type *t)
{
    vec_foreach(&made.types, i) {
        if (made.types.items[i] == t)
            return made.tables.items[i];
    }
    struct vec_of(struct kmerge) table = { 0 };
    struct kmerge m;
    for (const struct t_field *f = t->fields; f->name; f++)
        if (merge_entry(f, &m))
            vec_push(&table, m);
    const struct kmerge *ret = nothing;
    if (table.n > 0) {
        vec_push(&table, nothing[0]);
        ret = table.items;
    }
    vec_push(&made.types, t);
    vec_push(&made.tables, ret);
    return ret;
}
