/* claimcache.c - claims as this scheduler knows them, and the devices that they hold. */
#include "scheduler/plugins/dynamicresources/claimcache.h"

#include "api/node.h"
#include "api/pod.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/dynamicresources/bindwait.h"
#include "scheduler/plugins/dynamicresources/extended.h"
#include "scheduler/plugins/dynamicresources/metrics.h"
#include "scheduler/plugins/registry.h"

/* ---- versions -------------------------------------------------------------------------------- */

/* Kubernetes promises since 1.35 that versions of one kind can be compared as numbers. */
static bool is_newer(const struct kobj *a, const struct kobj *than)
{
    const char *x = a->meta.resource_version, *y = than->meta.resource_version;
    size_t n = strlen(x), m = strlen(y);

    return n != m ? n > m : strcmp(x, y) > 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static struct kobj *newest(const struct claim_record *r)
{
    return r->assumed ? r->assumed : r->seen;
}

/* Devices are free again. What the watch shows need not tell: a claim that got devices and lost
 * them may never have been seen with them. Some may be cards that DeviceShare gives too. */
static void tell_waiting(const struct claimcache *cc)
{
    if (!cc->env.scheduler)
        return;
    ks_wake(&cc->env, ks_plugin_dynamic_resources.name, CLAIMS_WAIT_KEY);
    if (cc->pools->cards)
        cards_wake(cc->pools->cards, CARDS_OF_CLAIMS);
}

bool claim_same_devices(const struct claim_allocation *a, const struct claim_allocation *b)
{
    bool same = a->devices.results.n == b->devices.results.n;

    for (uint32_t i = 0; same && i < a->devices.results.n; i++) {
        const struct device_result *x = &a->devices.results.items[i],
                                   *y = &b->devices.results.items[i];
        same = streq(x->request, y->request) && streq(x->driver, y->driver) &&
               streq(x->pool, y->pool) && streq(x->device, y->device);
    }
    return same;
}

/* The pools know what the newest state holds. */
static void hold(struct claimcache *cc, struct claim_record *r)
{
    const struct kobj *o = newest(r);
    const struct claim_allocation *now = o ? resource_claim_of(o)->status.allocation : NULL;

    if (now)
        pools_hold(cc->pools, now, r->key);
    if (r->held)
        pools_give(cc->pools, r->held, r->key);
    /* Between two states that are seen it may have lost its devices and got others. */
    bool freed = r->held && !(now && claim_same_devices(r->held, now));
    r->held = now;
    if (freed)
        tell_waiting(cc);
}

static struct claim_record *record_of(struct claimcache *cc, const struct kobj *claim)
{
    struct claim_record *r = uidmap_get(&cc->records, claim->meta.uid);
    char key[KOBJ_KEY_MAX];

    if (r)
        return r;
    r = xnew0(struct claim_record);
    r->uid = uidmap_own(claim->meta.uid, &r->uid_text);
    kobj_key(claim, key, sizeof key);
    r->key = xstrdup(key);
    r->cc = cc;
    uidmap_put(&cc->records, r);
    return r;
}

static void record_free(struct claimcache *cc, struct claim_record *r)
{
    if (r->held)
        pools_give(cc->pools, r->held, r->key);
    timer_cancel(r->expected);
    kube_cancel(r->asking);
    kobj_unref(r->seen);
    kobj_unref(r->assumed);
    free(r->key);
    free(r->uid_text);
    free(r);
}

static void drop_if_empty(struct claimcache *cc, struct claim_record *r)
{
    if (r->seen || r->assumed || r->in_flight)
        return;
    uidmap_remove(&cc->records, r->uid);
    record_free(cc, r);
}

static void swap(struct kobj **at, struct kobj *now, struct kobj **ret_old)
{
    *ret_old = *at;
    *at = now ? kobj_ref(now) : NULL;
}

static void stop_expecting(struct claim_record *r)
{
    r->expected = timer_cancel(r->expected);
    kube_cancel(r->asking);
    r->asking = NULL;
}

static void on_claim(void *arg, struct kobj *before, struct kobj *now)
{
    struct claimcache *cc = arg;
    struct kobj *seen = NULL, *assumed = NULL;

    if (before && now && !kuid_equal(before->meta.uid, now->meta.uid)) {
        on_claim(cc, before, NULL);
        before = NULL;
    }
    struct claim_record *r = record_of(cc, now ? now : before);
    specialclaims_see(&cc->specials, before, now);
    swap(&r->seen, now, &seen);
    stop_expecting(r);
    if (r->assumed && (!now || !is_newer(r->assumed, now)))
        swap(&r->assumed, NULL, &assumed);
    hold(cc, r); /* while what was held is still there */
    bindwait_claim_changed(cc, r->uid);
    kobj_unref(seen);
    kobj_unref(assumed);
    drop_if_empty(cc, r);
}

void claimcache_assume(struct claimcache *cc, struct kobj *claim)
{
    struct claim_record *r = uidmap_get(&cc->records, claim->meta.uid);
    struct kobj *old = NULL;

    /* A claim that has gone meanwhile holds nothing. */
    if (!r || !r->seen || !is_newer(claim, newest(r)))
        return;
    swap(&r->assumed, claim, &old);
    hold(cc, r);
    kobj_unref(old);
}

/* ---- claims that this scheduler makes -------------------------------------------------------- */

#define EXPECTED_MAX (120 * NSEC_PER_SEC)

static void drop_assumed(struct claimcache *cc, struct claim_record *r)
{
    struct kobj *old = NULL;

    swap(&r->assumed, NULL, &old);
    hold(cc, r);
    kobj_unref(old);
    drop_if_empty(cc, r);
}

static void on_unseen(struct loop *l, void *arg);

/* A watch may be late for longer than anybody would wait; its devices are free when it is gone. */
static void on_answer(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct claim_record *r = arg;
    CLEANUP(kobj_unref) struct kobj *o = err ? NULL : claimwrite_decode(r->cc, resp);

    r->asking = NULL;
    if (o ? !kuid_equal(o->meta.uid, r->uid) : err && err->reason == KR_NOT_FOUND)
        drop_assumed(r->cc, r);
    else
        r->expected = loop_after(r->cc->env.loop, EXPECTED_MAX, on_unseen, r);
}

static void on_unseen(struct loop *l, void *arg)
{
    struct claim_record *r = arg;
    const struct objmeta *m = &r->assumed->meta;

    (void)l;
    r->expected = NULL;
    r->asking =
        kube_do(r->cc->env.kube,
                &(struct kube_req){
                    .verb = KUBE_GET, .kind = &kind_resource_claim, .ns = m->ns, .name = m->name },
                on_answer, r);
}

void claimcache_expect(struct claimcache *cc, struct kobj *claim)
{
    struct claim_record *r = record_of(cc, claim);
    struct kobj *old = NULL;

    if (r->seen) {
        claimcache_assume(cc, claim);
        return;
    }
    swap(&r->assumed, claim, &old);
    hold(cc, r);
    kobj_unref(old);
    stop_expecting(r);
    r->expected = loop_after(cc->env.loop, EXPECTED_MAX, on_unseen, r);
}

void claimcache_forget(struct claimcache *cc, struct kuid claim)
{
    struct claim_record *r = uidmap_get(&cc->records, claim);

    if (!r || r->seen)
        return; /* the watch tells */
    stop_expecting(r);
    drop_assumed(cc, r);
}

const struct resource_claim *claimcache_get(const struct claimcache *cc, const char *ns,
                                            const char *name)
{
    const struct kobj *o =
        cc->env.objects ? objects_get(cc->env.objects, &kind_resource_claim, ns, name) : NULL;
    const struct claim_record *r = o ? uidmap_get(&cc->records, o->meta.uid) : NULL;

    return r && newest(r) ? resource_claim_of(newest(r)) : o ? resource_claim_of(o) : NULL;
}

bool claimcache_is_in_flight(const struct claimcache *cc, const struct resource_claim *c)
{
    const struct claim_record *r = uidmap_get(&cc->records, c->obj.meta.uid);
    return r && r->in_flight;
}

/* ---- bookings -------------------------------------------------------------------------------- */

static struct claim_allocation *copy_allocation(const struct claim_allocation *from,
                                                struct arena *a)
{
    struct claim_allocation *to = arena_new0(a, struct claim_allocation);

    kj_copy(&claim_allocation_schema, from, a, to);
    return to;
}

struct booking *booking_new(struct claimcache *cc, struct kobj *pod,
                            const struct resource_claim *const *claims,
                            struct claim_allocation *const *allocations, uint32_t n)
{
    struct booking *b = xnew0(struct booking);

    b->cc = cc;
    b->pod = kobj_ref(pod);
    b->uid = pod->meta.uid;
    b->arena = arena_new();
    b->claims = arena_newn0(b->arena, n, struct booked);
    b->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct objmeta *m = &claims[i]->obj.meta;
        struct booked *to = &b->claims[i];
        to->uid = uidmap_own(m->uid, &to->uid_text);
        to->flight = uidmap_own(m->uid, &to->flight_text);
        to->ns = arena_strdup(b->arena, m->ns);
        to->name = arena_strdup(b->arena, m->name);
        to->key = arena_printf(b->arena, "%s/%s", m->ns, m->name);
        if (!allocations[i]) {
            to->had = copy_allocation(claims[i]->status.allocation, b->arena);
            continue;
        }
        to->allocation = copy_allocation(allocations[i], b->arena);
        struct claim_record *r = record_of(cc, &claims[i]->obj);
        r->in_flight = to->allocation;
        pools_hold(cc->pools, to->allocation, r->key);
    }
    uidmap_put(&cc->bookings, b);
    return b;
}

