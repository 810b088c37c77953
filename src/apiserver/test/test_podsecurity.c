/* test_podsecurity.c - Pod Security Standards: labels, checks by table, the step PodSecurity. */
#include "apiserver/admission/podsecurity.h"

#include "apiserver/test/api_fixture.h"
#include "base/klog.h"

#define NAMESPACES         "/api/v1/namespaces"
#define LABEL(mode, value) "'pod-security.kubernetes.io/" mode "':'" value "'"

static struct kj_doc *parse(const char *text)
{
    struct kj_doc *d = NULL;
    struct kerr err = { 0 };

    if (kj_parse(fixture_json(text), strlen(text), 0, &d, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return d;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const struct {
    const char *labels, *enforce, *audit, *warn;
    size_t errors;
} policies[] = {
    { "{}", "privileged:latest", "privileged:latest", "privileged:latest", 0 },
    { "{'a':'b'}", "privileged:latest", "privileged:latest", "privileged:latest", 0 },
    { "{" LABEL("audit", "baseline") "}", "privileged:latest", "baseline:latest",
      "privileged:latest", 0 },
    /* Who enforces is warned of the same, unless he says something else. */
    { "{" LABEL("enforce", "baseline") "}", "baseline:latest", "privileged:latest",
      "baseline:latest", 0 },
    { "{" LABEL("enforce", "restricted") "," LABEL("enforce-version", "v1.20") "}",
      "restricted:v1.20", "privileged:latest", "restricted:v1.20", 0 },
    { "{" LABEL("enforce", "restricted") "," LABEL("warn-version", "v1.3") "}", "restricted:latest",
      "privileged:latest", "restricted:v1.3", 0 },
    { "{" LABEL("enforce", "restricted") "," LABEL("warn", "baseline") "}", "restricted:latest",
      "privileged:latest", "baseline:latest", 0 },
    { "{" LABEL("enforce", "restricted") "," LABEL("warn", "privileged") "}", "restricted:latest",
      "privileged:latest", "privileged:latest", 0 },
    { "{" LABEL("enforce-version", "v1.0") "}", "privileged:v1.0", "privileged:latest",
      "privileged:latest", 0 },
    { "{" LABEL("warn", "restricted") "," LABEL("warn-version", "v1.10000") "}",
      "privileged:latest", "privileged:latest", "restricted:v1.10000", 0 },
    { "{" LABEL("warn-version", "v1.9223372036854775807") "}", "privileged:latest",
      "privileged:latest", "privileged:v1.9223372036854775807", 0 },
    /* What is wrong is strict where it refuses and silent where it does not. */
    { "{" LABEL("enforce", "x") "}", "restricted:latest", "privileged:latest", "privileged:latest",
      1 },
    { "{" LABEL("enforce", "") "," LABEL("enforce-version", "") "}", "restricted:latest",
      "privileged:latest", "privileged:latest", 2 },
    { "{" LABEL("audit", "x") "," LABEL("warn", "x") "," LABEL("enforce", "baseline") "}",
      "baseline:latest", "privileged:latest", "privileged:latest", 2 },
    { "{" LABEL("enforce", "baseline") "," LABEL("enforce-version", "v1.01") "}", "baseline:latest",
      "privileged:latest", "baseline:latest", 1 },
    { "{" LABEL("warn-version", "v1.9223372036854775808") "}", "privileged:latest",
      "privileged:latest", "privileged:latest", 1 },
    { "{" LABEL("warn-version", "v1.-1") "," LABEL("audit-version", "v1.") "}", "privileged:latest",
      "privileged:latest", "privileged:latest", 2 },
    { "{" LABEL("warn-version", "v1.1x") "," LABEL("audit-version", "1.1") "}", "privileged:latest",
      "privileged:latest", "privileged:latest", 2 },
};

static void test_labels_make_a_policy(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *labels = parse(policies[i].labels);
        CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
        struct podsec_policy p = podsec_policy_of(kj_root(labels), errors);
        assert_string_equal(podsec_name(p.enforce, a), policies[i].enforce);
        assert_string_equal(podsec_name(p.audit, a), policies[i].audit);
        assert_string_equal(podsec_name(p.warn, a), policies[i].warn);
        assert_int_equal(field_errors_count(errors), policies[i].errors);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

#define ANY_VERSION    PODSEC_LATEST
#define SPEC(rest)     "{'spec':{" rest "}}"
#define A(rest)        SPEC("'containers':[{'name':'a'" rest "}]")
#define OWN(rest)      A(",'securityContext':{" rest "}")
#define POD_SAYS(rest) SPEC("'securityContext':{" rest "},'containers':[{'name':'a'},{'name':'b'}]")
#define HARDENED                                                                     \
    "'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'Localhost'}}," \
    "'containers':[{'name':'a','securityContext':{'allowPrivilegeEscalation':false," \
    "'capabilities':{'drop':['ALL']}}}]"
#define WINDOWS                                                                            \
    SPEC("'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true},'containers':[{" \
         "'name':'a'}]")
#define ESCALATION                                                 \
    "allowPrivilegeEscalation != false (container \"a\" must set " \
    "securityContext.allowPrivilegeEscalation=false)"
#define NOT_ROOT                                             \
    "runAsNonRoot != true (pod or container \"a\" must set " \
    "securityContext.runAsNonRoot=true)"
#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"

/* tests/api/podsecurity.py has the common cases, as kube-apiserver answers them; here are those
 * that no valid pod has, and where versions begin and end. */
static const struct {
    enum podsec_level level;
    int64_t minor;
    const char *pod, *details; /* NULL: allowed */
} checks[] = {
    { PODSEC_PRIVILEGED, ANY_VERSION, SPEC("'hostNetwork':true"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, "{}", NULL },
    { PODSEC_BASELINE, ANY_VERSION, "{'spec':null}", NULL },
    { PODSEC_RESTRICTED, ANY_VERSION, SPEC("'containers':null,'securityContext':null"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, SPEC("'hostNetwork':null,'hostPID':false"), NULL },
    { PODSEC_RESTRICTED, ANY_VERSION, SPEC(HARDENED), NULL },
    { PODSEC_RESTRICTED, 0, SPEC(HARDENED), NULL },
    { PODSEC_RESTRICTED, INT64_MAX, SPEC(HARDENED), NULL },

    { PODSEC_BASELINE, ANY_VERSION, OWN("'procMount':'Unmasked'"),
      "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")" },
    { PODSEC_BASELINE, ANY_VERSION, OWN("'procMount':null"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, OWN("'procMount':''"),
      "procMount (container \"a\" must not set securityContext.procMount to \"\")" },
    { PODSEC_BASELINE, ANY_VERSION,
      SPEC("'hostUsers':false,'containers':[{'name':'a','securityContext':{'procMount':'X'}}]"),
      NULL },
    { PODSEC_BASELINE, 34,
      SPEC("'hostUsers':false,'containers':[{'name':'a','securityContext':{'procMount':'X'}}]"),
      "procMount (container \"a\" must not set securityContext.procMount to \"X\")" },

    { PODSEC_BASELINE, ANY_VERSION, OWN("'capabilities':{'add':[]}"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, OWN("'capabilities':{'add':['B','A','B','KILL']}"),
      "non-default capabilities (container \"a\" must not include \"A\", \"B\" in "
      "securityContext.capabilities.add)" },
    { PODSEC_RESTRICTED, 21,
      SPEC("'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'Localhost'}},"
           "'containers':[{'name':'a','securityContext':{'capabilities':{'add':['A']},"
           "'allowPrivilegeEscalation':false}}]"),
      "non-default capabilities (container \"a\" must not include \"A\" in "
      "securityContext.capabilities.add)" },
    { PODSEC_BASELINE, ANY_VERSION,
      A(",'ports':[{'hostPort':80},{'hostPort':9},{'hostPort':80},{'hostPort':0},{}]"),
      "hostPort (container \"a\" uses hostPorts 80, 9)" },
    { PODSEC_BASELINE, ANY_VERSION,
      SPEC("'ephemeralContainers':[{'name':'e','securityContext':{'privileged':true}}],"
           "'initContainers':[{'name':'i','securityContext':{'privileged':true}}],"
           "'containers':[{'name':'a','securityContext':{'privileged':true}}]"),
      "privileged (containers \"i\", \"a\", \"e\" must not set securityContext.privileged=true)" },
    { PODSEC_BASELINE, ANY_VERSION,
      A(",'lifecycle':{'preStop':{'tcpSocket':{'host':'h'},'httpGet':{'host':''}}}"),
      "probe or lifecycle host (container \"a\" uses probe or lifecycle host \"h\")" },
    { PODSEC_BASELINE, 33, A(",'lifecycle':{'preStop':{'tcpSocket':{'host':'h'}}}"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, POD_SAYS("'windowsOptions':{'hostProcess':true}"),
      "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)" },
    { PODSEC_BASELINE, ANY_VERSION, POD_SAYS("'windowsOptions':{'hostProcess':false}"), NULL },

    { PODSEC_BASELINE, ANY_VERSION, POD_SAYS("'appArmorProfile':{}"),
      "forbidden AppArmor profile (pod must not set AppArmor profile type to \"\")" },
    { PODSEC_BASELINE, ANY_VERSION,
      "{'metadata':{'annotations':{'" APPARMOR "b':'x','" APPARMOR "a':'un\\\"c','" APPARMOR
      "c':'runtime/default','" APPARMOR "d':'localhost/p','" APPARMOR "e':'','x':'y'}},"
      "'spec':{'securityContext':{'appArmorProfile':{'type':'Unconfined'}},'containers':[{"
      "'name':'a','securityContext':{'appArmorProfile':{'type':'X'}}}]}}",
      "forbidden AppArmor profiles (pod and container \"a\" and annotations must not set AppArmor "
      "profile type to \"Unconfined\", \"X\", \"" APPARMOR "a=\"un\\\"c\"\", \"" APPARMOR
      "b=\"x\"\")" },
    { PODSEC_BASELINE, 0, "{'metadata':{'annotations':{'" APPARMOR "a':'x'}}}",
      "forbidden AppArmor profile (annotation must not set AppArmor profile type to \"" APPARMOR
      "a=\"x\"\")" },

    { PODSEC_BASELINE, ANY_VERSION, POD_SAYS("'seLinuxOptions':{'type':''}"), NULL },
    { PODSEC_BASELINE, ANY_VERSION, POD_SAYS("'seLinuxOptions':{'user':'u','role':'r'}"),
      "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set; "
      "role may not be set)" },
    { PODSEC_BASELINE, 30, POD_SAYS("'seLinuxOptions':{'type':'container_engine_t'}"),
      "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "
      "\"container_engine_t\")" },
    { PODSEC_BASELINE, 31, POD_SAYS("'seLinuxOptions':{'type':'container_engine_t'}"), NULL },

    { PODSEC_BASELINE, 18, POD_SAYS("'seccompProfile':{'type':'X'}"), NULL },
    { PODSEC_BASELINE, 19, POD_SAYS("'seccompProfile':{'type':'X'}"),
      "seccompProfile (pod must not set securityContext.seccompProfile.type to \"X\")" },
    { PODSEC_BASELINE, 18,
      "{'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':''}},'spec':{}}",
      "seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod=\"\")" },
    { PODSEC_BASELINE, 19,
      "{'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':''}},'spec':{}}",
      NULL },
    { PODSEC_BASELINE, 31, POD_SAYS("'sysctls':[{'name':'net.ipv4.tcp_wmem'}]"),
      "forbidden sysctls (net.ipv4.tcp_wmem)" },
    { PODSEC_BASELINE, 32, POD_SAYS("'sysctls':[{'name':'net.ipv4.tcp_wmem'}]"), NULL },
    { PODSEC_BASELINE, 0, POD_SAYS("'sysctls':[{'name':'b'},{'name':'a'},{'name':'b'},{}]"),
      "forbidden sysctls (b, a, b, )" },

    { PODSEC_RESTRICTED, 7, A(""), NOT_ROOT },
    { PODSEC_RESTRICTED, 8, A(""), ESCALATION ", " NOT_ROOT },
    { PODSEC_RESTRICTED, 24, WINDOWS,
      ESCALATION ", unrestricted capabilities (container \"a\" must set "
                 "securityContext.capabilities.drop=[\"ALL\"]), seccompProfile (pod or container "
                 "\"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
                 "\"Localhost\")" },
    { PODSEC_RESTRICTED, 25, WINDOWS, NULL },
    { PODSEC_RESTRICTED, ANY_VERSION,
      SPEC(HARDENED ",'volumes':[{'name':'v'},{'name':'w','hostPath':{}},{'name':'x',"
                    "'emptyDir':{}},{'name':'y','hostPath':null,'secret':{}}]"),
      "restricted volume types (volumes \"v\", \"w\" use restricted volume types \"hostPath\", "
      "\"unknown\")" },
    { PODSEC_RESTRICTED, 34,
      SPEC("'hostUsers':false,'containers':[{'name':'a','securityContext':{'runAsUser':0,"
           "'allowPrivilegeEscalation':false,'seccompProfile':{'type':'RuntimeDefault'},"
           "'capabilities':{'drop':['ALL']}}}]"),
      NOT_ROOT ", runAsUser=0 (container \"a\" must not set runAsUser=0)" },
    { PODSEC_RESTRICTED, 35,
      SPEC("'hostUsers':false,'containers':[{'name':'a','securityContext':{'runAsUser':0,"
           "'allowPrivilegeEscalation':false,'seccompProfile':{'type':'RuntimeDefault'},"
           "'capabilities':{'drop':['ALL']}}}]"),
      NULL },
    /* An own word against the pod's. */
    { PODSEC_RESTRICTED, 7,
      SPEC("'securityContext':{'runAsNonRoot':false},'containers':[{'name':'a','securityContext':{"
           "'runAsNonRoot':true}},{'name':'b'}]"),
      "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)" },
};

static void test_checks_tell_what_they_found(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *pod = parse(checks[i].pod);
        CLEANUP(podsec_violations_fini) struct podsec_violations v = { 0 };
        struct podsec_standard s = { checks[i].level, checks[i].minor };
        bool allowed = podsec_allows(s, kj_root(pod), a, &v);
        assert_string_equal(strbuf_str(&v.details), str_or(checks[i].details, ""));
        assert_int_equal(allowed, !checks[i].details);
    }
}

/* Each check adds its reason, in upstream's order. */
static void test_reasons_stand_without_details(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free)
    struct kj_doc *pod =
        parse(SPEC("'hostIPC':true,'securityContext':{'sysctls':[{'name':'x'}]},'containers':[{"
                   "'name':'a','securityContext':{'privileged':true}}]"));
    CLEANUP(podsec_violations_fini) struct podsec_violations v = { 0 };

    (void)state;
    assert_false(podsec_allows((struct podsec_standard){ PODSEC_RESTRICTED, PODSEC_LATEST },
                               kj_root(pod), a, &v));
    assert_string_equal(v.reasons.data,
                        "host namespaces, privileged, forbidden sysctls, allowPrivilegeEscalation "
                        "!= false, unrestricted capabilities, runAsNonRoot != true, "
                        "seccompProfile");
}

/* A hostile list costs what sorting it costs. */
static void test_many_names_are_no_burden(void **state)
{
    enum { MANY = 100000 };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *pod = NULL;
    CLEANUP(podsec_violations_fini) struct podsec_violations v = { 0 };

    (void)state;
    strbuf_append(&text, "{\"spec\":{\"containers\":[{\"securityContext\":{\"capabilities\":{"
                         "\"add\":[");
    for (int i = 0; i < MANY; i++)
        strbuf_appendf(&text, "%s\"c%d\"", i ? "," : "", MANY - i);
    strbuf_append(&text, "]}}}]}}");
    assert_int_equal(kj_parse(text.data, text.len, 0, &pod, NULL), 0);
    assert_false(podsec_allows((struct podsec_standard){ PODSEC_BASELINE, PODSEC_LATEST },
                               kj_root(pod), a, &v));
    assert_starts(v.details.data, "non-default capabilities (container \"\" must not include "
                                  "\"c1\", \"c10\", \"c100\", \"c1000\"");
}

/* ---- the step -------------------------------------------------------------------------------- */

#define IN(ns, plural) "/api/v1/namespaces/" ns "/" plural
#define HOSTLY(name)                                                                    \
    "{'metadata':{'name':'" name "'},'spec':{'hostPID':true,'containers':[{'name':'a'," \
    "'image':'i'}]}}"
#define PLAIN(name) \
    "{'metadata':{'name':'" name "'},'spec':{'containers':[{'name':'a','image':'i'}]}}"
#define WARNING(standard) \
    "would violate PodSecurity \"" standard "\": host namespaces (hostPID=true);"

static void make_ns(struct fixture *r, const char *name, const char *labels)
{
    char body[400];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','labels':{%s}}}", name, labels);
    assert_int_equal(fixture_post(r, NAMESPACES, fixture_json(body)), 201);
}

static int label(struct fixture *r, const char *labels)
{
    char body[400];

    (void)snprintf(body, sizeof body, "{'metadata':{'labels':{%s}}}", labels);
    return fixture_do(r, "PATCH", NAMESPACES "/n", MERGE, fixture_json(body));
}

static int post(struct fixture *r, const char *target, const char *body)
{
    return fixture_post(r, target, fixture_json(body));
}

static void test_a_label_counts_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    make_ns(&r, "n", "");
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
    assert_int_equal(label(&r, LABEL("warn", "baseline")), 200);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("q")), 201);
    assert_string_equal(r.warnings, WARNING("baseline:latest"));
    assert_int_equal(label(&r, LABEL("enforce", "baseline") "," LABEL("enforce-version", "v1.4")),
                     200);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("r")), 403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"r\" is forbidden: violates PodSecurity \"baseline:v1.4\": host "
                        "namespaces (hostPID=true)");
    assert_string_equal(fixture_str(&r, "details.name"), "r");
    assert_string_equal(r.warnings, "");
    assert_int_equal(post(&r, PODS, HOSTLY("r")), 201); /* elsewhere */
    assert_int_equal(label(&r, "'pod-security.kubernetes.io/enforce':null"), 200);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("r")), 201);
    assert_int_equal(post(&r, IN("n", "pods"), PLAIN("s")), 201);
    assert_string_equal(r.warnings, "");
}

