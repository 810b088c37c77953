/* test_deviceengine.c - DeviceShare on a whole scheduler: what is written, what stays taken, and
 * what came of the complaints that users of the original had (sched-device 3, 5, 8). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "json/kj.h"

#define DEVICES      "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define CONFIGMAPS   "/api/v1/namespaces/koordinator-system/configmaps"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_device_share, 1, true },   { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* Without those that score in another way. */
static const struct ks_registered packing_plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ' for ". */
static char *json(const char *fmt, ...) PRINTF(1, 2);
static char *json(const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = b.data[i] == '\'' ? '"' : b.data[i];
    return strbuf_take(&b);
}

static void put(struct engine_fixture *b, const char *path, const char *name, char *body)
{
    fake_put(b->client.fake, path, name, body);
    free(body);
    client_fixture_run(&b->client, 5 * SEC);
}

static void put_node(struct engine_fixture *b, const char *name, const char *labels)
{
    put(b, NODES, name,
        json("{'metadata':{'labels':{%s}},'status':{'allocatable':{'cpu':'64','memory':'64Gi',"
             "'pods':'100','koordinator.sh/gpu':'800','koordinator.sh/gpu-core':'800',"
             "'koordinator.sh/gpu-memory-ratio':'800','koordinator.sh/gpu-memory':'640Gi',"
             "'koordinator.sh/gpu.shared':'800'}}}",
             labels));
}

/* Cards of 8Gi; sick: the minor of one that is not healthy, or -1. */
static void put_device(struct engine_fixture *b, const char *name, int gpus, int sick)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < gpus; i++)
        strbuf_appendf(&list,
                       "%s{'type':'gpu','minor':%d,'id':'GPU-%d','health':%s,'resources':{"
                       "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100',"
                       "'koordinator.sh/gpu-memory':'8Gi'}}",
                       i ? "," : "", i, i, i == sick ? "false" : "true");
    put(b, DEVICES, name, json("{'spec':{'devices':[%s]}}", strbuf_str(&list)));
}

struct wanted {
    const char *labels, *annotations, *requests, *spec;
};
static void put_pod(struct engine_fixture *b, const char *name, const struct wanted *w)
{
    put(b, PODS, name,
        json("{'metadata':{'labels':{%s},'annotations':{%s}},'spec':{'schedulerName':"
             "'koord-scheduler'%s,'containers':[{'name':'c','resources':{'requests':{%s}}}]}}",
             str_or(w->labels, ""), str_or(w->annotations, ""), str_or(w->spec, ""),
             str_or(w->requests, "'koordinator.sh/gpu':'100'")));
}

static void put_percent(struct engine_fixture *b, const char *name, int percent)
{
    CLEANUP(mem_free) char *requests = xasprintf("'koordinator.sh/gpu':'%d'", percent);

    put_pod(b, name, &(struct wanted){ .requests = requests });
}

/* The minors of the GPUs that an object was given: "0,1"; "" when it has none. */
static const char *gpus_of(const struct engine_fixture *b, const char *path, const char *name)
{
    static char text[256];
    const char *body = fake_find(b->client.fake, path, name), *at;
    size_t n = 0;

    text[0] = '\0';
    at = body ? strstr(body, ANNO_DEVICE_ALLOCATED) : NULL;
    at = at ? strstr(at, "gpu\\\"") : NULL;
    const char *end = at ? strchr(at, ']') : NULL;
    while (at && (at = strstr(at, "minor\\\":")) && at < end) {
        at += strlen("minor\\\":");
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n ? "," : "", atoi(at));
    }
    return text;
}

static void drop(struct engine_fixture *b, const char *path, const char *name)
{
    fake_delete(b->client.fake, path, name);
    client_fixture_run(&b->client, 5 * SEC);
}

static void start(struct engine_fixture *b, int gpus)
{
    engine_start_with(b, 1, plugins);
    put_node(b, "n", "");
    put_device(b, "n", gpus, -1);
}

