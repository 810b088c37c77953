/* test_http_front.c - the HTTP front over memory streams: who may, what comes back, watch streams.
 */
#include "apiserver/http/protobuf.h"
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"
#include "net/http.h"
#include "net/stream.h"

struct front_fixture {
    struct loop *loop;
    struct apiserver *s;
    struct http *client;
    const char *accept; /* of the requests; NULL: none */
    /* The last answer. */
    int status;
    char type[80], warning[200], cache[40];
    struct strbuf body;
    bool ended;
    struct kerr err;
};

struct dialing {
    struct front_fixture *b;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing *d = arg;
    struct stream *ends[2];
    stream_mem_pair(l, &(struct mem_opts){ .chunk = 700 }, ends);
    apiserver_serve(d->b->s, ends[0]);
    d->fn(d->arg, ends[1], NULL);
    free(d);
}

static void dial_later(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);
    *d = (struct dialing){ dial_arg, fn, arg };
    loop_post(l, dial_now, d);
}

static void front_init(struct front_fixture *b, uint64_t seed)
{
    struct kerr err = { 0 };
    *b = (struct front_fixture){ .loop = loop_new_virtual(WALL0, seed) };
    if (apiserver_new(b->loop, &(struct apiserver_opts){ .no_crds = true, .token = "s3cret" },
                      &b->s, &err) < 0)
        fail_msg("%s", err.text);
    b->client = http_client_new(
        b->loop,
        &(struct http_client_opts){
            .host = "test", .port = 80, .dial = dial_later, .dial_arg = b, .max_conns = 64 });
    loop_advance(b->loop, NSEC_PER_SEC);
}

static void front_fini_p(struct front_fixture *b)
{
    http_free(b->client);
    apiserver_free(b->s);
    loop_advance(b->loop, 10 * NSEC_PER_SEC);
    loop_free(b->loop);
    strbuf_fini(&b->body);
}

static void keep(char *to, size_t size, struct str v)
{
    (void)snprintf(to, size, "%.*s", (int)v.n, v.p ? v.p : "");
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct front_fixture *b = arg;
    b->status = r->status;
    keep(b->type, sizeof b->type, http_header_get(&r->headers, "content-type"));
    keep(b->warning, sizeof b->warning, http_header_get(&r->headers, "warning"));
    keep(b->cache, sizeof b->cache, http_header_get(&r->headers, "cache-control"));
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct front_fixture *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct front_fixture *b = arg;
    (void)sent;
    b->ended = true;
    if (err)
        b->err = *err;
}

static const struct http_handler handler = { on_headers, on_data, on_end, NULL };

static struct http_call *start(struct front_fixture *b, const char *method, const char *target,
                               const char *token, const char *body, size_t n)
{
    char auth[80];
    struct http_header headers[] = {
        { STR("authorization"), { 0 } },
        { STR("content-type"), STR("application/json") },
        { STR("accept"), str_of(str_or(b->accept, "*/*")) },
    };
    (void)snprintf(auth, sizeof auth, "Bearer %s", str_or(token, ""));
    headers[0].value = str_of(auth);
    b->ended = false;
    b->status = 0;
    b->err = (struct kerr){ 0 };
    strbuf_reset(&b->body);
    struct http_req q = { .method = method,
                          .target = target,
                          .headers = { token ? headers : headers + 1, token ? 3 : 2 },
                          .body = body,
                          .body_len = n };
    return http_send(b->client, &q, &handler, b);
}

static int ask(struct front_fixture *b, const char *method, const char *target, const char *token,
               const char *body)
{
    start(b, method, target, token, body, body ? strlen(body) : 0);
    for (int i = 0; i < 1000 && !b->ended; i++)
        loop_advance(b->loop, NSEC_PER_MSEC);
    assert_true(b->ended);
    return b->status;
}

static void test_the_token_is_enough(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 1);
    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200);
    assert_string_equal(b.type, "application/json");
    assert_string_equal(b.cache, "no-cache, private");
    assert_int_equal(ask(&b, "GET", CMS, "wrong", NULL), 401);
    assert_contains(b.body.data, "\"reason\":\"Unauthorized\"");
    assert_int_equal(ask(&b, "GET", CMS, "s3cret2", NULL), 401);
    assert_int_equal(ask(&b, "GET", CMS, "s3cre", NULL), 401);
    assert_int_equal(ask(&b, "POST", CMS, NULL, "{}"), 401);
    assert_int_equal(ask(&b, "GET", "/healthz", NULL, NULL), 200);
    assert_string_equal(b.body.data, "ok");
    assert_int_equal(ask(&b, "GET", "/readyz?verbose", NULL, NULL), 200);
    assert_int_equal(ask(&b, "GET", "/version", NULL, NULL), 200);
    assert_contains(b.body.data, "\"gitVersion\": \"v1.35");
    assert_int_equal(ask(&b, "GET", "/healthzz", NULL, NULL), 401);
}

