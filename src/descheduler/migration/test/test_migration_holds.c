/* test_migration_holds.c - the rest of what must hold of jobs (descheduler 4): unavailable pods,
 * jobs of one Job, owners of which nothing is known.
 */
#include "descheduler/migration/arbitrate.h"
#include "descheduler/migration/test/migration_fixture.h"
#include "descheduler/migration/workloads.h"

#include "base/intern.h"

/* ---- pods that are not available -------------------------------------------------------------- */

/* Ten replicas on ten nodes, one of them not ready if wanted. */
static void ten_pods(struct migration_fixture *f, uint64_t seed, const char *args, bool not_ready)
{
    char pod[16], node[16];

    mig_prepare(f, seed, args);
    mig_replicaset(f, "web", 10);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        (void)snprintf(node, sizeof node, "n1%d", i);
        mig_pod(f, pod, "web", node);
    }
    if (not_ready)
        mig_patch(f, PODS, "web-9",
                  "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}");
    f->no_scheduler = true;
    mig_lead(f);
}

static bool passes(struct migration_fixture *f, const char *job, const char *pod)
{
    mig_new_job(f, job, pod, "'ttl':'10m',");
    mig_run(f, 3 * SEC);
    if (*mig_annotation(f, job, "descheduler.koordinator.sh/passed-arbitration"))
        return true;
    assert_string_equal(mig_condition(f, job, "Arbitration", "reason"),
                        "MaxUnavailablePerWorkload");
    return false;
}

#define ONE "{'maxUnavailablePerWorkload':1,'maxMigratingPerWorkload':5}"
#define TWO "{'maxUnavailablePerWorkload':2,'maxMigratingPerWorkload':5}"

static void test_one_unavailable_pod_blocks(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    ten_pods(&f, 51, ONE, true);
    assert_false(passes(&f, "job", "web-0"));
}

static void test_of_two_one_of_each_blocks(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    ten_pods(&f, 52, TWO, true);
    assert_true(passes(&f, "first", "web-0"));   /* one is not ready */
    assert_false(passes(&f, "second", "web-1")); /* and one is being moved */
}

static void test_of_two_one_that_moves_does_not_block(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    ten_pods(&f, 53, TWO, false);
    assert_true(passes(&f, "first", "web-0"));
    assert_true(passes(&f, "second", "web-1"));
    assert_false(passes(&f, "third", "web-2"));
}

/* ---- the order of jobs ------------------------------------------------------------------------ */

struct order_fixture {
    struct arena *arena;
    struct intern *strings;
    struct kj_scratch *scratch;
    struct workloads *workloads;
    struct kobj *objects[20];
    size_t n;
};

static enum workload_known known_object(void *arg, const struct kind *k, const char *ns,
                                        const char *name, const struct kobj **ret)
{
    (void)arg, (void)k, (void)ns, (void)name, (void)ret;
    return WORKLOAD_NONE;
}
static void owned_pods(void *arg, const struct kind *k, struct kuid owner, kobjvec *out)
{
    (void)arg, (void)k, (void)owner, (void)out;
}
static enum workload_known known_scale(void *arg, const char *ns, const struct owner_ref *owner,
                                       int32_t *ret)
{
    const enum workload_known *known = arg;

    (void)ns, (void)owner;
    *ret = *known == WORKLOAD_FOUND ? 4 : 0;
    return *known;
}

static struct kobj *decode(struct order_fixture *f, const struct kind *k, const char *fmt, ...)
    PRINTF(3, 4);
static struct kobj *decode(struct order_fixture *f, const struct kind *k, const char *fmt, ...)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mig_quoted(text);
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    assert_int_equal(kobj_decode(k, kj_root(doc), f->scratch, &f->objects[f->n], NULL), 0);
    return f->objects[f->n++];
}

static void order_begin(struct order_fixture *f, enum workload_known *scale)
{
    const struct workload_source source = { scale, known_object, owned_pods, known_scale };

    *f = (struct order_fixture){ .arena = arena_new(), .strings = intern_new() };
    f->scratch = kj_scratch_new(f->strings);
    f->workloads = workloads_new(&source);
}

static void order_end_p(struct order_fixture *f)
{
    while (f->n)
        kobj_unref(f->objects[--f->n]);
    workloads_free(f->workloads);
    kj_scratch_free(f->scratch);
    intern_free(f->strings);
    arena_free(f->arena);
}

