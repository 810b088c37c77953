/* sim_quota_admission.c - quota evaluate in a whole cluster: two managers are asked in turn, in
 * process or over HTTP, 500 pods are created at once, and the scheduler writes the status of the
 * quota meanwhile. What is accepted never exceeds the limit, and nobody is refused who fits
 * (sched-quota 20).
 */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/koord/quota.h"
#include "api/protocol/quota.h"
#include "apiserver/admission/admission.h"
#include "apiserver/registry/resource.h"
#include "apiserver/schema/types.h"
#include "base/arena.h"
#include "base/map.h"
#include "manager/manager.h"
#include "manager/webhook/serve.h"
#include "manager/webhook/webhook.h"
#include "net/http.h"
#include "net/httpd.h"
#include "net/stream.h"
#include "scheduler/config/config.h"
#include "scheduler/scheduler.h"

#define MINUTE (60 * SEC)
enum { MANAGERS = 2, LIMIT = 300, CREATES = 500 };

struct fixture;
struct replica { /* a manager and the port of its webhooks */
    struct fixture *w;
    struct manager *m;
    struct httpd *d;
    struct http *client;
};
struct fixture {
    struct sim s;
    struct replica replicas[MANAGERS];
    unsigned turn;
    struct scheduler *scheduler;
    struct config *config;
    unsigned accepted, refused, open;
};

/* ---- asking a manager: in process ------------------------------------------------------------- */

static void request_of(const struct admission_req *r, struct webhook_request *ret)
{
    *ret = (struct webhook_request){ .op = webhook_op_parse(r->operation),
                                     .group = r->res->group,
                                     .resource = r->res->plural,
                                     .subresource = r->subresource,
                                     .ns = r->ns,
                                     .name = r->name,
                                     .user = r->user,
                                     .old = r->old,
                                     .dry_run = r->dry_run };
}

static bool concerns(struct fixture *w, const struct admission_req *r)
{
    struct webhook_request q;

    request_of(r, &q);
    return webhook_concerns(manager_webhooks(w->replicas[0].m), WEBHOOK_VALIDATE_POD, &q) &&
           streq(r->ns, "default");
}

static void on_charged(void *later, int code, const char *why)
{
    const struct admission_refusal refusal = { "vpod.koordinator.sh", code, "", why };

    admission_answer(later, code ? &refusal : NULL);
}

static int ask(void *self, const struct admission_req *r, const struct kj_val *obj,
               struct kerr *err)
{
    struct fixture *w = self;
    struct webhooks *hooks = manager_webhooks(w->replicas[w->turn++ % MANAGERS].m);
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct webhook_answer answer;
    struct webhook_request q;

    (void)err;
    if (!concerns(w, r))
        return 0;
    request_of(r, &q);
    webhook_validate(hooks, WEBHOOK_VALIDATE_POD, &q, obj, a, &answer);
    if (!answer.allowed)
        return admission_refuse(r, "vpod.koordinator.sh", answer.code, answer.reason,
                                answer.message);
    if (!answer.charge)
        return 0;
    (void)webhook_charge(hooks, answer.charge, on_charged, admission_later(r));
    return -EINPROGRESS;
}

/* ---- over HTTP --------------------------------------------------------------------------------- */

struct dialing {
    struct replica *m;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];

    free(arg);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    httpd_serve(d.m->d, ends[0], "memory");
    d.fn(d.arg, ends[1], NULL);
}

static void dial(void *self, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ self, fn, arg };
    loop_post(l, dial_now, d);
}

struct posting {
    struct admission_later *later;
    struct strbuf body;
};

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct posting *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct posting *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)sent;
    if (err || kj_parse(strbuf_str(&x->body), x->body.len, 0, &doc, NULL) < 0)
        fail_msg("no answer of a webhook: %s", err ? err->text : strbuf_str(&x->body));
    const struct kj_val *r = kj_get(kj_root(doc), "response");
    const struct admission_refusal refusal = { "vpod.koordinator.sh",
                                               (int)kj_i64_or(kj_path(r, "status.code"), 0),
                                               kj_str_or(kj_path(r, "status.reason"), ""),
                                               kj_str_or(kj_path(r, "status.message"), "") };
    admission_answer(x->later, kj_bool(kj_get(r, "allowed"), false) ? NULL : &refusal);
    strbuf_fini(&x->body);
    free(x);
}

