/* test_ctl_reserve.c - koordctl reserve: what it asks for, what it keeps, what it takes back. */
#include "client/test/client_fixture.h"

#include "api/pod.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "net/http.h"
#include "json/kj.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define DEPLOYMENTS  "/apis/apps/v1/namespaces/ns/deployments"
#define JOBS         "/apis/batch/v1/namespaces/ns/jobs"

/* ---- the cluster: a scheduler with room for so many ------------------------------------------ */

struct cluster {
    struct client_fixture client;
    struct ctl c;
    const struct ctl_parts *parts;
    int room;
    unsigned made;
    char *out, *err;
    size_t out_n, err_n;
};
struct made {
    struct cluster *x;
    char name[256];
};

static void schedule(struct loop *l, void *arg)
{
    struct made *m = arg;

    (void)l;
    if (fake_find(m->x->client.fake, RESERVATIONS, m->name))
        fake_patch(m->x->client.fake, RESERVATIONS, m->name,
                   m->x->room-- > 0
                       ? "{\"status\":{\"phase\":\"Available\",\"nodeName\":\"n1\"}}"
                       : "{\"status\":{\"conditions\":[{\"type\":\"Scheduled\",\"status\":\"False\""
                         ",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available.\"}]"
                         "}}");
    free(m);
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct cluster *x = arg;
    struct made *m;

    (void)agent;
    if (!streq(method, "POST") || !strstr(target, "/reservations"))
        return;
    x->made++;
    m = xnew0(struct made);
    m->x = x;
    (void)snprintf(m->name, sizeof m->name, "%s", kj_str_or(kj_path(body, "metadata.name"), ""));
    loop_after(x->client.loop, 50 * NSEC_PER_MSEC, schedule, m);
}

static void cluster_init(struct cluster *x, int room)
{
    *x = (struct cluster){ .room = room };
    client_fixture_init(&x->client, 3);
    fake_on_write(x->client.fake, on_write, x);
    fake_put(
        x->client.fake, DEPLOYMENTS, "web",
        "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\""
        ":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"schedulerName\":\"koord-scheduler\","
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}");
    fake_put(x->client.fake, JOBS, "sum",
             "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}");
}

static void cluster_fini_p(struct cluster *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(&x->client);
}

static int run_line(struct cluster *x, char *const *argv)
{
    int argc = 0;

    free(x->out);
    free(x->err);
    x->out = x->err = NULL;
    x->c =
        (struct ctl){ .loop = x->client.loop,
                      .strings = x->client.strings,
                      .kube = kube_http_over(x->client.loop, x->client.strings, x->client.faulty),
                      .parts = x->parts,
                      .out = open_memstream(&x->out, &x->out_n),
                      .err = open_memstream(&x->err, &x->err_n) };
    while (argv[argc])
        argc++;
    int code = ctl_main(&x->c, argc, argv);
    fclose(x->c.out);
    fclose(x->c.err);
    return code;
}
#define run(x, ...) \
    run_line((x), (char *const[]){ "koordctl", "reserve", "-n", "ns", __VA_ARGS__, NULL })

struct first {
    struct cluster *x;
    struct kj_doc *doc;
};
static void keep_first(void *arg, const char *ns, const char *name, const char *version)
{
    struct first *f = arg;
    const char *json = fake_find(f->x->client.fake, RESERVATIONS, name);

    (void)ns, (void)version;
    if (!f->doc)
        assert_int_equal(kj_parse(json, strlen(json), 0, &f->doc, NULL), 0);
}
/* Of any of them. */
static struct kj_doc *one_of_them(struct cluster *x)
{
    struct first f = { x, NULL };

    fake_each(x->client.fake, "reservations", keep_first, &f);
    assert_non_null(f.doc);
    return f.doc;
}

/* ---- what it asks for ------------------------------------------------------------------------ */

