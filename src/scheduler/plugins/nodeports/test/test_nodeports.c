/* test_nodeports.c - host ports of pods on one node (scheduler-core 2.3, 8.7). */
#include "scheduler/test/plugin_checks.h"

#define NAME  "NodePorts"
#define TAKEN "node(s) didn't have free ports for the requested pod ports"

/* The pod has one container with these ports. node "": none */
static const char *pod_text(const char *name, const char *node, const char *ports)
{
    static char text[2][1024];
    static int next;
    char *at = text[next++ % 2];

    (void)snprintf(at, sizeof text[0],
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{'nodeName':'%s',"
                   "'containers':[{'name':'c','ports':[%s]}]}}",
                   name, name, node, ports);
    return at;
}

static bool fits_beside(void **state, const char *used, const char *wanted)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    fixture_node(&f, "{'metadata':{'name':'a'}}");
    fixture_pod(&f, pod_text("u", "a", used));
    fixture_try(&f, pod_text("p", "", wanted));
    if (!fixture_fits(&f, "a")) {
        assert_string_equal(fixture_why(&f, "a"), TAKEN);
        assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    }
    return fixture_fits(&f, "a");
}

#define PORT(rest) "{'containerPort':80," rest "}"

static void test_addresses(void **state)
{
    const char *local = PORT("'hostPort':8080,'hostIP':'127.0.0.1','protocol':'TCP'");
    const char *other = PORT("'hostPort':8080,'hostIP':'127.0.0.2','protocol':'TCP'");
    const char *all = PORT("'hostPort':8080,'hostIP':'0.0.0.0','protocol':'TCP'");
    const char *bare = PORT("'hostPort':8080");

    assert_true(fits_beside(state, other, local));
    assert_false(fits_beside(state, local, local));
    assert_false(fits_beside(state, all, local));
    assert_false(fits_beside(state, local, all));
    assert_false(fits_beside(state, bare, local)); /* no address is all of them */
    assert_false(fits_beside(state, local, bare));
    assert_false(fits_beside(state, bare, all));
}

static void test_protocols_and_numbers(void **state)
{
    const char *tcp = PORT("'hostPort':8080,'protocol':'TCP'");

    assert_false(fits_beside(state, PORT("'hostPort':8080"), tcp)); /* no protocol is TCP */
    assert_true(fits_beside(state, tcp, PORT("'hostPort':8080,'protocol':'UDP'")));
    assert_true(fits_beside(state, tcp, PORT("'hostPort':8080,'protocol':'SCTP'")));
    assert_true(fits_beside(state, tcp, PORT("'hostPort':8081")));
    /* A port of the container alone is no port of the node. */
    assert_true(fits_beside(state, "{'containerPort':8080}", "{'containerPort':8080}"));
    /* Any of several is enough. */
    assert_false(fits_beside(state, PORT("'hostPort':1") "," PORT("'hostPort':2"),
                             PORT("'hostPort':3") "," PORT("'hostPort':2")));
}

static void test_sidecars_count_and_init_containers_do_not(void **state)
{
    static const char wants[] = "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{"
                                "'initContainers':[{'name':'i'%s,'ports':[{'hostPort':53}]}]}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];

    fixture_init(&f, state, NAME, NULL);
    fixture_node(&f, "{'metadata':{'name':'a'}}");
    fixture_pod(&f, pod_text("u", "a", PORT("'hostPort':53")));
    (void)snprintf(text, sizeof text, wants, "");
    fixture_try(&f, text);
    assert_true(fixture_fits(&f, "a"));
    (void)snprintf(text, sizeof text, wants, ",'restartPolicy':'Always'");
    fixture_try(&f, text);
    assert_false(fixture_fits(&f, "a"));
}

static void test_ports_come_and_go(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *port = PORT("'hostPort':8080");

    fixture_init(&f, state, NAME, NULL);
    fixture_node(&f, "{'metadata':{'name':'a'}}");
    fixture_node(&f, "{'metadata':{'name':'b'}}");
    fixture_try(&f, pod_text("p1", "", port));
    assert_int_equal(f.a.feasible, 2);
    fixture_pod(&f, pod_text("p1", "b", port));
    fixture_try(&f, pod_text("p2", "", port));
    assert_false(fixture_fits(&f, "b"));
    assert_true(fixture_fits(&f, "a"));
    fixture_pod(&f, pod_text("p2", "a", port));
    fixture_try(&f, pod_text("p3", "", port));
    assert_string_equal(fixture_message(&f), "0/2 nodes are available: 2 " TAKEN ".");
    assert_true(nodecache_remove_pod(f.cache, kuid_parse("p1", 2)));
    fixture_try(&f, pod_text("p3", "", port));
    assert_true(fixture_fits(&f, "b"));
    fixture_try(&f, pod_text("q", "", "")); /* wants none */
    assert_int_equal(f.a.feasible, 2);
}

static void test_ports_nominated_for_others(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *port = PORT("'hostPort':8080");

    fixture_init(&f, state, NAME, NULL);
    fixture_node(&f, "{'metadata':{'name':'a'}}");
    fixture_nominate(&f, "{'metadata':{'name':'n','namespace':'ns','uid':'n'},'spec':{'containers':"
                         "[{'name':'c','ports':[{'hostPort':8080}]}]},"
                         "'status':{'nominatedNodeName':'a'}}");
    fixture_try(&f, pod_text("p", "", port));
    assert_false(fixture_fits(&f, "a"));
    assert_string_equal(fixture_why(&f, "a"), TAKEN);
    nominator_remove(f.nominator, kuid_parse("n", 1));
    fixture_try(&f, pod_text("p", "", port));
    assert_true(fixture_fits(&f, "a"));
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *same = PORT("'hostPort':8080"), *other = PORT("'hostPort':8081");
    const char *me = "{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{'containers':"
                     "[{'name':'c','ports':[{'hostPort':8080}]}]}}";

    fixture_init(&f, state, NAME, NULL);
#define GONE(resource, pod) plugin_worth(&f, NAME, resource, KS_DELETE, pod, NULL, me)
    assert_true(GONE(KS_RES_ASSIGNED_POD, pod_text("o", "a", same)));
    assert_false(GONE(KS_RES_ASSIGNED_POD, pod_text("o", "a", other)));
    assert_false(GONE(KS_RES_UNSCHEDULABLE_POD, pod_text("o", "", same)));
    /* Assumed only: the event knows the node, the object does not. */
    assert_true(GONE(KS_RES_ASSIGNED_POD, pod_text("o", "", same)));
    assert_true(GONE(KS_RES_UNSCHEDULABLE_POD,
                     "{'metadata':{'name':'o','namespace':'ns','uid':'o'},'spec':{'containers':"
                     "[{'name':'c','ports':[{'hostPort':8080}]}]},"
                     "'status':{'nominatedNodeName':'a'}}"));
#undef GONE
    assert_true(plugin_worth(&f, NAME, KS_RES_NODE, KS_ADD, NULL, "{'metadata':{'name':'n'}}", me));
    assert_false(plugin_worth(&f, NAME, KS_RES_NODE, KS_NODE_LABEL, "{'metadata':{'name':'n'}}",
                              "{'metadata':{'name':'n'}}", me));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_addresses),
        FIXTURE_TEST(test_protocols_and_numbers),
        FIXTURE_TEST(test_sidecars_count_and_init_containers_do_not),
        FIXTURE_TEST(test_ports_come_and_go),
        FIXTURE_TEST(test_ports_nominated_for_others),
        FIXTURE_TEST(test_hints),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
