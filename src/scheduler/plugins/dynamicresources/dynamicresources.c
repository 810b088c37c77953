/* dynamicresources.c - devices by ResourceClaim (sched-dra.md): claims of the pod that have devices
 * must be usable on the node, and the others get theirs there. */
#include "api/node.h"
#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/dynamicresources/allocate.h"
#include "scheduler/plugins/dynamicresources/args.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/hints.h"
#include "scheduler/plugins/dynamicresources/internal.h"
#include "scheduler/plugins/registry.h"

#include <stdio.h>

enum verdict { FITS, UNAVAILABLE, NO_CHOICE, BAD_POOLS, TIMED_OUT, FAILED };
static const struct ks_reason dra_reasons[] = {
    [FITS] = { KS_SUCCESS, "" },
    [UNAVAILABLE] = { KS_UNRESOLVABLE, "resourceclaim not available on the node" },
    [NO_CHOICE] = { KS_UNRESOLVABLE, "cannot allocate all claims" },
    [BAD_POOLS] = { KS_UNRESOLVABLE, "invalid resource pools were encountered" },
    [TIMED_OUT] = { KS_UNRESOLVABLE, "timed out trying to allocate devices" },
    [FAILED] = { KS_ERROR, "" },
};

struct dra_state {                        /* of an attempt */
    const struct resource_claim **claims; /* of the pod, in its order */
    const struct nodesel **where;         /* of those that are allocated; NULL: everywhere */
    uint32_t n;
    const struct resource_claim **missing; /* those that are not */
    uint32_t nmissing;
    struct plan *plan;   /* for them; NULL: there are none, or `failure` says why not */
    const char *failure; /* of the plan, or of the first node that failed */
    bool searches;       /* counts are not enough */
    int64_t *scores;     /* [row], where requests have alternatives; otherwise NULL */
    nsec_t deadline;     /* by the stopwatch; 0: none */
};

/* ---- before nodes are looked at -------------------------------------------------------------- */

static enum ks_code dra_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    const struct dra *d = self;
    const struct resource_claim **claims;
    uint32_t n;

    if (p->spec->resource_claims.n == 0)
        return KS_SUCCESS;
    return pod_claims(d->cache, p, why->arena, &claims, &n, why) < 0 ? KS_UNRESOLVABLE : KS_SUCCESS;
}

static bool class_exists(const struct dra *d, const char *request, const struct device_ask *k,
                         struct ks_texts *why)
{
    const char *class = k->device_class_name;

    /* A request without a class gets the allocator's words. */
    if (*class == '\0' || objects_get(d->cache->env.objects, &kind_device_class, NULL, class))
        return true;
    ks_texts_addf(why, "request %s%s%s: device class %s does not exist", request,
                  *k->name ? "/" : "", k->name, class);
    return false;
}

static bool request_is_known(const struct dra *d, const struct resource_claim *c,
                             const struct device_request *r, struct ks_texts *why)
{
    if (r->exactly)
        return class_exists(d, r->name, r->exactly, why);
    for (uint32_t i = 0; i < r->first_available.n; i++)
        if (!class_exists(d, r->name, &r->first_available.items[i], why))
            return false;
    if (r->first_available.n == 0)
        ks_texts_addf(why, "resource claim %s/%s, request %s: unknown request type", c->obj.meta.ns,
                      c->obj.meta.name, r->name);
    return r->first_available.n > 0;
}

/* May the claim be allocated at all? */
static bool is_open(const struct dra *d, const struct resource_claim *c, struct ks_texts *why)
{
    if (claimcache_is_in_flight(d->cache, c)) {
        ks_texts_addf(why, "resource claim %s/%s is in the process of being allocated",
                      c->obj.meta.ns, c->obj.meta.name);
        return false;
    }
    for (uint32_t i = 0; i < c->spec.devices.requests.n; i++)
        if (!request_is_known(d, c, &c->spec.devices.requests.items[i], why))
            return false;
    return true;
}

