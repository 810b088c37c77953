/* test_manager_evaluate.c - quota evaluate: who is charged, who is refused, and that neither
 * conflicts nor lost answers let anybody in twice or keep somebody out (sched-quota 20). */
#include <stdio.h>

#include "api/koord/quota.h"
#include "base/arena.h"
#include "base/vec.h"
#include "client/informer.h"
#include "client/test/client_fixture.h"
#include "manager/quota/evaluate.h"
#include "json/kj.h"

#define QUOTAS     "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/team/elasticquotas"
#define P          "quota.scheduling.koordinator.sh/"
#define SECONDS(n) ((n)*NSEC_PER_SEC)

struct replica { /* a manager, as far as quotas are concerned */
    struct http *http, *faulty;
    struct kube *kube;
    struct informer *quotas;
    struct evaluator *evaluator;
};
struct outcome {
    struct evaluate_case *x;
    int code; /* -1: none yet */
    char why[200];
};
struct evaluate_case {
    struct client_fixture r;
    struct replica replicas[2];
    struct vec_of(struct outcome *) all;
};

static void replica_start(struct evaluate_case *x, struct replica *m, int retries)
{
    m->http = fake_client(x->r.fake);
    m->faulty = http_fault_new(x->r.loop, m->http, &(struct http_faults){ 0 });
    m->kube = kube_http_over(x->r.loop, x->r.strings, m->faulty);
    m->quotas = informer_new(m->kube, &(struct informer_opts){ .kind = &kind_elasticquota });
    m->evaluator = evaluator_new(&(struct evaluator_opts){
        .loop = x->r.loop, .kube = m->kube, .quotas = m->quotas, .max_retries = retries });
    informer_start(m->quotas);
}

static void replica_stop(struct replica *m)
{
    evaluator_free(m->evaluator);
    informer_free(m->quotas);
    kube_free(m->kube);
    http_free(m->faulty);
    http_free(m->http);
}

static void put_quota(struct evaluate_case *x, const char *max, const char *annotations)
{
    char body[600];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"max\":{\"cpu\":\"%s\"}}}",
                   annotations, max);
    fake_put(x->r.fake, QUOTAS, "q", body);
}

static void begin(struct evaluate_case *x, const char *max, const char *annotations)
{
    *x = (struct evaluate_case){ 0 };
    client_fixture_init(&x->r, 5);
    put_quota(x, max, annotations);
    for (size_t i = 0; i < ARRAY_LEN(x->replicas); i++)
        replica_start(x, &x->replicas[i], 3);
    client_fixture_run(&x->r, SECONDS(2));
}

static void end(struct evaluate_case *x)
{
    for (size_t i = 0; i < ARRAY_LEN(x->replicas); i++)
        replica_stop(&x->replicas[i]);
    vec_foreach(&x->all, i)
        free(x->all.items[i]);
    vec_fini(&x->all);
    client_fixture_fini(&x->r);
}

static void on_charged(void *arg, int code, const char *why)
{
    struct outcome *o = arg;

    assert_int_equal(o->code, -1); /* answered once */
    o->code = code;
    (void)snprintf(o->why, sizeof o->why, "%s", why ? why : "");
}

static struct outcome *ask(struct evaluate_case *x, int replica, const char *name, int cpu,
                           bool dry_run, struct charging **ret)
{
    struct outcome *o = xnew0(struct outcome);
    struct resqty items[] = { { "cpu", qty_from_i64(cpu, QTY_DECIMAL_SI) },
                              { "gpu", qty_from_i64(7, QTY_DECIMAL_SI) } };
    struct quota_charge c = { "team", name, { items, 2 }, dry_run };

    *o = (struct outcome){ .x = x, .code = -1 };
    vec_push(&x->all, o);
    struct charging *under_way =
        evaluator_charge(x->replicas[replica].evaluator, &c, on_charged, o);
    assert_int_equal(o->code, -1); /* never in the same turn */
    if (ret)
        *ret = under_way;
    return o;
}

static struct outcome *charge(struct evaluate_case *x, int replica, int cpu)
{
    return ask(x, replica, "q", cpu, false, NULL);
}

