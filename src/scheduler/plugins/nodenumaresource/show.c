/* show.c - each NUMA node of a row, for koordctl explain: what is free there, and which pods would
 * have to leave before the pod fits on it alone.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"
#include "json/kj.h"

struct showing {
    struct numa_plugin *n;
    const struct ks_cycle *c;
    uint32_t row;
    struct site *site;
    const struct numa_request *r;
    struct arena *arena;
    const struct pod **pods; /* that hold something on the row, those that go first in front */
    uint32_t npods;
};

/* Low priorities first; of equal ones the last that came. */
static int by_priority(const void *pa, const void *pb)
{
    const struct pod *const *a = pa, *const *b = pb;
    int32_t x = pod_priority(*a), y = pod_priority(*b);

    if (x != y)
        return x < y ? -1 : 1;
    if ((*a)->obj.meta.created != (*b)->obj.meta.created)
        return (*a)->obj.meta.created > (*b)->obj.meta.created ? -1 : 1;
    return strcmp((*a)->obj.meta.name, (*b)->obj.meta.name);
}

static void find_pods(struct showing *s)
{
    const struct ks_podlist *pods = &s->c->nodes->pods[s->row];

    s->pods = arena_newn0(s->arena, pods->n + 1, const struct pod *);
    for (uint32_t i = 0; i < pods->n; i++)
        if (grants_find(s->n->grants, pods->items[i]->obj.meta.uid))
            s->pods[s->npods++] = pods->items[i];
    qsort(s->pods, s->npods, sizeof *s->pods, by_priority);
}

/* ---- who would have to leave ----------------------------------------------------------------- */

/* Does the pod fit on this NUMA node alone, without those who are away? */
static bool fits_without(const struct showing *s, int numa_id, const bool *away)
{
    const struct pod **rest = arena_newn0(s->arena, s->npods + 1, const struct pod *);
    struct ks_podlist pods = { .items = rest };
    struct numa_request r = *s->r;
    struct stock x;

    for (uint32_t i = 0; i < s->npods; i++)
        if (!away[i])
            rest[pods.n++] = s->pods[i];
    stock_init_pods(&x, s->n->grants, s->site, &pods);
    uint64_t mask = UINT64_C(1) << numa_id & site_zone_mask(x.site);
    if (r.bind) {
        const struct cpuset *here = machine_node_cpus(x.site->machine, numa_id);
        r.barred = here ? cpuset_minus(&x.site->machine->all, here) : x.site->machine->all;
    }
    bool fits = stock_can_allocate(&x, &r, mask);
    stock_fini(&x);
    return fits;
}

/* As preemption looks for victims: first enough of them, then whoever may stay after all. false:
 * it does not fit even when all leave. */
static bool find_leavers(const struct showing *s, int numa_id, bool *away)
{
    uint32_t n = 0;

    while (!fits_without(s, numa_id, away)) {
        if (n == s->npods)
            return false;
        away[n++] = true;
    }
    while (n-- > 0) {
        away[n] = false;
        away[n] = !fits_without(s, numa_id, away);
    }
    return true;
}

static void write_leavers(const struct showing *s, int numa_id, struct kjw *w)
{
    bool *away = arena_newn0(s->arena, s->npods + 1, bool);

    if (!find_leavers(s, numa_id, away)) {
        kjw_bool(w, "tooSmall", true);
        return;
    }
    kjw_arr(w, "wouldHaveToLeave");
    for (uint32_t i = 0; i < s->npods; i++) {
        char key[KOBJ_KEY_MAX];
        if (!away[i])
            continue;
        kobj_key(&s->pods[i]->obj, key, sizeof key);
        kjw_str(w, NULL, key);
    }
    kjw_end(w);
}

/* ---- what is free ---------------------------------------------------------------------------- */

static void write_free(const struct showing *s, const struct stock *x, int numa_id, struct kjw *w)
{
    const struct machine *m = x->site->machine;
    const struct cpuset *here = m ? machine_node_cpus(m, numa_id) : NULL;

    for (uint32_t z = 0; z < x->site->nzones; z++) {
        if (x->site->zone[z].id != numa_id)
            continue;
        kjw_obj(w, "free"); /* cpu in milli, the others in units */
        for (uint32_t res = 0; res < s->n->grants->names.n; res++)
            if (x->site->zone[z].has >> res & 1)
                kjw_i64(w, s->n->grants->names.name[res], x->zone[z].left[res]);
        kjw_end(w);
    }
    if (here) {
        struct cpuset free = cpuset_intersect(&x->free, here);
        struct cpuset full = machine_usable(m, &free, CPU_BIND_FULL_PCPUS);
        kjw_str(w, "freeCPUs", cpuset_format(&free, s->arena));
        kjw_i64(w, "freeCores", machine_count_cores(m, &full));
    }
}

/* The NUMA ids that the machine or the zones have. */
static uint64_t ids_of(const struct site *site)
{
    uint64_t ids = site_zone_mask(site);

    for (uint16_t i = 0; site->machine && i < site->machine->nnodes; i++)
        ids |= UINT64_C(1) << site->machine->node_id[i];
    return ids;
}

/* Nothing for pods to which CPUs and NUMA nodes of the row do not matter. */
void numa_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
               struct kjw *w)
{
    const struct stock *x = ks_row(c->rows, row);
    CLEANUP(arena_free) struct arena *a = NULL;
    enum numa_policy policy;
    struct numa_request r;

    (void)p;
    if (!c->state || !incoming_policy(c->state, x, &policy) ||
        !incoming_on(self, c->state, x, &r) || (!r.bind && policy == NUMA_POLICY_NONE) ||
        (r.bind && !x->site->machine))
        return;
    a = arena_new();
    struct showing s = { .n = self, .c = c, .row = row, .site = x->site, .r = &r, .arena = a };
    find_pods(&s);
    if (policy != NUMA_POLICY_NONE)
        kjw_str(w, "policy", numa_policy_name(policy));
    kjw_arr(w, "numaNodes");
    for (int id = 0; id < NUMA_MAX; id++) {
        if (!(ids_of(x->site) >> id & 1))
            continue;
        kjw_obj(w, NULL);
        kjw_i64(w, "node", id);
        write_free(&s, x, id, w);
        write_leavers(&s, id, w);
        kjw_end(w);
    }
    kjw_end(w);
}
