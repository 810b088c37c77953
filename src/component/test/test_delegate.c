/* test_delegate.c - the guard of a secure port, over TLS in memory, with an API server that knows a
 * few tokens. */
#include "component/auth/delegate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/kube.h"
#include "component/auth/review.h"
#include "loop/loop.h"
#include "net/test/certs.h"
#include "net/tls.h"
#include "sys/test/tmpdir.h"
#include "json/kj.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)

struct answer {
    int status;
    bool ended;
    struct strbuf body;
};

struct fixture {
    struct loop *l;
    struct intern *strings;
    struct strbuf log;
    /* the API server */
    struct httpd *api;
    struct http *api_http;
    struct kube *kube;
    unsigned token_reviews, access_reviews;
    struct strbuf last_access; /* the last SubjectAccessReview */
    int api_fails;             /* a status for all reviews; 0: none */
    const char *proxy_names;   /* of the ConfigMap */
    /* the secure port */
    struct delegate_options o;
    struct flags *flags;
    struct delegate *delegate;
    struct httpd *front;
    struct tls_ctx *server;
    struct cert ca, proxy_ca, other_ca, own;
    unsigned admitted;
};

/* ---- connections in memory ------------------------------------------------------------------- */

struct dialing {
    struct fixture *b;
    struct loop *l;
    http_dialed_fn fn;
    void *arg;
    struct tls_ctx *client; /* NULL: to the API server, plain */
};

static void on_accepted(void *arg, struct stream *s, const struct kerr *err)
{
    struct fixture *b = arg;

    assert_null(err);
    httpd_serve(b->front, s, "10.0.0.9:999");
}

static void dial_now(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];

    free(arg);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    if (!d.client) {
        httpd_serve(d.b->api, ends[0], "mem");
        d.fn(d.arg, ends[1], NULL);
        return;
    }
    tls_accept(l, d.b->server, ends[0], 10 * NSEC_PER_SEC, on_accepted, d.b);
    tls_connect(l, d.client, ends[1], "localhost", 10 * NSEC_PER_SEC, d.fn, d.arg);
}

struct way { /* of one client */
    struct fixture *b;
    struct tls_ctx *client;
};

static void dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    const struct way *w = dial_arg;
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ w->b, l, fn, arg, w->client };
    loop_post(l, dial_now, d);
}

/* ---- the API server -------------------------------------------------------------------------- */

static void reply(struct httpd_req *r, const char *json)
{
    httpd_reply(r, 201, "application/json", json, strlen(json));
}

struct slow {
    struct httpd_req *r;
    const char *json;
};

static void reply_late(struct loop *l, void *arg)
{
    struct slow s = *(struct slow *)arg;

    (void)l;
    free(arg);
    reply(s.r, s.json);
}

#define USER(name, groups)                                                                        \
    "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"" name "\",\"groups\":[" groups \
    "]}}}"

static void on_token_review(struct fixture *b, struct httpd_req *r, const struct kj_val *root)
{
    const char *token = kj_str(kj_path(root, "spec.token"));

    b->token_reviews++;
    assert_string_equal(kj_str(kj_get(root, "kind")), "TokenReview");
    assert_non_null(token);
    if (streq(token, "of-alice")) {
        reply(r, USER("alice", "\"dev\",\"system:authenticated\""));
    } else if (streq(token, "of-root")) {
        reply(r, USER("root", "\"system:masters\""));
    } else if (streq(token, "slow")) {
        struct slow *s = xnew0(struct slow);
        *s = (struct slow){ r, USER("alice", "\"dev\"") };
        loop_after(b->l, 5 * NSEC_PER_SEC, reply_late, s);
    } else if (streq(token, "odd")) {
        reply(r, "{\"status\":7}");
    } else {
        reply(r, "{\"status\":{\"authenticated\":false,\"error\":\"unknown\"}}");
    }
}

