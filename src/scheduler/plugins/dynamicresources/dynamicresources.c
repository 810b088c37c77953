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
#include "scheduler/plugins/dynamicresources/bindwait.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/extended.h"
#include "scheduler/plugins/dynamicresources/hints.h"
#include "scheduler/plugins/dynamicresources/internal.h"
#include "scheduler/plugins/dynamicresources/verdicts.h"
#include "scheduler/plugins/registry.h"

#include <stdio.h>

#define BINDING_TIMEOUT (600 * NSEC_PER_SEC)
enum {
    VARIANTS_MAX = 1 << EXTENDED_MAX,
    QUICK_STEPS = 1024, /* a search of fewer is made again where its outcome is wanted */
};

enum verdict { FITS, UNAVAILABLE, NO_CHOICE, BAD_POOLS, TIMED_OUT, OLD_CLAIM, FAILED };
static const struct ks_reason dra_reasons[] = {
    [FITS] = { KS_SUCCESS, "" },
    [UNAVAILABLE] = { KS_UNRESOLVABLE, "resourceclaim not available on the node" },
    [NO_CHOICE] = { KS_UNRESOLVABLE, "cannot allocate all claims" },
    [BAD_POOLS] = { KS_UNRESOLVABLE, "invalid resource pools were encountered" },
    [TIMED_OUT] = { KS_UNRESOLVABLE, "timed out trying to allocate devices" },
    [OLD_CLAIM] = { KS_UNRESOLVABLE, "cannot schedule extended resource claim" },
    [FAILED] = { KS_ERROR, "" },
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

static uint64_t dra_waits_for(void *self, const struct pod *p)
{
    const struct dra *d = self;

    return p->spec->resource_claims.n || d->extends ? CLAIMS_WAIT_KEY : 0;
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

/* Its devices did not become ready: it is of no use anywhere, until somebody deallocates it. */
static bool is_broken(const struct dra *d, const struct resource_claim *c, nsec_t now)
{
    if (!d->binding_timeout)
        return false;
    enum readiness is = claim_readiness(c, NULL);
    return is == CLAIM_FAILED ||
           (is == CLAIM_NOT_READY && claim_is_late(c, d->binding_timeout, now));
}

static bool read_claims(const struct dra *d, struct dra_state *st, const struct ks_cycle *c,
                        struct ks_texts *why)
{
    struct arena *a = c->arena;

    st->where = arena_newn0(a, st->n, const struct nodesel *);
    struct dra_variant *own = &st->variants[0];
    own->missing = arena_newn0(a, st->n + 1, const struct resource_claim *);
    st->broken = arena_newn0(a, st->n, bool);
    for (uint32_t i = 0; i < st->n; i++) {
        const struct claim_allocation *got = st->claims[i]->status.allocation;
        if (got && got->node_selector)
            st->where[i] = nodesel_from(got->node_selector, a);
        if (got) {
            st->placed = true;
            st->broken[i] = is_broken(d, st->claims[i], c->now);
            continue;
        }
        if (!is_open(d, st->claims[i], why))
            return false;
        own->missing[own->nmissing++] = st->claims[i];
    }
    return true;
}

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

/* ---- plans ----------------------------------------------------------------------------------- */

struct timing {
    const struct loop *loop;
    nsec_t deadline; /* 0: none */
};

static bool is_over(void *arg)
{
    const struct timing *t = arg;
    return t->deadline && loop_stopwatch(t->loop) >= t->deadline;
}

static void make_plan(const struct dra *d, const struct dra_state *st, struct dra_variant *v,
                      struct arena *a)
{
    struct pools *in = d->cache->pools;
    struct timing timing = { d->loop, st->deadline };
    const struct patience patience = { is_over, &timing };

    if (v->nmissing == 0)
        return;
    v->late = plan_make(in, d->cache->env.objects, v->missing, v->nmissing, &patience, a, &v->plan,
                        &v->failure) == -ETIMEDOUT;
    if (!v->plan)
        return;
    v->searches = search_is_needed(v->plan);
    v->column = verdicts_of(in, v->plan);
    v->column_serial = v->column->serial;
}

/* The pod's own claims, and one for the resources of the mask. */
static void add_variant(struct dra *d, struct dra_state *st, uint32_t mask, const struct pod *p,
                        struct arena *a)
{
    const struct dra_variant *own = &st->variants[0];
    struct dra_variant *v = &st->variants[st->nvariants++];
    char uid[37];

    next_id(d, uid);
    v->special = special_claim_of(st->extended, mask, p, kuid_parse(uid, strlen(uid)), a);
    v->missing = arena_newn0(a, own->nmissing + 1, const struct resource_claim *);
    for (uint32_t i = 0; i < own->nmissing; i++)
        v->missing[i] = own->missing[i];
    v->nmissing = own->nmissing;
    v->missing[v->nmissing++] = &v->special->claim;
}

/* Nodes whose device plugins lack the same resources are alike. */
static void find_variants(struct dra *d, struct dra_state *st, const struct ks_cycle *c,
                          const struct pod *p)
{
    uint32_t masks[VARIANTS_MAX] = { 0 };

    st->of_row = arena_newn0(c->arena, c->nodes->n, uint8_t);
    for (uint32_t row = 0; row < c->nodes->n; row++) {
        uint32_t mask = extended_mask(st->extended, c->nodes, row), k = 0;
        while (k < st->nvariants && masks[k] != mask)
            k++;
        if (k == st->nvariants) {
            masks[k] = mask;
            add_variant(d, st, mask, p, c->arena);
        }
        st->of_row[row] = (uint8_t)k;
    }
}

static enum ks_code dra_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct dra *d = self;
    struct extended *extended = d->extends ? extended_of(d->cache, p, c->nodes, c->arena) : NULL;

    (void)only;
    *ret_state = NULL;
    if (p->pod->spec->resource_claims.n == 0 && !extended)
        return KS_SKIP;
    nsec_t deadline = d->timeout && d->loop ? loop_stopwatch(d->loop) + d->timeout : 0;
    if (extended && extended->problem) {
        ks_texts_add(why, extended->problem);
        return KS_UNRESOLVABLE;
    }
    struct dra_state *st = arena_new0(c->arena, struct dra_state);
    st->extended = extended;
    st->deadline = deadline;
    st->variants = arena_newn0(c->arena, extended ? VARIANTS_MAX : 1, struct dra_variant);
    st->nvariants = 1;
    if (pod_claims(d->cache, p->pod, c->arena, &st->claims, &st->n, why) < 0)
        return KS_UNRESOLVABLE;
    if (st->n == 0 && !extended)
        return KS_SKIP;
    if (!read_claims(d, st, c, why))
        return KS_UNRESOLVABLE; /* and post-filter has no claims to look at, as upstream */
    *ret_state = st;
    if (extended)
        find_variants(d, st, c, p->pod);
    if (st->variants[0].nmissing || extended)
        ks_rows_refresh(c);
    for (uint32_t i = 0; i < st->nvariants; i++)
        make_plan(d, st, &st->variants[i], c->arena);
    if (st->variants[0].plan && st->variants[0].plan->alternatives)
        st->scores = arena_newn0(c->arena, c->nodes->n, int64_t);
    st->said = arena_newn0(c->arena, c->nodes->n, uint8_t);
    st->clock = pools_clock(d->cache->pools);
    return KS_SUCCESS;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* The record of a node stays, and is told that the node has changed. */
static void dra_fill(void *self, struct ks_fill *f)
{
    const struct dra *d = self;
    struct dra_row *row = f->data;

    row->devices = pools_node(d->cache->pools, f->nodes->node[f->row]->obj.meta.name);
    row->number = row->devices->number;
    row->devices->gone = false;
    node_devices_touch(row->devices);
}

static const struct ks_row_data dra_row = {
    .size = sizeof(struct dra_row),
    .on_demand = true,
    .fill = dra_fill,
};

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

/* Reserve() takes it: there is no time to search for so long again. */
static void keep_outcome(struct dra_state *st, const struct outcome *o, const struct ks_cycle *c,
                         uint32_t row)
{
    struct kept_outcome *to = arena_new0(c->arena, struct kept_outcome);

    if (!st->kept)
        st->kept = arena_newn0(c->arena, c->nodes->n, struct kept_outcome *);
    st->kept[row] = to;
    to->n = o->n;
    to->picks = arena_newn0(c->arena, o->n, struct pick);
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t amounts = o->picks[i].pool->devices[o->picks[i].device].d->capacity.n;
        to->picks[i] = o->picks[i];
        if (!o->picks[i].consumed || amounts == 0)
            continue;
        struct qty *consumed = arena_newn0(c->arena, amounts, struct qty);
        memcpy(consumed, o->picks[i].consumed, amounts * sizeof *consumed);
        to->picks[i].consumed = consumed;
    }
}

/* NULL: there is none, or it is of a time before the last change. */
static const struct kept_outcome *kept_at(const struct dra_state *st, const struct pools *in,
                                          uint32_t row)
{
    return st->kept && st->clock == pools_clock(in) ? st->kept[row] : NULL;
}

/* A selector that cannot be copied into an allocation fails the attempt as upstream's does. */
static bool results_are_possible(struct dra_variant *v, const struct outcome *o,
                                 const struct node *node, const struct id_source *ids,
                                 struct arena *a)
{
    struct claim_allocation *got;
    const char *why;

    for (uint32_t i = 0; i < v->plan->n; i++)
        if (allocation_of(v->plan, o, i, node, ids, a, &got, &why) < 0) {
            v->failure = arena_strdup(v->plan->arena, why);
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
    struct dra_variant *v = variant_at(st, row);
    struct node_devices *n = ((struct dra_row *)ks_row(c->rows, row))->devices;
    const struct node *node = c->nodes->node[row];
    const struct id_source ids = { no_id, NULL };
    struct timing timing = { d->loop, st->deadline };
    const struct patience patience = { is_over, &timing };
    struct outcome o;

    if (patience_is_over(&patience))
        return TIMED_OUT;
    node_devices_refresh(n, node);
    switch (counts_say(v->plan, n, &patience)) {
    case COUNTS_TOO_FEW: return NO_CHOICE;
    case COUNTS_ENOUGH:
        if (!v->searches && !has_selectors(n))
            return FITS;
        break;
    case COUNTS_UNSURE: break;
    }
    arena_reset(d->scratch);
    search_node(v->plan, n, &patience, d->scratch, &o);
    if (o.found == FOUND_ERROR && !v->failure)
        v->failure = arena_strdup(v->plan->arena, o.why);
    if (o.found == FOUND && st->scores)
        st->scores[row] = outcome_score(v->plan, &o);
    if (o.found == FOUND && has_selectors(n) &&
        !results_are_possible(v, &o, node, &ids, d->scratch))
        return FAILED;
    if (o.found == FOUND && o.steps > QUICK_STEPS)
        keep_outcome(st, &o, c, row);
    return verdict_of(o.found);
}

bool claim_is_available(const struct dra_state *st, uint32_t claim, const struct node *n)
{
    if (st->broken[claim])
        return false;
    return !st->where[claim] ||
           nodesel_match(st->where[claim], &n->obj.meta.labels, n->obj.meta.name) == 1;
}

/* As it was for a pod whose claims asked for the same, unless the node has changed since. */
static inline enum verdict allocate_known(struct dra *d, struct dra_state *st,
                                          const struct ks_cycle *c, uint32_t row)
{
    const struct dra_row *at = ks_row(c->rows, row);
    const struct dra_variant *of = variant_at(st, row);
    struct verdict_column *known = of->column;
    const struct pools *in = of->plan->in;

    bool own = known->serial == of->column_serial;
    if (own && verdict_known(known, in, at->number)) {
        if (st->scores)
            st->scores[row] = known->score[at->number];
        return known->verdict[at->number];
    }
    if (kept_at(st, in, row))
        return FITS;
    enum verdict v = allocate_row(d, st, c, row);
    /* That it fits is of no use to others without the outcome, where that is kept. */
    if (own && v != FAILED && v != TIMED_OUT && !kept_at(st, in, row))
        verdict_keep(known, in, at->number, (uint8_t)v, st->scores ? st->scores[row] : 0);
    return v;
}

static uint8_t judge(struct dra *d, struct dra_state *st, const struct ks_cycle *c, uint32_t row)
{
    const struct dra_variant *of = variant_at(st, row);
    enum verdict v = FITS;

    if (st->extended && st->extended->old)
        return OLD_CLAIM;
    if (of->nmissing && !of->plan)
        return of->late ? TIMED_OUT : FAILED;
    if (of->plan)
        v = allocate_known(d, st, c, row);
    for (uint32_t i = 0; v == FITS && st->placed && i < st->n; i++)
        if (!claim_is_available(st, i, c->nodes->node[row]))
            v = UNAVAILABLE;
    return (uint8_t)v;
}

static void dra_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct dra_state *st = c->state;

    (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = st->said[i] = skip[i] ? 0 : judge(self, c->state, c, i);
}

static void dra_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        struct ks_texts *out)
{
    struct dra_state *st = c->state;
    uint8_t v = st->said[row]; /* the time may be over by now */

    (void)p;
    if (v == FITS)
        v = judge(self, st, c, row);
    ks_texts_add(out, v == FAILED ? variant_at(st, row)->failure : dra_reasons[v].text);
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
            !claim_is_available(st, claim, a->cycle.nodes->node[row]))
            return true;
    }
    return false;
}