static void restart(struct engine_fixture *b)
{
    static const char *const names[] = { "koord-scheduler", NULL };
    struct kerr err = { 0 };

    scheduler_free(b->s);
    b->s = scheduler_new(b->client.loop, b->client.kube,
                         &(struct scheduler_opts){
                             .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                         &err);
    assert_non_null(b->s);
    scheduler_start(b->s);
    client_fixture_run(&b->client, 5 * SEC);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void test_node_and_cards_come_with_one_write(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    put_percent(&b, "half", 50);
    const char *pod = fake_find(b.client.fake, PODS, "half");
    assert_contains(pod, "{\\\"gpu\\\":[{\\\"minor\\\":0,\\\"resources\\\":{\\\"koordinator.sh/gpu-"
                         "core\\\":\\\"50\\\",\\\"koordinator.sh/gpu-memory\\\":\\\"4Gi\\\","
                         "\\\"koordinator.sh/gpu-memory-ratio\\\":\\\"50\\\"},\\\"id\\\":\\\"GPU-0"
                         "\\\"}]}");
    put_percent(&b, "whole", 100);
    assert_string_equal(gpus_of(&b, PODS, "whole"), "1");
    put_percent(&b, "late", 100);
    assert_string_equal(engine_node_of(&b, "late"), "");
    assert_contains(engine_condition(&b, "late", "message"), "Insufficient gpu devices");
    engine_verify(&b);
}

/* A node without a Device is the kubelet's business. */
static void test_nodes_without_devices(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, plugins);
    put_node(&b, "n", "");
    put_percent(&b, "p", 100);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_string_equal(gpus_of(&b, PODS, "p"), "");
}

/* ---- what stays taken ------------------------------------------------------------------------ */

/* koord#1289: cards were given twice after a change of leader. */
static void test_a_restart_forgets_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    put_percent(&b, "a", 100);
    assert_string_equal(gpus_of(&b, PODS, "a"), "0");
    restart(&b);
    put_percent(&b, "b", 100);
    assert_string_equal(gpus_of(&b, PODS, "b"), "1");
    put_percent(&b, "c", 100);
    assert_string_equal(engine_node_of(&b, "c"), "");
    engine_verify(&b);
}

/* HAMi#2923: the cards of a deleted pod stayed taken; and who waits for them gets them at once. */
static void test_pods_that_go_leave_their_cards(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 1);
    put_percent(&b, "a", 100);
    put_percent(&b, "b", 100);
    assert_string_equal(engine_node_of(&b, "b"), "");
    drop(&b, PODS, "a");
    assert_string_equal(gpus_of(&b, PODS, "b"), "0");
    engine_verify(&b);
}

static void test_a_device_goes_and_returns(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    put_percent(&b, "a", 100);
    drop(&b, DEVICES, "n");
    put_percent(&b, "b", 100);
    assert_string_equal(engine_node_of(&b, "b"), ""); /* nothing of it is healthy */
    put_device(&b, "n", 2, -1);
    assert_string_equal(gpus_of(&b, PODS, "b"), "1");
    put_percent(&b, "c", 100);
    assert_string_equal(engine_node_of(&b, "c"), "");
    engine_verify(&b);
}

/* volcano#1782: a pod was sent to a card that had failed. */
static void test_cards_that_fail(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    put_device(&b, "n", 2, 0);
    put_percent(&b, "a", 100);
    assert_string_equal(gpus_of(&b, PODS, "a"), "1");
    put_percent(&b, "b", 100);
    assert_string_equal(engine_node_of(&b, "b"), "");
    put_device(&b, "n", 2, -1);
    assert_string_equal(gpus_of(&b, PODS, "b"), "0");
    engine_verify(&b);
}

/* ---- sharing --------------------------------------------------------------------------------- */

/* koord#2517: no node has the isolation that a pod wants, and it was an error that nobody saw. */
static void test_isolation_that_no_node_has(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    const char *hami = "'koordinator.sh/gpu-isolation-provider':'HAMi-core'";

    (void)state;
    start(&b, 2);
    put_pod(&b, "shared",
            &(struct wanted){ .labels = hami, .requests = "'koordinator.sh/gpu':'50'" });
    assert_string_equal(engine_node_of(&b, "shared"), "");
    assert_string_equal(engine_condition(&b, "shared", "reason"), "Unschedulable");
    assert_contains(engine_condition(&b, "shared", "message"),
                    "1 GPUIsolationProviderHAMICore not found on the node");
    put_pod(&b, "whole", &(struct wanted){ .labels = hami });
    assert_string_equal(engine_node_of(&b, "whole"), "n"); /* nothing to isolate */
    put_node(&b, "n", hami);
    assert_string_equal(gpus_of(&b, PODS, "shared"), "1");
    engine_verify(&b);
}

