/* podgen.c - see podgen.h. Text is built directly: the generator must not be what is measured. */
#include "podgen.h"

struct workload {
    const char *app, *team, *tier;
    const char *cpu, *memory, *cpu_limit, *memory_limit;
};

/* A few sizes, many names: as in real clusters. */
static const struct workload workloads[PODGEN_WORKLOADS] = {
    { "checkout", "payments", "backend", "500m", "1Gi", "1", "2Gi" },
    { "cart", "payments", "backend", "250m", "512Mi", "500m", "1Gi" },
    { "catalog", "search", "backend", "1", "2Gi", "2", "4Gi" },
    { "search-api", "search", "backend", "2", "4Gi", "4", "8Gi" },
    { "search-indexer", "search", "worker", "1", "4Gi", "2", "8Gi" },
    { "frontend", "web", "frontend", "200m", "256Mi", "1", "512Mi" },
    { "storefront", "web", "frontend", "250m", "384Mi", "1", "768Mi" },
    { "image-resizer", "web", "worker", "500m", "512Mi", "2", "1Gi" },
    { "user-profile", "identity", "backend", "300m", "640Mi", "600m", "1280Mi" },
    { "redis", "platform", "cache", "500m", "4Gi", "1", "4Gi" },
    { "login", "identity", "backend", "200m", "256Mi", "400m", "512Mi" },
    { "session", "identity", "backend", "100m", "128Mi", "200m", "256Mi" },
    { "recommender", "ml", "backend", "4", "8Gi", "4", "8Gi" },
    { "feature-store", "ml", "backend", "2", "8Gi", "4", "16Gi" },
    { "ranker", "ml", "backend", "4", "16Gi", "8", "16Gi" },
    { "etl-orders", "data", "batch", "1", "3Gi", "2", "6Gi" },
    { "etl-clicks", "data", "batch", "1", "3Gi", "2", "6Gi" },
    { "reporting", "data", "backend", "500m", "1Gi", "1", "2Gi" },
    { "mailer", "messaging", "worker", "100m", "256Mi", "200m", "512Mi" },
    { "kafka", "platform", "queue", "2", "8Gi", "4", "8Gi" },
    { "push", "messaging", "worker", "100m", "128Mi", "300m", "256Mi" },
    { "webhooks", "messaging", "backend", "200m", "256Mi", "500m", "512Mi" },
    { "inventory", "logistics", "backend", "500m", "1Gi", "1", "2Gi" },
    { "routing", "logistics", "backend", "1", "2Gi", "2", "3Gi" },
    { "tracking", "logistics", "backend", "300m", "512Mi", "600m", "1Gi" },
    { "pricing", "payments", "backend", "500m", "768Mi", "1", "1536Mi" },
    { "fraud", "payments", "backend", "1", "4Gi", "2", "6Gi" },
    { "ledger", "payments", "backend", "1", "2Gi", "2", "4Gi" },
    { "admin", "web", "frontend", "100m", "256Mi", "200m", "512Mi" },
    { "postgres", "platform", "database", "4", "16Gi", "8", "16Gi" },
};

struct shape { /* what of the optional parts this workload has */
    bool stateful, sidecar, init, affinity, spread;
};

static struct shape shape_of(unsigned w)
{
    return (struct shape){ .stateful = w % 10 == 9,
                           .sidecar = w % 6 == 3,
                           .init = w % 8 == 5,
                           .affinity = w % 7 == 2,
                           .spread = w % 5 == 1 };
}

/* Random-looking but fixed: the k-th word of pod i. */
static uint64_t word(unsigned i, unsigned k)
{
    uint64_t z = ((uint64_t)i << 8 | k) * UINT64_C(0x9E3779B97F4A7C15) + 0x1234567;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void append_hash(struct strbuf *out, uint64_t v, int n)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* as Kubernetes' rand.String */
    for (int i = 0; i < n; i++) {
        strbuf_appendc(out, letters[v % (sizeof letters - 1)]);
        v /= sizeof letters - 1;
    }
}

