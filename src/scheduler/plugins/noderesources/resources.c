/* resources.c - the resources that a configuration weighs, and which of these count for a pod. */
#include "api/podresources.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "scheduler/model/requests.h"
#include "scheduler/plugins/noderesources/noderesources.h"

/* What the whole pod says about huge pages is not heard where silence counts: upstream's quirk, as
 * for cpu and memory. */
static int64_t scalar_want(const struct ks_pod *p, enum res_count count, const char *name,
                           struct arena *a)
{
    if (count == RES_COUNT_NONZERO && str_starts(name, "hugepages-") &&
        pod_level_requests_set(p->pod->spec)) {
        reslist l = pod_requests(p->pod, &(struct podres_options){ .skip_pod_level = true }, a);
        return requests_count(&l, name);
    }
    for (uint32_t i = 0; i < p->requests.nmore; i++)
        if (streq(p->requests.more[i].name, name))
            return p->requests.more[i].count;
    return 0;
}

static uint32_t fixed_column(const char *name)
{
    if (streq(name, RES_CPU))
        return KS_MCPU;
    if (streq(name, RES_MEMORY))
        return KS_MEMORY;
    return streq(name, RES_EPHEMERAL_STORAGE) ? KS_EPHEMERAL : KS_NO_COLUMN;
}

static int64_t fixed_want(const struct ks_pod *p, enum res_count count, uint32_t column)
{
    if (count == RES_COUNT_NONZERO && column == KS_MCPU)
        return p->requests.mcpu_nz;
    if (count == RES_COUNT_NONZERO && column == KS_MEMORY)
        return p->requests.memory_nz;
    return p->requests.fixed[column];
}

static void add_term(struct res_terms *t, uint32_t column, int64_t want, int64_t weight)
{
    t->cpu = column == KS_MCPU ? t->n : t->cpu;
    t->memory = column == KS_MEMORY ? t->n : t->memory;
    t->items[t->n++] = (struct res_term){ column, want, weight };
}

struct res_terms res_terms_of(const res_weights *w, enum res_count count,
                              const struct ks_nodes *nodes, const struct ks_pod *p, struct arena *a)
{
    struct res_terms t = { .count = count, .items = arena_newn0(a, w->n, struct res_term) };

    for (uint32_t i = 0; i < w->n; i++) {
        const char *name = w->items[i].name;
        uint32_t column = fixed_column(name);
        int64_t want = 0;
        if (column != KS_NO_COLUMN) {
            want = fixed_want(p, count, column);
        } else {
            want = scalar_want(p, count, name, a);
            column = want > 0 ? ks_column_of(nodes, name) : KS_NO_COLUMN;
        }
        t.asks |= want > 0;
        if (column != KS_NO_COLUMN)
            add_term(&t, column, want, w->items[i].weight);
    }
    t.simple =
        t.n == 2 && t.items[t.cpu].column == KS_MCPU && t.items[t.memory].column == KS_MEMORY;
    return t;
}

const int64_t *res_used(const struct ks_nodes *nodes, enum res_count count, uint32_t column)
{
    if (count == RES_COUNT_NONZERO && column == KS_MCPU)
        return nodes->used_mcpu_nz;
    if (count == RES_COUNT_NONZERO && column == KS_MEMORY)
        return nodes->used_memory_nz;
    return nodes->used[column];
}
