/* judge.c - does a pod fit a row, and on which of its NUMA nodes (sched-numa 3, 4, 7). */
#include "api/protocol/node.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"

/* ---- the pod on a row ------------------------------------------------------------------------ */

static bool is_bound(const struct incoming *in, const struct stock *s)
{
    return in->bind || (in->amount[NUMA_RES_CPU] > 0 && s->site->bind != NODE_CPU_BIND_NONE);
}

bool incoming_on(const struct numa_plugin *n, const struct incoming *in, const struct stock *s,
                 struct numa_request *ret)
{
    enum cpu_bind_policy of_node = site_bind(s->site);
    struct numa_request r = { .asks = in->asks,
                              .bind = is_bound(in, s),
                              .kubelet_pins = s->site->kubelet_static };
    int64_t mcpu = in->amount[NUMA_RES_CPU];

    memcpy(r.amount, in->amount, sizeof r.amount);
    memcpy(r.original, in->amount, sizeof r.original);
    if (r.bind) {
        if (mcpu % 1000)
            return false;
        r.amount[NUMA_RES_CPU] = amplify(mcpu, s->site->zone_ratio);
        r.required = in->required != CPU_BIND_NONE || of_node != CPU_BIND_NONE;
        r.cpus = (struct cpu_request){
            .need = (unsigned)MIN(mcpu / 1000, 2 * CPUSET_MAX),
            .bind = in->required != CPU_BIND_NONE ? in->required
                    : of_node != CPU_BIND_NONE    ? of_node
                                                  : in->preferred,
            .exclusive = in->exclusive,
            .strategy = site_strategy(s->site, n->zone_strategy),
        };
    }
    *ret = r;
    return true;
}

bool incoming_policy(const struct incoming *in, const struct stock *s, enum numa_policy *ret)
{
    return numa_policy_merge((enum numa_policy)s->site->policy, in->policy, ret);
}

/* ---- hints ----------------------------------------------------------------------------------- */

struct masks { /* every set of NUMA nodes, small ones first, each size in lexicographic order */
    const struct site *site;
    uint32_t pick[ZONES_MAX], size;
};

static bool masks_next(struct masks *m, uint64_t *ret)
{
    uint32_t n = m->site->nzones, i = m->size;

    while (i > 0 && m->pick[i - 1] == n - m->size + i - 1)
        i--;
    if (i > 0) {
        m->pick[i - 1]++;
    } else {
        if (m->size == n)
            return false;
        m->size++;
        m->pick[0] = 0;
        i = 1;
    }
    for (; i < m->size; i++)
        m->pick[i] = m->pick[i - 1] + 1;
    *ret = 0;
    for (i = 0; i < m->size; i++)
        *ret |= UINT64_C(1) << m->site->zone[m->pick[i]].id;
    return true;
}

struct asking { /* for hints */
    struct numa_plugin *n;
    const struct stock *s;
    struct numa_request r;
    int64_t left[ZONES_MAX][NUMA_RESOURCES]; /* for this pod */
    uint64_t lack[NUMA_RESOURCES];           /* NUMA ids that have none of it */
    struct numa_hint *hints[NUMA_RESOURCES];
    uint32_t nhints[NUMA_RESOURCES], min[NUMA_RESOURCES];
    uint32_t seen; /* resources of the sets that were looked at */
};

static void look_around(struct asking *q)
{
    const struct site *site = q->s->site;

    for (uint32_t z = 0; z < site->nzones; z++)
        for (uint32_t res = 0; res < q->n->grants->names.n; res++) {
            int64_t left = stock_left(q->s, &q->r, z, res);
            q->left[z][res] = left;
            if (left == 0 || !(site->zone[z].has >> res & 1))
                q->lack[res] |= UINT64_C(1) << site->zone[z].id;
        }
}

