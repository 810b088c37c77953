/* removeduplicates.c - RemoveDuplicates: replicas of one owner that share a node although others
 * could take them (descheduler 6.3).
 */
#include "api/pod.h"
#include "api/toleration.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct duplicates_args {
    struct kube_common common;
    kstrlist exclude_owners;
};

#define STYPE struct duplicates_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KF_LIST_OF(STYPE, exclude_owners, "excludeOwnerKinds", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("RemoveDuplicatesArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct duplicates_args *x = args;
    return kube_common_check(&x->common, a, err);
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

/* ---- keys ------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The images of a pod, sorted. */
static const char **images_of(const struct pod *p, struct arena *a)
{
    uint32_t n = p->spec->containers.n;
    const char **l = arena_newn0(a, n, const char *);

    for (uint32_t i = 0; i < n; i++)
        l[i] = p->spec->containers.items[i].image;
    if (n)
        qsort(l, n, sizeof *l, by_text);
    return l;
}

static const char *join(const char *const *l, uint32_t n, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < n; i++)
        strbuf_appendf(&out, "%s\n", l[i]);
    return arena_strdup(a, strbuf_str(&out));
}

/* Equal for pods that are duplicates of each other: owners and images. */
static const char *pod_key(const struct pod *p, const char *const *images, struct arena *a)
{
    uint32_t n = p->spec->containers.n, m = p->obj.meta.owners.n;
    const char **l = arena_newn0(a, (size_t)n * m, const char *);

    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            l[i * n + j] =
                arena_printf(a, "%s/%s/%s/%s", p->obj.meta.ns, p->obj.meta.owners.items[i].kind,
                             p->obj.meta.owners.items[i].name, images[j]);
    if (n && m)
        qsort(l, (size_t)n * m, sizeof *l, by_text);
    return join(l, n * m, a);
}

/* ---- owners ----------------------------------------------------------------------------------- */

struct here { /* duplicates of an owner on one node, without the first pod of them */
    uint32_t node;
    podvec pods;
};
struct owner {
    const char *key;
    uint32_t pods;
    struct vec_of(struct here) nodes; /* in the order of the round */
};
struct owners {
    struct map by_key;
    struct vec_of(struct owner *) all; /* in the order in which they were met */
    struct arena *arena;
};

static struct owner *owner_of(struct owners *o, const struct pod *p, uint32_t i, const char *images)
{
    const struct owner_ref *ref = &p->obj.meta.owners.items[i];
    const char *key =
        arena_printf(o->arena, "%s/%s/%s/%s", p->obj.meta.ns, ref->kind, ref->name, images);
    struct owner *x = map_getz(&o->by_key, key);

    if (x)
        return x;
    x = arena_new0(o->arena, struct owner);
    x->key = key;
    map_putz(&o->by_key, key, x);
    vec_push(&o->all, x);
    return x;
}

static void add_duplicate(struct owner *x, const struct pod *p, uint32_t node)
{
    if (x->nodes.n == 0 || vec_last(&x->nodes).node != node) {
        struct here h = { .node = node };
        vec_push(&x->nodes, h);
    }
    vec_push(&vec_last(&x->nodes).pods, p);
}

static bool is_excluded(const struct duplicates_args *x, const struct pod *p)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (args_has(&x->exclude_owners, p->obj.meta.owners.items[i].kind))
            return true;
    return p->obj.meta.owners.n == 0;
}

static void look_at_node(const struct duplicates_args *x, struct kd_round *r, uint32_t node,
                         struct owners *o)
{
    struct map seen = { 0 };
    podvec pods = { 0 };

    kube_list(r, node, &(struct kube_listing){ .common = &x->common, .filter = true }, &pods);
    vec_foreach(&pods, i) {
        const struct pod *p = pods.items[i];
        if (is_excluded(x, p))
            continue;
        const char **images = images_of(p, o->arena);
        const char *joined = join(images, p->spec->containers.n, o->arena);
        const char *key = pod_key(p, images, o->arena);
        bool again = map_getz(&seen, key) != NULL;
        if (!again)
            map_putz(&seen, key, o);
        for (uint32_t j = 0; j < p->obj.meta.owners.n; j++) {
            struct owner *w = owner_of(o, p, j, joined);
            w->pods++;
            if (again)
                add_duplicate(w, p, node);
        }
    }
    map_fini(&seen);
    vec_fini(&pods);
}

/* ---- where they could go ---------------------------------------------------------------------- */

static bool can_land(const struct kd_round *r, const struct pod *p, uint32_t node)
{
    const struct node *n = kd_view_node(r->view, node)->node;

    return !taints_untolerated(&n->spec.taints, &p->spec->tolerations, TAINT_HARD_EFFECTS, 0) &&
           kd_fits_affinity(r->view, p, n);
}

/* Pods of one spec land on the same nodes; a pod with only one such node counts for nothing. */
static uint32_t count_targets(const struct kd_round *r, const struct owner *x)
{
    CLEANUP(mem_free) bool *targets = xnewn0(r->nnodes ? r->nnodes : 1, bool);
    CLEANUP(mem_free) bool *mine = xnewn0(r->nnodes ? r->nnodes : 1, bool);
    const struct pod_spec *last = NULL;
    uint32_t sum = 0;

    vec_foreach(&x->nodes, i)
        vec_foreach(&x->nodes.items[i].pods, j) {
            const struct pod *p = x->nodes.items[i].pods.items[j];
            uint32_t n = 0;
            if (p->spec == last)
                continue;
            last = p->spec;
            for (uint32_t k = 0; k < r->nnodes; k++)
                n += mine[k] = can_land(r, p, r->nodes[k]);
            for (uint32_t k = 0; k < r->nnodes && n > 1; k++)
                targets[k] |= mine[k];
        }
    for (uint32_t k = 0; k < r->nnodes; k++)
        sum += targets[k];
    return sum;
}

static void spread(struct kd_round *r, const struct owner *x)
{
    uint32_t targets = count_targets(r, x);

    if (targets < 2)
        return;
    uint32_t upper = (x->pods + targets - 1) / targets;
    vec_foreach(&x->nodes, i) {
        const podvec *pods = &x->nodes.items[i].pods;
        for (size_t j = upper - 1; j < pods->n; j++)
            (void)kd_evict(r, pods->items[j], NULL);
    }
}

static int balance(void *self, struct kd_round *r, struct kerr *err)
{
    struct owners o = { .arena = r->arena };

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++)
        look_at_node(kube_args(self), r, r->nodes[i], &o);
    vec_foreach(&o.all, i) {
        struct owner *x = o.all.items[i];
        if (x->nodes.n)
            spread(r, x);
        vec_foreach(&x->nodes, j)
            vec_fini(&x->nodes.items[j].pods);
        vec_fini(&x->nodes);
    }
    vec_fini(&o.all);
    map_fini(&o.by_key);
    return 0;
}

const struct kd_plugin plugin_removeduplicates = { KUBE_PLUGIN("RemoveDuplicates", &args_table),
                                                   .balance = balance };
