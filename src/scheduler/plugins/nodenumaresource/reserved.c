/* reserved.c - CPUs and parts of NUMA nodes that reservations hold (sched-numa 9).
 *
 * Where a pod may use reservations their pods are away from the row, so its stock has what they
 * keep; it is for those who take room of that reservation only. Nobody gets the CPUs of a
 * reservation without being its owner, and no owner those of another reservation. Where a
 * reservation may take over running pods these are away in the same way: it gets all that those
 * have which it takes over, and nothing of the others.
 */
#include "api/koord/reservation.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"

/* ---- which ones ------------------------------------------------------------------------------ */

static struct restored_rows *restored_of(struct numa_plugin *n, const struct ks_cycle *c)
{
    for (uint32_t i = 0; i < ATTEMPTS_NESTED; i++)
        if (n->restored[i].serial == c->serial)
            return &n->restored[i];
    return NULL;
}

static void add_restored(struct numa_plugin *n, const struct ks_cycle *c,
                         const struct restored_row *r)
{
    struct restored_rows *x = restored_of(n, c);

    if (!x) {
        x = &n->restored[n->restored_next++ % ATTEMPTS_NESTED];
        x->serial = c->serial;
        vec_clear(&x->rows);
    }
    vec_push(&x->rows, *r);
}

static void note_restored(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_overlay *o, const struct ks_restored *r)
{
    (void)o, (void)p;
    add_restored(
        self, c,
        &(struct restored_row){ .row = r->row, .matched = r->matched, .nmatched = r->nmatched });
}

static void note_pods(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_overlay *o, uint32_t row, const struct pod *const *pods, uint32_t n)
{
    (void)o, (void)p;
    add_restored(self, c, &(struct restored_row){ .row = row, .pods = pods, .npods = n });
}

static const struct restored_row *restored_row(const struct numa_try *t)
{
    const struct restored_rows *x = restored_of(t->n, t->c);

    for (size_t i = x ? x->rows.n : 0; i-- > 0;)
        if (x->rows.items[i].row == t->row)
            return &x->rows.items[i];
    return NULL;
}

bool numa_takes_over(const struct numa_try *t)
{
    const struct restored_row *row = restored_row(t);

    return row && row->npods;
}

void numa_mark_restored(struct numa_plugin *n, const struct ks_cycle *c, struct ks_span s,
                        uint8_t from, uint8_t to, uint8_t *why)
{
    const struct restored_rows *x = restored_of(n, c);

    for (size_t i = 0; x && i < x->rows.n; i++) {
        uint32_t row = x->rows.items[i].row;
        if (row >= s.begin && row < s.end && why[row] == from)
            why[row] = to;
    }
}

/* ---- what they keep -------------------------------------------------------------------------- */

struct kept { /* of a reservation for owners to come, or of a pod for who takes it over */
    struct cpuset cpus;
    int64_t parts[ZONES_MAX][NUMA_RESOURCES];
    bool any; /* it holds something here at all */
};

static void add_parts(const struct site *site, const struct grant *g, int64_t sign, struct kept *k)
{
    for (uint32_t i = 0; i < g->nparts; i++)
        for (uint32_t z = 0; z < site->nzones; z++)
            if (site->zone[z].id == g->part[i].numa_id)
                k->parts[z][g->part[i].resource] += sign * g->part[i].amount;
}

/* An owner that is tried away has given its part back to the reservation. */
static bool is_on_row(const struct numa_try *t, struct kuid uid)
{
    const struct ks_podlist *pods = &t->c->nodes->pods[t->row];

    for (uint32_t i = 0; i < pods->n; i++)
        if (kuid_equal(pods->items[i]->obj.meta.uid, uid))
            return true;
    return false;
}

static void add_reservation(const struct numa_try *t, const struct ks_reservation *r,
                            struct kept *k)
{
    const struct site *site = ((const struct stock *)ks_row(t->c->rows, t->row))->site;
    const struct grant *g = grants_find(t->n->grants, r->uid);
    struct kept own = { .any = g != NULL };

