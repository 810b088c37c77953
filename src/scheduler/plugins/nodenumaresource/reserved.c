/* reserved.c - CPUs and parts of NUMA nodes that reservations hold (sched-numa 9).
 *
 * Where a pod may use reservations their pods are away from the row, so its stock has what they
 * keep; it is for those who take room of that reservation only. Nobody gets the CPUs of a
 * reservation without being its owner, and no owner those of another reservation.
 */
#include "api/koord/reservation.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"

/* ---- which reservations ---------------------------------------------------------------------- */

static struct restored_rows *restored_of(struct numa_plugin *n, const struct ks_cycle *c,
                                         const struct ks_pod *p)
{
    for (uint32_t i = 0; i < ATTEMPTS_NESTED; i++)
        if (n->restored[i].of == c && n->restored[i].pod == p->pod && n->restored[i].now == c->now)
            return &n->restored[i];
    return NULL;
}

static void note_restored(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_overlay *o, const struct ks_restored *r)
{
    struct numa_plugin *n = self;
    struct restored_rows *x = restored_of(n, c, p);

    (void)o;
    if (!x) {
        x = &n->restored[n->restored_next++ % ATTEMPTS_NESTED];
        x->of = c;
        x->pod = p->pod;
        x->now = c->now;
        vec_clear(&x->rows);
    }
    vec_push(&x->rows, *r);
}

static const struct ks_restored *restored_row(const struct numa_try *t)
{
    const struct restored_rows *x = restored_of(t->n, t->c, t->p);

    for (size_t i = x ? x->rows.n : 0; i-- > 0;)
        if (x->rows.items[i].row == t->row)
            return &x->rows.items[i];
    return NULL;
}

/* ---- what they keep -------------------------------------------------------------------------- */

struct kept { /* of a reservation, for owners to come */
    const struct ks_reservation *of;
    struct cpuset cpus;
    int64_t parts[ZONES_MAX][NUMA_RESOURCES];
    bool any; /* it holds something here at all */
};

static void add_parts(const struct site *site, const struct grant *g, int64_t sign,
                      int64_t parts[ZONES_MAX][NUMA_RESOURCES])
{
    for (uint32_t i = 0; i < g->nparts; i++)
        for (uint32_t z = 0; z < site->nzones; z++)
            if (site->zone[z].id == g->part[i].numa_id)
                parts[z][g->part[i].resource] += sign * g->part[i].amount;
}

static void kept_of(const struct numa_plugin *n, const struct site *site,
                    const struct ks_reservation *r, struct kept *ret)
{
    const struct grant *g = grants_find(n->grants, r->uid);

    *ret = (struct kept){ .of = r, .any = g != NULL };
    if (!g)
        return;
    ret->cpus = g->cpus;
    add_parts(site, g, 1, ret->parts);
    for (uint32_t i = 0; i < r->nowners; i++) {
        const struct grant *owner = grants_find(n->grants, r->owners[i]->uid);
        if (!owner)
            continue;
        ret->cpus = cpuset_minus(&ret->cpus, &owner->cpus);
        add_parts(site, owner, -1, ret->parts);
    }
    for (uint32_t z = 0; z < site->nzones; z++)
        for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
            ret->parts[z][res] = MAX(ret->parts[z][res], 0);
}

/* ---- what is left for one of them ------------------------------------------------------------ */

struct left {
    int64_t v[ZONES_MAX][NUMA_RESOURCES];
};

/* Neither CPUs nor amounts that other reservations of the row keep. */
static void bar_others(const struct numa_try *t, const struct ks_restored *row,
                       const struct ks_reservation *but, struct numa_request *r, struct left *left)
{
    const struct stock *s = ks_row(t->c->rows, t->row);

    for (uint32_t z = 0; z < s->site->nzones; z++)
        memcpy(left->v[z], s->zone[z].left, sizeof left->v[z]);
    for (uint32_t i = 0; i < row->nmatched; i++) {
        struct kept k;
        if (row->matched[i] == but)
            continue;
        kept_of(t->n, s->site, row->matched[i], &k);
        r->barred = cpuset_union(&r->barred, &k.cpus);
        for (uint32_t z = 0; z < s->site->nzones; z++)
            for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
                left->v[z][res] = MAX(left->v[z][res] - k.parts[z][res], 0);
    }
    r->left = (const int64_t(*)[NUMA_RESOURCES])left->v;
}

static enum ks_code allocate(const struct numa_try *t, const struct numa_request *r, uint64_t mask,
                             struct numa_allocation *ret, struct ks_texts *why)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    struct numa_allocation own;

    if (!ret && !why)
        return stock_can_allocate(s, r, mask) ? KS_SUCCESS : KS_UNSCHEDULABLE;
    return stock_allocate(s, &t->n->grants->names, r, mask, ret ? ret : &own, why);
}

static enum ks_code try_node(const struct numa_try *t, const struct ks_restored *row, uint64_t mask,
                             struct numa_allocation *ret, struct ks_texts *why)
{
    struct numa_request r = *t->r;
    struct left left;

    bar_others(t, row, NULL, &r, &left);
    return allocate(t, &r, mask, ret, why);
}

