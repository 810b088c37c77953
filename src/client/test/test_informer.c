/* test_informer.c - the cache equals the server's, whatever happens in between. */
#include <stdio.h>

#include "base/test/asserts.h"
#include "client/informer.h"
#include "client/test/client_fixture.h"
#include "json/kj.h"

struct news {
    int adds, updates, deletes, synced, resyncs, refused;
    char last[128];
};

static void on_add(void *arg, struct kobj *o)
{
    struct news *n = arg;
    n->adds++;
    snprintf(n->last, sizeof n->last, "+%s", o->meta.name);
}
static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct news *n = arg;
    if (old == o)
        n->resyncs++;
    else
        n->updates++;
    snprintf(n->last, sizeof n->last, "~%s", o->meta.name);
}
static void on_delete(void *arg, struct kobj *o)
{
    struct news *n = arg;
    n->deletes++;
    snprintf(n->last, sizeof n->last, "-%s", o->meta.name);
}
static void on_synced(void *arg)
{
    ((struct news *)arg)->synced++;
}
static void on_refused(void *arg)
{
    ((struct news *)arg)->refused++;
}
static const struct informer_handler handler = { on_add, on_update, on_delete, on_synced,
                                                 on_refused };

static struct informer *start(struct client_fixture *r, const struct informer_opts *more,
                              struct news *n)
{
    struct informer_opts o = more ? *more : (struct informer_opts){ 0 };
    o.kind = kind_find("pods");
    assert_non_null(o.kind);
    struct informer *inf = informer_new(r->kube, &o);
    informer_add_handler(inf, &handler, n);
    informer_start(inf);
    return inf;
}

static void put(struct client_fixture *r, int i, const char *node)
{
    char name[32], body[128];
    snprintf(name, sizeof name, "p%d", i);
    snprintf(body, sizeof body, "{\"spec\":{\"nodeName\":\"%s\"}}", node);
    fake_put(r->fake, PODS, name, body);
}

struct check {
    const struct informer *inf;
    size_t n, wrong;
};

static void check_one(void *arg, const char *ns, const char *name, const char *version)
{
    struct check *c = arg;
    char key[300];
    snprintf(key, sizeof key, "%s/%s", ns, name);
    struct kobj *o = informer_get(c->inf, key);
    c->n++;
    if (!o || strcmp(o->meta.resource_version, version) != 0)
        c->wrong++;
}

static void assert_equal_to_server(struct client_fixture *r, const struct informer *inf)
{
    struct check c = { .inf = inf };
    fake_each(r->fake, "pods", check_one, &c);
    assert_int_equal(c.wrong, 0);
    assert_int_equal(informer_count(inf), c.n);
}

static void test_lists_in_pages_then_watches(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 1);
    for (int i = 0; i < 25; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free)
    struct informer *inf = start(&r, &(struct informer_opts){ .page = 10 }, &n);
    assert_false(informer_synced(inf));
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_true(informer_synced(inf));
    assert_int_equal(n.adds, 25);
    assert_int_equal(n.synced, 1);
    assert_int_equal(fake_stats(r.fake).pages, 3);
    put(&r, 25, "n1");
    put(&r, 3, "n2");
    fake_delete(r.fake, PODS, "p7");
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(n.adds, 26);
    assert_int_equal(n.updates, 1);
    assert_int_equal(n.deletes, 1);
    assert_equal_to_server(&r, inf);
    assert_int_equal(fake_stats(r.fake).lists, 1);
}

static void test_an_ended_watch_resumes_without_a_list(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 2);
    put(&r, 0, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    fake_end_watches(r.fake);
    put(&r, 1, "n1"); /* while nobody watches */
    client_fixture_run(&r, 5 * NSEC_PER_SEC);
    assert_equal_to_server(&r, inf);
    assert_int_equal(fake_stats(r.fake).lists, 1);
    assert_int_equal(fake_stats(r.fake).watches, 2);
}