static void on_access_review(struct fixture *b, struct httpd_req *r, const struct kj_val *root)
{
    const char *user = kj_str(kj_path(root, "spec.user"));
    const char *path = kj_str(kj_path(root, "spec.nonResourceAttributes.path"));
    const char *verb = kj_str(kj_path(root, "spec.nonResourceAttributes.verb"));

    b->access_reviews++;
    if (streq(user, "alice") && streq(path, "/metrics") && streq(verb, "get"))
        reply(r, "{\"status\":{\"allowed\":true}}");
    else if (streq(path, "/reason"))
        reply(r, "{\"status\":{\"allowed\":false,\"reason\":\"no luck\"}}");
    else if (streq(path, "/denied"))
        reply(r, "{\"status\":{\"allowed\":true,\"denied\":true}}");
    else
        reply(r, "{\"status\":{\"allowed\":false}}");
}

static void on_review(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct fixture *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (b->api_fails) {
        httpd_reply(r, b->api_fails, NULL, "", 0);
        return;
    }
    assert_int_equal(kj_parse(body, n, 0, &doc, &err), 0);
    if (strstr(httpd_target(r), "tokenreviews")) {
        on_token_review(b, r, kj_root(doc));
        return;
    }
    strbuf_reset(&b->last_access);
    strbuf_appendn(&b->last_access, body, n);
    on_access_review(b, r, kj_root(doc));
}

static void on_configmaps(struct fixture *b, struct httpd_req *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    if (strstr(httpd_target(r), "watch=1")) {
        httpd_respond(r, 200, NULL, 0, false);
        return;
    }
    assert_contains(httpd_target(r),
                    "fieldSelector=metadata.name%3Dextension-apiserver-authentication");
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", "7");
    kjw_end(&w);
    kjw_arr(&w, "items");
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", "extension-apiserver-authentication");
    kjw_str(&w, "namespace", "kube-system");
    kjw_str(&w, "uid", "6cf4c6a0-0000-4000-8000-000000000001");
    kjw_str(&w, "resourceVersion", "5");
    kjw_end(&w);
    kjw_obj(&w, "data");
    kjw_str(&w, "client-ca-file", b->ca.pem);
    kjw_str(&w, "requestheader-client-ca-file", b->proxy_ca.pem);
    kjw_str(&w, "requestheader-allowed-names", b->proxy_names);
    kjw_str(&w, "requestheader-username-headers", "[\"X-Remote-User\"]");
    kjw_str(&w, "requestheader-group-headers", "[\"X-Remote-Group\"]");
    kjw_str(&w, "requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]");
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

static void on_api(void *arg, struct httpd_req *r)
{
    if (strstr(httpd_target(r), "/configmaps"))
        on_configmaps(arg, r);
    else
        httpd_read_body(r, on_review, arg);
}

/* ---- the secure port ------------------------------------------------------------------------- */

static void on_admitted(void *arg, struct httpd_req *r)
{
    ((struct fixture *)arg)->admitted++;
    httpd_reply(r, 200, NULL, "in", 2);
}

static void on_front(void *arg, struct httpd_req *r)
{
    struct fixture *b = arg;
    delegate_guard(b->delegate, r, on_admitted, b);
}

static void keep_log(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void certs_make(struct fixture *b)
{
    struct kerr err = { 0 };

    cert_make(&b->ca, &(struct cert_opts){ .cn = "clients", .ca = true }, NULL);
    cert_make(&b->proxy_ca, &(struct cert_opts){ .cn = "proxies", .ca = true }, NULL);
    cert_make(&b->other_ca, &(struct cert_opts){ .cn = "others", .ca = true }, NULL);
    cert_make(&b->own, &(struct cert_opts){ .cn = "port", .san = "DNS:localhost" }, &b->other_ca);
    assert_int_equal(tls_server_new(&(struct tls_server_opts){ .cert_pem = str_of(b->own.pem),
                                                               .key_pem = str_of(b->own.key_pem),
                                                               .ask_client = true },
                                    &b->server, &err),
                     0);
}

static struct way api_way;

static void fixture_open_with(struct fixture *b, int argc, char *const *argv, bool connected,
                              const char *proxy_names)
{
    struct kerr err = { 0 };

    *b = (struct fixture){ .l = loop_new_virtual(WALL0, 7),
                           .strings = intern_new(),
                           .proxy_names = proxy_names };
    klog_set_sink(keep_log, &b->log);
    certs_make(b);
    b->api = httpd_new(b->l, &(struct httpd_opts){ 0 }, on_api, b);
    api_way = (struct way){ b, NULL };
    b->api_http = http_client_new(
        b->l, &(struct http_client_opts){
                  .host = "api", .port = 80, .max_conns = 20, .dial = dial, .dial_arg = &api_way });
    b->kube = kube_http_over(b->l, b->strings, b->api_http);
    b->flags = flags_new();
    delegate_options_add(b->flags, &b->o);
    assert_int_equal(flags_parse(b->flags, argc, argv, 0, &err), FLAGS_OK);
    struct kube *k = connected ? b->kube : NULL;
    assert_int_equal(delegate_over(b->l, k, k, &b->o, &b->delegate, &err), 0);
    b->front = httpd_new(b->l, &(struct httpd_opts){ 0 }, on_front, b);
    loop_advance(b->l, NSEC_PER_SEC);
}

static void fixture_open(struct fixture *b, int argc, char *const *argv, bool connected)
{
    fixture_open_with(b, argc, argv, connected, "[\"aggregator\"]");
}

static void fixture_init(struct fixture *b)
{
    fixture_open(b, 0, NULL, true);
}

static void fixture_fini_p(struct fixture *b)
{
    httpd_free(b->front);
    delegate_free(b->delegate);
    kube_free(b->kube);
    http_free(b->api_http);
    httpd_free(b->api);
    loop_advance(b->l, 20 * NSEC_PER_SEC);
    flags_free(b->flags);
    tls_unref(b->server);
    intern_free(b->strings);
    loop_free(b->l);
    klog_set_sink(NULL, NULL);
    strbuf_fini(&b->log);
    strbuf_fini(&b->last_access);
    cert_fini(&b->ca);
    cert_fini(&b->proxy_ca);
    cert_fini(&b->other_ca);
    cert_fini(&b->own);
}

/* ---- clients --------------------------------------------------------------------------------- */

struct client {
    struct way way;
    struct http *http;
    struct http_call *call;
    struct answer a;
};

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct answer *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct answer *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)sent;
    assert_null(err);
    ((struct answer *)arg)->ended = true;
}

