/* test_ctl_rebalance.c - koordctl rebalance: what it shows of a plan, and the jobs that it makes.
 */
#include "api/pod.h"
#include "base/strbuf.h"
#include "client/test/client_fixture.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "ctl/rebalance.h"
#include "net/http.h"
#include "json/kj.h"

/* ---- a descheduler and a scheduler that answer what the test prescribes ------------------------ */

static const char *stub_json;

static int stub_plan(struct loop *l, struct kube *k, const char *file, const char *text,
                     struct strbuf *json, struct kerr *err)
{
    (void)l, (void)k, (void)file, (void)err;
    assert_true(text == NULL || strstr(text, "DeschedulerConfiguration"));
    strbuf_append(json, stub_json);
    return 0;
}

static int stub_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                     void **ret, struct kerr *err)
{
    static int self;
    (void)name, (void)config, (void)notes, (void)err;
    *ret = &self;
    return 0;
}
static void stub_close(void *self)
{
    (void)self;
}
static const struct kind *stub_kind(const void *self, unsigned i)
{
    (void)self, (void)i;
    return NULL;
}
static int stub_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)o, (void)err;
    return 0;
}
/* Its own node is the best, but it is to leave that one. "stuck" fits nowhere else. */
static int stub_try(void *self, struct kobj *pod, nsec_t now, struct strbuf *json, struct kerr *err)
{
    (void)self, (void)now, (void)err;
    assert_string_equal(pod_of(pod)->node_name, ""); /* else no other node would fit */
    strbuf_appendf(json,
                   "{\"nodes\":{\"n1\":{\"fit\":true,\"total\":900},\"n2\":{\"fit\":%s,\"total\":"
                   "200},\"n3\":{\"fit\":false}},\"best\":[\"n1\"]}",
                   streq(pod->meta.name, "stuck") ? "false" : "true");
    return 0;
}
static void stub_scores(const void *self, unsigned max, struct strbuf *out)
{
    (void)self, (void)max, (void)out;
}

static const struct explain_scheduler stub_scheduler = { stub_open, stub_close, stub_kind,
                                                         stub_add,  stub_try,   stub_scores };
static const struct rebalance_planner stub_planner = { stub_plan };
static const struct ctl_parts parts = { .explain = &stub_scheduler, .rebalance = &stub_planner };

/* ---- running it ------------------------------------------------------------------------------- */

#define PLAN                                                                                      \
    "{\"nodes\":{\"n1\":{\"class\":\"high\",\"details\":[\"cpu 80.00% of 50.00%\"],\"use\":{"     \
    "\"cpu\":{\"used\":3200,\"capacity\":4000},\"memory\":{\"used\":10,\"capacity\":100}}},"      \
    "\"n2\":{\"class\":\"low\",\"details\":[],\"use\":{\"cpu\":{\"used\":400,\"capacity\":4000}," \
    "\"memory\":{\"used\":10,\"capacity\":100}}}},\"moves\":[{\"namespace\":\"ns\",\"name\":"     \
    "\"web\",\"uid\":\"u1\",\"node\":\"n1\",\"plugin\":\"LowNodeLoad\",\"reason\":\"hot\","       \
    "\"use\":{\"cpu\":1000,\"memory\":5}},{\"namespace\":\"ns\",\"name\":\"stuck\",\"uid\":"      \
    "\"u2\",\"node\":\"n1\",\"plugin\":\"LowNodeLoad\",\"reason\":\"hot\"}],\"kept\":[{"          \
    "\"namespace\":\"ns\",\"name\":\"db\",\"node\":\"n1\",\"why\":\"replicas 1\"}]}"

static void put_pod(struct client_fixture *f, const char *name)
{
    fake_put(f->fake, PODS, name,
             "{\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"koord-scheduler\",\"containers\":"
             "[{\"name\":\"c\"}]}}");
}

struct shown {
    char *out, *err;
    size_t out_n, err_n;
};

static int run(struct client_fixture *f, struct shown *x, bool apply)
{
    char *const argv[] = { "koordctl", "rebalance", apply ? "--apply" : NULL, NULL };
    struct ctl c = { .parts = &parts,
                     .loop = f->loop,
                     .strings = f->strings,
                     .kube = take(f->kube), /* ctl_main() frees it */
                     .out = open_memstream(&x->out, &x->out_n),
                     .err = open_memstream(&x->err, &x->err_n) };

    int code = ctl_main(&c, apply ? 3 : 2, argv);
    fclose(c.out);
    fclose(c.err);
    return code;
}