static bool read_claims(const struct dra *d, struct dra_state *st, struct arena *a,
                        struct ks_texts *why)
{
    st->where = arena_newn0(a, st->n, const struct nodesel *);
    st->missing = arena_newn0(a, st->n, const struct resource_claim *);
    for (uint32_t i = 0; i < st->n; i++) {
        const struct claim_allocation *got = st->claims[i]->status.allocation;
        if (got && got->node_selector)
            st->where[i] = nodesel_from(got->node_selector, a);
        if (got)
            continue;
        if (!is_open(d, st->claims[i], why))
            return false;
        st->missing[st->nmissing++] = st->claims[i];
    }
    return true;
}

static enum ks_code dra_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const struct dra *d = self;
    struct dra_state *st;

    (void)only;
    *ret_state = NULL;
    if (p->pod->spec->resource_claims.n == 0)
        return KS_SKIP;
    st = arena_new0(c->arena, struct dra_state);
    if (pod_claims(d->cache, p->pod, c->arena, &st->claims, &st->n, why) < 0)
        return KS_UNRESOLVABLE;
    if (st->n == 0)
        return KS_SKIP;
    *ret_state = st;
    if (!read_claims(d, st, c->arena, why))
        return KS_UNRESOLVABLE;
    if (st->nmissing) {
        (void)plan_make(d->cache->pools, d->cache->env.objects, st->missing, st->nmissing, NULL, c->arena,
                        &st->plan, &st->failure);
        st->searches = st->plan && search_is_needed(st->plan);
        if (st->plan && st->plan->alternatives)
            st->scores = arena_newn0(c->arena, c->nodes->n, int64_t);
        ks_rows_refresh(c);
    }
    if (d->timeout && d->loop)
        st->deadline = loop_stopwatch(d->loop) + d->timeout;
    return KS_SUCCESS;
}

/* ---- one node -------------------------------------------------------------------------------- */

struct dra_row {
    struct node_devices *devices;
};

/* The record of a node stays, and is told that the node has changed. */
static void dra_fill(void *self, struct ks_fill *f)
{
    const struct dra *d = self;
    struct dra_row *row = f->data;

    row->devices = pools_node(d->cache->pools, f->nodes->node[f->row]->obj.meta.name);
    row->devices->gone = false;
    node_devices_touch(row->devices);
}

static const struct ks_row_data dra_row = {
    .size = sizeof(struct dra_row),
    .on_demand = true,
    .fill = dra_fill,
};

struct timing {
    const struct dra *d;
    const struct dra_state *st;
};

static bool is_over(void *arg)
{
    const struct timing *t = arg;
    return t->st->deadline && loop_stopwatch(t->d->loop) >= t->st->deadline;
}

static enum verdict verdict_of(enum found f)
{
    static const enum verdict table[] = {
        [FOUND] = FITS,
        [FOUND_NONE] = NO_CHOICE,
        [FOUND_INVALID] = BAD_POOLS,
        [FOUND_TIMEOUT] = TIMED_OUT,
        [FOUND_ERROR] = FAILED,
    };
    return table[f];
}

static void search_row(struct dra *d, const struct dra_state *st, struct node_devices *n,
                       struct arena *a, struct outcome *ret)
{
    struct timing timing = { d, st };
    const struct patience patience = { is_over, &timing };

    search_node(st->plan, n, &patience, a, ret);
}

/* A selector that cannot be copied into an allocation fails the attempt as upstream's does. */
static bool results_are_possible(struct dra_state *st, const struct outcome *o,
                                 const struct node *node, const struct id_source *ids,
                                 struct arena *a)
{
    struct claim_allocation *got;
    const char *why;

    for (uint32_t i = 0; i < st->plan->n; i++)
        if (allocation_of(st->plan, o, i, node, ids, a, &got, &why) < 0) {
            st->failure = arena_strdup(st->plan->arena, why);
            return false;
        }
    return true;
}

static void no_id(void *arg, char out[37])
{
    (void)arg;
    out[0] = '\0';
}

