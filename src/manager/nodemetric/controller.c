/* controller.c - a NodeMetric for each node: what it is to measure (manager 3). */
#include "manager/cached.h"
#include "manager/nodemetric/policy.h"
#include "manager/pernode.h"

struct nodemetric_controller {
    struct manager *m;
    struct pernode_opts o;
    struct pernode *objects;
    struct outcomes parsed;
};

static const void *spec_of(const struct kobj *o)
{
    const struct nodemetric *n = nodemetric_of(o);
    _Static_assert(sizeof(struct nodemetric_spec) == sizeof n->collect_policy,
                   "the only member stands directly in struct nodemetric");
    return &n->collect_policy;
}

static bool is_ready(void *self)
{
    const struct nodemetric_controller *c = self;
    return sloconfig_available(c->m->config);
}

static const void *render(void *self, const struct kobj *node, const struct kobj *obj,
                          struct arena *a)
{
    struct nodemetric_controller *c = self;
    struct nodemetric_spec *spec = arena_new0(a, struct nodemetric_spec);
    struct kerr why;

    /* While the configuration cannot be read, what was written before stays. */
    if (obj && sloconfig_in_error(c->m->config, SLO_COLOCATION))
        return NULL;
    spec->collect_policy = arena_new0(a, struct metric_collect_policy);
    if (nodemetric_policy(sloconfig_get(c->m->config, SLO_COLOCATION), &node->meta.labels,
                          &node->meta.annotations, a, spec->collect_policy, &why))
        outcomes_ok(&c->parsed);
    else
        outcomes_failed(&c->parsed, "getNodeMetricCollectPolicy");
    return spec;
}

void nodemetric_on_config(struct nodemetric_controller *c, unsigned keys)
{
    if (keys & 1u << SLO_COLOCATION)
        pernode_on_config(c->objects);
}

static const struct metric_desc reconcile_desc = { "slo_controller_nodemetric_reconcile_count",
                                                   "Writes of NodeMetrics, by outcome.",
                                                   METRIC_COUNTER,
                                                   .labels = { "status", "reason" } };
static const struct metric_desc parse_desc = { "slo_controller_nodemetric_spec_parse_count",
                                               "NodeMetric specs calculated, by outcome.",
                                               METRIC_COUNTER, .labels = { "status", "reason" } };

struct nodemetric_controller *nodemetric_controller_new(struct manager *m)
{
    struct nodemetric_controller *c = xnew0(struct nodemetric_controller);

    c->m = m;
    c->o = (struct pernode_opts){
        .name = "nodemetric",
        .objects = m->metrics,
        .spec = &nodemetric_spec_schema,
        .reconciled = &reconcile_desc,
        .create_failed = "createNodeMetric",
        .update_failed = "updateNodeMetric",
        .delete_failed = "deleteNodeMetric",
        .ready = is_ready,
        .spec_of = spec_of,
        .render = render,
        .self = c,
    };
    outcomes_init(&c->parsed, m->o.metrics, &parse_desc);
    c->objects = pernode_new(m, &c->o);
    return c;
}

struct nodemetric_controller *nodemetric_controller_free(struct nodemetric_controller *c)
{
    if (!c)
        return NULL;
    pernode_free(c->objects);
    free(c);
    return NULL;
}
