/* test_migration_parts.c - the pure parts of the MigrationController: args, shares, buckets,
 * templates, owners (descheduler 4.2, 4.3, 4.8, 4.9). */
#include "descheduler/migration/test/migration_fixture.h"

#include "descheduler/migration/evictrate.h"
#include "descheduler/migration/owners.h"
#include "descheduler/migration/template.h"

/* ---- args ------------------------------------------------------------------------------------ */

static void test_args_have_upstreams_defaults(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };
    const struct migration_args *m = mig_args(a, "{}", &err);

    (void)state;
    assert_non_null(m);
    assert_int_equal(m->max_concurrent_reconciles, 1);
    assert_int_equal(m->max_migrating_per_node.v, 2);
    assert_false(m->max_migrating_globally.set);
    assert_null(m->max_migrating_per_workload);
    assert_string_equal(m->default_job_mode, "ReservationFirst");
    assert_int_equal(m->default_job_ttl.v, 5 * MINUTE);
    assert_int_equal(m->scheduler_names.n, 1);
    assert_string_equal(m->scheduler_names.items[0], "koord-scheduler");
    assert_true(m->evict_qps == 10 && m->evict_burst == 1);
    assert_int_equal(m->policy, EVICT_POLICY_EVICTION);
    assert_int_equal(m->arbitration.interval.v, SEC / 2);
    assert_int_equal(args_limiter(m, "workload")->duration, 5 * MINUTE);
    assert_null(args_limiter(m, "namespace"));
    assert_int_equal(m->approval, APPROVAL_AUTOMATIC);
}

