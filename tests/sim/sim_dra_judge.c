/* sim_dra_judge.c - what must hold of devices and claims, by what the API server has. */
#include "sim_dra.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"

const struct resource_claim *claim_named(const struct dra_sim *d, const char *name)
{
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "default/%s", name);
    const struct kobj *o = informer_get(d->claims, key);
    return o ? resource_claim_of(o) : NULL;
}

const char *entry_claim(const struct pod *p, uint32_t entry)
{
    const struct pod_resource_claim *e = &p->spec->resource_claims.items[entry];

    if (!str_empty(e->claim_name))
        return e->claim_name;
    for (uint32_t i = 0; i < p->status.resource_claim_statuses.n; i++)
        if (streq(p->status.resource_claim_statuses.items[i].name, e->name))
            return p->status.resource_claim_statuses.items[i].claim_name;
    return NULL;
}

static const struct pod *pod_named(const struct dra_sim *d, const char *name)
{
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "default/%s", name);
    const struct kobj *o = informer_get(d->s.pods, key);
    return o ? pod_of(o) : NULL;
}

static const struct node *node_named(const struct dra_sim *d, const char *name)
{
    const struct kobj *o = informer_get(d->s.nodes, name);
    return o ? node_of(o) : NULL;
}

/* What the claim asked for when it got the device. */
static const struct device_ask *ask_of(const struct resource_claim *c,
                                       const struct device_result *got)
{
    const char *sub = strchr(got->request, '/');
    size_t n = strcspn(got->request, "/");

    for (uint32_t i = 0; i < c->spec.devices.requests.n; i++) {
        const struct device_request *r = &c->spec.devices.requests.items[i];
        if (strlen(r->name) != n || memcmp(r->name, got->request, n) != 0)
            continue;
        if (!sub)
            return r->exactly;
        for (uint32_t k = 0; k < r->first_available.n; k++)
            if (streq(r->first_available.items[k].name, sub + 1))
                return &r->first_available.items[k];
    }
    return NULL;
}

static bool is_shared(const struct dra_sim *d, const struct device_result *r)
{
    return d->gate == CAPACITY && device_is_shared(name_number(r->pool), name_number(r->device));
}

/* ---- at every change of a claim --------------------------------------------------------------- */

struct taken { /* of what devices share, by all claims */
    int64_t units[POOLS];
    int64_t amounts[POOLS][GPUS];
};

/* A part of a shared device: no two have one name, and it is as large as was asked for. */
static void judge_share(struct dra_sim *d, const struct kobj *claim, const struct device_result *r,
                        struct taken *t)
{
    int pool = name_number(r->pool), device = name_number(r->device);
    const struct device_ask *k = ask_of(resource_claim_of(claim), r);
    int64_t amount = qty_value(reslist_get(&r->consumed_capacity, capacity_name(pool)));

    if (str_empty(r->share_id))
        dra_die(d, "%s has %s/%s without the name of a share", claim->meta.name, r->pool,
                r->device);
    if (amount != amount_for(pool, device, k))
        dra_die(d, "%s has %lld of %s/%s", claim->meta.name, (long long)amount, r->pool, r->device);
    t->amounts[pool][device] += amount;
    if (t->amounts[pool][device] > device_capacity(pool))
        dra_die(d, "%s/%s gives more than it has, to %s too", r->pool, r->device, claim->meta.name);
}

static void judge_units(struct dra_sim *d, const struct kobj *claim, const struct device_result *r,
                        struct taken *t)
{
    int pool = name_number(r->pool);

    t->units[pool] += device_units(pool, name_number(r->device));
    if (t->units[pool] > pool_units(pool))
        dra_die(d, "the counter of %s is exceeded, by %s with %s too", r->pool, claim->meta.name,
                r->device);
}

