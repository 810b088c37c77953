/* test_ctl_explain.c - koordctl explain: whom it asks about, what it reads, and what it says. */
#include "api/koord/nodemetric.h"
#include "api/pod.h"
#include "base/test/asserts.h"
#include "ctl/explain.h"
#include "ctl/test/fixture.h"
#include "json/kj.h"

/* A scheduler that remembers what it is given and answers as it is told. */
static struct {
    const char *answer, *notes;
    char profile[64], config[64], pod[64];
    int added, closed;
    bool unknown; /* it does not know the profile */
} sched;

static int sched_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                      void **ret, struct kerr *err)
{
    (void)snprintf(sched.profile, sizeof sched.profile, "%s", name);
    (void)snprintf(sched.config, sizeof sched.config, "%s", config->file);
    strbuf_append(notes, str_or(sched.notes, ""));
    *ret = &sched;
    return sched.unknown ? kerr_set(err, -ENOENT, "no profile for %s", name) : 0;
}

static void sched_close(void *self)
{
    sched.closed += self != NULL;
}

static const struct kind *sched_kind(const void *self, unsigned i)
{
    (void)self;
    return i == 0 ? &kind_nodemetric : NULL;
}

static int sched_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)err;
    sched.added++;
    return streq(o->meta.name, "bad") ? kerr_set(err, -EINVAL, "no good") : 0;
}

static int sched_try(void *self, struct kobj *pod, nsec_t now, struct strbuf *json,
                     struct kerr *err)
{
    (void)self, (void)now, (void)err;
    assert_true(str_empty(pod_of(pod)->node_name)); /* as if it had none */
    (void)snprintf(sched.pod, sizeof sched.pod, "%s/%s", pod->meta.ns, pod->meta.name);
    strbuf_append(json, sched.answer);
    return 0;
}

static void sched_scores(const void *self, unsigned max, struct strbuf *out)
{
    (void)self;
    strbuf_appendf(out, "| table of %u |\n", max);
}

static int sched_try_gang(void *self, const char *id, nsec_t now, struct strbuf *json,
                          struct kerr *err)
{
    (void)self, (void)now;
    (void)snprintf(sched.pod, sizeof sched.pod, "%s", id);
    if (streq(id, "ns/no"))
        return kerr_set(err, -ENOENT, "no gang %s", id);
    strbuf_append(json, sched.answer);
    return 0;
}

static const struct explain_scheduler scheduler = { sched_open,    sched_close, sched_kind,
                                                    sched_add,     sched_try,   sched_scores,
                                                    sched_try_gang };

/* A manager that says what it was given. */
static void manager_node(const struct explain_node_objects *o, nsec_t now, struct strbuf *json)
{
    (void)now;
    assert_string_equal(o->node->meta.name, "n1");
    assert_null(o->metric);
    assert_non_null(o->config);
    assert_int_equal(o->npods, 1);
    strbuf_append(
        json,
        "{\"node\":\"n1\",\"colocation\":{\"enabled\":true,\"available\":true,\"entry\":\"gpu\","
        "\"annotation\":true,\"labels\":[\"l\"],\"problems\":[\"x is refused\"]},"
        "\"report\":{\"time\":\"T\",\"age\":\"20s\",\"pods\":3},"
        "\"adaptive\":{\"cpuCutPercent\":10,\"memoryCutPercent\":0},"
        "\"batch\":{\"cpu\":{\"policy\":\"usage\",\"terms\":[{\"name\":\"capacity\",\"value\":"
        "100},{\"name\":\"safety margin\",\"value\":-40,\"note\":\"why\"}],\"limitPercent\":50,"
        "\"damping\":{\"undamped\":5,\"requestsOfNewPods\":10},\"result\":50,\"thirdParty\":7}},"
        "\"mid\":{\"reset\":\"m\",\"why\":\"it is old\"},"
        "\"zones\":[{\"name\":\"node-0\",\"cpu\":1,\"memory\":2}],"
        "\"plugins\":{\"P\":\"no\"},"
        "\"resources\":[{\"name\":\"r\",\"now\":\"10\",\"calculated\":\"9\","
        "\"changePercent\":-10.0,\"due\":false},{\"name\":\"s\",\"now\":\"1\",\"due\":true}],"
        "\"write\":{\"differs\":true,\"now\":false,\"thresholdPercent\":10,"
        "\"atLatestSeconds\":300}}");
}