/* By nobody else, but for pods that have no node and wait for an attempt as this one does: a
 * scheduler that died has left it reserved for them, and none of them could begin. */
static bool is_unused(const struct dra *d, const struct resource_claim *c, struct kuid pod)
{
    for (uint32_t i = 0; i < c->status.reserved_for.n; i++) {
        const struct claim_consumer *user = &c->status.reserved_for.items[i];
        if (!kuid_equal(user->uid, pod) && !ks_waits(&d->cache->env, user->uid))
            return false;
    }
    return true;
}

/* The first in the pod's order; upstream takes any. */
static const struct resource_claim *to_deallocate(const struct dra *d, const struct attempt *a,
                                                  const struct dra_state *st)
{
    for (uint32_t i = 0; i < st->n; i++)
        if (st->claims[i]->status.allocation && is_unused(d, st->claims[i], a->obj->meta.uid) &&
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
    d->unused_by = kobj_unref(d->unused_by);
    if (!st) {
        ks_texts_add(why, "no new claims to deallocate");
        return KS_UNSCHEDULABLE;
    }
    const struct resource_claim *c = to_deallocate(d, a, st);
    const struct resource_claim *old = !c && st->extended ? st->extended->old : NULL;
    if (c || old)
        d->unused = kobj_ref((struct kobj *)&(c ? c : old)->obj);
    d->unused_by = kobj_ref(a->obj);
    d->deletes = old;
    ks_texts_add(why, c     ? "deallocation of ResourceClaim completed"
                      : old ? "deletion of ResourceClaim completed"
                            : "still not schedulable");
    return KS_UNSCHEDULABLE;
}

/* Only here: plans are also made for people who ask what would happen, and what these have left is
 * nothing to a pod for which no plan was made. */
static void dra_after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    struct dra *d = self;
    CLEANUP(kobj_unref) struct kobj *unused = take(d->unused), *by = take(d->unused_by);

    (void)o;
    if (!unused || !kuid_equal(by->meta.uid, p->obj.meta.uid))
        return;
    if (d->deletes)
        extwrite_delete(d->cache, unused->meta.ns, unused->meta.name, unused->meta.uid,
                        p->obj.meta.uid);
    else
        claimerrand_deallocate(d->cache, resource_claim_of(unused), p->obj.meta.uid);
}