/* Does some device of the node come from a slice whose selector an allocation would copy? */
static bool has_selectors(const struct node_devices *n)
{
    for (uint32_t i = 0; i < n->npools; i++)
        if (!n->pools[i].pool->node)
            return true;
    return false;
}

static enum verdict allocate_row(struct dra *d, struct dra_state *st, const struct ks_cycle *c,
                                 uint32_t row)
{
    struct node_devices *n = ((struct dra_row *)ks_row(c->rows, row))->devices;
    const struct node *node = c->nodes->node[row];
    const struct id_source ids = { no_id, NULL };
    struct outcome o;

    node_devices_refresh(n, node);
    switch (counts_say(st->plan, n, NULL)) {
    case COUNTS_TOO_FEW: return NO_CHOICE;
    case COUNTS_ENOUGH:
        if (!st->searches && !has_selectors(n))
            return FITS;
        break;
    case COUNTS_UNSURE: break;
    }
    arena_reset(d->scratch);
    search_row(d, st, n, d->scratch, &o);
    if (o.found == FOUND_ERROR && !st->failure)
        st->failure = arena_strdup(st->plan->arena, o.why);
    if (o.found == FOUND && st->scores)
        st->scores[row] = outcome_score(st->plan, &o);
    if (o.found == FOUND && has_selectors(n) &&
        !results_are_possible(st, &o, node, &ids, d->scratch))
        return FAILED;
    return verdict_of(o.found);
}

static bool is_available(const struct dra_state *st, uint32_t claim, const struct node *n)
{
    return !st->where[claim] ||
           nodesel_match(st->where[claim], &n->obj.meta.labels, n->obj.meta.name) == 1;
}

static uint8_t judge(struct dra *d, struct dra_state *st, const struct ks_cycle *c, uint32_t row)
{
    enum verdict v = FITS;

    if (st->nmissing && !st->plan)
        return FAILED;
    if (st->plan)
        v = allocate_row(d, st, c, row);
    for (uint32_t i = 0; v == FITS && i < st->n; i++)
        if (!is_available(st, i, c->nodes->node[row]))
            v = UNAVAILABLE;
    return (uint8_t)v;
}

static void dra_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = skip[i] ? 0 : judge(self, c->state, c, i);
}

static void dra_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        struct ks_texts *out)
{
    struct dra_state *st = c->state;
    uint8_t v = judge(self, st, c, row);

    (void)p;
    ks_texts_add(out, v == FAILED ? st->failure : dra_reasons[v].text);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static enum ks_code dra_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  void **ret_state, struct ks_texts *why)
{
    const struct dra_state *st = c->state;

    (void)self, (void)p, (void)why;
    *ret_state = c->state;
    return st && st->scores ? KS_SUCCESS : KS_SKIP; /* all would be equal */
}

static void dra_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_span s, int64_t *restrict out)
{
    const struct dra_state *st = c->state;

    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = st->scores ? st->scores[i] : 0;
}

/* ---- no node fits ---------------------------------------------------------------------------- */

/* Was the claim alone in the way on some node? */
static bool is_in_the_way(const struct attempt *a, const struct dra_state *st, uint32_t claim)
{
    for (uint32_t row = 0; row < a->n; row++) {
        const char *by = attempt_plugin(a, row);
        if (by && streq(by, ks_plugin_dynamic_resources.name) && a->why[row] == UNAVAILABLE &&
            !is_available(st, claim, a->cycle.nodes->node[row]))
            return true;
    }
    return false;
}

static bool is_unused(const struct resource_claim *c, struct kuid pod)
{
    uint32_t n = c->status.reserved_for.n;
    return n == 0 || (n == 1 && claim_is_reserved_for(c, pod));
}

/* The first in the pod's order; upstream takes any. */
static const struct resource_claim *to_deallocate(const struct attempt *a,
                                                  const struct dra_state *st)
{
    for (uint32_t i = 0; i < st->n; i++)
        if (st->claims[i]->status.allocation && is_unused(st->claims[i], a->obj->meta.uid) &&
            is_in_the_way(a, st, i))
            return st->claims[i];
    return NULL;
}