struct booking *booking_find(const struct claimcache *cc, struct kuid pod)
{
    return uidmap_get(&cc->bookings, pod);
}

void booking_land(struct booking *b, struct booked *c)
{
    struct claim_record *r = uidmap_get(&b->cc->records, c->flight);

    if (!r || !c->allocation || r->in_flight != c->allocation)
        return;
    r->in_flight = NULL;
    pools_give(b->cc->pools, c->allocation, r->key);
    if (!r->held || !claim_same_devices(r->held, c->allocation))
        tell_waiting(b->cc);
    drop_if_empty(b->cc, r);
}

static void unlink_booking(struct booking *b)
{
    if (!b->left) {
        uidmap_remove(&b->cc->bookings, b->uid);
        return;
    }
    for (struct booking **at = &b->cc->leaving; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            return;
        }
}

void booking_end(struct booking *b)
{
    unlink_booking(b);
    for (uint32_t i = 0; i < b->n; i++) {
        booking_land(b, &b->claims[i]);
        free(b->claims[i].uid_text);
        free(b->claims[i].flight_text);
        kobj_unref(b->claims[i].made);
    }
    claimwrite_stop(b);
    kobj_unref(b->latest);
    kobj_unref(b->pod);
    free(b->failure);
    arena_free(b->arena);
    free(b);
}