/* Sums over the zones of a set; false: they cannot hold the pod. */
static bool sum_zones(struct asking *q, const struct masks *m, struct numa_sums *sums)
{
    const int64_t *want = q->r.bind ? q->r.original : q->r.amount;
    uint32_t tracked = 0;

    *sums = (struct numa_sums){ 0 };
    for (uint32_t i = 0; i < m->size; i++) {
        const struct zone *z = &q->s->site->zone[m->pick[i]];
        q->seen |= z->has;
        for (uint32_t res = 0; res < q->n->grants->names.n; res++) {
            sums->capacity[res] += z->capacity[res];
            sums->requested[res] += q->left[m->pick[i]][res]; /* what is left, for now */
        }
    }
    for (uint32_t z = 0; z < q->s->site->nzones; z++)
        tracked |= q->s->site->zone[z].has;
    for (uint32_t res = 0; res < q->n->grants->names.n; res++) {
        if (q->r.asks & tracked & 1u << res && sums->requested[res] < want[res])
            return false;
        sums->requested[res] = MAX(sums->capacity[res] - sums->requested[res], 0);
    }
    return true;
}

static void add_hints(struct asking *q, uint64_t mask, uint32_t size, int64_t score,
                      struct arena *a)
{
    uint32_t all = (1u << q->s->site->nzones) - 1;

    for (uint32_t res = 0; res < q->n->grants->names.n; res++) {
        if (!(q->r.asks & q->seen & 1u << res) || mask & q->lack[res])
            continue;
        if (!q->hints[res])
            q->hints[res] = arena_newn0(a, all, struct numa_hint);
        q->hints[res][q->nhints[res]++] = (struct numa_hint){ .mask = mask, .score = score };
        q->min[res] = MIN(q->min[res], size);
    }
}

static void give_hints(struct asking *q, struct numa_lists *out)
{
    for (uint32_t res = 0; res < q->n->grants->names.n; res++) {
        if (!(q->r.asks & q->seen & 1u << res))
            continue;
        for (uint32_t i = 0; i < q->nhints[res]; i++)
            q->hints[res][i].preferred =
                out->policy == NUMA_POLICY_RESTRICTED ||
                (uint32_t)__builtin_popcountll(q->hints[res][i].mask) == q->min[res];
        numa_lists_add(out, &(struct numa_hints){ .resource = q->n->grants->names.name[res],
                                                  .hints = q->hints[res],
                                                  .n = q->nhints[res] });
    }
}

static enum ks_code provide_hints(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct numa_lists *out, struct ks_texts *why)
{
    const struct stock *s = ks_row(c->rows, row);
    struct asking q = { .n = self, .s = s };
    struct masks m = { .site = s->site };
    struct numa_sums sums;
    uint64_t mask;

    (void)why;
    if (!c->state || !incoming_on(self, c->state, s, &q.r))
        return KS_SUCCESS;
    for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
        q.min[res] = s->site->nzones;
    look_around(&q);
    const struct numa_try t = { self, c, p, row, &q.r };
    /* Only single NUMA nodes decide, when nobody reads which others would do. */
    uint32_t largest = out->policy == NUMA_POLICY_SINGLE_NODE && !out->complete ? 1 : ZONES_MAX;
    uint32_t found = 0; /* the size of the last that would do */
    while (masks_next(&m, &mask) && m.size <= largest) {
        if (out->narrow && found && m.size > found) {
            out->cut = true;
            break;
        }
        if (!sum_zones(&q, &m, &sums) || numa_try(&t, mask, NULL, NULL) != KS_SUCCESS)
            continue;
        found = m.size;
        add_hints(&q, mask, m.size, numa_score_of(self, q.n->zone_strategy, &q.r, &sums),
                  out->arena);
    }
    give_hints(&q, out);
    return KS_SUCCESS;
}

static enum ks_code provide_allocation(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       uint32_t row, uint64_t mask, struct ks_texts *why)
{
    const struct stock *s = ks_row(c->rows, row);
    struct numa_request r;

    if (!c->state || !incoming_on(self, c->state, s, &r))
        return KS_SUCCESS;
    return numa_try(&(struct numa_try){ self, c, p, row, &r }, mask, NULL, why);
}

enum ks_code numa_place(struct numa_plugin *n, const struct ks_cycle *c, const struct ks_pod *p,
                        uint32_t row, enum numa_policy policy, uint64_t *ret_mask,
                        struct ks_texts *why)
{
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    uint8_t status[NUMA_MAX];
    struct numa_site site = {
        .policy = policy,
        .exclusive = in->numa_exclusive,
        .nodes = site_zone_mask(s->site),
        .status = status,
    };