static const struct explain_manager manager = { "koordinator-system", "slo-controller-config",
                                                manager_node };
static const struct ctl_parts parts = { .explain = &scheduler, .explain_manager = &manager };

#define POD(name, node)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{" node \
    "\"schedulerName\":\"koord-scheduler\",\"containers\":[]}}"
#define LIST(items) "{\"metadata\":{},\"items\":[" items "]}"

static void explain_init(struct fixture *x, const char *answer, const char *node)
{
    memset(&sched, 0, sizeof sched);
    sched.answer = answer;
    fixture_init(x);
    x->parts = &parts;
    fake_add(&x->f, (struct fake_answer){ "/api/v1/namespaces/ns/pods/web", 200, node });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/namespaces/default/pods/web", 200, node });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/nodes", 200,
                                          LIST("{\"metadata\":{\"name\":\"a\"}},"
                                               "{\"metadata\":{\"name\":\"bad\"}}") });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/pods", 200, LIST(POD("other", "")) });
}

#define NO(plugin, code, reason, changes)                                                   \
    "{\"fit\":false,\"plugin\":\"" plugin "\",\"code\":\"" code "\",\"reasons\":[\"" reason \
    "\"],\"changes\":[" changes "]}"
#define SHORT(n) \
    "{\"plugin\":\"Fit\",\"reason\":\"Insufficient cpu\",\"resource\":\"cpu\",\"missing\":" n "}"
#define NOWHERE                                                                                    \
    "{\"nodes\":{\"a\":" NO(                                                                       \
        "Fit", "Unschedulable", "Insufficient cpu",                                                \
        SHORT("500")) ","                                                                          \
                      "\"b\":" NO("Fit", "Unschedulable", "Insufficient cpu",                      \
                                  SHORT("2000")) ","                                               \
                                                 "\"c\":" NO("Taint",                              \
                                                             "UnschedulableAndUnresolvable",       \
                                                             "had taint",                          \
                                                             "{\"plugin\":\"Taint\",\"reason\":"   \
                                                             "\"had "                              \
                                                             "taint\",\"taint\":\"k=v:"            \
                                                             "NoSchedule\"}") "},\"message\":\"0/" \
                                                                              "3 nodes are "       \
                                                                              "available.\","      \
                                                                              "\"preemption\":{"   \
                                                                              "\"code\":"          \
                                                                              "\"Success\","       \
                                                                              "\"nominatedNode\":" \
                                                                              "\"b\",\"victims\":" \
                                                                              "[\"ns/v1\",\"ns/"   \
                                                                              "v2\"],"             \
                                                                              "\"priorities\":{"   \
                                                                              "\"ns/v2\":7}}}"

static void test_why_a_pod_has_no_node(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, NOWHERE, POD("web", ""));
    sched.notes = "note: something\n";
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--config", "/f"), CTL_OK);
    assert_string_equal(x.out, "Pod ns/web has no node (scheduler koord-scheduler).\n"
                               "\n0 of 3 nodes fit.\n"
                               "  2 nodes (a, b): Fit: Insufficient cpu\n"
                               "    to fit: cpu 500m to 2 more\n"
                               "  1 node (c): Taint: had taint (evictions do not help)\n"
                               "    to fit: taint k=v:NoSchedule tolerated or removed\n"
                               "\nTo make room on node b these would have to go:\n"
                               "  ns/v1 (priority 0)\n  ns/v2 (priority 7)\n"
                               "\nEvent: 0/3 nodes are available.\n");
    assert_string_equal(x.err, "note: something\nerror: left out Node bad: no good\n");
    assert_string_equal(sched.profile, "koord-scheduler");
    assert_string_equal(sched.config, "/f");
    assert_int_equal(sched.added, 3); /* the NodeMetrics' kind is not there: no harm */
    assert_int_equal(sched.closed, 1);
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--all-nodes"), CTL_OK);
    assert_contains(x.out, "  b: Fit: Insufficient cpu\n    to fit: cpu 2 more\n");
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"pod\": \"ns/web\"");
    assert_contains(x.out, "\"nominatedNode\": \"b\"");
}

