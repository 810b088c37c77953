/* test_admission.c - the server's own steps, and one plugged in. */
#include "apiserver/admission/admission.h"

#include "apiserver/test/api_fixture.h"

#define POD(name, extra)                                     \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" extra \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static void test_pods_get_priority_and_tolerations(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_post(&r, PODS, POD("a", "")), 201);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.priority"), -1), 0);
    assert_string_equal(fixture_str(&r, "spec.preemptionPolicy"), "PreemptLowerPriority");
    assert_int_equal(kj_len(fixture_val(&r, "spec.tolerations")), 2);
    assert_int_equal(
        fixture_post(&r, PODS, POD("b", "\"tolerations\":[{\"operator\":\"Exists\"}],")), 201);
    assert_int_equal(kj_len(fixture_val(&r, "spec.tolerations")), 1);
}

static void test_unknown_priority_classes_are_forbidden(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 2);
    assert_int_equal(fixture_post(&r, PODS, POD("a", "\"priorityClassName\":\"nope\",")), 403);
    assert_string_equal(fixture_str(&r, "message"),
                        "pods \"a\" is forbidden: no PriorityClass with name nope was found");
    assert_string_equal(fixture_str(&r, "details.name"), "a");
    assert_int_equal(fixture_post(&r, PODS, POD("a", "\"priority\":5,")), 403);
}

struct seen {
    char log[200];
};

static int add_label(void *self, const struct admission_req *q, struct kj_mdoc *d,
                     struct kj_mval *obj, struct kerr *err)
{
    struct seen *s = self;
    (void)err;
    size_t n = strlen(s->log);
    (void)snprintf(s->log + n, sizeof s->log - n, "%s %s;", q->operation, q->name);
    struct kj_mval *meta = kj_mget(obj, "metadata"), *labels = kj_mobj(d);
    kj_mset(d, labels, "by", kj_mstr(d, "hook"));
    kj_mset(d, meta, "labels", labels);
    return 0;
}

static int refuse_bad(void *self, const struct admission_req *q, const struct kj_val *obj,
                      struct kerr *err)
{
    (void)self;
    if (!obj && streq(q->name, "keep"))
        return kerr_set(err, -EPERM, "admission webhook \"x\" denied the request: keep it");
    if (obj && streq(kj_str_or(kj_path(obj, "data.k"), ""), "bad"))
        return kerr_api(err, -EINVAL, KR_INVALID, "bad data");
    return 0;
}

static void test_steps_change_and_refuse(void **state)
{
    static const struct admission_step step = { "x", add_label, refuse_bad };
    CLEANUP(fixture_fini) struct fixture r;
    struct seen s = { 0 };
    (void)state;
    fixture_init(&r, 3);
    apiserver_add_admission(r.s, &step, &s);
    fixture_cm(&r, "keep", "");
    assert_string_equal(fixture_str(&r, "metadata.labels.by"), "hook");
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/keep", MERGE, "{\"data\":{\"k\":\"bad\"}}"),
                     422);
    assert_int_equal(fixture_delete(&r, CMS "/keep", NULL), 403);
    assert_string_equal(fixture_str(&r, "reason"), "Forbidden");
    assert_string_equal(s.log, "CREATE keep;UPDATE keep;");
    assert_int_equal(fixture_get(&r, CMS "/keep"), 200);
}

/* A container that lacks what the server fills in, and on update a warning. */
static int add_container(void *self, const struct admission_req *q, struct kj_mdoc *d,
                         struct kj_mval *obj, struct kerr *err)
{
    (void)self, (void)err;
    if (!streq(q->res->plural, "pods") || *q->subresource)
        return 0;
    if (streq(q->operation, "UPDATE")) {
        admission_warn(q, "as you like");
        return 0;
    }
    struct kj_mval *c = kj_mobj(d);
    kj_mset(d, c, "name", kj_mstr(d, "sidecar"));
    kj_mset(d, c, "image", kj_mstr(d, "i"));
    kj_mpush(kj_mget(kj_mget(obj, "spec"), "containers"), c);
    return 1;
}

static int refuse_at_length(void *self, const struct admission_req *q, const struct kj_val *obj,
                            struct kerr *err)
{
    const char *node = kj_str_or(kj_path(obj, "target.name"), "");

    (void)err;
    if (streq(q->subresource, "binding") && streq(node, "bad"))
        return admission_refuse(q, "vpodbinding.koordinator.sh", 403, "Forbidden", "not there");
    if (streq(q->name, "long"))
        return admission_refuse(q, "vpod.koordinator.sh", 200, "", self);
    return 0;
}

static void test_webhooks_are_worded_as_upstream_does(void **state)
{
    static const struct admission_step step = { "w", add_container, refuse_at_length };
    CLEANUP(fixture_fini) struct fixture r;
    char text[1000], want[1100];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fixture_init(&r, 4);
    apiserver_add_admission(r.s, &step, text);
    assert_int_equal(fixture_post(&r, PODS, POD("long", "")), 400);
    (void)snprintf(want, sizeof want,
                   "admission webhook \"vpod.koordinator.sh\" denied the request: %s", text);
    assert_string_equal(fixture_str(&r, "message"), want);
    assert_null(fixture_val(&r, "reason"));
    assert_int_equal(fixture_post(&r, PODS, POD("p", "")), 201);
    const struct kj_val *added = kj_at(fixture_val(&r, "spec.containers"), 1);
    assert_string_equal(kj_str(kj_get(added, "imagePullPolicy")), "Always");
    assert_string_equal(kj_str(kj_get(added, "terminationMessagePath")), "/dev/termination-log");
    assert_int_equal(fixture_post(&r, PODS "/p/binding",
                                  "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"bad\"}}"),
                     403);
    assert_string_equal(
        fixture_str(&r, "message"),
        "admission webhook \"vpodbinding.koordinator.sh\" denied the request: not there");
    assert_int_equal(fixture_get(&r, PODS "/p"), 200);
    assert_null(fixture_val(&r, "spec.nodeName"));
    assert_int_equal(fixture_post(&r, PODS "/p/binding",
                                  "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}"),
                     201);
}

