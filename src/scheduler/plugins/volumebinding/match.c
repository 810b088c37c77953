/* match.c - which volumes a pod's claims have, or could have, on each node.
 *
 * What is the same for all nodes is found out once: which claims are bound, which volumes would do
 * for the others, where storage is left. A row then costs a look at a few label values.
 */
#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "scheduler/plugins/volumebinding/internal.h"

struct making {
    struct binder *b;
    const struct objects *objects;
    const struct pod *pod;
    struct reach_maker reach;
    struct arena *arena;
    struct ks_texts *why;
    struct volmatch *m;
};

/* ---- claims ---------------------------------------------------------------------------------- */

/* false: the pod cannot run with this claim, on no node. */
static bool claim_is_usable(struct making *k, const struct pod_volume *v, const struct pvc *c)
{
    char buf[CLAIM_NAME_MAX];
    const char *name = claim_name(k->pod, v, buf);

    if (!c && v->ephemeral)
        ks_texts_addf(k->why,
                      "waiting for ephemeral volume controller to create the "
                      "persistentvolumeclaim \"%s\"",
                      name);
    else if (!c)
        claim_missing(k->why, name);
    else if (c->phase && streq(c->phase, "Lost"))
        ks_texts_addf(k->why,
                      "persistentvolumeclaim \"%s\" bound to non-existent persistentvolume \"%s\"",
                      name, str_or(c->spec.volume_name, ""));
    else if (c->obj.meta.deleted)
        ks_texts_addf(k->why, "persistentvolumeclaim \"%s\" is being deleted", name);
    else if (!claim_is_for(c, k->pod, v))
        claim_foreign(k->why, c, k->pod);
    else
        return true;
    return false;
}

static void add_bound(struct making *k, const struct pvc *c)
{
    const struct pv *v = claims_pv(k->objects, c->spec.volume_name);
    struct bound *b = &k->m->bound[k->m->nbound++];

    b->missing = !v;
    b->reach = reach_affinity(&k->reach, v ? v->spec.node_affinity : NULL);
    k->m->everywhere &= v && b->reach.kind == REACH_ANYWHERE;
}

static void add_delayed(struct making *k, const struct pvc *c, const struct storage_class *class)
{
    const char *node = holds_node(k->b->holds, c);
    struct delayed *d = &k->m->delayed[k->m->ndelayed++];

    if (!node)
        node = kstrmap_get(&c->obj.meta.annotations, ANN_SELECTED_NODE);
    *d = (struct delayed){ .claim = c, .class = class };
    d->is_selected = node;
    d->selected = node ? ks_row_of(k->reach.nodes, node) : KS_NO_ROW;
    k->m->everywhere = false;
}

static bool is_known(const struct volmatch *m, const struct pvc *c)
{
    for (uint32_t i = 0; i < m->ndelayed; i++)
        if (m->delayed[i].claim == c)
            return true;
    return false;
}

/* A claim named twice is one claim. *immediate: it waits for its volume, and not for us. */
static enum ks_code add_claim(struct making *k, const struct pvc *c, bool *immediate)
{
    const char *name = pvc_class(c);
    const struct storage_class *class = *name ? claims_class(k->objects, name) : NULL;

    if (pvc_is_bound(c)) {
        add_bound(k, c);
    } else if (class && class->volume_binding_mode == BINDING_MODE_NONE) {
        ks_texts_addf(k->why, "VolumeBindingMode not set for StorageClass \"%s\"", name);
        return KS_ERROR;
    } else if (!class || class->volume_binding_mode == BINDING_IMMEDIATE ||
               !str_empty(c->spec.volume_name)) {
        *immediate = true;
    } else if (!is_known(k->m, c)) {
        add_delayed(k, c, class);
    }
    return KS_SUCCESS;
}

static enum ks_code add_claims(struct making *k, uint32_t *ret_n)
{
    const volumelist *l = &k->pod->volumes;
    const struct pvc **claims = arena_newn0(k->arena, l->n, const struct pvc *);
    bool immediate = false;