static void test_a_scale_out_is_reserved_from_the_template(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 100);
    assert_int_equal(run(&x, "deployment/web", "--replicas", "3", "--ttl", "10m"), CTL_OK);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 3);
    assert_contains(x.out, "3 of 3 reserved for deployments/web in namespace ns, for 10m0s.\n");
    assert_contains(x.out, "n1");
    assert_string_equal(x.err, "");
    CLEANUP(kj_doc_free) struct kj_doc *doc = one_of_them(&x);
    const struct kj_val *spec = kj_get(kj_root(doc), "spec");
    const struct kj_val *owner = kj_at(kj_get(spec, "owners"), 0);
    assert_string_equal(kj_str(kj_get(spec, "ttl")), "10m0s");
    assert_true(kj_bool(kj_get(spec, "allocateOnce"), false));
    assert_string_equal(kj_str(kj_path(spec, "template.metadata.namespace")), "ns");
    assert_string_equal(kj_str(kj_path(spec, "template.metadata.labels.app")), "web");
    assert_string_equal(kj_str(kj_path(spec, "template.spec.preemptionPolicy")), "Never");
    assert_string_equal(kj_str(kj_path(spec, "template.spec.schedulerName")), "koord-scheduler");
    /* The pods of this deployment in this namespace, of whichever ReplicaSet. */
    assert_string_equal(kj_str(kj_path(owner, "labelSelector.matchLabels.app")), "web");
    assert_string_equal(kj_str(kj_path(owner, "controller.kind")), "ReplicaSet");
    assert_string_equal(kj_str(kj_path(owner, "controller.namespace")), "ns");
    assert_string_equal(kj_str(kj_path(owner, "controller.uid")), "");
}

static void test_other_workloads_own_their_pods_themselves(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 100);
    assert_int_equal(run(&x, "job", "sum", "--replicas=1", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"kind\": \"Job\"");
    assert_contains(x.out, "\"reserved\": 1");
    assert_contains(x.out, "\"node\": \"n1\"");
    CLEANUP(kj_doc_free) struct kj_doc *doc = one_of_them(&x);
    const struct kj_val *c = kj_get(kj_at(kj_path(kj_root(doc), "spec.owners"), 0), "controller");
    assert_string_equal(kj_str(kj_get(c, "apiVersion")), "batch/v1");
    assert_string_equal(kj_str(kj_get(c, "kind")), "Job");
    assert_string_equal(kj_str(kj_get(c, "name")), "sum");
    assert_that(strlen(kj_str(kj_get(c, "uid"))), >, 0);
    assert_null(kj_path(kj_at(kj_path(kj_root(doc), "spec.owners"), 0), "labelSelector"));
}

static void test_wrong_usage(void **state)
{
    static char *const wrong[][8] = {
        { "koordctl", "reserve", NULL },
        { "koordctl", "reserve", "deployment/web", NULL },
        { "koordctl", "reserve", "deployment/", "--replicas", "1", NULL },
        { "koordctl", "reserve", "daemonset/x", "--replicas", "1", NULL },
        { "koordctl", "reserve", "pod/x", "--replicas", "1", NULL },
        { "koordctl", "reserve", "deployment/a", "b", "--replicas", "1", NULL },
        { "koordctl", "reserve", "deployment/web", "--replicas", "-1", NULL },
        { "koordctl", "reserve", "deployment/web", "--replicas", "1", "--ttl=0s", NULL },
        { "koordctl", "reserve", "deployment/web", "--replicas=1", "--timeout=0",
          "--all-or-nothing", NULL },
    };
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 1);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(run_line(&x, wrong[i]), CTL_USAGE);
    assert_int_equal(run(&x, "deployment/none", "--replicas", "1"), CTL_FAILED);
    assert_int_equal(x.made, 0);
}

/* ---- not enough room ------------------------------------------------------------------------- */

static void test_what_does_not_fit_is_taken_back(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 3);
    assert_int_equal(run(&x, "deploy/web", "--replicas", "5", "--timeout", "5s"), CTL_FAILED);
    assert_int_equal(x.made, 5);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 3);
    assert_contains(x.out, "2 without a node: 0/1 nodes are available.\n");
    assert_contains(x.out, "3 of 5 reserved for deployments/web");
    assert_contains(x.out, "Removed");
}

static void test_all_or_nothing_leaves_nothing(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 3);
    assert_int_equal(
        run(&x, "deploy/web", "--replicas", "5", "--timeout", "5s", "--all-or-nothing"),
        CTL_FAILED);
    assert_int_equal(x.made, 5);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 0);
    assert_contains(x.out, "0 of 5 reserved for deployments/web in namespace ns.\n");
    x.room = 5;
    assert_int_equal(
        run(&x, "deploy/web", "--replicas", "5", "--timeout", "5s", "--all-or-nothing"), CTL_OK);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 5);
}

static void test_whom_nobody_tries_is_told_so(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 0);
    fake_on_write(x.client.fake, NULL, NULL); /* no scheduler */
    assert_int_equal(run(&x, "job/sum", "--replicas", "2", "--timeout", "5s"), CTL_FAILED);
    assert_contains(
        x.out,
        "2 without a node: nobody has tried them; does default-scheduler know Reservations?");
    assert_int_equal(fake_count(x.client.fake, "reservations"), 0);
}

