/* topology.c - quotas by name, and the checks in their order (sched-quota 19). */
#include "manager/quota/topology.h"

#include "api/protocol/quota.h"
#include "base/map.h"
#include "base/vec.h"
#include "manager/quota/selfcheck.h"
#include "json/kj.h"

struct entry {
    char *name;
    struct arena *arena;                 /* of the accepted state */
    const struct elasticquota *accepted; /* NULL: the informer has spoken */
    nsec_t until;
    struct kobj *seen; /* NULL: the informer does not know it */
};

struct quota_topology {
    struct topology_gates gates;
    struct topology_pods pods;
    struct map entries; /* by name */
};

/* ---- life ------------------------------------------------------------------------------------ */

struct quota_topology *topology_new(const struct topology_gates *g, const struct topology_pods *p)
{
    struct quota_topology *t = xnew0(struct quota_topology);

    t->gates = *g;
    t->pods = *p;
    return t;
}

static void entry_forget(struct entry *e)
{
    e->accepted = NULL;
    e->arena = arena_free(e->arena);
}

static void entry_free(struct entry *e)
{
    entry_forget(e);
    kobj_unref(e->seen);
    free(e->name);
    free(e);
}

struct quota_topology *topology_free(struct quota_topology *t)
{
    map_foreach(&t->entries, e)
        entry_free(e->value);
    map_fini(&t->entries);
    free(t);
    return NULL;
}

static struct entry *entry_of(struct quota_topology *t, const char *name)
{
    struct entry *e = map_getz(&t->entries, name);

    if (e)
        return e;
    e = xnew0(struct entry);
    e->name = xstrdup(name);
    map_putz(&t->entries, e->name, e);
    return e;
}

static void entry_drop(struct quota_topology *t, struct entry *e)
{
    map_removez(&t->entries, e->name);
    entry_free(e);
}

void topology_put(struct quota_topology *t, const struct kobj *quota)
{
    struct entry *e = entry_of(t, quota->meta.name);
    struct kobj *old = e->seen;

    e->seen = kobj_ref((struct kobj *)(uintptr_t)quota);
    kobj_unref(old);
    entry_forget(e);
}

void topology_remove(struct quota_topology *t, const char *name)
{
    struct entry *e = map_getz(&t->entries, name);

    if (e)
        entry_drop(t, e);
}

static const struct elasticquota *entry_quota(const struct entry *e)
{
    return e->accepted ? e->accepted : e->seen ? elasticquota_of(e->seen) : NULL;
}

const struct elasticquota *topology_find(const struct quota_topology *t, const char *name)
{
    const struct entry *e = map_getz(&t->entries, name);

    return e ? entry_quota(e) : NULL;
}

/* A copy that lives as long as the entry: what the checks read of it. */
static void accept(struct quota_topology *t, const struct elasticquota *q, nsec_t until)
{
    struct entry *e = entry_of(t, q->obj.meta.name);
    struct arena *a = arena_new();
    struct elasticquota *copy = arena_new0(a, struct elasticquota);

    kj_copy(&elasticquota_schema, q, a, copy);

    entry_forget(e);
    e->arena = a;
    e->accepted = copy;
    e->until = until;
}

void topology_expire(struct quota_topology *t, nsec_t now)
{
    struct vec_of(struct entry *) gone = { 0 };

    map_foreach(&t->entries, x) {
        struct entry *e = x->value;
        if (!e->accepted || e->until > now)
            continue;
        entry_forget(e);
        if (!e->seen)
            vec_push(&gone, e);
    }
    vec_foreach(&gone, i)
        entry_drop(t, gone.items[i]);
    vec_fini(&gone);
}

/* ---- walking, in the order of names ---------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
    return strcmp((*(const struct elasticquota *const *)x)->obj.meta.name,
                  (*(const struct elasticquota *const *)y)->obj.meta.name);
}

/* Those with this parent; parent NULL: all. */
static const struct elasticquota **children(const struct quota_topology *t, const char *parent,
                                            struct arena *a, size_t *ret_n)
{
    const struct elasticquota **out = arena_newn0(a, t->entries.n, const struct elasticquota *);
    size_t n = 0;