static const struct ks_post_filter dra_post_filter = { .plan = dra_plan, .after = dra_after };

/* ---- the node is chosen ---------------------------------------------------------------------- */

/* What filter() found. A quick search is made again: it is the same for the same objects, so it
 * needs no patience. When something has changed since, as when another plugin has given a card to
 * the pod, the search is another one and has as long as filter() has. */
static void find_again(struct dra *d, const struct dra_state *st, const struct dra_variant *v,
                       struct node_devices *n, uint32_t row, struct outcome *ret)
{
    const struct kept_outcome *kept = kept_at(st, d->cache->pools, row);
    bool changed = st->clock != pools_clock(d->cache->pools);
    struct timing timing = { d->loop, 0 };
    const struct patience patience = { is_over, &timing };

    if (kept) {
        *ret = (struct outcome){ .found = FOUND, .picks = kept->picks, .n = kept->n };
        return;
    }
    if (changed && st->deadline)
        timing.deadline = loop_stopwatch(d->loop) + d->timeout;
    search_node(v->plan, n, changed ? &patience : NULL, d->scratch, ret);
}

static enum ks_code allocate(struct dra *d, const struct dra_state *st, const struct ks_cycle *c,
                             uint32_t row, struct claim_allocation **ret, struct ks_texts *why)
{
    struct node_devices *n = ((struct dra_row *)ks_row(c->rows, row))->devices;
    const struct node *node = c->nodes->node[row];
    const struct id_source ids = { next_id, d };
    const struct dra_variant *v = variant_at(st, row);
    const char *text = NULL;
    struct outcome o;

    node_devices_refresh(n, node);
    arena_reset(d->scratch);
    find_again(d, st, v, n, row, &o);
    if (o.found != FOUND) {
        ks_texts_add(why, "claim allocation not found for node");
        return KS_ERROR;
    }
    for (uint32_t i = 0; i < v->plan->n; i++)
        if (allocation_of(v->plan, &o, i, node, &ids, d->scratch, &ret[i], &text) < 0) {
            ks_texts_add(why, arena_strdup(c->arena, text));
            return KS_ERROR;
        }
    return KS_SUCCESS;
}