/* Whoever the server shows as reserved for the pod is released. */
static void release_claims(struct booking *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct booked *x = &b->claims[i];
        if (x->special) {
            if (x->made)
                extwrite_delete(b->cc, x->ns, x->name, x->uid, b->uid);
            continue;
        }
        const struct resource_claim *c = claimcache_get(b->cc, b->claims[i].ns, b->claims[i].name);
        if (c && kuid_equal(c->obj.meta.uid, b->claims[i].uid) && c->status.allocation &&
            claim_is_reserved_for(c, b->uid))
            claimerrand_release(b->cc, c, b->uid);
    }
}

void booking_leave(struct booking *b)
{
    if (!b->left) {
        uidmap_remove(&b->cc->bookings, b->uid);
        b->left = true;
        b->next = b->cc->leaving;
        b->cc->leaving = b;
    }
    b->bind = NULL;
    if (claimwrite_is_under_way(b))
        return; /* comes back when its outcome is known */
    release_claims(b);
    booking_end(b);
}

/* ---- claims of a pod ------------------------------------------------------------------------- */

enum { NOT_NEEDED = 1 };

/* The name of the claim for an entry. */
static int claim_name(const struct pod *p, const struct pod_resource_claim *e, const char **ret,
                      struct ks_texts *why)
{
    const struct objmeta *m = &p->obj.meta;

    *ret = e->claim_name;
    if (!str_empty(e->claim_name))
        return 0;
    if (str_empty(e->template_name)) {
        ks_texts_addf(why,
                      "pod \"%s/%s\", spec.resourceClaim \"%s\": none of the supported fields "
                      "are set",
                      m->ns, m->name, e->name);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < p->status.resource_claim_statuses.n; i++) {
        const struct resource_claim_status *s = &p->status.resource_claim_statuses.items[i];
        if (!streq(s->name, e->name))
            continue;
        *ret = s->claim_name;
        return str_empty(s->claim_name) ? NOT_NEEDED : 0;
    }
    ks_texts_addf(why, "pod \"%s/%s\": ResourceClaim not created yet", m->ns, m->name);
    return -ENOENT;
}

static int check_claim(const struct resource_claim *c, const struct pod *p, const char *name,
                       bool made, struct ks_texts *why)
{
    const struct objmeta *m = &p->obj.meta;

    if (!c) {
        ks_texts_addf(why, "could not find ResourceClaim \"%s/%s\"", m->ns, name);
        return -ENOENT;
    }
    if (c->obj.meta.deleted) {
        ks_texts_addf(why, "resourceclaim \"%s\" is being deleted", name);
        return -ENOENT;
    }
    const struct owner_ref *owner = made ? kobj_controller(&c->obj) : NULL;
    if (made && (!owner || !kuid_equal(owner->uid, m->uid))) {
        ks_texts_addf(why, "ResourceClaim %s/%s was not created for pod %s/%s (pod is not owner)",
                      m->ns, name, m->ns, m->name);
        return -EPERM;
    }
    return 0;
}

