/* test_dynamicresources.c - devices by ResourceClaim, on small clusters (sched-dra 2 to 4). */
#include "scheduler/test/volume_objects.h"

#include "api/dra.h"
#include "api/koord/device.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/framework/gates.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/internal.h"
#include "scheduler/plugins/registry.h"

#define POD(claims) \
    "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[]" claims "}}"
#define USES(name) ",'resourceClaims':[{'name':'gpu','resourceClaimName':'" name "'}]"
#define ASKS(name, requests)                                           \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'uid-" name \
    "','resourceVersion':'1'},'spec':{'devices':{'requests':[" requests "]}}}"
#define REQUEST(name, count, more)                                                         \
    "{'name':'" name "','exactly':{'deviceClassName':'gpu','allocationMode':'ExactCount'," \
    "'count':" #count more "}}"

static void put_class(struct plugin_fixture *f)
{
    fixture_put(f, &kind_device_class, "{'metadata':{'name':'gpu'},'spec':{}}");
}

/* A slice of n devices that differ in their index alone. */
static void put_slice(struct plugin_fixture *f, const char *node, unsigned generation, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s-gpus'},'spec':{'driver':'d','nodeName':'%s','pool':"
                   "{'name':'%s','generation':%u,'resourceSliceCount':1},'devices':[",
                   node, node, node, generation);
    for (unsigned i = 0; i < n; i++)
        strbuf_appendf(&b, "%s{'name':'g%u','attributes':{'index':{'int':%u},'even':{'bool':%s}}}",
                       i ? "," : "", i, i, i % 2 ? "false" : "true");
    strbuf_append(&b, "]}}");
    fixture_put(f, &kind_resource_slice, strbuf_str(&b));
}

static void open_fixture(struct plugin_fixture *f, void **state, unsigned devices)
{
    fixture_init(f, state, "DynamicResources", NULL);
    vol_node(f, "a", "");
    put_class(f);
    put_slice(f, "a", 1, devices);
}

static void test_pods_without_claims_are_left_alone(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 0);
    fixture_try(&f, POD(""));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, POD(USES("c")));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/1 nodes are available: could not find ResourceClaim \"ns/c\".");
}

static void test_devices_are_counted(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 2, "")));
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
    put_slice(&f, "a", 2, 1); /* one is broken */
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    put_slice(&f, "a", 3, 0);
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    put_slice(&f, "a", 4, 1000);
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
}

/* Of two claims of others only the one that is no administrator's takes the device. */
static void test_what_others_have_is_taken(void **state)
{
    static const char other[] =
        "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o','resourceVersion':'%u'},'spec':{},"
        "'status':{'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'a',"
        "'device':'g0'%s}]}}}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];

    open_fixture(&f, state, 1);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 1, "")));
    snprintf(text, sizeof text, other, 1, "");
    fixture_put(&f, &kind_resource_claim, text);
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    snprintf(text, sizeof text, other, 2, ",'adminAccess':true");
    fixture_put(&f, &kind_resource_claim, text);
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
}

/* Upstream tries C(32, 16) choices of devices that nobody can tell apart. */
static void test_equal_devices_are_tried_once(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 32);
    /* Enough devices for each alone, and each has one: only together they cannot be had. */
    fixture_put(&f, &kind_resource_claim,
                ASKS("c", REQUEST("r", 16, "") "," REQUEST(
                              "odd", 16,
                              ",'selectors':[{'cel':{'expression':'!device.attributes[\\\"d\\\"]."
                              "even'}}]")));
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o','resourceVersion':'9'},"
                "'spec':{},'status':{'allocation':{'devices':{'results':[{'request':'r','driver':"
                "'d','pool':'a','device':'g2'}]}}}}");
    CLEANUP(loop_free) struct loop *clock = loop_new();
    nsec_t began = loop_stopwatch(clock);
    fixture_try(&f, POD(USES("c")));
    assert_in_range(loop_stopwatch(clock) - began, 0, 100 * NSEC_PER_MSEC);
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
}

/* kubernetes#139016: an allocated claim beside one with alternatives. */
static void test_allocated_claims_do_not_spoil_scores(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 1);
    vol_node(&f, "b", "");
    put_slice(&f, "b", 1, 4);
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'shared','namespace':'ns','uid':'uid-s'},'spec':{},'status':"
                "{'allocation':{'devices':{'results':[]}}}}");
    fixture_put(&f, &kind_resource_claim,
                ASKS("c", "{'name':'r','firstAvailable':[{'name':'four','deviceClassName':'gpu',"
                          "'count':4},{'name':'one','deviceClassName':'gpu','count':1}]}"));
    fixture_try(&f, POD(",'resourceClaims':[{'name':'x','resourceClaimName':'shared'},{'name':'y',"
                        "'resourceClaimName':'c'}]"));
    assert_true(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    assert_int_equal(fixture_score(&f, "DynamicResources", "b"), 100);
    assert_int_equal(fixture_score(&f, "DynamicResources", "a"), 7 * 100 / 8);
}

