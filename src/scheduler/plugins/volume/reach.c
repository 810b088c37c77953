/* reach.c - from which nodes something can be reached. */
#include "scheduler/plugins/volume/reach.h"

#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"

static struct reach_req req_of(const struct reach_maker *m, const char *key,
                               const char *const *values, uint32_t n)
{
    struct reach_req r = { .label = ks_label(m->nodes, key) };
    uint32_t *ids = arena_newn0(m->arena, n, uint32_t);

    for (uint32_t i = 0; i < n; i++) {
        ids[r.n] = ks_label_id(r.label, values[i]);
        r.n += ids[r.n] != 0;
    }
    r.ids = ids;
    return r;
}

static struct reach from_expressions(const struct reach_maker *m, const selreqlist *l)
{
    struct reach_req *reqs = arena_newn0(m->arena, l->n, struct reach_req);

    for (uint32_t i = 0; i < l->n; i++)
        reqs[i] = req_of(m, l->items[i].key, l->items[i].values.items, l->items[i].values.n);
    return (struct reach){ .kind = l->n ? REACH_LABELS : REACH_NOWHERE, .reqs = reqs, .n = l->n };
}

static bool is_plain(const struct node_selector_term *t)
{
    for (uint32_t i = 0; i < t->match_expressions.n; i++)
        if (t->match_expressions.items[i].op != SELOP_IN)
            return false;
    return t->match_expressions.n > 0 && t->match_fields.n == 0;
}

struct reach reach_affinity(const struct reach_maker *m, const struct node_selector *s)
{
    if (!s)
        return (struct reach){ .kind = REACH_ANYWHERE };
    if (s->terms.n == 1 && is_plain(&s->terms.items[0]))
        return from_expressions(m, &s->terms.items[0].match_expressions);
    return (struct reach){ .kind = REACH_TERMS, .terms = nodesel_from(s, m->arena) };
}

struct reach reach_topology(const struct reach_maker *m, const struct topology_term *t)
{
    return from_expressions(m, &t->expressions);
}

struct reach reach_selector(const struct reach_maker *m, const struct label_selector *s)
{
    struct labelsel *sel = NULL;

    if (!s)
        return (struct reach){ .kind = REACH_NOWHERE };
    if (s->match_expressions.n > 0) {
        if (labelsel_from(s, m->arena, &sel, NULL) < 0)
            return (struct reach){ .kind = REACH_NOWHERE };
        return (struct reach){ .kind = REACH_SELECTOR, .selector = sel };
    }
    struct reach_req *reqs = arena_newn0(m->arena, s->match_labels.n, struct reach_req);
    for (uint32_t i = 0; i < s->match_labels.n; i++)
        reqs[i] = req_of(m, s->match_labels.items[i].key, &s->match_labels.items[i].value, 1);
    return (struct reach){ .kind = s->match_labels.n ? REACH_LABELS : REACH_ANYWHERE,
                           .reqs = reqs,
                           .n = s->match_labels.n };
}

static bool req_holds(const struct reach_req *r, uint32_t row)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->ids[i] == r->label->id[row])
            return true;
    return false;
}

bool reach_row(const struct reach *r, const struct ks_nodes *nodes, uint32_t row)
{
    const struct objmeta *m = &nodes->node[row]->obj.meta;
    bool holds = true;

    switch (r->kind) {
    case REACH_ANYWHERE: return true;
    case REACH_NOWHERE: return false;
    case REACH_TERMS: return nodesel_match(r->terms, &m->labels, "") == 1;
    case REACH_SELECTOR: return labelsel_matches(r->selector, &m->labels);
    case REACH_LABELS: break;
    }
    for (uint32_t i = 0; i < r->n && holds; i++)
        holds = req_holds(&r->reqs[i], row);
    return holds;
}