/* ---- answers that take time ------------------------------------------------------------------ */

struct slow_step {
    struct fixture *r;
    struct admission_later *later; /* of the question that is open */
    unsigned asked;
    char about[100];    /* data.k of the objects it was asked about */
    const char *change; /* the object is patched so while it waits; NULL: not */
    const char *refuse; /* NULL: allowed */
};

static void change_done(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    (void)arg, (void)c, (void)json, (void)n;
    assert_int_equal(status, 200);
}

static void answer_now(struct loop *l, void *arg)
{
    struct slow_step *s = arg;
    const struct admission_refusal why = { "slow.koordinator.sh", 429, "", str_or(s->refuse, "") };

    (void)l;
    admission_answer(take(s->later), s->refuse ? &why : NULL);
}

/* Ours, and only once: somebody else writes while the first answer is on its way. */
static void change_now(struct loop *l, void *arg)
{
    static const struct api_sink sink = { .reply = change_done };
    struct slow_step *s = arg;

    (void)l;
    fixture_start(s->r, &sink, NULL, "PATCH", CMS "/a", MERGE, take(s->change));
}

static int ask_slowly(void *self, const struct admission_req *q, const struct kj_val *obj,
                      struct kerr *err)
{
    struct slow_step *s = self;

    (void)err;
    if (streq(kj_str_or(kj_path(obj, "data.other"), ""), "writer") &&
        !streq(kj_str_or(kj_path(obj, "data.k"), ""), "late"))
        return 0;
    if (s->later)
        return 0; /* the other writer */
    s->asked++;
    (void)snprintf(s->about + strlen(s->about), sizeof s->about - strlen(s->about), "%s;",
                   kj_str_or(kj_path(obj, "data.k"), "-"));
    s->later = admission_later(q);
    if (s->change)
        loop_after(s->r->loop, 5 * NSEC_PER_MSEC, change_now, s);
    loop_after(s->r->loop, 20 * NSEC_PER_MSEC, answer_now, s);
    return -EINPROGRESS;
}

static const struct admission_step slow = { "slow", NULL, ask_slowly };

static void test_a_step_answers_later(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct slow_step s = { .r = &r };

    (void)state;
    fixture_init(&r, 5);
    apiserver_add_admission(r.s, &slow, &s);
    assert_int_equal(fixture_post(&r, CMS,
                                  "{\"metadata\":{\"generateName\":\"g-\"},\"data\":{"
                                  "\"k\":\"new\"}}"),
                     201);
    assert_int_equal(s.asked, 1); /* the object that it was asked about is the one that is stored */
    assert_int_equal(
        fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}"), 201);
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"2\"}}"), 200);
    assert_string_equal(fixture_str(&r, "data.k"), "2");
    s.refuse = "not now";
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"3\"}}"), 429);
    assert_string_equal(fixture_str(&r, "message"),
                        "admission webhook \"slow.koordinator.sh\" denied the request: not now");
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 429);
    s.refuse = NULL;
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
    assert_string_equal(fixture_str(&r, "data.k"), "2");
    assert_int_equal(fixture_delete(&r, CMS "/a", NULL), 200);
    assert_string_equal(s.about, "new;1;2;3;-;-;");
}

static void test_it_is_asked_again_when_the_object_changed(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct slow_step s = { .r = &r };

    (void)state;
    fixture_init(&r, 6);
    apiserver_add_admission(r.s, &slow, &s);
    assert_int_equal(
        fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}"), 201);
    s.asked = 0;
    s.change = "{\"data\":{\"other\":\"writer\"}}";
    assert_int_equal(fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"late\"}}"), 200);
    assert_string_equal(fixture_str(&r, "data.k"), "late"); /* both changes are in it */
    assert_string_equal(fixture_str(&r, "data.other"), "writer");
    assert_int_equal(s.asked, 2);
}

static void no_answer(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    (void)arg, (void)c, (void)status, (void)json, (void)n;
    fail_msg("an answer to nobody");
}

static void test_a_client_that_went_away_stores_nothing(void **state)
{
    static const struct api_sink sink = { .reply = no_answer };
    CLEANUP(fixture_fini) struct fixture r;
    struct slow_step s = { .r = &r };

    (void)state;
    fixture_init(&r, 7);
    apiserver_add_admission(r.s, &slow, &s);
    struct api_call *c = fixture_start(&r, &sink, NULL, "POST", CMS, "application/json",
                                       "{\"metadata\":{\"name\":\"a\"}}");
    loop_advance(r.loop, 5 * NSEC_PER_MSEC);
    api_cancel(c);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(s.asked, 1);
    assert_null(s.later); /* it was answered, and nobody heard */
    assert_int_equal(fixture_get(&r, CMS "/a"), 404);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pods_get_priority_and_tolerations),
    cmocka_unit_test(test_unknown_priority_classes_are_forbidden),
    cmocka_unit_test(test_steps_change_and_refuse),
    cmocka_unit_test(test_webhooks_are_worded_as_upstream_does),
    cmocka_unit_test(test_a_step_answers_later),
    cmocka_unit_test(test_it_is_asked_again_when_the_object_changed),
    cmocka_unit_test(test_a_client_that_went_away_stores_nothing),
};

FIXTURE_MAIN(tests)