static void append_uid(struct strbuf *out, uint64_t a, uint64_t b)
{
    strbuf_appendf(out, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
                   (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
                   (unsigned long long)(b & 0xffffffffffff));
}

static void append_hex64(struct strbuf *out, unsigned i, unsigned k)
{
    for (unsigned j = 0; j < 4; j++)
        strbuf_appendf(out, "%016llx", (unsigned long long)word(i, k + j));
}

/* Seconds after the pod was made. */
static void append_time(struct strbuf *out, unsigned i, unsigned seconds)
{
    unsigned t = i % 80000 + seconds;
    strbuf_appendf(out, "\"2026-11-%02uT%02u:%02u:%02uZ\"", 1 + i % 14, t / 3600 % 24, t / 60 % 60,
                   t % 60);
}

static void append_replicaset(struct strbuf *out, const struct workload *w, unsigned wi)
{
    strbuf_appendf(out, "%s-", w->app);
    append_hash(out, word(wi, 200), 10);
}

static void append_pod_name(struct strbuf *out, unsigned i, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    if (shape_of(wi).stateful) {
        strbuf_appendf(out, "%s-%u", w->app, i / PODGEN_WORKLOADS);
        return;
    }
    append_replicaset(out, w, wi);
    strbuf_appendc(out, '-');
    /* Looks random, and is another for each of the first 27^5 pods. */
    append_hash(out, (uint64_t)(i / PODGEN_WORKLOADS) * 8675309 % 14348907, 5);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void append_labels(struct strbuf *out, unsigned i, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    strbuf_appendf(out,
                   "\"labels\":{\"app\":\"%s\",\"app.kubernetes.io/name\":\"%s\","
                   "\"app.kubernetes.io/part-of\":\"shop\",",
                   w->app, w->app);
    if (shape_of(wi).stateful)
        strbuf_appendf(out, "\"apps.kubernetes.io/pod-index\":\"%u\",", i / PODGEN_WORKLOADS);
    strbuf_appendf(out, "\"koordinator.sh/qosClass\":\"%s\",",
                   streq(w->tier, "batch") ? "BE" : "LS");
    if (shape_of(wi).stateful) {
        strbuf_append(out, "\"controller-revision-hash\":\"");
        append_replicaset(out, w, wi);
        strbuf_append(out, "\",\"statefulset.kubernetes.io/pod-name\":\"");
        append_pod_name(out, i, wi);
        strbuf_append(out, "\",");
    } else {
        strbuf_append(out, "\"pod-template-hash\":\"");
        append_hash(out, word(wi, 200), 10);
        strbuf_append(out, "\",");
    }
    strbuf_appendf(out, "\"team\":\"%s\",\"tier\":\"%s\"},", w->team, w->tier);
}

static void append_owner(struct strbuf *out, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    bool stateful = shape_of(wi).stateful;
    strbuf_appendf(out,
                   "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\",\"name\":\"",
                   stateful ? "StatefulSet" : "ReplicaSet");
    if (stateful)
        strbuf_append(out, w->app);
    else
        append_replicaset(out, w, wi);
    strbuf_append(out, "\",\"uid\":\"");
    append_uid(out, word(wi, 201), word(wi, 202));
    strbuf_append(out, "\",\"controller\":true,\"blockOwnerDeletion\":true}],");
}

static void append_managed_fields(struct strbuf *out, unsigned i, bool running)
{
    strbuf_append(out, "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":"
                       "\"Update\",\"apiVersion\":\"v1\",\"time\":");
    append_time(out, i, 0);
    strbuf_append(
        out,
        ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{\".\":{},"
        "\"f:checksum/config\":{}},\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},"
        "\"f:team\":{}},\"f:ownerReferences\":{}},\"f:spec\":{\"f:containers\":{"
        "\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{},\"f:env\":{},\"f:image\":{},\"f:name\":{},"
        "\"f:ports\":{},\"f:resources\":{}}},\"f:restartPolicy\":{},\"f:schedulerName\":{}}}}");
    if (running) {
        strbuf_append(out,
                      ",{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
                      "\"time\":");
        append_time(out, i, 9);
        strbuf_append(out,
                      ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:conditions\":{"
                      "\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:status\":{}}},"
                      "\"f:containerStatuses\":{},\"f:hostIP\":{},\"f:phase\":{},\"f:podIP\":{},"
                      "\"f:startTime\":{}}},\"subresource\":\"status\"}");
    }
    strbuf_append(out, "]");
}

static void append_metadata(struct strbuf *out, unsigned i, unsigned wi, bool running)
{
    const struct workload *w = &workloads[wi];
    strbuf_append(out, "\"metadata\":{\"name\":\"");
    append_pod_name(out, i, wi);
    strbuf_append(out, "\",\"generateName\":\"");
    if (shape_of(wi).stateful)
        strbuf_append(out, w->app);
    else
        append_replicaset(out, w, wi);
    strbuf_appendf(out, "-\",\"namespace\":\"%s\",\"uid\":\"", w->team);
    append_uid(out, word(i, 2), word(i, 3));
    strbuf_appendf(out, "\",\"resourceVersion\":\"%u\",\"generation\":1,\"creationTimestamp\":",
                   100000000 + i * 7);
    append_time(out, i, 0);
    strbuf_append(out, ",");
    append_labels(out, i, wi);
    strbuf_appendf(out,
                   "\"annotations\":{\"checksum/config\":\"%016llx%016llx\","
                   "\"prometheus.io/port\":\"9090\",\"prometheus.io/scrape\":\"true\"},",
                   (unsigned long long)word(wi, 203), (unsigned long long)word(wi, 204));
    append_owner(out, wi);
    append_managed_fields(out, i, running);
    strbuf_append(out, "},");
}

/* ---- spec ------------------------------------------------------------------------------------ */

static void append_volumes(struct strbuf *out, unsigned i, unsigned wi)
{
    strbuf_append(out, "\"volumes\":[");
    if (shape_of(wi).stateful) {
        strbuf_append(out, "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data-");
        append_pod_name(out, i, wi);
        strbuf_append(out, "\"}},");
    }
    strbuf_appendf(
        out,
        "{\"name\":\"config\",\"configMap\":{\"name\":\"%s-config\",\"defaultMode\":420}},"
        "{\"name\":\"tmp\",\"emptyDir\":{}},{\"name\":\"kube-api-access-",
        workloads[wi].app);
    append_hash(out, word(i, 4), 5);
    strbuf_append(out,
                  "\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
                  "\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{\"name\":"
                  "\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},"
                  "{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{"
                  "\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],"
                  "\"defaultMode\":420}}],");
}

static void append_resources(struct strbuf *out, const struct workload *w)
{
    strbuf_appendf(out,
                   "{\"limits\":{\"cpu\":\"%s\",\"memory\":\"%s\"},"
                   "\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"}}",
                   w->cpu_limit, w->memory_limit, w->cpu, w->memory);
}

static void append_mounts(struct strbuf *out, unsigned i)
{
    strbuf_append(out, "\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/app\"},"
                       "{\"name\":\"tmp\",\"mountPath\":\"/tmp\"},{\"name\":\"kube-api-access-");
    append_hash(out, word(i, 4), 5);
    strbuf_append(out,
                  "\",\"readOnly\":true,\"mountPath\":"
                  "\"/var/run/secrets/kubernetes.io/serviceaccount\"}],"
                  "\"terminationMessagePath\":\"/dev/termination-log\","
                  "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"");
}

static const struct workload sidecar = { "", "", "", "50m", "64Mi", "200m", "128Mi" };

static void append_small_container(struct strbuf *out, unsigned i, const char *name,
                                   const char *image)
{
    strbuf_appendf(out, "{\"name\":\"%s\",\"image\":\"%s\",\"resources\":", name, image);
    append_resources(out, &sidecar);
    strbuf_append(out, ",");
    append_mounts(out, i);
    strbuf_append(out, "}");
}

static void append_containers(struct strbuf *out, unsigned i, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    if (shape_of(wi).init) {
        strbuf_append(out, "\"initContainers\":[");
        append_small_container(out, i, "migrate", "registry.example.com/tools/migrate:v2.1.0");
        strbuf_append(out, "],");
    }
    strbuf_appendf(
        out,
        "\"containers\":[{\"name\":\"app\",\"image\":\"registry.example.com/%s/%s:v1.%u.0\","
        "\"args\":[\"serve\",\"--config=/etc/app/config.yaml\"],\"ports\":[{\"name\":"
        "\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"},{\"name\":\"metrics\","
        "\"containerPort\":9090,\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"DB_HOST\","
        "\"value\":\"%s-db.%s.svc.cluster.local\"},{\"name\":\"POD_NAME\",\"valueFrom\":{"
        "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}},"
        "{\"name\":\"LOG_LEVEL\",\"value\":\"info\"}],\"resources\":",
        w->team, w->app, wi + 3, w->app, w->team);
    append_resources(out, w);
    strbuf_append(out, ",\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":8080},"
                       "\"periodSeconds\":10},");
    append_mounts(out, i);
    strbuf_append(out, "}");
    if (shape_of(wi).sidecar) {
        strbuf_append(out, ",");
        append_small_container(out, i, "proxy", "registry.example.com/mesh/proxy:v1.22.3");
    }
    strbuf_append(out, "],");
}

static void append_placement(struct strbuf *out, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    if (shape_of(wi).affinity)
        strbuf_appendf(out,
                       "\"affinity\":{\"podAntiAffinity\":{"
                       "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":100,"
                       "\"podAffinityTerm\":{\"labelSelector\":{\"matchLabels\":{\"app\":\"%s\"}},"
                       "\"topologyKey\":\"kubernetes.io/hostname\"}}]}},",
                       w->app);
    if (shape_of(wi).spread)
        strbuf_appendf(out,
                       "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
                       "\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\","
                       "\"labelSelector\":{\"matchLabels\":{\"app\":\"%s\"}}}],",
                       w->app);
}

static void append_spec(struct strbuf *out, unsigned i, unsigned wi, bool running)
{
    const char *class = streq(workloads[wi].tier, "batch") ? "koord-batch" : "koord-prod";
    int priority = streq(workloads[wi].tier, "batch") ? 5500 : 9500;
    strbuf_append(out, "\"spec\":{");
    append_volumes(out, i, wi);
    append_containers(out, i, wi);
    strbuf_append(out, "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
                       "\"dnsPolicy\":\"ClusterFirst\",");
    strbuf_appendf(out, "\"serviceAccountName\":\"%s\",\"serviceAccount\":\"%s\",",
                   workloads[wi].app, workloads[wi].app);
    if (running)
        strbuf_appendf(out, "\"nodeName\":\"node-%04u.example.com\",", i % PODGEN_NODES);
    strbuf_append(out, "\"securityContext\":{\"runAsNonRoot\":true,\"fsGroup\":1000},");
    append_placement(out, wi);
    strbuf_appendf(
        out,
        "\"schedulerName\":\"koord-scheduler\",\"tolerations\":[{\"key\":"
        "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
        "\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/unreachable\","
        "\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],"
        "\"priorityClassName\":\"%s\",\"priority\":%d,\"enableServiceLinks\":true,"
        "\"preemptionPolicy\":\"PreemptLowerPriority\"},",
        class, priority);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void append_condition(struct strbuf *out, unsigned i, const char *type, unsigned seconds)
{
    strbuf_appendf(out,
                   "{\"type\":\"%s\",\"observedGeneration\":1,\"status\":\"True\","
                   "\"lastProbeTime\":null,\"lastTransitionTime\":",
                   type);
    append_time(out, i, seconds);
    strbuf_append(out, "}");
}

static void append_container_status(struct strbuf *out, unsigned i, unsigned k, const char *name,
                                    const char *image, const struct workload *size)
{
    strbuf_appendf(out, "{\"name\":\"%s\",\"state\":{\"running\":{\"startedAt\":", name);
    append_time(out, i, 6 + k);
    strbuf_appendf(out,
                   "}},\"lastState\":{},\"ready\":true,\"restartCount\":%u,\"image\":\"%s\","
                   "\"imageID\":\"%s@sha256:",
                   (unsigned)(word(i, 5) % 40 == 0), image, image);
    append_hex64(out, k, 30);
    strbuf_append(out, "\",\"containerID\":\"containerd://");
    append_hex64(out, i, 40 + 8 * k);
    strbuf_appendf(out,
                   "\",\"started\":true,\"allocatedResources\":{\"cpu\":\"%s\",\"memory\":\"%s\"},"
                   "\"resources\":",
                   size->cpu, size->memory);
    append_resources(out, size);
    strbuf_append(out, "}");
}

static void append_status(struct strbuf *out, unsigned i, unsigned wi)
{
    const struct workload *w = &workloads[wi];
    static const char *const types[] = { "PodReadyToStartContainers", "Initialized", "Ready",
                                         "ContainersReady", "PodScheduled" };
    strbuf_append(out,
                  "\"status\":{\"observedGeneration\":1,\"phase\":\"Running\",\"conditions\":[");
    for (unsigned k = 0; k < ARRAY_LEN(types); k++) {
        strbuf_append(out, k ? "," : "");
        append_condition(out, i, types[k], k == 4 ? 0 : 2 * k);
    }
    strbuf_appendf(out,
                   "],\"hostIP\":\"10.%u.%u.%u\",\"podIP\":\"10.%u.%u.%u\",\"podIPs\":[{\"ip\":"
                   "\"10.%u.%u.%u\"}],\"startTime\":",
                   1u, i % PODGEN_NODES / 250, i % 250, 64 + i / 65536, i / 256 % 256, i % 256,
                   64 + i / 65536, i / 256 % 256, i % 256);
    append_time(out, i, 1);
    strbuf_append(out, ",\"containerStatuses\":[");
    append_container_status(out, i, 0, "app", "registry.example.com/app", w);
    if (shape_of(wi).sidecar) {
        strbuf_append(out, ",");
        append_container_status(out, i, 1, "proxy", "registry.example.com/mesh/proxy:v1.22.3",
                                &sidecar);
    }
    strbuf_append(out, "],\"qosClass\":\"Burstable\"}");
}

static void append_pod(struct strbuf *out, unsigned i, bool running)
{
    unsigned wi = i % PODGEN_WORKLOADS;
    strbuf_append(out, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",");
    append_metadata(out, i, wi, running);
    append_spec(out, i, wi, running);
    if (running)
        append_status(out, i, wi);
    else
        strbuf_append(out, "\"status\":{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"}");
    strbuf_append(out, "}");
}

void podgen_json(struct strbuf *out, unsigned i)
{
    append_pod(out, i, true);
}

void podgen_pending_json(struct strbuf *out, unsigned i)
{
    append_pod(out, i, false);
}
