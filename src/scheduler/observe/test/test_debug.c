/* test_debug.c - tables and views for people (scheduler-core 11.1, 11.4, 7.2). */
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "scheduler/observe/debug.h"
#include "scheduler/observe/diagnosis.h"
#include "scheduler/observe/podmetrics.h"

#define NODE(name, cpu)                                                    \
    "{'metadata':{'name':'" name "'},'status':{'allocatable':{'cpu':'" cpu \
    "','memory':'10Gi','pods':'9'}}}"
#define POD \
    "{'metadata':{'name':'p|q','namespace':'ns','uid':'u'},'spec':{'containers':[{'name':'c'}]}}"

static void test_the_score_table(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    fixture_init(&f, state, "NodeResourcesFit TaintToleration", NULL);
    fixture_node(&f, NODE("small", "1"));
    fixture_node(&f, NODE("large", "100"));
    fixture_try(&f, POD);
    debug_score_table(&f.a, 1, &out);
    assert_string_equal(strbuf_str(&out),
                        "| # | Pod | Node | Score | TaintToleration | NodeResourcesFit |\n"
                        "| --- | --- | --- | ---:| ---:| ---:|\n"
                        "| 0 | ns/p\\|q | large | 398 | 300 | 98 |\n");
}

static void test_why_a_node_was_rejected(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    fixture_init(&f, state, "NodeResourcesFit", NULL);
    fixture_node(&f, NODE("n", "1"));
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'cpu':'2','memory':'20Gi'}}}]}}");
    debug_filter_line(&f.a, 0, &out);
    assert_string_equal(strbuf_str(&out),
                        "Failed to filter for Pod \"ns/p\" on Node \"n\" (pass 1), failedPlugin: "
                        "NodeResourcesFit, reason: Insufficient cpu, Insufficient memory");
}

/* A nominated pod takes room in the first pass, and is no company in the second. */
static void test_in_which_pass_a_node_was_rejected(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    fixture_init(&f, state, "NodeResourcesFit InterPodAffinity", NULL);
    fixture_node(&f,
                 "{'metadata':{'name':'n','labels':{'k':'v'}},'status':{'allocatable':{'cpu':'2',"
                 "'pods':'9'}}}");
    fixture_nominate(&f,
                     "{'metadata':{'name':'q','namespace':'ns','uid':'q','labels':{'a':'b'}},"
                     "'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]},"
                     "'status':{'nominatedNodeName':'n'}}");
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'cpu':'2'}}}]}}");
    debug_filter_line(&f.a, 0, &out);
    assert_contains(strbuf_str(&out), "(pass 1), failedPlugin: NodeResourcesFit");
    strbuf_reset(&out);
    fixture_try(&f,
                "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'affinity':{"
                "'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':"
                "'k','labelSelector':{'matchLabels':{'a':'b'}}}]}},'containers':[{'name':'c'}]}}");
    debug_filter_line(&f.a, 0, &out);
    assert_contains(strbuf_str(&out), "(pass 2), failedPlugin: InterPodAffinity");
}

#define ANTI(when, term)                                                                           \
    "'affinity':{'podAntiAffinity':{'" when "DuringSchedulingIgnoredDuringExecution':[" term "]}}" \
    ","

