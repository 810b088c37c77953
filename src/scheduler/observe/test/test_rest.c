/* test_rest.c - what a scheduler answers over HTTP (scheduler-core 9.6, 11.4). */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/klog.h"
#include "component/serve.h"
#include "net/http.h"
#include "net/stream.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

struct desk {
    struct engine_fixture engine;
    struct serve *serve;
    struct http *client;
    bool leads;
    int status; /* of the last answer */
    struct strbuf body, log;
};

static void on_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(&((struct desk *)arg)->log, text, n);
}

struct dialing {
    struct desk *d;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing *x = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    serve_stream(x->d->serve, ends[0], "127.0.0.1:999");
    x->fn(x->arg, ends[1], NULL);
    free(x);
}

static void dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *x = xnew0(struct dialing);
    *x = (struct dialing){ dial_arg, fn, arg };
    loop_post(l, dial_now, x);
}

static bool leads(void *arg)
{
    return ((struct desk *)arg)->leads;
}

static void desk_open_with(struct desk *d, const struct ks_registered *plugins)
{
    *d = (struct desk){ .leads = true };
    engine_start_with(&d->engine, 1, plugins);
    klog_set_sink(on_line, d);
    d->serve =
        serve_new(d->engine.client.loop, &(struct serve_opts){ .program = "koord-scheduler" });
    scheduler_serve(d->engine.s, d->serve, leads, d);
    d->client = http_client_new(
        d->engine.client.loop,
        &(struct http_client_opts){ .host = "test", .port = 80, .dial = dial, .dial_arg = d });
}

static void desk_open(struct desk *d)
{
    desk_open_with(d, NULL);
}

static void desk_close_p(struct desk *d)
{
    http_free(d->client);
    serve_free(d->serve);
    engine_stop_p(&d->engine);
    strbuf_fini(&d->body);
    strbuf_fini(&d->log);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct desk *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct desk *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)arg, (void)err, (void)sent;
}

/* "STATUS BODY" */
static const char *ask(struct desk *d, const char *method, const char *target, const char *body)
{
    static const struct http_handler h = { on_headers, on_data, on_end };
    static char text[4096];

    d->status = 0;
    strbuf_reset(&d->body);
    http_send(
        d->client,
        &(struct http_req){
            .method = method, .target = target, .body = body, .body_len = body ? strlen(body) : 0 },
        &h, d);
    client_fixture_run(&d->engine.client, SEC);
    (void)snprintf(text, sizeof text, "%d %s", d->status, strbuf_str(&d->body));
    return text;
}

static void test_only_the_leader_answers(void **state)
{
    static const char not_leader[] = "503 {\"message\": \"the instance is not leader\"}";
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 110, "");
    engine_pod(&d.engine, "p", 100, 10, "");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_string_equal(ask(&d, "GET", "/apis/v1/__services__", NULL),
                        "200 {\"GET\":[\"/apis/v1/__services__\",\"/apis/v1/nodes/:nodeName\"]}");
    assert_contains(ask(&d, "GET", "/apis/v1/nodes/n1", NULL), "200 {\"node\":{");
    assert_contains(strbuf_str(&d.body), "\"requested\":{\"MilliCPU\":100,");
    assert_string_equal(ask(&d, "GET", "/apis/v1/nodes/n2", NULL),
                        "404 {\"message\":\"cannot find node n2\"}");
    assert_contains(ask(&d, "GET", "/metrics/resources", NULL), "pod=\"p\"");
    d.leads = false;
    assert_string_equal(ask(&d, "GET", "/apis/v1/__services__", NULL), not_leader);
    assert_string_equal(ask(&d, "GET", "/apis/v1/nodes/n1", NULL), not_leader);
    assert_string_equal(ask(&d, "GET", "/metrics/resources", NULL), "200 ");
}

static void test_debug_flags(void **state)
{
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open(&d);
    engine_node(&d.engine, "n1", 1000, 1024, 110, "");
    engine_node(&d.engine, "n2", 1000, 1024, 110, "");
    assert_string_equal(ask(&d, "PUT", "/debug/flags/s", "10"),
                        "200 successfully set debugTopNScores to 10\n");
    assert_string_equal(ask(&d, "GET", "/debug/flags/s", NULL), "406 unsupported http method\n");
    assert_contains(ask(&d, "PUT", "/debug/flags/s", "x"), "400 failed set debugTopNScores x: ");
    assert_string_equal(ask(&d, "PUT", "/debug/flags/f", "1"), /* as Go reads booleans */
                        "200 successfully set debugFilterFailure to 1\n");
    assert_string_equal(ask(&d, "PUT", "/debug/flags/db", "t"),
                        "200 successfully set debugFilterFailure to t\n");
    assert_string_equal(ask(&d, "PUT", "/debug/flags/d", "true"),
                        "200 successfully set debugFilterFailure to true\n");
    assert_int_equal((ask(&d, "PUT", "/debug/flags/d", "yes"), d.status), 400);
    engine_pod(&d.engine, "p", 100, 10, "");
    engine_pod(&d.engine, "big", 2000, 2048, "");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_contains(strbuf_str(&d.log), "Top10 scores for Pod: ns/p, feasibleNodes: 2, ");
    assert_contains(strbuf_str(&d.log), "Failed to filter for Pod \"ns/big\" on Node \"n1\" "
                                        "(pass 1), failedPlugin: NodeResourcesFit, reason: "
                                        "Insufficient cpu, Insufficient memory");
    assert_contains(strbuf_str(&d.log), "dump diagnosis for ns/big, ");
    /* Below nothing is nothing. */
    assert_string_equal(ask(&d, "PUT", "/debug/flags/s", "-1"),
                        "200 successfully set debugTopNScores to -1\n");
    engine_pod(&d.engine, "q", 100, 10, "");
    client_fixture_run(&d.engine.client, 2 * SEC);
    assert_lacks(strbuf_str(&d.log), "scores for Pod: ns/q");
}

