/* nodevolumelimits.c - how many volumes of a CSI driver a node can attach (scheduler-core 8.14).
 *
 * First an upper bound that costs two additions a row: all volumes of the row's pods plus all
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

struct need { /* of one driver */
    uint64_t driver;
    uint32_t count;
};
struct volumes_state {
    const char *problem; /* no node helps: a claim is not there */
    struct csi_volume *items;
    uint32_t n;
    struct need *needs;
    uint32_t nneeds;
};

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
static void note_needs(const struct volumes *self, struct volumes_state *s, struct arena *a)
{
    s->needs = arena_newn0(a, s->n, struct need);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct csi_volume *v = &s->items[i];
        uint32_t k = 0;
        if (!volumes_limited(self, v->driver))
            continue;
        while (k < s->nneeds && s->needs[k].driver != v->driver)
            k++;
        if (k == s->nneeds)
            s->needs[s->nneeds++] = (struct need){ v->driver, 0 };
        s->needs[k].count++;
    }
}

static enum ks_code volumes_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const struct volumes *v = self;
    bool any = false;

    (void)only, (void)why;
    *ret_state = NULL;
    for (uint32_t i = 0; i < p->pod->volumes.n; i++)
        any |= volume_is_countable(&p->pod->volumes.items[i]);
    if (!any)
        return KS_SKIP;
    struct volumes_state *s = arena_new0(c->arena, struct volumes_state);
    collect(v, p->pod, s, c->arena);
    if (s->n > 0)
        ks_rows_refresh(c);
    note_needs(v, s, c->arena);
    if (!s->problem && s->nneeds == 0)
        return KS_SKIP;
    *ret_state = s;
    return KS_SUCCESS;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* Rows where a limit might be passed. */
KOORD_CLONES static void suspect(struct ks_span s, int64_t more, const int64_t *restrict countable,
                                 const int64_t *restrict attached, const int64_t *restrict limit,
                                 uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = countable[i] + attached[i] + more > limit[i];
}

static uint32_t count_driver(const struct volset *s, uint64_t driver, const struct volset *without)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += s->items[i].driver == driver && !(without && volset_has(without, s->items[i].id));
    return n;
}

static bool need_exceeds(const struct volumes_state *s, const struct need *need,
                         const struct volrow *r, const struct volset *pods)
{
    uint32_t more = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct csi_volume *x = &s->items[i];
        more += x->driver == need->driver && (!x->if_migrated || r->migrated) &&
                !volset_has(pods, x->id) && !volset_has(&r->attached, x->id);
    }
    return more > 0 && (int64_t)count_driver(pods, need->driver, NULL) +
                               count_driver(&r->attached, need->driver, pods) + more >
                           volrow_limit(r, need->driver);
}

/* The volumes are told apart only for drivers whose limit might be passed. */
static bool look_closer(const struct volumes *v, const struct ks_cycle *c, uint32_t row)
{
    int64_t there = c->rows->column[COUNTABLE][row] + c->rows->column[ATTACHED][row];
    const struct volumes_state *s = c->state;
    struct volrow *r = ks_row(c->rows, row);

    for (uint32_t k = 0; k < s->nneeds; k++)
        if (there + s->needs[k].count > volrow_limit(r, s->needs[k].driver) &&
            need_exceeds(s, &s->needs[k], r, volrow_pods(r, v->objects, c->nodes, row)))
            return true;
    return false;
}

static void volumes_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct volumes_state *state = c->state;

    (void)p;
    if (state->problem) {
        memset(why + s.begin, WHY_CLAIM, s.end - s.begin);
        return;
    }
    suspect(s, state->n, c->rows->column[COUNTABLE], c->rows->column[ATTACHED],
            c->rows->column[TIGHTEST], why);
    for (uint32_t i = s.begin; i < s.end; i++)
        if (why[i])
            why[i] = !skip[i] && look_closer(self, c, i) ? WHY_LIMIT : 0;
}

static void volumes_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            uint32_t row, struct ks_texts *out)
{
    const struct volumes_state *state = c->state;

    (void)self, (void)p, (void)row;
    if (state->problem)
        ks_texts_add(out, state->problem);
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
        any |= volume_is_countable(&gone->volumes.items[i]);
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
    *ret_self = v;
    return 0;
}

static void volumes_destroy(void *self)
{
    struct volumes *v = self;

    vec_fini(&v->drivers);
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
    .row = &volumes_row,
    .create = volumes_create,
    .destroy = volumes_destroy,
    .hints = volumes_hints,
    .nhints = ARRAY_LEN(volumes_hints),
    .pre_filter = volumes_pre_filter,
    .filter = volumes_filter,
    .explain = volumes_explain,
};