/* ---- reservations ---------------------------------------------------------------------------- */

static void reserve(struct engine_fixture *b, const char *name, const char *policy, int percent,
                    const char *app)
{
    put(b, RESERVATIONS, name,
        json("{'spec':{'ttl':'0s','allocatePolicy':'%s','allocateOnce':false,'owners':[{"
             "'labelSelector':{'matchLabels':{'app':'%s'}}}],'template':{'spec':{'schedulerName':"
             "'koord-scheduler','containers':[{'name':'c','resources':{'requests':{"
             "'koordinator.sh/gpu':'%d'}}}]}}}}",
             policy, app, percent));
}

static void test_owners_get_what_is_reserved(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2);
    reserve(&b, "r", "Aligned", 100, "a");
    assert_string_equal(gpus_of(&b, RESERVATIONS, "r"), "0");
    put_percent(&b, "stranger", 100);
    assert_string_equal(gpus_of(&b, PODS, "stranger"), "1");
    put_percent(&b, "late", 50);
    assert_string_equal(engine_node_of(&b, "late"), "");
    for (int i = 0; i < 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "owner-%d", i);
        put_pod(&b, name,
                &(struct wanted){ .labels = "'app':'a'", .requests = "'koordinator.sh/gpu':'50'" });
        assert_string_equal(gpus_of(&b, PODS, name), "0");
    }
    put_pod(&b, "third",
            &(struct wanted){ .labels = "'app':'a'", .requests = "'koordinator.sh/gpu':'50'" });
    assert_string_equal(engine_node_of(&b, "third"), "");
    restart(&b);
    assert_string_equal(engine_node_of(&b, "third"), "");
    assert_string_equal(engine_node_of(&b, "late"), "");
    drop(&b, PODS, "owner-1");
    assert_string_equal(gpus_of(&b, PODS, "third"), "0");
    assert_string_equal(engine_node_of(&b, "late"), "");
    engine_verify(&b);
}

/* Restricted: nothing but what it keeps, though the card has more to give. */
static void test_restricted_gives_no_more(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    const char *affinity = "'scheduling.koordinator.sh/reservation-affinity':'{}'";

    (void)state;
    start(&b, 1);
    reserve(&b, "r", "Restricted", 50, "a");
    put_pod(&b, "big",
            &(struct wanted){ .labels = "'app':'a'",
                              .annotations = affinity,
                              .requests = "'koordinator.sh/gpu':'60'" });
    assert_string_equal(engine_node_of(&b, "big"), "");
    put_pod(&b, "fits",
            &(struct wanted){ .labels = "'app':'a'",
                              .annotations = affinity,
                              .requests = "'koordinator.sh/gpu':'50'" });
    assert_string_equal(gpus_of(&b, PODS, "fits"), "0");
    engine_verify(&b);
}

/* koord#3173: a pod took the card of another reservation than the one it was recorded with. Two
 * reservations, half a card each; whoever wants more than a half gets it from neither. */
static void test_no_card_of_another_reservation(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 1);
    reserve(&b, "r1", "Aligned", 50, "a");
    reserve(&b, "r2", "Aligned", 50, "a");
    put_pod(&b, "both", &(struct wanted){ .labels = "'app':'a'" });
    assert_string_equal(engine_node_of(&b, "both"), "");
    put_pod(&b, "one",
            &(struct wanted){ .labels = "'app':'a'", .requests = "'koordinator.sh/gpu':'50'" });
    assert_string_equal(gpus_of(&b, PODS, "one"), "0");
    put_percent(&b, "stranger", 10);
    assert_string_equal(engine_node_of(&b, "stranger"), ""); /* the other half is kept */
    engine_verify(&b);
}

/* koord#2252: a pod that ignores reservations may have what they keep. */
static void test_pods_that_ignore_reservations(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 1);
    reserve(&b, "r", "Aligned", 100, "a");
    put_percent(&b, "stranger", 100);
    assert_string_equal(engine_node_of(&b, "stranger"), "");
    put_pod(&b, "ignorant",
            &(struct wanted){ .labels = "'scheduling.koordinator.sh/reservation-ignored':'true'" });
    assert_string_equal(gpus_of(&b, PODS, "ignorant"), "0");
    engine_verify(&b);
}

