/* test_cards.c - cards that a slice and a Device both describe: what DeviceShare holds claims do
 * not get, and the reverse; on a whole scheduler. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/protocol/keys.h"
#include "base/arena.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/registry.h"

#define CLAIMS       "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
#define SLICES       "/apis/resource.k8s.io/v1/resourceslices"
#define CLASSES      "/apis/resource.k8s.io/v1/deviceclasses"
#define DEVICES      "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_dynamic_resources, 2, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
/* DeviceShare reserves first. */
static const struct ks_registered reversed[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_dynamic_resources, 2, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void put(struct engine_fixture *b, const char *path, const char *name, const char *fmt, ...)
    PRINTF(4, 5);
static void put(struct engine_fixture *b, const char *path, const char *name, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf s = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&s, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < s.len; i++)
        s.data[i] = s.data[i] == '\'' ? '"' : s.data[i];
    fake_put(b->client.fake, path, name, strbuf_str(&s));
}

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 12 * SEC);
    engine_verify(b);
}

/* Cards by their UUID: the Device lists them backwards. */
static void put_device(struct engine_fixture *b, const char *node, int n)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < n; i++)
        strbuf_appendf(&list,
                       "%s{'type':'gpu','minor':%d,'id':'GPU-%s-%d','health':true,'topology':{"
                       "'socketID':0,'nodeID':0,'pcieID':'0','busID':'0000:%02X:00.0'},'resources':"
                       "{'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100',"
                       "'koordinator.sh/gpu-memory':'8Gi'}}",
                       i ? "," : "", i, node, n - 1 - i, 0xa0 + n - 1 - i);
    put(b, DEVICES, node, "{'spec':{'devices':[%s]}}", strbuf_str(&list));
}

static void put_slice(struct engine_fixture *b, const char *node, int n, bool by_address)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < n; i++) {
        strbuf_appendf(&list, "%s{'name':'g%d','attributes':{", i ? "," : "", i);
        if (by_address)
            strbuf_appendf(&list, "'resource.kubernetes.io/pciBusID':{'string':'%02x:00.0'}}}",
                           0xa0 + i);
        else
            strbuf_appendf(&list, "'uuid':{'string':'gpu-%s-%d'}}}", node, i);
    }
    put(b, SLICES, node,
        "{'spec':{'driver':'d','nodeName':'%s','pool':{'name':'%s','generation':1,"
        "'resourceSliceCount':1},'devices':[%s]}}",
        node, node, strbuf_str(&list));
}

static void put_node(struct engine_fixture *b, const char *node, int cards)
{
    put(b, NODES, node,
        "{'status':{'allocatable':{'cpu':'64','memory':'64Gi','pods':'100','koordinator.sh/gpu':"
        "'800','koordinator.sh/gpu-core':'800','koordinator.sh/gpu-memory-ratio':'800',"
        "'koordinator.sh/gpu-memory':'640Gi','koordinator.sh/gpu.shared':'800'}}}");
    put_device(b, node, cards);
    put_slice(b, node, cards, false);
}

static void start(struct engine_fixture *b, const struct ks_registered *of, int cards)
{
    engine_start_with(b, 7, of);
    put(b, CLASSES, "gpu", "{'spec':{}}");
    put_node(b, "n", cards);
    settle(b);
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
    settle(b);
}

/* A pod with a claim of its own name; percent of a GPU besides, or 0. */
static void put_claiming(struct engine_fixture *b, const char *name, const char *mode, int percent)
{
    CLEANUP(mem_free)
    char *more = percent ? xasprintf(",'koordinator.sh/gpu':'%d'", percent) : xstrdup("");

    put(b, CLAIMS, name,
        "{'metadata':{'namespace':'ns'},'spec':{'devices':{'requests':[{'name':'r','exactly':{"
        "'deviceClassName':'gpu','allocationMode':%s}}]}}}",
        mode);
    put(b, PODS, name,
        "{'spec':{'schedulerName':'koord-scheduler','resourceClaims':[{'name':'gpu',"
        "'resourceClaimName':'%s'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'1'%s}"
        "}}]}}",
        name, more);
}

