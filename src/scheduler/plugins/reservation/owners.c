/* owners.c - pods in their reservations: assumed by us, or as their annotations say
 * (sched-reservation 4, 5).
 */
#include "api/pod.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/intern.h"
#include "scheduler/model/shares.h"
#include "scheduler/plugins/reservation/cache.h"

/* ---- one of them ----------------------------------------------------------------------------- */

static void owner_free(struct resv_owner *o)
{
    for (uint32_t i = 0; i < o->view.requests.n; i++)
        istr_unref(o->view.requests.items[i].name);
    free(o->view.requests.items);
    istr_unref(o->view.ns);
    free((char *)o->view.name);
    free(o->uid_text);
    free(o->wants);
    free(o->node);
    free(o);
}

static void owner_add(struct reservations *c, struct resv_owner *o, const char *name, int64_t count)
{
    struct ks_amounts *r = &o->view.requests;

    r->items = xreallocarray(r->items, r->n + 1u, sizeof *r->items);
    r->items[r->n++] = (struct ks_request){ intern_getz(c->strings, name), count, KS_NO_COLUMN };
}

static struct resv_owner *owner_new(struct reservations *c, const struct pod *p,
                                    const struct requests *r)
{
    static const char *const fixed[] = { RES_CPU, RES_MEMORY, RES_EPHEMERAL_STORAGE };
    struct resv_owner *o = xnew0(struct resv_owner);

    o->uid = o->view.uid = uidmap_own(p->obj.meta.uid, &o->uid_text);
    o->view.ns = intern_getz(c->strings, p->obj.meta.ns);
    o->view.name = xstrdup(p->obj.meta.name);
    o->mcpu_nz = r->mcpu_nz;
    o->memory_nz = r->memory_nz;
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (r->fixed[i])
            owner_add(c, o, fixed[i], r->fixed[i]);
    for (uint32_t i = 0; i < r->nmore; i++)
        owner_add(c, o, r->more[i].name, r->more[i].count);
    uidmap_put(&c->owners, o);
    return o;
}

/* ---- in its reservation ---------------------------------------------------------------------- */

/* What it takes from the room that its reservation holds: the row of their node counts that once.
 */
static void share(const struct reservations *c, const struct resv_owner *o)
{
    const struct ks_amounts *names = &o->of->view.allocated, *all = &o->view.requests;
    CLEANUP(mem_free) struct ks_request *more = xnewn0(all->n + 1u, struct ks_request);
    struct requests part = { .fixed[KS_PODS] = 1, .more = more };

    for (uint32_t i = 0; i < all->n; i++) {
        const struct ks_request *x = &all->items[i];
        if (!ks_amounts_find(names, x->name))
            continue;
        if (streq(x->name, RES_CPU))
            part.fixed[KS_MCPU] = x->count;
        else if (streq(x->name, RES_MEMORY))
            part.fixed[KS_MEMORY] = x->count;
        else if (streq(x->name, RES_EPHEMERAL_STORAGE))
            part.fixed[KS_EPHEMERAL] = x->count;
        else
            part.more[part.nmore++] = *x;
    }
    part.mcpu_nz = ks_amounts_find(names, RES_CPU) ? o->mcpu_nz : 0;
    part.memory_nz = ks_amounts_find(names, RES_MEMORY) ? o->memory_nz : 0;
    ks_share_set(c->env.nodes, o->uid, o->of->view.uid, &part);
}

static void join(struct reservations *c, struct resv_owner *o, struct resv *r)
{
    o->of = r;
    vec_push(&r->owners, &o->view);
    resv_recount(r);
    if (c->env.nodes && o->view.requests.n)
        share(c, o);
}

static void leave(struct reservations *c, struct resv_owner *o)
{
    struct resv *r = take(o->of);

    if (!r)
        return;
    for (size_t i = 0; i < r->owners.n; i++)
        if (r->owners.items[i] == &o->view) {
            vec_remove(&r->owners, i);
            break;
        }
    resv_recount(r);
    if (c->env.nodes)
        ks_share_clear(c->env.nodes, o->uid);
}

static void drop(struct reservations *c, struct resv_owner *o)
{
    leave(c, o);
    uidmap_remove(&c->owners, o->uid);
    owner_free(o);
}

void reservations_take_over(struct reservations *c, struct resv *r, const struct pod *p,
                            const struct requests *requests)
{
    struct resv_owner *old = uidmap_get(&c->owners, p->obj.meta.uid);

    if (old)
        drop(c, old);
    join(c, owner_new(c, p, requests), r);
}

int reservations_assume(struct reservations *c, struct resv *r, const struct ks_pod *p,
                        struct kerr *err)
{
    if (r->terminating)
        return kerr_set(err, -ESHUTDOWN, "target reservation is terminating");
    if (r->view.allocate_once && r->owners.n)
        return kerr_set(err, -EBUSY,
                        "reservation has allocateOnce enabled and has already been allocated");
    reservations_take_over(c, r, p->pod, &p->requests);
    return 0;
}

void reservations_give_back(struct reservations *c, struct resv *r)
{
    for (size_t i = r->owners.n; i-- > 0;) {
        struct resv_owner *o = container_of(r->owners.items[i], struct resv_owner, view);
        if (!o->wants)
            drop(c, o);
    }
}

void reservations_forget(struct reservations *c, struct kuid pod)
{
    struct resv_owner *o = uidmap_get(&c->owners, pod);

    if (o && !o->wants)
        drop(c, o);
}

/* ---- reservations come and go ---------------------------------------------------------------- */