    map_foreach(&t->entries, x) {
        const struct elasticquota *q = entry_quota(x->value);
        if (q && (!parent || streq(quota_parent(&q->obj.meta), parent)))
            out[n++] = q;
    }
    if (n > 1)
        qsort(out, n, sizeof *out, by_name);
    *ret_n = n;
    return out;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static bool lists_namespace(const struct elasticquota *q, const char *ns, struct arena *a)
{
    if (!kstrmap_get(&q->obj.meta.annotations, ANNO_QUOTA_NAMESPACES))
        return false;
    kstrlist l = quota_namespace_list(&q->obj.meta.annotations, a);
    for (uint32_t k = 0; k < l.n; k++)
        if (streq(l.items[k], ns))
            return true;
    return false;
}

/* The quota that has this namespace, of several the first by name; NULL: none. */
static const char *namespace_owner(const struct quota_topology *t, const char *ns,
                                   const char *except, struct arena *a)
{
    const char *first = NULL;

    map_foreach(&t->entries, x) {
        const struct elasticquota *q = entry_quota(x->value);
        if (q && !streq(q->obj.meta.name, except) &&
            (!first || strcmp(q->obj.meta.name, first) < 0) && lists_namespace(q, ns, a))
            first = q->obj.meta.name;
    }
    return first;
}

const char *topology_name_of_pod(const struct quota_topology *t, const struct objmeta *pod,
                                 const char *ns, bool no_default, struct arena *a)
{
    const char *label = pod_quota_name(&pod->labels);

    if (*label || no_default)
        return label;
    const struct elasticquota *q = topology_find(t, ns);
    if (q && streq(str_or(q->obj.meta.ns, ""), ns))
        return ns;
    return str_or(namespace_owner(t, ns, "", a), QUOTA_DEFAULT_NAME);
}

const struct elasticquota *topology_of_pod(const struct quota_topology *t,
                                           const struct objmeta *pod, const char *ns,
                                           struct arena *a)
{
    const char *name = topology_name_of_pod(t, pod, ns, false, a);

