/* test_warnings.c - what is taken of objects and advised against. tests/api/warned.py has most of
 * it, against two servers; here is what that cannot ask: what no default server takes, and long
 * lists.
 */
#include "apiserver/test/api_fixture.h"

#define TEMPLATES  "/api/v1/namespaces/default/podtemplates"
#define SPEC(more) "'spec':{'containers':[{'name':'c','image':'x'}]" more "}"
#define POD(more)  "{'metadata':{'name':'p'}," SPEC(more) "}"

struct advice {
    const char *target, *body, *warnings;
};

static void expect_advice(const struct advice *list, size_t n)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, 7);
    for (size_t i = 0; i < n; i++) {
        char target[200];
        (void)snprintf(target, sizeof target, "%s?dryRun=All", list[i].target);
        int status = fixture_post(&r, target, fixture_json(list[i].body));
        if (status != 201 || !streq(r.warnings, list[i].warnings))
            fail_msg("%s\n  got %d %s%s\n  not %s", list[i].body, status,
                     fixture_str(&r, "message"), r.warnings, list[i].warnings);
    }
}

static void test_an_ordinary_pod_gets_none(void **state)
{
    static const struct advice list[] = {
        { PODS, POD(), "" },
        { PODS,
          "{'metadata':{'name':'p','annotations':{'a':'b'}},'spec':{'nodeSelector':{'a':'b'},"
          "'imagePullSecrets':[{'name':'a'},{'name':'b'}],'containers':[{'name':'c','image':'x',"
          "'env':[{'name':'A','value':'1'},{'name':'B','value':'$(A)'}],'ports':[{'name':'a',"
          "'containerPort':80},{'name':'b','containerPort':81}],'resources':{'limits':"
          "{'memory':'1Gi','ephemeral-storage':'1.5Gi'}}}]}}",
          "" },
    };
    (void)state;
    expect_advice(list, ARRAY_LEN(list));
}

static void test_what_needs_a_server_of_its_own(void **state)
{
    static const struct advice list[] = {
        /* No RuntimeClass has asked for it. */
        { TEMPLATES,
          "{'metadata':{'name':'t'},'template':{" SPEC(
              ",'overhead':{'memory':'1500m','ephemeral-storage':'1','cpu':'1m'}") "}}",
          "template.spec.overhead[memory]: fractional byte value \"1500m\" is invalid, must be an "
          "integer;" },
        { TEMPLATES,
          "{'metadata':{'name':'t'},'template':{" SPEC(
              ",'volumes':[{'name':'v','projected':{'sources':[{'clusterTrustBundle':{'name':'n',"
              "'path':'a'}},{'clusterTrustBundle':{'signerName':'x.io/s','path':'a/b/'}},"
              "{'podCertificate':{'signerName':'x.io/s','keyType':'ED25519','keyPath':'a/k',"
              "'certificateChainPath':'c'}}]}}]") "}}",
          "volume \"v\" (Projected): overlapping paths: \"a/b\" (ClusterTrustBundle \"x.io/s\") "
          "with \"a\" (ClusterTrustBundle \"n\");"
          "volume \"v\" (Projected): overlapping paths: \"a/k\" (PodCertificate key) with \"a\" "
          "(ClusterTrustBundle \"n\");" },
        { TEMPLATES,
          "{'metadata':{'name':'t'},'template':{'metadata':{'annotations':{"
          "'container.apparmor.security.beta.kubernetes.io/c':'localhost/p'}}," SPEC(
              ",'securityContext':{'appArmorProfile':{'type':'Localhost',"
              "'localhostProfile':'p'}}") "}}",
          "" },
        { TEMPLATES,
          "{'metadata':{'name':'t'},'template':{'metadata':{'annotations':{"
          "'container.apparmor.security.beta.kubernetes.io/c':'localhost/p'}}," SPEC(
              ",'securityContext':{'appArmorProfile':{'type':'Localhost',"
              "'localhostProfile':'q'}}") "}}",
          "template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: "
          "deprecated since v1.30; use the \"appArmorProfile\" field instead;" },
    };
    (void)state;
    expect_advice(list, ARRAY_LEN(list));
}

#define POLICIES "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
#define BLOCK(cidr)                                                                                \
    "{'metadata':{'name':'n'},'spec':{'podSelector':{},'egress':[{'to':[{'ipBlock':{'cidr':'" cidr \
    "'}}]}]}}"
#define BLOCK_PATH "spec.egress[0].to[0].ipBlock.cidr: "

