/* test_manager_webhook_http.c - reviews over HTTP: versions, limits, what cannot be read. */
#include "api/koord/quota.h"
#include "api/protocol/keys.h"
#include "base/b64.h"
#include "base/test/asserts.h"
#include "fixture_webhook.h"
#include "manager/quota/topology.h"
#include "manager/webhook/serve.h"
#include "net/http.h"
#include "net/httpd.h"
#include "net/stream.h"

struct http_fixture {
    struct webhook_fixture x;
    struct httpd *d;
    struct http *client;
    int status;
    struct strbuf body;
    bool ended;
    struct kj_doc *doc; /* the body, read */
};
struct dialing {
    struct http_fixture *h;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];

    free(arg);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    httpd_serve(d.h->d, ends[0], "memory");
    d.fn(d.arg, ends[1], NULL);
}

static void dial(void *self, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ self, fn, arg };
    loop_post(l, dial_now, d);
}

static void http_fixture_init_with(struct http_fixture *h, const char *gates)
{
    static const struct httpd_opts o = { .max_body = WEBHOOK_BODY_MAX, .tell_too_large = true };

    *h = (struct http_fixture){ 0 };
    webhook_fixture_init(&h->x, gates);
    h->d = httpd_new(h->x.loop, &o, webhook_serve, h->x.w);
    h->client = http_client_new(
        h->x.loop, &(struct http_client_opts){ .host = "x", .dial = dial, .dial_arg = h });
}

static void http_fixture_init(struct http_fixture *h)
{
    http_fixture_init_with(h, "NodeMutatingWebhook,ConfigMapValidatingWebhook");
}

static void http_fixture_fini_p(struct http_fixture *h)
{
    h->client = http_free(h->client);
    h->d = httpd_free(h->d);
    loop_advance(h->x.loop, NSEC_PER_SEC);
    strbuf_fini(&h->body);
    kj_doc_free(h->doc);
    webhook_fixture_fini(&h->x);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct http_fixture *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct http_fixture *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)sent;
    ((struct http_fixture *)arg)->ended = !err;
}

/* The response of the review that comes back. */
static const struct kj_val *post(struct http_fixture *h, const char *path, const char *type,
                                 const char *body, size_t n)
{
    static const struct http_handler on = { .on_headers = on_headers,
                                            .on_data = on_data,
                                            .on_end = on_end };
    const struct http_header header = { STR("content-type"), str_of(type) };

    h->ended = false;
    strbuf_reset(&h->body);
    h->doc = kj_doc_free(h->doc);
    http_send(h->client,
              &(struct http_req){ .method = "POST",
                                  .target = path,
                                  .headers = { &header, 1 },
                                  .body = body,
                                  .body_len = n },
              &on, h);
    loop_advance(h->x.loop, NSEC_PER_SEC);
    assert_true(h->ended);
    if (kj_parse(strbuf_str(&h->body), h->body.len, 0, &h->doc, NULL) < 0)
        return NULL;
    return kj_get(kj_root(h->doc), "response");
}

static const struct kj_val *post_json(struct http_fixture *h, const char *path, const char *body)
{
    return post(h, path, "application/json", body, strlen(body));
}

static void assert_unread(struct http_fixture *h, const struct kj_val *response, int code,
                          const char *message)
{
    assert_int_equal(h->status, 200);
    assert_string_equal(kj_str(kj_get(kj_root(h->doc), "apiVersion")), "admission.k8s.io/v1");
    assert_false(kj_bool(kj_get(response, "allowed"), true));
    assert_int_equal(kj_i64_or(kj_path(response, "status.code"), 0), code);
    if (message)
        assert_string_equal(kj_str(kj_path(response, "status.message")), message);
    assert_that(kj_len(kj_path(response, "status.message")), >, 0);
}

#define REVIEW(version, request)                                               \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/" version \
    "\",\"request\":{\"uid\":\"u-1\"," request "}}"