static void put_sharing(struct engine_fixture *b, const char *name, int percent)
{
    put(b, PODS, name,
        "{'spec':{'schedulerName':'koord-scheduler','containers':[{'name':'c','resources':{"
        "'requests':{'cpu':'1','koordinator.sh/gpu':'%d'}}}]}}",
        percent);
}

#define ONE "'ExactCount','count':1"

/* Which cards an object has: bits by number of the card, whoever says so. */
static unsigned cards_of_body(const char *body)
{
    unsigned cards = 0;

    for (const char *at = body; at && (at = strstr(at, "GPU-n"));) {
        at = strchr(at + 4, '-') + 1;
        cards |= 1u << atoi(at);
    }
    for (const char *at = body ? strstr(body, "\"results\"") : NULL;
         at && (at = strstr(at, "\"device\":\"g"));) {
        at += strlen("\"device\":\"g");
        cards |= 1u << atoi(at);
    }
    return cards;
}
static unsigned cards_of_pod(const struct engine_fixture *b, const char *name)
{
    return cards_of_body(fake_find(b->client.fake, PODS, name));
}
static unsigned cards_of_claim(const struct engine_fixture *b, const char *name)
{
    return cards_of_body(fake_find(b->client.fake, CLAIMS, name));
}

static void free_claim(struct engine_fixture *b, const char *name)
{
    fake_delete(b->client.fake, PODS, name);
    fake_patch(b->client.fake, CLAIMS, name,
               "{\"status\":{\"allocation\":null,\"reservedFor\":null}}");
}

static void test_what_claims_have_deviceshare_does_not_give(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 2);
    put_claiming(&b, "c", ONE, 0); /* g0 is the Device's second */
    settle(&b);
    assert_int_equal(cards_of_claim(&b, "c"), 1);
    put_sharing(&b, "half", 50);
    put_sharing(&b, "other", 50);
    put_sharing(&b, "third", 10);
    settle(&b);
    assert_int_equal(cards_of_pod(&b, "half"), 2);
    assert_int_equal(cards_of_pod(&b, "other"), 2);
    assert_string_equal(engine_node_of(&b, "third"), "");
    assert_contains(engine_condition(&b, "third", "message"), "Insufficient GPU Devices");
    restart(&b);
    assert_string_equal(engine_node_of(&b, "third"), "");
    free_claim(&b, "c");
    settle(&b);
    assert_int_equal(cards_of_pod(&b, "third"), 1);
}

/* Nobody knows whether the claim of a pod that has gone was written; another waits for the card. */
static void start_in_doubt(struct engine_fixture *b)
{
    start(b, plugins, 1);
    fake_answer_next_to(b->client.fake, NULL, "resourceclaims/c", 1000, 500);
    put_claiming(b, "c", ONE, 0);
    client_fixture_run(&b->client, SEC);
    put_sharing(b, "half", 50);
    client_fixture_run(&b->client, 5 * SEC);
    fake_delete(b->client.fake, PODS, "c");
}

/* The claim never shows the card, which was on its way to it: nothing is seen when it is free
 * again.
 */
static void test_a_card_that_no_claim_got_is_free_at_once(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_in_doubt(&b);
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "half"), ""); /* nobody knows what was written */
    fake_answer_next(b.client.fake, 0, 500, -1);
    settle(&b);
    assert_int_equal(cards_of_claim(&b, "c"), 0);
    assert_string_equal(engine_node_of(&b, "half"), "n");
}

/* The claim has a device of another pool now. */
static void move_claim(struct engine_fixture *b, const char *name)
{
    fake_patch(b->client.fake, CLAIMS, name,
               "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
               "\"driver\":\"d\",\"pool\":\"elsewhere\",\"device\":\"h\"}]}}}}");
}

/* Somebody else allocates it while nobody knows what became of our write, and the pod has gone. */
static void test_a_card_on_its_way_to_a_claim_that_got_another_is_free_at_once(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_in_doubt(&b);
    client_fixture_run(&b.client, SEC);
    move_claim(&b, "c");
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&b, "half"), "");
    fake_answer_next(b.client.fake, 0, 500, -1);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "half"), "n");
}

