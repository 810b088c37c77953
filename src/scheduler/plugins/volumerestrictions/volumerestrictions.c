/* volumerestrictions.c - volumes that one node, or one pod, may use at a time
 * (scheduler-core 8.13): disks that are mounted elsewhere, claims of access mode ReadWriteOncePod.
 */
#include "base/arena.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/volume/claims.h"
#include "scheduler/plugins/volume/rows.h"

enum { WHY_DISK = 1, WHY_CLAIM };
static const struct ks_reason restrictions_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "node(s) had no available disk" },
    { KS_UNSCHEDULABLE, "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                        "access mode already in-use by another pod" },
};

struct restrictions {
    const struct objects *objects;
};
enum {
    DISKS,
    CLAIMS,
    RESTRICTIONS_COLUMNS
}; /* how many volumes of this sort the row's pods have */
struct wanted {
    bool disks;         /* the pod has some that cannot be shared */
    const char **alone; /* claims that no other pod may use */
    uint32_t n;
    uint32_t uses; /* of these claims by pods that have a node */
};

/* ---- disks ----------------------------------------------------------------------------------- */

static bool is_disk(const struct pod_volume *v)
{
    return v->gce || v->ebs || v->iscsi || v->rbd;
}

static bool overlap(const kstrlist *a, const kstrlist *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (access_has(b, a->items[i]))
            return true;
    return false;
}

static bool same_image(const struct volume_rbd *a, const struct volume_rbd *b)
{
    return overlap(&a->monitors, &b->monitors) && streq(a->pool, b->pool) &&
           streq(a->image, b->image);
}

static bool disks_conflict(const struct pod_volume *a, const struct pod_volume *b)
{
    return (a->gce && b->gce && streq(a->gce->id, b->gce->id) &&
            !(a->gce->read_only && b->gce->read_only)) ||
           (a->ebs && b->ebs && streq(a->ebs->id, b->ebs->id)) ||
           (a->iscsi && b->iscsi && streq(a->iscsi->iqn, b->iscsi->iqn) &&
            !(a->iscsi->read_only && b->iscsi->read_only)) ||
           (a->rbd && b->rbd && same_image(a->rbd, b->rbd) &&
            !(a->rbd->read_only && b->rbd->read_only));
}

static bool pods_conflict(const struct pod *a, const struct pod *b)
{
    for (uint32_t i = 0; i < a->volumes.n; i++)
        for (uint32_t k = 0; is_disk(&a->volumes.items[i]) && k < b->volumes.n; k++)
            if (disks_conflict(&a->volumes.items[i], &b->volumes.items[k]))
                return true;
    return false;
}

static bool row_conflicts(const struct ks_podlist *on, const struct pod *p)
{
    for (uint32_t i = 0; i < on->n; i++)
        if (on->items[i]->volumes.n && pods_conflict(p, on->items[i]))
            return true;
    return false;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool is_named_claim(const struct pod_volume *v)
{
    return v->claim;
}

static bool names(const struct wanted *w, const char *claim)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (streq(w->alone[i], claim))
            return true;
    return false;
}

static uint32_t uses_of(const struct wanted *w, const struct pod *p, const struct pod *other)
{
    uint32_t n = 0;

    if (other->volumes.n == 0 || !streq(other->obj.meta.ns, p->obj.meta.ns))
        return 0;
    for (uint32_t i = 0; i < other->volumes.n; i++) {
        const struct volume_claim *c = other->volumes.items[i].claim;
        n += c && names(w, c->claim_name);
    }
    return n;
}

static uint32_t uses_of_all(const struct ks_cycle *c, const struct wanted *w, const struct pod *p)
{
    const struct ks_podlist *pods = c->nodes->pods;
    uint32_t n = 0;

    for (uint32_t row = 0; row < c->nodes->n; row++)
        for (uint32_t i = 0; c->rows->column[CLAIMS][row] && i < pods[row].n; i++)
            n += uses_of(w, p, pods[row].items[i]);
    return n;
}

/* ---- row data -------------------------------------------------------------------------------- */

static void restrictions_fill(void *self, struct ks_fill *f)
{
    (void)self;
    f->column[DISKS] = volumes_of_pods(&f->nodes->pods[f->row], is_disk);
    f->column[CLAIMS] = volumes_of_pods(&f->nodes->pods[f->row], is_named_claim);
}

static void restrictions_count(void *self, struct ks_fill *f, const struct pod *p)
{
    (void)self;
    f->column[DISKS] += volumes_of_pod(p, is_disk);
    f->column[CLAIMS] += volumes_of_pod(p, is_named_claim);
}

static void restrictions_discount(void *self, struct ks_fill *f, const struct pod *p)
{
    (void)self;
    f->column[DISKS] -= volumes_of_pod(p, is_disk);
    f->column[CLAIMS] -= volumes_of_pod(p, is_named_claim);
}