    if (!g)
        return;
    own.cpus = g->cpus;
    add_parts(site, g, 1, &own);
    for (uint32_t i = 0; i < r->nowners; i++) {
        const struct grant *owner = grants_find(t->n->grants, r->owners[i]->uid);
        if (!owner || !is_on_row(t, owner->uid))
            continue;
        own.cpus = cpuset_minus(&own.cpus, &owner->cpus);
        add_parts(site, owner, -1, &own);
    }
    for (uint32_t z = 0; z < site->nzones; z++)
        for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
            k->parts[z][res] += MAX(own.parts[z][res], 0);
    k->cpus = cpuset_union(&k->cpus, &own.cpus);
    k->any = true;
}

static void add_taken_over(const struct numa_try *t, const struct pod *p, struct kept *k)
{
    const struct site *site = ((const struct stock *)ks_row(t->c->rows, t->row))->site;
    const struct grant *g = grants_find(t->n->grants, p->obj.meta.uid);

    if (!g)
        return;
    add_parts(site, g, 1, k);
    k->cpus = cpuset_union(&k->cpus, &g->cpus);
    k->any = true;
}

/* ---- what is left for the chosen ones -------------------------------------------------------- */

struct choice { /* of what was given back on a row: one reservation, or some pods; or nothing */
    const struct ks_reservation *of;
    const struct pod *const *pods;
    uint32_t npods;
};

static bool is_chosen(const struct choice *x, const struct pod *p)
{
    for (uint32_t i = 0; i < x->npods; i++)
        if (kuid_equal(x->pods[i]->obj.meta.uid, p->obj.meta.uid))
            return true;
    return false;
}

static struct kept kept_by(const struct numa_try *t, const struct choice *x)
{
    struct kept k = { 0 };

    if (x->of)
        add_reservation(t, x->of, &k);
    for (uint32_t i = 0; i < x->npods; i++)
        add_taken_over(t, x->pods[i], &k);
    return k;
}

struct left {
    int64_t v[ZONES_MAX][NUMA_RESOURCES];
};

/* Neither CPUs nor amounts that the others keep. */
static void bar_others(const struct numa_try *t, const struct restored_row *row,
                       const struct choice *but, struct numa_request *r, struct left *left)
{
    const struct stock *s = ks_row(t->c->rows, t->row);
    struct kept k = { 0 };

    for (uint32_t i = 0; i < row->nmatched; i++)
        if (row->matched[i] != but->of)
            add_reservation(t, row->matched[i], &k);
    for (uint32_t i = 0; i < row->npods; i++)
        if (!is_chosen(but, row->pods[i]))
            add_taken_over(t, row->pods[i], &k);
    r->barred = cpuset_union(&r->barred, &k.cpus);
    for (uint32_t z = 0; z < s->site->nzones; z++)
        for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
            left->v[z][res] = MAX(s->zone[z].left[res] - k.parts[z][res], 0);
    r->left = (const int64_t(*)[NUMA_RESOURCES])left->v;
}

static enum ks_code refuse(struct ks_texts *why, const char *text)
{
    if (why)
        ks_texts_add(why, text);
    return KS_UNSCHEDULABLE;
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

static enum ks_code try_node(const struct numa_try *t, const struct restored_row *row,
                             uint64_t mask, struct numa_allocation *ret, struct ks_texts *why)
{
    struct numa_request r = *t->r;
    struct left left;

    bar_others(t, row, &(struct choice){ 0 }, &r, &left);
    return allocate(t, &r, mask, ret, why);
}

/* Of a Restricted one nothing but what it keeps; of the others first what it keeps. */
static enum ks_code try_reservation(const struct numa_try *t, const struct choice *x,
                                    const struct kept *k, struct numa_request *r, struct left *left,
                                    uint64_t mask, struct numa_allocation *ret,
                                    struct ks_texts *why)
{
    const struct stock *s = ks_row(t->c->rows, t->row);

    if (x->of->policy != ALLOCATE_RESTRICTED)
        return allocate(t, r, mask, ret, why);
    if (r->bind && r->cpus.need > cpuset_count(&k->cpus))
        return refuse(why, CPUS_NOT_ENOUGH);
    r->barred = cpuset_minus(&s->free, &k->cpus);
    for (uint32_t z = 0; z < s->site->nzones; z++)
        for (uint32_t res = 0; res < NUMA_RESOURCES; res++)
            left->v[z][res] = MIN(left->v[z][res], k->parts[z][res]);
    return allocate(t, r, mask, ret, why);
}

/* Who is taken over goes on running there: all of its CPUs must be among the reserved ones. */
static enum ks_code try_pods(const struct numa_try *t, const struct kept *k,
                             const struct numa_request *r, uint64_t mask,
                             struct numa_allocation *ret, struct ks_texts *why)
{
    struct numa_allocation own;