static void client_send(struct fixture *b, struct client *c, const struct cert *own,
                        const char *path, const struct http_header *headers, size_t n)
{
    static const struct http_handler handler = { on_headers, on_data, on_end };
    struct kerr err = { 0 };
    struct tls_client_opts o = { .ca_pem = str_of(b->other_ca.pem) };

    *c = (struct client){ .way = { b, NULL } };
    if (own) {
        o.cert_pem = str_of(own->pem);
        o.key_pem = str_of(own->key_pem);
    }
    assert_int_equal(tls_client_new(&o, &c->way.client, &err), 0);
    c->http = http_client_new(
        b->l, &(struct http_client_opts){ .host = "front", .dial = dial, .dial_arg = &c->way });
    c->call = http_send(
        c->http, &(struct http_req){ .method = "GET", .target = path, .headers = { headers, n } },
        &handler, &c->a);
}

static void client_end(struct client *c)
{
    http_free(c->http);
    tls_unref(c->way.client);
    strbuf_fini(&c->a.body);
}

static char body[1024]; /* of the last answer */

static int get_with(struct fixture *b, const struct cert *own, const char *path,
                    const struct http_header *headers, size_t n)
{
    struct client c;

    client_send(b, &c, own, path, headers, n);
    loop_advance(b->l, NSEC_PER_SEC);
    assert_true(c.a.ended);
    (void)snprintf(body, sizeof body, "%s", strbuf_str(&c.a.body));
    int status = c.a.status;
    client_end(&c);
    return status;
}

static struct http_header bearer(const char *token)
{
    static char text[64];
    int n = snprintf(text, sizeof text, "Bearer %s", token);
    return (struct http_header){ STR("authorization"), { text, (size_t)n } };
}