#define LOAD(expired, used, percent, more)                                                       \
    "\"details\":{\"LoadAwareScheduling\":{\"expired\":" expired ",\"aggregated\":false,"        \
    "\"resources\":{\"cpu\":{\"used\":" used                                                     \
    ",\"estimated\":850,\"incoming\":85,\"capacity\":16000,"                                     \
    "\"percent\":" percent ",\"threshold\":65},\"memory\":{\"used\":1073741824,\"estimated\":0," \
    "\"incoming\":209715200,\"capacity\":34359738368,\"percent\":4" more "}}}}"

/* Use, estimate and thresholds of each node; those that are too busy come first. */
static void test_the_load_of_nodes(void **state)
{
    static const char answer[] = "{\"nodes\":{\"a\":{\"fit\":true,\"scores\":{},\"total\":90," LOAD(
        "false", "2000", "18",
        "") "},\"b\":{\"fit\":false,\"plugin\":\"LoadAwareScheduling\",\"code\":\"Unschedulable\","
            "\"reasons\":[\"node(s) cpu usage exceed threshold\"],\"changes\":[]," LOAD(
                "true", "11200", "76",
                ",\"evictionThreshold\":70") "},"
                                             "\"c\":{\"fit\":true,\"scores\":{},\"total\":1,"
                                             "\"details\":{}}},\"best\":[\"a\"]}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, answer, POD("web", ""));
    assert_int_equal(run(&x, "explain", "pod", "ns/web"), CTL_OK);
    assert_contains(
        x.out, "\nLoad, with this pod:\n"
               "  NODE                 RESOURCE        USED ESTIMATED  THIS POD        OF  TOTAL "
               "THRESHOLD  EVICTION\n"
               "  b                    its NodeMetric has expired\n"
               "  b                    cpu           11200m      850m       85m        16    76% "
               "      65%         -\n"
               "                       memory           1Gi         0     200Mi      32Gi     4% "
               "        -       70%\n"
               "  a                    cpu                2      850m       85m        16    18% "
               "      65%         -\n");
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--top", "1"), CTL_OK);
    assert_lacks(x.out, "  a                    cpu");
    assert_contains(x.out, "  ... and 1 more (--all-nodes)\n");
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--top", "1", "--all-nodes"), CTL_OK);
    assert_contains(x.out, "  a                    cpu");
}

/* What each NUMA node has left, and who stands in the way there. */
static void test_the_numa_nodes(void **state)
{
    static const char answer[] =
        "{\"nodes\":{\"a\":{\"fit\":true,\"scores\":{},\"total\":90,\"details\":{"
        "\"NodeNUMAResource\":{\"numaNodes\":[{\"node\":0,\"freeCPUs\":\"\",\"freeCores\":0,"
        "\"tooSmall\":true}]}}},\"b\":{\"fit\":false,\"plugin\":\"NodeNUMAResource\",\"code\":"
        "\"Unschedulable\",\"reasons\":[\"no\"],\"changes\":[],\"details\":{\"NodeNUMAResource\":{"
        "\"policy\":\"SingleNUMANode\",\"numaNodes\":[{\"node\":0,\"free\":{\"cpu\":2500,"
        "\"memory\":1073741824},\"freeCPUs\":\"0-1\",\"freeCores\":1,\"wouldHaveToLeave\":["
        "\"ns/x\",\"ns/y\"]},{\"node\":1,\"free\":{\"cpu\":8000},\"freeCPUs\":\"8-15\","
        "\"freeCores\":4,\"wouldHaveToLeave\":[]}]}}}},\"best\":[\"a\"]}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, answer, POD("web", ""));
    assert_int_equal(run(&x, "explain", "pod", "ns/web"), CTL_OK);
    assert_contains(
        x.out,
        "\nNUMA nodes, free:\n"
        "  NODE                 NUMA      CPU   MEMORY  CORES  CPUS             THIS POD "
        "THERE\n"
        "  b                       0    2500m      1Gi      1  0-1              without "
        "ns/x, ns/y\n"
        "                          1        8        -      4  8-15             fits\n"
        "  a                       0        -        -      0  -                too small\n");
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--top", "1"), CTL_OK);
    assert_lacks(x.out, "too small");
    assert_contains(x.out, "  ... and 1 more (--all-nodes)\n");
}

