/* test_write.c - what plugins want on a pod travels with its binding; what cannot is written before
 * and taken back (scheduler-core 10); and a plugin that binds another object in place of the pod.
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/policy.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

/* ---- a plugin with a pen --------------------------------------------------------------------- */

static struct {
    const char *annotation, *label; /* the value; NULL: nothing */
    const char *removes;            /* an annotation; NULL: none */
    bool refuses;                   /* every node */
    bool stands_in;                 /* a budget of its name is bound in place of the pod */
    void (*before_write)(void);
} pen;

static enum ks_code pen_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row;
    ks_texts_add(why, "no ink");
    return pen.refuses ? KS_UNSCHEDULABLE : KS_SUCCESS;
}

static enum ks_code pen_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)why;
    if (pen.annotation) {
        ks_bind_annotate(b, "pen/drawn", "not yet");
        ks_bind_annotate(b, "pen/drawn", pen.annotation); /* the last word counts */
        ks_bind_annotate(b, "pen/same", "as before");     /* it is so already: not written */
    }
    if (pen.label)
        ks_bind_label(b, "pen", pen.label);
    if (pen.removes)
        ks_bind_annotate(b, pen.removes, NULL);
    if (pen.before_write)
        pen.before_write();
    return KS_SUCCESS;
}

/* ---- a budget that is bound in place of a pod --------------------------------------------------
 */

#define PDBS "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

static struct kobj *budget; /* as the plugin knows it; NULL: it is gone */

static const struct kobj *budget_object(void *self, const struct pod *p)
{
    (void)self, (void)p;
    return budget;
}

static void write_labels(struct kube_req *r, struct kjw *w, const char *key, const char *value)
{
    r->verb = KUBE_PATCH;
    r->patch = KUBE_PATCH_MERGE;
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_obj(w, "labels");
    kjw_str(w, key, value);
    kjw_end(w);
    kjw_end(w);
    kjw_end(w);
}

static void budget_bind(void *self, const struct ks_bind *b, struct kube_req *r, struct kjw *w)
{
    (void)self;
    write_labels(r, w, "node", b->node);
}

static void budget_waits(void *self, const struct pod *p, const struct ks_waiting *why,
                         struct kube_req *r, struct kjw *w)
{
    (void)self, (void)p;
    write_labels(r, w, "why", why->message ? why->message : "");
}

static const char *budget_node(const struct kj_val *object)
{
    return kj_str_or(kj_path(object, "metadata.labels.node"), "");
}

static const struct ks_subject budget_subject = {
    .object = budget_object,
    .bind = budget_bind,
    .waits = budget_waits,
    .node = budget_node,
};

static const struct ks_subject *pen_bind(void *self, const struct pod *p)
{
    (void)self, (void)p;
    return pen.stands_in ? &budget_subject : NULL;
}

static const struct ks_plugin pen_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Pen",
    .reserve = pen_reserve, /* without hints: every event may help */
    .pre_bind = pen_pre_bind,
    .bind = pen_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &pen_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

/* Requests that changed pods, each "METHOD /what", with blanks between. */
static struct strbuf writes;
static struct engine_fixture *engine;

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    const char *pods = strstr(target, "/pods/");

    (void)arg, (void)agent, (void)body;
    if (pods)
        strbuf_appendf(&writes, "%s%s %.*s", writes.len ? " " : "", method, (int)strcspn(pods, "?"),
                       pods);
}

static const char *written(void)
{
    static char text[8192];

    (void)snprintf(text, sizeof text, "%s", strbuf_str(&writes));
    strbuf_reset(&writes);
    return text;
}

static void start(struct engine_fixture *b)
{
    memset(&pen, 0, sizeof pen);
    engine = b;
    engine_start_with(b, 1, plugins);
    fake_on_write(b->client.fake, on_write, NULL);
    engine_node(b, "n", 40000, 40960, 200, "");
    client_fixture_run(&b->client, SEC);
}

static void stop_p(struct engine_fixture *b)
{
    engine_stop_p(b);
    strbuf_fini(&writes);
    budget = kobj_unref(budget);
}

