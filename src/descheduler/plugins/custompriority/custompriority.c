/* custompriority.c - CustomPriority: pods move from nodes of one level to those of later levels, or
 * whole nodes are emptied that way (descheduler 5.1).
 */
#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "component/config.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/common/balance_args.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

#define BEST_EFFORT "BestEffort"
#define DRAIN       "DrainNode"
enum { MISSES_MAX = 5 };

struct level {
    const char *name;
    struct label_selector *selector;
    struct opt_f64 keep, reject; /* accepted, without effect: as upstream */
    struct labelsel *nodes;
};
struct custom_args {
    struct balance_args common;
    KLIST(struct level) levels;
    const char *mode;
    bool auto_cordon;
};

#define STYPE struct level
static const struct kfield level_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, selector, "nodeSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, keep, "keepThreshold", KF_OPT_F64, .flags = KF_OMITEMPTY),
    KF(STYPE, reject, "rejectThreshold", KF_OPT_F64, .flags = KF_OMITEMPTY),
};
static const struct kschema level_schema = KSCHEMA("EvictionOrder", STYPE, level_fields);
#undef STYPE
#define STYPE struct custom_args
static const struct kfield args_fields[] = {
    BALANCE_FIELDS(STYPE, common),
    BALANCE_FIT_FIELDS(STYPE, common),
    KF_LIST_OF(STYPE, levels, "evictionOrder", KF_OBJ, .sub = &level_schema),
    KF(STYPE, mode, "mode", KF_STR),
    KF(STYPE, auto_cordon, "autoCordon", KF_BOOL, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("CustomPriorityArgs", STYPE, args_fields);
#undef STYPE

static void fill(void *args, const struct kd_args_context *c, struct arena *a)
{
    struct custom_args *x = args;

    (void)c;
    (void)a;
    if (!*x->mode)
        x->mode = BEST_EFFORT;
}

static int check_level(struct custom_args *x, uint32_t i, struct arena *a, struct kerr *err)
{
    struct level *l = &x->levels.items[i];

    if (!*l->name)
        return kerr_api(err, -EINVAL, KR_INVALID, "name: Required value");
    for (uint32_t j = 0; j < i; j++)
        if (streq(x->levels.items[j].name, l->name))
            return kerr_api(err, -EINVAL, KR_INVALID, "name: Duplicate value: \"%.64s\"", l->name);
    if (!l->selector)
        return kerr_api(err, -EINVAL, KR_INVALID, "nodeSelector: Required value");
    return args_selector_compile(l->selector, "nodeSelector", a, &l->nodes, err);
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct custom_args *x = args;
    int r = balance_args_check(&x->common, a, err);

    if (r == 0)
        r = config_at_most(x->levels.n, CONFIG_ITEMS_MAX, "evictionOrder", err);
    if (r == 0 && x->levels.n < 2)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "evictionOrder: Invalid value: %u: at least 2 levels are needed", x->levels.n);
    for (uint32_t i = 0; i < x->levels.n && r == 0; i++)
        if (check_level(x, i, a, err) < 0)
            return config_under(err, "evictionOrder[%u]", i);
    if (r == 0 && !streq(x->mode, BEST_EFFORT) && !streq(x->mode, DRAIN))
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "mode: Unsupported value: \"%.64s\": supported values: \"" BEST_EFFORT
                     "\", \"" DRAIN "\"",
                     x->mode);
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .fill = fill, .check = check };

/* ---- levels ----------------------------------------------------------------------------------- */

struct custom_self {
    struct kube_self base;
    struct kube *kube;
};
struct group {
    const struct level *level;
    uint32_t *nodes, n;
};
struct target { /* what is left of it, as far as this round knows */
    uint32_t node;
    int64_t cpu, memory;
};
struct custom {
    const struct custom_self *self;
    const struct custom_args *args;
    struct kd_round *round;
    struct group *groups; /* without empty levels */
    uint32_t ngroups;
    uint32_t cpu, memory;   /* resources of the view */
    struct target *targets; /* of the level under way; DrainNode: of all, kept over sources */
    uint32_t *target_nodes, ntargets;
};

