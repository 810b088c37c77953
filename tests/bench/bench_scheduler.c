/* bench_scheduler.c - how fast the scheduler decides, alone: no API server, no sockets, no JSON
 * while it works (scheduler-core 12).
 *
 *     bench_scheduler [WORKLOAD [NODES PODS]]
 *
 * One line a workload: its name, nodes, pods measured, pods per second, microseconds of CPU a pod,
 * peak memory, upstream's threshold (0: it has no such workload), share of attempts that reused
 * something. Workloads have the names of scheduler_perf.
 */
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "memkube.h"

#include "base/intern.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

#define ANTI(kind, rest) ",'affinity':{'" kind "':{" rest "}}"
#define TERM(key, more) \
    "{'labelSelector':{'matchLabels':{'color':'x'}},'topologyKey':'" key "'" more "}"
#define REQUIRED(key, more) "'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(key, more) "]"
#define PREFERRED(key, more)                                                                  \
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,'podAffinityTerm':" TERM( \
        key, more) "}]"
#define HOST   "kubernetes.io/hostname"
#define ZONE   "topology.kubernetes.io/zone"
#define ALL_NS ",'namespaceSelector':{'matchLabels':{'team':'devops'}}"
#define SPREAD(when)                                                  \
    ",'topologySpreadConstraints':[{'maxSkew':5,'topologyKey':'" ZONE \
    "','whenUnsatisfiable':'" when "','labelSelector':{'matchLabels':{'color':'x'}}}]"
#define IN_ZONES                                                                             \
    ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"        \
    "'nodeSelectorTerms':[{'matchExpressions':[{'key':'" ZONE "','operator':'In','values':[" \
    "'zone1','zone2']}]}]}}}"