static void put(struct engine_fixture *b, const char *name)
{
    char body[512];

    (void)snprintf(
        body, sizeof body,
        "{\"metadata\":{\"annotations\":{\"pen/same\":\"as before\",\"old\":\"1\"}},"
        "\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}"
        "]}}");
    fake_put(b->client.fake, PODS, name, body);
}

static bool has(struct engine_fixture *b, const char *name, const char *text)
{
    return strstr(fake_find(b->client.fake, PODS, name), text) != NULL;
}

/* ---- with the binding ------------------------------------------------------------------------ */

static void test_one_write_for_each_pod(void **state)
{
    enum { MANY = 50 };
    CLEANUP(stop) struct engine_fixture b;
    char name[16], want[64];

    (void)state;
    start(&b);
    pen.annotation = "a cat";
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        put(&b, name);
    }
    client_fixture_run(&b.client, 10 * SEC);
    const char *all = written();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        (void)snprintf(want, sizeof want, "POST /pods/%s/binding", name);
        const char *once = strstr(all, want);
        assert_non_null(once);
        assert_lacks(once + 1, want);
        assert_true(has(&b, name, "\"pen/drawn\":\"a cat\""));
        assert_true(has(&b, name, "\"old\":\"1\"")); /* others stay */
    }
    assert_lacks(all, "PATCH");
    assert_int_equal(scheduler_stats(b.s).scheduled, MANY);
}

static void test_labels_and_removals_need_a_patch(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.annotation = "a cat";
    pen.label = "red";
    pen.removes = "old";
    put(&b, "p");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(written(), "PATCH /pods/p POST /pods/p/binding");
    assert_true(has(&b, "p", "\"pen\":\"red\""));
    assert_true(has(&b, "p", "\"pen/drawn\":\"a cat\""));
    assert_false(has(&b, "p", "\"old\""));
    pen.removes = "never there";
    pen.label = NULL;
    put(&b, "q");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(written(), "POST /pods/q/binding");
}

static void test_nothing_is_left_by_a_binding_that_failed(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.annotation = "a cat";
    fake_answer_next_to(b.client.fake, "POST", "/binding", 1, 500);
    put(&b, "p");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    assert_false(has(&b, "p", "pen/drawn"));
    assert_string_equal(written(), "PATCH /pods/p/status"); /* its condition */
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_true(has(&b, "p", "\"pen/drawn\":\"a cat\""));
}

/* ---- before it, and back --------------------------------------------------------------------- */

static void test_what_was_written_before_is_taken_back(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.annotation = "a cat";
    pen.label = "red";
    pen.removes = "old";
    fake_answer_next_to(b.client.fake, "POST", "/binding", 1, 500);
    put(&b, "p");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(written(), "PATCH /pods/p PATCH /pods/p PATCH /pods/p/status");
    assert_false(has(&b, "p", "\"pen\""));
    assert_false(has(&b, "p", "pen/drawn"));
    assert_true(has(&b, "p", "\"old\":\"1\""));
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_string_equal(engine_condition(&b, "p", "message"),
                        "running Bind plugin \"DefaultBinder\": asked to fail");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_true(has(&b, "p", "\"pen\":\"red\""));
    assert_false(has(&b, "p", "\"old\""));
    engine_verify(&b);
}

static int answer; /* to the next patch of the pod */
static void answer_patch(void)
{
    fake_answer_next_to(engine->client.fake, "PATCH", "/pods/p", 1, answer);
    pen.before_write = NULL;
}

/* Requests that came through, when the first patch got this answer. */
static const char *written_after(int status, nsec_t time)
{
    CLEANUP(stop) struct engine_fixture b;
    static char text[256];

    start(&b);
    pen.label = "red";
    answer = status;
    pen.before_write = answer_patch;
    put(&b, "p");
    client_fixture_run(&b.client, time);
    const char *all = written();
    assert_that(strlen(all), <, sizeof text);
    memcpy(text, all, strlen(all) + 1);
    return text;
}