static void test_bad_args_are_refused_with_their_path(void **state)
{
    static const struct {
        const char *json, *says;
    } bad[] = {
        { "{'maxConcurrentReconciles':-1}", "maxConcurrentReconciles" },
        { "{'maxMigratingPerNode':-1}", "maxMigratingPerNode" },
        { "{'maxMigratingPerWorkload':'x'}", "maxMigratingPerWorkload" },
        { "{'maxUnavailablePerWorkload':'-5%'}", "maxUnavailablePerWorkload" },
        { "{'defaultJobMode':'X'}", "defaultJobMode must be ReservationFirst or EvictDirectly" },
        { "{'evictQPS':'0'}", "evictQPS must be greater than 0" },
        { "{'evictQPS':'fast'}", "evictQPS: Invalid value: \"fast\": must be a number" },
        { "{'evictBurst':-1}", "evictBurst" },
        { "{'defaultJobTTL':'-1s'}", "defaultJobTTL" },
        { "{'namespaces':{'include':['a'],'exclude':['b']}}", "namespaces" },
        { "{'skipEvictionGates':['PVC','Moon']}", "skipEvictionGates[1]: Invalid value: \"Moon\"" },
        { "{'objectLimiters':{'workload':{'duration':'-1s'}}}", "objectLimiters[workload]" },
        { "{'labelSelector':{'matchExpressions':[{'key':'a','operator':'Is'}]}}", "labelSelector" },
        { "{'nodeSelector':'a in'}", "nodeSelector" },
        { "{'evictionPolicy':'Ask'}", "evictionPolicy" },
        { "{'approval':'Never'}", "approval" },
        { "{'maxMigratingPerPlanet':1}", "maxMigratingPerPlanet" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct kerr err = { 0 };
        assert_null(mig_args(a, bad[i].json, &err));
        assert_contains(err.text, bad[i].says);
    }
}

static void test_shares_of_a_workload(void **state)
{
    static const struct {
        int64_t replicas;
        const char *share; /* NULL: none, "%": a number */
        int32_t number;
        int64_t want;
    } cases[] = {
        { 6, "80%", 0, 4 }, { 6, "150%", 0, 6 }, { 6, "n", 5, 5 },   { 6, "n", 7, 6 },
        { 6, NULL, 0, 2 },  { 50, "0%", 0, 1 },  { 6, "n", 0, 1 },   { 25, NULL, 0, 2 },
        { 1, NULL, 0, 1 },  { 3, NULL, 0, 1 },   { 10, NULL, 0, 2 }, { 100, NULL, 0, 10 },
        { 0, NULL, 0, 0 },  { 4, NULL, 0, 2 },   { 11, NULL, 0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct int_or_str v = { .i = cases[i].number };
        if (cases[i].share && !streq(cases[i].share, "n"))
            v.s = cases[i].share;
        assert_int_equal(max_of(cases[i].replicas, cases[i].share ? &v : NULL), cases[i].want);
    }
}

/* ---- buckets --------------------------------------------------------------------------------- */

struct one_set { /* a workload of so many replicas */
    int32_t replicas;
};
static enum workload_known no_object(void *arg, const struct kind *k, const char *ns,
                                     const char *name, const struct kobj **ret)
{
    (void)arg, (void)k, (void)ns, (void)name, (void)ret;
    return WORKLOAD_NONE;
}
static void no_pods(void *arg, const struct kind *k, struct kuid owner, kobjvec *out)
{
    (void)arg, (void)k, (void)owner, (void)out;
}
static enum workload_known by_scale(void *arg, const char *ns, const struct owner_ref *owner,
                                    int32_t *ret)
{
    const struct one_set *s = arg;

    (void)ns, (void)owner;
    *ret = s->replicas;
    return WORKLOAD_FOUND;
}

static struct kobj *owned_pod(struct kj_scratch *scratch, const char *kind)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    char text[512];

    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'p','namespace':'ns','uid':'u','ownerReferences':[{"
        "'apiVersion':'example.com/v1','kind':'%s','name':'w','uid':'w-uid','controller':"
        "true}]},'spec':{'nodeName':'n1','containers':[]}}",
        kind);
    mig_quoted(text);
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    assert_int_equal(kobj_decode(&kind_pod, kj_root(doc), scratch, &o, NULL), 0);
    return o;
}

/* Workload {1s, 10}: 100 ms after an eviction the next may follow, 10 ms after it not. */
static void test_buckets_of_a_workload(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *pod = owned_pod(scratch, "Thing");
    struct one_set set = { 100 };
    const struct workload_source source = { &set, no_object, no_pods, by_scale };
    CLEANUP(workloads_free) struct workloads *w = workloads_new(&source);
    CLEANUP(evictrate_free) struct evictrate *r = evictrate_new(w);
    struct kerr err = { 0 };
    const struct migration_args *m =
        mig_args(a,
                 "{'evictQPS':1000,'objectLimiters':{'workload':{'duration':'1s','maxMigrating':10}"
                 "}}",
                 &err);
    const char *what = "";

    (void)state;
    assert_int_equal(evictrate_wait(r, m, pod_of(pod), true, SEC, &what), 0);
    evictrate_take_objects(r, m, pod_of(pod), SEC);
    assert_that(evictrate_wait(r, m, pod_of(pod), true, SEC + SEC / 100, &what), >, 0);
    assert_string_equal(what, "workload");
    assert_int_equal(evictrate_wait(r, m, pod_of(pod), true, SEC + SEC / 10, &what), 0);
    /* The default: ten of 100 in five minutes is one in 30 s. */
    m = mig_args(a, "{}", &err);
    evictrate_take_objects(r, m, pod_of(pod), 100 * SEC);
    assert_that(evictrate_wait(r, m, pod_of(pod), true, 129 * SEC, &what), >, 0);
    assert_int_equal(evictrate_wait(r, m, pod_of(pod), true, 130 * SEC + 1, &what), 0);
}

static void test_namespaces_have_buckets_too(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *pod = owned_pod(scratch, "Thing");
    struct one_set set = { 100 };
    const struct workload_source source = { &set, no_object, no_pods, by_scale };
    CLEANUP(workloads_free) struct workloads *w = workloads_new(&source);
    CLEANUP(evictrate_free) struct evictrate *r = evictrate_new(w);
    struct kerr err = { 0 };
    const struct migration_args *m = mig_args(
        a, "{'objectLimiters':{'namespace':{'duration':'10s','maxMigrating':1,'burst':2}}}", &err);
    const char *what = "";

    (void)state;
    evictrate_take_objects(r, m, pod_of(pod), SEC);
    assert_int_equal(evictrate_wait(r, m, pod_of(pod), true, SEC, &what), 0); /* the second */
    evictrate_take_objects(r, m, pod_of(pod), SEC);
    assert_that(evictrate_wait(r, m, pod_of(pod), true, 2 * SEC, &what), >, 8 * SEC);
    assert_string_equal(what, "namespace");
    /* Forgotten after one and a half of its time. */
    assert_int_equal(evictrate_wait(r, m, pod_of(pod), true, 17 * SEC, &what), 0);
}

/* ---- templates ------------------------------------------------------------------------------- */

static struct kj_doc *render(const char *job_json, const char *pod_json, bool without_claims)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kj_doc_free) struct kj_doc *job_doc = NULL, *pod_doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(mem_free) char *job_text = mig_quoted(xstrdup(job_json));
    CLEANUP(mem_free) char *pod_text = mig_quoted(xstrdup(pod_json));
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    const struct template_opts opts = { .now = 1234567 * NSEC_PER_MSEC,
                                        .without_claims = without_claims };
    struct kerr err = { 0 };
    struct kj_doc *doc = NULL;

    assert_int_equal(kj_parse(job_text, strlen(job_text), 0, &job_doc, &err), 0);
    assert_int_equal(kj_parse(pod_text, strlen(pod_text), 0, &pod_doc, &err), 0);
    assert_int_equal(kobj_decode(&kind_podmigrationjob, kj_root(job_doc), scratch, &o, &err), 0);
    if (template_render(podmigrationjob_of(o), kj_root(pod_doc), &opts, &out, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(kj_parse(out.data, out.len, 0, &doc, &err), 0);
    return doc;
}

#define JOB_META "'metadata':{'name':'j','uid':'00000000-0000-4000-8000-000000000009'}"
#define POD                                                                                        \
    "{'metadata':{'name':'web-0','namespace':'ns','uid':'u','labels':{'app':'web'},'annotations':" \
    "{"                                                                                            \
    "'a':'b','scheduling.koordinator.sh/reservation-allocated':'{}'},'managedFields':[],"          \
    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'web','uid':'r',"       \
    "'controller':true}]},'spec':{'nodeName':'n1','volumes':[{'name':'v',"                         \
    "'persistentVolumeClaim':{'claimName':'c'}},{'name':'e','emptyDir':{}}],'containers':[{'name'" \
    ":"                                                                                            \
    "'c','env':[{'name':'KEPT'}]}]},'status':{'phase':'Running'}}"