/* What each card has left, what it lacks for the pod, and who has the rest. */
static void test_the_devices(void **state)
{
    static const char answer[] =
        "{\"nodes\":{\"b\":{\"fit\":false,\"plugin\":\"DeviceShare\",\"code\":"
        "\"Unschedulable\",\"reasons\":[\"no\"],\"changes\":[],\"details\":{\"DeviceShare\":{"
        "\"devices\":[{\"type\":\"gpu\",\"minor\":0,\"healthy\":true,\"free\":{"
        "\"koordinator.sh/gpu-core\":25,\"koordinator.sh/gpu-memory\":2147483648},\"lacks\":{"
        "\"koordinator.sh/gpu-core\":25,\"koordinator.sh/gpu-memory\":1073741824},\"holders\":["
        "\"ns/x\",\"ns/y\"]},{\"type\":\"gpu\",\"minor\":1,\"healthy\":false,\"free\":{}},"
        "{\"type\":\"rdma\",\"minor\":2,\"healthy\":true,\"free\":{\"koordinator.sh/rdma\":"
        "100}}]}}}},\"best\":[]}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, answer, POD("web", ""));
    (void)run(&x, "explain", "pod", "ns/web");
    assert_contains(x.out, "\nDevices, free:\n  NODE                 TYPE MINOR  FREE ");
    assert_contains(x.out, "  b                    gpu      0  gpu-core 25, gpu-memory 2Gi ");
    assert_contains(x.out, "lacks gpu-core 25, gpu-memory 1Gi; held by ns/x, ns/y\n");
    assert_contains(x.out, "not healthy\n");
    assert_contains(x.out, "has enough\n");
}

/* Of each request how many devices are accepted, taken and free, and what fails. */
static void test_the_claims(void **state)
{
    static const char answer[] =
        "{\"nodes\":{\"a\":{\"fit\":true,\"scores\":{},\"total\":1,\"details\":{"
        "\"DynamicResources\":"
        "{\"claims\":[{\"name\":\"ns/"
        "old\",\"allocated\":true,\"available\":true}]}}},\"b\":{\"fit\":"
        "false,\"plugin\":\"DynamicResources\",\"code\":\"Unschedulable\",\"reasons\":[\"no\"],"
        "\"changes\":[],\"details\":{\"DynamicResources\":{\"claims\":[{\"name\":\"ns/old\","
        "\"allocated\":true,\"available\":false},{\"name\":\"ns/c\",\"requests\":[{\"name\":\"r\","
        "\"class\":\"gpu\",\"count\":2,\"devices\":8,\"accepted\":5,\"taken\":4,\"tainted\":1,"
        "\"free\":0,\"holders\":[\"ns/x\",\"ns/y\"],\"deviceShare\":[\"ns/p\"]},{\"name\":\"s\","
        "\"class\":\"nic\",\"all\":true,\"devices\":8,\"accepted\":1,\"taken\":0,\"free\":1}]}],"
        "\"fails\":\"claim ns/c, request r: 0 of 2 devices are free\"}}}},\"best\":[\"a\"]}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, answer, POD("web", ""));
    (void)run(&x, "explain", "pod", "ns/web");
    assert_contains(
        x.out,
        "\nClaims:\n"
        "  NODE                 CLAIM                        REQUEST          WANTED DEVICES "
        "ACCEPTED  TAKEN  FREE  HOLDERS\n"
        "  b                    ns/old                       allocated, not usable here\n"
        "                       ns/c                         r                     2       8       "
        " "
        "5      4     0  1 tainted held by ns/x, ns/y held by ns/p (DeviceShare)\n"
        "                       ns/c                         s                   all       8       "
        " "
        "1      0     1 \n"
        "                       claim ns/c, request r: 0 of 2 devices are free\n"
        "  a                    ns/old                       allocated, usable here\n");
}

static void test_why_a_pod_has_this_node(void **state)
{
    static const char answer[] =
        "{\"nodes\":{\"a\":{\"fit\":true,\"scores\":{},\"total\":90},\"b\":{\"fit\":true,"
        "\"scores\":{},\"total\":95}},\"best\":[\"b\"],"
        "\"held\":{\"plugin\":\"SchedulingGates\",\"reasons\":[\"waiting\"]}}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, answer, POD("web", "\"nodeName\":\"a\","));
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "--top", "3"), CTL_OK);
    assert_string_equal(x.out, "Pod ns/web is on node a (scheduler koord-scheduler).\n"
                               "This is the choice as it would be today, with the pod taken away.\n"
                               "\n2 of 2 nodes fit.\n| table of 3 |\n"
                               "Its own node has 90 points; 1 node has more.\n");
    assert_int_equal(run(&x, "explain", "pod", "ns/web", "-o", "yaml"), CTL_OK);
    assert_contains(x.out, "node: a\n");
}

