/* scaledownbinpack.c - ScaleDownBinPack: in which order pods should go when a workload shrinks, so
 * that whole nodes become empty (descheduler 5.3).
 *
 * By default the order is only written on the pods (pod-deletion-cost), where Kubernetes'
 * controllers look at it.
 */
#include <math.h>
#include <stdio.h>

#include "api/protocol/keys.h"
#include "base/klog.h"
#include "base/num.h"
#include "client/kube.h"
#include "component/config.h"
#include "descheduler/plugins/common/balance_args.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"
#include "json/kj.h"

#define CALCULATE "CalculateOnly"
#define EVICT     "EvictDirectly"
#define REASON    "scale-down binpack"

struct weight {
    const char *resource;
    double weight;
};
struct binpack_args {
    struct balance_args common;
    const char *strategy;
    int32_t max_pods;
    kstrlist resources;
    KLIST(struct weight) weights;
};

#define STYPE struct binpack_args
static const struct kfield args_fields[] = {
    BALANCE_FIELDS(STYPE, common),
    KF(STYPE, strategy, "strategy", KF_STR),
    KF(STYPE, max_pods, "maxPodsToEvict", KF_I32, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, resources, "resources", KF_STR, .flags = KF_OMITEMPTY),
    KF_MAP_OF(STYPE, weights, "resourceWeights", KF_F64, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("ScaleDownBinPackArgs", STYPE, args_fields);
#undef STYPE

static void fill(void *args, const struct kd_args_context *c, struct arena *a)
{
    struct binpack_args *x = args;

    (void)c;
    if (!*x->strategy)
        x->strategy = CALCULATE;
    balance_default_resources(&x->resources, a);
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct binpack_args *x = args;
    int r = balance_args_check(&x->common, a, err);

    if (r == 0)
        r = balance_check_resources(&x->resources, err);
    if (r == 0 && !streq(x->strategy, CALCULATE) && !streq(x->strategy, EVICT))
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "strategy: Unsupported value: \"%.64s\": supported values: \"" CALCULATE
                     "\", \"" EVICT "\"",
                     x->strategy);
    if (r == 0 && streq(x->strategy, EVICT) && x->max_pods <= 0)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "maxPodsToEvict: Invalid value: %d: must be greater than 0", (int)x->max_pods);
    for (uint32_t i = 0; i < x->weights.n && r == 0; i++)
        if (!(x->weights.items[i].weight > 0) || !isfinite(x->weights.items[i].weight))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "resourceWeights[%.64s]: Invalid value: must be a positive number",
                         x->weights.items[i].resource);
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .fill = fill, .check = check };

/* ---- order ------------------------------------------------------------------------------------ */

struct sized {
    const struct pod *pod;
    double size;
};
struct packed { /* a node with pods that may go */
    const char *name;
    struct vec_of(struct sized) eligible;
    double score;
};
struct binpack {
    const struct binpack_args *args;
    struct kd_round *round;
    uint32_t *ids;
    double *weights;
    struct vec_of(struct packed) nodes;
    podvec skipped;
};

static double weight_of(const struct binpack_args *x, const char *resource)
{
    for (uint32_t i = 0; i < x->weights.n; i++)
        if (streq(x->weights.items[i].resource, resource))
            return x->weights.items[i].weight;
    return 1;
}

