/* reserve_text.c - what became of a koordctl reserve. */
#include "base/ktime.h"
#include "ctl/get.h"
#include "ctl/reserve.h"

static const char *const outcome_names[] = { "Pending", "Reserved", "Failed", "Removed" };

static const char *fits_or(const struct reserve *x, const struct reserved *one)
{
    if (x->o->dry_run)
        return one->outcome == RESERVE_PLACED ? "Fits" : "DoesNotFit";
    return outcome_names[one->outcome];
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static struct kj_mval *one_value(const struct reserve *x, const struct reserved *one,
                                 struct kj_mdoc *d)
{
    struct kj_mval *v = kj_mobj(d);

    kj_mset(d, v, "name", kj_mstr(d, one->name));
    kj_mset(d, v, "status", kj_mstr(d, fits_or(x, one)));
    if (*one->node)
        kj_mset(d, v, "node", kj_mstr(d, one->node));
    if (*one->message)
        kj_mset(d, v, "message", kj_mstr(d, one->message));
    return v;
}

static void put_tree(const struct reserve *x, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d), *all = kj_marr(d);
    char ttl[KTIME_TEXT_MAX];

    kdur_format(x->o->ttl, ttl);
    kj_mset(d, root, "kind", kj_mstr(d, x->kind->kind));
    kj_mset(d, root, "namespace", kj_mstr(d, x->ns));
    kj_mset(d, root, "name", kj_mstr(d, x->name));
    kj_mset(d, root, "run", kj_mstr(d, x->run));
    kj_mset(d, root, "dryRun", kj_mbool(d, x->o->dry_run));
    kj_mset(d, root, "ttl", kj_mstr(d, ttl));
    kj_mset(d, root, "replicas", kj_mi64(d, (int64_t)x->all.n));
    kj_mset(d, root, "reserved", kj_mi64(d, (int64_t)reserve_count(x, RESERVE_PLACED)));
    vec_foreach(&x->all, i)
        kj_mpush(all, one_value(x, &x->all.items[i], d));
    kj_mset(d, root, "reservations", all);
    tree_put(x->c->o.output, root, out);
}

/* ---- for people ------------------------------------------------------------------------------ */

static size_t longest(const struct reserve *x, bool node)
{
    size_t n = strlen(node ? "<none>" : "RESERVATION");

    vec_foreach(&x->all, i)
        n = MAX(n, strlen(node ? x->all.items[i].node : x->all.items[i].name));
    return n;
}

/* Most of them wait for the same reason: it is said once. */
static void put_reasons(const struct reserve *x, struct strbuf *out)
{
    vec_foreach(&x->all, i) {
        const char *why = x->all.items[i].message;
        size_t first = 0, n = 0;
        while (!streq(x->all.items[first].message, why))
            first++;
        for (size_t k = i; k < x->all.n && first == i; k++)
            n += streq(x->all.items[k].message, why);
        if (*why && n)
            strbuf_appendf(out, "%zu without a node: %s\n", n, why);
    }
}

static void put_summary(const struct reserve *x, struct strbuf *out)
{
    size_t placed = reserve_count(x, RESERVE_PLACED);
    char ttl[KTIME_TEXT_MAX];

    kdur_format(x->o->ttl, ttl);
    strbuf_appendf(out, "%zu of %zu %s for %s/%s in namespace %s", placed, x->all.n,
                   x->o->dry_run ? "would fit" : "reserved", x->kind->plural, x->name, x->ns);
    if (placed && !x->o->dry_run)
        strbuf_appendf(out, ", for %s", ttl);
    strbuf_append(out, ".\n");
}

static void put_text(const struct reserve *x, struct strbuf *out)
{
    int names = (int)longest(x, false), nodes = (int)longest(x, true);

    strbuf_appendf(out, "%-*s   %-*s   STATUS\n", names, "RESERVATION", nodes, "NODE");
    vec_foreach(&x->all, i) {
        const struct reserved *one = &x->all.items[i];
        strbuf_appendf(out, "%-*s   %-*s   %s\n", names, one->name, nodes,
                       *one->node ? one->node : "<none>", fits_or(x, one));
    }
    strbuf_append(out, "\n");
    put_reasons(x, out);
    put_summary(x, out);
    ctl_clean(out);
}

bool reserve_show(struct reserve *x)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *form = x->c->o.output;

    if (str_empty(form) || streq(form, "table") || streq(form, "wide"))
        put_text(x, &out);
    else
        put_tree(x, &out);
    return ctl_print(x->c, &out);
}