static int get(struct fixture *b, const char *path, const char *token)
{
    struct http_header h = bearer(token ? token : "");
    return get_with(b, NULL, path, &h, token != NULL);
}

/* A certificate of its own for each question. */
static int get_as(struct fixture *b, const struct cert *ca, const char *cn, const char *org,
                  const char *path, const struct http_header *headers, size_t n)
{
    struct cert own = { 0 };

    cert_make(&own, &(struct cert_opts){ .cn = cn, .org = org }, ca);
    int status = get_with(b, &own, path, headers, n);
    cert_fini(&own);
    return status;
}

#define FORBIDDEN(text)                                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","    \
    "\"message\":\"forbidden: " text "\",\"reason\":\"Forbidden\",\"details\":{},\"code\":" \
    "403}\n"
#define UNAUTHORIZED                                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\"," \
    "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"

/* ---- cases ----------------------------------------------------------------------------------- */

static void test_who_says_nothing_is_anonymous(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_init(&b);
    assert_int_equal(get(&b, "/healthz", NULL), 200);
    assert_int_equal(get(&b, "/livez?verbose", NULL), 200);
    assert_int_equal(b.access_reviews, 0);
    assert_int_equal(get(&b, "/metrics", NULL), 403);
    assert_string_equal(
        body, FORBIDDEN("User \\\"system:anonymous\\\" cannot get path \\\"/metrics\\\""));
    assert_contains(strbuf_str(&b.last_access),
                    "\"user\":\"system:anonymous\",\"groups\":[\"system:unauthenticated\"],"
                    "\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"}");
    assert_int_equal(get(&b, "/healthz/ping", NULL), 403); /* open paths are exact */
    assert_int_equal(get(&b, "/%zz", NULL), 400);
    const struct http_header basic = { STR("authorization"), STR("Basic YTpi") };
    assert_int_equal(get_with(&b, NULL, "/metrics", &basic, 1), 403);
    assert_int_equal(b.token_reviews, 0);
    assert_int_equal(b.admitted, 2);
}

static void test_tokens_are_reviewed_and_answers_kept(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_init(&b);
    assert_int_equal(get(&b, "/metrics", "of-alice"), 200);
    assert_int_equal(get(&b, "/metrics", "of-alice"), 200);
    assert_int_equal(b.token_reviews, 1);
    assert_int_equal(b.access_reviews, 1);
    assert_int_equal(get(&b, "/reason", "of-alice"), 403);
    assert_string_equal(body,
                        FORBIDDEN("User \\\"alice\\\" cannot get path \\\"/reason\\\": no luck"));
    assert_contains(strbuf_str(&b.last_access), "\"groups\":[\"dev\",\"system:authenticated\"],");
    assert_int_equal(get(&b, "/denied", "of-alice"), 403);
    assert_int_equal(b.token_reviews, 1);
    loop_advance(b.l, 10 * NSEC_PER_SEC);
    assert_int_equal(get(&b, "/metrics", "of-alice"), 200);
    assert_int_equal(b.token_reviews, 2);
    assert_int_equal(b.access_reviews, 4);
    assert_int_equal(get(&b, "/anything", "of-root"), 200); /* system:masters: nobody is asked */
    assert_int_equal(b.access_reviews, 4);
}

static void test_a_bad_token_is_nobody(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_init(&b);
    assert_int_equal(get(&b, "/metrics", "s3cret"), 401);
    assert_string_equal(body, UNAUTHORIZED);
    assert_int_equal(get(&b, "/healthz", "s3cret"), 401); /* even where nobody is asked */
    assert_int_equal(b.token_reviews, 1);
    assert_int_equal(get(&b, "/metrics", "odd"), 401);
    assert_contains(strbuf_str(&b.log), "Unable to authenticate the request");
    assert_lacks(strbuf_str(&b.log), "s3cret");
    assert_int_equal(b.admitted, 0);
}

