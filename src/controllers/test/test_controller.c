/* test_controller.c - when syncs run, what becomes of their calls, and what they write. */
#include <stdio.h>

#include "api/koord/reservation.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "controllers/test/fixture.h"
#include "json/kj.h"

/* A controller that labels nodes, and a record of what it did. */
struct labeler {
    struct fixture *f;
    struct informer *nodes, *pods;
    struct controller *controller;
    struct strbuf syncs, writes; /* keys; bodies of patches */
    nsec_t again;
    bool write, fail, gone;
    int started, stopped;
};

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct labeler *x = self;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr err = { 0 };

    assert_string_equal(batch_key(b), key);
    strbuf_appendf(&x->syncs, "%s ", key);
    x->gone = !obj;
    if (x->again)
        batch_again(b, x->again);
    if (x->fail) {
        kerr_set(&err, -EIO, "no luck");
        batch_fail(b, &err);
    }
    if (!obj || !x->write)
        return;
    strbuf_appendf(&body, "{\"metadata\":{\"labels\":{\"was\":\"%s\"}}}",
                   obj->meta.resource_version);
    batch_patch(b, obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct labeler *x = arg;

    (void)agent;
    strbuf_appendf(&x->writes, "%s %s ", method, target);
    if (body)
        kj_write(body, 0, &x->writes);
    strbuf_appendc(&x->writes, ';');
}

static void on_start(void *self)
{
    ((struct labeler *)self)->started++;
}

static void on_stop(void *self)
{
    ((struct labeler *)self)->stopped++;
}

static void labeler_init(struct labeler *x, struct fixture *f)
{
    *x = (struct labeler){ .f = f };
    x->nodes = caches_get(f->caches, &kind_node);
    x->pods = caches_get(f->caches, &kind_pod);
    x->controller = controller_new(f->controllers, &(struct controller_opts){ .name = "labeler",
                                                                              .of = x->nodes,
                                                                              .sync = sync,
                                                                              .start = on_start,
                                                                              .stop = on_stop,
                                                                              .self = x });
    controller_watch(x->controller, x->nodes, NULL, NULL);
    controller_read(x->controller, x->pods);
    fake_on_write(f->r.fake, on_write, x);
}

static void labeler_fini(struct labeler *x)
{
    controller_free(x->controller);
    strbuf_fini(&x->syncs);
    strbuf_fini(&x->writes);
}

static UNUSED void labeler_fini_p(struct labeler *x)
{
    labeler_fini(x);
}

static void assert_syncs(struct labeler *x, const char *keys)
{
    assert_string_equal(strbuf_str(&x->syncs), keys);
    strbuf_reset(&x->syncs);
}

/* ---- when syncs run -------------------------------------------------------------------------- */

static void test_syncs_wait_for_the_start_and_for_all_caches(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;

    (void)state;
    fixture_init(&f, 1);
    labeler_init(&x, &f);
    fake_put(f.r.fake, NODES, "n1", "{}");
    fake_answer_next_to(f.r.fake, "GET", "/pods", 2, 500); /* pods take longer */
    caches_start(f.caches);
    client_fixture_run(&f.r, 500 * NSEC_PER_MSEC);
    controller_add(x.controller, "n9"); /* it does not act yet */
    controllers_start(f.controllers);
    assert_int_equal(x.started, 1);
    client_fixture_run(&f.r, 200 * NSEC_PER_MSEC);
    assert_true(informer_synced(x.nodes));
    assert_false(informer_synced(x.pods));
    assert_syncs(&x, "");
    client_fixture_run(&f.r, 60 * NSEC_PER_SEC);
    assert_true(informer_synced(x.pods));
    assert_syncs(&x, "n1 ");
    fake_delete(f.r.fake, NODES, "n1");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_syncs(&x, "n1 ");
    assert_true(x.gone);
}

static void test_an_eager_controller_waits_for_nothing(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;

    (void)state;
    fixture_init(&f, 2);
    labeler_init(&x, &f);
    x.controller = controller_free(x.controller);
    x.controller = controller_new(
        f.controllers,
        &(struct controller_opts){ .name = "eager", .sync = sync, .self = &x, .eager = true });
    controller_read(x.controller, x.pods); /* never started */
    controllers_start(f.controllers);
    controller_add(x.controller, "key");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_syncs(&x, "key ");
}

static void test_failures_are_repeated_with_back_off(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;

    (void)state;
    fixture_init(&f, 3);
    labeler_init(&x, &f);
    fake_put(f.r.fake, NODES, "n1", "{}");
    x.fail = true;
    x.again = 3600 * NSEC_PER_SEC; /* counts only for syncs that go well */
    caches_start(f.caches);
    controllers_start(f.controllers);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    uint64_t tries = controllers_stats(f.controllers).retries;
    assert_in_range(tries, 6, 9); /* 5 ms, doubled each time */
    x.fail = false;
    x.again = 0;
    client_fixture_run(&f.r, 2 * NSEC_PER_SEC);
    strbuf_reset(&x.syncs);
    client_fixture_run(&f.r, 60 * NSEC_PER_SEC);
    assert_syncs(&x, "");
    x.again = 10 * NSEC_PER_SEC;
    controller_add(x.controller, "n1");
    client_fixture_run(&f.r, 31 * NSEC_PER_SEC);
    assert_syncs(&x, "n1 n1 n1 n1 ");
}

/* ---- leading, and no longer ------------------------------------------------------------------ */

