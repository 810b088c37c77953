/* load_fixture.h - nodes of 96 CPUs and 512 GiB, their NodeMetrics and pods, for the tests of
 * LoadAwareScheduling. Usage is written as "cpu/memory". The clock stands at 01:00:00.
 */
#ifndef KOORD_SCHEDULER_LOADAWARESCHEDULING_TEST_LOAD_FIXTURE_H
#define KOORD_SCHEDULER_LOADAWARESCHEDULING_TEST_LOAD_FIXTURE_H
#include "scheduler/plugins/loadawarescheduling/loads.h"
#include "scheduler/test/plugin_checks.h"

#include "api/koord/nodemetric.h"

#define NAME   "LoadAwareScheduling"
#define NOW    (3600 * NSEC_PER_SEC)
#define JUST   "1970-01-01T00:59:59Z"
#define OLD    "1970-01-01T00:10:00Z"
#define GI     (INT64_C(1) << 30)
#define POD_16 "{'requests':{'cpu':'16','memory':'32Gi'},'limits':{'cpu':'16','memory':'32Gi'}}"

static const struct ks_registered load_table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_load_aware_scheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* args: as in a configuration. */
static inline void load_start(struct plugin_fixture *f, void **state, const char *args)
{
    struct object_fixture *base = *state;

    fixture_init_with(f, state, load_table, arena_printf(base->arena, "{'" NAME "':%s}", args));
    f->now = NOW;
}
static inline UNUSED struct loads *load_service(const struct plugin_fixture *f)
{
    return service_table_first(f->services)->self;
}
/* annotations: '"key":"value"' or "". */
static inline UNUSED void load_node(struct plugin_fixture *f, const char *name,
                                    const char *annotations)
{
    fixture_node(f, arena_printf(f->base->arena,
                                 "{'metadata':{'name':'%s','annotations':{%s}},'status':{"
                                 "'allocatable':{'cpu':'96','memory':'512Gi'}}}",
                                 name, annotations));
}
/* "30/100Gi" as a list of resources. */
static inline const char *load_resources(struct plugin_fixture *f, const char *usage)
{
    const char *slash = strchr(usage, '/');

    return arena_printf(f->base->arena, "{'cpu':'%.*s','memory':'%s'}", (int)(slash - usage), usage,
                        slash + 1);
}
/* more: further members of status, with a comma before; may be "". */
static inline UNUSED void load_metric(struct plugin_fixture *f, const char *node, const char *time,
                                      const char *usage, const char *more)
{
    fixture_put(f, &kind_nodemetric,
                arena_printf(f->base->arena,
                             "{'metadata':{'name':'%s'},'status':{'updateTime':%s%s%s,'nodeMetric':"
                             "{'nodeUsage':{'resources':%s}}%s}}",
                             node, time ? "'" : "", time ? time : "null", time ? "'" : "",
                             load_resources(f, usage), more));
}
/* A pod by its resources; more: further members of metadata, with a comma before. */
static inline UNUSED const char *load_pod(struct plugin_fixture *f, const char *name,
                                          const char *node, const char *resources, const char *more)
{
    return arena_printf(f->base->arena,
                        "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'%s},'spec':{'nodeName'"
                        ":'%s','containers':[{'name':'c','resources':%s}]}}",
                        name, name, more, node, resources);
}
/* Is the node's sum this? */
static inline UNUSED void load_expect(struct plugin_fixture *f, const char *node, enum load_sum sum,
                                      int64_t mcpu, int64_t memory)
{
    struct loads *l = load_service(f);
    struct load_node *n = loads_find(l, node);

    assert_non_null(n);
    assert_int_equal(load_sum(n, l, sum)[0], mcpu);
    assert_int_equal(load_sum(n, l, sum)[1], memory);
}
#endif