static void test_who_does_not_wait_keeps_all(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 0);
    assert_int_equal(run(&x, "deploy/web", "--replicas", "2", "--timeout", "0"), CTL_OK);
    assert_contains(x.out, "Pending");
    loop_advance(x.client.loop, NSEC_PER_SEC);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 2);
}

/* ---- a server that misbehaves ---------------------------------------------------------------- */

static void test_a_refusal_in_the_middle_leaves_nothing(void **state)
{
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 100);
    fake_answer_next_to(x.client.fake, "POST", "reservations", 1, 403);
    assert_int_equal(run(&x, "deploy/web", "--replicas", "4"), CTL_FAILED);
    assert_int_equal(fake_count(x.client.fake, "reservations"), 0);
    assert_string_not_equal(x.err, "");
}

static void test_nothing_is_left_whatever_gets_lost(void **state)
{
    (void)state;
    for (int seed = 0; seed < 30; seed++) {
        CLEANUP(cluster_fini) struct cluster x;
        cluster_init(&x, 5);
        (void)loop_rand(x.client.loop);
        for (int i = 0; i < seed; i++)
            (void)loop_rand(x.client.loop);
        http_fault_set(x.client.faulty, &(struct http_faults){ .refuse = 30,
                                                               .lose_answer = 60,
                                                               .status_503 = 50,
                                                               .status_429 = 50,
                                                               .slow = 200,
                                                               .slow_max = NSEC_PER_SEC });
        int code = run(&x, "deploy/web", "--replicas", "6", "--timeout", "10s", "--all-or-nothing");
        assert_int_equal(code, CTL_FAILED); /* there is room for five */
        /* What could not be deleted is said. */
        if (!strstr(x.err, "are left"))
            assert_int_equal(fake_count(x.client.fake, "reservations"), 0);
        loop_advance(x.client.loop, NSEC_PER_SEC);
    }
}

/* ---- the dry run ----------------------------------------------------------------------------- */

static struct {
    int placed, room;
} tried;

static int try_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                    void **ret, struct kerr *err)
{
    (void)config, (void)notes, (void)err;
    assert_string_equal(name, "koord-scheduler");
    *ret = &tried;
    return 0;
}
static void try_close(void *self)
{
    (void)self;
}
static const struct kind *try_kind(const void *self, unsigned i)
{
    (void)self, (void)i;
    return NULL;
}
static int try_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)err;
    tried.placed += o->kind == &kind_pod && streq(pod_of(o)->node_name, "n1");
    return 0;
}
static int try_pod(void *self, struct kobj *pod, nsec_t now, struct strbuf *json, struct kerr *err)
{
    (void)self, (void)now, (void)err;
    assert_string_equal(pod->meta.ns, "ns");
    strbuf_append(json, tried.placed < tried.room ? "{\"best\":[\"n1\"]}"
                                                  : "{\"message\":\"0/1 nodes are available\"}");
    return 0;
}
static void try_scores(const void *self, unsigned max, struct strbuf *out)
{
    (void)self, (void)max, (void)out;
}

static void test_a_dry_run_places_one_after_the_other(void **state)
{
    static const struct explain_scheduler scheduler = { try_open, try_close, try_kind,
                                                        try_add,  try_pod,   try_scores };
    static const struct ctl_parts parts = { .explain = &scheduler };
    CLEANUP(cluster_fini) struct cluster x;

    (void)state;
    cluster_init(&x, 0);
    x.parts = &parts;
    tried.placed = 0;
    tried.room = 2;
    assert_int_equal(run(&x, "deploy/web", "--replicas", "3", "--dry-run"), CTL_FAILED);
    assert_contains(x.out, "DoesNotFit");
    assert_contains(x.out, "2 of 3 would fit for deployments/web in namespace ns.\n");
    assert_int_equal(x.made, 0);
    tried.placed = 0;
    tried.room = 3;
    assert_int_equal(run(&x, "deploy/web", "--replicas", "3", "--dry-run", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"reserved\": 3");
    assert_contains(x.out, "\"dryRun\": true");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scale_out_is_reserved_from_the_template),
        cmocka_unit_test(test_other_workloads_own_their_pods_themselves),
        cmocka_unit_test(test_wrong_usage),
        cmocka_unit_test(test_what_does_not_fit_is_taken_back),
        cmocka_unit_test(test_all_or_nothing_leaves_nothing),
        cmocka_unit_test(test_whom_nobody_tries_is_told_so),
        cmocka_unit_test(test_who_does_not_wait_keeps_all),
        cmocka_unit_test(test_a_refusal_in_the_middle_leaves_nothing),
        cmocka_unit_test(test_nothing_is_left_whatever_gets_lost),
        cmocka_unit_test(test_a_dry_run_places_one_after_the_other),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
