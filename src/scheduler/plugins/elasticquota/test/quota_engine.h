/* quota_engine.h - an engine with quotas, for tests: two resources, quotas of whole CPUs. */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_TEST_ENGINE_H
#define KOORD_SCHEDULER_ELASTICQUOTA_TEST_ENGINE_H
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/protocol/quota.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define QUOTAS "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/elasticquotas"

static const struct ks_registered quota_table[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_elastic_quota, 0, true },  { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* labels: without their domain, as "\"parent\":\"a\""; may be "". */
static inline UNUSED void engine_quota(struct engine_fixture *b, const char *name,
                                       const char *labels, int max, int min)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body, "{\"metadata\":{\"labels\":{");
    for (const char *p = labels; *p; p++)
        strbuf_appendf(&body, "%c%s", *p,
                       *p == '"' && (p == labels || p[-1] == ',') ? DOMAIN_QUOTA : "");
    strbuf_appendf(&body,
                   "}},\"spec\":{\"max\":{\"cpu\":\"%d\",\"memory\":\"%dGi\"},"
                   "\"min\":{\"cpu\":\"%d\",\"memory\":\"%dGi\"}}}",
                   max, max, min, min);
    fake_put(b->client.fake, QUOTAS, name, strbuf_str(&body));
}

/* more: further members of spec. */
static inline UNUSED void quota_pod(struct engine_fixture *b, const char *name, const char *quota,
                                    int cpu, const char *more)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"%s\":\"%s\"}},\"spec\":{\"schedulerName\":"
                   "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
                   "\"requests\":{\"cpu\":\"%d\",\"memory\":\"%dGi\"}}}]%s}}",
                   LABEL_QUOTA_NAME, quota, cpu, cpu, more);
    fake_put(b->client.fake, PODS, name, body);
}

/* args: of ElasticQuota, as JSON. A new engine, or one that gets a new configuration. */
static inline UNUSED void quota_engine_config(struct engine_fixture *b, const char *args,
                                              bool reload)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct profile_config c = profile_config_default(quota_table, "koord-scheduler", a);
    struct profile_args given = { "ElasticQuota", NULL };
    struct kerr err = { 0 };
    void *decoded = NULL;

    assert_int_equal(kj_parse(args, strlen(args), KJ_RAW_NUMBERS, &doc, &err), 0);
    if (args_decode(ks_plugin_elastic_quota.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &decoded, &err) < 0)
        fail_msg("%s", err.text);
    given.args = decoded;
    c.args = &given;
    c.nargs = 1;
    struct scheduler_opts o = { .plugins = quota_table, .profiles = &c, .nprofiles = 1 };
    if (!reload)
        engine_start_opts(b, 1, o);
    else if (scheduler_reload(b->s, &o, &err) < 0)
        fail_msg("%s", err.text);
}

/* One node with this many CPUs. */
static inline UNUSED void quota_start_args(struct engine_fixture *b, int cpus, const char *args)
{
    quota_engine_config(b, args, false);
    engine_node(b, "n1", cpus * 1000, cpus * 1024, 110, "");
    client_fixture_run(&b->client, 2 * SEC);
}

static inline UNUSED void quota_start(struct engine_fixture *b, int cpus)
{
    engine_start_with(b, 1, quota_table);
    engine_node(b, "n1", cpus * 1000, cpus * 1024, 110, "");
    client_fixture_run(&b->client, 2 * SEC);
}

static inline UNUSED uint64_t quota_attempts(const struct engine_fixture *b)
{
    return scheduler_stats(b->s).attempts;
}
#endif
