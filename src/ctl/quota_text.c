/* quota_text.c - trees, rounds and differences for people. */
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "ctl/quota.h"
#include "quota/admit.h"
#include "quota/fairshare.h"
#include "quota/revoke.h"

enum { BAR = 20 };

static const char *amount_text(const struct quota_forest *f, uint64_t column, int64_t v,
                               struct arena *a)
{
    return qty_format(resource_from_count(forest_columns(f)->name[column], v), a);
}

static int64_t amount_of(struct quota_forest *f, struct quota *q, enum quota_field field,
                         uint64_t column)
{
    uint64_t keys;

    return quota_at(quota_values(f, q, field, &keys), column);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Used '#', what may be used beyond '=', and where min ends '|'. */
static void bar(int64_t used, int64_t runtime, int64_t min, int64_t whole, struct strbuf *out)
{
    strbuf_appendc(out, '[');
    for (int i = 0; i < BAR; i++) {
        __int128 at = (__int128)whole * i / BAR;
        bool edge = min > 0 && at < min && (__int128)whole * (i + 1) / BAR >= min;
        strbuf_appendc(out, edge ? '|' : at < used ? '#' : at < runtime ? '=' : ' ');
    }
    strbuf_appendc(out, ']');
}

struct tree_view {
    struct quota_forest *f;
    struct strbuf *out;
    struct arena *a;
    uint64_t column;
    int64_t whole; /* of a bar */
};

static void tree_line(struct tree_view *v, struct quota *q, int depth)
{
    int64_t min = amount_of(v->f, q, QUOTA_MIN, v->column);
    int64_t used = amount_of(v->f, q, QUOTA_USED, v->column);
    int64_t runtime = amount_of(v->f, q, QUOTA_RUNTIME, v->column);
    int64_t max = amount_of(v->f, q, QUOTA_MAX, v->column);
    bool limited = quota_keys(q) >> v->column & 1;

    if (quota_is_special(q))
        runtime = used;
    strbuf_appendf(v->out, "%*s%-*s ", depth * 2, "", 32 - depth * 2, quota_name(q));
    bar(used, runtime, min, v->whole, v->out);
    strbuf_appendf(v->out, " %10s %10s %10s %10s", amount_text(v->f, v->column, min, v->a),
                   amount_text(v->f, v->column, used, v->a),
                   amount_text(v->f, v->column, runtime, v->a),
                   limited ? amount_text(v->f, v->column, max, v->a) : "-");
    if (runtime < min)
        strbuf_appendf(v->out, "  lends %s", amount_text(v->f, v->column, min - runtime, v->a));
    else if (runtime > min && !quota_is_special(q))
        strbuf_appendf(v->out, "  borrows %s", amount_text(v->f, v->column, runtime - min, v->a));
    if (quota_waits_for_parent(q))
        strbuf_appendf(v->out, "  waits for its parent %s", quota_parent_name(q));
    strbuf_appendc(v->out, '\n');
}

static void tree_below(struct tree_view *v, struct quota *q, int depth)
{
    struct quota *const *below;
    uint32_t n = quota_children(q, &below);

    tree_line(v, q, depth);
    for (uint32_t i = 0; i < n; i++)
        tree_below(v, below[i], depth + 1);
}

void quota_tree_text(struct quota_forest *f, const char *resource, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    int column = quota_columns_find(forest_columns(f), resource);
    uint32_t n;
    struct quota **all = forest_list(f, NULL, a, &n);
    bool known;

    if (column < 0) {
        strbuf_appendf(out, "No quota names the resource %s.\n", resource);
        return;
    }
    struct tree_view v = { f, out, a, (uint64_t)column, 1 };
    v.whole = quota_total(f, forest_find(f, QUOTA_ROOT_NAME), v.column, &known);
    v.whole = MAX(v.whole, INT64_C(1));
    strbuf_appendf(out, "%-32s %-22s %10s %10s %10s %10s\n", resource, "# used  = runtime  | min",
                   "MIN", "USED", "RUNTIME", "MAX");
    for (uint32_t i = 0; i < n; i++) {
        struct quota *above = quota_above(all[i]);
        if (!above || quota_is_root(above))
            tree_below(&v, all[i], 0);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct rounds {
    struct quota_forest *f;
    struct quota *const *members;
    struct strbuf *out;
    struct arena *a;
    uint64_t column;
    int64_t *last;
    unsigned n;
};

static void on_round(void *arg, const struct share_round *r, const struct share_member *m,
                     uint32_t n)
{
    struct rounds *x = arg;

    if (r->first)
        strbuf_appendf(x->out,
                       "    start: what each asks for, up to its min; %s left, %u want more\n",
                       amount_text(x->f, x->column, r->pool, x->a), r->borrowers);
    else
        strbuf_appendf(x->out, "    round %u: %s by weight among %u\n", ++x->n,
                       amount_text(x->f, x->column, r->pool, x->a), r->borrowers);
    for (uint32_t i = 0; i < n; i++) {
        if (!r->first && m[i].runtime == x->last[i])
            continue;
        strbuf_appendf(x->out, "      %-30s %10s", quota_name(x->members[i]),
                       amount_text(x->f, x->column, m[i].runtime, x->a));
        if (r->first)
            strbuf_appendf(x->out, "  (asks for %s, min %s, weight %s%s)",
                           amount_text(x->f, x->column, m[i].request, x->a),
                           amount_text(x->f, x->column, m[i].floor, x->a),
                           amount_text(x->f, x->column, m[i].weight, x->a),
                           m[i].lends ? "" : ", does not lend");
        strbuf_appendc(x->out, '\n');
        x->last[i] = m[i].runtime;
    }
}

static void explain_column(struct quota_forest *f, struct quota *parent, struct quota *q,
                           uint64_t column, struct strbuf *out, struct arena *a)
{
    struct rounds x = { .f = f, .out = out, .a = a, .column = column };
    uint32_t n = quota_children(parent, &x.members);
    bool known;

    x.last = arena_newn0(a, n, int64_t);
    strbuf_appendf(
        out, "  %s: %s is shared by %u quotas below %s\n", forest_columns(f)->name[column],
        amount_text(f, column, quota_total(f, parent, column, &known), a), n, quota_name(parent));
    quota_explain(f, parent, column, &(struct share_watcher){ on_round, &x });
    strbuf_appendf(out, "    runtime of %s: %s (used %s)\n", quota_name(q),
                   amount_text(f, column, amount_of(f, q, QUOTA_RUNTIME, column), a),
                   amount_text(f, column, amount_of(f, q, QUOTA_USED, column), a));
}

void quota_explain_text(struct quota_forest *f, struct quota *q, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct vec_of(struct quota *) path = { 0 };

    if (quota_is_special(q) || quota_is_root(q) || quota_waits_for_parent(q)) {
        strbuf_appendf(out, "%s takes no part in sharing%s%s.\n", quota_name(q),
                       quota_waits_for_parent(q) ? ": it waits for its parent " : "",
                       quota_waits_for_parent(q) ? quota_parent_name(q) : "");
        return;
    }
    for (struct quota *n = q; !quota_is_root(n); n = quota_above(n))
        vec_push(&path, n);
    for (size_t i = path.n; i-- > 0;) {
        strbuf_appendf(out, "%s\n", quota_name(path.items[i]));
        columns_foreach(c, quota_keys(path.items[i]))
            explain_column(f, quota_above(path.items[i]), path.items[i], c, out, a);
    }
    vec_fini(&path);
}

/* ---- what if --------------------------------------------------------------------------------- */

static int by_turn(const void *x, const void *y)
{
    const struct pod *a = *(const struct pod *const *)x, *b = *(const struct pod *const *)y;

    if (pod_priority(a) != pod_priority(b))
        return pod_priority(a) > pod_priority(b) ? -1 : 1;
    if (a->obj.meta.created != b->obj.meta.created)
        return a->obj.meta.created < b->obj.meta.created ? -1 : 1;
    return strcmp(a->obj.meta.name, b->obj.meta.name);
}

struct pod_list vec_of(const struct pod *);

/* Pods that have no node, in the order in which the queue would try them; those with room get it.
 */
static void admit_waiting(struct quota_forest *f, struct pod_list *admitted)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct admit_rules rules = { .runtime = true };
    struct pod_list waiting = { 0 };
    struct quota_pod p;
    uint32_t n;
    struct quota **all = forest_list(f, NULL, a, &n);

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t at = 0; quota_next_pod(f, all[i], &at, &p);)
            if (!p.assigned)
                vec_push(&waiting, p.pod);
    if (waiting.n > 1)
        qsort(waiting.items, waiting.n, sizeof *waiting.items, by_turn);
    vec_foreach(&waiting, i) {
        struct kuid uid = waiting.items[i]->obj.meta.uid;
        struct admit_verdict v;
        if (!forest_pod(f, uid, &p))
            continue;
        struct admit_request r = { .keys = p.keys,
                                   .amount = p.amount,
                                   .preemptible = p.preemptible };
        admit_own(f, forest_charged(f, uid), &rules, &r, &v);
        if (v.code != ADMIT_OK)
            continue;
        forest_assign_pod(f, uid, true);
        vec_push(admitted, waiting.items[i]);
    }
    vec_fini(&waiting);
}

static bool has_pod(const struct pod_list *l, const struct pod *p)
{
    vec_foreach(l, i)
        if (kuid_equal(l->items[i]->obj.meta.uid, p->obj.meta.uid))
            return true;
    return false;
}

static void differing_pods(const struct pod_list *have, const struct pod_list *had,
                           const char *what, struct strbuf *out)
{
    vec_foreach(have, i)
        if (!has_pod(had, have->items[i]))
            strbuf_appendf(out, "  %s/%s %s\n", have->items[i]->obj.meta.ns,
                           have->items[i]->obj.meta.name, what);
}

static void revoked_pods(struct quota_forest *f, struct pod_list *ret)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n, k;
    bool enough;
    struct quota **all = forest_list(f, NULL, a, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (!revoke_is_overused(f, all[i]))
            continue;
        const struct pod **pods = revoke_choose(f, all[i], NULL, a, &k, &enough);
        for (uint32_t j = 0; j < k; j++)
            vec_push(ret, pods[j]);
    }
}