#define NODE_STATUS(node)                                                               \
    "\"operation\":\"UPDATE\",\"subResource\":\"status\",\"resource\":{\"group\":\"\"," \
    "\"version\":\"v1\",\"resource\":\"nodes\"},\"name\":\"n1\",\"object\":" node
#define AMPLIFIED                                                                             \
    "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"node.koordinator.sh/"                  \
    "resource-amplification-ratio\":\"{\\\"cpu\\\":2}\"}},\"status\":{\"allocatable\":{\"cpu" \
    "\":\"4\"}}}"

static void test_a_mutation_is_a_json_patch(void **state)
{
    CLEANUP(http_fixture_fini) struct http_fixture h;
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;

    (void)state;
    http_fixture_init(&h);
    const struct kj_val *r =
        post_json(&h, "/mutate-node-status?timeout=10s", REVIEW("v1", NODE_STATUS(AMPLIFIED)));
    assert_string_equal(kj_str(kj_get(r, "uid")), "u-1");
    assert_true(kj_bool(kj_get(r, "allowed"), false));
    assert_int_equal(kj_i64_or(kj_path(r, "status.code"), 0), 200);
    assert_string_equal(kj_str(kj_get(r, "patchType")), "JSONPatch");
    b64_decode(kj_str(kj_get(r, "patch")), kj_len(kj_get(r, "patch")), &patch);
    assert_string_equal(
        strbuf_str(&patch),
        "[{\"op\":\"add\",\"path\":\"/metadata/annotations/"
        "node.koordinator.sh~1raw-allocatable\",\"value\":\"{\\\"cpu\\\":\\\"4\\\"}\"},"
        "{\"op\":\"replace\",\"path\":\"/status/allocatable/cpu\",\"value\":\"8\"}]");
    /* Nothing to change: no patch. */
    r = post_json(&h, "/mutate-node-status",
                  REVIEW("v1beta1", NODE_STATUS("{\"metadata\":{\"name\":\"n1\"}}")));
    assert_true(kj_bool(kj_get(r, "allowed"), false));
    assert_null(kj_get(r, "patch"));
    assert_string_equal(kj_str(kj_get(kj_root(h.doc), "apiVersion")), "admission.k8s.io/v1beta1");
}

static void test_a_refusal_has_code_and_message(void **state)
{
    CLEANUP(http_fixture_fini) struct http_fixture h;

    (void)state;
    http_fixture_init(&h);
    const struct kj_val *r = post_json(
        &h, "/validate-configmap",
        REVIEW("v1beta1",
               "\"operation\":\"CREATE\",\"resource\":{\"resource\":\"configmaps\"},\"object\":{"
               "\"metadata\":{\"namespace\":\"koordinator-system\",\"name\":\"slo-controller-config"
               "\"},\"data\":{\"colocation-config\":\"{\\\"degradeTimeMinutes\\\":0}\"}}"));
    assert_false(kj_bool(kj_get(r, "allowed"), true));
    assert_int_equal(kj_i64_or(kj_path(r, "status.code"), 0), 400);
    assert_contains(kj_str(kj_path(r, "status.message")), "ConfigParamInvalid");
}