/* Two entries may name one claim. */
static bool is_listed(const struct resource_claim *const *claims, uint32_t n,
                      const struct resource_claim *c)
{
    for (uint32_t i = 0; i < n; i++)
        if (claims[i] == c)
            return true;
    return false;
}

int pod_claims(const struct claimcache *cc, const struct pod *p, struct arena *a,
               const struct resource_claim ***ret, uint32_t *ret_n, struct ks_texts *why)
{
    uint32_t n = p->spec->resource_claims.n;

    *ret = arena_newn0(a, n, const struct resource_claim *);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pod_resource_claim *e = &p->spec->resource_claims.items[i];
        const char *name;
        int r = claim_name(p, e, &name, why);
        if (r == NOT_NEEDED)
            continue;
        const struct resource_claim *c = r < 0 ? NULL : claimcache_get(cc, p->obj.meta.ns, name);
        if (r == 0)
            r = check_claim(c, p, name, str_empty(e->claim_name), why);
        if (r < 0)
            return r;
        if (!is_listed(*ret, *ret_n, c))
            (*ret)[(*ret_n)++] = c;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_slice(void *arg, struct kobj *before, struct kobj *now)
{
    struct claimcache *cc = arg;

    if (before)
        pools_remove_slice(cc->pools, before);
    if (now)
        pools_put_slice(cc->pools, now);
}

static void on_rule(void *arg, struct kobj *before, struct kobj *now)
{
    struct claimcache *cc = arg;

    if (now)
        pools_put_rule(cc->pools, now);
    else
        pools_remove_rule(cc->pools, before);
}

static void listen(struct claimcache *cc, struct objects_listener *l, const struct kind *k,
                   void (*fn)(void *, struct kobj *, struct kobj *))
{
    struct kobj *o;

    *l = (struct objects_listener){ .kind = k, .fn = fn, .arg = cc };
    for (size_t it = 0; (o = objects_next(cc->env.objects, k, &it));)
        fn(cc, NULL, o);
    objects_listen(cc->env.objects, l);
}

static int claimcache_create(const struct ks_env *env, const void *args, void **ret,
                             struct kerr *err)
{
    const struct dra_gates gates = {
        .admin_access = ks_gate(env, "DRAAdminAccess"),
        .prioritized_list = ks_gate(env, "DRAPrioritizedList"),
        .partitionable = ks_gate(env, "DRAPartitionableDevices"),
        .taints = ks_gate(env, "DRADeviceTaints"),
        .taint_rules = ks_gate(env, "DRADeviceTaintRules"),
        .consumable = ks_gate(env, "DRAConsumableCapacity"),
        .binding_conditions = ks_gate(env, "DRADeviceBindingConditions") &&
                              ks_gate(env, "DRAResourceClaimDeviceStatus"),
    };
    struct claimcache *cc = xnew0(struct claimcache);

    (void)err;
    cc->env = *env;
    cc->args = args;
    cc->pools = pools_new(&gates);
    if (env->objects) {
        listen(cc, &cc->on_rule, &kind_device_taint_rule, on_rule);
        listen(cc, &cc->on_slice, &kind_resource_slice, on_slice);
        listen(cc, &cc->on_claim, &kind_resource_claim, on_claim);
    }
    if (env->metrics)
        cc->metrics = dra_metrics_new(cc->pools, env->metrics);
    *ret = cc;
    return 0;
}

static void claimcache_destroy(void *service)
{
    struct claimcache *cc = service;
    struct claim_record *r;
    struct booking *b;

    cc->env.scheduler = NULL; /* its queue has gone already */
    dra_metrics_free(cc->metrics);
    claimerrand_end(cc);
    extwrite_end(cc);
    if (cc->env.objects) {
        objects_unlisten(cc->env.objects, &cc->on_rule);
        objects_unlisten(cc->env.objects, &cc->on_slice);
        objects_unlisten(cc->env.objects, &cc->on_claim);
    }
    for (size_t it = 0; (b = uidmap_next(&cc->bookings, &it)); it = 0)
        booking_end(b);
    while (cc->leaving)
        booking_end(cc->leaving);
    for (size_t it = 0; (r = uidmap_next(&cc->records, &it));)
        record_free(cc, r);
    specialclaims_fini(&cc->specials);
    uidmap_fini(&cc->records);
    uidmap_fini(&cc->bookings);
    pools_free(cc->pools);
    free(cc);
}

static void on_node(void *service, const struct node *before, const struct node *now)
{
    struct claimcache *cc = service;

    if (!now)
        pools_forget_node(cc->pools, before->obj.meta.name);
}

const struct ks_service claimcache_service = {
    .name = "DynamicResources",
    .create = claimcache_create,
    .destroy = claimcache_destroy,
    .node = on_node,
};