/* Each node belongs to the first level that wants it. */
static void make_groups(struct custom *c)
{
    const struct custom_args *x = c->args;
    uint32_t n, *nodes = balance_nodes(&x->common, c->round, &n);

    c->groups = arena_newn0(c->round->arena, x->levels.n, struct group);
    for (uint32_t i = 0; i < x->levels.n; i++) {
        struct group *g = &c->groups[c->ngroups];
        *g = (struct group){ &x->levels.items[i], arena_newn0(c->round->arena, n, uint32_t), 0 };
        for (uint32_t j = 0; j < n; j++) {
            const struct kd_node *node = kd_view_node(c->round->view, nodes[j]);
            bool earlier = false;
            for (uint32_t k = 0; k < i; k++)
                earlier |=
                    args_selector_match(x->levels.items[k].nodes, &node->node->obj.meta.labels);
            if (!earlier && args_selector_match(g->level->nodes, &node->node->obj.meta.labels))
                g->nodes[g->n++] = nodes[j];
        }
        c->ngroups += g->n > 0;
    }
}

static void set_targets(struct custom *c, uint32_t from)
{
    c->ntargets = 0;
    for (uint32_t i = from; i < c->ngroups; i++)
        for (uint32_t j = 0; j < c->groups[i].n; j++)
            c->target_nodes[c->ntargets++] = c->groups[i].nodes[j];
}

/* ---- pods ------------------------------------------------------------------------------------- */

struct sized {
    const struct pod *pod;
    int64_t cpu, memory; /* of the containers alone */
};
typedef struct vec_of(struct sized) sizedvec;

static int64_t container_sum(const struct pod *p, const char *resource)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < p->spec->containers.n; i++) {
        const reslist *l = &p->spec->containers.items[i].resources.requests;
        sum = i64_add_sat(sum, qty_milli(reslist_get(l, resource)));
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    if (x->memory != y->memory)
        return x->memory < y->memory ? -1 : 1;
    int r = strcmp(x->pod->obj.meta.ns, y->pod->obj.meta.ns);
    return r ? r : strcmp(x->pod->obj.meta.name, y->pod->obj.meta.name);
}

static void list(const struct custom *c, uint32_t node, sizedvec *out)
{
    struct kd_pods pods = kd_view_active(c->round->view, node);

    for (uint32_t i = 0; i < pods.n; i++) {
        const struct pod *p = pods.items[i];
        struct sized s = { p, container_sum(p, "cpu"), container_sum(p, "memory") };
        if (balance_wants(&c->args->common, p) && kd_filter(c->round, p))
            vec_push(out, s);
    }
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, by_size);
}

/* ---- as many as fit --------------------------------------------------------------------------- */

static void move_some(const struct custom *c, const struct level *level, uint32_t node)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    sizedvec pods = { 0 };
    unsigned misses = 0;

    strbuf_appendf(&reason, "evicting from %s priority resource to lower priority resource",
                   level->name);
    list(c, node, &pods);
    vec_foreach(&pods, i) {
        const struct pod *p = pods.items[i].pod;
        if (c->args->common.node_fit.v &&
            !kd_fits_any(c->round->view, p, c->target_nodes, c->ntargets, KD_FIT_KOORD)) {
            if (++misses >= MISSES_MAX)
                break;
            continue;
        }
        misses = 0;
        (void)balance_evict(&c->args->common, c->round, p, strbuf_str(&reason));
    }
    vec_fini(&pods);
}

/* ---- whole nodes ------------------------------------------------------------------------------ */

static struct target *target_of(const struct custom *c, uint32_t node)
{
    struct target *t = &c->targets[node];
    const struct kd_view *v = c->round->view;

    if (t->node == UINT32_MAX) {
        t->node = node;
        t->cpu =
            i64_sub_sat(kd_view_allocatable(v, node, c->cpu), kd_view_requested(v, node, c->cpu));
        t->memory = i64_sub_sat(kd_view_allocatable(v, node, c->memory),
                                kd_view_requested(v, node, c->memory));
    }
    return t;
}

static struct target *place(const struct custom *c, const struct sized *s)
{
    for (uint32_t i = 0; i < c->ntargets; i++) {
        struct target *t = target_of(c, c->target_nodes[i]);
        if (s->cpu <= t->cpu && s->memory <= t->memory &&
            (!c->args->common.node_fit.v || kd_fits(c->round->view, s->pod, t->node, KD_FIT_KOORD)))
            return t;
    }
    return NULL;
}