static void test_create_and_get(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 2);
    assert_int_equal(
        ask(&b, "POST", CMS, "s3cret", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}"),
        201);
    assert_int_equal(ask(&b, "GET", CMS "/a?pretty=true", "s3cret", NULL), 200);
    assert_contains(b.body.data, "\n  \"data\": {");
    assert_int_equal(ask(&b, "GET", "/nope", "s3cret", NULL), 404);
    assert_string_equal(b.body.data, "404 page not found\n");
}

static void test_a_body_has_a_limit(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    CLEANUP(mem_free) char *big = xmalloc((3 << 20) + 1);
    (void)state;
    front_init(&b, 3);
    memset(big, 'x', (3 << 20) + 1);
    start(&b, "POST", CMS, "s3cret", big, (3 << 20) + 1);
    loop_advance(b.loop, 5 * NSEC_PER_SEC);
    assert_int_equal(b.status, 413);
    assert_contains(b.body.data, "RequestEntityTooLarge");
    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200);
}

static void test_a_large_list_comes_compressed_and_whole(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    (void)state;
    front_init(&b, 4);
    strbuf_append(&body, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"");
    for (int i = 0; i < 20000; i++)
        strbuf_append(&body, "0123456789");
    strbuf_append(&body, "\"}}");
    assert_int_equal(ask(&b, "POST", CMS, "s3cret", body.data), 201);
    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200);
    assert_that(b.body.len, >, 200000);
    assert_memory_equal(b.body.data + b.body.len - 3, "]}\n", 3);
}

static void test_a_watch_is_a_line_an_event(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 5);
    assert_int_equal(ask(&b, "POST", CMS, "s3cret", "{\"metadata\":{\"name\":\"a\"}}"), 201);
    start(&b, "GET", CMS "?watch=1&timeoutSeconds=5", "s3cret", NULL, 0);
    loop_advance(b.loop, NSEC_PER_SEC);
    assert_false(b.ended);
    assert_int_equal(b.status, 200);
    assert_memory_equal(b.body.data, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\"", 44);
    assert_int_equal(b.body.data[b.body.len - 1], '\n');
    loop_advance(b.loop, 5 * NSEC_PER_SEC);
    assert_true(b.ended);
    assert_int_equal(b.err.code, 0);
}

static void test_a_client_that_leaves_ends_its_watch(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 6);
    struct http_call *c = start(&b, "GET", CMS "?watch=1", "s3cret", NULL, 0);
    loop_advance(b.loop, NSEC_PER_SEC);
    assert_int_equal(apiserver_stats(b.s).open_watches, 1);
    http_cancel(c);
    loop_advance(b.loop, NSEC_PER_SEC);
    assert_int_equal(apiserver_stats(b.s).open_watches, 0);
}

/* What a sink does when it is full is in test_registry_watch.c; here: nothing is lost by it. */
static void test_a_watcher_that_pauses_gets_all_in_the_end(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 7);
    struct http_call *c = start(&b, "GET", CMS "?watch=1", "s3cret", NULL, 0);
    loop_advance(b.loop, NSEC_PER_SEC);
    http_pause(c, true);
    for (int i = 0; i < 60; i++) {
        struct front_fixture *p = &b;
        CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;
        strbuf_appendf(&name, "{\"metadata\":{\"name\":\"a%d\"},\"data\":{\"k\":\"", i);
        for (int j = 0; j < 2000; j++)
            strbuf_append(&name, "0123456789");
        strbuf_append(&name, "\"}}");
        struct http_header headers[] = { { STR("authorization"), STR("Bearer s3cret") } };
        struct http_req q = { .method = "POST",
                              .target = CMS,
                              .headers = { headers, 1 },
                              .body = name.data,
                              .body_len = name.len };
        static const struct http_handler none = { NULL, NULL, on_end, NULL };
        p->ended = false;
        http_send(p->client, &q, &none, p);
        for (int k = 0; k < 1000 && !p->ended; k++)
            loop_advance(p->loop, NSEC_PER_MSEC);
        assert_true(p->ended);
    }
    assert_int_equal(apiserver_stats(b.s).open_watches, 1);
    http_pause(c, false);
    loop_advance(b.loop, NSEC_PER_SEC);
    size_t lines = 0;
    for (size_t i = 0; i < b.body.len; i++)
        lines += b.body.data[i] == '\n';
    assert_int_equal(lines, 60); /* all came in the end */
    http_cancel(c);
}

