/* nodevolumelimits.c - how many volumes of a CSI driver a node can attach (scheduler-core 8.14).
 *
 * First an upper bound that costs one addition a row: all volumes of the row's pods plus all
 * attachments. Only where that is too much the volumes are told apart and counted.
 */
#include "api/node.h"
#include "base/arena.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/nodevolumelimits/internal.h"
#include "scheduler/plugins/registry.h"

enum { WHY_LIMIT = 1, WHY_CLAIM };
static const struct ks_reason volumes_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "node(s) exceed max volume count" },
    { KS_UNRESOLVABLE, "" }, /* explained */
};

struct volumes {
    const struct objects *objects;
    struct volrows claims;
    struct csilimits limits;
    struct volattached attachments;
    struct volusage usage;
};
struct need { /* of one driver */
    uint64_t driver;
    const int32_t *limit; /* [row] */
    uint32_t count;
};
struct volumes_state {
    const char *problem; /* no node helps: a claim is not there */
    struct csi_volume *items;
    uint32_t n;
    struct need *needs;
    uint32_t nneeds;
    uint32_t overlay; /* the row whose pods are not those that were counted */
};

static bool is_countable(const struct pod_volume *v)
{
    return volume_is_claim(v) || csi_is_inline(v);
}

/* ---- pre_filter ------------------------------------------------------------------------------ */

/* What is wrong with a claim; NULL: nothing. */
static const char *problem_of(const struct pvc *c, const struct pod *p, const struct pod_volume *v,
                              struct arena *a)
{
    struct ks_texts t = { .arena = a };
    char buf[CLAIM_NAME_MAX];

    if (!c)
        claim_missing(&t, claim_name(p, v, buf));
    else if (!claim_is_for(c, p, v))
        claim_foreign(&t, c, p);
    return t.n ? t.items[0] : NULL;
}

static void add_item(struct volumes_state *s, const struct csi_volume *v)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->items[i].id == v->id)
            return;
    s->items[s->n++] = *v;
}

static void collect(const struct volumes *self, const struct pod *p, struct volumes_state *s,
                    struct arena *a)
{
    s->items = arena_newn0(a, p->volumes.n, struct csi_volume);
    for (uint32_t i = 0; i < p->volumes.n && !s->problem; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        struct csi_volume csi;
        if (volume_is_claim(v)) {
            const struct pvc *c = claim_find(self->objects, p, v);
            s->problem = problem_of(c, p, v, a);
            if (!s->problem && csi_of_claim(self->objects, c, &csi))
                add_item(s, &csi);
        } else if (csi_of_inline(v, &csi)) {
            add_item(s, &csi);
        }
    }
}

/* By driver; those that no node limits are of no interest. */
static void note_needs(struct volumes *self, const struct ks_nodes *nodes, struct volumes_state *s,
                       struct arena *a)
{
    s->needs = arena_newn0(a, s->n, struct need);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct csi_volume *v = &s->items[i];
        uint32_t k = 0;
        while (k < s->nneeds && s->needs[k].driver != v->driver)
            k++;
        if (k == s->nneeds) {
            const int32_t *limit =
                csilimits_get(&self->limits, self->objects, nodes, v->driver_name);
            if (!limit)
                continue;
            s->needs[s->nneeds++] = (struct need){ v->driver, limit, 0 };
        }
        s->needs[k].count++;
    }
}

static enum ks_code volumes_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct volumes *v = self;
    bool any = false;

    (void)only, (void)why;
    *ret_state = NULL;
    for (uint32_t i = 0; i < p->pod->volumes.n; i++)
        any |= is_countable(&p->pod->volumes.items[i]);
    if (!any)
        return KS_SKIP;
    struct volumes_state *s = arena_new0(c->arena, struct volumes_state);
    collect(v, p->pod, s, c->arena);
    csilimits_begin(&v->limits, v->objects, c->nodes);
    note_needs(v, c->nodes, s, c->arena);
    if (!s->problem && s->nneeds == 0)
        return KS_SKIP;
    volrows_refresh(&v->claims, c->nodes);
    volattached_refresh(&v->attachments, v->objects, c->nodes);
    volusage_reserve(&v->usage, c->nodes->n);
    s->overlay = KS_NO_ROW;
    *ret_state = s;
    return KS_SUCCESS;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* Rows where the limit might be passed. */
KOORD_CLONES static void suspect(struct ks_span s, const struct need *n,
                                 const uint32_t *restrict claims, const uint32_t *restrict attached,
                                 uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] |= (int64_t)claims[i] + attached[i] + n->count > n->limit[i];
}

static uint32_t count_driver(const struct volset *s, uint64_t driver, const struct volset *without)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += s->items[i].driver == driver && !(without && volset_has(without, s->items[i].id));
    return n;
}

static bool row_exceeds(const struct volumes *v, const struct volumes_state *s,
                        const struct volset *pods, uint32_t row, bool migrated)
{
    const struct volset *attached = &v->attachments.sets[row];

    for (uint32_t k = 0; k < s->nneeds; k++) {
        const struct need *n = &s->needs[k];
        uint32_t more = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            const struct csi_volume *x = &s->items[i];
            more += x->driver == n->driver && (!x->if_migrated || migrated) &&
                    !volset_has(pods, x->id) && !volset_has(attached, x->id);
        }
        if (more > 0 && (int64_t)count_driver(pods, n->driver, NULL) +
                                count_driver(attached, n->driver, pods) + more >
                            n->limit[row])
            return true;
    }
    return false;
}