static void test_every_way_to_name_a_pod(void **state)
{
    static char *const lines[][6] = {
        { "koordctl", "explain", "pod/web", NULL },
        { "koordctl", "explain", "po/web", NULL },
        { "koordctl", "explain", "pods/web", "-n", "ns", NULL },
        { "koordctl", "explain", "pod", "web", NULL },
        { "koordctl", "explain", "Pod", "ns/web", NULL },
    };
    static const char *const asked[] = { "default", "default", "ns", "default", "ns" };
    static char *const wrong[][6] = {
        { "koordctl", "explain", NULL },
        { "koordctl", "explain", "pod", NULL },
        { "koordctl", "explain", "pod/", NULL },
        { "koordctl", "explain", "pod/a/b", NULL },
        { "koordctl", "explain", "pod/a", "b", NULL },
        { "koordctl", "explain", "pod", "a", "b", NULL },
        { "koordctl", "explain", "pod", "/x", NULL },
        { "koordctl", "explain", "service/a", NULL },
        { "koordctl", "explain", "service", "a", NULL },
        { "koordctl", "explain", "node/", NULL },
        { "koordctl", "explain", "node/a/b", NULL },
        { "koordctl", "explain", "node", "a", "b", NULL },
        { "koordctl", "explain", "pod/web", "-o", "name", NULL },
    };
    CLEANUP(fixture_fini) struct fixture x;
    char want[64];

    (void)state;
    explain_init(&x, NOWHERE, POD("web", ""));
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(fixture_run(&x, lines[i]), CTL_OK);
        (void)snprintf(want, sizeof want, "GET /api/v1/namespaces/%s/pods/web;", asked[i]);
        assert_contains(strbuf_str(&x.f.log), want);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(fixture_run(&x, wrong[i]), CTL_USAGE);
        assert_int_equal(x.f.log.len, 0); /* nobody was asked */
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void test_what_a_node_gives_and_why(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, NOWHERE, POD("web", ""));
    fake_add(&x.f, (struct fake_answer){ "/api/v1/namespaces/koordinator-system/configmaps/", 200,
                                         "{\"metadata\":{\"name\":\"c\"}}" });
    x.f.answers[2].once = true; /* the list of nodes answers the question for one of them */
    x.f.answers[2].body = "{\"metadata\":{\"name\":\"n1\"}}";
    assert_int_equal(run(&x, "explain", "node/n1"), CTL_OK);
    assert_string_equal(
        x.out,
        "Node n1: colocation is on (cluster strategy, node entry \"gpu\", the node's annotation, "
        "label l).\n"
        "Problem: x is refused.\n"
        "Last report: T, 20s ago, with 3 pods.\n"
        "In trouble: its reclaim thresholds are 10 (cpu) and 0 (memory) points below the "
        "configured ones.\n"
        "\nbatch-cpu (milli-cores), by usage\n"
        "  capacity                                          100\n"
        "  safety margin                                     -40   why\n"
        "  limit                                              50   at most 50% of the capacity\n"
        "  held back                                          50   a fall to 5 that use does not "
        "explain waits for a second report: requests of new pods 10\n"
        "  =                                                  50\n"
        "  given away by third parties                        -7\n"
        "\nmid-cpu and mid-memory are taken away: it is old.\n"
        "\nNUMA zone       batch-cpu         batch-memory\n"
        "node-0                  1                    2\n"
        "\nP gives nothing: no.\n"
        "\nResource                                          now       calculated     change\n"
        "r                                                  10                9     -10.0%\n"
        "s                                                   1                -             to be "
        "written\n"
        "\nHeld back: no resource is apart by more than 10% (resourceDiffThreshold). Written with "
        "the first\nreport that comes 300 s after the last write (updateTimeThresholdSeconds).\n");
    assert_contains(strbuf_str(&x.f.log), "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1");
    x.parts = NULL;
    assert_int_equal(run(&x, "explain", "node", "n1"), CTL_FAILED);
    assert_string_equal(x.err, "error: this program has no manager to explain with\n");
}