enum churn { CHURN_NONE, CHURN_BIG, CHURN_HIGH, CHURN_MIXED };
struct workload {
    const char *name;
    int nodes, init, pods, threshold; /* threshold: of upstream's CI, its API server included */
    const char *init_spec, *spec;     /* further members of the pods' specs */
    int namespaces;                   /* init pods spread over so many; the others have their own */
    int zones;                        /* 0: no zone label */
    int tainted;                      /* so many of the nodes */
    const char *init_cpu;             /* NULL: 100m */
    const char *volume;               /* a volume's source, bound to a claim of each pod */
    int local;                        /* volumes on each node, free for the pods' claims */
    bool daemon;                      /* each pod names its node by field */
    int gated;                        /* so many more, as the init pods, wait for a gate for ever */
    bool leave;                       /* for each pod that is placed an init pod is deleted */
    bool mixed;                       /* init pods of five kinds */
    bool running;                     /* 30 pods on each node before */
    bool load;                        /* LoadAwareScheduling, and nodes that report */
    int waiting;                      /* so many pods wait for load to fall */
    enum churn churn;
    int reserved;      /* Available Reservations, one a node; of 20 applications in turn */
    bool once;         /* each is for one pod; otherwise a pod has half of it */
    int owners;        /* so many of the pods own them, evenly among the others */
    bool updates;      /* every 100 pods a Reservation and a node change */
    bool all_own;      /* all pods are of one application, and so are the Reservations */
    bool idle;         /* Reservations come, and then nothing happens: what does each cost? */
    int quotas;        /* pods belong to so many ElasticQuotas in turn, which have room for all */
    bool quota_plugin; /* ElasticQuota is there */
};
static const struct workload workloads[] = {
    { "SchedulingBasic", 5000, 1000, 10000, 270, "", "" },
    { "SchedulingDaemonset", 15000, 0, 30000, 390, "", "", .daemon = true },
    { "Unschedulable", 5000, 100, 10000, 170, "", "", .churn = CHURN_BIG },
    { "PreemptionAsync", 5000, 20000, 5000, 160, "", "", .init_cpu = "900m", .churn = CHURN_HIGH },
    { "SchedulingWithMixedChurn", 5000, 0, 10000, 265, "", "", .churn = CHURN_MIXED },
    { "SchedulingWhileGated", 1, 20000, 20000, 130, "", "", .gated = 10000, .leave = true },
    { "SchedulingGatedPodsWithPodAffinityImpactForThroughput", 1, 0, 20000, 110,
      ANTI("podAffinity", REQUIRED(ZONE, "")), "", .gated = 10000, .zones = 1 },
    { "MixedSchedulingBasePod", 5000, 10000, 5000, 140, "", "", .mixed = true, .zones = 1 },
    { "SchedulingWithNodeInclusionPolicy", 5000, 0, 4000, 68, "",
      ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'" HOST "','whenUnsatisfiable':"
      "'DoNotSchedule','nodeTaintsPolicy':'Honor','labelSelector':{'matchLabels':{'color':'x'}}}]",
      .tainted = 1000 },
    { "SchedulingInTreePVs", 5000, 1000, 2000, 90, "", "",
      .volume = "'awsElasticBlockStore':{'volumeID':'%s'}" },
    { "SchedulingMigratedInTreePVs", 5000, 5000, 5000, 35, "", "",
      .volume = "'awsElasticBlockStore':{'volumeID':'%s'}" },
    { "SchedulingCSIPVs", 5000, 5000, 5000, 48, "", "",
      .volume = "'csi':{'driver':'ebs.csi.aws.com','volumeHandle':'%s'}" },
    { "SchedulingLocalPVs", 5000, 0, 10000, 0, "", "", .local = 4 },
    { "SchedulingPodAntiAffinity", 5000, 1000, 2000, 60,
      ANTI("podAntiAffinity", REQUIRED(HOST, "")), ANTI("podAntiAffinity", REQUIRED(HOST, "")) },
    { "SchedulingPodAffinity", 5000, 5000, 5000, 35, ANTI("podAffinity", REQUIRED(ZONE, "")),
      ANTI("podAffinity", REQUIRED(ZONE, "")), .zones = 1 },
    { "SchedulingPreferredPodAffinity", 5000, 5000, 5000, 90,
      ANTI("podAffinity", PREFERRED(HOST, "")), ANTI("podAffinity", PREFERRED(HOST, "")) },
    { "SchedulingPreferredPodAntiAffinity", 5000, 5000, 5000, 90,
      ANTI("podAntiAffinity", PREFERRED(HOST, "")), ANTI("podAntiAffinity", PREFERRED(HOST, "")) },
    { "SchedulingNodeAffinity", 5000, 5000, 10000, 220, IN_ZONES, IN_ZONES, .zones = 1 },
    { "SchedulingRequiredPodAntiAffinityWithNSSelector", 6000, 4000, 2000, 24,
      ANTI("podAntiAffinity", REQUIRED(HOST, ALL_NS)),
      ANTI("podAntiAffinity", REQUIRED(HOST, ALL_NS)), .namespaces = 100 },
    { "SchedulingPreferredAntiAffinityWithNSSelector", 5000, 4000, 2000, 55,
      ANTI("podAntiAffinity", PREFERRED(HOST, ALL_NS)),
      ANTI("podAntiAffinity", PREFERRED(HOST, ALL_NS)), .namespaces = 100 },
    { "SchedulingRequiredPodAffinityWithNSSelector", 5000, 5000, 2000, 35,
      ANTI("podAffinity", REQUIRED(ZONE, ALL_NS)), ANTI("podAffinity", REQUIRED(ZONE, ALL_NS)),
      .namespaces = 100, .zones = 1 },
    { "SchedulingPreferredAffinityWithNSSelector", 5000, 5000, 5000, 90,
      ANTI("podAffinity", PREFERRED(HOST, ALL_NS)), ANTI("podAffinity", PREFERRED(HOST, ALL_NS)),
      .namespaces = 100 },
    { "TopologySpreading", 5000, 5000, 5000, 85, "", SPREAD("DoNotSchedule"), .zones = 3 },
    { "PreferredTopologySpreading", 5000, 5000, 5000, 125, "", SPREAD("ScheduleAnyway"),
      .zones = 3 },
    { "ReservationsOfOthers", 5000, 1000, 10000, 0, "", "", .reserved = 1000 },
    { "ReservationsOfOthersChanging", 5000, 1000, 10000, 0, "", "", .reserved = 1000,
      .updates = true },
    { "ReservationsOwned", 5000, 1000, 10000, 0, "", "", .reserved = 2000, .once = true,
      .owners = 2000 },
    { "ReservationsOwnedChanging", 5000, 1000, 10000, 0, "", "", .reserved = 2000, .once = true,
      .owners = 2000, .updates = true },
    { "ReservationsAllMatch", 1024, 0, 100, 0, "", "", .reserved = 1024, .owners = 100,
      .all_own = true },
    { "ReservationsIdle", 5000, 0, 0, 0, "", "", .reserved = 10000, .once = true, .idle = true },
    { "QuotasNone", 5000, 1000, 10000, 0, "", "", .quotas = 100 },
    { "Quotas", 5000, 1000, 10000, 0, "", "", .quota_plugin = true, .quotas = 100 },
    { "SchedulingSecrets", 5000, 1000, 10000, 260, ",'volumes':[{'name':'s','secret':{}}]",
      ",'volumes':[{'name':'s','secret':{}}]" },
    /* Ours: a NodeMetric of 30 pods after every 12 pods that are placed. */
    { "SchedulingBesideRunningPods", 5000, 1000, 10000, 0, "", "", .running = true },
    { "LoadAware", 5000, 1000, 10000, 0, "", "", .running = true, .load = true },
    { "LoadAwareBesideWaitingPods", 5000, 1000, 10000, 0, "", "", .running = true, .load = true,
      .waiting = 2000 },
};
/* As many as one minute of 5,000 nodes has at the rate at which an API server binds. */
enum { PODS_PER_REPORT = 12, REPORTED_PODS = 30, REPORTS = 2000, WAITING_SHAPES = 50 };