static void write_review(const struct admission_req *r, const struct kj_val *obj,
                         struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    kj_write(obj, 0, &text);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "admission.k8s.io/v1");
    kjw_str(&w, "kind", "AdmissionReview");
    kjw_obj(&w, "request");
    kjw_str(&w, "uid", "u");
    kjw_str(&w, "operation", r->operation);
    kjw_str(&w, "namespace", r->ns);
    kjw_str(&w, "name", r->name);
    kjw_obj(&w, "resource");
    kjw_str(&w, "group", "");
    kjw_str(&w, "version", "v1");
    kjw_str(&w, "resource", r->res->plural);
    kjw_end(&w);
    kjw_raw(&w, "object", text.data, text.len);
    kjw_end(&w);
    kjw_end(&w);
}

static int post(void *self, const struct admission_req *r, const struct kj_val *obj,
                struct kerr *err)
{
    static const struct http_handler on = { .on_data = on_data, .on_end = on_end };
    static const struct http_header type = { { "content-type", 12 }, { "application/json", 16 } };
    struct fixture *w = self;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    (void)err;
    if (!streq(r->operation, "CREATE") || !concerns(w, r))
        return 0;
    struct posting *x = xnew0(struct posting);
    x->later = admission_later(r);
    write_review(r, obj, &body);
    http_send(w->replicas[w->turn++ % MANAGERS].client,
              &(struct http_req){ .method = "POST",
                                  .target = "/validate-pod",
                                  .headers = { &type, 1 },
                                  .body = body.data,
                                  .body_len = body.len },
              &on, x);
    return -EINPROGRESS;
}

/* ---- the cluster ------------------------------------------------------------------------------- */

static void start_replica(struct fixture *w, struct replica *m)
{
    static const struct httpd_opts http = { .max_body = WEBHOOK_BODY_MAX };
    const struct webhook_opts o = { .gates = webhook_gates_default() | 1u << GATE_QUOTA_ADMISSION,
                                    .charge_retries = 3 };

    m->w = w;
    m->m = manager_new(w->s.loop, w->s.kube, &(struct manager_opts){ .webhooks = &o });
    manager_watch(m->m);
    m->d = httpd_new(w->s.loop, &http, webhook_serve, manager_webhooks(m->m));
    m->client = http_client_new(
        w->s.loop, &(struct http_client_opts){ .host = "x", .dial = dial, .dial_arg = m });
}

static void start_scheduler(struct fixture *w)
{
    struct kerr err = { 0 };
    const struct sched_config *c = w->config->value;

    w->scheduler = scheduler_new(
        w->s.loop, w->s.kube,
        &(struct scheduler_opts){ .profiles = c->made, .nprofiles = c->profiles.n }, &err);
    if (!w->scheduler)
        fail_msg("scheduler: %s", err.text);
    scheduler_start(w->scheduler);
}

static bool nodes_ready(struct sim *s, void *arg)
{
    (void)arg;
    return informer_count(s->nodes) == 12;
}

static void begin(struct fixture *w, const struct admission_step *step)
{
    const struct hollow_shape shape = { .count = 12, .zones = 3 };
    const struct cluster_opts o = { .hollow = { .shapes = &shape, .nshapes = 1, .seed = 3 } };
    struct kerr err = { 0 };
    char body[400];

    *w = (struct fixture){ .turn = 0 };
    sim_init_koordinator(&w->s, 5);
    w->s.no_binder = true;
    if (sched_config_chart(&w->config, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < MANAGERS; i++)
        start_replica(w, &w->replicas[i]);
    apiserver_add_admission(w->s.server, step, w);
    sim_start(&w->s, &o);
    start_scheduler(w);
    assert_true(sim_until(&w->s, 10 * MINUTE, nodes_ready, NULL));
    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"scheduling.sigs.k8s.io/v1alpha1\",\"kind\":\"ElasticQuota\","
                   "\"metadata\":{\"name\":\"team\",\"namespace\":\"default\"},\"spec\":{\"max\":{"
                   "\"cpu\":\"%d\"}}}",
                   LIMIT);
    assert_int_equal(sim_create(&w->s, body), 201);
    sim_run(&w->s, 10 * SEC);
}

