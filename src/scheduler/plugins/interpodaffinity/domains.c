/* domains.c - the nodes with one value of a topology key, and what their pods add up to. */
#include "base/arena.h"
#include "scheduler/model/labels.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"

struct topo *topo_new(const struct ks_nodes *nodes, const char *key, struct arena *a)
{
    const struct ks_label *l = ks_label(nodes, key);
    struct topo *t = arena_new0(a, struct topo);

    t->key = arena_strdup(a, key);
    t->serial = l->serial;
    t->ndomains = l->n - 1;
    if (t->ndomains) {
        size_t size = nodes->n * sizeof *t->domain;
        t->domain = memcpy(arena_alloc(a, size, 16), l->id, size);
        t->rows = arena_newn0(a, nodes->n, struct sums);
        t->domains = arena_newn0(a, l->n, struct sums);
        t->bad = arena_newn0(a, l->n, uint8_t);
        t->score = arena_newn0(a, l->n, int64_t);
    }
    return t;
}

bool topo_holds(const struct topo *t, const struct ks_nodes *nodes, const uint32_t *rows,
                uint32_t n)
{
    const struct ks_label *l = ks_label(nodes, t->key);

    if (l->serial != t->serial)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (l->id[rows[i]] != (t->domain ? t->domain[rows[i]] : 0))
            return false;
    return true;
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