static const char *str_at(const struct kj_doc *doc, const char *path)
{
    return kj_str_or(kj_path(kj_root(doc), path), "");
}

static const struct kj_val *terms_of(const struct kj_doc *doc)
{
    return kj_path(kj_root(doc),
                   "spec.template.spec.affinity.nodeAffinity."
                   "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
}

static void test_a_reservation_like_the_pod(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = render("{" JOB_META ",'spec':{'ttl':'3m','podRef':{}}}", POD, false);
    const struct kj_val *spec = kj_get(kj_root(doc), "spec");
    const struct kj_val *owner = kj_path(kj_at(kj_get(spec, "owners"), 0), "controller");

    (void)state;
    assert_string_equal(str_at(doc, "metadata.name"), "00000000-0000-4000-8000-000000000009");
    assert_string_equal(
        kj_str_or(kj_get(kj_path(kj_root(doc), "metadata.labels"), "app.kubernetes.io/created-by"),
                  ""),
        "koord-descheduler");
    assert_string_equal(kj_str_or(kj_get(kj_path(kj_root(doc), "metadata.labels"),
                                         "scheduling.koordinator.sh/reservation-order"),
                                  ""),
                        "1234567");
    assert_string_equal(str_at(doc, "spec.ttl"), "3m0s");
    assert_true(kj_bool(kj_get(spec, "allocateOnce"), false));
    assert_string_equal(kj_str_or(kj_get(owner, "kind"), ""), "ReplicaSet");
    assert_string_equal(kj_str_or(kj_get(owner, "namespace"), ""), "ns");
    assert_string_equal(str_at(doc, "spec.template.metadata.labels.app"), "web");
    assert_string_equal(str_at(doc, "spec.template.metadata.annotations.a"), "b");
    assert_int_equal(kj_len(kj_path(spec, "template.metadata.annotations")), 1);
    assert_null(kj_path(spec, "template.metadata.uid"));
    assert_null(kj_path(spec, "template.spec.nodeName"));
    assert_int_equal(kj_len(kj_path(spec, "template.spec.volumes")), 2);
    assert_non_null(kj_at(kj_get(kj_at(kj_path(spec, "template.spec.containers"), 0), "env"), 0));
    assert_int_equal(kj_len(terms_of(doc)), 1);
    CLEANUP(kj_doc_free)
    struct kj_doc *bare = render("{" JOB_META ",'spec':{'podRef':{}}}", POD, true);
    assert_int_equal(kj_len(kj_path(kj_root(bare), "spec.template.spec.volumes")), 1);
    assert_string_equal(str_at(bare, "spec.ttl"), ""); /* as the job: none */
}

static void test_a_template_is_completed(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = render(
        "{" JOB_META ",'spec':{'podRef':{},'reservationOptions':{'template':{'metadata':{'name':'"
        "mine','labels':{"
        "'x':'y'}},'spec':{'expires':'2030-01-01T00:00:00Z','allocateOnce':false,'owners':[{"
        "'labelSelector':{'matchLabels':{'a':'b'}}}],'template':{'spec':{'nodeName':'n1','affinity'"
        ":{"
        "'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
        "'matchExpressions':[{'key':'z','operator':'Exists'}]},{'matchFields':[{'key':"
        "'metadata.name','operator':'In','values':['n2']}]}]}}}}}}}}}}",
        POD, false);
    const struct kj_val *terms = terms_of(doc);

    (void)state;
    assert_string_equal(str_at(doc, "metadata.name"), "mine");
    assert_string_equal(str_at(doc, "metadata.labels.x"), "y");
    assert_string_equal(str_at(doc, "spec.ttl"), ""); /* expires is given */
    assert_true(kj_bool(kj_path(kj_root(doc), "spec.allocateOnce"), false));
    assert_string_equal(
        kj_str_or(kj_path(kj_at(kj_path(kj_root(doc), "spec.owners"), 0), "labelSelector."
                                                                          "matchLabels.a"),
                  ""),
        "b");
    assert_null(kj_path(kj_root(doc), "spec.template.spec.nodeName"));
    assert_int_equal(kj_len(terms), 2);
    assert_int_equal(kj_len(kj_get(kj_at(terms, 0), "matchFields")), 1);
    assert_int_equal(kj_len(kj_get(kj_at(terms, 1), "matchFields")), 2);
}

/* One that has no node yet is to use the Reservation itself. */
static void test_a_waiting_pod_owns_its_reservation(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = render("{" JOB_META ",'spec':{'podRef':{}}}",
                                "{'metadata':{'name':'w','namespace':'ns','uid':'u'},'spec':{},"
                                "'status':{'phase':'Pending','conditions':[{'type':'PodScheduled',"
                                "'status':'False'}]}}",
                                false);
    const struct kj_val *owner = kj_path(kj_at(kj_path(kj_root(doc), "spec.owners"), 0), "object");

    (void)state;
    assert_string_equal(kj_str_or(kj_get(owner, "kind"), ""), "Pod");
    assert_string_equal(kj_str_or(kj_get(owner, "uid"), ""), "u");
    assert_null(terms_of(doc)); /* any node will do */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args_have_upstreams_defaults),
        cmocka_unit_test(test_bad_args_are_refused_with_their_path),
        cmocka_unit_test(test_shares_of_a_workload),
        cmocka_unit_test(test_buckets_of_a_workload),
        cmocka_unit_test(test_namespaces_have_buckets_too),
        cmocka_unit_test(test_a_reservation_like_the_pod),
        cmocka_unit_test(test_a_template_is_completed),
        cmocka_unit_test(test_a_waiting_pod_owns_its_reservation),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