static void end(struct fixture *w)
{
    scheduler_free(w->scheduler);
    sim_stop_cluster(&w->s);
    for (size_t i = 0; i < MANAGERS; i++) {
        http_free(w->replicas[i].client);
        httpd_free(w->replicas[i].d);
        manager_free(w->replicas[i].m);
    }
    config_unref(w->config);
    sim_fini(&w->s);
}

/* ---- pods -------------------------------------------------------------------------------------- */

static void on_created(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct fixture *w = arg;

    w->open--;
    if (!err)
        w->accepted++;
    else if (r->status == 400 &&
             strstr(err->text, "exceeded quota: default/team, requested: cpu=1"))
        w->refused++;
    else
        print_error("%d %s\n", r->status, err->text);
}

static void create_pods(struct fixture *w, const char *prefix, unsigned n)
{
    char body[500];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%u\","
                       "\"labels\":{\"" LABEL_QUOTA_NAME "\":\"team\"}},\"spec\":{"
                       "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
                       "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
                       prefix, i);
        kube_do(w->s.kube,
                &(struct kube_req){ .verb = KUBE_CREATE,
                                    .kind = &kind_pod,
                                    .ns = "default",
                                    .body = body,
                                    .body_len = strlen(body) },
                on_created, w);
        w->open++;
        if (i % 25 == 24) /* at once, but not all in one turn */
            loop_advance(w->s.loop, 2 * NSEC_PER_MSEC);
    }
    for (int i = 0; i < 15000 && w->open; i++)
        loop_advance(w->s.loop, NSEC_PER_MSEC);
    assert_int_equal(w->open, 0);
}

static int64_t charged(struct fixture *w)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&w->s, &kind_elasticquota, "default", "team");
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist l = { 0 };
    const char *text =
        kj_str(kj_get(kj_path(kj_root(doc), "metadata.annotations"), ANNO_QUOTA_CHILD_REQUEST));

    if (text)
        assert_int_equal(reslist_decode_text(text, a, &l, NULL), 0);
    return qty_value(reslist_get(&l, "cpu"));
}

static void fill_and_fill_again(const struct admission_step *step)
{
    struct fixture w;
    char name[32];

    begin(&w, step);
    create_pods(&w, "a", CREATES);
    assert_int_equal(w.accepted, LIMIT);
    assert_int_equal(w.refused, CREATES - LIMIT);
    assert_int_equal(sim_count(&w.s, &kind_pod, "default", NULL), LIMIT);
    sim_run(&w.s, MINUTE); /* the scheduler has seen them all */
    assert_int_equal(charged(&w), LIMIT);
    /* Pods that go give room, once the scheduler has written so. */
    for (unsigned i = 0, gone = 0; gone < 100; i++) {
        (void)snprintf(name, sizeof name, "a-%u", i);
        gone += sim_delete(&w.s, &kind_pod, "default", name, "{\"gracePeriodSeconds\":0}") == 200;
    }
    sim_run(&w.s, MINUTE);
    assert_int_equal(charged(&w), LIMIT - 100);
    w.accepted = w.refused = 0;
    create_pods(&w, "b", 150);
    assert_int_equal(w.accepted, 100);
    assert_int_equal(w.refused, 50);
    sim_run(&w.s, MINUTE);
    assert_int_equal(charged(&w), LIMIT);
    end(&w);
}

static void test_two_managers_in_process(void **state)
{
    static const struct admission_step step = { "two-managers", NULL, ask };

    (void)state;
    fill_and_fill_again(&step);
}

static void test_two_managers_over_http(void **state)
{
    static const struct admission_step step = { "two-managers", NULL, post };

    (void)state;
    fill_and_fill_again(&step);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_managers_in_process),
        cmocka_unit_test(test_two_managers_over_http),
    };

    hash_set_key(1, 2);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