/* Ranges at their ends: nothing and everything is behind the prefix. */
static void test_odd_ranges(void **state)
{
    static const struct advice list[] = {
        { POLICIES, BLOCK("1.2.3.4/32"), "" },
        { POLICIES, BLOCK("::/0"), "" },
        { POLICIES, BLOCK("::1/128"), "" },
        { POLICIES, BLOCK("1.2.3.4/0"),
          BLOCK_PATH "CIDR value \"1.2.3.4/0\" is ambiguous in this context (should be "
                     "\"0.0.0.0/0\" or \"1.2.3.4/32\"?);" },
        { POLICIES, BLOCK("::ffff:1.2.3.4/90"),
          BLOCK_PATH "CIDR value \"::ffff:1.2.3.4/90\" is ambiguous in this context (should be "
                     "\"::ffc0:0:0/90\" or \"1.2.3.4/128\"?);" BLOCK_PATH
                     "non-standard CIDR value \"::ffff:1.2.3.4/90\" will be considered invalid in "
                     "a future Kubernetes release: use \"::ffc0:0:0/90\";" },
        { POLICIES, BLOCK("::ffff:1.2.3.4/128"),
          BLOCK_PATH "non-standard CIDR value \"::ffff:1.2.3.4/128\" will be considered invalid "
                     "in a future Kubernetes release: use \"1.2.3.4/32\";" },
    };
    static const char *const bad[] = { "1.2.3.4/33",
                                       "::1/129",
                                       "1.2.3.4/",
                                       "1.2.3.4/-1",
                                       "/8",
                                       "1.2.3/8",
                                       "::/99999999999999999999" };
    CLEANUP(fixture_fini) struct fixture r;
    char body[300];

    (void)state;
    expect_advice(list, ARRAY_LEN(list));
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        (void)snprintf(body, sizeof body, BLOCK("%s"), bad[i]);
        assert_int_equal(fixture_post(&r, POLICIES, fixture_json(body)), 422);
    }
}

/* Lists come from outside: pairs of their entries are looked at to a bound. */
static void test_long_lists_end(void **state)
{
    enum { PORTS = 40000, FILES = 20000 };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"t\"},\"template\":{\"spec\":{\"containers\":"
                         "[{\"name\":\"c\",\"image\":\"x\",\"ports\":[");
    for (int i = 1; i <= PORTS; i++)
        strbuf_appendf(&body, "%s{\"containerPort\":80,\"hostPort\":%d}", i > 1 ? "," : "", i);
    strbuf_append(&body, "]}],\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"m\","
                         "\"items\":[");
    for (int i = 0; i < FILES; i++)
        strbuf_appendf(&body, "%s{\"key\":\"k\",\"path\":\"p%d\"}", i ? "," : "", i);
    strbuf_append(&body, "]}}]}}}");
    assert_int_equal(fixture_post(&r, TEMPLATES, body.data), 201);
    assert_string_equal(r.warnings, "");
}

/* 4096 characters, and 256 of each text when they would be more: here of two bytes. */
static void test_how_much_is_said(void **state)
{
    enum { MANY = 40, LETTERS = 300, SAID = 4096 / 256 };
    static const char begin[] = "unknown field \"100";
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;
    size_t texts = 0;

    (void)state;
    fixture_init(&r, 7);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"t\"}");
    for (int i = 0; i < MANY; i++) {
        strbuf_appendf(&body, ",\"%d", i + 100);
        for (int k = 0; k < LETTERS; k++)
            strbuf_append(&body, "\xc3\xa9");
        strbuf_append(&body, "\":1");
    }
    strbuf_append(&body, "}");
    assert_int_equal(fixture_post(&r, CMS, body.data), 201);
    assert_true(str_starts(r.warnings, begin));
    for (const char *p = r.warnings; (p = strchr(p, ';')); p++)
        texts++;
    assert_int_equal(texts, SAID);
    assert_int_equal(strlen(r.warnings), SAID * (2 * 256 - strlen(begin) + strlen(";")));
}

static void test_updates_of_a_template_are_told_by_its_generation(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(fixture_post(&r, TEMPLATES,
                                  fixture_json("{'metadata':{'name':'t'},'template':{" SPEC(
                                      ",'nodeSelector':{'beta.kubernetes.io/os':'x'}") "}}")),
                     201);
    assert_string_equal(r.warnings,
                        "template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since "
                        "v1.14; use \"kubernetes.io/os\" instead;");
    assert_int_equal(fixture_do(&r, "PATCH", TEMPLATES "/t", MERGE,
                                fixture_json("{'metadata':{'labels':{'a':'b'}}}")),
                     200);
    assert_string_equal(r.warnings, "");
    assert_int_equal(fixture_do(&r, "PATCH", TEMPLATES "/t", MERGE,
                                fixture_json("{'template':{'spec':{'nodeName':'n'}}}")),
                     200);
    assert_true(str_starts(r.warnings, "template.spec.nodeSelector["));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_ordinary_pod_gets_none),
        cmocka_unit_test(test_what_needs_a_server_of_its_own),
        cmocka_unit_test(test_odd_ranges),
        cmocka_unit_test(test_long_lists_end),
        cmocka_unit_test(test_how_much_is_said),
        cmocka_unit_test(test_updates_of_a_template_are_told_by_its_generation),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