/* Weighted share of the node that the pod asks for. */
static double size_of(const struct binpack *b, const struct pod *p, uint32_t node)
{
    double sum = 0;

    for (uint32_t i = 0; i < b->args->resources.n; i++) {
        int64_t have = kd_view_allocatable(b->round->view, node, b->ids[i]);
        if (have > 0)
            sum += b->weights[i] * (double)balance_request(b->round->view, p, b->ids[i]) /
                   (double)have;
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    const struct objmeta *m = &x->pod->obj.meta, *n = &y->pod->obj.meta;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (m->created != n->created)
        return m->created > n->created ? -1 : 1;
    int r = strcmp(m->ns, n->ns);
    return r ? r : strcmp(m->name, n->name);
}

static int by_score(const void *a, const void *b)
{
    const struct packed *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (x->eligible.n != y->eligible.n)
        return x->eligible.n < y->eligible.n ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void look(struct binpack *b, uint32_t node)
{
    struct kd_pods pods = kd_view_active(b->round->view, node);
    struct packed n = { .name = kd_view_node(b->round->view, node)->name };
    double stays = 0, goes = 0;

    for (uint32_t i = 0; i < pods.n; i++) {
        const struct pod *p = pods.items[i];
        struct sized s = { p, size_of(b, p, node) };
        bool target = args_pod_selectors_match(&b->args->common.pods, p);
        if (target && balance_wants(&b->args->common, p) && kd_filter(b->round, p)) {
            vec_push(&n.eligible, s);
            goes += s.size;
            continue;
        }
        stays += s.size;
        if (target)
            vec_push(&b->skipped, p);
    }
    if (n.eligible.n == 0)
        return;
    n.score = goes > 0 ? stays / goes : stays > 0 ? INFINITY : 0;
    qsort(n.eligible.items, n.eligible.n, sizeof *n.eligible.items, by_size);
    vec_push(&b->nodes, n);
}

/* ---- what follows ----------------------------------------------------------------------------- */

struct binpack_self {
    struct kube_self base;
    struct kube *kube;
};
static void on_marked(void *arg, struct kube_resp *r, const struct kerr *err)
{
    (void)arg;
    (void)r;
    if (err && err->reason != KR_NOT_FOUND)
        KLOG_E(err, "Failed to write the deletion cost of a pod");
}

static void mark(const struct binpack_self *s, const struct pod *p, int64_t cost)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *had = kstrmap_get(&p->obj.meta.annotations, ANNO_POD_DELETION_COST);
    char text[24];

    (void)snprintf(text, sizeof text, "%lld", (long long)cost);
    if (had && streq(had, text))
        return;
    struct kjw w = kjw_to(&body);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANNO_POD_DELETION_COST, text);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    (void)kube_do(s->kube,
                  &(struct kube_req){ .verb = KUBE_PATCH,
                                      .kind = &kind_pod,
                                      .ns = p->obj.meta.ns,
                                      .name = p->obj.meta.name,
                                      .patch = KUBE_PATCH_MERGE,
                                      .body = body.data,
                                      .body_len = body.len },
                  on_marked, NULL);
}

static void act(const struct binpack_self *s, const struct binpack *b)
{
    bool evict = streq(b->args->strategy, EVICT);
    int64_t rank = 0, evicted = 0;

    vec_foreach(&b->nodes, i)
        vec_foreach(&b->nodes.items[i].eligible, j) {
            const struct pod *p = b->nodes.items[i].eligible.items[j].pod;
            if (!evict && !b->round->dry_run)
                mark(s, p, rank);
            else if (evict && evicted < b->args->max_pods)
                evicted += kd_evict(b->round, p, &(struct kd_eviction){ .reason = REASON });
            rank++;
        }
    vec_foreach(&b->skipped, i)
        if (!evict && !b->round->dry_run)
            mark(s, b->skipped.items[i], INT32_MAX);
}

static int balance(void *self, struct kd_round *r, struct kerr *err)
{
    const struct binpack_self *s = self;
    const struct binpack_args *x = s->base.args;
    struct binpack b = { .args = x, .round = r };
    uint32_t n;

    (void)err;
    if (x->common.paused)
        return 0;
    b.ids = arena_newn0(r->arena, x->resources.n, uint32_t);
    b.weights = arena_newn0(r->arena, x->resources.n, double);
    for (uint32_t i = 0; i < x->resources.n; i++) {
        b.ids[i] = kd_view_resource(r->view, x->resources.items[i]);
        b.weights[i] = weight_of(x, x->resources.items[i]);
    }
    uint32_t *nodes = balance_nodes(&x->common, r, &n);
    for (uint32_t i = 0; i < n; i++)
        look(&b, nodes[i]);
    if (b.nodes.n)
        qsort(b.nodes.items, b.nodes.n, sizeof *b.nodes.items, by_score);
    act(s, &b);
    vec_foreach(&b.nodes, i)
        vec_fini(&b.nodes.items[i].eligible);
    vec_fini(&b.nodes);
    vec_fini(&b.skipped);
    return 0;
}

static int create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct binpack_self *s = xnew0(struct binpack_self);

    (void)err;
    s->base.args = args;
    s->kube = env->kube;
    *ret_self = s;
    return 0;
}

const struct kd_plugin plugin_scaledownbinpack = {
    .abi = KD_PLUGIN_ABI,
    .size = sizeof(struct kd_plugin),
    .name = "ScaleDownBinPack",
    .args = &args_table,
    .create = create,
    .destroy = kube_destroy,
    .update = kube_update,
    .balance = balance,
};