/* All or none: what was taken for a node that cannot be emptied is given back. */
static bool place_all(const struct custom *c, const sizedvec *pods)
{
    CLEANUP(mem_free) struct target **where = xnewn0(pods->n ? pods->n : 1, struct target *);
    size_t n = 0;

    for (; n < pods->n; n++) {
        where[n] = place(c, &pods->items[n]);
        if (!where[n])
            break;
        where[n]->cpu -= pods->items[n].cpu;
        where[n]->memory -= pods->items[n].memory;
    }
    if (n == pods->n)
        return true;
    while (n-- > 0) {
        where[n]->cpu += pods->items[n].cpu;
        where[n]->memory += pods->items[n].memory;
    }
    return false;
}

static void on_cordoned(void *arg, struct kube_resp *r, const struct kerr *err)
{
    (void)arg;
    (void)r;
    if (err)
        KLOG_E(err, "Failed to change spec.unschedulable of a node");
}

static void cordon(const struct custom *c, const char *node, bool on)
{
    const char *body =
        on ? "{\"spec\":{\"unschedulable\":true}}" : "{\"spec\":{\"unschedulable\":null}}";

    (void)kube_do(c->self->kube,
                  &(struct kube_req){ .verb = KUBE_PATCH,
                                      .kind = &kind_node,
                                      .name = node,
                                      .patch = KUBE_PATCH_MERGE,
                                      .body = body,
                                      .body_len = strlen(body) },
                  on_cordoned, NULL);
}

static void drain(const struct custom *c, const struct level *level, uint32_t node)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    const struct kd_node *n = kd_view_node(c->round->view, node);
    /* A dry run leaves the node as it is (upstream cordons it). */
    bool cordons = c->args->auto_cordon && !c->args->common.dry_run && !c->round->dry_run &&
                   !n->node->spec.unschedulable;
    sizedvec pods = { 0 };

    list(c, node, &pods);
    if (pods.n && place_all(c, &pods)) {
        strbuf_appendf(&reason, "drain node %s (sourcePriority=%s)", n->name, level->name);
        if (cordons)
            cordon(c, n->name, true);
        vec_foreach(&pods, i)
            if (!balance_evict(&c->args->common, c->round, pods.items[i].pod,
                               strbuf_str(&reason))) {
                if (cordons)
                    cordon(c, n->name, false);
                break;
            }
    }
    vec_fini(&pods);
}

/* ---- a round ---------------------------------------------------------------------------------- */

static int balance(void *self, struct kd_round *r, struct kerr *err)
{
    const struct custom_self *s = self;
    const struct custom_args *x = s->base.args;
    struct custom c = { .self = s, .args = x, .round = r };
    uint32_t all = kd_view_count(r->view);

    (void)err;
    if (x->common.paused)
        return 0;
    make_groups(&c);
    if (c.ngroups < 2)
        return 0;
    c.cpu = kd_view_resource(r->view, "cpu");
    c.memory = kd_view_resource(r->view, "memory");
    c.targets = arena_newn0(r->arena, all, struct target);
    c.target_nodes = arena_newn0(r->arena, all, uint32_t);
    for (uint32_t i = 0; i < all; i++)
        c.targets[i].node = UINT32_MAX;
    for (uint32_t i = 0; i + 1 < c.ngroups; i++) {
        set_targets(&c, i + 1);
        for (uint32_t j = 0; j < c.groups[i].n; j++)
            if (streq(x->mode, DRAIN))
                drain(&c, c.groups[i].level, c.groups[i].nodes[j]);
            else
                move_some(&c, c.groups[i].level, c.groups[i].nodes[j]);
    }
    return 0;
}

static int create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct custom_self *s = xnew0(struct custom_self);

    (void)err;
    s->base.args = args;
    s->kube = env->kube;
    *ret_self = s;
    return 0;
}

const struct kd_plugin plugin_custompriority = {
    .abi = KD_PLUGIN_ABI,
    .size = sizeof(struct kd_plugin),
    .name = "CustomPriority",
    .args = &args_table,
    .create = create,
    .destroy = kube_destroy,
    .update = kube_update,
    .balance = balance,
};