static void test_a_selector_that_fails_ends_the_attempt(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 2);
    fixture_put(
        &f, &kind_resource_claim,
        ASKS("c", REQUEST("r", 1,
                          ",'selectors':[{'cel':{'expression':'device.attributes[\\\"d\\\"]."
                          "nothing'}}]")));
    fixture_try(&f, POD(USES("c")));
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text,
                        "running \"DynamicResources\" filter plugin: claim ns/c: selector "
                        "#0: CEL runtime error: no such key: nothing");
    fixture_try(&f, POD("")); /* others are not disturbed */
    assert_true(fixture_fits(&f, "a"));
}

/* ---- verdicts that are kept ------------------------------------------------------------------- */

enum { SITES = 3, CARDS = 6 };

struct model { /* who has which device: 0: nobody */
    bool taken[SITES][CARDS];
    unsigned n[SITES]; /* devices */
    unsigned generation, version;
};

static void model_claim(struct plugin_fixture *f, struct model *m, unsigned site, unsigned card)
{
    char text[640];

    m->taken[site][card] = !m->taken[site][card];
    m->version++;
    if (!m->taken[site][card])
        snprintf(text, sizeof text,
                 "{'metadata':{'name':'o%u%u','namespace':'ns','uid':'uid-o%u%u',"
                 "'resourceVersion':'%u'},'spec':{}}",
                 site, card, site, card, m->version);
    else
        snprintf(text, sizeof text,
                 "{'metadata':{'name':'o%u%u','namespace':'ns','uid':'uid-o%u%u',"
                 "'resourceVersion':'%u'},'spec':{},'status':{'allocation':{'devices':{'results':[{"
                 "'request':'r','driver':'d','pool':'%c','device':'g%u'}]}}}}",
                 site, card, site, card, m->version, 'a' + (int)site, card);
    fixture_put(f, &kind_resource_claim, text);
}

/* So many devices, all even or all odd. */
static bool model_fits(const struct model *m, unsigned site, unsigned count)
{
    unsigned free[2] = { 0 };

    for (unsigned i = 0; i < m->n[site]; i++)
        free[i % 2] += !m->taken[site][i];
    return free[0] >= count || free[1] >= count;
}

static void model_step(struct plugin_fixture *f, struct model *m, uint64_t r)
{
    const char name[] = { (char)('a' + r % SITES), 0 };
    unsigned site = (unsigned)(r % SITES);

    switch (r >> 8 & 7) {
    case 0: /* a node comes back, with other labels */ vol_node(f, name, ""); break;
    case 1:
        m->n[site] = (unsigned)(r >> 16) % (CARDS + 1);
        put_slice(f, name, ++m->generation, m->n[site]);
        break;
    default: model_claim(f, m, site, (unsigned)(r >> 16) % CARDS);
    }
}

/* Pods that ask for the same, one after the other, while devices come, go, are taken and freed. */
static void test_verdicts_are_kept_only_while_they_hold(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct model m = { .generation = 1, .version = 1 };
    uint64_t r = 12345;
    unsigned fits = 0;

    fixture_init(&f, state, "DynamicResources", NULL);
    put_class(&f);
    for (int i = 0; i < SITES; i++) {
        const char name[] = { (char)('a' + i), 0 };
        vol_node(&f, name, "");
        put_slice(&f, name, 1, m.n[i] = CARDS);
    }
    for (int step = 0; step < 600; step++) {
        unsigned count = 1 + (unsigned)(r >> 40) % 3;
        char text[512];
        r = r * UINT64_C(6364136223846793005) + 1442695040888963407u;
        model_step(&f, &m, r >> 20);
        snprintf(text, sizeof text,
                 "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c%d','resourceVersion':'%u'},"
                 "'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu',"
                 "'allocationMode':'ExactCount','count':%u}}],'constraints':[{'matchAttribute':"
                 "'d/even'}]}}}",
                 step, ++m.version, count);
        fixture_put(&f, &kind_resource_claim, text);
        fixture_try(&f, POD(USES("c")));
        for (unsigned i = 0; i < SITES; i++) {
            const char name[] = { (char)('a' + i), 0 };
            assert_int_equal(fixture_fits(&f, name), model_fits(&m, i, count));
            fits += fixture_fits(&f, name);
        }
    }
    assert_in_range(fits, 300, 1500);
}

/* ---- what people are told --------------------------------------------------------------------- */

static const char *shown(struct plugin_fixture *f, const char *node)
{
    struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    static char text[4096];

    kjw_obj(&w, NULL);
    attempt_show(&f->a, fixture_row(f, node), &w);
    kjw_end(&w);
    snprintf(text, sizeof text, "%s", strbuf_str(&b));
    strbuf_fini(&b);
    return text;
}