/* kubernetes#136269 */
static void judge_devices(struct dra_sim *d)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map holders = { 0 };
    struct taken taken = { 0 };
    struct kobj *o;

    d->n.judged++;
    for (size_t it = 0; (o = informer_next(d->claims, &it));) {
        const struct claim_allocation *got = resource_claim_of(o)->status.allocation;
        for (uint32_t i = 0; got && i < got->devices.results.n; i++) {
            const struct device_result *r = &got->devices.results.items[i];
            if (r->admin_access.v)
                continue;
            if (d->gate == PARTITIONS)
                judge_units(d, o, r, &taken);
            if (is_shared(d, r))
                judge_share(d, o, r, &taken);
            const char *device = arena_printf(a, "%s/%s/%s/%s", r->driver, r->pool, r->device,
                                              str_or(r->share_id, ""));
            const struct kobj *other = map_putz(&holders, device, o);
            if (other)
                dra_die(d, "%s is in the claims %s and %s", device, other->meta.name, o->meta.name);
        }
    }
}

/* A taint that has been there for so long keeps the device from whoever does not tolerate it.
 * Until then the scheduler may not have seen it, or may have written the claim before. */
static void judge_taints(struct dra_sim *d, const struct resource_claim *c,
                         const struct device_result *r)
{
    static const struct device_ask nothing = { 0 };
    int pool = name_number(r->pool), device = name_number(r->device);
    nsec_t now = loop_mono(d->s.loop), seen = d->had_faults ? 40 * SEC : 10 * SEC;
    nsec_t since = tainted_since(d, pool, device, ask_of(c, r));

    d->n.tolerated += since == NEVER && tainted_since(d, pool, device, &nothing) != NEVER;
    if (since != NEVER && now - since > seen)
        dra_die(d, "%s gets %s/%s, tainted for %lld s", c->obj.meta.name, r->pool, r->device,
                (long long)((now - since) / SEC));
}

static void judge_new(struct dra_sim *d, const struct resource_claim *c)
{
    const struct claim_allocation *got = c->status.allocation;

    d->n.allocated++;
    for (uint32_t i = 0; i < got->devices.results.n; i++) {
        const struct device_result *r = &got->devices.results.items[i];
        d->n.admin += r->admin_access.v;
        d->n.network += streq(r->driver, NET_DRIVER);
        d->n.later += strchr(r->request, '/') != NULL && !strstr(r->request, "/s0");
        d->n.parts += d->gate == PARTITIONS;
        d->n.shares += is_shared(d, r);
        judge_taints(d, c, r);
    }
}

/* SIM_LOG shows what happens to claims and pods beside the programs' own lines. */
static void tell_claim(const struct dra_sim *d, const struct kobj *o)
{
    const struct claim_status *s = &resource_claim_of(o)->status;
    const struct claim_allocation *got = s->allocation;

    if (!getenv("SIM_LOG"))
        return;
    fprintf(stderr, "%.4f claim %s v%s%s:", (double)loop_mono(d->s.loop) / NSEC_PER_SEC,
            o->meta.name, o->meta.resource_version, o->meta.deleted ? " (deleted)" : "");
    for (uint32_t i = 0; got && i < got->devices.results.n; i++)
        fprintf(stderr, " %s/%s", got->devices.results.items[i].pool,
                got->devices.results.items[i].device);
    fprintf(stderr, " for");
    for (uint32_t i = 0; i < s->reserved_for.n; i++)
        fprintf(stderr, " %s", s->reserved_for.items[i].name);
    fprintf(stderr, "\n");
}

static void on_claim(void *arg, struct kobj *o)
{
    tell_claim(arg, o);
    judge_devices(arg);
}

static void on_claim_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct dra_sim *d = arg;
    const struct claim_allocation *before = resource_claim_of(old)->status.allocation;
    const struct claim_allocation *now = resource_claim_of(o)->status.allocation;

    tell_claim(d, o);
    if (now && !before)
        judge_new(d, resource_claim_of(o));
    d->n.shared += resource_claim_of(o)->status.reserved_for.n > 1;
    judge_devices(d);
}

/* ---- at every binding ------------------------------------------------------------------------- */