/* What was between the two states is never seen after a relist. */
static void test_a_claim_that_moved_frees_its_card(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 1);
    put_claiming(&b, "c", ONE, 0);
    settle(&b);
    put_sharing(&b, "half", 50);
    put_claiming(&b, "late", ONE, 0);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "half"), "");
    assert_string_equal(engine_node_of(&b, "late"), "");
    move_claim(&b, "c");
    settle(&b);
    assert_true(!*engine_node_of(&b, "half") != !*engine_node_of(&b, "late"));
}

static void test_what_deviceshare_gives_claims_do_not_get(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 2);
    put_sharing(&b, "half", 50); /* minor 0 is g1 */
    settle(&b);
    assert_int_equal(cards_of_pod(&b, "half"), 2);
    put_claiming(&b, "all", "'All'", 0);
    put_claiming(&b, "two", "'ExactCount','count':2", 0);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "all"), "");
    assert_string_equal(engine_node_of(&b, "two"), "");
    assert_contains(engine_condition(&b, "two", "message"), "cannot allocate all claims");
    restart(&b);
    assert_string_equal(engine_node_of(&b, "two"), "");
    fake_delete(b.client.fake, PODS, "two");
    fake_delete(b.client.fake, PODS, "half"); /* all of them are free: that brings the pod back */
    settle(&b);
    assert_string_equal(engine_node_of(&b, "all"), "n");
    assert_int_equal(cards_of_claim(&b, "all"), 3);
}

static void test_cards_of_deviceshare_are_counted_as_allocated(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start_opts(&b, 7, (struct scheduler_opts){ .plugins = plugins, .metrics = m });
    put(&b, CLASSES, "gpu", "{'spec':{}}");
    put_node(&b, "n", 4);
    settle(&b);
    put_sharing(&b, "whole", 100);
    put_sharing(&b, "part", 50);
    put_claiming(&b, "claim", ONE, 0);
    settle(&b);
    metrics_write(&m, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"allocated\"} 3\n"
                    "koord_scheduler_dra_devices{driver=\"d\",state=\"free\"} 1\n");
}

static void test_addresses_identify_cards_too(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 2);
    put_slice(&b, "n", 2, true);
    settle(&b);
    put_sharing(&b, "whole", 100);
    settle(&b);
    put_claiming(&b, "c", ONE, 0);
    settle(&b);
    assert_int_equal(cards_of_pod(&b, "whole") | cards_of_claim(&b, "c"), 3);
    put_claiming(&b, "late", ONE, 0);
    put_sharing(&b, "later", 10);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "late"), "");
    assert_string_equal(engine_node_of(&b, "later"), "");
}

/* A driver that starts anew withdraws its slices for a while. */
static void test_a_slice_that_goes_frees_nothing(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 1);
    put_claiming(&b, "c", ONE, 0);
    settle(&b);
    fake_delete(b.client.fake, SLICES, "n");
    settle(&b);
    /* Nor does a change of the claim while nobody lists its device. */
    fake_patch(b.client.fake, CLAIMS, "c", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    settle(&b);
    put_sharing(&b, "p", 100);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p"), "");
    free_claim(&b, "c");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    put_device(&b, "n", 0); /* the same of the other side */
    put_slice(&b, "n", 1, false);
    put_claiming(&b, "late", ONE, 0);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "late"), "");
}

static void put_wide(struct engine_fixture *b, const char *node, const char *device)
{
    put(b, SLICES, node,
        "{'spec':{'driver':'d','nodeName':'%s','pool':{'name':'wide','generation':1,"
        "'resourceSliceCount':2},'devices':[{'name':'%s','attributes':{'uuid':{'string':"
        "'gpu-n-0'}}}]}}",
        node, device);
}