static unsigned count(const struct evaluate_case *x, int code)
{
    unsigned n = 0;

    vec_foreach(&x->all, i)
        n += x->all.items[i]->code == code;
    return n;
}

/* cpu of child-request, as the server has it. */
static int64_t charged(const struct evaluate_case *x)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *json = fake_find(x->r.fake, QUOTAS, "q");
    reslist l = { 0 };

    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    const char *text =
        kj_str(kj_get(kj_path(kj_root(doc), "metadata.annotations"), P "child-request"));
    if (!text)
        return 0;
    assert_int_equal(reslist_decode_text(text, a, &l, NULL), 0);
    assert_false(reslist_has(&l, "gpu")); /* max does not name it */
    return qty_value(reslist_get(&l, "cpu"));
}

#define USED_19 "\"" P "child-request\":\"{\\\"cpu\\\":\\\"19\\\"}\""

static void test_what_does_not_fit_is_refused(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "20", USED_19);
    struct outcome *two = charge(&x, 0, 2);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(two->code, 400);
    assert_string_equal(two->why,
                        "exceeded quota: team/q, requested: cpu=2, used: cpu=19, limited: cpu=20");
    assert_int_equal(charged(&x), 19);
    put_quota(&x, "20", USED_19 ",\"" P "admission\":\"{\\\"cpu\\\":\\\"30\\\"}\"");
    client_fixture_run(&x.r, SECONDS(1));
    struct outcome *dry = ask(&x, 0, "q", 2, true, NULL);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(dry->code, 0);
    assert_int_equal(charged(&x), 19);
    two = charge(&x, 0, 2);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(two->code, 0);
    assert_int_equal(charged(&x), 21);
    struct outcome *none = ask(&x, 0, "gone", 1, false, NULL);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(none->code, 400);
    assert_string_equal(none->why, "elastic quota gone not found");
    end(&x);
}

static void test_retries_grow_with_the_batch(void **state)
{
    static const struct {
        size_t n;
        unsigned retries;
    } cases[] = { { 0, 3 }, { 1, 3 }, { 2, 4 }, { 3, 4 }, { 4, 5 }, { 8, 6 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(evaluate_retries(cases[i].n, 10), cases[i].retries);
        assert_int_equal(evaluate_retries(cases[i].n, 3), 3);
        assert_int_equal(evaluate_retries(cases[i].n, 0), 3);
    }
    assert_int_equal(evaluate_retries(1 << 20, 10), 10);
}

static void test_what_comes_together_is_written_once(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "20", USED_19);
    unsigned before = fake_stats(x.r.fake).patches;
    for (int i = 0; i < 5; i++)
        charge(&x, 0, i == 2 ? 1 : 2); /* only the third fits */
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(fake_stats(x.r.fake).patches - before, 1);
    assert_int_equal(count(&x, 0), 1);
    assert_int_equal(x.all.items[2]->code, 0);
    assert_int_equal(count(&x, 400), 4);
    assert_int_equal(charged(&x), 20);
    end(&x);
}

/* What a cache says is not enough to refuse, and what an answer showed counts before the cache
 * shows it. */
static void test_caches_that_lag(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "20", USED_19);
    put_quota(&x, "40", USED_19); /* the caches have not heard yet */
    struct outcome *two = charge(&x, 0, 2);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(two->code, 0);
    fake_refuse(x.r.fake,
                true); /* watches stay cut off; calls go on with the connection they have */
    fake_end_watches(x.r.fake);
    fake_refuse(x.r.fake, false);
    struct outcome *more = charge(&x, 0, 10), *last = NULL;
    client_fixture_run(&x.r, 50 * NSEC_PER_MSEC);
    last = charge(&x, 0, 10);
    client_fixture_run(&x.r, SECONDS(2));
    assert_int_equal(more->code, 0);
    assert_int_equal(last->code, 400);
    assert_int_equal(charged(&x), 31);
    end(&x);
}

