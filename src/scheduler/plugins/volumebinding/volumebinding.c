/* volumebinding.c - the volumes of a pod's claims must be reachable from its node, and claims that
 * wait for a node get theirs with the pod (scheduler-core 8.16). */
#include "api/node.h"
#include "base/arena.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/volumebinding/args.h"
#include "scheduler/plugins/volumebinding/internal.h"

static const struct {
    uint8_t bit;
    const char *text;
} binding_texts[] = {
    { VB_CONFLICT, "node(s) didn't match PersistentVolume's node affinity" },
    { VB_NO_VOLUME, "node(s) didn't find available persistent volumes to bind" },
    { VB_NO_SPACE, "node(s) did not have enough free storage" },
    { VB_NO_PV, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)" },
};
/* Every set of bits is a reason; explain() has the words. */
static const struct ks_reason binding_reasons[VB_VERDICTS] = {
    { KS_SUCCESS, "" },      { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" },
    { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" },
    { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" },
    { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" },
    { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" }, { KS_UNRESOLVABLE, "" },
    { KS_UNRESOLVABLE, "" },
};

/* ---- the attempt ----------------------------------------------------------------------------- */

static enum ks_code binding_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct volmatch *m = NULL;

    (void)only;
    *ret_state = NULL;
    if (p->pod->volumes.n == 0)
        return KS_SKIP;
    enum ks_code code = volmatch_make(self, c, p->pod, &m, why);
    if (code != KS_SUCCESS)
        return code;
    if (!m || m->everywhere)
        return KS_SKIP;
    *ret_state = m;
    return KS_SUCCESS;
}

static void binding_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct volmatch *m = c->state;
    CLEANUP(mem_free)
    const struct pv **choice = m->ndelayed ? xnewn0(m->ndelayed, const struct pv *) : NULL;

    (void)self, (void)p;
    if (volmatch_is_simple(m)) {
        for (uint32_t i = s.begin; i < s.end; i++)
            why[i] =
                !skip[i] && !volchoice_any(&m->delayed[0].free, c->nodes, i) ? VB_NO_VOLUME : 0;
        return;
    }
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = skip[i] ? 0 : volmatch_row(m, c->nodes, i, choice);
}

static void binding_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            uint32_t row, struct ks_texts *out)
{
    const struct volmatch *m = c->state;
    const struct pv **choice = arena_newn0(c->arena, m->ndelayed, const struct pv *);
    uint8_t why = volmatch_row(m, c->nodes, row, choice);

    (void)self, (void)p;
    for (size_t i = 0; i < ARRAY_LEN(binding_texts); i++)
        if (why & binding_texts[i].bit)
            ks_texts_add(out, binding_texts[i].text);
}

static void binding_drop(void *self, const struct pod *p, const char *node)
{
    struct assumed *r = assumed_find(self, p->obj.meta.uid);

    (void)node;
    if (r)
        assumed_free(r);
}

/* What filter() found for the row is found again: it is cheap for one, and nothing has changed. */
static enum ks_code binding_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    uint32_t row, struct ks_texts *why)
{
    const struct volmatch *m = c->state;

    if (!m || m->ndelayed == 0)
        return KS_SUCCESS;
    const struct pv **choice = arena_newn0(c->arena, m->ndelayed, const struct pv *);
    if (volmatch_row(m, c->nodes, row, choice) != 0) {
        binding_explain(self, c, p, row, why);
        return KS_UNRESOLVABLE;
    }
    binding_drop(self, p->pod, NULL);
    assumed_new(self, m, choice, p->pod, c->nodes->node[row]);
    return KS_SUCCESS;
}

/* ---- binding --------------------------------------------------------------------------------- */

static enum ks_code binding_pre_flight(void *self, const struct pod *p, const char *node,
                                       struct ks_texts *why)
{
    (void)node, (void)why;
    return assumed_find(self, p->obj.meta.uid) ? KS_SUCCESS : KS_SKIP;
}

static enum ks_code binding_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    struct assumed *r = assumed_find(self, b->pod->meta.uid);

    (void)why;
    if (!r)
        return KS_SUCCESS;
    writing_start(r, b);
    return KS_WAIT;
}

static void binding_cancel(void *self, struct ks_bind *b)
{
    struct assumed *r = assumed_find(self, b->pod->meta.uid);

    if (r)
        writing_stop(r);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool same_topologies(const struct storage_class *a, const struct storage_class *b)
{
    bool same = a->allowed_topologies.n == b->allowed_topologies.n;

    for (uint32_t i = 0; same && i < a->allowed_topologies.n; i++) {
        const selreqlist *x = &a->allowed_topologies.items[i].expressions;
        const selreqlist *y = &b->allowed_topologies.items[i].expressions;
        same = x->n == y->n;
        for (uint32_t k = 0; same && k < x->n; k++) {
            const kstrlist *v = &x->items[k].values, *w = &y->items[k].values;
            same = streq(x->items[k].key, y->items[k].key) && v->n == w->n;
            for (uint32_t j = 0; same && j < v->n; j++)
                same = streq(v->items[j], w->items[j]);
        }
    }
    return same;
}

static bool worth_class(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    return !e->before || !same_topologies(storage_class_of(e->before), storage_class_of(e->now));
}

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return claim_is_used(e->now, p, true);
}

static bool worth_csi_node(void *self, const struct ks_event *e, const struct pod *p)
{
    static const char *const key = "storage.alpha.kubernetes.io/migrated-plugins";

    (void)self, (void)p;
    return !e->before || !streq(str_or(kstrmap_get(&e->before->meta.annotations, key), ""),
                                str_or(kstrmap_get(&e->now->meta.annotations, key), ""));
}