    ret = ret ? ret : &own;
    enum ks_code code = allocate(t, r, mask, ret, why);
    if (code == KS_SUCCESS && !cpuset_subset(&k->cpus, &ret->cpus))
        return refuse(why, CPUS_NOT_ENOUGH);
    return code;
}

static enum ks_code try_choice(const struct numa_try *t, const struct restored_row *row,
                               const struct choice *x, const struct kept *k, uint64_t mask,
                               struct numa_allocation *ret, struct ks_texts *why)
{
    struct numa_request r = *t->r;
    struct left left;

    bar_others(t, row, x, &r, &left);
    r.preferred = k->cpus;
    return x->of ? try_reservation(t, x, k, &r, &left, mask, ret, why)
                 : try_pods(t, k, &r, mask, ret, why);
}

/* A pod that ignores reservations may take from all of them, and does so first. */
static bool ignores(const struct pod *p)
{
    return reservation_is_ignored(&p->obj.meta.labels);
}

static enum ks_code try_all(const struct numa_try *t, const struct restored_row *row, uint64_t mask,
                            struct numa_allocation *ret, struct ks_texts *why)
{
    struct numa_request r = *t->r;
    struct kept k = { 0 };

    for (uint32_t i = 0; i < row->nmatched; i++)
        add_reservation(t, row->matched[i], &k);
    r.preferred = k.cpus;
    return allocate(t, &r, mask, ret, why);
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

static enum ks_code try_one(const struct numa_try *t, const struct restored_row *row,
                            const struct choice *x, uint64_t mask, struct numa_allocation *ret,
                            struct ks_texts *why, bool *found)
{
    struct kept k = kept_by(t, x);

    *found |= k.any;
    return k.any ? try_choice(t, row, x, &k, mask, ret, why) : KS_UNSCHEDULABLE;
}

/* Each of them alone, in the order in which they are known; then the first pods together, as a
 * reservation that may take over several does it. found: one that holds something. */
static enum ks_code try_each(const struct numa_try *t, const struct restored_row *row,
                             uint64_t mask, struct numa_allocation *ret, struct ks_texts *why,
                             bool *found)
{
    enum ks_code code = KS_UNSCHEDULABLE;

    for (uint32_t i = 0; code != KS_SUCCESS && i < row->nmatched; i++)
        code = try_one(t, row, &(struct choice){ .of = row->matched[i] }, mask, ret, why, found);
    for (uint32_t i = 0; code != KS_SUCCESS && i < row->npods; i++)
        code = try_one(t, row, &(struct choice){ .pods = &row->pods[i], .npods = 1 }, mask, ret,
                       why, found);
    for (uint32_t n = 2; code != KS_SUCCESS && n <= row->npods; n++)
        code = try_one(t, row, &(struct choice){ .pods = row->pods, .npods = n }, mask, ret, NULL,
                       found);
    return code;
}

static void add_prefixed(struct ks_texts *why, const struct ks_texts *texts)
{
    for (uint32_t i = 0; i < texts->n; i++)
        ks_texts_addf(why, "Reservation(s) %s", texts->items[i]);
}

enum ks_code numa_try(const struct numa_try *t, uint64_t mask, struct numa_allocation *ret,
                      struct ks_texts *why)
{
    const struct incoming *in = t->c->state;
    const struct restored_row *row = restored_row(t);
    struct ks_texts by_reservation = { .arena = why ? why->arena : NULL };
    bool found = false;