/* What a server refuses once it refuses again; but it may have been written, and is taken back. */
static void test_only_what_may_pass_is_tried_again(void **state)
{
    (void)state;
    assert_string_equal(written_after(409, SEC / 2), "PATCH /pods/p POST /pods/p/binding");
    assert_string_equal(written_after(429, 5 * SEC), "PATCH /pods/p POST /pods/p/binding");
    assert_string_equal(written_after(403, SEC / 2), "PATCH /pods/p PATCH /pods/p/status");
    assert_string_equal(written_after(500, SEC / 2), "PATCH /pods/p PATCH /pods/p/status");
}

static void replace_pod(void)
{
    pen.before_write = NULL;
    fake_delete(engine->client.fake, PODS, "p");
    put(engine, "p");
}

/* The pod went, and another one has its name: that is asked about once, and it gets its own node.
 */
static void test_another_pod_of_that_name_is_not_patched(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.label = "red";
    pen.before_write = replace_pod;
    put(&b, "p");
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(fake_stats(b.client.fake).conflicts, 1);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    engine_verify(&b);
}

static void begin_deletion(void)
{
    pen.before_write = NULL;
    fake_put(engine->client.fake, PODS, "p",
             "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
             "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
}

/* Its deletion began while its node was chosen: only the answer to the patch says so yet. */
static void test_a_pod_that_is_being_deleted_is_not_bound(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.label = "red";
    pen.before_write = begin_deletion;
    put(&b, "p");
    client_fixture_run(&b.client, 10 * SEC);
    assert_lacks(written(), "/binding");
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
}

static void refuse_patches(void)
{
    fake_answer_next_to(engine->client.fake, "PATCH", "/pods/p", 4, 500);
}

/* It may have been written all the same. */
static void test_a_patch_in_doubt_is_taken_back(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.label = "red";
    pen.before_write = refuse_patches;
    put(&b, "p");
    client_fixture_run(&b.client, SEC / 2);
    pen.before_write = NULL;
    assert_string_equal(written(), "PATCH /pods/p PATCH /pods/p/status");
    assert_string_equal(engine_condition(&b, "p", "reason"), "SchedulerError");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
}

static void bind_elsewhere(struct loop *l, void *arg)
{
    struct engine_fixture *b = arg;

    (void)l;
    fake_patch(b->client.fake, PODS, "p", "{\"spec\":{\"nodeName\":\"elsewhere\"}}");
}

/* While the patch was under way, or the binding. */
static void test_a_pod_that_another_has_bound(void **state)
{
    for (int ms = 500; ms <= 1500; ms += 1000) {
        CLEANUP(stop) struct engine_fixture b;

        (void)state;
        start(&b);
        pen.annotation = "a cat";
        pen.label = "red";
        fake_slow(b.client.fake, SEC);
        put(&b, "p");
        loop_after(b.client.loop, ms * NSEC_PER_MSEC, bind_elsewhere, &b);
        client_fixture_run(&b.client, 20 * SEC);
        assert_string_equal(engine_node_of(&b, "p"), "elsewhere");
        assert_string_equal(written(), "PATCH /pods/p PATCH /pods/p");
        assert_false(has(&b, "p", "\"pen\""));
        assert_false(has(&b, "p", "pen/drawn"));
        assert_int_equal(scheduler_stats(b.s).pending, 0);
        assert_int_equal(scheduler_stats(b.s).assumed, 0);
        engine_verify(&b);
    }
}

static void test_a_pod_that_goes_while_it_is_taken_back(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.label = "red";
    fake_answer_next_to(b.client.fake, "POST", "/binding", 1, 500);
    fake_slow(b.client.fake, SEC);
    put(&b, "p");
    client_fixture_run(
        &b.client, 7 * SEC / 2); /* the patch, the binding and the question have their answers */
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
}

/* ---- the condition --------------------------------------------------------------------------- */

/* The watch shows that it was written, which is an event like any other, and the pod is tried again
 * while the answer is still missing: the same is not sent once more because of that. */
static void test_the_same_condition_is_not_sent_again(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.refuses = true;
    http_fault_set(b.client.faulty, &(struct http_faults){ .lose_answer = 1000 });
    put(&b, "p");
    client_fixture_run(&b.client, SEC / 20); /* the first try, and one more */
    assert_string_equal(written(), "PATCH /pods/p/status PATCH /pods/p/status");
    assert_string_equal(engine_condition(&b, "p", "message"), "0/1 nodes are available: 1 no ink.");
    assert_in_range(scheduler_stats(b.s).attempts, 2, 4);
}

/* ---- another object in place of the pod -------------------------------------------------------
 */

static void learn_budget(struct engine_fixture *b)
{
    const char *json = fake_find(b->client.fake, PDBS, "b");
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(b->client.strings);
    struct kerr err = { 0 };

    budget = kobj_unref(budget);
    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, &err), 0);
    assert_int_equal(kobj_decode(&kind_pdb, kj_root(doc), scratch, &budget, &err), 0);
}

