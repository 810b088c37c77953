/* test_discovery.c - which kinds a server serves: rounds, failures, and finding kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/test/asserts.h"
#include "client/discovery.h"
#include "client/kube.h"
#include "client/test/fakehttp.h"

#define VERBS ",\"verbs\":[\"get\",\"list\",\"watch\",\"delete\",\"deletecollection\"]"
#define GROUPS                                                            \
    "{\"groups\":[{\"preferredVersion\":{\"groupVersion\":\"a.io/v1\"}}," \
    "{\"preferredVersion\":{\"groupVersion\":\"b.io/v2\"}}]}"

struct fixture {
    struct loop *l;
    struct intern *strings;
    struct fake f;
    struct kube *kube;
    struct discovery *d;
    int rounds;
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void on_round(void *arg)
{
    ((struct fixture *)arg)->rounds++;
}

static void fixture_init(struct fixture *x)
{
    klog_set_sink(quiet, NULL);
    *x = (struct fixture){ .l = loop_new_virtual(0, 5), .strings = intern_new() };
    fake_init(&x->f, x->l);
    x->kube = kube_http_over(x->l, x->strings, &x->f.http);
    x->d = discovery_new(x->kube);
    discovery_on_round(x->d, on_round, x);
    fake_add(&x->f, (struct fake_answer){
                        "/api/v1", 200,
                        "{\"resources\":[{\"name\":\"pods\",\"singularName\":\"pod\",\"kind\":"
                        "\"Pod\",\"namespaced\":true,\"shortNames\":[\"po\",\"p\"]" VERBS "},"
                        "{\"name\":\"pods/log\",\"kind\":\"Pod\"},"
                        "{\"name\":\"bindings\",\"kind\":\"Binding\",\"verbs\":[\"create\"]}]}" });
    fake_add(&x->f, (struct fake_answer){ "/apis/a.io/v1", 200,
                                          "{\"resources\":[{\"name\":\"things\",\"kind\":"
                                          "\"Thing\"" VERBS "}]}" });
}

/* The group b.io answers with this. */
static void answer_b(struct fixture *x, int status, const char *body)
{
    x->f.n = 2;
    fake_add(&x->f, (struct fake_answer){ "/apis/b.io/v2", status, body });
    fake_add(&x->f, (struct fake_answer){ "/apis", 200, GROUPS });
}

#define B_KINDS                                                     \
    "{\"resources\":[{\"name\":\"things\",\"kind\":\"Thing\"" VERBS \
    "},{\"name\":\"others\",\"kind\":"                              \
    "\"Other\"" VERBS "}]}"

static void fixture_fini(struct fixture *x)
{
    discovery_free(x->d);
    kube_free(x->kube);
    strbuf_fini(&x->f.log);
    loop_free(x->l);
    intern_free(x->strings);
    klog_set_sink(NULL, NULL);
}

static UNUSED void fixture_fini_p(struct fixture *x)
{
    fixture_fini(x);
}

static void test_kinds_are_found_by_what_people_and_objects_call_them(void **state)
{
    static const struct {
        const char *word, *group, *plural; /* group NULL: not found */
    } words[] = {
        { "pods", "", "pods" },
        { "PO", "", "pods" },
        { "p", "", "pods" },
        { "pod", "", "pods" },
        { "Thing", "a.io", "things" },
        { "things.b.io", "b.io", "things" },
        { "others", "b.io", "others" },
        { "others.a.io", NULL, NULL },
        { "pods/log", NULL, NULL },
        { "", NULL, NULL },
    };
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    answer_b(&x, 200, B_KINDS);
    discovery_ask(x.d, 0);
    loop_advance(x.l, NSEC_PER_SEC);
    assert_int_equal(x.rounds, 1);
    assert_true(discovery_complete(x.d));
    assert_null(discovery_problem(x.d));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct served_kind *k = discovery_find_word(x.d, words[i].word);
        if (!words[i].group) {
            assert_null(k);
            continue;
        }
        assert_string_equal(k->kind.group, words[i].group);
        assert_string_equal(k->kind.plural, words[i].plural);
    }
    const struct served_kind *pods = discovery_find(x.d, "v1", "Pod");
    assert_true(pods->kind.namespaced && pods->list && pods->watch && pods->delete_one &&
                pods->delete_collection);
    assert_string_equal(pods->kind.version, "v1");
    assert_false(discovery_find(x.d, "v1", "Binding")->list);
    assert_string_equal(discovery_find(x.d, "b.io/v1", "Other")->kind.version, "v2");
    assert_null(discovery_find(x.d, "c.io/v1", "Other"));
    loop_advance(x.l, 600 * NSEC_PER_SEC);
    assert_int_equal(x.rounds, 1); /* it was asked for one */
}

static void test_what_could_not_be_asked_for_stays(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;
    const char *failed;

    (void)state;
    fixture_init(&x);
    answer_b(&x, 200, B_KINDS);
    discovery_start(x.d, 0);
    loop_advance(x.l, NSEC_PER_SEC);
    struct served_kind *other = discovery_find_word(x.d, "others");
    assert_true(other->served);

    answer_b(&x, 503, "");
    loop_advance(x.l, 60 * NSEC_PER_SEC); /* 503 is tried again by the client itself */
    loop_advance(x.l, 60 * NSEC_PER_SEC);
    assert_false(discovery_complete(x.d));
    assert_true(other->served);
    assert_null(discovery_problem(x.d)); /* one group that is out of order */
    assert_int_equal(discovery_failed_groups(x.d, &failed), 1);
    assert_true(str_starts(failed, "b.io/v2: "));

    answer_b(&x, 200, "{\"resources\":[]}");
    loop_advance(x.l, 60 * NSEC_PER_SEC);
    assert_true(discovery_complete(x.d));
    assert_false(other->served);
    assert_ptr_equal(discovery_find(x.d, "b.io/v2", "Other"), other); /* informers may use it */
    assert_null(discovery_find_word(x.d, "others"));
}

static void test_kinds_are_served_while_a_round_is_under_way(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    answer_b(&x, 200, B_KINDS);
    discovery_start(x.d, 0);
    loop_advance(x.l, NSEC_PER_SEC);
    discovery_refresh(x.d);
    discovery_refresh(x.d);                 /* one round */
    loop_advance(x.l, 500 * NSEC_PER_MSEC); /* it has begun */
    assert_int_equal(x.rounds, 1);
    for (size_t i = 0; i < discovery_count(x.d); i++)
        assert_true(discovery_at(x.d, i)->served);
    loop_advance(x.l, NSEC_PER_SEC);
    assert_int_equal(x.rounds, 2);
    loop_advance(x.l, 30 * NSEC_PER_SEC);
    assert_int_equal(x.rounds, 3);
}

static void test_a_server_that_does_not_answer_is_a_problem(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    x.f.n = 0;
    fake_add(&x.f, (struct fake_answer){ "/api", 0, "" });
    discovery_start(x.d, 0);
    loop_advance(x.l, 100 * NSEC_PER_SEC);
    assert_false(discovery_complete(x.d));
    assert_contains(discovery_problem(x.d)->text, "connection refused");
    assert_that(x.rounds, >=, 5); /* at least every ten seconds or so */
    assert_that(x.rounds, <=, 25);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_are_found_by_what_people_and_objects_call_them),
        cmocka_unit_test(test_what_could_not_be_asked_for_stays),
        cmocka_unit_test(test_kinds_are_served_while_a_round_is_under_way),
        cmocka_unit_test(test_a_server_that_does_not_answer_is_a_problem),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