struct bench {
    const struct workload *w;
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    int nodes, init, pods, made, left;
    uint64_t bound, want; /* bindings of pods that count */
    struct timer *churn;
    int churned, changed;
    struct kj_doc **reports; /* [REPORTS], in the order in which they come */
    int reported;
    size_t waiting; /* pods that found no node, and are to wait before the measurement begins */
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

/* The text with one word in the place of another. */
static char *replace(const char *text, const char *word, const char *with)
{
    const char *at = strstr(text, word);
    return at ? xasprintf("%.*s%s%s", (int)(at - text), text, with, at + strlen(word))
              : xstrdup(text);
}

static void add_nodes(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    for (int i = 0; i < b->nodes; i++) {
        strbuf_reset(&t);
        strbuf_appendf(
            &t,
            "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{'" HOST
            "':'node-%d'",
            i, i, i);
        if (b->w->zones)
            strbuf_appendf(&t, ",'" ZONE "':'zone%d'", i % b->w->zones + 1);
        strbuf_append(&t, "}}");
        if (i < b->w->tainted)
            strbuf_append(&t, ",'spec':{'taints':[{'key':'foo','effect':'NoSchedule'}]}");
        bool one = b->w->daemon || b->nodes == 1; /* room for all on one */
        strbuf_appendf(&t, ",'status':{'allocatable':{'cpu':'%d','memory':'%dGi','pods':'%d'}}}",
                       one ? 90000 : 4, one ? 90000 : 32, one ? 90000 : 110);
        memkube_add(b->kube, "nodes", quoted(&t));
    }
}

/* ---- reservations ---------------------------------------------------------------------------- */

enum { APPLICATIONS = 20 };

/* Every so many-th of the measured pods is an owner. */
static int application_of(const struct bench *b, int i)
{
    int every = b->w->owners ? b->pods / b->w->owners : 0;

    if (!every || i < b->init || (i - b->init) % every)
        return -1;
    int per = MAX(b->w->owners / APPLICATIONS, 1); /* one application after the other grows */
    return b->w->all_own ? 0 : (i - b->init) / every / per % APPLICATIONS;
}

static const char *reservation_text(const struct bench *b, int i, int version)
{
    static struct strbuf t;
    int app = b->w->all_own ? 0 : i % APPLICATIONS;

    strbuf_reset(&t);
    strbuf_appendf(
        &t,
        "{'metadata':{'name':'r-%d','uid':'00000000-0000-4000-9000-%012d','resourceVersion':'%d',"
        "'labels':{'version':'%d'}},'spec':{'ttl':'0s','allocateOnce':%s,'owners':[{'labelSelector'"
        ":{'matchLabels':{'app':'%s%d'}}}],'template':{'spec':{'schedulerName':'koord-scheduler',"
        "'containers':[{'name':'c','resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]}}},"
        "'status':{'phase':'Available','nodeName':'node-%d','allocatable':{'cpu':'1','memory':"
        "'1Gi'}}}",
        i, i, version, version, b->w->once ? "true" : "false", b->w->owners ? "a" : "none", app,
        i % b->nodes);
    return quoted(&t);
}

static void add_reservations(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    for (int i = 0; i < b->w->reserved; i++)
        memkube_add(b->kube, "reservations", reservation_text(b, i, 1));
    for (int i = 0; !b->w->once && !b->w->all_own && i < b->w->reserved; i++) {
        strbuf_reset(&t);
        strbuf_appendf(
            &t,
            "{'metadata':{'name':'owner-%d','namespace':'default','uid':'00000000-0000-4000-a000-"
            "%012d','resourceVersion':'1','annotations':{'scheduling.koordinator.sh/"
            "reservation-allocated':'{\\'name\\':\\'r-%d\\',\\'uid\\':\\'00000000-0000-4000-9000-"
            "%012d\\'}'}},'spec':{'nodeName':'node-%d','containers':[{'name':'c','resources':{"
            "'requests':{'cpu':'500m','memory':'512Mi'}}}]},'status':{'phase':'Running'}}",
            i, i, i, i, i % b->nodes);
        memkube_add(b->kube, "pods", quoted(&t));
    }
}

/* One of each, as controllers and kubelets do all the time. */
static void update_some(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    int i = b->changed++;

    memkube_push(b->kube, "reservations", KUBE_MODIFIED,
                 reservation_text(b, i * 7 % b->w->reserved, 2 + i));
    strbuf_appendf(
        &t,
        "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'%d','labels':{'" HOST
        "':'node-%d','changed':'%d'}},'status':{'allocatable':{'cpu':'4','memory':"
        "'32Gi','pods':'110'}}}",
        i * 13 % b->nodes, i * 13 % b->nodes, 2 + i, i * 13 % b->nodes, i);
    memkube_push(b->kube, "nodes", KUBE_MODIFIED, quoted(&t));
}

/* ---- quotas ---------------------------------------------------------------------------------- */

#define QUOTA_LABEL "quota.scheduling.koordinator.sh/"

/* Ten departments, and the quotas of pods below them. */
static void add_quotas(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    for (int i = -10; b->w->quota_plugin && i < b->w->quotas; i++) {
        char name[32], parent[32];
        (void)snprintf(name, sizeof name, i < 0 ? "dept%d" : "q-%d", i);
        (void)snprintf(parent, sizeof parent, "dept-%d", i % 10 + 1);
        strbuf_reset(&t);
        strbuf_appendf(
            &t,
            "{'metadata':{'name':'%s','namespace':'default','uid':'%s',"
            "'resourceVersion':'1','labels':{'" QUOTA_LABEL "is-parent':'%s','" QUOTA_LABEL
            "parent':'%s'}},'spec':{'min':{'cpu':'10','memory':'10Gi'},"
            "'max':{'cpu':'100000','memory':'100000Gi'}}}",
            name, name, i < 0 ? "true" : "false", i < 0 ? "koordinator-root-quota" : parent);
        memkube_add(b->kube, "elasticquotas", quoted(&t));
    }
}

/* What the text of a pod is; valid until the next. */
static const char *pod_text(struct bench *b, const char *ns, const char *spec, const char *cpu)
{
    static struct strbuf t;
    char app[80] = "";
    int i = b->made++, owner = application_of(b, i);

    if (owner >= 0)
        (void)snprintf(app, sizeof app, ",'app':'a%d'", owner);
    if (b->w->quotas)
        (void)snprintf(app, sizeof app, ",'" QUOTA_LABEL "name':'q-%d'", i % b->w->quotas);

    strbuf_reset(&t);
    strbuf_appendf(
        &t,
        "{'metadata':{'name':'pod-%d','namespace':'%s','uid':"
        "'00000000-0000-4000-8000-%012d','resourceVersion':'1','labels':{'color':'x'%s}},"
        "'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','image':"
        "'registry.k8s.io/pause:3.10','resources':{'requests':{'cpu':'%s','memory':"
        "'500Mi'}}}]%s",
        i, ns, i, app, cpu, spec);
    if (b->w->volume || b->w->local)
        strbuf_appendf(&t, ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c-%d'}}]",
                       i);
    if (b->w->daemon)
        strbuf_appendf(
            &t,
            ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
            ":{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In'"
            ",'values':['node-%d']}]}]}}}",
            i % b->nodes);
    strbuf_append(&t, "},'status':{'phase':'Pending'}}");
    return quoted(&t);
}

static void add_namespaces(struct bench *b)
{
    char text[160];
    for (int i = 0; i < b->w->namespaces; i++) {
        (void)snprintf(
            text, sizeof text,
            "{\"metadata\":{\"name\":\"ns-%d\",\"uid\":\"s%d\",\"resourceVersion\":\"1\","
            "\"labels\":{\"team\":\"devops\"}}}",
            i, i);
        memkube_add(b->kube, "namespaces", text);
    }
}

/* The pods that are measured are in a namespace of their own. */
static void ns_of(const struct bench *b, int i, bool measured, char *buf, size_t size)
{
    if (b->w->namespaces)
        (void)snprintf(buf, size, "ns-%d", measured ? b->w->namespaces : i % b->w->namespaces);
    else
        (void)snprintf(buf, size, "default");
}

/* The next of the init pods goes. */
static void leave(struct bench *b)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"name\":\"pod-%d\",\"namespace\":\"default\",\"uid\":"
                   "\"00000000-0000-4000-8000-%012d\",\"resourceVersion\":\"2\"}}",
                   b->left, b->left);
    b->left++;
    memkube_push(b->kube, "pods", KUBE_DELETED, text);
}