    stock_status(s, status);
    arena_reset(n->scratch);
    return numa_admit(c, p, row, &site, n->scratch, ret_mask, why);
}

static enum ks_code provide_place(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, uint64_t *ret_mask, struct ks_texts *why)
{
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    enum numa_policy policy;

    if (!in || in->designated || !incoming_policy(in, s, &policy) || policy == NUMA_POLICY_NONE ||
        s->site->nzones == 0)
        return KS_SUCCESS;
    return numa_place(self, c, p, row, policy, ret_mask, why);
}

const struct ks_numa numa_provider = {
    .hints = provide_hints,
    .allocate = provide_allocation,
    .place = provide_place,
};

/* ---- the verdict ----------------------------------------------------------------------------- */

/* On a node that amplifies, bound CPUs take more than they say (sched-numa 4.1). */
static uint8_t judge_amplified(const struct ks_cycle *c, const struct incoming *in,
                               const struct stock *s, uint32_t row)
{
    int64_t want = in->amount[NUMA_RES_CPU], used = c->nodes->used[KS_MCPU][row];
    int64_t bound = 1000 * (int64_t)s->ntaken;

    if (want == 0)
        return WHY_FITS;
    if (s->site->flags & SITE_BAD_RATIO)
        return WHY_RATIO;
    if (s->site->ratio <= 1)
        return WHY_FITS;
    if (is_bound(in, s))
        want = amplify(want, s->site->ratio);
    if (bound > 0 && used >= bound)
        used += amplify(bound, s->site->ratio) - bound;
    return want > c->nodes->alloc[KS_MCPU][row] - used ? WHY_AMPLIFIED : WHY_FITS;
}

static uint8_t judge_bound(const struct numa_try *t, enum numa_policy policy,
                           struct ks_texts *texts)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    const struct incoming *in = t->c->state;
    const struct numa_request *r = t->r;
    const struct machine *m = s->site->machine;
    enum cpu_bind_policy of_node = site_bind(s->site);
    enum cpu_bind_policy required = of_node != CPU_BIND_NONE ? of_node : in->required;

    if (!m)
        return WHY_TOPOLOGY;
    if (in->required != CPU_BIND_NONE && in->required != required)
        return WHY_CONFLICT;
    if (required == CPU_BIND_FULL_PCPUS && r->cpus.need % m->per_core)
        return WHY_SMT;
    if (required == CPU_BIND_NONE || policy != NUMA_POLICY_NONE)
        return WHY_FITS;
    return numa_try(t, 0, NULL, texts) == KS_SUCCESS ? WHY_FITS : WHY_CPUS;
}

static uint8_t judge_designated(const struct numa_try *t, struct ks_texts *texts)
{
    const struct stock *s = ks_row(t->c->rows, t->row);

    if (t->r->bind && !s->site->machine)
        return WHY_TOPOLOGY;
    return numa_try(t, 0, NULL, texts) == KS_SUCCESS ? WHY_FITS : WHY_CPUS;
}

uint8_t numa_judge(struct numa_plugin *n, const struct ks_cycle *c, const struct ks_pod *p,
                   uint32_t row, struct ks_texts *texts)
{
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    enum numa_policy policy;
    struct numa_request r;
    uint64_t mask;

    if (!incoming_policy(in, s, &policy))
        return WHY_POLICY;
    if (!incoming_on(n, in, s, &r))
        return WHY_INTEGER;
    const struct numa_try t = { n, c, p, row, &r };
    if (in->designated)
        return judge_designated(&t, texts);
    uint8_t why = judge_amplified(c, in, s, row);
    if (why == WHY_FITS && r.bind)
        why = judge_bound(&t, policy, texts);
    if (why != WHY_FITS || policy == NUMA_POLICY_NONE || policy == NUMA_POLICY_BEST_EFFORT)
        return why;
    if (s->site->nzones == 0)
        return WHY_NO_NUMA;
    return numa_place(n, c, p, row, policy, &mask, texts) == KS_SUCCESS ? WHY_FITS : WHY_NUMA;
}