/* Claims of the pod that get devices now, then the special one. */
static void book(struct dra *d, const struct dra_state *st, const struct dra_variant *v,
                 const struct pod *p, struct claim_allocation *const *got, struct arena *a)
{
    const struct resource_claim **claims = arena_newn0(a, st->n + 1, const struct resource_claim *);
    struct claim_allocation **of = arena_newn0(a, st->n + 1, struct claim_allocation *);
    uint32_t k = 0, n = st->n;

    for (uint32_t i = 0; i < st->n; i++) {
        claims[i] = st->claims[i];
        if (!claims[i]->status.allocation)
            of[i] = got[k++];
    }
    if (v->special) {
        claims[n] = &v->special->claim;
        of[n++] = got[k];
    }
    struct booking *old = booking_find(d->cache, p->obj.meta.uid);
    if (old)
        booking_leave(old);
    if (n == 0)
        return; /* device plugins have all that the pod asks for */
    struct booking *b = booking_new(d->cache, (struct kobj *)&p->obj, claims, of, n);
    b->binding_timeout = d->binding_timeout;
    if (v->special)
        extwrite_prepare(b, v->special);
}

static enum ks_code dra_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                uint32_t row, struct ks_texts *why)
{
    struct dra *d = self;
    const struct dra_state *st = c->state;