/* koord#3212: taking over a pod was stuck unless it had the first card. */
static void test_taking_over_a_pod_with_any_card(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 4);
    put_percent(&b, "first", 100);
    put_percent(&b, "second", 100);
    put_pod(&b, "taken", &(struct wanted){ .labels = "'app':'a'" });
    assert_string_equal(gpus_of(&b, PODS, "taken"), "2");
    drop(&b, PODS, "first");
    put(&b, RESERVATIONS, "r",
        json("{'metadata':{'labels':{'" LABEL_PRE_ALLOCATION_REQUIRED
             "':'true'}},'spec':{'ttl':'0s','preAllocation':true,'allocatePolicy':'Restricted',"
             "'allocateOnce':false,'owners':[{'labelSelector':{'matchLabels':{'app':'a'}}}],"
             "'template':{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c',"
             "'resources':{'requests':{'koordinator.sh/gpu':'100'}}}]}}}}"));
    assert_string_equal(gpus_of(&b, RESERVATIONS, "r"), "2");
    assert_contains(fake_find(b.client.fake, PODS, "taken"), ANNO_RESERVATION_ALLOCATED);
    put_percent(&b, "next", 100);
    assert_string_equal(gpus_of(&b, PODS, "next"), "0");
    engine_verify(&b);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void test_bad_devices_and_annotations(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_with(&b, 1, plugins);
    put_node(&b, "n", "");
    put(&b, DEVICES, "n",
        json("{'metadata':{'annotations':{'scheduling.koordinator.sh/gpu-partitions':'{1:'}},"
             "'spec':{'devices':["
             "{'type':'gpu','health':true},{'type':'gpu','minor':-1,'health':true},"
             "{'type':'toaster','minor':0,'health':true},"
             "{'type':'gpu','minor':10000,'id':'GPU-far','health':true,'topology':{'nodeID':9999},"
             "'resources':{'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100',"
             "'koordinator.sh/gpu-memory':'9E'}},"
             "{'type':'gpu','minor':10000,'health':true},"
             "{'type':'gpu','minor':3,'health':true,'resources':{'koordinator.sh/gpu-core':'-5'}}]"
             "}}"));
    put(&b, PODS, "garbage",
        json("{'metadata':{'annotations':{'scheduling.koordinator.sh/device-allocated':'[7'}},"
             "'spec':{'nodeName':'n','containers':[{'name':'c'}]}}"));
    put(&b, PODS, "elsewhere",
        json("{'metadata':{'annotations':{'scheduling.koordinator.sh/device-allocated':"
             "'{\\'gpu\\':[{\\'minor\\':77,\\'resources\\':{\\'koordinator.sh/gpu-core\\':"
             "\\'900\\'}}],\\'toaster\\':[{\\'minor\\':0}]}'}},'spec':{'nodeName':'n',"
             "'containers':[{'name':'c'}]}}"));
    put_percent(&b, "p", 100);
    assert_string_equal(gpus_of(&b, PODS, "p"), "10000");
    put_pod(&b, "words",
            &(struct wanted){ .annotations = "'scheduling.koordinator.sh/"
                                             "device-allocate-hint':'{\\'gpu\\':{"
                                             "\\'selector\\':{\\'matchExpressions\\':"
                                             "[{\\'key\\':\\'a\\',\\'operator\\':"
                                             "\\'Perhaps\\'}]}}}'" });
    assert_contains(engine_condition(&b, "words", "message"), "DeviceHint, deviceType: gpu, err: ");
    engine_verify(&b);
}

/* More than there is: nothing is left, and nothing is below zero. */
static void test_pods_that_hold_more_than_there_is(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 1);
    put(&b, PODS, "greedy",
        json("{'metadata':{'annotations':{'scheduling.koordinator.sh/device-allocated':"
             "'{\\'gpu\\':[{\\'minor\\':0,\\'resources\\':{\\'koordinator.sh/gpu-core\\':"
             "\\'9000000000000000000\\',\\'koordinator.sh/gpu-memory-ratio\\':\\'300\\'}}]}'}},"
             "'spec':{'nodeName':'n','containers':[{'name':'c'}]}}"));
    put_percent(&b, "p", 1);
    assert_string_equal(engine_node_of(&b, "p"), "");
    drop(&b, PODS, "greedy");
    assert_string_equal(gpus_of(&b, PODS, "p"), "0");
    engine_verify(&b);
}