    return streq(name, QUOTA_DEFAULT_NAME) ? NULL : topology_find(t, name);
}

static const char *check_namespaces(const struct quota_topology *t, const struct elasticquota *q,
                                    const char *fmt, struct arena *a)
{
    kstrlist l = quota_namespace_list(&q->obj.meta.annotations, a);

    for (uint32_t i = 0; i < l.n; i++) {
        const char *owner = namespace_owner(t, l.items[i], q->obj.meta.name, a);
        if (owner)
            return quota_text(a, fmt, q->obj.meta.name, l.items[i], owner);
    }
    return NULL;
}

/* ---- is-parent and trees --------------------------------------------------------------------- */

static bool has_pods(const struct quota_topology *t, const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name;
    kstrlist l = quota_namespace_list(&q->obj.meta.annotations, a);

    if (t->pods.labelled && t->pods.labelled(t->pods.arg, name, NULL, 0) > 0)
        return true;
    if (!t->pods.in_namespace)
        return false;
    if (t->pods.in_namespace(t->pods.arg, name))
        return true;
    for (uint32_t i = 0; i < l.n; i++)
        if (t->pods.in_namespace(t->pods.arg, l.items[i]))
            return true;
    return false;
}

static const char *check_is_parent(const struct quota_topology *t, const struct elasticquota *old,
                                   const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name;
    bool was = old && quota_is_parent(&old->obj.meta.labels);
    bool is = quota_is_parent(&q->obj.meta.labels);
    size_t n;

    if (!old || was == is)
        return NULL;
    (void)children(t, name, a, &n);
    if (was && n > 0)
        return arena_printf(
            a, "quota has children, isParent is forbidden to modify as false, quotaName:%s", name);
    if (is && has_pods(t, old, a))
        return arena_printf(
            a, "quota has bound pods, isParent is forbidden to modify as true, quotaName: %s",
            name);
    return NULL;
}

static const char *check_tree(const struct quota_topology *t, const struct elasticquota *old,
                              const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name, *parent = quota_parent(&q->obj.meta);
    const char *tree = quota_tree_id(&q->obj.meta.labels);
    const struct elasticquota *p = topology_find(t, parent);
    size_t n;

    if (old && !streq(quota_tree_id(&old->obj.meta.labels), tree))
        return arena_printf(a, "%s tree id changed [%s] vs [%s]", name,
                            quota_tree_id(&old->obj.meta.labels), tree);
    if (p && !streq(parent, QUOTA_ROOT_NAME) && !streq(quota_tree_id(&p->obj.meta.labels), tree))
        return arena_printf(a, "%s tree id is different from parent %s, [%s] vs [%s]", name, parent,
                            tree, quota_tree_id(&p->obj.meta.labels));
    const struct elasticquota **below = children(t, name, a, &n);
    for (size_t i = 0; i < n; i++)
        if (!streq(quota_tree_id(&below[i]->obj.meta.labels), tree))
            return arena_printf(a, "%s tree id is different from child %s, [%s] vs [%s]", name,
                                below[i]->obj.meta.name, tree,
                                quota_tree_id(&below[i]->obj.meta.labels));
    return NULL;
}

/* ---- keys and sums --------------------------------------------------------------------------- */

static bool keys_within(const reslist *a, const reslist *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (!reslist_has(b, a->items[i].name))
            return false;
    return true;
}

#define KEYS_FAILED \
    "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: "

static const char *check_pair(const struct quota_topology *t, const struct elasticquota *parent,
                              const struct elasticquota *child, struct arena *a)
{
    const char *p = parent->obj.meta.name, *c = child->obj.meta.name;
    bool within = keys_within(&child->spec.max, &parent->spec.max);

    if (t->gates.update_key && !within)
        return arena_printf(a, KEYS_FAILED "%s's max keys are not all included in %s's", c, p);
    if (!t->gates.update_key && (!within || child->spec.max.n != parent->spec.max.n))
        return arena_printf(a, KEYS_FAILED "%s's max keys are not the same with %s's", p, c);
    if (!keys_within(&child->spec.min, &parent->spec.min))
        return arena_printf(a, KEYS_FAILED "%s's min keys are not all included in %s's", c, p);
    return NULL;
}

static const char *check_keys(const struct quota_topology *t, const struct elasticquota *parent,
                              const struct elasticquota *q, struct arena *a)
{
    const char *why = parent ? check_pair(t, parent, q, a) : NULL;
    size_t n;
    const struct elasticquota **below = children(t, q->obj.meta.name, a, &n);

    for (size_t i = 0; !why && i < n; i++)
        why = check_pair(t, q, below[i], a);
    return why;
}

static const char *check_min_sums(const struct quota_topology *t, const struct elasticquota *parent,
                                  const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name;
    reslist sum = q->spec.min;
    size_t n;

    if (parent) {
        const struct elasticquota **all = children(t, parent->obj.meta.name, a, &n);
        for (size_t i = 0; i < n; i++)
            if (!streq(all[i]->obj.meta.name, name))
                sum = quota_list_add(&sum, &all[i]->spec.min, a);
        if (!quota_list_within(&sum, &parent->spec.min))
            return arena_printf(
                a, "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: %s",
                parent->obj.meta.name);
    }
    const struct elasticquota **below = children(t, name, a, &n);
    sum = (reslist){ 0 };
    for (size_t i = 0; i < n; i++)
        sum = quota_list_add(&sum, &below[i]->spec.min, a);
    if (!quota_list_within(&sum, &q->spec.min))
        return arena_printf(
            a, "checkMinQuotaSum all children's MinQuota > current MinQuota, current: %s", name);
    return NULL;
}

/* ---- guarantees ------------------------------------------------------------------------------ */

static reslist guaranteed_of(const struct elasticquota *q, struct arena *a)
{
    struct reslist_value v = { 0 };

    if (quota_guaranteed_read(&q->obj.meta.annotations, a, &v, NULL) != 1)
        v.v = (reslist){ 0 };
    return v.v;
}

/* Can the quotas above guarantee this min? Each has to hold its children's guarantees. */
static const char *check_guarantee(const struct quota_topology *t, const struct elasticquota *q,
                                   struct arena *a)
{
    reslist has = guaranteed_of(q, a);
    const char *child = q->obj.meta.name, *name = quota_parent(&q->obj.meta);
    size_t n;