/* Upstream says so whenever no node fits, to every pod; people compare messages. */
static enum ks_code dra_plan(void *self, struct attempt *a, struct preemption *ret,
                             struct ks_texts *why)
{
    struct dra *d = self;
    const struct dra_state *st = a->cycle.state;

    (void)ret;
    d->unused = kobj_unref(d->unused);
    if (!st) {
        ks_texts_add(why, "no new claims to deallocate");
        return KS_UNSCHEDULABLE;
    }
    const struct resource_claim *c = to_deallocate(a, st);
    if (c)
        d->unused = kobj_ref((struct kobj *)&c->obj);
    ks_texts_add(why, c ? "deallocation of ResourceClaim completed" : "still not schedulable");
    return KS_UNSCHEDULABLE;
}

/* Only here: plans are also made for people who ask what would happen. */
static void dra_after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    struct dra *d = self;
    CLEANUP(kobj_unref) struct kobj *unused = take(d->unused);

    (void)o;
    if (unused)
        claimwrite_deallocate(d->cache, resource_claim_of(unused), p->obj.meta.uid);
}

static const struct ks_post_filter dra_post_filter = { .plan = dra_plan, .after = dra_after };

/* ---- the node is chosen ---------------------------------------------------------------------- */

/* Names for shares of devices: random UUIDs, from the loop's source. */
static void next_id(void *arg, char out[37])
{
    struct dra *d = arg;
    uint64_t hi = d->loop ? loop_rand(d->loop) : ++d->ids;
    uint64_t lo = d->loop ? loop_rand(d->loop) : d->ids;

    hi = (hi & ~UINT64_C(0xf000)) | 0x4000;
    lo = (lo & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    snprintf(out, 37, "%08x-%04x-%04x-%04x-%012jx", (unsigned)(hi >> 32),
             (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xffff), (unsigned)(lo >> 48),
             (uintmax_t)(lo & UINT64_C(0xffffffffffff)));
}

/* What filter() found is found again: the search is the same for the same objects, and nothing has
 * changed since. */
static enum ks_code allocate(struct dra *d, const struct dra_state *st, const struct ks_cycle *c,
                             uint32_t row, struct claim_allocation **ret, struct ks_texts *why)
{
    struct node_devices *n = ((struct dra_row *)ks_row(c->rows, row))->devices;
    const struct node *node = c->nodes->node[row];
    const struct id_source ids = { next_id, d };
    const char *text = NULL;
    struct outcome o;

    node_devices_refresh(n, node);
    arena_reset(d->scratch);
    search_row(d, st, n, d->scratch, &o);
    if (o.found != FOUND) {
        ks_texts_add(why, "claim allocation not found for node");
        return KS_ERROR;
    }
    for (uint32_t i = 0; i < st->plan->n; i++)
        if (allocation_of(st->plan, &o, i, node, &ids, d->scratch, &ret[i], &text) < 0) {
            ks_texts_add(why, arena_strdup(c->arena, text));
            return KS_ERROR;
        }
    return KS_SUCCESS;
}

static enum ks_code dra_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                uint32_t row, struct ks_texts *why)
{
    struct dra *d = self;
    const struct dra_state *st = c->state;

    if (!st)
        return KS_SUCCESS;
    struct claim_allocation **got =
        arena_newn0(c->arena, st->nmissing + 1, struct claim_allocation *);
    struct claim_allocation **of = arena_newn0(c->arena, st->n, struct claim_allocation *);
    if (st->nmissing) {
        enum ks_code code = st->plan ? allocate(d, st, c, row, got, why) : KS_ERROR;
        if (code != KS_SUCCESS)
            return code;
    }
    for (uint32_t i = 0, k = 0; i < st->n; i++)
        if (!st->claims[i]->status.allocation)
            of[i] = got[k++];
    struct booking *old = booking_find(d->cache, p->pod->obj.meta.uid);
    if (old)
        booking_leave(old);
    booking_new(d->cache, (struct kobj *)&p->pod->obj, st->claims, of, st->n);
    return KS_SUCCESS;
}