static void test_of_each_request_the_numbers_are_told(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 4);
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o'},'spec':{},'status':{"
                "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'a',"
                "'device':'g0'}]}}}}");
    fixture_put(
        &f, &kind_resource_claim,
        ASKS("c", REQUEST("r", 2,
                          ",'selectors':[{'cel':{'expression':'device.attributes[\\\"d\\\"]."
                          "even'}}]")));
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(
        shown(&f, "a"),
        "{\"DynamicResources\":{\"claims\":[{\"name\":\"ns/c\",\"requests\":[{\"name\":\"r\","
        "\"class\":\"gpu\",\"count\":2,\"devices\":4,\"accepted\":2,\"taken\":1,\"free\":1,"
        "\"holders\":[\"ns/o\"]}]}],\"fails\":\"claim ns/c, request r: 1 of 2 devices are "
        "free\"}}");
}

/* The constraint without which there would be a choice. */
static void test_the_constraint_that_fails_is_told(void **state)
{
    static const char claim[] =
        "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c','resourceVersion':'%u'},'spec':{"
        "'devices':{'requests':[" REQUEST("r", 3,
                                          "") "],'constraints':[{'matchAttribute':'d/even'},"
                                              "{'matchAttribute':'d/%s'}]}}}";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];

    open_fixture(&f, state, 4);
    snprintf(text, sizeof text, claim, 1, "even");
    fixture_put(&f, &kind_resource_claim, text);
    fixture_try(&f, POD(USES("c")));
    assert_contains(shown(&f, "a"), "no choice of devices satisfies all its constraints\"");
    fixture_put(
        &f, &kind_resource_claim,
        "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c','resourceVersion':'2'},"
        "'spec':{'devices':{'requests':[" REQUEST("r", 3, "") "],'constraints':[{"
                                                              "'matchAttribute':'d/even'}]}}}");
    fixture_try(&f, POD(USES("c")));
    assert_contains(shown(&f, "a"),
                    "\"claim ns/c: no choice of devices satisfies matchAttribute d/even\"");
    fixture_put(&f, &kind_resource_claim, ASKS("two", REQUEST("x", 3, "") "," REQUEST("y", 3, "")));
    fixture_try(&f, POD(USES("two")));
    assert_contains(shown(&f, "a"), "requests want the same devices");
}

/* ---- bad input ------------------------------------------------------------------------------- */

#define SLICE(name, generation, count, devices)                                               \
    "{'metadata':{'name':'" name "'},'spec':{'driver':'d','nodeName':'a','pool':{'name':'a'," \
    "'generation':" #generation ",'resourceSliceCount':" #count "},'devices':[" devices "]}}"
#define PARTITIONABLE "DRAPartitionableDevices=true"
#define ONE           ASKS("c", REQUEST("r", 1, ""))
#define SELECTOR      ",'selectors':[{'cel':{'expression':'device.attributes[\\\"d\\\"]."
/* A counter of a set, and a device that consumes of it. */
#define COUNTER(set, value)                                                                       \
    "{'metadata':{'name':'" set "'},'spec':{'driver':'d','nodeName':'a','pool':{'name':'a',"      \
    "'generation':1,'resourceSliceCount':2},'sharedCounters':[{'name':'set','counters':{'m':{'va" \
    "lue':'" value "'}}}]}}"
#define CONSUMES(name, counter, value)                                                 \
    "{'name':'" name "','consumesCounters':[{'counterSet':'set','counters':{'" counter \
    "':{'value':'" value "'}}}]}"
