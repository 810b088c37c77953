/* defaults.c - defaults of a structural schema, and nulls where they mean nothing.
 *
 * As kube-apiserver: a default applies where its parent exists and the field is absent, or null
 * though not nullable; other nulls that are not nullable are dropped. Defaults of defaults follow
 * (a default of {} has its own fields defaulted).
 */
#include "apiserver/crd/internal.h"
#include "base/num.h"

static bool is_null(const struct kj_mval *v)
{
    return kj_mtype(v) == KJ_NULL;
}

/* A member that goes: null, specified, not nullable. */
static void drop_nulls(const struct snode *n, struct kj_mval *v)
{
    struct vec_of(struct str) gone = { 0 };
    struct kj_miter it = kj_miter(v);
    struct kj_mval *m;
    struct str key;

    while (kj_mnext(&it, &key, &m)) {
        bool known;
        const struct snode *below = snode_member(n, key.p, key.n, &known);
        if (below && is_null(m) && !below->nullable && !below->def)
            vec_push(&gone, key);
    }
    vec_foreach(&gone, i)
        kj_mdel(v, gone.items[i].p, gone.items[i].n);
    vec_fini(&gone);
}

static void set_defaults(const struct snode *n, struct kj_mdoc *d, struct kj_mval *v)
{
    struct kj_miter it;
    struct kj_mval *m;
    struct str key;

    if (kj_mtype(v) == KJ_ARR && n->items) {
        for (it = kj_miter(v); kj_mnext(&it, &key, &m);)
            set_defaults(n->items, d, m);
        return;
    }
    if (kj_mtype(v) != KJ_OBJ)
        return;
    for (size_t i = 0; n->defaults_below && i < n->nprops; i++) {
        const struct snode *p = n->props[i].node;
        m = p->def ? kj_mget(v, n->props[i].name) : NULL;
        if (p->def && (!m || (is_null(m) && !p->nullable)))
            kj_mset(d, v, n->props[i].name, kj_mcopy(d, p->def));
    }
    drop_nulls(n, v);
    for (it = kj_miter(v); kj_mnext(&it, &key, &m);) {
        bool known;
        const struct snode *below = snode_member(n, key.p, key.n, &known);
        if (below)
            set_defaults(below, d, m);
    }
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

/* What Go makes of a number that is no 64-bit integer: 1.0 becomes 1, 1e3 becomes 1000. NULL: it
 * stays as it is. */
static struct kj_mval *canonical(struct kj_mdoc *d, struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char now[32];
    double f;

    kj_mwrite(v, 0, &text);
    if (text.len < 19 && !strpbrk(text.data, ".eE"))
        return NULL;
    int64_t i;
    if (i64_parse(text.data, text.len, &i) == 0 || f64_parse(text.data, text.len, &f) < 0)
        return NULL;
    size_t n = f64_format(f, now, sizeof now);
    return streq(now, text.data) ? NULL : kj_mraw(d, now, n);
}

static void make_canonical(struct kj_mdoc *d, struct kj_mval *v)
{
    struct vec_of(struct str) changed = { 0 };
    struct kj_miter it = kj_miter(v);
    bool list = kj_mtype(v) == KJ_ARR;
    struct kj_mval *m, *c;
    struct str key;

    for (size_t i = 0; kj_mnext(&it, &key, &m); i++) {
        if (kj_mtype(m) == KJ_NUM && canonical(d, m))
            vec_push(&changed, (list ? (struct str){ NULL, i } : key));
        else if (kj_mtype(m) >= KJ_ARR)
            make_canonical(d, m);
    }
    vec_foreach(&changed, i) {
        key = changed.items[i];
        m = list ? kj_mat(v, key.n) : kj_mgetn(v, key.p, key.n);
        c = canonical(d, m);
        if (list)
            kj_mreplace_at(v, key.n, c);
        else
            kj_msetn(d, v, key.p, key.n, c);
    }
    vec_fini(&changed);
}

void crd_default(const struct crd_schema *s, struct kj_mdoc *d, struct kj_mval *obj)
{
    set_defaults(s->root, d, obj);
    make_canonical(d, obj);
}
