/* effects.c - what a pod on a node counts for, seen from the pod that looks for a node. */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"
#include "scheduler/plugins/interpodaffinity/args.h"

struct effects {
    uint32_t n;
    struct effect {
        struct topo *topo;
        struct sums d;
    } items[];
};

struct topo *state_topo(struct affinity_state *st, const struct ks_nodes *nodes, const char *key)
{
    for (struct topo *t = st->topos; t; t = t->next)
        if (streq(t->key, key))
            return t;
    struct topo *t = topo_new(nodes, key, st->arena);
    t->next = st->topos;
    st->topos = t;
    return t;
}

static struct effects *effects_new(struct counting *k, const struct podterms *terms)
{
    uint32_t max = terms->affinity.n + terms->anti.n + terms->prefer.n + terms->avoid.n;
    return arena_zalloc(k->self->scratch, sizeof(struct effects) + max * sizeof(struct effect));
}

/* The terms of a pod and their owner, against another pod. */
struct match {
    const char *own_ns;
    const struct seen_pod *other;
    struct effects *to;
    struct counting *k;
};

/* d for each term that matches; its weight, if any, times the factor. */
static void add_matching(const struct match *m, const struct termlist *l, struct sums d,
                         int64_t factor)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct term *t = &l->items[i];
        if (!term_matches(t, m->own_ns, m->other))
            continue;
        struct topo *topo =
            t->topo ? t->topo : state_topo(m->k->st, m->k->nodes, t->spec->topology_key);
        struct effect *e = &m->to->items[m->to->n++];
        *e = (struct effect){ topo, d };
        e->d.score += t->weight * factor;
    }
}

/* Our terms about a pod with these labels. */
static const struct effects *effects_of_labels(struct counting *k, const struct pod *other)
{
    const struct podterms *own = &k->st->own;
    struct seen_pod seen = { other->obj.meta.ns, &other->obj.meta.labels, NULL };
    struct match m = { k->pod.ns, &seen, effects_new(k, own), k };

    if (own->select_namespaces)
        seen.ns_labels = namespace_labels(k->self->objects, seen.ns);
    if (termlist_match_all(&own->affinity, k->pod.ns, &seen))
        add_matching(&m, &own->affinity, (struct sums){ .affinity = 1 }, 0);
    add_matching(&m, &own->anti, (struct sums){ .anti = 1 }, 0);
    add_matching(&m, &own->prefer, (struct sums){ .preferences = 1 }, 1);
    add_matching(&m, &own->avoid, (struct sums){ .preferences = 1 }, -1);
    return m.to;
}

/* The other's terms about our pod. */
static const struct effects *effects_of_terms(struct counting *k, const struct pod *other)
{
    int32_t hard = k->self->args->hard_weight.v;
    struct podterms terms;
    struct kerr ignored = { 0 }; /* who may have such terms is not our pod's trouble */

    podterms_compile(other, k->self->scratch, &terms, &ignored);
    struct match m = { other->obj.meta.ns, &k->pod, effects_new(k, &terms), k };
    add_matching(&m, &terms.anti, (struct sums){ .existing = 1 }, 0);
    if (!k->st->scores)
        return m.to;
    if (hard > 0)
        add_matching(&m, &terms.affinity, (struct sums){ .preferences = 1, .score = hard }, 0);
    add_matching(&m, &terms.prefer, (struct sums){ .preferences = 1 }, 1);
    add_matching(&m, &terms.avoid, (struct sums){ .preferences = 1 }, -1);
    return m.to;
}

static struct memo_slot *memo_slot(struct memo_slot *slots, const void *key, const char *ns)
{
    uint64_t h = ((uintptr_t)key ^ (uintptr_t)ns << 7) * UINT64_C(0x9e3779b97f4a7c15);
    return &slots[h >> 54];
}
_Static_assert(MEMO_SLOTS == 1 << 10, "memo_slot() takes ten bits");

static const struct effects *remembered(struct counting *k, struct memo_slot *slots,
                                        const void *key, const struct pod *other,
                                        const struct effects *(*find)(struct counting *,
                                                                      const struct pod *))
{
    const char *ns = other->obj.meta.ns;
    struct memo_slot *s = memo_slot(slots, key, ns);

    if (s->call != k->self->call || s->key != key || s->ns != ns)
        *s = (struct memo_slot){ key, ns, k->self->call, find(k, other) };
    return s->effects;
}

static void apply(const struct effects *e, uint32_t row, int sign)
{
    for (uint32_t i = 0; i < e->n; i++)
        topo_add(e->items[i].topo, row, &e->items[i].d, sign);
}

void counting_pod(struct counting *k, const struct pod *other, uint32_t row, int sign)
{
    const kstrmap *labels = &other->obj.meta.labels;

    if (k->st->any_own)
        apply(remembered(k, k->self->by_labels, labels->n ? labels->items : NULL, other,
                         effects_of_labels),
              row, sign);
    if (podterms_any(other))
        apply(remembered(k, k->self->by_terms, other->spec, other, effects_of_terms), row, sign);
}

/* Without terms of our own only pods with terms count for anything. */
static uint32_t how_many_count(const struct counting *k, const struct ks_podlist *l)
{
    return k->st->any_own ? l->n : l->naffinity;
}

void counting_row(struct counting *k, uint32_t row)
{
    const struct ks_podlist *l = &k->nodes->pods[row];
    uint32_t n = how_many_count(k, l);

    for (uint32_t i = 0; i < n; i++)
        counting_pod(k, l->items[i], row, 1);
}

/* Lists and pods lie all over the memory: they are fetched some rows ahead. Not in a function of
 * its own: gcc 12 drops calls of a function that does nothing but fetch. */
void counting_all(struct counting *k)
{
    enum { LISTS = 16, PODS = 8 };
    const struct ks_podlist *pods = k->nodes->pods;
    uint32_t nrows = k->nodes->n;

    for (uint32_t row = 0; row < nrows; row++) {
        const struct ks_podlist *next = &pods[row + PODS < nrows ? row + PODS : row];
        uint32_t n = how_many_count(k, next);
        __builtin_prefetch(pods[row + LISTS < nrows ? row + LISTS : row].items);
        for (uint32_t i = 0; i < n; i++) {
            __builtin_prefetch(&next->items[i]->obj.meta.ns);
            __builtin_prefetch(&next->items[i]->obj.meta.labels);
            __builtin_prefetch(&next->items[i]->spec);
        }
        counting_row(k, row);
    }
}

struct counting counting_begin(struct affinity_self *self, struct affinity_state *st,
                               const struct ks_nodes *nodes, const struct pod *p)
{
    static const kstrmap no_labels;
    const char *ns = p->obj.meta.ns;
    const kstrmap *ns_labels = namespace_labels(self->objects, ns);

    arena_reset(self->scratch);
    self->call++;
    return (struct counting){
        .self = self,
        .st = st,
        .nodes = nodes,
        .pod = { ns, &p->obj.meta.labels, ns_labels ? ns_labels : &no_labels },
    };
}