static struct kobj *pod_of_owner(struct order_fixture *f, int i, const char *kind,
                                 const char *owner)
{
    return decode(f, &kind_pod,
                  "{'metadata':{'name':'p%d','namespace':'ns','uid':'p%d','ownerReferences':[{"
                  "'apiVersion':'example.com/v1','kind':'%s','name':'%s','uid':'%s-%s',"
                  "'controller':true}]},'spec':{'nodeName':'n%d','schedulerName':'koord-scheduler',"
                  "'containers':[]},'status':{'phase':'Running'}}",
                  i, i, kind, owner, kind, owner, i);
}

/* Jobs 0 to 9, all of one second; owners[i]: the Job of the pod of job i, ' ' is none. */
static void check_order(const char *owners, const char *want)
{
    enum workload_known scale = WORKLOAD_FOUND;
    CLEANUP(order_end) struct order_fixture f;
    CLEANUP(jobtally_free) struct jobtally *t = jobtally_new();
    struct candidate items[10] = { { 0 } };
    struct kerr err = { 0 };
    char got[32] = "";

    order_begin(&f, &scale);
    const struct checks c = { mig_args(f.arena, "{}", &err), f.workloads, t };
    for (int i = 0; i < 10; i++) {
        char owner[] = { owners[i] == ' ' ? (char)('0' + i) : owners[i], '\0' };
        items[i].job = podmigrationjob_of(
            decode(&f, &kind_podmigrationjob,
                   "{'metadata':{'name':'%d','creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{"
                   "'podRef':{'namespace':'ns','name':'p%d'}}}",
                   i, i));
        items[i].pod = pod_of(pod_of_owner(&f, i, owners[i] == ' ' ? "Thing" : "Job", owner));
    }
    arbitrate(&c, t, items, 10);
    for (int i = 0; i < 10; i++)
        (void)strcat(got, items[i].job->obj.meta.name);
    assert_string_equal(got, want);
}

static void test_jobs_of_one_job_stand_together(void **state)
{
    (void)state;
    check_order("          ", "0123456789");
    check_order("    a   a ", "0123485679");
    check_order(" b a    ab", "0192384567");
}

/* ---- owners ----------------------------------------------------------------------------------- */

static void check_owner(enum workload_known known, enum check_answer want)
{
    CLEANUP(order_end) struct order_fixture f;
    CLEANUP(jobtally_free) struct jobtally *t = jobtally_new();
    struct kerr err = { 0 };

    order_begin(&f, &known);
    const struct checks c = { mig_args(f.arena, "{}", &err), f.workloads, t };
    const struct kobj *pod = pod_of_owner(&f, 0, "Thing", "w");
    assert_int_equal(check_permanent(&c, pod_of(pod), NULL), want);
}

/* Its kind is gone, or we may not read it: the pod stays. What is not known yet is waited for. */
static void test_owners_of_which_nothing_is_known(void **state)
{
    (void)state;
    check_owner(WORKLOAD_FOUND, CHECK_YES);
    check_owner(WORKLOAD_NONE, CHECK_NO);
    check_owner(WORKLOAD_REFUSED, CHECK_NO);
    check_owner(WORKLOAD_AWAITED, CHECK_LATER);
}

/* Only that pod is left out. */
static void test_an_owner_that_is_gone_keeps_only_its_pod(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 54, "{}");
    mig_replicaset(&f, "web", 4);
    mig_pod(&f, "web-0", "web", "n1");
    mig_pod(&f, "orphan", "web", "n1");
    mig_patch(&f, PODS, "orphan",
              "{'metadata':{'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':"
              "'gone','uid':'gone','controller':true}]}}");
    mig_lead(&f);
    mig_new_job(&f, "orphan", "orphan", "'ttl':'5m',");
    mig_new_job(&f, "job", "web-0", "'ttl':'5m',");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_string_equal(mig_job(&f, "orphan", "status.reason"), "ForbiddenMigratePod");
    assert_true(mig_has(&f, PODS, "orphan"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_unavailable_pod_blocks),
        cmocka_unit_test(test_of_two_one_of_each_blocks),
        cmocka_unit_test(test_of_two_one_that_moves_does_not_block),
        cmocka_unit_test(test_jobs_of_one_job_stand_together),
        cmocka_unit_test(test_owners_of_which_nothing_is_known),
        cmocka_unit_test(test_an_owner_that_is_gone_keeps_only_its_pod),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