static void put_stand_in(struct engine_fixture *b, int mcpu)
{
    char body[512];

    fake_put(b->client.fake, PDBS, "b", "{}");
    learn_budget(b);
    pen.stands_in = true;
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":"
                   "\"c\",\"resources\":{\"requests\":"
                   "{\"cpu\":\"%dm\"}}}]}}",
                   mcpu);
    fake_put(b->client.fake, PODS, "p", body);
}

static bool budget_has(struct engine_fixture *b, const char *text)
{
    return strstr(fake_find(b->client.fake, PDBS, "b"), text) != NULL;
}

static void test_another_object_is_bound(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    pen.annotation = "a cat";
    put_stand_in(&b, 100);
    client_fixture_run(&b.client, SEC);
    assert_true(budget_has(&b, "\"node\":\"n\""));
    assert_true(budget_has(&b, "\"pen/drawn\":\"a cat\"")); /* by a patch before */
    assert_string_equal(written(), "");
    assert_string_equal(engine_node_of(&b, "p"), "");
    assert_int_equal(engine_events(&b, "Scheduled", "Successfully assigned ns/b to n"), 1);
    /* Nobody tells the cache of it in this test: the confirmation is asked for, of that object. */
    client_fixture_run(&b.client, 100 * SEC);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    assert_int_equal(scheduler_stats(b.s).scheduled, 1);
    engine_verify(&b);
}

static void test_a_lost_answer_about_another_object(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_answer_next_to(b.client.fake, "PATCH", "/poddisruptionbudgets/b", 1, 500);
    put_stand_in(&b, 100);
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(scheduler_stats(b.s).errors, 1);
    assert_int_equal(
        engine_events(&b, "FailedScheduling", "running Bind plugin \"Pen\": asked to fail"), 1);
    assert_string_equal(written(), "");
    client_fixture_run(&b.client, 10 * SEC);
    assert_true(budget_has(&b, "\"node\":\"n\""));
}

static void test_another_object_says_why_it_waits(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_stand_in(&b, 50000);
    client_fixture_run(&b.client, SEC);
    assert_true(budget_has(&b, "\"why\":\"0/1 nodes are available: 1 Insufficient cpu."));
    assert_string_equal(engine_condition(&b, "p", "message"), "");
    assert_string_equal(written(), "");
}

static void test_another_object_that_is_gone(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_stand_in(&b, 100);
    budget = kobj_unref(budget);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(written(), "");
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 0); /* the informer tells the rest */
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_write_for_each_pod),
        cmocka_unit_test(test_labels_and_removals_need_a_patch),
        cmocka_unit_test(test_nothing_is_left_by_a_binding_that_failed),
        cmocka_unit_test(test_what_was_written_before_is_taken_back),
        cmocka_unit_test(test_a_patch_in_doubt_is_taken_back),
        cmocka_unit_test(test_only_what_may_pass_is_tried_again),
        cmocka_unit_test(test_another_pod_of_that_name_is_not_patched),
        cmocka_unit_test(test_a_pod_that_is_being_deleted_is_not_bound),
        cmocka_unit_test(test_a_pod_that_another_has_bound),
        cmocka_unit_test(test_a_pod_that_goes_while_it_is_taken_back),
        cmocka_unit_test(test_the_same_condition_is_not_sent_again),
        cmocka_unit_test(test_another_object_is_bound),
        cmocka_unit_test(test_a_lost_answer_about_another_object),
        cmocka_unit_test(test_another_object_says_why_it_waits),
        cmocka_unit_test(test_another_object_that_is_gone),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
