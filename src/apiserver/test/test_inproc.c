/* test_inproc.c - struct kube in process: the client's contract on the embedded server. */
#include "apiserver/test/api_fixture.h"
#include "base/intern.h"
#include "base/test/asserts.h"
#include "client/informer.h"
#include "client/kube.h"

struct inproc_fixture {
    struct fixture r;
    struct intern *strings;
    struct kube *kube;
    /* The last answer. */
    int calls, status;
    struct kerr err;
    char body[600];
};

static void inproc_init(struct inproc_fixture *b, uint64_t seed)
{
    *b = (struct inproc_fixture){ 0 };
    fixture_init(&b->r, seed);
    b->strings = intern_new();
    b->kube = apiserver_kube(b->r.s, b->strings, NULL);
}

static void inproc_fini_p(struct inproc_fixture *b)
{
    kube_free(b->kube);
    fixture_fini_p(&b->r);
    intern_free(b->strings);
}

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct inproc_fixture *b = arg;
    b->calls++;
    b->status = r->status;
    b->err = err ? *err : (struct kerr){ 0 };
    (void)snprintf(b->body, sizeof b->body, "%s", r->body);
}

static struct kube_req req(enum kube_verb verb, const char *name, const char *body)
{
    return (struct kube_req){ .verb = verb,
                              .kind = kind_find("configmaps"),
                              .ns = "default",
                              .name = name,
                              .body = body,
                              .body_len = body ? strlen(body) : 0 };
}

