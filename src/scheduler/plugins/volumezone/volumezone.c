/* volumezone.c - volumes that say by labels in which zone they are (scheduler-core 8.15). */
#include "base/arena.h"
#include "scheduler/model/labels.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/volume/claims.h"

static const struct ks_reason zone_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) had no available volume zone" },
};

enum { ZONE_LABELS = 4 };
static const struct {
    const char *key;
    uint8_t instead; /* where to look on a node that has no such label */
} zone_labels[ZONE_LABELS] = {
    { "failure-domain.beta.kubernetes.io/zone", 2 },
    { "failure-domain.beta.kubernetes.io/region", 3 },
    { "topology.kubernetes.io/zone", 2 },
    { "topology.kubernetes.io/region", 3 },
};

struct zone {
    const struct objects *objects;
};
struct zone_set { /* a volume is in all of these */
    uint8_t label;
    struct str *values;
    uint32_t n;
};
struct zone_state {
    const struct ks_label *label[ZONE_LABELS];
    struct zone_set *sets;
    uint32_t n;
};

/* ---- what the pod's volumes say -------------------------------------------------------------- */

/* "a__b" is a set. false: a piece is empty, and the label says nothing. */
static bool parse_set(const char *text, struct zone_set *set, struct arena *a)
{
    uint32_t room = (uint32_t)strlen(text) / 2 + 1;

    set->values = arena_newn0(a, room, struct str);
    for (const char *p = text;; p += 2) {
        const char *end = strstr(p, "__");
        struct str v = { p, end ? (size_t)(end - p) : strlen(p) };
        for (; v.n && (*v.p == ' ' || *v.p == '\t'); v.p++, v.n--)
            ;
        while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
            v.n--;
        if (v.n == 0)
            return false;
        set->values[set->n++] = v;
        if (!end)
            return true;
        p = end;
    }
}

static void add_volume(struct zone_state *z, const struct pv *v, struct arena *a)
{
    for (uint8_t i = 0; i < ZONE_LABELS; i++) {
        const char *text = kstrmap_get(&v->obj.meta.labels, zone_labels[i].key);
        struct zone_set set = { .label = i };
        if (text && parse_set(text, &set, a))
            z->sets[z->n++] = set;
    }
}

/* A claim without a volume: fine when it waits for the pod. */
static enum ks_code look_at_unbound(const struct objects *w, const struct pvc *c,
                                    struct ks_texts *why)
{
    const char *name = pvc_class(c);
    const struct storage_class *class = *name ? claims_class(w, name) : NULL;

    if (!*name)
        ks_texts_add(why, "PersistentVolumeClaim had no pv name and storageClass name");
    else if (!class)
        ks_texts_addf(why, "storageclass.storage.k8s.io \"%s\" not found", name);
    else if (class->volume_binding_mode == BINDING_MODE_NONE)
        ks_texts_addf(why, "VolumeBindingMode not set for StorageClass \"%s\"", name);
    else if (class->volume_binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER)
        return KS_SUCCESS;
    else
        ks_texts_add(why, "PersistentVolume had no name");
    return KS_UNRESOLVABLE;
}

static enum ks_code look_at_claim(const struct objects *w, const struct pod *p,
                                  const struct pod_volume *v, struct zone_state *z, struct arena *a,
                                  struct ks_texts *why)
{
    char buf[CLAIM_NAME_MAX];
    const struct pvc *c = claim_find(w, p, v);

    if (!c) {
        claim_missing(why, claim_name(p, v, buf));
        return KS_UNRESOLVABLE;
    }
    if (str_empty(c->spec.volume_name))
        return look_at_unbound(w, c, why);
    const struct pv *pv = claims_pv(w, c->spec.volume_name);
    if (!pv) {
        ks_texts_addf(why, "persistentvolume \"%s\" not found", c->spec.volume_name);
        return KS_UNRESOLVABLE;
    }
    add_volume(z, pv, a);
    return KS_SUCCESS;
}

static enum ks_code zone_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const struct zone *self_ = self;
    const volumelist *l = &p->pod->volumes;

    (void)only;
    *ret_state = NULL;
    if (l->n == 0)
        return KS_SKIP;
    struct zone_state *z = arena_new0(c->arena, struct zone_state);
    z->sets = arena_newn0(c->arena, (size_t)l->n * ZONE_LABELS, struct zone_set);
    for (uint32_t i = 0; i < l->n; i++) {
        if (!volume_is_claim(&l->items[i]))
            continue;
        enum ks_code code = look_at_claim(self_->objects, p->pod, &l->items[i], z, c->arena, why);
        if (code != KS_SUCCESS)
            return code;
    }
    if (z->n == 0)
        return KS_SKIP;
    for (uint32_t i = 0; i < ZONE_LABELS; i++)
        z->label[i] = ks_label(c->nodes, zone_labels[i].key);
    *ret_state = z;
    return KS_SUCCESS;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool set_has(const struct zone_set *set, const char *value)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (strncmp(set->values[i].p, value, set->values[i].n) == 0 && !value[set->values[i].n])
            return true;
    return false;
}

static const char *value_at(const struct ks_label *l, uint32_t row)
{
    return l->value[l->id[row]];
}

static bool row_fits(const struct zone_state *z, uint32_t row)
{
    bool any = false;

    for (uint32_t i = 0; i < ZONE_LABELS; i++)
        any |= z->label[i]->id[row] != 0;
    for (uint32_t i = 0; any && i < z->n; i++) {
        const struct zone_set *set = &z->sets[i];
        const char *value = value_at(z->label[set->label], row);
        if (!value)
            value = value_at(z->label[zone_labels[set->label].instead], row);
        if (!value || !set_has(set, value))
            return false;
    }
    return true;
}

static void zone_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = !skip[i] && !row_fits(c->state, i);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool worth_class(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    return storage_class_of(e->now)->volume_binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER;
}

static bool worth_claim(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return claim_is_used(e->now, p, true);
}

static bool worth_volume(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self, (void)p;
    for (uint32_t i = 0; e->before && i < ZONE_LABELS; i++) {
        const char *before = kstrmap_get(&e->before->meta.labels, zone_labels[i].key);
        const char *now = kstrmap_get(&e->now->meta.labels, zone_labels[i].key);
        if (!before != !now || (now && !streq(before, now)))
            return true;
    }
    return !e->before;
}

static const struct ks_hint zone_hints[] = {
    { KS_RES_STORAGE_CLASS, KS_ADD, worth_class },
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, NULL },
    { KS_RES_PVC, KS_ADD | KS_UPDATE, worth_claim },
    { KS_RES_PV, KS_ADD | KS_UPDATE, worth_volume },
};

/* ---- life ------------------------------------------------------------------------------------ */

static int zone_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    struct zone *z = xnew0(struct zone);

    (void)args, (void)err;
    z->objects = env->objects;
    *ret_self = z;
    return 0;
}

static void zone_destroy(void *self)
{
    free(self);
}

static const struct kind *const zone_kinds[] = { &kind_pvc, &kind_pv, &kind_storage_class, NULL };

const struct ks_plugin ks_plugin_volume_zone = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "VolumeZone",
    .reasons = zone_reasons,
    .reuse = KS_REUSE_GLOBAL,
    .kinds = zone_kinds,
    .create = zone_create,
    .destroy = zone_destroy,
    .hints = zone_hints,
    .nhints = ARRAY_LEN(zone_hints),
    .pre_filter = zone_pre_filter,
    .filter = zone_filter,
};