static const struct ks_row_data restrictions_row = {
    .columns = RESTRICTIONS_COLUMNS,
    .pods = true,
    .on_demand = true,
    .fill = restrictions_fill,
    .add_pod = restrictions_count,
    .remove_pod = restrictions_discount,
};

/* ---- the attempt ----------------------------------------------------------------------------- */

/* false: a claim is not there. */
static bool look_at_claims(const struct restrictions *r, const struct pod *p, struct wanted *w,
                           struct ks_texts *why)
{
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        const struct pvc *c = v->claim ? claim_find(r->objects, p, v) : NULL;
        if (v->claim && !c) {
            claim_missing(why, v->claim->claim_name);
            return false;
        }
        if (c && access_has(&c->spec.access_modes, "ReadWriteOncePod") &&
            !names(w, c->obj.meta.name))
            w->alone[w->n++] = c->obj.meta.name;
    }
    return true;
}

static enum ks_code restrictions_pre_filter(void *self, const struct ks_cycle *c,
                                            const struct ks_pod *p, void **ret_state,
                                            struct ks_only *only, struct ks_texts *why)
{
    const struct restrictions *r = self;
    const struct pod *pod = p->pod;

    (void)only;
    *ret_state = NULL;
    if (pod->volumes.n == 0)
        return KS_SKIP;
    struct wanted *w = arena_new0(c->arena, struct wanted);
    w->alone = arena_newn0(c->arena, pod->volumes.n, const char *);
    for (uint32_t i = 0; i < pod->volumes.n; i++)
        w->disks |= is_disk(&pod->volumes.items[i]);
    if (!look_at_claims(r, pod, w, why))
        return KS_UNRESOLVABLE;
    if (w->disks || w->n > 0)
        ks_rows_refresh(c);
    if (w->n > 0)
        w->uses = uses_of_all(c, w, pod);
    if (!w->disks && w->uses == 0)
        return KS_SKIP;
    *ret_state = w;
    return KS_SUCCESS;
}

static void restrictions_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct wanted *w = c->state;

    (void)self;
    memset(why + s.begin, w->uses > 0 ? WHY_CLAIM : 0, s.end - s.begin);
    for (uint32_t i = s.begin; w->disks && i < s.end; i++)
        if (!skip[i] && c->rows->column[DISKS][i] && row_conflicts(&c->nodes->pods[i], p->pod))
            why[i] = WHY_DISK;
}

static void restrictions_add_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 const struct pod *other, uint32_t row)
{
    struct wanted *w = c->state;
    (void)self, (void)row;
    w->uses += uses_of(w, p->pod, other);
}

static void restrictions_remove_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    const struct pod *other, uint32_t row)
{
    struct wanted *w = c->state;
    (void)self, (void)row;
    w->uses -= uses_of(w, p->pod, other);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool worth_pod_gone(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);

    (void)self;
    if (!streq(gone->obj.meta.ns, p->obj.meta.ns))
        return false;
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct volume_claim *mine = p->volumes.items[i].claim;
        for (uint32_t k = 0; mine && k < gone->volumes.n; k++) {
            const struct volume_claim *its = gone->volumes.items[k].claim;
            if (its && streq(its->claim_name, mine->claim_name))
                return true;
        }
    }
    return pods_conflict(p, gone);
}

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return claim_is_used(e->now, p, false);
}

static const struct ks_hint restrictions_hints[] = {
    { KS_RES_POD, KS_DELETE, worth_pod_gone },
    { KS_RES_NODE, KS_ADD, NULL },
    { KS_RES_PVC, KS_ADD, worth_claim },
};

/* ---- life ------------------------------------------------------------------------------------ */

static int restrictions_create(const struct ks_env *env, const void *args, void **ret_self,
                               struct kerr *err)
{
    struct restrictions *r = xnew0(struct restrictions);

    (void)args, (void)err;
    r->objects = env->objects;
    *ret_self = r;
    return 0;
}

static void restrictions_destroy(void *self)
{
    free(self);
}

static const struct kind *const restrictions_kinds[] = { &kind_pvc, NULL };

const struct ks_plugin ks_plugin_volume_restrictions = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "VolumeRestrictions",
    .reasons = restrictions_reasons,
    .reuse = KS_REUSE_GLOBAL,
    .kinds = restrictions_kinds,
    .row = &restrictions_row,
    .create = restrictions_create,
    .destroy = restrictions_destroy,
    .hints = restrictions_hints,
    .nhints = ARRAY_LEN(restrictions_hints),
    .pre_filter = restrictions_pre_filter,
    .filter = restrictions_filter,
    .add_pod = restrictions_add_pod,
    .remove_pod = restrictions_remove_pod,
};