struct bad_input {
    const char *slices[3];
    const char *claim;
    bool fits;
    const char *says;  /* of the node, or in the message of the attempt */
    const char *gates; /* NULL: their defaults */
};
static const struct bad_input bad_inputs[] = {
    { { SLICE("s", 1, 1, "") }, ONE, false, "cannot allocate all claims" },
    { { SLICE("s", 1, 1, "{'name':'x'},{'name':'x'}") },
      ONE,
      false,
      "invalid resource pools were encountered" },
    { { SLICE("s", 1, 2, "{'name':'x'}"), SLICE("t", 1, 2, "{'name':'x'}") },
      ONE,
      false,
      "invalid resource pools were encountered" },
    /* A newer generation that is not whole: the old one counts no more. */
    { { SLICE("s", 1, 1, "{'name':'x'}"), SLICE("t", 2, 2, "{'name':'y'}") },
      ONE,
      false,
      "cannot allocate all claims" },
    /* Slices of one generation that contradict each other in their number. */
    { { SLICE("s", 2, 1, "{'name':'x'}"), SLICE("t", 2, 1, "{'name':'y'}"),
        SLICE("u", -5, 1, "{'name':'z'}") },
      ASKS("c", REQUEST("r", 2, "")),
      true,
      "" },
    { { SLICE("s", 1, 2, "{'name':'x'}") },
      ASKS("c", "{'name':'r','exactly':{'deviceClassName':'gpu','allocationMode':'All'}}"),
      false,
      "asks for all devices, but resource pool d/a is currently being updated" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", REQUEST("r", 33, "")),
      false,
      "claim ns/c: number of requested devices 33 exceeds the claim limit of 32" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", REQUEST("r", 9223372036854775807, "")),
      false,
      "exceeds the claim limit of 32" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", "{'name':'r','exactly':{'deviceClassName':'none'}}"),
      false,
      "request r: device class none does not exist" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", "{'name':'r','firstAvailable':[{'name':'q','deviceClassName':'none'}]}"),
      false,
      "request r/q: device class none does not exist" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", "{'name':'r'}"),
      false,
      "resource claim ns/c, request r: unknown request type" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", REQUEST("r", 1, ",'selectors':[{}]")),
      false,
      "claim ns/c, request r, selector #0: CEL expression empty (unsupported selector type?)" },
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      ASKS("c", REQUEST("r", 1, ",'selectors':[{'cel':{'expression':'device.('}}]")),
      false,
      "claim ns/c: selector #0: CEL compile error: " },
    /* It fails on the second device, which is looked at: the first is not enough. */
    { { SLICE("s", 1, 1, "{'name':'x','attributes':{'m':{'int':1}}},{'name':'y'}") },
      ASKS("c", REQUEST("r", 2, SELECTOR "m == 1'}}]")),
      false,
      "claim ns/c: selector #0: CEL runtime error: no such key: m" },
    /* The first is enough: nobody looks at the second. */
    { { SLICE("s", 1, 1, "{'name':'x','attributes':{'m':{'int':1}}},{'name':'y'}") },
      ASKS("c", REQUEST("r", 1, SELECTOR "m == 1'}}]")),
      true,
      "" },
    { { SLICE("s", 1, 1, "{'name':'x','attributes':{'v':{'version':'one'}}}") },
      ASKS("c", REQUEST("r", 1, SELECTOR "v == semver(\\\"1.0.0\\\")'}}]")),
      false,
      "attribute v: parse semantic version: " },
    /* Users that are no pods: their claim can be shared, and is not taken from them. */
    { { SLICE("s", 1, 1, "{'name':'x'}") },
      "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c'},'spec':{},'status':{'reservedFor':[{"
      "'apiGroup':'x.io','resource':'things','name':'t','uid':'1'}],'allocation':{'devices':{"
      "'results':[]},'nodeSelector':{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name',"
      "'operator':'In','values':['b']}]}]}}}}",
      false,
      "resourceclaim not available on the node" },
    /* Counters that are less than nothing give nothing. */
    { { COUNTER("c", "-1"), SLICE("s", 1, 2, CONSUMES("x", "m", "1")) },
      ONE,
      false,
      "cannot allocate all claims",
      PARTITIONABLE },
    { { COUNTER("c", "-1"), SLICE("s", 1, 2, CONSUMES("x", "m", "0")) },
      ONE,
      false,
      "cannot allocate all claims",
      PARTITIONABLE },
    /* A device that consumes less than nothing makes room, as upstream counts. */
    { { COUNTER("c", "0"), SLICE("s", 1, 2, CONSUMES("x", "m", "-1") "," CONSUMES("y", "m", "1")) },
      ASKS("c", REQUEST("r", 2, "")),
      true,
      "",
      PARTITIONABLE },
    { { COUNTER("c", "9223372036854775807"), SLICE("s", 1, 2, CONSUMES("x", "m", "1e100")) },
      ONE,
      false,
      "cannot allocate all claims",
      PARTITIONABLE },
    /* Their sum is beyond any integer of 64 bits. */
    { { COUNTER("c", "10E"),
        SLICE("s", 1, 2, CONSUMES("x", "m", "9E") "," CONSUMES("y", "m", "9E")) },
      ASKS("c", REQUEST("r", 2, "")),
      false,
      "cannot allocate all claims",
      PARTITIONABLE },
    { { COUNTER("c", "100E"),
        SLICE("s", 1, 2, CONSUMES("x", "m", "9E") "," CONSUMES("y", "m", "9E")) },
      ASKS("c", REQUEST("r", 2, "")),
      true,
      "",
      PARTITIONABLE },
    { { COUNTER("c", "1"), SLICE("s", 1, 2, CONSUMES("x", "other", "1")) },
      ONE,
      false,
      "invalid resource pools were encountered",
      PARTITIONABLE },
    { { COUNTER("c", "1"), COUNTER("again", "1"), SLICE("s", 1, 3, CONSUMES("x", "m", "1")) },
      ONE,
      false,
      "invalid resource pools were encountered",
      PARTITIONABLE },
    /* Without the gate there are no counters, and no devices that need some. */
    { { COUNTER("c", "1"), SLICE("s", 1, 2, CONSUMES("x", "m", "1")) },
      ONE,
      false,
      "cannot allocate all claims" },
};