static void test_expired_place_lists_again_and_tells_only_differences(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 3);
    for (int i = 0; i < 10; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    fake_refuse(r.fake, true);
    fake_break_connections(r.fake);
    put(&r, 10, "n1");
    put(&r, 4, "n2");
    fake_delete(r.fake, PODS, "p5");
    fake_compact(r.fake);
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_non_null(informer_problem(inf));
    fake_refuse(r.fake, false);
    client_fixture_run(&r, 120 * NSEC_PER_SEC);
    assert_equal_to_server(&r, inf);
    assert_int_equal(n.adds, 11);
    assert_int_equal(n.updates, 1);
    assert_int_equal(n.deletes, 1);
    assert_int_equal(n.synced, 1);
    assert_int_equal(fake_stats(r.fake).lists, 2);
    assert_null(informer_problem(inf));
}

/* Whoever can do without the objects is told once that they are not to be had. */
static void test_a_refused_list_is_told_once(void **state)
{
    static const int answers[] = { 403, 404 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        CLEANUP(client_fixture_fini) struct client_fixture r;
        struct news n = { 0 };
        client_fixture_init(&r, 3);
        put(&r, 1, "n1");
        fake_answer_next(r.fake, 2, answers[i], -1);
        CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
        client_fixture_run(&r, NSEC_PER_SEC / 10);
        assert_true(informer_refused(inf) && !informer_synced(inf));
        assert_contains(kube_problem(r.kube), i == 0 ? "pods: " : "does not know pods: is its CRD");
        client_fixture_run(&r, 60 * NSEC_PER_SEC);
        assert_string_equal(kube_problem(r.kube), "");
        assert_int_equal(n.refused, 1);
        assert_true(!informer_refused(inf) && informer_synced(inf));
        assert_equal_to_server(&r, inf);
    }
}

/* A server in trouble refuses nothing. */
static void test_a_failed_list_is_not_a_refused_one(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 3);
    fake_answer_next(r.fake, 1000, 500, -1);
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_false(informer_refused(inf));
    assert_int_equal(n.refused, 0);
}

static void test_a_resumed_watch_ends_the_problem(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 13);
    put(&r, 0, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    fake_refuse(r.fake, true);
    fake_break_connections(r.fake);
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_non_null(informer_problem(inf));
    fake_refuse(r.fake, false);
    while (fake_stats(r.fake).open_watches == 0)
        client_fixture_run(&r, NSEC_PER_SEC);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_null(informer_problem(inf));
    assert_int_equal(fake_stats(r.fake).lists, 1);
}

static void test_deleted_and_made_again_unseen_is_two_events(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 4);
    put(&r, 0, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    fake_refuse(r.fake, true);
    fake_break_connections(r.fake);
    fake_delete(r.fake, PODS, "p0");
    put(&r, 0, "n9");
    fake_compact(r.fake);
    fake_refuse(r.fake, false);
    client_fixture_run(&r, 120 * NSEC_PER_SEC);
    assert_equal_to_server(&r, inf);
    assert_int_equal(n.deletes, 1);
    assert_int_equal(n.adds, 2);
    assert_int_equal(n.updates, 0);
}

static void test_old_news_replayed_at_reconnect_changes_nothing(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 5);
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    put(&r, 0, "n1");
    put(&r, 0, "n2");
    put(&r, 1, "n1");
    fake_delete(r.fake, PODS, "p1");
    client_fixture_run(&r, NSEC_PER_SEC);
    struct news before = n;
    fake_replay_on_watch(r.fake, 10);
    fake_end_watches(r.fake);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_equal_to_server(&r, inf);
    assert_int_equal(n.adds, before.adds);
    assert_int_equal(n.updates, before.updates);
    assert_int_equal(n.deletes, before.deletes);
    assert_that(informer_stats(inf).duplicates, >=, 3);
}

static void test_bookmarks_move_the_place(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 6);
    put(&r, 0, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    /* History of other kinds moves on; only the bookmark lets us follow. */
    fake_put(r.fake, "/api/v1/nodes", "x", "{}");
    fake_compact(r.fake);
    fake_bookmark_all(r.fake);
    client_fixture_run(&r, NSEC_PER_SEC);
    fake_end_watches(r.fake);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(fake_stats(r.fake).lists, 1);
    assert_equal_to_server(&r, inf);
}