/* What the scheduler does meanwhile: it writes other annotations, and the version moves on. */
static void write_status(struct loop *l, void *arg)
{
    struct evaluate_case *x = arg;
    static unsigned n;
    char body[200];

    (void)snprintf(body, sizeof body, "{\"metadata\":{\"annotations\":{\"" P "runtime\":\"%u\"}}}",
                   n++);
    fake_patch(x->r.fake, QUOTAS, "q", body);
    if (loop_mono(l) < SECONDS(6))
        loop_after(l, 3 * NSEC_PER_MSEC, write_status, x);
}

static void test_two_managers_fill_a_quota_exactly(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "300", "");
    loop_after(x.r.loop, 0, write_status, &x);
    for (int i = 0; i < 500; i++) {
        charge(&x, i % 2, 1);
        if (i % 50 == 49)
            client_fixture_run(&x.r, 2 * NSEC_PER_MSEC);
    }
    client_fixture_run(&x.r, SECONDS(10));
    assert_int_equal(count(&x, 0), 300);
    assert_int_equal(count(&x, 400), 200);
    assert_int_equal(charged(&x), 300);
    assert_true(fake_stats(x.r.fake).conflicts > 0); /* else the test proves nothing */
    end(&x);
}

static void test_conflicts_beyond_the_budget_refuse_nobody(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "20", USED_19);
    fake_answer_next_to(x.r.fake, "PATCH", "/elasticquotas/q", 8, 409);
    struct outcome *one = charge(&x, 0, 1);
    client_fixture_run(&x.r, SECONDS(9));
    assert_int_equal(one->code, 0);
    assert_int_equal(charged(&x), 20);
    end(&x);
}

/* The write may have happened: nobody is let in beyond the limit, whatever the answers were. */
static void test_lost_answers(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "60", "");
    for (size_t i = 0; i < 2; i++)
        http_fault_set(x.replicas[i].faulty, &(struct http_faults){ .lose_answer = 300 });
    for (int i = 0; i < 100; i++) {
        charge(&x, i % 2, 1);
        if (i % 5 == 4)
            client_fixture_run(&x.r, 200 * NSEC_PER_MSEC);
    }
    client_fixture_run(&x.r, SECONDS(120));
    assert_int_equal(count(&x, -1), 0);
    assert_true(count(&x, 0) <= 60);
    assert_true(count(&x, 0) > 20);
    assert_true(charged(&x) >= count(&x, 0));
    assert_true(charged(&x) <= 60);
    end(&x);
}

static void test_no_answer_in_time(void **state)
{
    struct evaluate_case x;
    struct charging *c;

    (void)state;
    begin(&x, "20", "");
    fake_slow(x.r.fake, SECONDS(30));
    struct outcome *one = charge(&x, 0, 1), *quiet = ask(&x, 0, "q", 1, false, &c);
    charging_cancel(c);
    client_fixture_run(&x.r, SECONDS(11));
    assert_int_equal(one->code, 500);
    assert_string_equal(one->why, "elastic quota evaluation timed out");
    assert_int_equal(quiet->code, -1);
    fake_slow(x.r.fake, 0);
    client_fixture_run(&x.r, SECONDS(60));
    one = charge(&x, 0, 1);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(one->code, 0);
    end(&x);
}

static void test_an_annotation_that_is_no_list_is_told(void **state)
{
    struct evaluate_case x;

    (void)state;
    begin(&x, "20", "\"" P "child-request\":\"[]\"");
    struct outcome *one = charge(&x, 0, 1);
    client_fixture_run(&x.r, SECONDS(1));
    assert_int_equal(one->code, 500);
    assert_non_null(strstr(one->why, "elastic quota q: "));
    end(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_retries_grow_with_the_batch),
        cmocka_unit_test(test_what_comes_together_is_written_once),
        cmocka_unit_test(test_caches_that_lag),
        cmocka_unit_test(test_two_managers_fill_a_quota_exactly),
        cmocka_unit_test(test_conflicts_beyond_the_budget_refuse_nobody),
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_no_answer_in_time),
        cmocka_unit_test(test_an_annotation_that_is_no_list_is_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