static void check_bad_input(void **state, const struct bad_input *in)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct gates gates;

    gates_init(&gates, ks_gates, ks_ngates);
    assert_int_equal(gates_parse(&gates, str_or(in->gates, ""), NULL), 0);
    fixture_gates = &gates;
    fixture_init(&f, state, "DynamicResources", NULL);
    fixture_gates = NULL;
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    put_class(&f);
    for (size_t i = 0; i < ARRAY_LEN(in->slices) && in->slices[i]; i++)
        fixture_put(&f, &kind_resource_slice, in->slices[i]);
    fixture_put(&f, &kind_resource_claim, in->claim);
    fixture_try(&f, POD(USES("c")));
    const char *said = f.a.code == KS_ERROR ? f.a.text : fixture_why(&f, "a");
    if (fixture_fits(&f, "a") != in->fits || !strstr(str_or(said, ""), in->says))
        fail_msg("%s\n%s\nis told: %s, not: %s", in->slices[0], in->claim, str_or(said, "it fits"),
                 in->says);
    /* Other pods and claims are not disturbed. */
    put_slice(&f, "b", 1, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("other", REQUEST("r", 2, "")));
    fixture_try(&f, POD(USES("other")));
    assert_true(fixture_fits(&f, "b"));
}

static void test_bad_input_is_told_and_disturbs_nobody(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_inputs); i++)
        check_bad_input(state, &bad_inputs[i]);
}

static void test_a_thousand_devices(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 1000);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 3, SELECTOR "index > 996'}}]")));
    fixture_put(&f, &kind_resource_claim, ASKS("d", REQUEST("r", 4, SELECTOR "index > 996'}}]")));
    fixture_try(&f, POD(USES("c")));
    assert_true(fixture_fits(&f, "a"));
    fixture_try(&f, POD(USES("d")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
}

/* Thirteen requests for twelve devices that can all be told apart: a search would go on for hours.
 */
static void test_no_attempt_is_longer_than_its_time(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(loop_free) struct loop *clock = loop_new();
    struct plugin_fixture f;

    fixture_loop = clock;
    fixture_init(&f, state, "DynamicResources", "{'DynamicResources':{'filterTimeout':'300ms'}}");
    fixture_loop = NULL;
    vol_node(&f, "a", "");
    put_class(&f);
    put_slice(&f, "a", 1, 20);
    strbuf_append(&b,
                  "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c'},'spec':{'devices':{"
                  "'constraints':[{'requests':['r0'],'matchAttribute':'d/index'}],'requests':[");
    for (int i = 0; i < 13; i++)
        strbuf_appendf(&b,
                       "%s{'name':'r%d','exactly':{'deviceClassName':'gpu','selectors':[{'cel':{"
                       "'expression':'device.attributes[\\\"d\\\"].index < 12 + 0 * %d'}}]}}",
                       i ? "," : "", i, i);
    strbuf_append(&b, "]}}}");
    fixture_put(&f, &kind_resource_claim, strbuf_str(&b));
    nsec_t began = loop_stopwatch(clock);
    fixture_try(&f, POD(USES("c")));
    assert_in_range(loop_stopwatch(clock) - began, 0, 5 * NSEC_PER_SEC);
    assert_string_equal(fixture_why(&f, "a"), "timed out trying to allocate devices");
    fixture_fini_p(&f);
}

/* ---- time that is counted --------------------------------------------------------------------- */

/* Each look at the clock takes a millisecond, whatever happens between two of them. */
static struct loop *open_timed(struct plugin_fixture *f, void **state, const char *config)
{
    struct loop *clock = loop_new_virtual(0, 1);

    loop_set_stopwatch(clock, NSEC_PER_MSEC);
    fixture_loop = clock;
    fixture_init(f, state, "DynamicResources", config);
    fixture_loop = NULL;
    put_class(f);
    return clock;
}

/* One attempt; fixture_try() makes two, of which the second would know what the first found out. */
static nsec_t try_once(struct plugin_fixture *f, const char *pod, const struct loop *clock)
{
    nsec_t began = loop_stopwatch(clock);

    attempt_end(&f->a);
    kobj_unref(f->obj);
    f->obj = fixture_object(f->base, &kind_pod, pod);
    arena_reset(f->arena);
    fixture_attempt(f, &f->a, true);
    return loop_stopwatch(clock) - began;
}

/* Ten nodes whose searches are short; the time is over in the middle of them. The next attempt goes
 * on where it was. */
static void test_many_nodes_have_one_deadline(void **state)
{
    CLEANUP(loop_free) struct loop *clock = NULL;
    struct plugin_fixture f;
    unsigned late = 0;

    clock = open_timed(&f, state, "{'DynamicResources':{'filterTimeout':'50ms'}}");
    for (char node[] = "a"; *node <= 'j'; ++*node) {
        vol_node(&f, node, "");
        put_slice(&f, node, 1, 8);
    }
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 9, SELECTOR "index >= 0'}}]")));
    assert_in_range(try_once(&f, POD(USES("c")), clock), 0, 70 * NSEC_PER_MSEC);
    for (char node[] = "a"; *node <= 'j'; ++*node) {
        bool is_late = streq(fixture_why(&f, node), "timed out trying to allocate devices");
        late += is_late;
        if (!is_late)
            assert_string_equal(fixture_why(&f, node), "cannot allocate all claims");
    }
    assert_in_range(late, 3, 7);
    assert_in_range(try_once(&f, POD(USES("c")), clock), 0, 70 * NSEC_PER_MSEC);
    for (char node[] = "a"; *node <= 'j'; ++*node)
        assert_string_equal(fixture_why(&f, node), "cannot allocate all claims");
    /* Where nothing else looks at the clock it is looked at before each node. */
    loop_set_stopwatch(clock, 10 * NSEC_PER_MSEC);
    fixture_put(&f, &kind_resource_claim, ASKS("d", REQUEST("r", 9, "")));
    (void)try_once(&f, POD(USES("d")), clock);
    for (char node[] = "a"; *node <= 'j'; ++*node)
        assert_string_equal(fixture_why(&f, node), *node < 'd'
                                                       ? "cannot allocate all claims"
                                                       : "timed out trying to allocate devices");
    fixture_fini_p(&f);
}