static void test_stopped_means_no_call_and_no_sync(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;

    (void)state;
    fixture_init(&f, 4);
    labeler_init(&x, &f);
    x.write = true;
    fake_put(f.r.fake, NODES, "n1", "{}");
    caches_start(f.caches);
    controllers_start(f.controllers);
    client_fixture_run(&f.r, 100 * NSEC_PER_MSEC);
    strbuf_reset(&x.syncs);
    strbuf_reset(&x.writes);
    fake_slow(f.r.fake, NSEC_PER_SEC);
    controller_add(x.controller, "n1");
    client_fixture_run(&f.r, NSEC_PER_MSEC);
    assert_int_equal(controllers_stats(f.controllers).in_flight, 1);
    controllers_stop(f.controllers);
    assert_int_equal(x.stopped, 1);
    assert_int_equal(controllers_stats(f.controllers).in_flight, 0);
    fake_slow(f.r.fake, 0);
    strbuf_reset(&x.syncs);
    fake_put(f.r.fake, NODES, "n2", "{}");
    controller_add(x.controller, "n1");
    client_fixture_run(&f.r, 60 * NSEC_PER_SEC);
    assert_syncs(&x, "");
    assert_non_null(informer_get(x.nodes, "n2")); /* caches go on */
    x.write = false;
    controllers_start(f.controllers);
    controllers_start(f.controllers); /* twice is as once */
    assert_int_equal(x.started, 2);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_contains(strbuf_str(&x.syncs), "n1 ");
    assert_contains(strbuf_str(&x.syncs), "n2 ");
    assert_int_equal(strlen(strbuf_str(&x.syncs)), 6);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void test_a_sync_sees_its_own_last_write(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;

    (void)state;
    fixture_init(&f, 5);
    labeler_init(&x, &f);
    fake_put(f.r.fake, NODES, "n1", "{}");
    caches_start(f.caches);
    controllers_start(f.controllers);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    strbuf_reset(&x.syncs);
    x.write = true;
    fake_refuse(f.r.fake, true); /* the watch is cut and stays so; a new call would be, too */
    fake_end_watches(f.r.fake);
    client_fixture_run(&f.r, NSEC_PER_MSEC);
    fake_refuse(f.r.fake, false);
    controller_add(x.controller, "n1");
    client_fixture_run(&f.r, 100 * NSEC_PER_MSEC);
    assert_syncs(&x, "n1 ");
    x.write = false;
    controller_add(x.controller, "n1"); /* the cache does not show the write yet */
    client_fixture_run(&f.r, NSEC_PER_MSEC);
    assert_syncs(&x, "");
    client_fixture_run(&f.r, 29 * NSEC_PER_SEC); /* the informer has come back */
    assert_non_null(kstrmap_get(&informer_get(x.nodes, "n1")->meta.labels, "was"));
    assert_contains(strbuf_str(&x.syncs), "n1 ");
}

/* A status by its table: what differs is sent, and nothing else. */
static bool change(struct batch *b, const struct kobj *o, const struct reservation_status *from,
                   const struct reservation_status *to, bool same_version)
{
    return batch_patch_change(b, o,
                              &(struct change){ .member = "status",
                                                .schema = &reservation_status_schema,
                                                .from = from,
                                                .to = to,
                                                .same_version = same_version },
                              NULL, NULL);
}

struct changer {
    struct reservation_status from, to;
    bool have_from, same_version, sent;
};

static void sync_change(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct changer *x = self;

    (void)key;
    x->sent = change(b, obj, x->have_from ? &x->from : NULL, &x->to, x->same_version);
}

static void test_only_what_differs_is_written(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(labeler_fini) struct labeler x;
    struct changer ch = { 0 };

    (void)state;
    fixture_init(&f, 6);
    labeler_init(&x, &f);
    fake_put(f.r.fake, "/apis/scheduling.koordinator.sh/v1alpha1/reservations", "n1", "{}");
    struct informer *all = caches_get(f.caches, &kind_reservation);
    CLEANUP(controller_free)
    struct controller *c = controller_new(
        f.controllers, &(struct controller_opts){
                           .name = "changer", .of = all, .sync = sync_change, .self = &ch });
    caches_start(f.caches);
    controllers_start(f.controllers);

    ch.to.node_name = "node-1";
    controller_add(c, "n1");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_true(ch.sent);
    assert_string_equal(strbuf_str(&x.writes),
                        "PATCH /apis/scheduling.koordinator.sh/v1alpha1/reservations/n1/status "
                        "{\"status\":{\"nodeName\":\"node-1\"}};");
    strbuf_reset(&x.writes);

    ch.have_from = true;
    ch.from = ch.to;
    controller_add(c, "n1");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_false(ch.sent);
    assert_string_equal(strbuf_str(&x.writes), "");

    ch.to.node_name = "";
    ch.same_version = true;
    controller_add(c, "n1");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_true(ch.sent);
    assert_contains(strbuf_str(&x.writes), "{\"metadata\":{\"resourceVersion\":\"");
    assert_contains(strbuf_str(&x.writes), "\"status\":{\"nodeName\":null}}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syncs_wait_for_the_start_and_for_all_caches),
        cmocka_unit_test(test_an_eager_controller_waits_for_nothing),
        cmocka_unit_test(test_failures_are_repeated_with_back_off),
        cmocka_unit_test(test_stopped_means_no_call_and_no_sync),
        cmocka_unit_test(test_a_sync_sees_its_own_last_write),
        cmocka_unit_test(test_only_what_differs_is_written),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