    if (!st)
        return KS_SUCCESS;
    const struct dra_variant *v = variant_at(st, row);
    struct claim_allocation **got =
        arena_newn0(c->arena, v->nmissing + 1, struct claim_allocation *);
    if (v->nmissing) {
        enum ks_code code = v->plan ? allocate(d, st, c, row, got, why) : KS_ERROR;
        if (code != KS_SUCCESS)
            return code;
    }
    book(d, st, v, p->pod, got, c->arena);
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

/* Without such devices there is nothing but writes. When the scheduler dies between them, the claim
 * tells where the pod belongs. */
static bool dra_pre_bind_waits(void *self, const struct pod *p)
{
    const struct dra *d = self;
    const struct booking *b = booking_find(d->cache, p->obj.meta.uid);

    return b && bindwait_expects(b);
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
    bool binds =
        ks_gate(env, "DRADeviceBindingConditions") && ks_gate(env, "DRAResourceClaimDeviceStatus");

    if (in->binding_timeout.set && !binds)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                        "DRAResourceClaimDeviceStatus feature gate is disabled");
    struct dra *d = xnew0(struct dra);
    d->cache = claimcache_of(env);
    pools_link(d->cache->pools, cards_of(env), &d->cache->args->card_attributes);
    d->loop = env->loop;
    d->timeout = ks_gate(env, "DRASchedulerFilterTimeout") ? in->filter_timeout.v : 0;
    if (binds)
        d->binding_timeout = in->binding_timeout.set ? in->binding_timeout.v : BINDING_TIMEOUT;
    d->extends = ks_gate(env, "DRAExtendedResource");
    d->scratch = arena_new();
    *ret_self = d;
    return 0;
}

static void dra_destroy(void *self)
{
    struct dra *d = self;

    kobj_unref(d->unused);
    kobj_unref(d->unused_by);
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
    .gates_silently = true, /* as upstream; most claims are there a moment later */
    .frees_nominated_node = true,
    .hints = dra_hints,
    .nhints = DRA_HINTS,
    .waits_for = dra_waits_for,
    .pre_filter = dra_pre_filter,
    .filter = dra_filter,
    .explain = dra_explain,
    .show = dra_show,
    .pre_score = dra_pre_score,
    .score = dra_score,
    .normalize = ks_normalize,
    .post_filter = &dra_post_filter,
    .reserve = dra_reserve,
    .unreserve = dra_unreserve,
    .pre_flight = dra_pre_flight,
    .pre_bind_waits = dra_pre_bind_waits,
    .pre_bind = dra_pre_bind,
    .cancel = dra_cancel,
    .post_bind = dra_post_bind,
};