/* A namespace of the same name knows nothing of the one before. */
static void test_a_namespace_is_forgotten_with_its_labels(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 2);
    make_ns(&r, "n", LABEL("enforce", "baseline"));
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 403);
    assert_int_equal(fixture_delete(&r, NAMESPACES "/n", NULL), 200);
    assert_int_equal(fixture_put(&r, NAMESPACES "/n/finalize",
                                 "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}"),
                     200);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 404);
    make_ns(&r, "n", "");
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
}

#define TEMPLATE                                                                                  \
    "{'metadata':{'labels':{'a':'b'}},'spec':{'hostPID':true,'containers':[{'name':'a','image':'" \
    "i'}]}}"

static void test_templates_are_warned_of(void **state)
{
    static const char *const bodies[][2] = {
        { "/apis/apps/v1/namespaces/n/deployments",
          "{'metadata':{'name':'w'},'spec':{'selector':{"
          "'matchLabels':{'a':'b'}},'template':" TEMPLATE "}}" },
        { IN("n", "replicationcontrollers"),
          "{'metadata':{'name':'w'},'spec':{'selector':{'a':'b'},'template':" TEMPLATE "}}" },
        { IN("n", "podtemplates"), "{'metadata':{'name':'w'},'template':" TEMPLATE "}" },
        { "/apis/batch/v1/namespaces/n/cronjobs",
          "{'metadata':{'name':'w'},'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{"
          "'template':{'spec':{'restartPolicy':'Never','hostPID':true,'containers':[{'name':'a',"
          "'image':'i'}]}}}}}}" },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    make_ns(&r, "n", LABEL("enforce", "baseline"));
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        assert_int_equal(post(&r, bodies[i][0], bodies[i][1]), 201);
        assert_string_equal(r.warnings, WARNING("baseline:latest"));
    }
    assert_int_equal(fixture_do(&r, "PATCH", "/apis/apps/v1/namespaces/n/deployments/w/scale",
                                MERGE, "{\"spec\":{\"replicas\":2}}"),
                     200);
    assert_string_equal(r.warnings, "");
}