    if (quota_list_within(&q->spec.min, &has))
        return NULL;
    reslist need = quota_list_max(&q->spec.min, &has, a);
    const char *top = child;
    while (!streq(name, QUOTA_ROOT_NAME)) {
        const struct elasticquota *p = topology_find(t, name);
        if (!p)
            break;
        const struct elasticquota **all = children(t, name, a, &n);
        for (size_t i = 0; i < n; i++) {
            if (streq(all[i]->obj.meta.name, child))
                continue;
            reslist other = guaranteed_of(all[i], a);
            need = quota_list_add(&need, &other, a);
        }
        need = quota_list_max(&p->spec.min, &need, a);
        reslist above = guaranteed_of(p, a);
        if (quota_list_within(&need, &above))
            return NULL;
        top = child = name;
        name = quota_parent(&p->obj.meta);
    }
    return arena_printf(a, "tree root quota %s can't guarantee for min %s", top, q->obj.meta.name);
}

/* ---- in order -------------------------------------------------------------------------------- */

static const char *check_topology(const struct quota_topology *t, const struct elasticquota *old,
                                  const struct elasticquota *q, struct arena *a)
{
    const char *name = q->obj.meta.name, *parent = quota_parent(&q->obj.meta);
    bool first_level = streq(parent, QUOTA_ROOT_NAME);
    const struct elasticquota *p = first_level ? NULL : topology_find(t, parent);
    bool forced = quota_allows_force_update(&q->obj.meta.labels);
    bool head = quota_is_tree_root(&q->obj.meta.labels);
    const char *why;

    if (streq(name, QUOTA_ROOT_NAME))
        return NULL;
    if ((why = check_is_parent(t, old, q, a)) || (why = check_tree(t, old, q, a)))
        return why;
    if (first_level && !quota_is_parent(&q->obj.meta.labels))
        return NULL;
    if (!first_level && !p)
        return arena_printf(a, "%s has parentName %s but not find parentInfo in quotaInfoMap", name,
                            parent);
    if (p && !quota_is_parent(&p->obj.meta.labels))
        return arena_printf(a, "%s has parentName %s but the parentQuotaInfo's IsParent is false",
                            name, parent);
    if ((why = check_keys(t, p, q, a)))
        return why;
    if (!forced && !head && (why = check_min_sums(t, p, q, a)))
        return why;
    if (t->gates.guarantee && !forced && !head && *quota_tree_id(&q->obj.meta.labels))
        return check_guarantee(t, q, a);
    return NULL;
}

const char *topology_create(struct quota_topology *t, const struct elasticquota *q, nsec_t until,
                            struct arena *a)
{
    const char *why = NULL;