static void test_what_cannot_be_read(void **state)
{
    static const char path[] = "/mutate-node-status";
    CLEANUP(http_fixture_fini) struct http_fixture h;

    (void)state;
    http_fixture_init(&h);
    assert_unread(&h, post_json(&h, path, ""), 400, "request body is empty");
    assert_unread(&h, post(&h, path, "text/plain", "{}", 2), 400,
                  "contentType=text/plain, expected application/json");
    assert_unread(&h, post_json(&h, path, "{\"kind\":\"AdmissionReview\","), 400, NULL);
    assert_unread(&h, post_json(&h, path, "[]"), 400, "the body is no JSON object");
    assert_unread(&h, post_json(&h, path, REVIEW("v2", NODE_STATUS(AMPLIFIED))), 400,
                  "expected AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1, "
                  "got kind \"AdmissionReview\" of \"admission.k8s.io/v2\"");
    assert_unread(&h, post_json(&h, path, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"), 400, NULL);
    assert_unread(
        &h,
        post_json(&h, path,
                  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}"),
        400, "the AdmissionReview has no request");
    const struct kj_val *r = post_json(&h, path, REVIEW("v1", NODE_STATUS("null")));
    assert_unread(&h, r, 400, "the request has no object");
    assert_string_equal(kj_str(kj_get(r, "uid")), "u-1");
}

static void test_the_limit_is_7_mib(void **state)
{
    CLEANUP(http_fixture_fini) struct http_fixture h;
    size_t n = (size_t)WEBHOOK_BODY_MAX + 1;
    CLEANUP(mem_free) char *text = xmalloc(n);

    (void)state;
    http_fixture_init(&h);
    memset(text, ' ', n);
    memcpy(text, "{}", 2);
    assert_unread(&h, post(&h, "/mutate-node-status", "application/json", text, n), 413,
                  "request entity is too large; limit is 7340032 bytes");
    assert_unread(&h, post(&h, "/mutate-node-status", "application/json", text, n - 1), 400, NULL);
}

static void test_other_paths(void **state)
{
    CLEANUP(http_fixture_fini) struct http_fixture h;

    (void)state;
    http_fixture_init(&h);
    assert_null(post_json(&h, "/healthz", ""));
    assert_int_equal(h.status, 200);
    assert_int_equal(h.body.len, 0);
    assert_null(post_json(&h, "/validate-node", "{}")); /* its gate is off */
    assert_int_equal(h.status, 404);
    const struct kj_val *r = post_json(
        &h, "/convert",
        "{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/v1\",\"request\":{"
        "\"uid\":\"c\",\"desiredAPIVersion\":\"a/v1\",\"objects\":[{\"apiVersion\":\"a/v1\"}]}}");
    assert_string_equal(kj_str(kj_path(r, "result.status")), "Success");
    assert_int_equal(kj_len(kj_get(r, "convertedObjects")), 1);
    r = post_json(&h, "/convert",
                  "{\"request\":{\"uid\":\"c\",\"desiredAPIVersion\":\"a/v2\",\"objects\":[{"
                  "\"apiVersion\":\"a/v1\"}]}}");
    assert_string_equal(kj_str(kj_path(r, "result.status")), "Failure");
    assert_string_equal(kj_str(kj_get(r, "uid")), "c");
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static struct quota_topology *shown;

static struct quota_topology *shown_quotas(void *self)
{
    (void)self;
    return shown;
}

static const char *get_text(struct http_fixture *h, const char *path)
{
    static const struct http_handler on = { .on_headers = on_headers,
                                            .on_data = on_data,
                                            .on_end = on_end };

    h->ended = false;
    strbuf_reset(&h->body);
    http_send(h->client, &(struct http_req){ .method = "GET", .target = path }, &on, h);
    loop_advance(h->x.loop, NSEC_PER_SEC);
    assert_true(h->ended);
    return strbuf_str(&h->body);
}

static void test_quotas_are_shown(void **state)
{
    CLEANUP(http_fixture_fini) struct http_fixture h;
    struct topology_gates gates = { 0 };
    struct topology_pods pods = { 0 };

    (void)state;
    http_fixture_init(&h);
    get_text(&h, "/elasticQuota");
    assert_int_equal(h.status, 404); /* no quotas are known */
    shown = topology_new(&gates, &pods);
    h.x.src.quotas = shown_quotas;
    topology_put(shown, webhook_fixture_object(&h.x, &kind_elasticquota,
                                               "{metadata: {name: q, namespace: n}}"));
    static const char dump[] =
        "{\"quotaInfoMap\":{\"q\":{\"name\":\"q\",\"parentName\":\"koordinator-root-quota\","
        "\"isParent\":false,\"allowLentResource\":true,\"max\":{},\"min\":{}}},"
        "\"quotaHierarchyInfo\":{\"q\":[]}}";
    assert_string_equal(get_text(&h, "/elasticQuota"), dump);
    assert_string_equal(get_text(&h, "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota"),
                        dump);
    topology_free(shown);
}

/* A manager that charges when it is told to, and the client that may hang up meanwhile. */
static charged_fn charged;
static void *charged_arg;

static struct charging *charge_later(void *self, const struct quota_charge *c, charged_fn fn,
                                     void *arg)
{
    (void)self;
    assert_string_equal(c->ns, "n");
    assert_string_equal(c->name, "q");
    assert_int_equal(c->request.n, 1);
    charged = fn;
    charged_arg = arg;
    return NULL;
}

static size_t one_named(void *self, const char *name, const char **ret_ns)
{
    (void)self;
    *ret_ns = "n";
    return streq(name, "q") ? 1 : streq(name, "twice") ? 2 : 0;
}

#define POD_REVIEW(quota)                                                                         \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"  \
    "\"u\",\"operation\":\"CREATE\",\"resource\":{\"resource\":\"pods\"},\"namespace\":\"d\","    \
    "\"object\":{\"metadata\":{\"name\":\"p\",\"labels\":{\"" LABEL_QUOTA_NAME "\":\"" quota      \
    "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}" \
    "}]}}}}"

static void test_an_answer_waits_for_the_charge(void **state)
{
    static const struct http_handler on = { .on_headers = on_headers,
                                            .on_data = on_data,
                                            .on_end = on_end };
    static const struct http_header type = { STR("content-type"), STR("application/json") };
    CLEANUP(http_fixture_fini) struct http_fixture h;
    struct topology_gates gates = { 0 };
    struct topology_pods pods = { 0 };

    (void)state;
    http_fixture_init_with(&h, "EnableQuotaAdmission");
    shown = topology_new(&gates, &pods);
    h.x.src.quotas = shown_quotas;
    h.x.src.charge = charge_later;
    h.x.src.quotas_named = one_named;
    const struct kj_val *r = post_json(&h, "/validate-pod", POD_REVIEW("none"));
    assert_string_equal(kj_str(kj_path(r, "status.message")), "elastic quota none not found");
    r = post_json(&h, "/validate-pod", POD_REVIEW("twice"));
    assert_string_equal(kj_str(kj_path(r, "status.message")),
                        "more than one elastic quota twice found");
    for (int i = 0; i < 2; i++) { /* allowed, then refused */
        strbuf_reset(&h.body);
        h.ended = false;
        http_send(h.client,
                  &(struct http_req){ .method = "POST",
                                      .target = "/validate-pod",
                                      .headers = { &type, 1 },
                                      .body = POD_REVIEW("q"),
                                      .body_len = sizeof POD_REVIEW("q") - 1 },
                  &on, &h);
        loop_advance(h.x.loop, NSEC_PER_SEC);
        assert_false(h.ended); /* nobody has charged yet */
        charged(charged_arg, i ? 400 : 0, i ? "exceeded quota" : NULL);
        loop_advance(h.x.loop, NSEC_PER_SEC);
        assert_true(h.ended);
        h.doc = kj_doc_free(h.doc);
        assert_int_equal(kj_parse(strbuf_str(&h.body), h.body.len, 0, &h.doc, NULL), 0);
        r = kj_get(kj_root(h.doc), "response");
        assert_int_equal(kj_bool(kj_get(r, "allowed"), i), !i);
        assert_string_equal(kj_str(kj_get(r, "uid")), "u");
    }
    assert_string_equal(kj_str(kj_path(r, "status.message")), "exceeded quota");
    topology_free(shown);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas_are_shown),
        cmocka_unit_test(test_an_answer_waits_for_the_charge),
        cmocka_unit_test(test_a_mutation_is_a_json_patch),
        cmocka_unit_test(test_a_refusal_has_code_and_message),
        cmocka_unit_test(test_what_cannot_be_read),
        cmocka_unit_test(test_the_limit_is_7_mib),
        cmocka_unit_test(test_other_paths),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