static void test_only_changes_that_matter_are_judged(void **state)
{
    static const char strategic[] = "application/strategic-merge-patch+json";
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 4);
    make_ns(&r, "n", "");
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
    assert_int_equal(label(&r, LABEL("enforce", "baseline")), 200);
    assert_int_equal(fixture_do(&r, "PATCH", IN("n", "pods") "/p", MERGE,
                                "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(fixture_do(&r, "PATCH", IN("n", "pods") "/p/status", MERGE,
                                "{\"status\":{\"reason\":\"b\"}}"),
                     200);
    assert_int_equal(fixture_do(&r, "PATCH", IN("n", "pods") "/p", strategic,
                                "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"j\"}]}}"),
                     403);
    assert_int_equal(
        fixture_do(&r, "PATCH", IN("n", "pods") "/p/ephemeralcontainers", strategic,
                   "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":\"j\"}]}}"),
        403);
    assert_int_equal(post(&r, IN("n", "pods") "/p/binding",
                          "{'metadata':{'name':'p'},'target':{'name':'node'}}"),
                     201);
    assert_int_equal(fixture_delete(&r, IN("n", "pods") "/p", NULL), 200);
}

static void test_wrong_labels_are_refused_with_causes(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 5);
    make_ns(&r, "n", "");
    assert_int_equal(label(&r, LABEL("warn-version", "1.2") "," LABEL("enforce", "no")), 422);
    assert_string_equal(
        fixture_str(&r, "message"),
        "Namespace \"n\" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid "
        "value: \"no\": must be one of privileged, baseline, restricted, "
        "metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \"1.2\": must be "
        "\"latest\" or \"v1.x\"]");
    assert_string_equal(fixture_str(&r, "reason"), "Invalid");
    assert_int_equal(kj_len(fixture_val(&r, "details.causes")), 2);
    /* Labels that came in another way are no obstacle. */
    assert_int_equal(fixture_do(&r, "PATCH", NAMESPACES "/n/status", MERGE,
                                "{\"metadata\":{\"labels\":{\"pod-security.kubernetes.io/enforce\":"
                                "\"no\"}}}"),
                     200);
    assert_int_equal(label(&r, "'a':'b'"), 200);
    assert_int_equal(label(&r, LABEL("enforce", "not")), 422);
    assert_int_equal(post(&r, IN("n", "pods"), PLAIN("p")), 403);
    assert_starts(fixture_str(&r, "message"),
                  "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": allow");
}