/* A reservation that is not known, or is on another node, is none: but it may come. */
static bool is_wanted(const struct resv_owner *o, const struct resv *r)
{
    return o->wants && streq(o->wants, r->uid_text) && r->view.node && streq(r->view.node, o->node);
}

static uint64_t hash_names(const struct resv *r)
{
    uint64_t h = 1;

    for (uint32_t i = 0; i < r->view.nnames; i++)
        h = h * 31 + hash_stable(r->view.names[i], strlen(r->view.names[i]));
    return h;
}

void resv_adopt(struct reservations *c, struct resv *r)
{
    uint64_t hash = hash_names(r);
    bool other_names = hash != r->names_hash;
    struct resv_owner *o;

    r->names_hash = hash;
    for (size_t i = 0; other_names && c->env.nodes && i < r->owners.n; i++)
        if (r->owners.items[i]->requests.n)
            share(c, container_of(r->owners.items[i], struct resv_owner, view));
    for (size_t it = 0; c->norphans && (o = uidmap_next(&c->owners, &it));)
        if (!o->of && is_wanted(o, r)) {
            c->norphans--;
            join(c, o, r);
        }
}

void resv_leave_owners(struct reservations *c, struct resv *r)
{
    while (r->owners.n) {
        struct resv_owner *o = container_of(vec_last(&r->owners), struct resv_owner, view);
        leave(c, o);
        c->norphans += o->wants != NULL;
    }
}

void reservations_free_owners(struct reservations *c)
{
    struct resv_owner *o;

    for (size_t it = 0; (o = uidmap_next(&c->owners, &it)); it = 0) {
        leave(c, o);
        uidmap_remove(&c->owners, o->uid);
        owner_free(o);
    }
}

/* ---- news of pods ---------------------------------------------------------------------------- */

static bool same_owner(const struct pod *before, const struct pod *now)
{
    const char *x = kstrmap_get(&before->obj.meta.annotations, ANNO_RESERVATION_ALLOCATED);
    const char *y = kstrmap_get(&now->obj.meta.annotations, ANNO_RESERVATION_ALLOCATED);

    return x && y && streq(x, y) && before->spec == now->spec && !requests_in_status(now);
}

static void forget_pod(struct reservations *c, struct resv_owner *o)
{
    c->norphans -= o->wants && !o->of;
    drop(c, o);
}

/* Its annotation names a reservation. One that says nothing is none. */
static void take_over(struct reservations *c, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct reservation_allocated v;
    struct requests requests;

    if (reservation_allocated_read(&p->obj.meta.annotations, a, &v, NULL) <= 0 || str_empty(v.uid))
        return;
    requests_accounted(p, a, &requests);
    struct resv_owner *o = owner_new(c, p, &requests);
    struct resv *r = uidmap_get(&c->by_uid, kuid_parse(v.uid, strlen(v.uid)));
    o->wants = xstrdup(v.uid);
    o->node = xstrdup(p->node_name);
    if (!r || !is_wanted(o, r)) {
        c->norphans++;
        return;
    }
    join(c, o, r);
}

/* ---- pods that are reservations (13) ---------------------------------------------------------- */

static bool is_operating(const struct pod *p)
{
    return pod_operating_mode(&p->obj.meta.labels) == OPERATING_RESERVATION;
}

/* Who has it already, as somebody else has decided: by name only, what it takes is not known. */
static void set_current_owner(struct reservations *c, struct resv *r, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct object_ref owner;

    if (reservation_current_owner_read(&p->obj.meta.annotations, a, &owner, NULL) <= 0 ||
        kuid_is_empty(owner.uid) || uidmap_get(&c->owners, owner.uid))
        return;
    struct resv_owner *o = xnew0(struct resv_owner);
    o->uid = o->view.uid = uidmap_own(owner.uid, &o->uid_text);
    o->view.ns = intern_getz(c->strings, str_or(owner.ns, ""));
    o->view.name = xstrdup(str_or(owner.name, ""));
    o->wants = xstrdup(r->uid_text);
    o->node = xstrdup(p->node_name);
    uidmap_put(&c->owners, o);
    join(c, o, r);
}

static void operating_news(struct reservations *c, const struct pod *now)
{
    const struct resv *known = uidmap_get(&c->by_uid, now->obj.meta.uid);

    if (!is_operating(now)) {
        if (known && known->is_pod)
            resv_gone(c, now->obj.meta.uid);
        return;
    }
    struct resv *r = resv_news(c, (struct kobj *)&now->obj, true);
    set_current_owner(c, r, now);
    resv_refresh(c, r);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    struct reservations *c = service;
    struct resv_owner *o = uidmap_get(&c->owners, now->obj.meta.uid);

    if (is_operating(now) || (before && is_operating(before)))
        operating_news(c, now);
    if (!o && !kstrmap_get(&now->obj.meta.annotations, ANNO_RESERVATION_ALLOCATED))
        return;
    if (reservations_is_reserve_pod(c, now) || (before && o && o->wants && same_owner(before, now)))
        return;
    if (o)
        forget_pod(c, o);
    take_over(c, now);
}

static void on_gone(void *service, const struct pod *last)
{
    struct reservations *c = service;
    struct resv_owner *o = uidmap_get(&c->owners, last->obj.meta.uid);

    if (o)
        forget_pod(c, o);
    if (is_operating(last))
        resv_gone(c, last->obj.meta.uid);
}

const struct ks_pod_handler reservations_pods = { .placed = on_placed,
                                                  .changed = on_placed,
                                                  .gone = on_gone };