static void test_what_the_scheduler_refuses_is_said(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(&x, NOWHERE, POD("web", ""));
    sched.unknown = true;
    assert_int_equal(run(&x, "explain", "pod/web"), CTL_FAILED);
    assert_string_equal(x.err, "error: no profile for koord-scheduler\n");
    assert_int_equal(sched.closed, 1);
    x.parts = NULL;
    assert_int_equal(run(&x, "explain", "pod/web"), CTL_FAILED);
    assert_string_equal(x.err, "error: this program has no scheduler to explain with\n");
}

#define GANG(name, more)                                                                          \
    "{\"name\":\"" name "\",\"from\":\"PodGroup\",\"ready\":true,\"minMember\":4,\"mode\":"       \
    "\"Strict\",\"matchPolicy\":\"once-satisfied\",\"members\":4,\"pending\":3,\"bound\":1," more \
    "}"

static void test_what_a_gang_waits_for(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    explain_init(
        &x,
        "{\"gang\":\"ns/g\",\"onceSatisfied\":false,\"gangs\":[" GANG(
            "ns/g", "\"gated\":[\"ns/p3\"]") ",{\"name\":\"ns/h\"}],\"wanted\":3,"
                                             "\"fitting\":2,\"first\":\"ns/p2\",\"message\":\"0/2 "
                                             "nodes are available: 2 "
                                             "Insufficient cpu.\",\"full\":\"0/2 nodes are "
                                             "available: 2 Insufficient "
                                             "cpu.\",\"nodes\":[{\"kind\":\"cpu=4\",\"nodes\":2,"
                                             "\"slots\":2,\"oneMore\":1}]}",
        "");
    assert_int_equal(run(&x, "explain", "podgroup", "ns/g"), CTL_OK);
    assert_string_equal(
        x.out,
        "Gang ns/g starts together with others:\n"
        "  ns/g (PodGroup, Strict, once-satisfied): needs 4, has 4: 1 with a node, 3 without\n"
        "    1 not ready (scheduling gates, or being deleted): ns/p3\n"
        "  ns/h does not exist: the group waits for it\n"
        "\n2 of 3 members fit now.\n"
        "The first that does not is ns/p2: 0/2 nodes are available: 2 Insufficient cpu.\n"
        "\nRoom, each node on its own:\n"
        "  2 nodes with cpu=4: 2 slots; one more of them, empty: 1 more members\n"
        "  Full: 0/2 nodes are available: 2 Insufficient cpu.\n");
    assert_string_equal(sched.pod, "ns/g");
    assert_int_equal(run(&x, "explain", "podgroup/g", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"oneMore\": 1");
    assert_string_equal(sched.pod, "default/g");
    assert_int_equal(run(&x, "explain", "podgroup", "ns/no"), CTL_FAILED);
    assert_string_equal(x.err, "error: left out Node bad: no good\nerror: no gang ns/no\n");
    sched.answer = "{\"gang\":\"ns/g\",\"gangs\":[" GANG(
        "ns/g",
        "\"gated\":[]") "],\"wanted\":3,"
                        "\"fitting\":1,\"message\":\"no candidate\",\"nodes\":[],\"network\":{"
                        "\"layer\":\"SpineLayer\",\"domains\":[{\"name\":\"s1\",\"slots\":1}]}}";
    assert_int_equal(run(&x, "explain", "podgroup", "ns/g"), CTL_OK);
    assert_contains(x.out, "1 of 3 members fit now in one domain.\nno candidate\n");
    assert_contains(x.out, "Room by SpineLayer:\n  s1: 1 slots\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_a_pod_has_no_node),
        cmocka_unit_test(test_the_load_of_nodes),
        cmocka_unit_test(test_the_numa_nodes),
        cmocka_unit_test(test_the_devices),
        cmocka_unit_test(test_the_claims),
        cmocka_unit_test(test_why_a_pod_has_this_node),
        cmocka_unit_test(test_every_way_to_name_a_pod),
        cmocka_unit_test(test_what_a_node_gives_and_why),
        cmocka_unit_test(test_what_a_gang_waits_for),
        cmocka_unit_test(test_what_the_scheduler_refuses_is_said),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