/* ---- clients that take their time
 * -----------------------------------------------------------------
 */

struct taker {
    struct http_call *call;
    struct strbuf body;
    int status;
    bool ended;
};

static void taker_headers(void *arg, const struct http_resp *r)
{
    ((struct taker *)arg)->status = r->status;
}

static void taker_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct taker *)arg)->body, p, n);
}

static void taker_end(void *arg, const struct kerr *err, bool sent)
{
    (void)err, (void)sent;
    ((struct taker *)arg)->ended = true;
}

static void taker_start(struct front_fixture *b, struct taker *t, const char *target)
{
    static const struct http_handler on = { taker_headers, taker_data, taker_end, NULL };
    struct http_header headers[] = { { STR("authorization"), STR("Bearer s3cret") },
                                     { STR("accept"), str_of(str_or(b->accept, "*/*")) } };
    struct http_req q = { .method = "GET", .target = target, .headers = { headers, 2 } };

    *t = (struct taker){ 0 };
    t->call = http_send(b->client, &q, &on, t);
    http_pause(t->call, true);
    loop_advance(b->loop, NSEC_PER_SEC);
}

/* 40 of 50 KB each, of text that gzip makes little of. */
static void put_large_objects(struct front_fixture *b)
{
    uint64_t x = 1;

    for (int i = 0; i < 40; i++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

        strbuf_appendf(&body, "{\"metadata\":{\"name\":\"a%02d\"},\"data\":{\"k\":\"", i);
        for (int j = 0; j < 50000; j++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            strbuf_appendc(&body, (char)('0' + (x >> 33) % 42)); /* up to 'Y', no quotes */
        }
        strbuf_append(&body, "\"}}");
        assert_int_equal(ask(b, "POST", CMS, "s3cret", body.data), 201);
    }
}

static void test_clients_that_do_not_read_share_one_text(void **state)
{
    static const char *const forms[] = { "*/*", PROTOBUF_TYPE };
    CLEANUP(front_fini) struct front_fixture b;
    struct taker t[8];

    (void)state;
    front_init(&b, 9);
    put_large_objects(&b);
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        b.accept = forms[f];
        for (size_t i = 0; i < ARRAY_LEN(t); i++) {
            taker_start(&b, &t[i], CMS);
            /* Writes to other resources change the head of the list, not its items. */
            assert_int_equal(
                ask(&b, "PATCH", "/api/v1/namespaces/default", "s3cret", "{\"metadata\":{}}"), 415);
        }
        size_t held = apiserver_stats(b.s).list_bytes;
        assert_that(held, >, 2000000);
        assert_that(held, <, 4200000); /* once, not eight times */
        for (size_t i = 0; i < ARRAY_LEN(t); i++)
            http_pause(t[i].call, false);
        loop_advance(b.loop, 5 * NSEC_PER_SEC);
        for (size_t i = 0; i < ARRAY_LEN(t); i++) {
            assert_true(t[i].ended);
            assert_int_equal(t[i].status, 200);
            assert_that(t[i].body.len, >, 2000000);
            assert_int_equal(t[i].body.len, t[0].body.len);
            assert_memory_equal(t[i].body.data, t[0].body.data, t[0].body.len);
        }
        for (size_t i = 0; i < ARRAY_LEN(t); i++)
            strbuf_fini(&t[i].body);
        assert_int_equal(apiserver_stats(b.s).list_bytes, 0);
    }
}

/* A change of the resource makes a new text; the old one is what its clients asked for. */
static void test_a_change_is_never_served_from_an_old_text(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    struct taker old, new;

    (void)state;
    front_init(&b, 10);
    put_large_objects(&b);
    taker_start(&b, &old, CMS);
    assert_int_equal(ask(&b, "DELETE", CMS "/a07", "s3cret", NULL), 200);
    taker_start(&b, &new, CMS);
    http_pause(old.call, false);
    http_pause(new.call, false);
    loop_advance(b.loop, 5 * NSEC_PER_SEC);
    assert_non_null(memmem(old.body.data, old.body.len, "\"a07\"", 5));
    assert_null(memmem(new.body.data, new.body.len, "\"a07\"", 5));
    assert_int_equal(apiserver_stats(b.s).list_bytes, 0);
    strbuf_fini(&old.body);
    strbuf_fini(&new.body);
}