static void note(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void test_audit_is_a_line_in_the_log(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 6);
    make_ns(&r, "n", LABEL("audit", "baseline"));
    klog_set_sink(note, &log);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
    assert_int_equal(post(&r, IN("n", "pods"), PLAIN("q")), 201);
    klog_set_sink(NULL, NULL);
    assert_string_equal(r.warnings, "");
    assert_contains(strbuf_str(&log),
                    "\"Pod security violation\" resource=\"pods\" namespace=\"n\" name=\"p\"");
    assert_contains(strbuf_str(&log), "would violate PodSecurity \\\"baseline:latest\\\": host");
    assert_lacks(strbuf_str(&log), "name=\"q\"");
}

static void test_the_step_can_be_left_out(void **state)
{
    static const char *const none[] = { "PodSecurity" };
    struct apiserver_opts o = { .no_crds = true, .disabled_admission = none, .ndisabled = 1 };
    struct fixture r = { .loop = loop_new_virtual(WALL0, 7) };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(apiserver_new(r.loop, &o, &r.s, &err), 0);
    loop_advance(r.loop, NSEC_PER_SEC);
    make_ns(&r, "n", LABEL("enforce", "anything"));
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
    fixture_fini_p(&r);
}

/* ---- pods that are there --------------------------------------------------------------------- */