#define LONG ",'selectors':[{'cel':{'expression':'lists.range(100000).all(x, x >= 0)'}}]"

/* It would take a second of this clock for each device, all of it within one evaluation. */
static void test_a_long_selector_is_stopped(void **state)
{
    CLEANUP(loop_free) struct loop *clock = NULL;
    struct plugin_fixture f;

    clock = open_timed(&f, state, "{'DynamicResources':{'filterTimeout':'50ms'}}");
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    put_slice(&f, "a", 1, 12);
    put_slice(&f, "b", 1, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 1, LONG)));
    fixture_put(&f, &kind_resource_claim, ASKS("d", REQUEST("r", 1, SELECTOR "index > 0'}}]")));
    for (int i = 0; i < 3; i++) { /* it never gets further */
        assert_in_range(try_once(&f, POD(USES("c")), clock), 50 * NSEC_PER_MSEC,
                        60 * NSEC_PER_MSEC);
        assert_string_equal(fixture_why(&f, "a"), "timed out trying to allocate devices");
        assert_string_equal(fixture_why(&f, "b"), "timed out trying to allocate devices");
    }
    assert_string_equal(shown(&f, "a"), "{\"DynamicResources\":{\"claims\":[],\"fails\":\"the "
                                        "selectors take too long\"}}");
    (void)try_once(&f, POD(USES("d")), clock); /* others are not disturbed */
    assert_true(fixture_fits(&f, "a"));
    fixture_fini_p(&f);

    clock = loop_free(clock);
    clock = open_timed(&f, state, "{'DynamicResources':{'filterTimeout':'3s'}}");
    vol_node(&f, "a", "");
    put_slice(&f, "a", 1, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 1, LONG)));
    (void)try_once(&f, POD(USES("c")), clock);
    assert_true(fixture_fits(&f, "a"));
    fixture_fini_p(&f);
}

#define TWICE       ".map(a,dyn([a,a]))"
#define FOUR_TIMES  TWICE TWICE TWICE TWICE
#define MANY        FOUR_TIMES FOUR_TIMES FOUR_TIMES FOUR_TIMES FOUR_TIMES FOUR_TIMES FOUR_TIMES
#define LONGER      ".map(a,a+a)"
#define SHARED(use) ",'selectors':[{'cel':{'expression':'[1]" MANY use "'}}]"

/* Selectors of few signs whose values hold each other 2^28 times: their claims fail, and the next
 * pod finds its devices. */
static void test_selectors_without_end_disturb_nobody(void **state)
{
    static const char *const ends[] = {
        SHARED(".all(x,x == x)"),
        SHARED(".all(x,\\\"%s\\\".format([x]).size() > 0)"),
        ",'selectors':[{'cel':{'expression':'[[1]]" LONGER LONGER LONGER LONGER LONGER LONGER LONGER
            LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER
                LONGER LONGER LONGER LONGER LONGER LONGER LONGER LONGER ".all(x,x.size() > 0)'}}]",
    };
    CLEANUP(loop_free) struct loop *real = loop_new();
    CLEANUP(fixture_fini) struct plugin_fixture f;

    open_fixture(&f, state, 2);
    fixture_put(&f, &kind_resource_claim, ASKS("ok", REQUEST("r", 1, SELECTOR "index > 0'}}]")));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CLEANUP(strbuf_fini) struct strbuf claim = STRBUF_INIT;
        strbuf_appendf(&claim, ASKS("c", REQUEST("r", 1, "%s")), ends[i]);
        fixture_put(&f, &kind_resource_claim, strbuf_str(&claim));
        nsec_t began = loop_stopwatch(real);
        fixture_try(&f, POD(USES("c")));
        assert_int_equal(f.a.code, KS_ERROR);
        assert_string_equal(
            f.a.text, "running \"DynamicResources\" filter plugin: claim ns/c: selector #0: CEL "
                      "runtime error: operation cancelled: actual cost limit exceeded");
        fixture_try(&f, POD(USES("ok")));
        assert_true(fixture_fits(&f, "a"));
        assert_in_range(loop_stopwatch(real) - began, 0, 10 * NSEC_PER_SEC);
    }
}