static void test_a_failure_opens_nothing_and_is_not_kept(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_init(&b);
    b.api_fails = 403; /* the program has no right to ask */
    assert_int_equal(get(&b, "/metrics", "of-alice"), 401);
    assert_int_equal(get(&b, "/metrics", NULL), 500);
    assert_contains(body, "Internal Server Error: \"/metrics\": ");
    assert_contains(strbuf_str(&b.log), "Failed to find out whether a request is allowed");
    assert_int_equal(b.admitted, 0);
    b.api_fails = 0;
    assert_int_equal(get(&b, "/metrics", "of-alice"), 200);
    assert_int_equal(get(&b, "/metrics", NULL), 403);
}

static void test_who_waits_holds_up_nobody(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct http_header h = bearer("slow");
    struct client first, second, gone;

    (void)state;
    fixture_init(&b);
    client_send(&b, &first, NULL, "/metrics", &h, 1);
    client_send(&b, &second, NULL, "/metrics", &h, 1);
    client_send(&b, &gone, NULL, "/metrics", &h, 1);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_false(first.a.ended);
    assert_int_equal(get(&b, "/healthz", NULL), 200);
    assert_int_equal(get(&b, "/metrics", "of-alice"), 200);
    client_end(&gone); /* hangs up while its question is open */
    loop_advance(b.l, 5 * NSEC_PER_SEC);
    assert_int_equal(first.a.status, 200);
    assert_int_equal(second.a.status, 200);
    assert_int_equal(b.token_reviews, 2); /* the same question is asked once */
    assert_int_equal(b.admitted, 4);
    client_end(&first);
    client_end(&second);
}

static void test_certificates_of_the_looked_up_ca(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct http_header h = bearer("of-alice");

    (void)state;
    fixture_init(&b);
    assert_int_equal(get_as(&b, &b.ca, "bob", "system:masters", "/metrics", NULL, 0), 200);
    assert_int_equal(get_as(&b, &b.ca, "bob", "dev", "/metrics", NULL, 0), 403);
    assert_string_equal(body, FORBIDDEN("User \\\"bob\\\" cannot get path \\\"/metrics\\\""));
    assert_int_equal(get_as(&b, &b.ca, "alice", "dev", "/metrics", NULL, 0), 200);
    assert_int_equal(get_as(&b, &b.other_ca, "bob", "system:masters", "/metrics", NULL, 0), 401);
    assert_int_equal(get_as(&b, &b.other_ca, "bob", "system:masters", "/healthz", NULL, 0), 401);
    assert_int_equal(get_as(&b, &b.proxy_ca, "bob", "system:masters", "/metrics", NULL, 0), 401);
    /* a token counts beside a certificate that says nothing */
    assert_int_equal(get_as(&b, &b.other_ca, "bob", "x", "/metrics", &h, 1), 200);
}

static void test_a_certificate_that_has_run_out(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct cert old = { 0 };

    (void)state;
    fixture_init(&b);
    cert_make(&old,
              &(struct cert_opts){
                  .cn = "bob", .org = "system:masters", .not_after = WALL0 / NSEC_PER_SEC - 60 },
              &b.ca);
    assert_int_equal(get_with(&b, &old, "/metrics", NULL, 0), 401);
    cert_fini(&old);
}

static void test_proxies_speak_for_others(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    const struct http_header h[] = {
        { STR("x-remote-user"), STR("carol") },
        { STR("x-remote-group"), STR("one") },
        { STR("x-remote-group"), STR("two") },
        { STR("x-remote-extra-acme.com%2fscope"), STR("s") },
    };

    (void)state;
    fixture_init(&b);
    assert_int_equal(get_as(&b, &b.proxy_ca, "aggregator", NULL, "/metrics", h, 4), 403);
    assert_contains(strbuf_str(&b.last_access),
                    "\"user\":\"carol\",\"groups\":[\"one\",\"two\",\"system:authenticated\"],"
                    "\"extra\":{\"acme.com/scope\":[\"s\"]}");
    assert_int_equal(get_as(&b, &b.proxy_ca, "somebody", NULL, "/metrics", h, 4), 401);
    /* the headers of others say nothing */
    assert_int_equal(get_as(&b, &b.ca, "bob", NULL, "/metrics", h, 4), 403);
    assert_string_equal(body, FORBIDDEN("User \\\"bob\\\" cannot get path \\\"/metrics\\\""));
    assert_int_equal(get_with(&b, NULL, "/metrics", h, 4), 403);
    assert_string_equal(
        body, FORBIDDEN("User \\\"system:anonymous\\\" cannot get path \\\"/metrics\\\""));
}

