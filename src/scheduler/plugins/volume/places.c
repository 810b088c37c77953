/* places.c - things in order, found by the value of a label: with a local volume on each of 5,000
 * nodes nobody may ask each volume about each node. */
#include "base/arena.h"
#include "scheduler/plugins/volume/reach.h"

struct places_slot { /* id 0: free */
    const struct ks_label *label;
    uint32_t id;
    uint32_t first, last; /* links */
};
struct places_link {
    uint32_t thing, next;
};

static struct places_slot *slot_find(const struct places *p, const struct ks_label *label,
                                     uint32_t id)
{
    uint64_t hash = (label->serial << 32 | id) * UINT64_C(0x9e3779b97f4a7c15);

    for (uint64_t at = hash >> 32;; at++) {
        struct places_slot *s = &p->slots[at & p->mask];
        if (!s->id || (s->label == label && s->id == id))
            return s;
    }
}

/* By the first requirement; whether the others hold is asked when the thing was found. */
static const struct reach_req *key_of(const struct reach *r)
{
    return r->kind == REACH_LABELS ? &r->reqs[0] : NULL;
}

static void note_label(struct places *p, const struct ks_label *label)
{
    for (uint32_t i = 0; i < p->nlabels; i++)
        if (p->labels[i] == label)
            return;
    p->labels[p->nlabels++] = label;
}

static void add_by_value(struct places *p, uint32_t thing, const struct reach_req *key,
                         uint32_t *nlinks)
{
    note_label(p, key->label);
    for (uint32_t i = 0; i < key->n; i++) {
        struct places_slot *s = slot_find(p, key->label, key->ids[i]);
        uint32_t link = (*nlinks)++;
        p->links[link] = (struct places_link){ thing, UINT32_MAX };
        if (s->id)
            p->links[s->last].next = link;
        else
            *s = (struct places_slot){ key->label, key->ids[i], link, link };
        s->last = link;
    }
}

void places_init(struct places *p, const struct reach *reach, uint32_t n, struct arena *a)
{
    uint32_t values = 0, nlinks = 0;

    *p = (struct places){ .reach = reach, .n = n, .mask = 1 };
    for (uint32_t i = 0; i < n; i++)
        values += key_of(&reach[i]) ? key_of(&reach[i])->n : 0;
    while (p->mask < 2 * values)
        p->mask = p->mask * 2 + 1;
    p->slots = arena_newn0(a, (size_t)p->mask + 1, struct places_slot);
    p->links = arena_newn0(a, values, struct places_link);
    p->wide = arena_newn0(a, n, uint32_t);
    p->labels = arena_newn0(a, n, const struct ks_label *);
    for (uint32_t i = 0; i < n; i++) {
        if (key_of(&reach[i]))
            add_by_value(p, i, key_of(&reach[i]), &nlinks);
        else if (reach[i].kind != REACH_NOWHERE)
            p->wide[p->nwide++] = i;
    }
}

uint32_t places_first(const struct places *p, const struct ks_nodes *nodes, uint32_t row,
                      bool (*taken)(const void *arg, uint32_t thing), const void *arg)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < p->nwide && p->wide[i] < best; i++)
        if (reach_row(&p->reach[p->wide[i]], nodes, row) && !(taken && taken(arg, p->wide[i])))
            best = p->wide[i];
    for (uint32_t i = 0; i < p->nlabels; i++) {
        uint32_t id = p->labels[i]->id[row];
        const struct places_slot *s = id ? slot_find(p, p->labels[i], id) : NULL;
        for (uint32_t l = s && s->id ? s->first : UINT32_MAX; l != UINT32_MAX;
             l = p->links[l].next) {
            uint32_t thing = p->links[l].thing;
            if (thing >= best)
                break;
            if (reach_row(&p->reach[thing], nodes, row) && !(taken && taken(arg, thing)))
                best = thing;
        }
    }
    return best;
}
