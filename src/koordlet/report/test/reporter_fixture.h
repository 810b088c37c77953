/* reporter_fixture.h - reporters on the virtual loop, against an API server that fails in the usual
 * ways. What is known is set by hand. */
#ifndef KOORD_KOORDLET_REPORT_TEST_REPORTER_FIXTURE_H
#define KOORD_KOORDLET_REPORT_TEST_REPORTER_FIXTURE_H
#include "client/test/client_fixture.h"

#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/report/report.h"
#include "net/http.h"
#include "sys/test/tmpdir.h"
#include "json/kj.h"

#define SECOND  NSEC_PER_SEC
#define METRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define NRTS    "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define DEVICES "/apis/scheduling.koordinator.sh/v1alpha1/devices"

/* ---- the fixture ----------------------------------------------------------------------------- */

struct fixture {
    struct client_fixture client;
    struct kj_scratch *scratch;
    struct metriccache *mc;
    struct metrics *metrics;
    struct host host;
    struct collect_env collect;
    struct cpu_info *cpu;
    struct numa_info *numa;
    struct koordlet_options o;
    struct report_env env;
    struct tmpdir dir;
    struct snapshots *snapshots;
    struct snapshot known;
    struct nodemetric nodemetric;
    struct kubelet_config kubelet;
    struct kobj *node;
    unsigned told; /* of another topology */
};

static inline UNUSED struct kobj *decode(struct fixture *b, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };
    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), b->scratch, &o, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

static inline UNUSED void set_node(struct fixture *b, const char *version, const char *annotations)
{
    CLEANUP(mem_free)
    char *json =
        xasprintf("{\"metadata\":{\"name\":\"n1\",\"uid\":\"u-1\",\"resourceVersion\":\"%s\","
                  "\"annotations\":{%s}}}",
                  version, annotations);
    kobj_unref(b->node);
    b->node = decode(b, &kind_node, json);
    b->known.node = node_of(b->node);
}

static inline UNUSED struct cpu_info *two_cpus(void)
{
    struct cpu_info *c = xnew0(struct cpu_info);
    c->refs = 1;
    c->cpus = xnewn0(2, struct cpu_place);
    c->n = 2;
    c->nnodes = 1;
    c->cpus[1] = (struct cpu_place){ .cpu = 1, .core = 1 };
    c->model = xstrdup("m");
    c->vendor = xstrdup("v");
    c->l3_mask = xstrdup("");
    return c;
}

static inline UNUSED struct numa_info *one_numa_node(void)
{
    struct numa_info *m = xnew0(struct numa_info);
    m->refs = 1;
    m->nodes = xnewn0(1, struct numa_info_node);
    m->nodes[0].mem_total_kb = 1024;
    m->n = 1;
    return m;
}

static inline void count_told(void *arg)
{
    ++*(unsigned *)arg;
}

static inline UNUSED void fixture_init(struct fixture *b)
{
    *b = (struct fixture){ 0 };
    b->kubelet = (struct kubelet_config){ .cpu_manager_policy = "none" };
    b->known = (struct snapshot){ .refs = 1,
                                  .nodemetric = &b->nodemetric,
                                  .kubelet = &b->kubelet,
                                  .policy = { .aggregate = 300 * SECOND,
                                              .report_interval = 60 * SECOND,
                                              .durations = { 300 * SECOND },
                                              .ndurations = 1 } };
    client_fixture_init(&b->client, 7);
    b->snapshots = snapshots_new(b->client.loop);
    snapshots_publish(b->snapshots, snapshot_ref(&b->known));
    snapshots_on(b->snapshots, STATES_TOPOLOGY, "test", count_told, &b->told);
    b->scratch = kj_scratch_new(b->client.strings);
    b->mc = metriccache_new();
    b->metrics = metrics_new();
    b->cpu = two_cpus();
    b->numa = one_numa_node();
    tmpdir_init(&b->dir);
    b->host.roots.var_lib_kubelet = b->dir.path;
    b->collect.cpu_info = b->cpu;
    b->collect.numa_info = b->numa;
    gates_init(&b->o.gates, koordlet_gates, KOORDLET_GATES);
    b->o.topology_interval = 3 * SECOND;
    b->env = (struct report_env){ .loop = b->client.loop,
                                  .kube = b->client.kube,
                                  .snapshots = b->snapshots,
                                  .mc = b->mc,
                                  .host = &b->host,
                                  .collect = &b->collect,
                                  .o = &b->o,
                                  .internal = b->metrics,
                                  .external = b->metrics,
                                  .node_name = "n1" };
    set_node(b, "1", "");
    b->known.pods = podset_new(xnewn0(1, struct npod *), 0);
}

static inline UNUSED void fixture_fini(struct fixture *b)
{
    tmpdir_fini(&b->dir);
    snapshots_free(b->snapshots);
    kobj_unref(b->node);
    podset_unref(b->known.pods);
    cpu_info_unref(b->cpu);
    numa_info_unref(b->numa);
    metriccache_free(b->mc);
    metrics_free(b->metrics);
    kj_scratch_free(b->scratch);
    client_fixture_fini(&b->client);
}

/* The collect policy is another one. */
static inline UNUSED void policy_changed(struct fixture *b)
{
    snapshots_tell(b->snapshots, STATES_POLICY);
    client_fixture_run(&b->client, 0);
}

static inline UNUSED void run(struct fixture *b, nsec_t by)
{
    client_fixture_run(&b->client, by);
}

static inline UNUSED struct kj_doc *stored(struct fixture *b, const char *collection)
{
    const char *json = fake_find(b->client.fake, collection, "n1");
    struct kj_doc *doc = NULL;
    if (json)
        assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    return doc;
}

static inline UNUSED const char *stored_text(struct fixture *b, const char *collection,
                                             const char *path, char *buf, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = stored(b, collection);
    (void)snprintf(buf, size, "%s", kj_str_or(kj_path(kj_root(doc), path), ""));
    return buf;
}
#endif