static void test_one_unreadable_object_does_not_stop_the_others(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 7);
    put(&r, 0, "n1");
    fake_put(r.fake, PODS, "bad", "{\"spec\":{\"nodeName\":{\"not\":\"a string\"}}}");
    put(&r, 1, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_int_equal(informer_count(inf), 2);
    assert_int_equal(informer_stats(inf).decode_errors, 1);
    fake_put(r.fake, PODS, "bad", "{\"spec\":{\"nodeName\":\"n1\"}}");
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(informer_count(inf), 3);
}

static void by_node(const struct kobj *o, index_emit_fn emit, void *to)
{
    emit(to, o->meta.name[1] == '1' ? "one" : "other");
}

static void test_indexes_follow_the_cache(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct informer_opts o = { .kind = kind_find("pods") };
    size_t count;

    (void)state;
    client_fixture_init(&r, 8);
    for (int i = 0; i < 12; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free) struct informer *inf = informer_new(r.kube, &o);
    int ix = informer_add_index(inf, by_node);
    informer_start(inf);
    client_fixture_run(&r, NSEC_PER_SEC);
    informer_by_index(inf, ix, "one", &count);
    assert_int_equal(count, 3); /* p1, p10, p11 */
    fake_delete(r.fake, PODS, "p10");
    put(&r, 1, "n2");
    client_fixture_run(&r, NSEC_PER_SEC);
    struct kobj *const *found = informer_by_index(inf, ix, "one", &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(found[i], informer_get(inf, found[i]->meta.name[2] ? "ns/p11" : "ns/p1"));
    informer_by_index(inf, ix, "nobody", &count);
    assert_int_equal(count, 0);
}

static void test_a_late_index_has_what_is_there(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };
    size_t count;

    (void)state;
    client_fixture_init(&r, 13);
    for (int i = 0; i < 12; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, NSEC_PER_SEC);
    int ix = informer_add_index(inf, by_node);
    informer_by_index(inf, ix, "one", &count);
    assert_int_equal(count, 3); /* p1, p10, p11 */
    put(&r, 12, "n1");
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(informer_add_index(inf, by_node), ix);
    informer_by_index(inf, ix, "one", &count);
    assert_int_equal(count, 4);
}

static void test_resync_hands_out_everything_again(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 9);
    for (int i = 0; i < 5; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free)
    struct informer *inf = start(&r, &(struct informer_opts){ .resync = 60 * NSEC_PER_SEC }, &n);
    client_fixture_run(&r, 125 * NSEC_PER_SEC);
    assert_true(informer_synced(inf));
    assert_int_equal(n.resyncs, 10);
    assert_int_equal(n.updates, 0);
}

static void test_a_late_handler_is_told_what_is_there(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 }, late = { 0 };

    (void)state;
    client_fixture_init(&r, 10);
    for (int i = 0; i < 5; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, NSEC_PER_SEC);
    informer_add_handler(inf, &handler, &late);
    assert_int_equal(late.adds, 0);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(late.adds, 5);
    assert_int_equal(late.synced, 1);
    assert_int_equal(n.adds, 5);
}

struct leaving { /* takes its handler away at the first news */
    struct subscription *sub;
    int adds;
};

static void on_leaving_add(void *arg, struct kobj *obj)
{
    struct leaving *x = arg;

    (void)obj;
    x->adds++;
    x->sub = informer_remove_handler(x->sub);
}

static void test_a_removed_handler_hears_nothing(void **state)
{
    static const struct informer_handler once = { .on_add = on_leaving_add };
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 }, gone = { 0 };
    struct leaving first = { 0 }, late = { 0 };

    (void)state;
    client_fixture_init(&r, 14);
    for (int i = 0; i < 5; i++)
        put(&r, i, "n1");
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    first.sub = informer_add_handler(inf, &once, &first); /* leaves in the middle of a page */
    informer_remove_handler(informer_add_handler(inf, &handler, &gone)); /* before its replay */
    client_fixture_run(&r, NSEC_PER_SEC);
    late.sub = informer_add_handler(inf, &once, &late); /* leaves in the middle of the replay */
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(first.adds, 1);
    assert_int_equal(late.adds, 1);
    assert_int_equal(gone.adds, 0);
    assert_int_equal(n.adds, 5);
    put(&r, 5, "n1");
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(late.adds, 1);
    assert_int_equal(n.adds, 6);
}