static void test_a_node_as_the_scheduler_sees_it(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    fixture_init(&f, state, NULL, NULL);
    fixture_node(&f, "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'4','memory':'10Gi',"
                     "'pods':'9','x.y/gpu':'2'},'images':[{'names':['a:1','a@2'],'sizeBytes':7},{"
                     "'names':['b:1'],'sizeBytes':8}]}}");
    fixture_node(&f, "{'metadata':{'name':'m'},'status':{'allocatable':{'cpu':'4','pods':'9'},"
                     "'images':[{'names':['a:1','a:1'],'sizeBytes':7}]}}");
    fixture_pod(
        &f,
        "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{'nodeName':'n'," ANTI(
            "required",
            "{'topologyKey':'k'}") "'initContainers':[{'name':'i','ports':[{"
                                   "'hostPort':70}]},{'name':'j','restartPolicy':'Always','ports':["
                                   "{'hostPort':90,"
                                   "'protocol':'UDP'}]}],'containers':[{'name':'c','ports':[{'"
                                   "hostPort':80},{"
                                   "'hostPort':80}],'resources':{'requests':{'cpu':'1500m'}}}]}}");
    fixture_pod(
        &f, "{'metadata':{'name':'t','namespace':'ns','uid':'t'},'spec':{'nodeName':'n'," ANTI(
                "preferred",
                "{'weight':1,'podAffinityTerm':{'topologyKey':'k'}}") "'volumes':[{"
                                                                      "'name':'v','"
                                                                      "persistentVolumeClaim':{'"
                                                                      "claimName':'data'}}],'"
                                                                      "containers':[{'name':"
                                                                      "'c','ports':[{'hostIP':'1."
                                                                      "2.3.4','hostPort':80}],'"
                                                                      "resources':{'requests':{"
                                                                      "'x.y/gpu':'1'}}}]}}");
    assert_false(debug_node(f.cache, "nobody", &out));
    assert_true(debug_node(f.cache, "n", &out));
    assert_int_equal(kj_parse(out.data, out.len, 0, &doc, NULL), 0);
    const struct kj_val *root = kj_root(doc);
    assert_string_equal(kj_str_or(kj_path(root, "node.metadata.name"), ""), "n");
    assert_int_equal(kj_len(kj_get(root, "pods")), 2);
    assert_int_equal(kj_len(kj_get(root, "podsWithAffinity")), 2);
    const struct kj_val *away = kj_get(root, "podsWithRequiredAntiAffinity");
    assert_int_equal(kj_len(away), 1);
    assert_string_equal(kj_str_or(kj_path(kj_at(away, 0), "Pod.metadata.name"), ""), "s");
    assert_string_equal(kj_str_or(kj_path(kj_at(away, 0), "Pod.spec.nodeName"), ""), "n");
    CLEANUP(strbuf_fini) struct strbuf rest = STRBUF_INIT;
    static const char *const members[] = { "usedPorts",   "requested",   "nonZeroRequested",
                                           "remaining",   "allocatable", "imageStates",
                                           "pvcRefCounts" };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        kj_write(kj_get(root, members[i]), 0, &rest);
        strbuf_append(&rest, "\n");
    }
    assert_string_equal(
        strbuf_str(&rest),
        "{\"0.0.0.0\":[{\"Protocol\":\"TCP\",\"Port\":80},{\"Protocol\":\"UDP\",\"Port\":90}],"
        "\"1.2.3.4\":[{\"Protocol\":\"TCP\",\"Port\":80}]}\n"
        "{\"MilliCPU\":1500,\"Memory\":0,\"EphemeralStorage\":0,\"AllowedPodNumber\":0,"
        "\"ScalarResources\":{\"x.y/gpu\":1}}\n"
        "{\"MilliCPU\":1700,\"Memory\":629145600,\"EphemeralStorage\":0,\"AllowedPodNumber\":0}\n"
        "{\"MilliCPU\":2500,\"Memory\":10737418240,\"EphemeralStorage\":0,\"AllowedPodNumber\":9,"
        "\"ScalarResources\":{\"x.y/gpu\":1}}\n"
        "{\"MilliCPU\":4000,\"Memory\":10737418240,\"EphemeralStorage\":0,\"AllowedPodNumber\":9,"
        "\"ScalarResources\":{\"x.y/gpu\":2}}\n"
        "{\"a:1\":{\"Size\":7,\"NumNodes\":2},\"a@2\":{\"Size\":7,\"NumNodes\":1},"
        "\"b:1\":{\"Size\":8,\"NumNodes\":1}}\n"
        "{\"ns/data\":1}\n");
}