/* ---- FragmentationAware ---------------------------------------------------------------------- */

static void start_packing(struct engine_fixture *b, struct arena *a)
{
    static const char text[] = "{\"scoringStrategy\":{\"type\":\"FragmentationAware\"}}";
    struct profile_config c = profile_config_default(packing_plugins, "koord-scheduler", a);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct profile_args own = { "DeviceShare", NULL };
    void *decoded = NULL;

    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    assert_int_equal(args_decode(ks_plugin_device_share.args, kj_root(doc),
                                 &(struct ks_args_context){ 0 }, a, &decoded, NULL),
                     0);
    own.args = decoded;
    c.args = &own;
    c.nargs = 1;
    engine_start_opts(
        b, 1,
        (struct scheduler_opts){ .profiles = &c, .nprofiles = 1, .plugins = packing_plugins });
}

/* Parts go to cards that are in use already, so that whole ones stay for those who want them; and
 * who wants no GPU stays away from the CPUs of free cards. */
static void test_what_stays_free_is_of_use(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_packing(&b, a);
    put_node(&b, "n1", "");
    put_device(&b, "n1", 2, -1);
    put_node(&b, "n2", "");
    put_device(&b, "n2", 2, -1);
    put_percent(&b, "before", 200); /* such pods come here too */
    drop(&b, PODS, "before");
    put_percent(&b, "whole", 100);
    put_percent(&b, "first", 50);
    const char *with = engine_node_of(&b, "first");
    CLEANUP(mem_free) char *node = xstrdup(with), *card = xstrdup(gpus_of(&b, PODS, "first"));
    assert_string_not_equal(node, "");
    put_percent(&b, "second", 50);
    assert_string_equal(engine_node_of(&b, "second"), node);
    assert_string_equal(gpus_of(&b, PODS, "second"), card);
    put_percent(&b, "pair", 200); /* a node is still whole */
    assert_string_not_equal(engine_node_of(&b, "pair"), "");
    assert_string_not_equal(engine_node_of(&b, "pair"), node);
    engine_verify(&b);
}

static void test_pods_without_gpus_leave_cpus_to_cards(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_packing(&b, a);
    put_node(&b, "n1", "");
    put_device(&b, "n1", 2, -1);
    put_node(&b, "n2", "");
    put_device(&b, "n2", 2, -1);
    put_pod(&b, "before", &(struct wanted){ .requests = "'koordinator.sh/gpu':'200','cpu':'60'" });
    drop(&b, PODS, "before");
    put_pod(&b, "both", &(struct wanted){ .requests = "'koordinator.sh/gpu':'200','cpu':'2'" });
    CLEANUP(mem_free) char *full = xstrdup(engine_node_of(&b, "both"));
    put_pod(&b, "plain", &(struct wanted){ .requests = "'cpu':'30'" });
    assert_string_equal(engine_node_of(&b, "plain"), full); /* its cards are gone anyway */
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_and_cards_come_with_one_write),
        cmocka_unit_test(test_nodes_without_devices),
        cmocka_unit_test(test_a_restart_forgets_nothing),
        cmocka_unit_test(test_pods_that_go_leave_their_cards),
        cmocka_unit_test(test_a_device_goes_and_returns),
        cmocka_unit_test(test_cards_that_fail),
        cmocka_unit_test(test_isolation_that_no_node_has),
        cmocka_unit_test(test_owners_get_what_is_reserved),
        cmocka_unit_test(test_restricted_gives_no_more),
        cmocka_unit_test(test_no_card_of_another_reservation),
        cmocka_unit_test(test_pods_that_ignore_reservations),
        cmocka_unit_test(test_taking_over_a_pod_with_any_card),
        cmocka_unit_test(test_bad_devices_and_annotations),
        cmocka_unit_test(test_pods_that_hold_more_than_there_is),
        cmocka_unit_test(test_what_stays_free_is_of_use),
        cmocka_unit_test(test_pods_without_gpus_leave_cpus_to_cards),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