/* Different lists do not add up without a bound: the one too many is told to come again. */
static void test_lists_that_wait_are_bounded(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    struct taker t[40];
    size_t refused = 0;

    (void)state;
    front_init(&b, 11);
    put_large_objects(&b);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char target[80];

        (void)snprintf(target, sizeof target, CMS "?labelSelector=x%%21%%3D%zu", i);
        taker_start(&b, &t[i], target);
    }
    assert_that(apiserver_stats(b.s).list_bytes, <=, 64 << 20);
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        http_pause(t[i].call, false);
    loop_advance(b.loop, 20 * NSEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        assert_true(t[i].ended);
        refused += t[i].status == 429;
        strbuf_fini(&t[i].body);
    }
    assert_that(refused, >, 0);
    assert_that(refused, <, ARRAY_LEN(t));
    assert_int_equal(apiserver_stats(b.s).list_bytes, 0);
}

/* The last answer, read as a client of protobuf does. */
static struct kj_doc *read_protobuf(struct front_fixture *b)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    assert_string_equal(b->type, PROTOBUF_TYPE);
    if (protobuf_decode(b->body.data, b->body.len, "", "", &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

#define TYPED "application/vnd.kubernetes.protobuf,application/json"

static void test_who_prefers_protobuf_gets_it(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    (void)state;
    front_init(&b, 1);
    b.accept = TYPED;
    assert_int_equal(
        ask(&b, "POST", CMS, "s3cret", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}"),
        201);
    doc = read_protobuf(&b);
    assert_string_equal(kj_str(kj_path(kj_root(doc), "metadata.name")), "a");
    assert_string_equal(kj_str(kj_path(kj_root(doc), "data.k")), "v");
    assert_non_null(kj_str(kj_path(kj_root(doc), "metadata.creationTimestamp")));

    assert_int_equal(ask(&b, "GET", CMS "/b", "s3cret", NULL), 404); /* a Status */
    assert_string_equal(b.type, PROTOBUF_TYPE);
    assert_non_null(memmem(b.body.data, b.body.len, "NotFound", 8));

    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200); /* a list */
    assert_string_equal(b.type, PROTOBUF_TYPE);
    assert_non_null(memmem(b.body.data, b.body.len, "ConfigMapList", 13));
    assert_null(memmem(b.body.data, b.body.len, "{\"kind\"", 7)); /* no JSON but fieldsV1 */
}

static void test_protobuf_is_for_objects_and_metadata(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 1);
    b.accept = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json";
    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200);
    assert_string_equal(b.type, "application/json");
    b.accept =
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_int_equal(ask(&b, "GET", CMS, "s3cret", NULL), 200);
    assert_string_equal(b.type, PROTOBUF_TYPE);
    assert_non_null(memmem(b.body.data, b.body.len, "PartialObjectMetadataList", 25));
}

static void test_events_of_a_watch_come_with_their_length(void **state)
{
    CLEANUP(front_fini) struct front_fixture b;
    (void)state;
    front_init(&b, 1);
    assert_int_equal(ask(&b, "POST", CMS, "s3cret", "{\"metadata\":{\"name\":\"a\"}}"), 201);
    b.accept = TYPED;
    struct http_call *w = start(&b, "GET", CMS "?watch=1&resourceVersion=0", "s3cret", NULL, 0);
    loop_advance(b.loop, NSEC_PER_SEC);
    assert_string_equal(b.type, PROTOBUF_WATCH_TYPE);
    assert_that(b.body.len, >, 4);
    const unsigned char *p = (const unsigned char *)b.body.data;
    uint32_t first = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    assert_that(first + 4, <=, b.body.len);
    assert_memory_equal(p + 4,
                        "\x0a\x05"
                        "ADDED",
                        7);
    assert_non_null(memmem(p, first, "k8s", 4)); /* the object has an envelope of its own */
    http_cancel(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_who_prefers_protobuf_gets_it),
    cmocka_unit_test(test_protobuf_is_for_objects_and_metadata),
    cmocka_unit_test(test_events_of_a_watch_come_with_their_length),
    cmocka_unit_test(test_the_token_is_enough),
    cmocka_unit_test(test_create_and_get),
    cmocka_unit_test(test_a_body_has_a_limit),
    cmocka_unit_test(test_a_large_list_comes_compressed_and_whole),
    cmocka_unit_test(test_a_watch_is_a_line_an_event),
    cmocka_unit_test(test_a_client_that_leaves_ends_its_watch),
    cmocka_unit_test(test_a_watcher_that_pauses_gets_all_in_the_end),
    cmocka_unit_test(test_clients_that_do_not_read_share_one_text),
    cmocka_unit_test(test_a_change_is_never_served_from_an_old_text),
    cmocka_unit_test(test_lists_that_wait_are_bounded),
};

FIXTURE_MAIN(tests)