static bool is_tracked(const struct kobj *o)
{
    const struct csi_driver *d = container_of(o, const struct csi_driver, obj);
    return d->storage_capacity.set && d->storage_capacity.v;
}

static bool worth_csi_driver(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    if (!is_tracked(e->before) || is_tracked(e->now))
        return false;
    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct volume_csi *v = p->volumes.items[i].csi;
        if (v && streq(v->driver, e->now->meta.name))
            return true;
    }
    return false;
}

static bool worth_capacity(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct csi_storage_capacity *now =
        container_of(e->now, const struct csi_storage_capacity, obj);

    (void)self, (void)p;
    if (!e->before)
        return true;
    const struct csi_storage_capacity *before =
        container_of(e->before, const struct csi_storage_capacity, obj);
    const struct qty *had =
        before->maximum_volume_size ? before->maximum_volume_size : before->capacity;
    const struct qty *has = now->maximum_volume_size ? now->maximum_volume_size : now->capacity;
    return has && (!had || qty_cmp(*has, *had) > 0);
}

/* A pod with claims that was on its way and is not any more: what it had is free. Once it has its
 * node the server knows whose the volumes are, and tells when that changes. */
static bool worth_given_back(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);

    (void)self, (void)p;
    for (uint32_t i = 0; str_empty(gone->node_name) && i < gone->volumes.n; i++)
        if (volume_is_claim(&gone->volumes.items[i]))
            return true;
    return false;
}

static const struct ks_hint binding_hints[] = {
    { KS_RES_ASSIGNED_POD, KS_DELETE, worth_given_back },
    { KS_RES_STORAGE_CLASS, KS_ADD | KS_UPDATE, worth_class },
    { KS_RES_PVC, KS_ADD | KS_UPDATE, worth_claim },
    { KS_RES_PV, KS_ADD | KS_UPDATE, NULL },
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, NULL },
    { KS_RES_CSI_NODE, KS_ADD | KS_UPDATE, worth_csi_node },
    { KS_RES_CSI_DRIVER, KS_UPDATE, worth_csi_driver },
    { KS_RES_CSI_CAPACITY, KS_ADD | KS_UPDATE, worth_capacity },
};

/* ---- life ------------------------------------------------------------------------------------ */

static int binding_create(const struct ks_env *env, const void *args, void **ret_self,
                          struct kerr *err)
{
    struct binder *b = xnew0(struct binder);

    (void)err;
    b->env = *env;
    b->timeout = ((const struct volumebinding_args *)args)->timeout.v * NSEC_PER_SEC;
    b->holds = volume_holds_of(env);
    b->on_volume = (struct objects_listener){ .kind = &kind_pv, .fn = writing_news, .arg = b };
    b->on_claim = (struct objects_listener){ .kind = &kind_pvc, .fn = writing_news, .arg = b };
    if (env->objects) {
        objects_listen(env->objects, &b->on_volume);
        objects_listen(env->objects, &b->on_claim);
    }
    *ret_self = b;
    return 0;
}

static void binding_destroy(void *self)
{
    struct binder *b = self;
    struct assumed *r;

    for (size_t it = 0; (r = uidmap_next(&b->reservations, &it)); it = 0)
        assumed_free(r);
    if (b->env.objects) {
        objects_unlisten(b->env.objects, &b->on_volume);
        objects_unlisten(b->env.objects, &b->on_claim);
    }
    uidmap_fini(&b->reservations);
    free(b);
}

static const struct kind *const binding_kinds[] = {
    &kind_pvc,      &kind_pv,         &kind_storage_class,
    &kind_csi_node, &kind_csi_driver, &kind_csi_storage_capacity,
    NULL,
};

static const struct ks_service *const binding_services[] = { &volume_holds_service, NULL };

/* Nowhere is there anything to wait for, and on some nodes only the volume of a claim is in the
 * way.
 */
static bool binding_suggest(void *self, struct attempt *a, struct ks_suggestion *ret)
{
    uint32_t n = 0;

    (void)self;
    for (uint32_t row = 0; row < a->n; row++) {
        const char *plugin = attempt_plugin(a, row);
        struct ks_texts texts = { .arena = a->arena };
        if (attempt_code(a, row) != KS_UNRESOLVABLE)
            return false;
        if (!plugin || !streq(plugin, ks_plugin_volume_binding.name))
            continue;
        attempt_texts(a, row, &texts);
        for (uint32_t i = 0; i < texts.n; i++)
            n += streq(texts.items[i], binding_texts[0].text);
    }
    if (n == 0)
        return false;
    *ret = (struct ks_suggestion){
        "DeleteConflictPVC",
        arena_printf(a->arena,
                     "the volume of a claim keeps the pod from %u node(s), and no other node will "
                     "do",
                     n)
    };
    return true;
}

const struct ks_plugin ks_plugin_volume_binding = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "VolumeBinding",
    .reasons = binding_reasons,
    .reuse = KS_REUSE_GLOBAL,
    .kinds = binding_kinds,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(PRE_SCORE) | KS_AT(SCORE) | KS_AT(RESERVE) |
              KS_AT(PRE_BIND),
    .args = &volumebinding_args,
    .create = binding_create,
    .destroy = binding_destroy,
    .services = binding_services,
    .hints = binding_hints,
    .nhints = ARRAY_LEN(binding_hints),
    .pre_filter = binding_pre_filter,
    .filter = binding_filter,
    .explain = binding_explain,
    .reserve = binding_reserve,
    .unreserve = binding_drop,
    .pre_flight = binding_pre_flight,
    .pre_bind = binding_pre_bind,
    .cancel = binding_cancel,
    .post_bind = binding_drop,
    .suggest = binding_suggest,
};