/* ---- nodes that report their load ------------------------------------------------------------ */

/* 57% of the CPU is used: room for three pods of these workloads, not for one that waits. */
static const char *report_text(const struct bench *b, int i, int revision, struct strbuf *t)
{
    char at[KTIME_TEXT_MAX];

    ktime_format(loop_wall(b->loop), at);
    strbuf_reset(t);
    strbuf_appendf(t,
                   "{'metadata':{'name':'node-%d','uid':'m%d','resourceVersion':'%d'},'status':{"
                   "'updateTime':'%s','nodeMetric':{'nodeUsage':{'resources':{'cpu':'%dm','memory':"
                   "'8Gi'}}},'podsMetric':[",
                   i, i, revision, at, 2280 + revision % 20);
    for (int k = 0; k < REPORTED_PODS; k++)
        strbuf_appendf(t,
                       "%s{'namespace':'default','name':'old-%d-%d','priority':'koord-prod',"
                       "'podUsage':{'resources':{'cpu':'%dm','memory':'200Mi'}}}",
                       k ? "," : "", i, k, 60 + k);
    strbuf_append(t, "]}}");
    return quoted(t);
}

static void add_reports(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    for (int i = 0; i < b->nodes; i++) {
        if (b->w->load)
            memkube_add(b->kube, "nodemetrics", report_text(b, i, 1, &t));
        for (int k = 0; b->w->running && k < REPORTED_PODS; k++) {
            strbuf_reset(&t);
            strbuf_appendf(&t,
                           "{'metadata':{'name':'old-%d-%d','namespace':'default','uid':"
                           "'00000000-0000-4000-9000-%012d','resourceVersion':'1'},'spec':{"
                           "'nodeName':'node-%d','containers':[{'name':'c','resources':{'requests':"
                           "{'cpu':'100m','memory':'500Mi'}}}]},'status':{'phase':'Running',"
                           "'conditions':[{'type':'PodScheduled','status':'True',"
                           "'lastTransitionTime':'2025-01-01T00:00:00Z'}]}}",
                           i, k, i * REPORTED_PODS + k, i);
            memkube_add(b->kube, "pods", quoted(&t));
        }
    }
    b->reports = xnewn0(REPORTS, struct kj_doc *);
    for (int i = 0; b->w->load && i < REPORTS; i++) {
        const char *text =
            report_text(b, (int)((uint32_t)i * 2654435761u % (uint32_t)b->nodes), i + 2, &t);
        if (kj_parse(text, strlen(text), 0, &b->reports[i], NULL) < 0)
            abort();
    }
}

