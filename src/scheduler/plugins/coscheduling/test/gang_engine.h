/* gang_engine.h - an engine with gangs, for tests: PodGroups and pods that name them. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TEST_ENGINE_H
#define KOORD_SCHEDULER_COSCHEDULING_TEST_ENGINE_H
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/protocol/gang.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define PODGROUPS "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/podgroups"
#define LABEL(g)  "\"" LABEL_POD_GROUP "\":\"" g "\""

static const struct ks_registered gang_table[] = {
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_unschedulable, 0, true },
    { &ks_plugin_node_affinity, 1, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 0, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* Further options of the next engine; plugins NULL: those above. */
static struct scheduler_opts gang_opts;

struct gang_config { /* what such an engine is made of; it lives in the arena */
    struct profile_config profile;
    struct profile_args args;
    struct scheduler_opts opts;
};
/* args: of Coscheduling, as JSON. */
static inline struct gang_config *gang_config(const char *args, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct gang_config *c = arena_new0(a, struct gang_config);
    const struct ks_registered *plugins = gang_opts.plugins ? gang_opts.plugins : gang_table;
    struct kerr err = { 0 };
    void *decoded = NULL;

    assert_int_equal(kj_parse(args, strlen(args), KJ_RAW_NUMBERS, &doc, &err), 0);
    if (args_decode(ks_plugin_coscheduling.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &decoded, &err) < 0)
        fail_msg("%s", err.text);
    c->args = (struct profile_args){ "Coscheduling", decoded };
    c->profile = profile_config_default(plugins, "koord-scheduler", a);
    c->profile.args = &c->args;
    c->profile.nargs = 1;
    c->opts = gang_opts;
    c->opts.plugins = plugins;
    c->opts.profiles = &c->profile;
    c->opts.nprofiles = 1;
    c->opts.network_topology = true;
    return c;
}

/* A new engine, or one that gets a new configuration. */
static inline UNUSED void gang_engine_config(struct engine_fixture *b, const char *args,
                                             bool reload)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gang_config *c = gang_config(args, a);
    struct kerr err = { 0 };

    if (!reload)
        engine_start_opts(b, 1, c->opts);
    else if (scheduler_reload(b->s, &c->opts, &err) < 0)
        fail_msg("%s", err.text);
}

/* Another replica, which does not lead yet. */
static inline UNUSED struct scheduler *gang_standby(struct engine_fixture *b, const char *args)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gang_config *c = gang_config(args, a);
    struct kerr err = { 0 };

    c->opts.verify_reuse = true;
    struct scheduler *s = scheduler_new(b->client.loop, b->client.kube, &c->opts, &err);
    assert_string_equal(err.text, "");
    scheduler_watch(s);
    return s;
}

static inline UNUSED void gang_start(struct engine_fixture *b, const char *args)
{
    gang_engine_config(b, args, false);
    client_fixture_run(&b->client, 2 * SEC);
}

/* A node with whole CPUs. */
static inline UNUSED void gang_node(struct engine_fixture *b, const char *name, int cpus)
{
    engine_node(b, name, cpus * 1000, 65536, 1000, "");
}

/* annotations: "\"key\":\"value\""; may be "". */
static inline UNUSED void gang_podgroup(struct engine_fixture *b, const char *name, int min,
                                        const char *annotations)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{\"metadata\":{\"creationTimestamp\":\"2025-11-15T09:46:40Z\",\"annotations\":{%s}},"
        "\"spec\":{\"minMember\":%d}}",
        annotations, min);
    fake_put(b->client.fake, PODGROUPS, name, body);
}

/* labels, annotations: as above; spec: further members. */
static inline UNUSED void gang_pod_with(struct engine_fixture *b, const char *name,
                                        const char *labels, const char *annotations, int cpu,
                                        const char *spec)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{%s},\"annotations\":{%s}},\"spec\":{"
                   "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
                   "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]%s}}",
                   labels, annotations, cpu, spec);
    fake_put(b->client.fake, PODS, name, body);
}

static inline UNUSED void gang_pod(struct engine_fixture *b, const char *name, const char *gang,
                                   int cpu)
{
    char label[256];

    (void)snprintf(label, sizeof label, "\"%s\":\"%s\"", LABEL_POD_GROUP, gang);
    gang_pod_with(b, name, label, "", cpu, "");
}

static inline UNUSED bool gang_runs(const struct engine_fixture *b, const char *pod)
{
    return *engine_node_of(b, pod) != '\0';
}

/* How many of prefix0, prefix1, ... have a node. */
static inline UNUSED int gang_bound(const struct engine_fixture *b, const char *prefix, int n)
{
    char name[64];
    int bound = 0;

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        bound += gang_runs(b, name);
    }
    return bound;
}

static inline UNUSED uint64_t gang_attempts(const struct engine_fixture *b)
{
    return scheduler_stats(b->s).attempts;
}
#endif
