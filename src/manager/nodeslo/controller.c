/* controller.c - a NodeSLO for each node: the strategies that its koordlet obeys (manager 6). */
#include "base/klog.h"
#include "manager/noderesource/adapt.h"
#include "manager/nodeslo/render.h"
#include "manager/pernode.h"

struct nodeslo_controller {
    struct manager *m;
    struct pernode_opts o;
    struct pernode *objects;
    struct outcomes parsed;
};

enum {
    NODESLO_KEYS = 1u << SLO_THRESHOLD | 1u << SLO_QOS | 1u << SLO_BURST | 1u << SLO_SYSTEM |
                   1u << SLO_HOST_APPS
};

static const void *spec_of(const struct kobj *o)
{
    return &nodeslo_of(o)->spec;
}

/* A node in trouble has its batch pods suppressed earlier. */
static void apply_cut(struct nodeslo_controller *c, const struct kobj *node, const struct kobj *obj,
                      struct arena *a, struct nodeslo_spec *spec)
{
    struct nr_cut cut =
        noderesource_cut(c->m->noderesource, node->meta.name, obj ? nodeslo_of(obj) : NULL);
    struct threshold_strategy *t = arena_new0(a, struct threshold_strategy);

    spec->extensions = nr_cut_store(spec->extensions, cut, a);
    *t = *spec->threshold;
    if (t->cpu_suppress_threshold_percent.set)
        t->cpu_suppress_threshold_percent.v =
            MAX(t->cpu_suppress_threshold_percent.v - cut.cpu, (int64_t)0);
    spec->threshold = t;
}

static const void *render(void *self, const struct kobj *node, const struct kobj *obj,
                          struct arena *a)
{
    struct nodeslo_controller *c = self;
    struct nodeslo_spec *spec = arena_new0(a, struct nodeslo_spec);
    struct kerr why;

    nodeslo_render(c->m->config, &node->meta.labels, &node->meta.annotations,
                   obj ? nodeslo_of(obj)->spec.extensions : NULL, a, spec, &why);
    if (c->m->noderesource)
        apply_cut(c, node, obj, a, spec);
    if (why.code < 0) {
        outcomes_failed(&c->parsed, "getSystemConfigSpec");
        KLOG_W("The node has no system strategy", KV_S("node", node->meta.name),
               KV_S("err", why.text));
    } else {
        outcomes_ok(&c->parsed);
    }
    return spec;
}

void nodeslo_add(struct nodeslo_controller *c, const char *node)
{
    pernode_add(c->objects, node);
}

void nodeslo_on_config(struct nodeslo_controller *c, unsigned keys)
{
    if (keys & NODESLO_KEYS)
        pernode_on_config(c->objects);
}

static const struct metric_desc reconcile_desc = { "slo_controller_nodeslo_reconcile_count",
                                                   "Writes of NodeSLOs, by outcome.",
                                                   METRIC_COUNTER,
                                                   .labels = { "status", "reason" } };
static const struct metric_desc parse_desc = { "slo_controller_nodeslo_spec_parse_count",
                                               "NodeSLO specs calculated, by outcome.",
                                               METRIC_COUNTER, .labels = { "status", "reason" } };

struct nodeslo_controller *nodeslo_controller_new(struct manager *m)
{
    struct nodeslo_controller *c = xnew0(struct nodeslo_controller);

    c->m = m;
    c->o = (struct pernode_opts){
        .name = "nodeslo",
        .objects = m->slos,
        .spec = &nodeslo_spec_schema,
        .reconciled = &reconcile_desc,
        .create_failed = "createNodeSLO",
        .update_failed = "updateNodeSLO",
        .delete_failed = "deleteNodeSLO",
        .spec_of = spec_of,
        .render = render,
        .self = c,
    };
    outcomes_init(&c->parsed, m->o.metrics, &parse_desc);
    c->objects = pernode_new(m, &c->o);
    return c;
}

struct nodeslo_controller *nodeslo_controller_free(struct nodeslo_controller *c)
{
    if (!c)
        return NULL;
    pernode_free(c->objects);
    free(c);
    return NULL;
}
