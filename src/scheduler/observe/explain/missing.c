/* missing.c - what would have to change before a pod fits a node. */
#include "scheduler/observe/explain/missing.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/toleration.h"
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"

struct changes {
    struct arena *arena;
    struct whatif_change *items;
    uint32_t n, cap;
};

static struct whatif_change *push(struct changes *c, const char *plugin, enum ks_code code,
                                  const char *reason)
{
    if (c->n == c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 4;
        struct whatif_change *items = arena_newn0(c->arena, cap, struct whatif_change);
        if (c->n)
            memcpy(items, c->items, c->n * sizeof *items);
        c->items = items;
        c->cap = cap;
    }
    c->items[c->n] = (struct whatif_change){ .plugin = plugin, .code = code, .reason = reason };
    return &c->items[c->n++];
}

/* ---- the plugins that can say more ------------------------------------------------------------
 */

static int64_t request_of(const struct ks_pod *p, const char *resource, uint32_t column)
{
    if (column < KS_FIXED)
        return p->requests.fixed[column];
    for (uint32_t i = 0; i < p->requests.nmore; i++)
        if (streq(p->requests.more[i].name, resource))
            return p->requests.more[i].count;
    return 0;
}

/* "Insufficient cpu", "Too many pods": which resource, and how much of it. */
static void measure(const struct attempt *a, uint32_t row, struct whatif_change *c)
{
    static const char insufficient[] = "Insufficient ";
    const struct ks_nodes *n = a->cycle.nodes;
    const char *name = str_starts(c->reason, insufficient) ? c->reason + strlen(insufficient)
                       : streq(c->reason, "Too many pods") ? "pods"
                                                           : NULL;
    if (!name)
        return;
    uint32_t column = ks_column_of(n, name);
    int64_t free = column == KS_NO_COLUMN ? 0 : n->alloc[column][row] - n->used[column][row];
    int64_t want = request_of(&a->pod, name, column);
    if (want <= free)
        return; /* not a matter of amounts */
    c->resource = name;
    c->missing = want - free;
}

static void add_taints(const struct attempt *a, uint32_t row, enum ks_code code, const char *reason,
                       struct changes *out)
{
    const taintlist *taints = &a->cycle.nodes->node[row]->spec.taints;

    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *t = &taints->items[i];
        if (!(TAINT_BIT(t->effect) & TAINT_HARD_EFFECTS) ||
            tolerations_tolerate(&a->pod.pod->spec->tolerations, t, 0))
            continue;
        push(out, "TaintToleration", code, reason)->taint =
            arena_printf(a->arena, "%s%s%s:%s", t->key, str_empty(t->value) ? "" : "=",
                         str_empty(t->value) ? "" : t->value, taint_effect_names[t->effect]);
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

static void ask(struct attempt *a, uint32_t slot, uint32_t row, uint8_t *said,
                const uint8_t *nobody, struct changes *out)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    struct ks_texts texts = { .arena = a->arena };

    attempt_enter(a, slot, a->state[slot]);
    s->plugin->filter(s->self, &a->cycle, &a->pod, (struct ks_span){ row, row + 1 }, nobody, said);
    if (!said[row])
        return;
    enum ks_code code = s->plugin->reasons[said[row]].code;
    if (streq(s->plugin->name, "TaintToleration")) {
        add_taints(a, row, code, s->plugin->reasons[said[row]].text, out);
        return;
    }
    attempt_verdict_texts(a, row, (uint8_t)(slot + 1), said[row], &texts);
    for (uint32_t i = 0; i < texts.n; i++)
        measure(a, row, push(out, s->plugin->name, code, texts.items[i]));
}

static void ask_all(struct attempt *a, uint32_t row, uint8_t *scratch, struct changes *out)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_FILTER];

    for (uint32_t i = 0; i < point->n; i++)
        if (!(a->skip_filter >> point->slots[i] & 1))
            ask(a, point->slots[i], row, scratch, scratch + a->n, out);
}

/* With the pods that were nominated here, as the row was judged. */
static void ask_nominated(struct attempt *a, uint32_t row, uint8_t *scratch, struct changes *out)
{
    uint32_t mark = ks_overlay_mark(a->overlay);

    attempt_with_nominated(a, row);
    ask_all(a, row, scratch, out);
    ks_overlay_rollback(a->overlay, mark);
}

struct whatif_change *missing_find(struct attempt *a, uint32_t row, uint8_t *scratch,
                                   uint32_t *ret_n)
{
    struct changes all = { .arena = a->arena };
    struct ks_texts texts = { .arena = a->arena };

    if (a->code == KS_SUCCESS && a->by[row] != ATTEMPT_LEFT_OUT) {
        if (a->with_nominated && a->with_nominated[row])
            ask_nominated(a, row, scratch, &all);
        else
            ask_all(a, row, scratch, &all);
    }
    if (all.n == 0) { /* nothing but the verdict itself */
        attempt_texts(a, row, &texts);
        for (uint32_t i = 0; i < texts.n; i++)
            push(&all, attempt_plugin(a, row), attempt_code(a, row), texts.items[i]);
    }
    *ret_n = all.n;
    return all.items;
}