static void free_reports(struct bench *b)
{
    for (int i = 0; i < REPORTS; i++)
        kj_doc_free(b->reports[i]);
    free(b->reports);
}

static void add_waiting(struct bench *b)
{
    char cpu[16];

    b->waiting = (size_t)b->w->waiting;
    for (int i = 0; i < b->w->waiting; i++) {
        (void)snprintf(cpu, sizeof cpu, "%dm", 600 + i % WAITING_SHAPES);
        memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, "default", "", cpu));
    }
}

static void report(struct bench *b)
{
    if (b->bound % PODS_PER_REPORT == 0 && b->reported < REPORTS)
        memkube_push_read(b->kube, "nodemetrics", KUBE_MODIFIED,
                          kj_root(b->reports[b->reported++]));
}

/* The registry, with this plugin among the default ones. */
static const struct ks_registered *table_with_load(void)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0;

    for (; ks_registry[n].plugin; n++) {
        all[n] = ks_registry[n];
        if (streq(all[n].plugin->name, "LoadAwareScheduling"))
            all[n] = (struct ks_registered){ all[n].plugin, 1, true };
    }
    all[n] = (struct ks_registered){ NULL, 0, false };
    return all;
}

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;
    (void)pod;
    if (b->w->load && b->want)
        report(b);
    if (b->w->leave && b->want && b->left < b->init)
        leave(b);
    if (b->w->updates && b->want && b->bound % 100 == 0)
        update_some(b);
    if (++b->bound == b->want && b->want > (uint64_t)b->init)
        loop_stop(b->loop);
}

