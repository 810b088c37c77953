/* explain_node.c - the manager's part of koordctl explain: its own calculation on objects. */
#include "api/core.h"
#include "api/koord/nodeslo.h"
#include "ctl/explain.h"
#include "main/koordctl.h"
#include "manager/noderesource/adapt.h"
#include "manager/noderesource/explain.h"

static void add_pods(const struct explain_node_objects *o, struct arena *a, struct nr_input *in)
{
    const struct nr_pod **pods = arena_newn0(a, o->npods + 1, const struct nr_pod *);

    for (size_t i = 0; i < o->npods; i++) {
        struct nr_pod *p = arena_new0(a, struct nr_pod);
        nr_pod_of(pod_of(o->pods[i]), a, p);
        pods[i] = p;
    }
    in->pods = pods;
    in->npods = o->npods;
}

static void explain(const struct explain_node_objects *o, nsec_t now, struct strbuf *json)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(sloconfig_free) struct sloconfig *config = sloconfig_new();
    struct nr_input in = {
        .now = now,
        .node = node_of(o->node),
        .metric = o->metric ? nodemetric_of(o->metric) : NULL,
        .topology = o->topology ? noderesourcetopology_of(o->topology) : NULL,
        .device = o->device ? device_of(o->device) : NULL,
        .config = config,
        .plugins = NR_ALL_PLUGINS,
    };
    struct slo_sync sync;

    sloconfig_sync(config, o->config ? &container_of(o->config, struct configmap, obj)->data : NULL,
                   &sync);
    if (o->slo)
        in.cut = nr_cut_load(nodeslo_of(o->slo)->spec.extensions);
    add_pods(o, a, &in);
    nr_explain(&in, &sync, a, json);
}

const struct explain_manager main_explain_manager = {
    .config_ns = SLO_CONFIG_NAMESPACE,
    .config_name = SLO_CONFIG_NAME,
    .node = explain,
    .profile = main_explain_profile,
};