static int run(struct inproc_fixture *b, const struct kube_req *r)
{
    int before = b->calls;
    kube_do(b->kube, r, on_done, b);
    assert_int_equal(b->calls, before); /* never from inside the call */
    loop_advance(b->r.loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(b->calls, before + 1);
    return b->status;
}

static void test_verbs(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    struct kube_req r;
    (void)state;
    inproc_init(&b, 1);
    r = req(KUBE_CREATE, NULL, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    assert_int_equal(run(&b, &r), 201);
    assert_int_equal(run(&b, &r), 409);
    assert_int_equal(b.err.reason, KR_ALREADY_EXISTS);
    assert_int_equal(b.err.code, -EEXIST);
    assert_string_equal(b.err.text, "configmaps \"a\" already exists");
    r = req(KUBE_PATCH, "a", "{\"data\":{\"k\":\"w\"}}");
    assert_int_equal(run(&b, &r), 200);
    r = req(KUBE_GET, "a", NULL);
    assert_int_equal(run(&b, &r), 200);
    assert_contains(b.body, "\"k\":\"w\"");
    r = req(KUBE_LIST, NULL, NULL);
    r.label_selector = "x=y";
    assert_int_equal(run(&b, &r), 200);
    assert_contains(b.body, "\"items\":[]");
    r = req(KUBE_DELETE, "a", NULL);
    assert_int_equal(run(&b, &r), 200);
    r = req(KUBE_GET, "a", NULL);
    assert_int_equal(run(&b, &r), 404);
    r = req(KUBE_GET, "a/b", NULL);
    assert_int_equal(run(&b, &r), 0);
    assert_int_equal(b.err.reason, KR_INVALID);
    r = (struct kube_req){ .verb = KUBE_GET, .raw_path = "/version" };
    assert_int_equal(run(&b, &r), 200);
}

static void test_cancel_means_no_callback(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    struct kube_req r = req(KUBE_CREATE, NULL, "{\"metadata\":{\"name\":\"a\"}}");
    (void)state;
    inproc_init(&b, 2);
    kube_cancel(kube_do(b.kube, &r, on_done, &b));
    struct kube_call *c = kube_do(b.kube, &r, on_done, &b);
    loop_turn(b.r.loop);
    kube_cancel(c);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_int_equal(b.calls, 0);
}

struct watching {
    struct kube_call *call;
    int opened, ended, stop_after;
    char log[300];
    struct kerr err;
};

static void w_open(void *arg)
{
    ((struct watching *)arg)->opened++;
}

static void w_event(void *arg, enum kube_event_type type, const struct kj_val *obj)
{
    struct watching *w = arg;
    size_t n = strlen(w->log);
    (void)snprintf(w->log + n, sizeof w->log - n, "%d%s;", (int)type,
                   kj_str_or(kj_path(obj, "metadata.name"), ""));
    if (w->stop_after && --w->stop_after == 0)
        w->call = kube_cancel(w->call);
}

static void w_end(void *arg, const struct kerr *err)
{
    struct watching *w = arg;
    w->ended++;
    w->call = NULL;
    if (err)
        w->err = *err;
}

static const struct kube_watch_handler on_watch = { w_event, w_end, w_open };

static void test_watch(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    struct watching w = { 0 };
    struct kube_req r = req(KUBE_WATCH, NULL, NULL);
    (void)state;
    inproc_init(&b, 3);
    fixture_cm(&b.r, "a", "");
    w.call = kube_watch(b.kube, &r, &on_watch, &w);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_int_equal(w.opened, 1);
    fixture_cm(&b.r, "b", "");
    fixture_delete(&b.r, CMS "/a", NULL);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_string_equal(w.log, "0a;0b;2a;");
    loop_advance(b.r.loop, 600 * NSEC_PER_SEC);
    assert_int_equal(w.ended, 1); /* in an orderly way */
    assert_int_equal(w.err.code, 0);
}

static void test_watch_cancelled_from_inside_an_event(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    struct watching w = { .stop_after = 2 };
    struct kube_req r = req(KUBE_WATCH, NULL, NULL);
    (void)state;
    inproc_init(&b, 4);
    fixture_cm(&b.r, "a", "");
    fixture_cm(&b.r, "b", "");
    fixture_cm(&b.r, "c", "");
    w.call = kube_watch(b.kube, &r, &on_watch, &w);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_string_equal(w.log, "0a;0b;");
    assert_int_equal(w.ended, 0);
    assert_int_equal(apiserver_stats(b.r.s).open_watches, 0);
}

static void test_watch_from_too_old_a_revision(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    struct watching w = { 0 };
    struct kube_req r = req(KUBE_WATCH, NULL, NULL);
    (void)state;
    inproc_init(&b, 5);
    fixture_cm(&b.r, "a", "");
    fixture_cm(&b.r, "b", "");
    store_compact(apiserver_store(b.r.s), store_revision(apiserver_store(b.r.s)));
    r.resource_version = "1";
    w.call = kube_watch(b.kube, &r, &on_watch, &w);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_int_equal(w.ended, 1);
    assert_int_equal(w.err.reason, KR_EXPIRED);
}

/* The whole client stack above: pages, watch, and a new list after history is gone. */
static void test_an_informer_follows(void **state)
{
    CLEANUP(inproc_fini) struct inproc_fixture b;
    char name[16];
    (void)state;
    inproc_init(&b, 6);
    for (int i = 0; i < 25; i++) {
        (void)snprintf(name, sizeof name, "c%02d", i);
        fixture_cm(&b.r, name, "");
    }
    struct informer *inf = informer_new(
        b.kube, &(struct informer_opts){ .kind = kind_find("configmaps"), .page = 10 });
    informer_start(inf);
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_true(informer_synced(inf));
    assert_int_equal(informer_count(inf), 25);
    fixture_delete(&b.r, CMS "/c03", NULL);
    fixture_cm(&b.r, "new", "\"l\":\"1\"");
    loop_advance(b.r.loop, NSEC_PER_SEC);
    assert_int_equal(informer_count(inf), 25);
    assert_null(informer_get(inf, "default/c03"));
    assert_non_null(informer_get(inf, "default/new"));
    fixture_delete(&b.r, CMS, NULL);
    loop_advance(b.r.loop, 1200 * NSEC_PER_SEC); /* over several time-outs of the watch */
    assert_int_equal(informer_count(inf), 0);
    assert_null(informer_problem(inf));
    informer_free(inf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_verbs),
    cmocka_unit_test(test_cancel_means_no_callback),
    cmocka_unit_test(test_watch),
    cmocka_unit_test(test_watch_cancelled_from_inside_an_event),
    cmocka_unit_test(test_watch_from_too_old_a_revision),
    cmocka_unit_test(test_an_informer_follows),
};

FIXTURE_MAIN(tests)
