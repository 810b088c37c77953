/* dash_fixture.h - a cluster in the fake API server, for the tests of the room. */
#ifndef KOORD_DASH_TEST_DASH_FIXTURE_H
#define KOORD_DASH_TEST_DASH_FIXTURE_H
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/test/client_fixture.h"
#include "dash/dash.h"

#define NODES        "/api/v1/nodes"
#define METRICS      "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define SLOS         "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define JOBS         "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
#define EVENTS       "/api/v1/namespaces/default/events"
#define GI           (INT64_C(1) << 30)

/* 8 CPUs, 32Gi; 4 CPUs and 8Gi for batch. */
static inline void put_node(struct client_fixture *f, const char *name)
{
    fake_put(f->fake, NODES, name,
             "{\"status\":{\"capacity\":{\"cpu\":\"8\",\"memory\":\"32Gi\"},\"allocatable\":{"
             "\"cpu\":\"7500m\",\"memory\":\"30Gi\",\"kubernetes.io/batch-cpu\":\"4000\","
             "\"kubernetes.io/batch-memory\":\"8Gi\"},\"conditions\":[{\"type\":\"Ready\","
             "\"status\":\"True\"}]}}");
}

/* As of now: the node uses 3 CPUs and 9Gi; web/a (prod, LS) one CPU and 4Gi of them, job/b (batch,
 * BE) 500m and 1Gi. */
static inline void put_metric(struct client_fixture *f, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char at[KTIME_TEXT_MAX];

    ktime_format(loop_wall(f->loop), at);
    strbuf_appendf(&b,
                   "{\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{\"nodeUsage\":{\"resources\""
                   ":{\"cpu\":\"3\",\"memory\":\"9Gi\"}}},\"podsMetric\":["
                   "{\"namespace\":\"web\",\"name\":\"a\",\"priority\":\"koord-prod\",\"qos\":"
                   "\"LS\",\"podUsage\":{\"resources\":{\"cpu\":\"1\",\"memory\":\"4Gi\"}}},"
                   "{\"namespace\":\"job\",\"name\":\"b\",\"priority\":\"koord-batch\",\"qos\":"
                   "\"BE\",\"podUsage\":{\"resources\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}}]}}",
                   at);
    fake_put(f->fake, METRICS, name, strbuf_str(&b));
}

static inline void put_pod(struct client_fixture *f, const char *ns, const char *name,
                           const char *spec_and_status)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/api/v1/namespaces/%s/pods", ns);
    fake_put(f->fake, strbuf_str(&path), name, spec_and_status);
}

#define PROD_POD(node)                                                                        \
    "{\"spec\":{\"nodeName\":\"" node "\",\"priority\":9500,\"containers\":[{\"name\":\"c\"," \
    "\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"6Gi\"}}}]},"                     \
    "\"status\":{\"phase\":\"Running\"}}"
#define BATCH_POD(node)                                                                  \
    "{\"metadata\":{\"labels\":{\"koordinator.sh/"                                       \
    "qosClass\":\"BE\"}},\"spec\":{\"nodeName\":\"" node                                 \
    "\",\"priority\":5500,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" \
    "\"kubernetes.io/batch-cpu\":\"1500\",\"kubernetes.io/batch-memory\":\"2Gi\"}}}]},"  \
    "\"status\":{\"phase\":\"Running\"}}"
#define WAITING_POD(text)                                                                        \
    "{\"spec\":{\"priority\":9500,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" \
    "\"cpu\":\"64\"}}}]},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":"           \
    "\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"" text     \
    "\"}]}}"

/* Two nodes, of which the first reports; a service and a job on it, and a pod that waits. */
static inline void put_cluster(struct client_fixture *f)
{
    put_node(f, "n1");
    put_node(f, "n2");
    put_metric(f, "n1");
    put_pod(f, "web", "a", PROD_POD("n1"));
    put_pod(f, "job", "b", BATCH_POD("n1"));
    put_pod(f, "web", "c", WAITING_POD("0/2 nodes are available: 2 Insufficient cpu."));
}
#endif