static bool row_is_migrated(const struct volumes *v, const struct ks_nodes *nodes, uint32_t row)
{
    const struct kobj *o =
        objects_get(v->objects, &kind_csi_node, NULL, nodes->node[row]->obj.meta.name);
    return o && csi_is_migrated(csi_node_of(o));
}

static bool look_closer(struct volumes *v, const struct volumes_state *s,
                        const struct ks_nodes *nodes, uint32_t row)
{
    struct volset now = { 0 };
    const struct volset *pods;
    bool overlay = row == s->overlay, migrated = false;

    for (uint32_t i = 0; i < s->n && !migrated; i++)
        migrated = s->items[i].if_migrated && row_is_migrated(v, nodes, row);
    if (overlay)
        volusage_collect(v->objects, nodes, row, &now);
    pods = overlay ? &now : volusage_row(&v->usage, v->objects, nodes, row);
    bool exceeds = row_exceeds(v, s, pods, row, migrated);
    volset_fini(&now);
    return exceeds;
}

static void volumes_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    struct volumes *v = self;
    const struct volumes_state *state = c->state;

    (void)p;
    memset(why + s.begin, state->problem ? WHY_CLAIM : 0, s.end - s.begin);
    if (state->problem)
        return;
    for (uint32_t k = 0; k < state->nneeds; k++)
        suspect(s, &state->needs[k], v->claims.count, v->attachments.count, why);
    if (s.begin <= state->overlay && state->overlay < s.end)
        why[state->overlay] = 1;
    for (uint32_t i = s.begin; i < s.end; i++)
        if (why[i])
            why[i] = !skip[i] && look_closer(v, state, c->nodes, i) ? WHY_LIMIT : 0;
}

static void volumes_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            uint32_t row, struct ks_texts *out)
{
    const struct volumes_state *state = c->state;

    (void)self, (void)p, (void)row;
    if (state->problem)
        ks_texts_add(out, state->problem);
}

/* The row is looked at as it is from now on, whatever was counted. */
static void volumes_touch(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          const struct pod *other, uint32_t row)
{
    struct volumes_state *state = c->state;

    (void)self, (void)p, (void)other;
    state->overlay = row;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool worth_csi_node(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    if (!e->before)
        return true;
    const struct csi_node *before = csi_node_of(e->before), *now = csi_node_of(e->now);
    for (uint32_t i = 0; i < before->drivers.n; i++) {
        const struct csi_node_driver *d = &before->drivers.items[i];
        for (uint32_t k = 0; d->count.set && k < now->drivers.n; k++) {
            const struct csi_node_driver *x = &now->drivers.items[k];
            if (streq(x->name, d->name) && (!x->count.set || x->count.v > d->count.v))
                return true;
        }
    }
    return false;
}

static bool worth_pod_gone(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);
    bool any = false;

    (void)self, (void)p;
    for (uint32_t i = 0; i < gone->volumes.n; i++)
        any |= is_countable(&gone->volumes.items[i]);
    return any && (e->resource == KS_RES_ASSIGNED_POD || !str_empty(gone->node_name) ||
                   !str_empty(gone->status.nominated_node_name));
}

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return claim_is_used(e->now, p, true);
}

static bool worth_detached(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct volume_attachment *va =
        container_of(e->before, const struct volume_attachment, obj);

    (void)self;
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        struct csi_volume v;
        if (volume_is_claim(&p->volumes.items[i]) ||
            (csi_of_inline(&p->volumes.items[i], &v) && streq(v.driver_name, va->attacher)))
            return true;
    }
    return false;
}

static const struct ks_hint volumes_hints[] = {
    { KS_RES_CSI_NODE, KS_ADD | KS_UPDATE, worth_csi_node },
    { KS_RES_POD, KS_DELETE, worth_pod_gone },
    { KS_RES_PVC, KS_ADD, worth_claim },
    { KS_RES_VOLUME_ATTACHMENT, KS_DELETE, worth_detached },
};

/* ---- life ------------------------------------------------------------------------------------ */

static int volumes_create(const struct ks_env *env, const void *args, void **ret_self,
                          struct kerr *err)
{
    struct volumes *v = xnew0(struct volumes);

    (void)args, (void)err;
    v->objects = env->objects;
    v->claims.counts = is_countable;
    *ret_self = v;
    return 0;
}

static void volumes_destroy(void *self)
{
    struct volumes *v = self;

    volrows_fini(&v->claims);
    csilimits_fini(&v->limits);
    volattached_fini(&v->attachments);
    volusage_fini(&v->usage);
    free(v);
}

static const struct kind *const volumes_kinds[] = {
    &kind_pvc, &kind_pv, &kind_storage_class, &kind_csi_node, &kind_volume_attachment, NULL,
};

const struct ks_plugin ks_plugin_node_volume_limits = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeVolumeLimits",
    .reasons = volumes_reasons,
    .reuse = KS_REUSE_GLOBAL,
    .kinds = volumes_kinds,
    .create = volumes_create,
    .destroy = volumes_destroy,
    .hints = volumes_hints,
    .nhints = ARRAY_LEN(volumes_hints),
    .pre_filter = volumes_pre_filter,
    .filter = volumes_filter,
    .explain = volumes_explain,
    .add_pod = volumes_touch,
    .remove_pod = volumes_touch,
};