/* Of a Restricted one nothing but what it keeps; of the others first what it keeps. */
static enum ks_code try_reservation(const struct numa_try *t, const struct ks_restored *row,
                                    const struct kept *k, uint64_t mask,
                                    struct numa_allocation *ret, struct ks_texts *why)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    struct numa_request r = *t->r;
    struct left left;

    bar_others(t, row, k->of, &r, &left);
    r.preferred = k->cpus;
    if (k->of->policy != ALLOCATE_RESTRICTED)
        return allocate(t, &r, mask, ret, why);
    if (r.bind && r.cpus.need > cpuset_count(&k->cpus)) {
        if (why)
            ks_texts_add(why, CPUS_NOT_ENOUGH);
        return KS_UNSCHEDULABLE;
    }
    r.barred = cpuset_minus(&s->free, &k->cpus);
    if (mask)
        r.left = k->parts;
    return allocate(t, &r, mask, ret, why);
}

/* A pod that ignores reservations may take from all of them. */
static bool ignores(const struct pod *p)
{
    const char *v = kstrmap_get(&p->obj.meta.labels, LABEL_RESERVATION_IGNORED);

    return v && streq(v, "true");
}

/* ---- tries ----------------------------------------------------------------------------------- */

/* The CPUs that a hint names must be free; parts of NUMA nodes are taken as they are. */
static enum ks_code try_designated(const struct numa_try *t, const struct numa_allocation *wanted,
                                   struct numa_allocation *ret, struct ks_texts *why)
{
    const struct stock *s = ks_row(t->c->rows, t->row);

    if (t->r->bind && (!cpuset_subset(&wanted->cpus, &s->free) ||
                       cpuset_count(&wanted->cpus) != t->r->cpus.need)) {
        if (why)
            ks_texts_add(why, CPUS_NOT_ENOUGH);
        return KS_UNSCHEDULABLE;
    }
    if (ret)
        *ret = *wanted;
    return KS_SUCCESS;
}

enum ks_code numa_try(const struct numa_try *t, uint64_t mask, struct numa_allocation *ret,
                      struct ks_texts *why)
{
    const struct incoming *in = t->c->state;
    const struct ks_restored *row = restored_row(t);
    const struct stock *s = ks_row(t->c->rows, t->row);

    if (in->designated)
        return try_designated(t, in->designated, ret, why);
    if (!row || ignores(t->p->pod))
        return allocate(t, t->r, mask, ret, why);
    for (uint32_t i = 0; i < row->nmatched; i++) {
        struct kept k;
        kept_of(t->n, s->site, row->matched[i], &k);
        if (k.any && try_reservation(t, row, &k, mask, ret, NULL) == KS_SUCCESS)
            return KS_SUCCESS;
    }
    return try_node(t, row, mask, ret, why);
}

enum ks_code numa_try_of(const struct numa_try *t, const struct ks_reservation *of, uint64_t mask,
                         struct numa_allocation *ret, struct ks_texts *why)
{
    const struct incoming *in = t->c->state;
    const struct ks_restored *row = restored_row(t);
    const struct stock *s = ks_row(t->c->rows, t->row);
    struct kept k = { 0 };

    if (in->designated)
        return try_designated(t, in->designated, ret, why);
    if (!row || ignores(t->p->pod))
        return allocate(t, t->r, mask, ret, why);
    if (of)
        kept_of(t->n, s->site, of, &k);
    if (!k.any)
        return try_node(t, row, mask, ret, why);
    if (try_reservation(t, row, &k, mask, ret, NULL) == KS_SUCCESS)
        return KS_SUCCESS;
    if (why)
        ks_texts_add(why, "pod has a nominated reservation but cannot be allocated within its NUMA "
                          "scope");
    return KS_UNSCHEDULABLE;
}

/* ---- nomination ------------------------------------------------------------------------------ */

static enum ks_code filter_nominated(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     const struct ks_reservation *of, uint32_t row,
                                     struct ks_texts *why)
{
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    struct numa_request r;
    enum numa_policy policy;
    uint64_t mask = 0;

    if (!in || !incoming_policy(in, s, &policy) || !incoming_on(self, in, s, &r) ||
        (!r.bind && policy == NUMA_POLICY_NONE))
        return KS_SUCCESS;
    if (r.bind && !s->site->machine) {
        ks_texts_add(why, "node(s) invalid CPU Topology");
        return KS_UNRESOLVABLE;
    }
    if (policy != NUMA_POLICY_NONE && s->site->nzones && !in->designated &&
        numa_place(self, c, p, row, policy, &mask, NULL) != KS_SUCCESS)
        return KS_UNSCHEDULABLE;
    const struct numa_try t = { self, c, p, row, &r };
    if (numa_try_of(&t, of, mask, NULL, NULL) == KS_SUCCESS)
        return KS_SUCCESS;
    ks_texts_add(why, "reservation NUMA scope is incompatible with the best topology hint");
    return KS_UNSCHEDULABLE;
}

const struct ks_reservation_hooks numa_reservations = {
    .restore = note_restored,
    .filter_nominated = filter_nominated,
    .pre_bind_reservation = numa_pre_bind,
};