static void finish(struct client_fixture *f, struct shown *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(f);
}

static void begin(struct client_fixture *f)
{
    stub_json = PLAN;
    client_fixture_init(f, 7);
    put_pod(f, "web");
    put_pod(f, "stuck");
    fake_put(f->fake, "/api/v1/namespaces/koordinator-system/configmaps",
             "koord-descheduler-config",
             "{\"data\":{\"koord-descheduler-config\":\"kind: DeschedulerConfiguration\"}}");
}

static void test_plan_writes_nothing(void **state)
{
    struct client_fixture f;
    struct shown x = { 0 };

    (void)state;
    begin(&f);
    assert_int_equal(run(&f, &x, false), CTL_OK);
    assert_non_null(strstr(x.out, "80% -> 55%"));
    assert_non_null(strstr(x.out, "10% -> 35%"));
    assert_non_null(strstr(x.out, "replicas 1"));
    assert_int_equal(fake_count(f.fake, "podmigrationjobs"), 0);
    finish(&f, &x);
}

/* Only pods that the scheduler can place elsewhere get a job. */
static void test_apply_makes_the_jobs_of_the_plan(void **state)
{
    struct client_fixture f;
    struct shown x = { 0 };

    (void)state;
    begin(&f);
    assert_int_equal(run(&f, &x, true), CTL_OK);
    assert_int_equal(fake_count(f.fake, "podmigrationjobs"), 1);
    assert_non_null(strstr(x.out, "podmigrationjob/rebalance-web-"));
    assert_null(strstr(x.out, "rebalance-stuck-"));
    finish(&f, &x);
}

static void test_without_a_configuration(void **state)
{
    struct client_fixture f;
    struct shown x = { 0 };

    (void)state;
    begin(&f);
    (void)fake_delete(f.fake, "/api/v1/namespaces/koordinator-system/configmaps",
                      "koord-descheduler-config");
    assert_int_equal(run(&f, &x, false), CTL_FAILED);
    assert_non_null(strstr(x.err, "--config"));
    finish(&f, &x);
}

static void test_shows_the_plan(void **state)
{
    (void)state;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *plan =
        "{\"nodes\":{\"n1\":{\"class\":\"high\",\"details\":[\"cpu 80% of 50%\"],"
        "\"use\":{\"cpu\":{\"used\":3200,\"capacity\":4000}}}},\"moves\":[{"
        "\"namespace\":\"ns\",\"name\":\"web\",\"node\":\"n1\",\"to\":\"n2\","
        "\"plugin\":\"P\",\"reason\":\"hot\",\"use\":{\"cpu\":1000}},{"
        "\"namespace\":\"ns\",\"name\":\"x\",\"node\":\"n1\",\"message\":\"no room\","
        "\"plugin\":\"P\",\"reason\":\"hot\"}],\"kept\":[{\"namespace\":\"ns\","
        "\"name\":\"db\",\"node\":\"n1\",\"why\":\"one replica\"}]}";

    assert_int_equal(kj_parse(plan, strlen(plan), 0, &doc, NULL), 0);
    rebalance_text(kj_root(doc), &text);
    assert_non_null(strstr(strbuf_str(&text), "80% -> 55%"));
    assert_non_null(strstr(strbuf_str(&text), "ns/web"));
    assert_non_null(strstr(strbuf_str(&text), "P: hot"));
    assert_non_null(strstr(strbuf_str(&text), "nowhere"));
    assert_non_null(strstr(strbuf_str(&text), "the scheduler: no room"));
    assert_non_null(strstr(strbuf_str(&text), "one replica"));
    assert_non_null(strstr(strbuf_str(&text), "2 pods would leave; 1 nodes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shows_the_plan),
        cmocka_unit_test(test_plan_writes_nothing),
        cmocka_unit_test(test_apply_makes_the_jobs_of_the_plan),
        cmocka_unit_test(test_without_a_configuration),
    };
    return cmocka_run_group_tests_name("ctl_rebalance", tests, NULL, NULL);
}