    if (topology_find(t, q->obj.meta.name))
        return arena_printf(a, "AddQuota quota already exist:%s", q->obj.meta.name);
    why = check_namespaces(
        t, q, "AddQuota quota %s's annotation namespace %s is already bound to quota %s", a);
    if (!why)
        why = selfcheck(q, a);
    if (!why)
        why = check_topology(t, NULL, q, a);
    if (!why)
        accept(t, q, until);
    return why;
}

static bool is_unchanged(const struct elasticquota *a, const struct elasticquota *b)
{
    static const char *const labels[] = { LABEL_QUOTA_PARENT, LABEL_QUOTA_IS_PARENT,
                                          LABEL_QUOTA_TREE_ID };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (!streq(str_or(kstrmap_get(&a->obj.meta.labels, labels[i]), ""),
                   str_or(kstrmap_get(&b->obj.meta.labels, labels[i]), "")))
            return false;
    return streq(str_or(kstrmap_get(&a->obj.meta.annotations, ANNO_QUOTA_NAMESPACES), ""),
                 str_or(kstrmap_get(&b->obj.meta.annotations, ANNO_QUOTA_NAMESPACES), "")) &&
           reslist_equal(&a->spec.max, &b->spec.max) && reslist_equal(&a->spec.min, &b->spec.min);
}

const char *topology_update(struct quota_topology *t, const struct elasticquota *old,
                            const struct elasticquota *q, nsec_t until, struct arena *a)
{
    const char *name = q->obj.meta.name, *why;
    struct kerr err = { 0 };

    if (is_unchanged(old, q)) {
        accept(t, q, until);
        return NULL;
    }
    if (quota_check_changeable(name, &err) < 0)
        return arena_strdup(a, err.text);
    why = check_namespaces(t, q,
                           "UpdadteQuota, quota %s update namespaces, but namespace %s is already "
                           "bound to quota %s",
                           a);
    if (!why && !topology_find(t, name))
        why = arena_printf(a, "UpdateQuota quota not exist in quotaInfoMap:%s", name);
    if (!why)
        why = selfcheck(q, a);
    if (!why)
        why = check_topology(t, old, q, a);
    if (!why)
        accept(t, q, until);
    return why;
}

enum { SHOWN_PODS = 2 };

const char *topology_delete(struct quota_topology *t, const char *name, struct arena *a)
{
    const char *pods[SHOWN_PODS] = { NULL };
    size_t n;

    if (streq(name, QUOTA_ROOT_NAME) || streq(name, QUOTA_SYSTEM_NAME) ||
        streq(name, QUOTA_DEFAULT_NAME))
        return arena_printf(a, "can not delete quotaGroup :%s", name);
    if (!topology_find(t, name))
        return arena_printf(a, "not found quota:%s", name);
    (void)children(t, name, a, &n);
    if (n)
        return arena_printf(a, "delete quota failed, quota %s has %zu child quotas", name, n);
    n = t->pods.labelled ? t->pods.labelled(t->pods.arg, name, pods, SHOWN_PODS) : 0;
    if (n)
        return arena_printf(a, "delete quota failed, quota %s has %zu child pods: %s%s%s%s", name,
                            n, pods[0], n > 1 ? ", " : "", n > 1 ? pods[1] : "",
                            n > SHOWN_PODS ? ", ..." : "");
    topology_remove(t, name);
    return NULL;
}

/* ---- the dump -------------------------------------------------------------------------------- */

static void write_list(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    reslist_encode(l, &text);
    kjw_raw(w, key, strbuf_str(&text), text.len);
}

void topology_write(const struct quota_topology *t, struct kjw *w)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    size_t n, k;
    const struct elasticquota **all = children(t, NULL, a, &n);

    kjw_obj(w, NULL);
    kjw_obj(w, "quotaInfoMap");
    for (size_t i = 0; i < n; i++) {
        const struct objmeta *m = &all[i]->obj.meta;
        kjw_obj(w, m->name);
        kjw_str(w, "name", m->name);
        kjw_str(w, "parentName", quota_parent(m));
        kjw_bool(w, "isParent", quota_is_parent(&m->labels));
        kjw_bool(w, "allowLentResource", quota_allows_lent(&m->labels));
        write_list(w, "max", &all[i]->spec.max);
        write_list(w, "min", &all[i]->spec.min);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_obj(w, "quotaHierarchyInfo");
    for (size_t i = 0; i < n; i++) {
        const struct elasticquota **below = children(t, all[i]->obj.meta.name, a, &k);
        kjw_arr(w, all[i]->obj.meta.name);
        for (size_t j = 0; j < k; j++)
            kjw_str(w, NULL, below[j]->obj.meta.name);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_end(w);
}