/* What scheduler_perf calls churn: something comes that no node has room for, or that must make
 * room; or a node, a pod and a service come and go. */
static void on_churn(struct loop *l, void *arg)
{
    struct bench *b = arg;
    enum churn c = b->w->churn;
    char text[320];

    b->churn = loop_after(l, (c == CHURN_MIXED ? 1000 : 200) * NSEC_PER_MSEC, on_churn, b);
    b->churned++;
    memkube_push(b->kube, "pods", KUBE_ADDED,
                 pod_text(b, "default", ",'priority':10", c == CHURN_HIGH ? "3" : "9"));
    if (c != CHURN_MIXED)
        return;
    (void)snprintf(
        text, sizeof text,
        "{\"metadata\":{\"name\":\"churn\",\"uid\":\"churn\",\"resourceVersion\":\"%d\"},"
        "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"32Gi\",\"pods\":\"110\"}}}",
        b->churned + 1);
    memkube_push(b->kube, "nodes", b->churned % 2 ? KUBE_ADDED : KUBE_DELETED, text);
    memkube_push(b->kube, "services", b->churned % 2 ? KUBE_ADDED : KUBE_DELETED,
                 "{\"metadata\":{\"name\":\"s\",\"namespace\":\"default\",\"uid\":\"s\","
                 "\"resourceVersion\":\"1\"},\"spec\":{\"selector\":{\"none\":\"x\"}}}");
}

/* A claim and its volume for every pod there will be. */
static void add_volumes(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    char source[160], id[32];

    for (int i = 0; b->w->volume && i < b->init + b->pods; i++) {
        (void)snprintf(id, sizeof id, "vol-%d", i);
        CLEANUP(mem_free) char *with = replace(b->w->volume, "%s", id);
        (void)snprintf(source, sizeof source, "%s", with);
        strbuf_reset(&t);
        strbuf_appendf(&t,
                       "{'metadata':{'name':'pv-%d','uid':'v%d','resourceVersion':'1'},'spec':{"
                       "'capacity':{'storage':'1Gi'},'accessModes':['ReadOnlyMany'],%s,'claimRef':{"
                       "'namespace':'default','name':'c-%d'}},'status':{'phase':'Bound'}}",
                       i, i, source, i);
        memkube_add(b->kube, "persistentvolumes", quoted(&t));
        strbuf_reset(&t);
        strbuf_appendf(&t,
                       "{'metadata':{'name':'c-%d','namespace':'default','uid':'c%d',"
                       "'resourceVersion':'1','annotations':{'pv.kubernetes.io/bind-completed':"
                       "'true'}},'spec':{'volumeName':'pv-%d','accessModes':['ReadOnlyMany'],"
                       "'resources':{'requests':{'storage':'1Gi'}}},'status':{'phase':'Bound'}}",
                       i, i, i);
        memkube_add(b->kube, "persistentvolumeclaims", quoted(&t));
    }
    for (int i = 0; b->w->volume && i < b->nodes; i++) {
        strbuf_reset(&t);
        strbuf_appendf(
            &t,
            "{'metadata':{'name':'node-%d','uid':'i%d','resourceVersion':'1','annotations'"
            ":{'storage.alpha.kubernetes.io/migrated-plugins':'kubernetes.io/aws-ebs'}},"
            "'spec':{'drivers':[{'name':'ebs.csi.aws.com','nodeID':'%d','allocatable':{"
            "'count':39}}]}}",
            i, i, i);
        memkube_add(b->kube, "csinodes", quoted(&t));
    }
}

/* ---- volumes on nodes ------------------------------------------------------------------------ */

static void local_volume(const struct bench *b, int i, const char *claim, struct strbuf *t)
{
    strbuf_reset(t);
    strbuf_appendf(t,
                   "{'metadata':{'name':'pv-%d','uid':'v%d','resourceVersion':'%d'},'spec':{"
                   "'capacity':{'storage':'%dGi'},'accessModes':['ReadWriteOnce'],"
                   "'storageClassName':'local','local':{'path':'/mnt'},'nodeAffinity':{'required':"
                   "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" HOST "','operator':'In',"
                   "'values':['node-%d']}]}]}}",
                   i, i, claim ? 2 : 1, i / b->nodes + 1, i % b->nodes);
    if (claim)
        strbuf_appendf(t, ",'claimRef':{'namespace':'default','name':'%s','uid':'%s'}", claim,
                       claim);
    strbuf_appendf(t, "},'status':{'phase':'%s'}}", claim ? "Bound" : "Available");
}