static void collect(void *arg, const char *text)
{
    strbuf_appendf(arg, "%s\n", text);
}

static const char *existing(struct fixture *r, struct podsec_standard s, struct strbuf *out)
{
    strbuf_reset(out);
    podsec_existing(r->s, "n", s, collect, out);
    return strbuf_str(out);
}

static void test_who_tightens_is_told_of_pods(void **state)
{
    static const struct podsec_standard baseline = { PODSEC_BASELINE, PODSEC_LATEST };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 8);
    make_ns(&r, "n", "");
    assert_string_equal(existing(&r, baseline, &out), "");
    assert_int_equal(post(&r, IN("n", "pods"), PLAIN("a")), 201);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("q")), 201);
    assert_int_equal(post(&r, IN("n", "pods"), HOSTLY("p")), 201);
    assert_int_equal(label(&r, LABEL("enforce", "baseline")), 200);
    assert_string_equal(
        r.warnings, "existing pods in namespace \"n\" violate the new PodSecurity enforce level "
                    "\"baseline:latest\";p (and 1 other pod): host namespaces;");
    assert_int_equal(label(&r, LABEL("enforce", "baseline")), 200);
    assert_string_equal(r.warnings, "");
    assert_int_equal(label(&r, LABEL("enforce-version", "v1.0")), 200);
    assert_contains(r.warnings, "\"baseline:v1.0\"");
    assert_int_equal(label(&r, LABEL("enforce", "privileged")), 200);
    assert_string_equal(r.warnings, "");
    /* Each group under its first pod, in the order of these lines. */
    const struct podsec_standard restricted = { PODSEC_RESTRICTED, 7 };
    assert_string_equal(
        existing(&r, restricted, &out),
        "existing pods in namespace \"n\" violate the new PodSecurity enforce level "
        "\"restricted:v1.7\"\na: runAsNonRoot != true\np (and 1 other pod): host "
        "namespaces, runAsNonRoot != true\n");
}

