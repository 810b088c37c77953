/* domains.c - the nodes with one value of a topology key, and what their pods add up to. */
#include "api/node.h"
#include "base/arena.h"
#include "base/map.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"

/* The value of a key, which stands at the same place in the labels of most nodes. */
static const char *value_of(const kstrmap *labels, const char *key, uint32_t *place)
{
    if (*place < labels->n && streq(labels->items[*place].key, key))
        return labels->items[*place].value;
    for (uint32_t i = 0; i < labels->n; i++) {
        int order = strcmp(labels->items[i].key, key);
        if (order < 0)
            continue;
        *place = i;
        return order == 0 ? labels->items[i].value : NULL;
    }
    return NULL;
}

/* Domains get numbers from 1 in the order of rows; how many there are. */
static uint32_t number(struct topo *t, const struct ks_nodes *nodes, struct arena *a)
{
    CLEANUP(map_fini) struct map ids = { 0 };
    uint32_t n = 0, place = 0;

    for (uint32_t row = 0; row < nodes->n; row++) {
        const char *value = value_of(&nodes->node[row]->obj.meta.labels, t->key, &place);
        if (!value)
            continue;
        if (!t->domain)
            t->domain = arena_newn0(a, nodes->n, uint32_t);
        uintptr_t id = (uintptr_t)map_getz(&ids, value);
        if (!id) {
            id = ++n;
            map_putz(&ids, value, (void *)id); /* NOLINT: a number in place of a pointer */
        }
        t->domain[row] = (uint32_t)id;
    }
    return n;
}

struct topo *topo_new(const struct ks_nodes *nodes, const char *key, struct arena *a)
{
    struct topo *t = arena_new0(a, struct topo);

    t->key = arena_strdup(a, key);
    t->ndomains = number(t, nodes, a);
    if (t->domain) {
        t->rows = arena_newn0(a, nodes->n, struct sums);
        t->domains = arena_newn0(a, t->ndomains + 1, struct sums);
        t->bad = arena_newn0(a, t->ndomains + 1, uint8_t);
        t->score = arena_newn0(a, t->ndomains + 1, int64_t);
    }
    return t;
}

void topo_want(struct topo *t)
{
    t->wanted = true;
    if (!t->domain)
        return;
    t->bad[0] = BAD_NO_KEY;
    for (uint32_t d = 1; d <= t->ndomains; d++)
        t->bad[d] |= t->domains[d].affinity ? 0 : BAD_FAR;
}

static void sums_add(struct sums *to, const struct sums *d, int sign)
{
    to->affinity += sign * d->affinity;
    to->anti += sign * d->anti;
    to->existing += sign * d->existing;
    to->preferences += sign * d->preferences;
    to->score += sign * d->score;
}

static void domain_add(struct topo *t, uint32_t domain, const struct sums *d, int sign)
{
    struct sums *s = &t->domains[domain];

    sums_add(s, d, sign);
    sums_add(&t->total, d, sign);
    t->bad[domain] = (uint8_t)((t->wanted && !s->affinity ? BAD_FAR : 0) |
                               (s->anti ? BAD_ANTI : 0) | (s->existing ? BAD_EXISTING : 0));
    t->score[domain] = s->score;
}

void topo_add(struct topo *t, uint32_t row, const struct sums *d, int sign)
{
    if (!t->domain || !t->domain[row])
        return;
    sums_add(&t->rows[row], d, sign);
    domain_add(t, t->domain[row], d, sign);
}

void topo_clear_row(struct topo *t, uint32_t row)
{
    if (!t->domain || !t->domain[row])
        return;
    domain_add(t, t->domain[row], &t->rows[row], -1);
    t->rows[row] = (struct sums){ 0 };
}