/* The driver has said so of the allocation that the claim has now. */
static bool is_attached(const struct resource_claim *c, const struct device_result *r)
{
    char message[32];

    (void)snprintf(message, sizeof message, "%lld",
                   (long long)c->status.allocation->allocation_timestamp);
    for (uint32_t i = 0; i < c->status.devices.n; i++) {
        const struct allocated_device_status *s = &c->status.devices.items[i];
        const struct condition *is = condition_find(&s->conditions, ATTACHED);
        if (streq(s->driver, r->driver) && streq(s->pool, r->pool) && streq(s->device, r->device) &&
            is && is->status == COND_TRUE && streq(is->message, message))
            return true;
    }
    return false;
}

static void judge_attached(struct dra_sim *d, const struct pod *p, const struct resource_claim *c)
{
    for (uint32_t i = 0; i < c->status.allocation->devices.results.n; i++) {
        const struct device_result *r = &c->status.allocation->devices.results.items[i];
        if (!device_binds(name_number(r->pool), name_number(r->device)))
            continue;
        d->n.attached++;
        if (!is_attached(c, r))
            dra_die(d, "%s has a node, but %s/%s of %s is not attached", p->obj.meta.name, r->pool,
                    r->device, c->obj.meta.name);
    }
}

/* All of its claims are allocated, reserved for it, and where the pod is. */
static void judge_claims_of(struct dra_sim *d, const struct pod *p)
{
    const struct node *n = node_named(d, p->node_name);
    const char *name = p->obj.meta.name;

    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++) {
        const char *claim = entry_claim(p, i);
        const struct resource_claim *c = claim ? claim_named(d, claim) : NULL;
        if (!c)
            dra_die(d, "%s runs without its claim %u", name, i);
        if (!c->status.allocation)
            dra_die(d, "%s has a node, its claim %s no devices", name, claim);
        if (!claim_is_reserved_for(c, p->obj.meta.uid))
            dra_die(d, "%s has a node, but %s is not reserved for it", name, claim);
        if (n && !claim_fits_node(c, n))
            dra_die(d, "%s is on %s, where %s cannot be used", name, p->node_name, claim);
        if (d->gate == CONDITIONS)
            judge_attached(d, p, c);
    }
}

static void judge_bound(struct loop *l, void *arg)
{
    struct dra_sim *d = arg;

    (void)l;
    d->judge = NULL;
    vec_foreach(&d->bound, i) {
        const struct pod *p = pod_named(d, d->bound.items[i]);
        /* Gone or about to go: whoever frees its claims may have been faster. */
        if (p && !str_empty(p->node_name) && !p->obj.meta.deleted && !pod_is_terminal(p))
            judge_claims_of(d, p);
        free(d->bound.items[i]);
    }
    vec_clear(&d->bound);
}

/* News of pods and of claims come on ways of their own: the claims are looked at a bit later. */
static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct dra_sim *d = arg;

    if (!str_empty(pod_of(old)->node_name) || str_empty(pod_of(o)->node_name))
        return;
    d->n.bound++;
    vec_push(&d->bound, xstrdup(o->meta.name));
    if (!d->judge)
        d->judge = loop_after(d->s.loop, NSEC_PER_MSEC / 2, judge_bound, d);
}

/* ---- after every step ------------------------------------------------------------------------- */

static const struct owner_ref *owner_of(const struct kobj *claim)
{
    return claim->meta.owners.n ? &claim->meta.owners.items[0] : NULL;
}

/* The controller makes one claim for an entry of a pod. */
static void judge_made(const struct dra_sim *d)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map made = { 0 };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(d->claims, &it));) {
        const struct owner_ref *owner = owner_of(o);
        char uid[KUID_TEXT_MAX];
        if (!owner || o->meta.deleted)
            continue;
        kuid_format(owner->uid, uid, sizeof uid);
        const char *entry =
            arena_printf(a, "%s/%s", uid,
                         str_or(kstrmap_get(&o->meta.annotations, CLAIM_POD_ENTRY_ANNOTATION), ""));
        const struct kobj *other = map_putz(&made, entry, o);
        if (other)
            dra_die(d, "%s and %s were made for one entry of %s", other->meta.name, o->meta.name,
                    owner->name);
    }
}

