/* info.c - what follows from the state of a Reservation (sched-reservation 3, 4). */
#include "api/koord/reservation_life.h"
#include "api/pod.h"
#include "api/podresources.h"
#include "api/protocol/cpu.h"
#include "api/protocol/reservation.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/cpuset.h"
#include "scheduler/plugins/reservation/cache.h"

/* ---- amounts --------------------------------------------------------------------------------- */

static struct ks_amounts amounts_of(const reslist *l, struct arena *a)
{
    struct ks_amounts r = { .items = arena_newn0(a, l->n, struct ks_request) };

    for (uint32_t i = 0; i < l->n; i++)
        r.items[r.n++] = (struct ks_request){ l->items[i].name, requests_count(l, l->items[i].name),
                                              KS_NO_COLUMN };
    return r;
}

int64_t resv_available(const struct resv *r, const char *name)
{
    int64_t left = ks_amounts_get(&r->view.allocatable, name) -
                   ks_amounts_get(&r->view.allocated, name) - ks_amounts_get(&r->view.kept, name);
    return MAX(left, 0);
}

/* ---- who may own it -------------------------------------------------------------------------- */

static const char *keep_text(struct resv *r, const struct kerr *err)
{
    return arena_strdup(r->mem, err->text);
}

static void derive_owners(struct resv *r, const reservation_ownerlist *owners)
{
    struct kerr err = { 0 };

    r->matchers = arena_newn0(r->mem, owners->n, struct owner_matcher);
    for (uint32_t i = 0; i < owners->n; i++) {
        const struct reservation_owner *o = &owners->items[i];
        struct owner_matcher *m = &r->matchers[r->nmatchers++];
        struct labelsel *labels = NULL;
        *m = (struct owner_matcher){ .object = o->object,
                                     .controller = o->controller,
                                     .selector = o->label_selector };
        if (o->label_selector && labelsel_from(o->label_selector, r->mem, &labels, &err) < 0)
            r->unmatchable = keep_text(r, &err);
        m->labels = labels;
    }
}

/* ---- what is counted ------------------------------------------------------------------------- */

static bool listed(const kstrlist *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], name))
            return true;
    return false;
}

/* The names in allocatable; a Restricted one may say which of them are restricted. */
static void derive_names(struct resv *r, const kstrmap *annotations, bool restricted)
{
    struct reservation_restricted_options options = { 0 };
    const struct ks_amounts *all = &r->view.allocatable;
    const char **names = arena_newn0(r->mem, all->n, const char *);
    struct kerr err = { 0 };

    if (restricted && reservation_restricted_options_read(annotations, r->mem, &options, &err) < 0)
        r->unmatchable = keep_text(r, &err);
    for (uint32_t i = 0; i < all->n; i++)
        if (listed(&options.resources, all->items[i].name))
            names[r->view.nnames++] = all->items[i].name;
    for (uint32_t i = 0; r->view.nnames == 0 && i < all->n; i++)
        names[i] = all->items[i].name;
    r->view.nnames = r->view.nnames ? r->view.nnames : all->n;
    r->view.names = names;
    r->view.allocated.items = arena_newn0(r->mem, r->view.nnames, struct ks_request);
    r->view.allocated.n = r->view.nnames;
    for (uint32_t i = 0; i < r->view.nnames; i++)
        r->view.allocated.items[i] = (struct ks_request){ names[i], 0, KS_NO_COLUMN };
}

static void derive_kept(struct resv *r, const kstrmap *annotations)
{
    struct node_reservation n;
    struct kerr err = { 0 };
    struct cpuset cpus;

    int code = node_reservation_read(annotations, r->mem, &n, &err);
    if (code < 0)
        r->unmatchable = keep_text(r, &err);
    if (code <= 0)
        return;
    reslist l = n.resources;
    if (!str_empty(n.reserved_cpus) &&
        cpuset_parse(n.reserved_cpus, strlen(n.reserved_cpus), &cpus, NULL) == 0)
        l = reslist_with(&l, RES_CPU, qty_from_i64((int64_t)cpuset_count(&cpus), QTY_DECIMAL_SI),
                         r->mem);
    r->view.kept = amounts_of(&l, r->mem);
}