static void differing_runtimes(struct quota_forest *before, struct quota_forest *after,
                               struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n;
    struct quota **all = forest_list(after, NULL, a, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct quota *old = forest_find(before, quota_name(all[i]));
        columns_foreach(c, quota_keys(all[i])) {
            int was = quota_columns_find(forest_columns(before), forest_columns(after)->name[c]);
            int64_t now = amount_of(after, all[i], QUOTA_RUNTIME, c);
            int64_t had =
                old && was >= 0 ? amount_of(before, old, QUOTA_RUNTIME, (uint64_t)was) : 0;
            if (now != had)
                strbuf_appendf(out, "  %-32s %-20s %10s -> %s\n", quota_name(all[i]),
                               forest_columns(after)->name[c], amount_text(after, c, had, a),
                               amount_text(after, c, now, a));
        }
    }
}

void quota_whatif_text(struct quota_forest *before, struct quota_forest *after, struct strbuf *out)
{
    struct pod_list revoked[2] = { { 0 } }, admitted[2] = { { 0 } };
    struct quota_forest *forests[] = { before, after };

    strbuf_appendf(out, "Runtimes:\n");
    differing_runtimes(before, after, out);
    for (int i = 0; i < 2; i++) {
        revoked_pods(forests[i], &revoked[i]);
        admit_waiting(forests[i], &admitted[i]);
    }
    strbuf_appendf(out, "Pods:\n");
    differing_pods(&revoked[1], &revoked[0], "would be evicted (with monitorAllQuotas)", out);
    differing_pods(&revoked[0], &revoked[1], "would not be evicted any more", out);
    differing_pods(&admitted[1], &admitted[0], "would have room in its quota", out);
    differing_pods(&admitted[0], &admitted[1], "would have no room in its quota any more", out);
    for (int i = 0; i < 2; i++) {
        vec_fini(&revoked[i]);
        vec_fini(&admitted[i]);
    }
}