    for (uint32_t i = 0; i < l->n; i++) {
        if (!volume_is_claim(&l->items[i]))
            continue;
        const struct pvc *c = claim_find(k->objects, k->pod, &l->items[i]);
        if (!claim_is_usable(k, &l->items[i], c))
            return KS_UNRESOLVABLE;
        claims[(*ret_n)++] = c;
    }
    for (uint32_t i = 0; i < *ret_n; i++) {
        enum ks_code code = add_claim(k, claims[i], &immediate);
        if (code != KS_SUCCESS)
            return code;
    }
    if (!immediate)
        return KS_SUCCESS;
    ks_texts_add(k->why, "pod has unbound immediate PersistentVolumeClaims");
    return KS_UNRESOLVABLE;
}

static struct qty size_of(const struct pvc *c)
{
    return reslist_get(&c->spec.requests, "storage");
}

static int by_size(const void *a, const void *b)
{
    const struct delayed *x = a, *y = b;

    if (x->is_selected != y->is_selected)
        return y->is_selected - x->is_selected;
    int order = qty_cmp(size_of(x->claim), size_of(y->claim));
    return order ? order : strcmp(x->claim->obj.meta.name, y->claim->obj.meta.name);
}

/* ---- volumes that would do ------------------------------------------------------------------- */

static int find_volumes(struct making *k, struct delayed *d)
{
    struct labelsel *sel = NULL;
    struct kerr err = { 0 };

    if (d->claim->spec.selector &&
        labelsel_from(d->claim->spec.selector, k->arena, &sel, &err) < 0) {
        ks_texts_addf(k->why, "selector of persistentvolumeclaim \"%s\": %s",
                      d->claim->obj.meta.name, err.text);
        return -1;
    }
    d->prebound = volstock_prebound(k->b->holds->stock, d->claim);
    if (d->prebound)
        d->prebound_reach = reach_affinity(&k->reach, d->prebound->spec.node_affinity);
    else
        d->free = volstock_for(k->b->holds->stock, d->claim, sel, k->reach.nodes, k->arena);
    return 0;
}

/* ---- volumes to be made ---------------------------------------------------------------------- */

static bool is_big_enough(const struct csi_storage_capacity *p, const struct pvc *c)
{
    const struct qty *most = p->maximum_volume_size ? p->maximum_volume_size : p->capacity;
    return most && qty_value(*most) >= qty_value(size_of(c));
}

static void find_pools(struct making *k, struct delayed *d)
{
    size_t all = objects_count(k->objects, &kind_csi_storage_capacity);
    struct reach *reach = arena_newn0(k->arena, all, struct reach);
    const struct kobj *o;
    uint32_t n = 0;

    for (size_t it = 0; (o = objects_next(k->objects, &kind_csi_storage_capacity, &it));) {
        const struct csi_storage_capacity *p =
            container_of(o, const struct csi_storage_capacity, obj);
        if (streq(p->storage_class_name, d->class->obj.meta.name) && is_big_enough(p, d->claim))
            reach[n++] = reach_selector(&k->reach, p->node_topology);
    }
    places_init(&d->pools, reach, n, k->arena);
}

static void find_provisioning(struct making *k, struct delayed *d)
{
    const struct storage_class *class = d->class;
    struct reach *reach = arena_newn0(k->arena, class->allowed_topologies.n, struct reach);

    d->provisions = !str_empty(class->provisioner) &&
                    !streq(class->provisioner, "kubernetes.io/no-provisioner");
    if (!d->provisions)
        return;
    d->anywhere = class->allowed_topologies.n == 0;
    for (uint32_t i = 0; i < class->allowed_topologies.n; i++)
        reach[i] = reach_topology(&k->reach, &class->allowed_topologies.items[i]);
    places_init(&d->topologies, reach, class->allowed_topologies.n, k->arena);
    const struct kobj *o = objects_get(k->objects, &kind_csi_driver, NULL, class->provisioner);
    const struct csi_driver *driver = o ? container_of(o, const struct csi_driver, obj) : NULL;
    d->tracked = driver && driver->storage_capacity.set && driver->storage_capacity.v &&
                 reslist_has(&d->claim->spec.requests, "storage");
    if (d->tracked)
        find_pools(k, d);
}