/* Whatever a node has started keeps its devices until it has ended, also when it is deleted by
 * force (kubernetes#141471). */
static void judge_running(struct dra_sim *d)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(d->s.pods, &it));)
        if (o->meta.finalizers.n && !pod_is_terminal(pod_of(o)))
            judge_claims_of(d, pod_of(o));
}

void judge_step(struct dra_sim *d)
{
    judge_made(d);
    judge_running(d);
}

/* ---- at the end ------------------------------------------------------------------------------- */

static void judge_pod(struct dra_sim *d, const struct pod *p)
{
    if (pod_is_terminal(p))
        return;
    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++)
        if (!entry_claim(p, i))
            dra_die(d, "%s still has no claim for entry %u", p->obj.meta.name, i);
    if (!str_empty(p->node_name)) {
        judge_claims_of(d, p);
        return;
    }
    d->n.pending++;
    const char *node = search_place(d, p);
    if (node)
        dra_die(d, "%s waits, though %s has what it wants", p->obj.meta.name, node);
}

static void judge_users(struct dra_sim *d, const struct resource_claim *c)
{
    const char *name = c->obj.meta.name;

    for (uint32_t i = 0; i < c->status.reserved_for.n; i++) {
        const struct claim_consumer *one = &c->status.reserved_for.items[i];
        const struct pod *p = pod_named(d, one->name);
        if (!p || !kuid_equal(p->obj.meta.uid, one->uid))
            dra_die(d, "%s is reserved for %s, which is gone", name, one->name);
        if (pod_is_terminal(p))
            dra_die(d, "%s is reserved for %s, which has ended", name, one->name);
    }
    if (c->status.allocation && c->status.reserved_for.n == 0)
        dra_die(d, "%s has devices and no user", name);
    if (c->obj.meta.deleted && c->status.reserved_for.n == 0)
        dra_die(d, "%s is deleted and does not go", name);
}

static void judge_owner(struct dra_sim *d, const struct kobj *claim)
{
    const struct owner_ref *owner = owner_of(claim);
    const struct pod *p = owner ? pod_named(d, owner->name) : NULL;

    if (!owner)
        return;
    if (!p || !kuid_equal(p->obj.meta.uid, owner->uid))
        dra_die(d, "%s is left of %s, which is gone", claim->meta.name, owner->name);
    if (pod_is_terminal(p))
        dra_die(d, "%s is left of %s, which has ended", claim->meta.name, owner->name);
}

void judge_end(struct dra_sim *d)
{
    struct kobj *o;

    judge_step(d);
    judge_devices(d);
    for (size_t it = 0; (o = informer_next(d->claims, &it));) {
        judge_users(d, resource_claim_of(o));
        judge_owner(d, o);
    }
    for (size_t it = 0; (o = informer_next(d->s.pods, &it));)
        judge_pod(d, pod_of(o));
}

/* ---- life ------------------------------------------------------------------------------------- */

void judge_begin(struct dra_sim *d)
{
    static const struct informer_handler on_claims = { .on_add = on_claim,
                                                       .on_update = on_claim_update };
    static const struct informer_handler on_pods = { .on_update = on_pod_update };

    d->claims = informer_new(d->s.kube, &(struct informer_opts){ .kind = &kind_resource_claim });
    d->slices = informer_new(d->s.kube, &(struct informer_opts){ .kind = &kind_resource_slice });
    d->classes = informer_new(d->s.kube, &(struct informer_opts){ .kind = &kind_device_class });
    informer_add_handler(d->claims, &on_claims, d);
    informer_add_handler(d->s.pods, &on_pods, d);
    informer_start(d->claims);
    informer_start(d->slices);
    informer_start(d->classes);
}

void judge_stop(struct dra_sim *d)
{
    timer_cancel(d->judge);
    vec_foreach(&d->bound, i)
        free(d->bound.items[i]);
    vec_fini(&d->bound);
    informer_free(d->claims);
    informer_free(d->slices);
    informer_free(d->classes);
}