/* A pool may have slices of several nodes; after a restart claims may be known before it is. */
static void test_pools_of_several_nodes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 1);
    fake_delete(b.client.fake, SLICES, "n");
    put(&b, CLAIMS, "c",
        "{'metadata':{'uid':'c'},'spec':{'devices':{'requests':[{'name':'r','exactly':{"
        "'deviceClassName':'gpu','allocationMode':'ExactCount','count':1}}]}},'status':{"
        "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'wide','device':"
        "'g'}]}},'reservedFor':[{'resource':'pods','name':'x','uid':'x'}]}}");
    settle(&b);
    put_wide(&b, "m", "h");
    put_wide(&b, "n", "g");
    settle(&b);
    put_sharing(&b, "p", 100);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p"), "");
}

/* One pod that wants both gets two cards, or no node. */
static void check_mixed(const struct ks_registered *of)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    start(&b, of, 2);
    put_claiming(&b, "both", ONE, 100);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "both"), "n");
    assert_int_equal(cards_of_pod(&b, "both") | cards_of_claim(&b, "both"), 3);
    put_node(&b, "n2", 1);
    put_claiming(&b, "more", ONE, 100);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "more"), "");
}

static void test_a_pod_of_both_kinds(void **state)
{
    (void)state;
    check_mixed(plugins);
    check_mixed(reversed);
}

static void test_reservations_hold_cards(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, plugins, 1);
    put(&b, RESERVATIONS, "r",
        "{'metadata':{'uid':'11111111-1111-4111-8111-111111111111'},'spec':{'ttl':'0s','owners':["
        "{'labelSelector':{'matchLabels':{'app':'x'}}}],'template':{'spec':{'schedulerName':'koord-"
        "scheduler','containers':[{'name':"
        "'c','resources':{'requests':{'koordinator.sh/gpu':'100'}}}]}}}}");
    settle(&b);
    put_claiming(&b, "c", ONE, 0);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "c"), "");
    fake_delete(b.client.fake, RESERVATIONS, "r");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "c"), "n");
}

/* One profile has DeviceShare, the other DynamicResources. */
static void test_profiles_share_cards(void **state)
{
    static const struct ks_registered first[] = { { &ks_plugin_priority_sort, 0, true },
                                                  { &ks_plugin_device_share, 1, true },
                                                  { &ks_plugin_default_binder, 0, true },
                                                  { NULL, 0, false } },
                                      second[] = { { &ks_plugin_priority_sort, 0, true },
                                                   { &ks_plugin_dynamic_resources, 2, true },
                                                   { &ks_plugin_default_binder, 0, true },
                                                   { NULL, 0, false } };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(engine_stop) struct engine_fixture b;
    const struct profile_config both[] = {
        profile_config_default(first, "koord-scheduler", a),
        profile_config_default(second, "default-scheduler", a),
    };

    (void)state;
    engine_start_opts(
        &b, 7, (struct scheduler_opts){ .plugins = plugins, .profiles = both, .nprofiles = 2 });
    put(&b, CLASSES, "gpu", "{'spec':{}}");
    put_node(&b, "n", 1);
    settle(&b);
    put_sharing(&b, "half", 50);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "half"), "n");
    put_claiming(&b, "c", ONE, 0);
    fake_patch(b.client.fake, PODS, "c", "{\"spec\":{\"schedulerName\":\"default-scheduler\"}}");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "c"), "");
    fake_delete(b.client.fake, PODS, "half");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "c"), "n");
    put_sharing(&b, "late", 10);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "late"), "");
}

/* ---- many of both kinds ---------------------------------------------------------------------- */

enum { NODES_N = 3, CARDS_N = 8, NAMES = 40, PODS_N = 500 };

static void check_no_card_has_two_holders(const struct engine_fixture *b)
{
    unsigned claimed[NODES_N] = { 0 }, shared[NODES_N] = { 0 };
    char name[16];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "p%d", i);
        const char *claim = fake_find(b->client.fake, CLAIMS, name);
        const char *pool = claim ? strstr(claim, "\"pool\":\"n") : NULL;
        if (pool) {
            int node = atoi(pool + strlen("\"pool\":\"n"));
            assert_int_equal(claimed[node] & cards_of_claim(b, name), 0);
            claimed[node] |= cards_of_claim(b, name);
        }
        const char *on = engine_node_of(b, name);
        if (*on)
            shared[atoi(on + 1)] |= cards_of_pod(b, name);
    }
    for (int n = 0; n < NODES_N; n++)
        if (claimed[n] & shared[n])
            fail_msg("node n%d: claims have cards %x, pods have %x", n, claimed[n], shared[n]);
}