enum ks_code volmatch_make(struct binder *b, const struct ks_cycle *c, const struct pod *p,
                           struct volmatch **ret, struct ks_texts *why)
{
    uint32_t n = 0;
    struct making k = { .b = b,
                        .objects = b->env.objects,
                        .pod = p,
                        .reach = { c->nodes, c->arena },
                        .arena = c->arena,
                        .why = why };

    *ret = NULL;
    k.m = arena_new0(c->arena, struct volmatch);
    k.m->everywhere = true;
    k.m->bound = arena_newn0(c->arena, p->volumes.n, struct bound);
    k.m->delayed = arena_newn0(c->arena, p->volumes.n, struct delayed);
    enum ks_code code = add_claims(&k, &n);
    if (code != KS_SUCCESS)
        return code;
    if (k.m->ndelayed > 1)
        qsort(k.m->delayed, k.m->ndelayed, sizeof *k.m->delayed, by_size);
    for (uint32_t i = 0; i < k.m->ndelayed; i++) {
        struct delayed *d = &k.m->delayed[i];
        if (!d->is_selected && find_volumes(&k, d) < 0)
            return KS_ERROR;
        find_provisioning(&k, d);
    }
    if (n > 0)
        *ret = k.m;
    return KS_SUCCESS;
}

/* ---- one row --------------------------------------------------------------------------------- */

static uint8_t bound_row(const struct volmatch *m, const struct ks_nodes *nodes, uint32_t row)
{
    for (uint32_t i = 0; i < m->nbound; i++) {
        if (m->bound[i].missing)
            return VB_NO_PV;
        if (!reach_row(&m->bound[i].reach, nodes, row))
            return VB_CONFLICT;
    }
    return 0;
}

static const struct pv *choose(const struct volmatch *m, uint32_t i, const struct ks_nodes *nodes,
                               uint32_t row, const struct pv *const *choice)
{
    const struct delayed *d = &m->delayed[i];

    if (d->is_selected)
        return NULL;
    if (d->prebound)
        return reach_row(&d->prebound_reach, nodes, row) ? d->prebound : NULL;
    return volchoice_first(&d->free, nodes, row, choice, i);
}

static uint8_t provision_row(const struct delayed *d, const struct ks_nodes *nodes, uint32_t row)
{
    if (!d->provisions ||
        (!d->anywhere && places_first(&d->topologies, nodes, row, NULL, NULL) == UINT32_MAX))
        return VB_NO_VOLUME;
    if (d->tracked && places_first(&d->pools, nodes, row, NULL, NULL) == UINT32_MAX)
        return VB_NO_SPACE;
    return 0;
}

/* Nearly all pods: one claim, and nothing but a free volume helps. */
bool volmatch_is_simple(const struct volmatch *m)
{
    const struct delayed *d = m->delayed;
    return m->nbound == 0 && m->ndelayed == 1 && !d->is_selected && !d->prebound && !d->provisions;
}

uint8_t volmatch_row(const struct volmatch *m, const struct ks_nodes *nodes, uint32_t row,
                     const struct pv **choice)
{
    uint8_t why = bound_row(m, nodes, row);

    for (uint32_t i = 0; i < m->ndelayed; i++)
        if (m->delayed[i].is_selected && m->delayed[i].selected != row)
            return why | VB_NO_VOLUME;
    for (uint32_t i = 0; i < m->ndelayed; i++)
        choice[i] = choose(m, i, nodes, row, choice);
    for (uint32_t i = 0; i < m->ndelayed; i++) {
        uint8_t cannot = choice[i] ? 0 : provision_row(&m->delayed[i], nodes, row);
        if (cannot)
            return why | cannot;
    }
    return why;
}