    if (in->designated)
        return try_designated(t, in->designated, ret, why);
    if (!row)
        return allocate(t, t->r, mask, ret, why);
    if (ignores(t->p->pod))
        return try_all(t, row, mask, ret, why);
    bool texts = why && in->of_others;
    if (try_each(t, row, mask, ret, texts ? &by_reservation : NULL, &found) == KS_SUCCESS)
        return KS_SUCCESS;
    if (!found || !in->of_others)
        return try_node(t, row, mask, ret, why);
    if (why)
        add_prefixed(why, &by_reservation);
    return KS_UNSCHEDULABLE;
}

/* The pods that the reservation is about to take over on the row. */
static void choose_pods(const struct numa_try *t, struct choice *x)
{
    const struct pod **pods, *p;
    uint32_t n = 0;

    while (ks_pre_allocated(t->c, t->row, n))
        n++;
    pods = arena_newn0(t->c->arena, n, const struct pod *);
    for (x->pods = pods; x->npods < n && (p = ks_pre_allocated(t->c, t->row, x->npods)); x->npods++)
        pods[x->npods] = p;
}

static enum ks_code try_chosen(const struct numa_try *t, const struct restored_row *row,
                               const struct choice *x, uint64_t mask, struct numa_allocation *ret,
                               struct ks_texts *why)
{
    struct kept k = kept_by(t, x);

    if (!k.any)
        return try_node(t, row, mask, ret, why);
    if (try_choice(t, row, x, &k, mask, ret, NULL) == KS_SUCCESS)
        return KS_SUCCESS;
    return refuse(why, "pod has a nominated reservation but cannot be allocated within its NUMA "
                       "scope");
}

enum ks_code numa_try_of(const struct numa_try *t, const struct ks_reservation *of, uint64_t mask,
                         struct numa_allocation *ret, struct ks_texts *why)
{
    const struct incoming *in = t->c->state;
    const struct restored_row *row = restored_row(t);
    struct choice x = { .of = of };

    if (in->designated)
        return try_designated(t, in->designated, ret, why);
    if (!row)
        return allocate(t, t->r, mask, ret, why);
    if (ignores(t->p->pod))
        return try_all(t, row, mask, ret, why);
    if (row->npods)
        choose_pods(t, &x);
    if (in->of_others && !x.of && !x.npods)
        return refuse(why,
                      row->npods ? "no nominated pre-allocatable pod" : "no nominated reservation");
    return try_chosen(t, row, &x, mask, ret, why);
}

/* ---- nomination ------------------------------------------------------------------------------ */

/* Would this choice do, on the NUMA nodes that are best for the pod? */
static enum ks_code filter_choice(const struct numa_try *at, const struct choice *x,
                                  struct ks_texts *why)
{
    const struct stock *s = ks_row(at->c->rows, at->row);
    const struct incoming *in = at->c->state;
    const struct restored_row *row;
    struct numa_try t = *at;
    struct numa_request r;
    enum numa_policy policy;
    uint64_t mask = 0;

    if (!in || in->designated || !incoming_policy(in, s, &policy) || !incoming_on(t.n, in, s, &r) ||
        (!r.bind && policy == NUMA_POLICY_NONE))
        return KS_SUCCESS;
    if (r.bind && !s->site->machine) {
        ks_texts_add(why, "node(s) invalid CPU Topology");
        return KS_UNRESOLVABLE;
    }
    t.r = &r;
    if (!(row = restored_row(&t)) || !kept_by(&t, x).any)
        return KS_SUCCESS;
    if (policy != NUMA_POLICY_NONE && s->site->nzones &&
        numa_place(t.n, t.c, t.p, t.row, policy, &mask, NULL) != KS_SUCCESS)
        return KS_UNSCHEDULABLE;
    if (try_chosen(&t, row, x, mask, NULL, NULL) == KS_SUCCESS)
        return KS_SUCCESS;
    return refuse(why, "reservation NUMA scope is incompatible with the best topology hint");
}

static enum ks_code filter_nominated(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     const struct ks_reservation *of, uint32_t row,
                                     struct ks_texts *why)
{
    return filter_choice(&(struct numa_try){ self, c, p, row, NULL }, &(struct choice){ .of = of },
                         why);
}

static enum ks_code filter_pre_allocated(void *self, const struct ks_cycle *c,
                                         const struct ks_pod *p, const struct pod *by, uint32_t row,
                                         struct ks_texts *why)
{
    return filter_choice(&(struct numa_try){ self, c, p, row, NULL },
                         &(struct choice){ .pods = &by, .npods = 1 }, why);
}

const struct ks_reservation_hooks numa_reservations = {
    .restore = note_restored,
    .restore_pre_allocation = note_pods,
    .filter_nominated = filter_nominated,
    .filter_pre_allocated = filter_pre_allocated,
    .pre_bind_reservation = numa_pre_bind,
};