/* Of many pods 3000 are looked at: those that are alone, and one of each controller, come first. */
static void test_of_many_pods_the_different_ones_come_first(void **state)
{
    enum { REPLICAS = 3050, ALONE = 20 };
    static const struct podsec_standard baseline = { PODSEC_BASELINE, PODSEC_LATEST };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 9);
    for (int i = 0; i < REPLICAS + ALONE; i++) {
        bool alone = i >= REPLICAS;
        char name[16], doc[300];
        const struct store_key k = { "pods", "n", name };
        (void)snprintf(name, sizeof name, "%s-%04d", alone ? "z" : "a", i);
        int n = snprintf(doc, sizeof doc, "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{%s}}", name,
                         alone ? "" : ",\"ownerReferences\":[{\"uid\":\"u\",\"controller\":true}]",
                         alone ? "\"volumes\":[{\"hostPath\":{}}]" : "\"hostPID\":true");
        assert_int_equal(store_put(apiserver_store(r.s), &k, 0, doc, (size_t)n, NULL, NULL, NULL),
                         0);
    }
    loop_advance(r.loop, NSEC_PER_SEC);
    existing(&r, baseline, &out);
    assert_starts(out.data, "new PodSecurity enforce level only checked against the first 3000 of "
                            "3070 existing pods\nexisting pods in namespace \"n\"");
    assert_contains(out.data, "\na-0000 (and 2979 other pods): host namespaces\n"
                              "z-3050 (and 19 other pods): hostPath volumes\n");
    CLEANUP(strbuf_fini) struct strbuf again = STRBUF_INIT;
    assert_string_equal(existing(&r, baseline, &again), out.data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_labels_make_a_policy),
    cmocka_unit_test(test_checks_tell_what_they_found),
    cmocka_unit_test(test_reasons_stand_without_details),
    cmocka_unit_test(test_many_names_are_no_burden),
    cmocka_unit_test(test_a_label_counts_at_once),
    cmocka_unit_test(test_a_namespace_is_forgotten_with_its_labels),
    cmocka_unit_test(test_templates_are_warned_of),
    cmocka_unit_test(test_only_changes_that_matter_are_judged),
    cmocka_unit_test(test_wrong_labels_are_refused_with_causes),
    cmocka_unit_test(test_audit_is_a_line_in_the_log),
    cmocka_unit_test(test_the_step_can_be_left_out),
    cmocka_unit_test(test_who_tightens_is_told_of_pods),
    cmocka_unit_test(test_of_many_pods_the_different_ones_come_first),
};

FIXTURE_MAIN(tests)