static void local_claim(const char *name, const char *volume, struct strbuf *t)
{
    strbuf_reset(t);
    strbuf_appendf(t,
                   "{'metadata':{'name':'%s','namespace':'default','uid':'%s','resourceVersion':"
                   "'%d','annotations':{%s}},'spec':{'accessModes':['ReadWriteOnce'],"
                   "'storageClassName':'local','resources':{'requests':{'storage':'1Gi'}}",
                   name, name, volume ? 2 : 1,
                   volume ? "'pv.kubernetes.io/bind-completed':'yes'" : "");
    if (volume)
        strbuf_appendf(t, ",'volumeName':'%s'", volume);
    strbuf_appendf(t, "},'status':{'phase':'%s'}}", volume ? "Bound" : "Pending");
}

static void add_local(struct bench *b)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    char name[32];

    for (int i = 0; i < b->w->local * b->nodes; i++) {
        local_volume(b, i, NULL, &t);
        memkube_add(b->kube, "persistentvolumes", quoted(&t));
    }
    for (int i = 0; b->w->local && i < b->pods; i++) {
        (void)snprintf(name, sizeof name, "c-%d", i);
        local_claim(name, NULL, &t);
        memkube_add(b->kube, "persistentvolumeclaims", quoted(&t));
    }
    if (b->w->local)
        memkube_add(b->kube, "storageclasses",
                    "{\"metadata\":{\"name\":\"local\",\"uid\":\"l\",\"resourceVersion\":\"1\"},"
                    "\"provisioner\":\"kubernetes.io/no-provisioner\",\"volumeBindingMode\":"
                    "\"WaitForFirstConsumer\"}");
}

/* The volume controller: what the scheduler chose for a claim is bound to it. */
static void on_patch(void *arg, const char *plural, const char *name, const struct kj_val *body)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    struct bench *b = arg;
    const char *claim = kj_str_or(kj_path(body, "spec.claimRef.name"), NULL);

    if (!streq(plural, "persistentvolumes") || !claim)
        return;
    local_volume(b, atoi(name + strlen("pv-")), claim, &t);
    memkube_push(b->kube, "persistentvolumes", KUBE_MODIFIED, quoted(&t));
    local_claim(claim, name, &t);
    memkube_push(b->kube, "persistentvolumeclaims", KUBE_MODIFIED, quoted(&t));
}

/* Init pods: all alike, or of five kinds; and those that are never to be placed. */
static void add_init(struct bench *b)
{
    static const char *const kinds[] = {
        "",
        ANTI("podAntiAffinity", REQUIRED(HOST, "")),
        ANTI("podAffinity", REQUIRED(ZONE, "")),
        ANTI("podAffinity", PREFERRED(HOST, "")),
        ANTI("podAntiAffinity", PREFERRED(HOST, "")),
    };
    const char *cpu = b->w->init_cpu ? b->w->init_cpu : "100m";
    char ns[32];

    for (int i = 0; i < b->init; i++) {
        ns_of(b, i, false, ns, sizeof ns);
        const char *spec = b->w->mixed ? kinds[i * 5 / b->init] : b->w->init_spec;
        memkube_add(b->kube, "pods", pod_text(b, ns, spec, cpu));
    }
    CLEANUP(mem_free)
    char *gated = xasprintf("%s,'schedulingGates':[{'name':'wait'}]", b->w->init_spec);
    for (int i = 0; i < b->w->gated; i++)
        memkube_add(b->kube, "pods", pod_text(b, "default", gated, cpu));
}