static void dra_unreserve(void *self, const struct pod *p, const char *node)
{
    const struct dra *d = self;
    struct booking *b = booking_find(d->cache, p->obj.meta.uid);

    (void)node;
    if (b)
        booking_leave(b);
}

static enum ks_code dra_pre_flight(void *self, const struct pod *p, const char *node,
                                   struct ks_texts *why)
{
    const struct dra *d = self;

    (void)node, (void)why;
    return booking_find(d->cache, p->obj.meta.uid) ? KS_SUCCESS : KS_SKIP;
}

static enum ks_code dra_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    const struct dra *d = self;
    struct booking *booking = booking_find(d->cache, b->pod->meta.uid);

    (void)why;
    if (!booking)
        return KS_SUCCESS;
    claimwrite_begin(booking, b);
    return KS_WAIT;
}

/* What was sent is followed to its end, though nobody waits for it. */
static void dra_cancel(void *self, struct ks_bind *b)
{
    const struct dra *d = self;
    struct booking *booking = booking_find(d->cache, b->pod->meta.uid);

    if (booking)
        booking->bind = NULL;
}

static void dra_post_bind(void *self, const struct pod *p, const char *node)
{
    const struct dra *d = self;
    struct booking *b = booking_find(d->cache, p->obj.meta.uid);

    (void)node;
    if (b)
        booking_end(b);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int dra_create(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err)
{
    const struct dynamicresources_args *in = args;
    struct dra *d = xnew0(struct dra);

    (void)err;
    d->cache = claimcache_of(env);
    pools_link(d->cache->pools, cards_of(env), &d->cache->args->card_attributes);
    d->loop = env->loop;
    d->timeout = ks_gate(env, "DRASchedulerFilterTimeout") ? in->filter_timeout.v : 0;
    d->scratch = arena_new();
    *ret_self = d;
    return 0;
}

static void dra_destroy(void *self)
{
    struct dra *d = self;

    kobj_unref(d->unused);
    arena_free(d->scratch);
    free(d);
}

static const struct kind *const dra_kinds[] = { &kind_resource_claim, &kind_resource_slice,
                                                &kind_device_class, &kind_device_taint_rule, NULL };
static const struct ks_gated_kind dra_gated[] = {
    { &kind_device_taint_rule, "DRADeviceTaintRules" }, { NULL, NULL }
};
/* The cards outlive those who hold them. */
static const struct ks_service *const dra_services[] = { &cards_service, &claimcache_service,
                                                         NULL };

const struct ks_plugin ks_plugin_dynamic_resources = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "DynamicResources",
    .reasons = dra_reasons,
    .filter_error = FAILED,
    .reuse = KS_REUSE_GLOBAL,
    .kinds = dra_kinds,
    .statuses = dra_kinds,
    .optional = dra_kinds,
    .gated = dra_gated,
    .row = &dra_row,
    .points = KS_AT(PRE_ENQUEUE) | KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(POST_FILTER) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PRE_BIND),
    .args = &dynamicresources_args,
    .create = dra_create,
    .destroy = dra_destroy,
    .services = dra_services,
    .pre_enqueue = dra_pre_enqueue,
    .hints = dra_hints,
    .nhints = DRA_HINTS,
    .pre_filter = dra_pre_filter,
    .filter = dra_filter,
    .explain = dra_explain,
    .pre_score = dra_pre_score,
    .score = dra_score,
    .normalize = ks_normalize,
    .post_filter = &dra_post_filter,
    .reserve = dra_reserve,
    .unreserve = dra_unreserve,
    .pre_flight = dra_pre_flight,
    .pre_bind = dra_pre_bind,
    .cancel = dra_cancel,
    .post_bind = dra_post_bind,
};