/* More devices than 16 bits count, all of which can be told apart. The first is tried in vain for
 * r, which does not speak against the one after 65,536 others. */
static void test_very_many_devices_that_differ(void **state)
{
    CLEANUP(loop_free) struct loop *clock = NULL;
    CLEANUP(loop_free) struct loop *real = loop_new();
    struct plugin_fixture f;

    clock = open_timed(&f, state, "{'DynamicResources':{'filterTimeout':'0s'}}");
    vol_node(&f, "a", "");
    put_slice(&f, "a", 1, 65600);
    fixture_put(
        &f, &kind_resource_claim,
        "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c'},'spec':{'devices':{"
        "'constraints':[{'requests':['r'],'matchAttribute':'d/index'}],'requests':[" REQUEST(
            "r", 1, SELECTOR "index in [0, 65536]'}}]") "," REQUEST("s", 1,
                                                                    SELECTOR
                                                                    "index == 0'}}]") "]}}}");
    nsec_t began = loop_stopwatch(real);
    (void)try_once(&f, POD(USES("c")), clock);
    assert_true(fixture_fits(&f, "a"));
    /* Of pairs there are two thousand million. */
    assert_in_range(loop_stopwatch(real) - began, 0, 60 * NSEC_PER_SEC);
    fixture_fini_p(&f);
}

/* ---- what filter() found is what reserve() takes ---------------------------------------------- */

/* Each request accepts one device less than the one before it: only the last choice of all does. */
static void put_ladder(struct plugin_fixture *f, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append(&b, "{'metadata':{'name':'c','namespace':'ns','uid':'uid-c'},'spec':{'devices':{"
                      "'requests':[");
    for (unsigned i = 0; i < n; i++)
        strbuf_appendf(&b,
                       "%s{'name':'r%u','exactly':{'deviceClassName':'gpu','selectors':[{'cel':{"
                       "'expression':'device.attributes[\\\"d\\\"].index < %u'}}]}}",
                       i ? "," : "", i, n - i);
    strbuf_append(&b, "]}}}");
    fixture_put(f, &kind_resource_claim, strbuf_str(&b));
}

static const struct dra *plugin_of(const struct plugin_fixture *f)
{
    return f->profile->slots[profile_slot(f->profile, "DynamicResources")].self;
}

static void reserve_ladder(struct plugin_fixture *f, unsigned n)
{
    struct ks_texts why = { .arena = f->arena };
    enum ks_code code = KS_SUCCESS;

    int slot = attempt_reserve(&f->a, fixture_row(f, "a"), &code, &why);
    if (slot >= 0)
        fail_msg("refused: %s", ks_texts_join(&why));
    const struct booking *b = booking_find(plugin_of(f)->cache, f->obj->meta.uid);
    assert_non_null(b);
    assert_int_equal(b->n, 1);
    const struct claim_allocation *got = b->claims[0].allocation;
    assert_int_equal(got->devices.results.n, n);
    for (unsigned i = 0; i < n; i++) {
        char request[16], device[16];
        snprintf(request, sizeof request, "r%u", i);
        snprintf(device, sizeof device, "g%u", n - 1 - i);
        assert_string_equal(got->devices.results.items[i].request, request);
        assert_string_equal(got->devices.results.items[i].device, device);
    }
}

/* The time of the attempt is over when the node has been chosen. */
static void test_reserving_needs_no_time(void **state)
{
    CLEANUP(loop_free) struct loop *clock = NULL;
    struct plugin_fixture f;

    for (unsigned n = 2; n <= 8; n += 6) { /* a quick search and a long one */
        clock = open_timed(&f, state, "{'DynamicResources':{'filterTimeout':'1s'}}");
        vol_node(&f, "a", "");
        put_slice(&f, "a", 1, n);
        put_ladder(&f, n);
        for (int again = 0; again < 2; again++) { /* the second knows what the first found */
            (void)try_once(&f, POD(USES("c")), clock);
            assert_true(fixture_fits(&f, "a"));
            loop_advance(clock, 10 * NSEC_PER_SEC);
            nsec_t began = loop_stopwatch(clock);
            reserve_ladder(&f, n);
            /* nobody has looked at the clock */
            assert_int_equal(loop_stopwatch(clock) - began, NSEC_PER_MSEC);
            profile_unreserve(f.profile, pod_of(f.obj), "a", NULL);
        }
        if (n > 2) {
            /* The long search is not made again: it would find that all devices have gone. */
            (void)try_once(&f, POD(USES("c")), clock);
            struct pool *p = map_getz(&plugin_of(&f)->cache->pools->by_key, "d/a");
            p->taken[0] = ~UINT64_C(0);
            reserve_ladder(&f, n);
            profile_unreserve(f.profile, pod_of(f.obj), "a", NULL);
            p->taken[0] = 0;
        }
        /* After a change it is a new search, with time of its own. */
        (void)try_once(&f, POD(USES("c")), clock);
        loop_advance(clock, 10 * NSEC_PER_SEC);
        reserve_ladder(&f, n);
        profile_unreserve(f.profile, pod_of(f.obj), "a", NULL);
        reserve_ladder(&f, n);
        profile_unreserve(f.profile, pod_of(f.obj), "a", NULL);
        fixture_fini_p(&f);
        clock = loop_free(clock);
    }
}