static nsec_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int measure(struct bench *b)
{
    char ns[32];
    struct rusage ru;

    for (int i = 0; i < b->pods; i++) {
        ns_of(b, i, true, ns, sizeof ns);
        memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, ns, b->w->spec, "100m"));
    }
    b->want = (uint64_t)(b->init + b->pods);
    if (b->w->churn)
        on_churn(b->loop, b);
    nsec_t began = loop_stopwatch(b->loop), cpu = cpu_time();
    loop_run(b->loop);
    double took = (double)(loop_stopwatch(b->loop) - began) / 1e9;
    double used = (double)(cpu_time() - cpu) / 1e3;
    struct scheduler_stats st = scheduler_stats(b->s);
    getrusage(RUSAGE_SELF, &ru);
    printf("%s nodes=%d pods=%d rate=%.0f cpu_us=%.1f rss_mb=%.1f threshold=%d reused=%.3f\n",
           b->w->name, b->nodes, b->pods, b->pods / took, used / b->pods,
           (double)ru.ru_maxrss / 1024, b->w->threshold, (double)st.reused / (double)st.attempts);
    fflush(stdout);
    return st.scheduled >= b->want ? 0 : 1;
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void on_enough(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static void rest(struct bench *b, nsec_t time)
{
    loop_after(b->loop, time, on_enough, NULL);
    loop_run(b->loop);
}

static int measure_idle(struct bench *b)
{
    enum { REST_S = 5 };
    size_t before = heap();

    for (int i = 0; i < b->w->reserved; i++)
        memkube_push(b->kube, "reservations", KUBE_ADDED, reservation_text(b, i, 1));
    rest(b, 2 * NSEC_PER_SEC); /* all is told, written and counted */
    size_t each = (heap() - before) / (size_t)b->w->reserved;
    nsec_t cpu = cpu_time();
    rest(b, REST_S * NSEC_PER_SEC);
    printf("%s nodes=%d reservations=%d bytes=%zu cpu_us_per_s=%.1f\n", b->w->name, b->nodes,
           b->w->reserved, each, (double)(cpu_time() - cpu) / 1e3 / REST_S);
    return scheduler_stats(b->s).pods == (size_t)b->w->reserved ? 0 : 1;
}

/* Until the caches are full and the pods before the measured ones are placed. */
static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s) && b->bound >= (uint64_t)b->init &&
        scheduler_stats(b->s).unschedulable >= b->waiting)
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, b);
}

/* The default profile with one more plugin: Reservation has the weight of the shipped one. */
static const struct ks_registered *with_plugin(const char *name, int weight,
                                               struct ks_registered *with)
{
    size_t n = 0;

    do {
        with[n] = ks_registry[n];
        if (with[n].plugin && streq(with[n].plugin->name, name)) {
            with[n].by_default = true;
            with[n].weight = weight;
        }
    } while (ks_registry[n++].plugin);
    return with;
}

static const struct ks_registered *plugins_of(const struct workload *w, struct ks_registered *with)
{
    if (w->load)
        return table_with_load();
    if (w->reserved)
        return with_plugin("Reservation", 5000, with);
    return w->quota_plugin ? with_plugin("ElasticQuota", 0, with) : NULL;
}

static int run(const struct workload *w, int nodes, int pods)
{
    struct bench b = { .w = w, .nodes = nodes, .init = w->init, .pods = pods };
    struct intern *strings = intern_new();
    struct kerr err = { 0 };

    b.loop = loop_new();
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    if (w->local)
        memkube_on_patch(b.kube, on_patch, &b);
    add_nodes(&b);
    add_namespaces(&b);
    add_volumes(&b);
    add_local(&b);
    add_init(&b);
    add_reports(&b);
    add_quotas(&b);
    if (!w->idle)
        add_reservations(&b);
    struct ks_registered with[PROFILE_PLUGINS_MAX + 1];
    struct metrics *metrics = metrics_new(); /* counting and timing are part of the price */
    b.s = scheduler_new(
        b.loop, b.kube,
        &(struct scheduler_opts){ .metrics = metrics, .plugins = plugins_of(w, with) }, &err);
    if (!b.s) {
        fprintf(stderr, "bench_scheduler: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    if (w->waiting) {
        add_waiting(&b);
        on_poll(b.loop, &b);
        loop_run(b.loop);
    }
    int r = w->idle ? measure_idle(&b) : measure(&b);
    timer_cancel(b.churn);
    free_reports(&b);
    scheduler_free(b.s);
    metrics_free(metrics);
    kube_free(b.kube);
    intern_free(strings);
    loop_free(b.loop);
    return r;
}

int main(int argc, char **argv)
{
    int bad = 0, found = 0;

    klog_set_sink(quiet, NULL);
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
        const struct workload *w = &workloads[i];
        if (argc > 1 && !streq(argv[1], w->name))
            continue;
        found++;
        bad |= run(w, argc > 3 ? atoi(argv[2]) : w->nodes, argc > 3 ? atoi(argv[3]) : w->pods);
    }
    if (!found)
        fprintf(stderr, "bench_scheduler: no workload '%s'\n", argv[1]);
    return found ? bad : 2;
}
