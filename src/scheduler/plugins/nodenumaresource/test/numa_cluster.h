/* numa_cluster.h - nodes with CPU topologies and pods that hold CPUs, for tests of the plugin. */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_TEST_NUMA_CLUSTER_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_TEST_NUMA_CLUSTER_H
#include "api/koord/noderesourcetopology.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_fixture.h"

#define NAME "NodeNUMAResource"

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* sockets x cores x 2 threads, one NUMA node per socket; CPU ids are consecutive within a core. */
static inline void topology_text(struct strbuf *b, const char *node, int sockets, int cores,
                                 const char *more_annotations, const char *more)
{
    int n = 0;

    strbuf_appendf(b,
                   "{'metadata':{'name':'%s','annotations':{%s'node.koordinator.sh/cpu-topology'"
                   ":'{\\\"detail\\\":[",
                   node, more_annotations);
    for (int c = 0; c < sockets * cores; c++)
        for (int t = 0; t < 2; t++, n++)
            strbuf_appendf(b, "%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":%d,\\\"node\\\":%d}",
                           n ? "," : "", n, c, c / cores, c / cores);
    strbuf_append(b, "]}'}},'zones':[");
    for (int s = 0; s < sockets; s++)
        strbuf_appendf(b,
                       "%s{'name':'node-%d','type':'Node','resources':[{'name':'cpu',"
                       "'allocatable':'%d'},{'name':'memory','allocatable':'32Gi'}]}",
                       s ? "," : "", s, 2 * cores);
    strbuf_appendf(b, "]%s}", more);
}

static inline UNUSED void topology(struct plugin_fixture *f, const char *node, int sockets,
                                   int cores, const char *more_annotations, const char *more)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    topology_text(&b, node, sockets, cores, more_annotations, more);
    attempt_end(&f->a);
    fixture_put(f, &kind_noderesourcetopology, strbuf_str(&b));
}

static inline UNUSED void node(struct plugin_fixture *f, const char *name, int cpus,
                               const char *labels)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s','labels':{%s}},'status':{'allocatable':{'cpu':'%d',"
                   "'memory':'64Gi','pods':'110'}}}",
                   name, labels, cpus);
    fixture_node(f, strbuf_str(&b));
}

/* more: members of metadata, with a comma in front. */
static inline UNUSED const char *pod(struct plugin_fixture *f, const char *name, int cpus,
                                     const char *qos, const char *more, const char *on)
{
    return arena_printf(f->base->arena,
                        "{'metadata':{'name':'%s','namespace':'default','uid':'uid-%s','labels':{"
                        "'koordinator.sh/qosClass':'%s'}%s},'spec':{'priority':9500%s%s%s,"
                        "'containers':[{'name':'c','resources':{'requests':{'cpu':'%d','memory':"
                        "'1Gi'}}}]}}",
                        name, name, qos, more, on ? ",'nodeName':'" : "", on ? on : "",
                        on ? "'" : "", cpus);
}

#define HOLDS(cpus)                                                                          \
    ",'annotations':{'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":\\\"" cpus \
    "\\\"}'}"
#endif