static void test_a_damaged_lookup_opens_nothing(void **state)
{
    static const char *const damaged[] = { "\"aggregator\"", "{}", "[7]", "[\"aggregator\"" };
    const struct http_header h = { STR("x-remote-user"), STR("alice") };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        CLEANUP(fixture_fini) struct fixture b;
        fixture_open_with(&b, 0, NULL, true, damaged[i]);
        assert_int_not_equal(get_as(&b, &b.proxy_ca, "somebody", NULL, "/metrics", &h, 1), 200);
        assert_int_equal(b.admitted, 0);
        assert_contains(strbuf_str(&b.log), "requestheader-allowed-names");
    }
}

static void test_a_ca_that_is_no_root(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct cert root = { 0 }, middle = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    cert_make(&root, &(struct cert_opts){ .cn = "root", .ca = true }, NULL);
    cert_make(&middle, &(struct cert_opts){ .cn = "middle", .ca = true }, &root);
    CLEANUP(mem_free)
    char *flag = xasprintf("--client-ca-file=%s", tmpdir_write(&t, "ca.crt", middle.pem));
    fixture_open(&b, 1, &flag, true);
    assert_int_equal(get_as(&b, &middle, "bob", "system:masters", "/metrics", NULL, 0), 200);
    assert_int_equal(get_as(&b, &root, "bob", "system:masters", "/metrics", NULL, 0), 401);
    cert_fini(&root);
    cert_fini(&middle);
    tmpdir_fini(&t);
}

static void test_a_ca_file_counts_more_than_the_lookup(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct cert mine = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    cert_make(&mine, &(struct cert_opts){ .cn = "mine", .ca = true }, NULL);
    CLEANUP(mem_free)
    char *flag = xasprintf("--client-ca-file=%s", tmpdir_write(&t, "ca.crt", mine.pem));
    char *argv[] = { flag, (char[]){ "--authorization-always-allow-paths=/open/*" } };
    fixture_open(&b, 2, argv, true);
    assert_int_equal(get_as(&b, &mine, "bob", "system:masters", "/metrics", NULL, 0), 200);
    assert_int_equal(get_as(&b, &b.ca, "bob", "system:masters", "/metrics", NULL, 0), 401);
    assert_int_equal(get(&b, "/open/door", NULL), 200);
    assert_int_equal(get(&b, "/healthz", NULL), 403);
    cert_fini(&mine);
    tmpdir_fini(&t);
}

static void test_without_a_cluster_only_open_paths(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_open(&b, 0, NULL, false);
    assert_int_equal(get(&b, "/healthz", NULL), 200);
    assert_int_equal(get(&b, "/metrics", NULL), 403);
    assert_int_equal(get(&b, "/metrics", "of-alice"), 403);
    assert_int_equal(get_as(&b, &b.ca, "bob", "system:masters", "/metrics", NULL, 0), 403);
}