/* A pod becomes another object of the same name: here, one of another kind without anything else.
 */
static struct kobj *keep_name(struct kobj *o)
{
    static const struct kfield fields[] = { KF(struct kobj, meta, "metadata", KF_OBJ,
                                               .sub = &objmeta_schema) };
    static const struct kschema schema = KSCHEMA("Name", struct kobj, fields);
    static const struct kind small = {
        .version = "v1", .kind = "Pod", .plural = "pods", .namespaced = true, .schema = &schema
    };
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(intern_free) struct intern *strings = intern_new();
    struct kobj *out = NULL;
    char json[256];

    (void)snprintf(json, sizeof json,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                   "\"resourceVersion\":\"%s\"}}",
                   o->meta.name, o->meta.ns, o->meta.resource_version);
    scratch = kj_scratch_new(strings);
    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    assert_int_equal(kobj_decode(&small, kj_root(doc), scratch, &out, NULL), 0);
    kobj_unref(o);
    return out;
}

static void test_less_of_an_object_can_be_kept(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 1);
    put(&r, 1, "n1");
    CLEANUP(informer_free)
    struct informer *inf = start(&r, &(struct informer_opts){ .reduce = keep_name }, &n);
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_that(informer_get(inf, "ns/p1")->kind, !=, informer_kind(inf));
    put(&r, 1, "n2");
    put(&r, 2, "n1");
    fake_delete(r.fake, PODS, "p2");
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(n.updates, 1);
    assert_int_equal(n.deletes, 1);
    assert_equal_to_server(&r, inf);
}

static void test_server_errors_are_retried_with_back_off(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 11);
    put(&r, 0, "n1");
    fake_answer_next(r.fake, 3, 500, -1);
    CLEANUP(informer_free) struct informer *inf = start(&r, NULL, &n);
    client_fixture_run(&r, 500 * NSEC_PER_MSEC);
    assert_int_equal(fake_stats(r.fake).requests, 1); /* the first back-off is 0.8 to 1.6 s */
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_equal_to_server(&r, inf);
    assert_int_equal(n.adds, 1);
}

static void test_snapshot_that_expires_between_pages_starts_over(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct news n = { 0 };

    (void)state;
    client_fixture_init(&r, 12);
    for (int i = 0; i < 40; i++)
        put(&r, i, "n1");
    fake_slow(r.fake, 100 * NSEC_PER_MSEC);
    CLEANUP(informer_free)
    struct informer *inf = start(&r, &(struct informer_opts){ .page = 10 }, &n);
    client_fixture_run(&r, 150 * NSEC_PER_MSEC);
    fake_delete(r.fake, PODS, "p3");
    fake_compact(r.fake);
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_true(informer_synced(inf));
    assert_equal_to_server(&r, inf);
    assert_int_equal(n.adds - n.deletes, 39);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_in_pages_then_watches),
        cmocka_unit_test(test_an_ended_watch_resumes_without_a_list),
        cmocka_unit_test(test_expired_place_lists_again_and_tells_only_differences),
        cmocka_unit_test(test_a_refused_list_is_told_once),
        cmocka_unit_test(test_a_failed_list_is_not_a_refused_one),
        cmocka_unit_test(test_a_resumed_watch_ends_the_problem),
        cmocka_unit_test(test_deleted_and_made_again_unseen_is_two_events),
        cmocka_unit_test(test_old_news_replayed_at_reconnect_changes_nothing),
        cmocka_unit_test(test_bookmarks_move_the_place),
        cmocka_unit_test(test_one_unreadable_object_does_not_stop_the_others),
        cmocka_unit_test(test_indexes_follow_the_cache),
        cmocka_unit_test(test_a_late_index_has_what_is_there),
        cmocka_unit_test(test_resync_hands_out_everything_again),
        cmocka_unit_test(test_a_late_handler_is_told_what_is_there),
        cmocka_unit_test(test_a_removed_handler_hears_nothing),
        cmocka_unit_test(test_less_of_an_object_can_be_kept),
        cmocka_unit_test(test_server_errors_are_retried_with_back_off),
        cmocka_unit_test(test_snapshot_that_expires_between_pages_starts_over),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