/* ---- paths of plugins ------------------------------------------------------------------------ */

struct zoo {
    int made;
};

static int get_all(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const char *tree = ks_get_query(g, "tree");

    (void)err;
    kjw_obj(w, NULL);
    kjw_i64(w, "made", ((struct zoo *)service)->made);
    if (tree)
        kjw_str(w, "tree", tree);
    kjw_end(w);
    return 0;
}

static int get_animal(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    (void)service;
    if (streq(g->params[1], "none"))
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "cannot find animal %s/%s", g->params[0],
                        g->params[1]);
    if (streq(g->params[1], "lion"))
        return kerr_set(err, -EIO, "it bites");
    kjw_arr(w, NULL);
    kjw_str(w, NULL, g->params[0]);
    kjw_str(w, NULL, g->params[1]);
    kjw_end(w);
    return 0;
}

static const struct ks_path zoo_paths[] = {
    { "animals", get_all },
    { "animal/:cage/:name", get_animal },
    { NULL, NULL },
};

static int zoo_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    static struct zoo zoo;

    (void)env, (void)args, (void)err;
    zoo.made++;
    *ret = &zoo;
    return 0;
}

static const struct ks_service zoo_service = {
    .name = "Zoo",
    .create = zoo_create,
    .paths = zoo_paths,
};
static const struct ks_service *const zoo_services[] = { &zoo_service, NULL };

static void zoo_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static const struct ks_plugin zoo_plugin = { .abi = KS_PLUGIN_ABI,
                                             .size = sizeof(struct ks_plugin),
                                             .name = "Zoo",
                                             .services = zoo_services,
                                             .post_bind = zoo_post_bind };
static const struct ks_registered with_zoo[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &zoo_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

#define ZOO "/apis/v1/plugins/Zoo/"

static void test_paths_of_plugins(void **state)
{
    static const char *const unknown[] = {
        ZOO,
        ZOO "animal",
        ZOO "animal/a",
        ZOO "animal//b",
        ZOO "animal/a/b/c",
        ZOO "animals/",
        "/apis/v1/plugins/Zoo",
        "/apis/v1/plugins/",
        "/apis/v1/plugins/Zo/animals",
        "/apis/v1/plugins/Zoology/animals",
    };
    CLEANUP(desk_close) struct desk d;

    (void)state;
    desk_open_with(&d, with_zoo); /* two profiles */
    assert_string_equal(ask(&d, "GET", "/apis/v1/__services__", NULL),
                        "200 {\"GET\":[\"/apis/v1/__services__\",\"/apis/v1/nodes/:nodeName\","
                        "\"" ZOO "animal/:cage/:name\",\"" ZOO "animals\"]}");
    assert_string_equal(ask(&d, "GET", ZOO "animals", NULL), "200 {\"made\":1}");
    assert_string_equal(ask(&d, "GET", ZOO "animals?tree=oak%20tree&x=y", NULL),
                        "200 {\"made\":1,\"tree\":\"oak tree\"}");
    assert_string_equal(ask(&d, "GET", ZOO "animal/a/b%2Fc", NULL), "200 [\"a\",\"b/c\"]");
    assert_string_equal(ask(&d, "GET", ZOO "animal/a/none", NULL),
                        "404 {\"message\":\"cannot find animal a/none\"}");
    assert_string_equal(ask(&d, "GET", ZOO "animal/a/lion", NULL),
                        "500 {\"message\":\"it bites\"}");
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_string_equal(ask(&d, "GET", unknown[i], NULL), "404 404 page not found\n");
    assert_int_equal((ask(&d, "GET", ZOO "animal/a/%zz", NULL), d.status), 400);
    assert_int_equal((ask(&d, "POST", ZOO "animals", "{}"), d.status), 405);
    d.leads = false;
    assert_string_equal(ask(&d, "GET", ZOO "animals", NULL),
                        "503 {\"message\": \"the instance is not leader\"}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_leader_answers),
        cmocka_unit_test(test_debug_flags),
        cmocka_unit_test(test_paths_of_plugins),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