/* Two cards that a Device lists too: a claim has one, a pod a part of the other. */
static void test_holders_of_the_other_kind_are_told(void **state)
{
    static const struct ks_registered both[] = { { &ks_plugin_priority_sort, 0, true },
                                                 { &ks_plugin_dynamic_resources, 2, true },
                                                 { &ks_plugin_device_share, 1, true },
                                                 { &ks_plugin_default_binder, 0, true },
                                                 { NULL, 0, false } };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init_with(&f, state, both, NULL);
    vol_node(&f, "a", "");
    put_class(&f);
    fixture_put(&f, &kind_resource_slice,
                "{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'a','pool':{'name':'a',"
                "'generation':1,'resourceSliceCount':1},'devices':[{'name':'g0','attributes':{"
                "'uuid':{'string':'u0'}}},{'name':'g1','attributes':{'uuid':{'string':'u1'}}}]}}");
    fixture_put(&f, &kind_device,
                "{'metadata':{'name':'a'},'spec':{'devices':[{'type':'gpu','minor':0,'id':'u0',"
                "'health':true,'resources':{'koordinator.sh/gpu-core':'100','koordinator.sh/"
                "gpu-memory-ratio':'100','koordinator.sh/gpu-memory':'8Gi'}},{'type':'gpu','minor':"
                "1,'id':'u1','health':true,'resources':{'koordinator.sh/gpu-core':'100',"
                "'koordinator.sh/gpu-memory-ratio':'100','koordinator.sh/gpu-memory':'8Gi'}}]}}");
    fixture_put(&f, &kind_resource_claim,
                "{'metadata':{'name':'o','namespace':'ns','uid':'uid-o'},'spec':{},'status':{"
                "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'a',"
                "'device':'g0'}]}}}}");
    fixture_pod(&f, "{'metadata':{'name':'half','namespace':'ns','uid':'uid-h','annotations':{"
                    "'scheduling.koordinator.sh/device-allocated':'{\\\"gpu\\\":[{\\\"minor\\\":1,"
                    "\\\"resources\\\":{\\\"koordinator.sh/gpu-core\\\":\\\"50\\\"}}]}'}},'spec':{"
                    "'nodeName':'a','containers':[]}}");
    fixture_put(&f, &kind_resource_claim, ASKS("c", REQUEST("r", 1, "")));
    fixture_try(&f, POD(USES("c")));
    assert_string_equal(fixture_why(&f, "a"), "cannot allocate all claims");
    assert_contains(shown(&f, "a"), "\"taken\":2,\"free\":0,\"holders\":[\"ns/o\"],"
                                    "\"deviceShare\":[\"ns/half\"]");
    fixture_try(&f, "{'metadata':{'name':'q','namespace':'ns','uid':'q'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'koordinator.sh/gpu-core':'60',"
                    "'koordinator.sh/gpu-memory-ratio':'60'}}}]}}");
    assert_false(fixture_fits(&f, "a"));
    assert_contains(shown(&f, "a"), "\"holders\":[\"ns/o (ResourceClaim)\"]");
    assert_contains(shown(&f, "a"), "\"holders\":[\"ns/half\"]");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_pods_without_claims_are_left_alone),
        FIXTURE_TEST(test_devices_are_counted),
        FIXTURE_TEST(test_what_others_have_is_taken),
        FIXTURE_TEST(test_equal_devices_are_tried_once),
        FIXTURE_TEST(test_allocated_claims_do_not_spoil_scores),
        FIXTURE_TEST(test_a_selector_that_fails_ends_the_attempt),
        FIXTURE_TEST(test_bad_input_is_told_and_disturbs_nobody),
        FIXTURE_TEST(test_a_thousand_devices),
        FIXTURE_TEST(test_no_attempt_is_longer_than_its_time),
        FIXTURE_TEST(test_many_nodes_have_one_deadline),
        FIXTURE_TEST(test_a_long_selector_is_stopped),
        FIXTURE_TEST(test_selectors_without_end_disturb_nobody),
        FIXTURE_TEST(test_very_many_devices_that_differ),
        FIXTURE_TEST(test_reserving_needs_no_time),
        FIXTURE_TEST(test_verdicts_are_kept_only_while_they_hold),
        FIXTURE_TEST(test_of_each_request_the_numbers_are_told),
        FIXTURE_TEST(test_the_constraint_that_fails_is_told),
        FIXTURE_TEST(test_holders_of_the_other_kind_are_told),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