static void test_why_a_pod_found_no_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    fixture_init(&f, state, "NodeResourcesFit TaintToleration", NULL);
    fixture_node(&f, "{'metadata':{'name':'b'},'status':{'allocatable':{'cpu':'1','pods':'9'}}}");
    fixture_node(&f, "{'metadata':{'name':'a'},'status':{'allocatable':{'cpu':'2','pods':'9'}}}");
    fixture_node(&f,
                 "{'metadata':{'name':'c'},'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]},"
                 "'status':{'allocatable':{'cpu':'9','pods':'9'}}}");
    fixture_pod(&f, "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{'nodeName':'a',"
                    "'containers':[{'name':'c','resources':{'requests':{'cpu':'1500m'}}}]}}");
    fixture_pod(&f, "{'metadata':{'name':'t','namespace':'ns','uid':'t'},'spec':{'nodeName':'b',"
                    "'containers':[{'name':'c','resources':{'requests':{'cpu':'500m'}}}]}}");
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'cpu':'1'}}}]},'status':{"
                    "'nominatedNodeName':'a'}}");
    diagnosis_write(&f.a, &(struct diagnosis_room){ .refused = " no way" }, 0, &out);
    assert_string_equal(
        strbuf_str(&out),
        "{\"timestamp\":\"1970-01-01T00:00:00Z\",\"questionedKey\":\"ns/p\",\"nominatedNode\":"
        "\"a\",\"isRootCausePod\":true,\"scheduleDiagnosis\":{\"alreadyWaitForBound\":0,"
        "\"nodeFailedDetails\":[{\"failedPlugin\":\"NodeResourcesFit\",\"reason\":"
        "\"Insufficient cpu\",\"preemptMightHelp\":true,\"failedNodes\":[\"a\",\"b\"]},{"
        "\"failedPlugin\":\"TaintToleration\",\"reason\":\"node(s) had untolerated taint(s)\","
        "\"preemptMightHelp\":false,\"failedNodes\":[\"c\"]}]},\"preemptionDiagnosis\":{"
        "\"dryRunFilterDiagnosis\":null,\"otherDiagnosis\":null,\"failedMessage\":\"no way\"}}");
    strbuf_reset(&out);
    diagnosis_write(&f.a,
                    &(struct diagnosis_room){
                        .refused = "", .suggestion = &(struct ks_suggestion){ "Wait", "a while" } },
                    0, &out);
    assert_contains(strbuf_str(&out),
                    "\"preemptionDiagnosis\":null,\"suggestion\":{\"type\":\"Wait\","
                    "\"message\":\"a while\"}}");
}

static void test_what_pods_ask_for(void **state)
{
    static const char *const texts[] = {
        "{'metadata':{'name':'z','namespace':'a','uid':'1'},'spec':{'schedulerName':'s\\\"x',"
        "'nodeName':'n','priority':7,'containers':[{'name':'c','resources':{'requests':{'cpu':"
        "'1500m','memory':'1Ki','x.y/gpu':'2'},'limits':{'cpu':'2','hugepages-2Mi':'4Mi'}}}]}}",
        "{'metadata':{'name':'b','namespace':'a','uid':'2'},'spec':{'containers':[{'name':'c',"
        "'resources':{'requests':{'cpu':'0','ephemeral-storage':'5'}}}]}}",
        "{'metadata':{'name':'c','namespace':'a','uid':'3'},'spec':{'nodeName':'n','containers':[{"
        "'name':'c','resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':'Failed'}}",
    };
#define Z "namespace=\"a\",node=\"n\",pod=\"z\",priority=\"7\",resource="
#define S ",scheduler=\"s\\\"x\",unit="
    CLEANUP(fixture_fini) struct plugin_fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kobj *pods[ARRAY_LEN(texts)];

    fixture_init(&f, state, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        pods[i] = fixture_object(f.base, &kind_pod, texts[i]);
    podmetrics_write(pods, ARRAY_LEN(pods), &out);
    assert_string_equal(
        strbuf_str(&out),
        "# HELP kube_pod_resource_limit Resources that a pod may use at most, with their unit.\n"
        "# TYPE kube_pod_resource_limit gauge\n"
        "kube_pod_resource_limit{" Z "\"cpu\"" S "\"cores\"} 2\n"
        "kube_pod_resource_limit{" Z "\"hugepages-2Mi\"" S "\"bytes\"} 4.194304e+06\n"
        "# HELP kube_pod_resource_request Resources that a pod asks for, with their unit.\n"
        "# TYPE kube_pod_resource_request gauge\n"
        "kube_pod_resource_request{namespace=\"a\",node=\"\",pod=\"b\",priority=\"\",resource="
        "\"ephemeral-storage\",scheduler=\"\",unit=\"bytes\"} 5\n"
        "kube_pod_resource_request{" Z "\"cpu\"" S "\"cores\"} 1.5\n"
        "kube_pod_resource_request{" Z "\"memory\"" S "\"bytes\"} 1024\n"
        "kube_pod_resource_request{" Z "\"x.y/gpu\"" S "\"integer\"} 2\n");
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        kobj_unref(pods[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_score_table),
        FIXTURE_TEST(test_why_a_node_was_rejected),
        FIXTURE_TEST(test_in_which_pass_a_node_was_rejected),
        FIXTURE_TEST(test_a_node_as_the_scheduler_sees_it),
        FIXTURE_TEST(test_why_a_pod_found_no_node),
        FIXTURE_TEST(test_what_pods_ask_for),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