static void test_wrong_options_are_refused(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    struct delegate *d = NULL;
    struct delegate_options o;
    struct kerr err = { 0 };
    const char *paths[] = { "/a*b" };

    (void)state;
    fixture_init(&b);
    o = b.o;
    o.authz.open_paths = (struct flag_list){ paths, 1 };
    assert_that(delegate_over(b.l, NULL, NULL, &o, &d, &err), <, 0);
    assert_string_equal(err.text, "--authorization-always-allow-paths: only trailing * allowed in "
                                  "\"/a*b\"");
    o = b.o;
    o.authn.client_ca = "no-such-file";
    assert_that(delegate_over(b.l, NULL, NULL, &o, &d, &err), <, 0);
    assert_contains(err.text, "no-such-file");
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void read_any(const struct kj_val *status, struct review *ret)
{
    ret->good = kj_bool(kj_get(status, "allowed"), false);
}

static void count(void *arg, const struct review *answer, const struct kerr *err)
{
    (void)err;
    *(int *)arg += answer ? 1 : 100;
}

static void ask(struct fixture *b, struct reviews *rv, int i, int *got)
{
    CLEANUP(mem_free)
    char *text = xasprintf("{\"spec\":{\"user\":\"u%d\",\"nonResourceAttributes\":{\"path\":\"/\","
                           "\"verb\":\"get\"}}}",
                           i);
    reviews_ask(rv, text, strlen(text), count, got);
    (void)b;
}

static void test_answers_and_questions_are_bounded(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;
    int got = 0;

    (void)state;
    fixture_init(&b);
    CLEANUP(reviews_free)
    struct reviews *rv = reviews_new(b.kube, &(struct review_opts){ .path = "/review",
                                                                    .read = read_any,
                                                                    .good_ttl = NSEC_PER_SEC,
                                                                    .bad_ttl = 60 * NSEC_PER_SEC,
                                                                    .max = 2 });
    ask(&b, rv, 0, &got);
    ask(&b, rv, 1, &got);
    ask(&b, rv, 2, &got); /* one too many at a time: refused at once */
    assert_int_equal(got, 100);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(got, 102);
    ask(&b, rv, 2, &got);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(b.access_reviews, 3);
    ask(&b, rv, 1, &got);
    ask(&b, rv, 2, &got);
    assert_int_equal(got, 105);
    assert_int_equal(b.access_reviews, 3);
    ask(&b, rv, 0, &got); /* the oldest had to go */
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(b.access_reviews, 4);
}

struct again {
    struct fixture *b;
    struct reviews *rv;
    int got;
};

static void ask_again(void *arg, const struct review *answer, const struct kerr *err)
{
    struct again *a = arg;

    count(&a->got, answer, err);
    ask(a->b, a->rv, 0, &a->got);
}

static void test_who_hears_an_answer_may_ask_again(void **state)
{
    CLEANUP(fixture_fini) struct fixture b;

    (void)state;
    fixture_init(&b);
    CLEANUP(reviews_free)
    struct reviews *rv =
        reviews_new(b.kube, &(struct review_opts){ .path = "/review", .read = read_any });
    struct again a = { &b, rv, 0 };
    const char text[] = "{\"spec\":{\"user\":\"u0\",\"nonResourceAttributes\":{\"path\":\"/\","
                        "\"verb\":\"get\"}}}";
    reviews_ask(rv, text, strlen(text), ask_again, &a);
    ask(&b, rv, 0, &a.got);
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(a.got, 3);
    assert_int_equal(b.access_reviews, 1);
    ask(&b, rv, 0, &a.got); /* it was not kept */
    loop_advance(b.l, NSEC_PER_SEC);
    assert_int_equal(b.access_reviews, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_says_nothing_is_anonymous),
        cmocka_unit_test(test_tokens_are_reviewed_and_answers_kept),
        cmocka_unit_test(test_a_bad_token_is_nobody),
        cmocka_unit_test(test_a_failure_opens_nothing_and_is_not_kept),
        cmocka_unit_test(test_who_waits_holds_up_nobody),
        cmocka_unit_test(test_certificates_of_the_looked_up_ca),
        cmocka_unit_test(test_a_certificate_that_has_run_out),
        cmocka_unit_test(test_proxies_speak_for_others),
        cmocka_unit_test(test_a_damaged_lookup_opens_nothing),
        cmocka_unit_test(test_a_ca_that_is_no_root),
        cmocka_unit_test(test_a_ca_file_counts_more_than_the_lookup),
        cmocka_unit_test(test_without_a_cluster_only_open_paths),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_answers_and_questions_are_bounded),
        cmocka_unit_test(test_who_hears_an_answer_may_ask_again),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