static void random_step(struct engine_fixture *b, int *binds, int *pods)
{
    struct loop *l = b->client.loop;
    char name[16];

    snprintf(name, sizeof name, "p%d", (int)(loop_rand(l) % NAMES));
    if (fake_find(b->client.fake, PODS, name)) {
        *binds += *engine_node_of(b, name) != '\0';
        fake_delete(b->client.fake, PODS, name);
        fake_delete(b->client.fake, CLAIMS, name);
        return;
    }
    ++*pods;
    switch (loop_rand(l) % 4) {
    case 0: put_sharing(b, name, 50); break;
    case 1: put_sharing(b, name, 200); break;
    case 2: put_claiming(b, name, ONE, 0); break;
    default: put_claiming(b, name, "'ExactCount','count':2", loop_rand(l) % 4 ? 0 : 100);
    }
}

static void test_no_card_ever_has_two_holders(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    int binds = 0, pods = 0;

    (void)state;
    engine_start_with(&b, 11, plugins);
    put(&b, CLASSES, "gpu", "{'spec':{}}");
    for (int n = 0; n < NODES_N; n++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", n);
        put_node(&b, name, CARDS_N);
    }
    client_fixture_run(&b.client, SEC);
    for (int step = 0; pods < PODS_N; step++) {
        random_step(&b, &binds, &pods);
        client_fixture_run(&b.client, (nsec_t)(loop_rand(b.client.loop) % 3) * SEC / 4);
        check_no_card_has_two_holders(&b);
        if (step % 250 == 120)
            restart(&b);
    }
    engine_verify(&b);
    assert_in_range(binds, 200, PODS_N);
}

/* ---- identities ------------------------------------------------------------------------------ */

static void test_spellings_of_identities(void **state)
{
    static const char *const same[][2] = {
        { "GPU-1B", "gpu-1b" },
        { "0000:3B:00.0", "3b:00.0" },
        { "00000000:3b:00.0", "0000:3b:00.0" },
        { "0:3b:0.0", "0000:3b:00.0" },
    };
    static const char *const odd[] = { "3b:00",    "3b:00.0x", "zz:00.0", "1:2:3:4.5",
                                       "100:00.0", "3b:00.00", ":00.0" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
        card_ids_add(&ids, same[i][0]);
        size_t len = ids.text.len;
        card_ids_add(&ids, same[i][1]);
        assert_int_equal(ids.text.len, len);
    }
    CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        size_t len = ids.text.len;
        card_ids_add(&ids, odd[i]); /* a name like any other */
        assert_int_equal(ids.text.len, len + strlen(odd[i]) + 1);
    }
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    size_t len = ids.text.len;
    card_ids_add(&ids, longer);
    card_ids_add(&ids, "");
    card_ids_add(&ids, NULL);
    assert_int_equal(ids.text.len, len);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_claims_have_deviceshare_does_not_give),
        cmocka_unit_test(test_a_card_that_no_claim_got_is_free_at_once),
        cmocka_unit_test(test_a_card_on_its_way_to_a_claim_that_got_another_is_free_at_once),
        cmocka_unit_test(test_a_claim_that_moved_frees_its_card),
        cmocka_unit_test(test_what_deviceshare_gives_claims_do_not_get),
        cmocka_unit_test(test_cards_of_deviceshare_are_counted_as_allocated),
        cmocka_unit_test(test_addresses_identify_cards_too),
        cmocka_unit_test(test_a_slice_that_goes_frees_nothing),
        cmocka_unit_test(test_pools_of_several_nodes),
        cmocka_unit_test(test_a_pod_of_both_kinds),
        cmocka_unit_test(test_reservations_hold_cards),
        cmocka_unit_test(test_profiles_share_cards),
        cmocka_unit_test(test_no_card_ever_has_two_holders),
        cmocka_unit_test(test_spellings_of_identities),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