/* Owners are counted for the names that there are now. */
void resv_recount(struct resv *r)
{
    for (uint32_t i = 0; i < r->view.allocated.n; i++) {
        struct ks_request *a = &r->view.allocated.items[i];
        a->count = 0;
        for (size_t k = 0; k < r->owners.n; k++)
            a->count += ks_amounts_get(&r->owners.items[k]->requests, a->name);
    }
    r->view.owners = r->owners.items;
    r->view.nowners = (uint32_t)r->owners.n;
}

/* ---- a Reservation --------------------------------------------------------------------------- */

static void derive_phase(struct resv *r, const struct reservation *o)
{
    r->ended = reservation_has_ended(o);
    r->available = reservation_is_available(o);
    r->active = reservation_is_active(o);
    r->terminating = o->obj.meta.deleted;
    r->unschedulable = o->spec.unschedulable || r->terminating;
    r->view.node = reservation_has_node(o) ? o->status.node_name : NULL;
}

static void derive_amounts(struct resv *r, const struct reservation *o)
{
    struct pod_template t;
    reslist *l = arena_new0(r->mem, reslist);

    if (r->available)
        *l = o->status.allocatable;
    else if (reservation_template(o, r->mem, &t, NULL) == 0)
        *l = pod_spec_requests(&t.spec.spec, NULL, r->mem);
    r->reserved = l;
    r->view.allocatable = amounts_of(l, r->mem);
}

static void derive_reservation(struct resv *r)
{
    const struct reservation *o = reservation_of(r->view.object);
    struct kerr err = { 0 };

    derive_phase(r, o);
    r->view.policy = o->spec.allocate_policy;
    r->view.allocate_once = reservation_is_once(o);
    r->taints = &o->spec.taints;
    if (reservation_check(o, r->mem, &err) < 0)
        r->invalid = keep_text(r, &err);
    derive_amounts(r, o);
    derive_owners(r, &o->spec.owners);
    derive_names(r, &o->obj.meta.annotations, r->view.policy == ALLOCATE_RESTRICTED);
    derive_kept(r, &o->obj.meta.annotations);
}

/* ---- a pod in operating mode Reservation ------------------------------------------------------ */

static void derive_pod(struct resv *r)
{
    static const taintlist none = { 0 };
    const struct pod *p = pod_of(r->view.object);
    struct reservation_owners_value owners;
    struct kerr err = { 0 };

    r->view.node = str_empty(p->node_name) ? NULL : p->node_name;
    r->ended = pod_is_terminal(p);
    r->available = r->active = r->view.node && p->status.phase == POD_RUNNING && pod_is_ready(p);
    r->terminating = r->unschedulable = p->obj.meta.deleted;
    r->view.policy = ALLOCATE_ALIGNED;
    r->view.allocate_once = true;
    r->taints = &none;
    reslist *l = arena_new0(r->mem, reslist);
    *l = pod_requests(p, NULL, r->mem);
    r->reserved = l;
    r->view.allocatable = amounts_of(l, r->mem);
    if (reservation_owners_read(&p->obj.meta.annotations, r->mem, &owners, &err) < 0)
        r->unmatchable = keep_text(r, &err);
    else
        derive_owners(r, &owners.v);
    derive_names(r, &p->obj.meta.annotations, true);
    derive_kept(r, &p->obj.meta.annotations);
}

void resv_derive(struct resv *r)
{
    const struct objmeta *m = &r->view.object->meta;

    arena_free(r->mem);
    r->mem = arena_new_sized(512);
    r->invalid = r->unmatchable = NULL;
    r->matchers = NULL;
    r->nmatchers = r->view.nnames = 0;
    r->view.kept = (struct ks_amounts){ 0 };
    r->view.name = m->name;
    r->order = reservation_order(&m->labels);
    if (r->is_pod)
        derive_pod(r);
    else
        derive_reservation(r);
    resv_recount(r);
}
