/* test_runtimeproxy_docker.c - a client of Docker's API, the proxy in Docker mode, a dockerd and a
 * hook server over memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "api/wire/hook.h"
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "net/stream.h"
#include "runtimeproxy/proxy.h"
#include "sys/file.h"

#define SEC NSEC_PER_SEC

enum mood { HOOKS_CHANGE, HOOKS_FAIL, HOOKS_HANG, HOOKS_AWAY };

struct fixture {
    struct loop *l;
    char dir[64], checkpoint[96];
    struct metrics *metrics;
    struct proxy *proxy;
    bool started, is_away;
    struct kerr why;
    /* dockerd: the requests that the client made, and what it says to them. */
    struct httpd *dockerd;
    unsigned asked;
    char last[128];
    struct strbuf body;
    int fail_with; /* of the next requests; 0: none */
    const char *driver;
    /* The hook server. */
    struct grpc_server *hooks;
    enum mood mood;
    unsigned hook_calls;
    char last_hook[96];
    struct strbuf hook_message;
    /* The client. */
    struct http *client;
    int status;
    bool ended;
    struct strbuf answer;
    struct arena *a;
};

/* ---- dockerd --------------------------------------------------------------------------------- */

#define SANDBOX_LABELS   "{\"io.kubernetes.docker.type\":\"podsandbox\",\"qos\":\"BE\"}"
#define CONTAINER_LABELS "{\"io.kubernetes.sandbox.id\":\"0ad0\"}"

static const char list[] =
    "[{\"Id\":\"0c01\",\"Labels\":" CONTAINER_LABELS "},{\"Id\":\"0ad0\",\"Labels\":" SANDBOX_LABELS
    "},{\"Id\":\"fff0\",\"Labels\":{}},{\"Id\":\"fff1\",\"Labels\":{}}]";
static const char old_pod[] =
    "{\"Id\":\"0ad0\",\"Name\":\"/k8s_POD_old_d_u-old_0\",\"Config\":{\"Labels\":" SANDBOX_LABELS
    "},\"HostConfig\":{\"CgroupParent\":\"kubepods-podu.slice\"}}";
static const char old_container[] =
    "{\"Id\":\"0c01\",\"Name\":\"/k8s_main_old_d_u-old_0\",\"Config\":{\"Labels\":" CONTAINER_LABELS
    "},\"HostConfig\":{\"CpuQuota\":70000,\"OomScoreAdj\":5}}";
static const char other[] = "{\"Id\":\"fff0\",\"Name\":\"/registry\",\"Config\":{}}";

static void reply_json(struct httpd_req *r, int status, const char *text)
{
    httpd_reply(r, status, "application/json", text, strlen(text));
}

static bool serve_start(struct fixture *f, struct httpd_req *r, const char *target)
{
    CLEANUP(mem_free) char *info = xasprintf("{\"CgroupDriver\":\"%s\"}", f->driver);

    if (streq(target, "/info"))
        reply_json(r, 200, info);
    else if (streq(target, "/containers/json?all=1"))
        reply_json(r, 200, list);
    else if (streq(target, "/containers/0ad0/json"))
        reply_json(r, 200, old_pod);
    else if (streq(target, "/containers/0c01/json"))
        reply_json(r, 200, old_container);
    else if (streq(target, "/containers/fff0/json"))
        reply_json(r, 200, other);
    else if (streq(target, "/containers/fff1/json"))
        reply_json(r, 404, "{\"message\":\"it went meanwhile\"}");
    else
        return false;
    return true;
}

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct fixture *f = arg;

    strbuf_reset(&f->body);
    strbuf_appendn(&f->body, body, n);
    if (f->fail_with)
        reply_json(r, f->fail_with, "{\"message\":\"dockerd says no\"}");
    else if (strstr(f->last, "/containers/create"))
        reply_json(r, 201,
                   strstr(f->last, "_POD_") ? "{\"Id\":\"ad01\",\"Warnings\":[]}"
                                            : "{\"Id\":\"c001\",\"Warnings\":[]}");
    else
        httpd_reply(r, 204, NULL, "", 0);
}

static void serve_dockerd(void *arg, struct httpd_req *r)
{
    struct fixture *f = arg;

    if (serve_start(f, r, httpd_target(r)))
        return;
    f->asked++;
    snprintf(f->last, sizeof f->last, "%s %s", httpd_method(r), httpd_target(r));
    httpd_read_body(r, on_body, f);
}

/* ---- the hook server ------------------------------------------------------------------------- */

static void reply(struct grpc_req *r, const struct wire_table *t, const void *m)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, m, &out);
    grpc_send(r, (struct str){ strbuf_str(&out), out.len });
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static void serve_hook(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct fixture *f = arg;
    struct wire_pair env = { STR("INJECTED"), STR("1") };
    struct cri_resources res = { .cpu_quota = 50000, .cpu_shares = 512, .oom_score_adj = 7 };

    f->hook_calls++;
    snprintf(f->last_hook, sizeof f->last_hook, "%s", method + strlen(HOOK_SERVICE));
    strbuf_reset(&f->hook_message);
    strbuf_appendn(&f->hook_message, message.n ? message.p : "", message.n);
    if (f->mood == HOOKS_HANG)
        return;
    if (f->mood == HOOKS_FAIL)
        grpc_fail(r, GRPC_INTERNAL, "no rules");
    else if (strstr(method, "PodSandbox"))
        reply(r, &hook_pod_response_table,
              &(struct hook_pod_response){ .cgroup_parent = STR("/koord.slice/koord-be.slice"),
                                           .resources = &res });
    else
        reply(r, &hook_container_response_table,
              &(struct hook_container_response){
                  .resources = &res,
                  .envs = { &env, streq(f->last_hook, "PreCreateContainerHook") } });
}

/* ---- wiring ---------------------------------------------------------------------------------- */

struct dialing {
    struct fixture *f;
    enum { TO_PROXY, TO_DOCKERD, TO_HOOKS } to;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if ((d.to == TO_DOCKERD && d.f->is_away) || (d.to == TO_HOOKS && d.f->mood == HOOKS_AWAY)) {
        kerr_set(&err, -ENOENT, "no such socket");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, NULL, ends);
    if (d.to == TO_PROXY)
        proxy_serve(d.f->proxy, ends[1]);
    else
        httpd_serve(d.to == TO_HOOKS ? grpc_server_httpd(d.f->hooks) : d.f->dockerd, ends[1],
                    "memory");
    d.fn(d.arg, ends[0], NULL);
}

static void dial(struct loop *l, const struct dialing *d)
{
    struct dialing *later = xnew0(struct dialing);

    *later = *d;
    loop_after(l, 0, dial_due, later);
}

static void dial_proxy(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    dial(l, &(struct dialing){ .f = arg, .to = TO_PROXY, .fn = fn, .arg = fn_arg });
}

static void dial_dockerd(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    dial(l, &(struct dialing){ .f = arg, .to = TO_DOCKERD, .fn = fn, .arg = fn_arg });
}

static void dial_hooks(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    dial(l, &(struct dialing){ .f = arg, .to = TO_HOOKS, .fn = fn, .arg = fn_arg });
}

static void on_started(void *arg, const struct kerr *err)
{
    struct fixture *f = arg;

    f->started = true;
    f->why = err ? *err : (struct kerr){ 0 };
}

static void start_proxy(struct fixture *f)
{
    struct kerr err;

    f->started = false;
    f->proxy = proxy_new(&(struct proxy_opts){ .loop = f->l,
                                               .backend = "/docker.sock",
                                               .is_docker = true,
                                               .config_dir = f->dir,
                                               .checkpoint = f->checkpoint,
                                               .skip_key = "skip",
                                               .skip_value = "true",
                                               .metrics = f->metrics,
                                               .dial = dial_dockerd,
                                               .hook_dial = dial_hooks,
                                               .dial_arg = f });
    assert_int_equal(proxy_start(f->proxy, on_started, f, &err), 0);
    loop_advance(f->l, SEC);
    assert_true(f->started);
    f->client = http_client_new(
        f->l, &(struct http_client_opts){ .host = "d", .dial = dial_proxy, .dial_arg = f });
}

static void stop_proxy(struct fixture *f)
{
    f->client = http_free(f->client);
    f->proxy = proxy_free(f->proxy);
    loop_advance(f->l, SEC);
}

static void put_config(struct fixture *f, const char *policy)
{
    CLEANUP(mem_free) char *path = xasprintf("%s/koordlet.json", f->dir);
    CLEANUP(mem_free)
    char *text = xasprintf("{\"remote-endpoint\":\"/hooks.sock\",\"failure-policy\":\"%s\","
                           "\"runtime-hooks\":[\"PreRunPodSandbox\",\"PreCreateContainer\","
                           "\"PreStartContainer\",\"PostStartContainer\",\"PostStopContainer\","
                           "\"PreUpdateContainerResources\",\"PostStopPodSandbox\"]}",
                           policy);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
    loop_advance(f->l, 61 * SEC);
}

static int setup(void **state)
{
    struct fixture *f = xnew0(struct fixture);

    *f = (struct fixture){ .l = loop_new_virtual(0, 1), .a = arena_new(), .driver = "systemd" };
    snprintf(f->dir, sizeof f->dir, "/tmp/runtimeproxy.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s/checkpoint", f->dir);
    f->metrics = metrics_new();
    f->dockerd = httpd_new(f->l, NULL, serve_dockerd, f);
    f->hooks = grpc_server_new(f->l, NULL, serve_hook, f);
    *state = f;
    start_proxy(f);
    assert_int_equal(f->why.code, 0);
    put_config(f, "Ignore");
    return 0;
}

static int remove_one(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    return unlinkat(dirfd, name, 0) * 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    stop_proxy(f);
    httpd_free(f->dockerd);
    grpc_server_free(f->hooks);
    loop_advance(f->l, SEC);
    metrics_free(f->metrics);
    loop_free(f->l);
    strbuf_fini(&f->body);
    strbuf_fini(&f->hook_message);
    strbuf_fini(&f->answer);
    arena_free(f->a);
    dir_each(AT_FDCWD, f->dir, remove_one, NULL, NULL);
    rmdir(f->dir);
    free(f);
    return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct fixture *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->answer, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)err, (void)sent;
    ((struct fixture *)arg)->ended = true;
}

static int ask(struct fixture *f, const char *method, const char *target, const char *body)
{
    static const struct http_handler events = { .on_headers = on_headers,
                                                .on_data = on_data,
                                                .on_end = on_end };

    f->status = 0;
    f->ended = false;
    strbuf_reset(&f->answer);
    http_send(f->client,
              &(struct http_req){ .method = method,
                                  .target = target,
                                  .body = body,
                                  .body_len = strlen(body),
                                  .timeout = 200 * SEC },
              &events, f);
    for (int i = 0; i < 130 && !f->ended; i++)
        loop_advance(f->l, SEC);
    assert_true(f->ended);
    return f->status;
}

#define POD  "/v1.41/containers/create?name=k8s_POD_web_default_u1_0"
#define MAIN "/v1.41/containers/create?name=k8s_main_web_default_u1_0"

static const char pod_body[] =
    "{\"Labels\":{\"io.kubernetes.docker.type\":\"podsandbox\",\"app\":\"web\"},\"HostConfig\":"
    "{\"CgroupParent\":\"kubepods-besteffort-podX.slice\",\"CpuShares\":2,\"OomScoreAdj\":-998}}";
static const char main_body[] =
    "{\"Env\":[\"A=1\"],\"Labels\":{\"io.kubernetes.sandbox.id\":\"ad01\"},\"HostConfig\":"
    "{\"CgroupParent\":\"kubepods-besteffort-podX.slice\",\"CpuShares\":2,\"CpusetCpus\":\"0\"}}";

static const struct hook_container_request *asked_container(struct fixture *f)
{
    struct hook_container_request *r = arena_new0(f->a, struct hook_container_request);

    assert_int_equal(wire_decode(&hook_container_request_table,
                                 (struct str){ strbuf_str(&f->hook_message), f->hook_message.len },
                                 f->a, r, NULL),
                     0);
    return r;
}

static double metric(struct fixture *f, const char *series)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    metrics_write(&f->metrics, 1, &out);
    const char *at = strstr(strbuf_str(&out), series);
    return at ? strtod(at + strlen(series), NULL) : -1;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_a_pod_and_its_container(void **state)
{
    struct fixture *f = *state;
    struct hook_pod_request pod;

    assert_int_equal(ask(f, "POST", POD, pod_body), 201);
    assert_string_equal(f->last_hook, "PreRunPodSandboxHook");
    assert_int_equal(wire_decode(&hook_pod_request_table,
                                 (struct str){ strbuf_str(&f->hook_message), f->hook_message.len },
                                 f->a, &pod, NULL),
                     0);
    assert_true(str_eqz(pod.runtime_handler, "docker"));
    assert_true(str_eqz(pod.pod->uid, "u1"));
    assert_true(str_eqz(pod.cgroup_parent, "/kubepods.slice/kubepods-besteffort.slice/"
                                           "kubepods-besteffort-podX.slice"));
    assert_int_equal(pod.resources->oom_score_adj, -998);
    assert_non_null(strstr(strbuf_str(&f->body), "\"CgroupParent\":\"koord-be.slice\""));
    assert_non_null(strstr(strbuf_str(&f->body), "\"CpuShares\":512"));
    assert_string_equal(strbuf_str(&f->answer), "{\"Id\":\"ad01\",\"Warnings\":[]}");

    assert_int_equal(ask(f, "POST", MAIN, main_body), 201);
    assert_string_equal(f->last_hook, "PreCreateContainerHook");
    const struct hook_container_request *c = asked_container(f);
    assert_true(str_eqz(c->container->name, "main"));
    assert_true(str_eqz(c->pod->name, "web"));
    assert_int_equal(c->pod_labels.n, 2);
    assert_string_equal(strbuf_str(&f->body),
                        "{\"Env\":[\"INJECTED=1\"],\"Labels\":{\"io.kubernetes.sandbox.id\":"
                        "\"ad01\"},\"HostConfig\":{\"CgroupParent\":"
                        "\"kubepods-besteffort-podX.slice\",\"CpuShares\":512,\"CpusetCpus\":\"\","
                        "\"CpuQuota\":50000,\"OomScoreAdj\":7}}");
    assert_int_equal(ask(f, "POST", "/containers/c001/start", ""), 204);
    assert_string_equal(f->last_hook, "PostStartContainerHook");
    assert_true(str_eqz(asked_container(f)->container->id, "c001"));
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"container\"} ") == 2);
}

static void test_an_update_has_what_is_known(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "POST", "/containers/0c01/update", "{\"CpuShares\":100,\"X\":1.50}"),
                     204);
    const struct hook_container_request *c = asked_container(f);
    assert_int_equal(c->resources->cpu_shares, 100);
    assert_int_equal(c->resources->cpu_quota, 70000); /* inspected at the start */
    assert_true(str_eqz(c->cgroup_parent, "/kubepods.slice/kubepods-podu.slice"));
    assert_string_equal(strbuf_str(&f->body), "{\"CpuShares\":512,\"X\":1.50,\"CpuQuota\":50000}");
    unsigned calls = f->hook_calls;
    assert_int_equal(ask(f, "POST", "/containers/beef/update", "{\"CpuShares\":100}"), 204);
    assert_int_equal(f->hook_calls, calls); /* not known */
    assert_string_equal(strbuf_str(&f->body), "{\"CpuShares\":100}");
}

static void test_stops(void **state)
{
    struct fixture *f = *state;

    f->fail_with = 500;
    assert_int_equal(ask(f, "POST", "/containers/0c01/stop?t=1", ""), 500);
    assert_string_equal(f->last_hook, "PostStopContainerHook");
    f->fail_with = 304; /* it has stopped already */
    assert_int_equal(ask(f, "POST", "/containers/0c01/stop?t=1", ""), 304);
    assert_int_equal(f->hook_calls, 2);
    f->fail_with = 0;
    assert_int_equal(ask(f, "POST", "/containers/0ad0/stop", ""), 204);
    assert_string_equal(f->last_hook, "PostStopPodSandboxHook");
    unsigned asked = f->asked;
    assert_int_equal(ask(f, "POST", "/containers/0ad0/stop", ""), 500);
    assert_string_equal(strbuf_str(&f->answer), "{\"message\":\"No such container: 0ad0\"}");
    assert_int_equal(f->asked, asked);
}

static void test_what_is_removed_is_forgotten(void **state)
{
    struct fixture *f = *state;

    f->fail_with = 409;
    assert_int_equal(ask(f, "DELETE", "/containers/0c01", ""), 409);
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"container\"} ") == 1);
    f->fail_with = 404;
    assert_int_equal(ask(f, "DELETE", "/containers/0c01?force=1", ""), 404);
    f->fail_with = 0;
    assert_int_equal(ask(f, "DELETE", "/containers/0ad0", ""), 204);
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"container\"} ") == 0);
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"pod\"} ") == 0);
    assert_int_equal(f->hook_calls, 0);
}

static void test_names_and_pods_that_are_unknown(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "POST", "/containers/create?name=k8s_a_b_c_d", main_body), 500);
    assert_string_equal(strbuf_str(&f->answer),
                        "{\"message\":\"Failed to split k8s container name\"}");
    assert_int_equal(ask(f, "POST", "/containers/create", main_body), 500);
    assert_int_equal(ask(f, "POST", MAIN, main_body), 500); /* its sandbox was never made */
    assert_string_equal(strbuf_str(&f->answer), "{\"message\":\"Failed to get pod info\"}");
    assert_int_equal(f->asked + f->hook_calls, 0);
}

static void test_everything_else_passes(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ask(f, "POST", "/v1.41/images/create?fromImage=x", "{ \"odd\" : 1 }"), 204);
    assert_string_equal(f->last, "POST /v1.41/images/create?fromImage=x");
    assert_string_equal(strbuf_str(&f->body), "{ \"odd\" : 1 }");
    assert_int_equal(ask(f, "POST", POD, "no JSON"), 201); /* dockerd's to judge */
    assert_string_equal(strbuf_str(&f->body), "no JSON");
    assert_int_equal(f->hook_calls, 0);
    assert_true(metric(f, "koord_runtime_proxy_calls_total{method=\"other\"} ") == 1);
    assert_true(metric(f, "koord_runtime_proxy_calls_total{method=\"create\"} ") == 1);
}

static void test_a_pod_with_the_label_is_skipped(void **state)
{
    struct fixture *f = *state;
    static const char body[] = "{\"Labels\":{\"io.kubernetes.docker.type\":\"podsandbox\","
                               "\"skip\":\"true\"},\"HostConfig\":{}}";

    assert_int_equal(ask(f, "POST", POD, body), 201);
    assert_string_equal(strbuf_str(&f->body), body);
    assert_int_equal(ask(f, "POST", MAIN, main_body), 201);
    assert_string_equal(strbuf_str(&f->body), main_body);
    assert_int_equal(f->hook_calls, 0);
}

static void test_hooks_that_do_not_work(void **state)
{
    struct fixture *f = *state;

    for (enum mood m = HOOKS_FAIL; m <= HOOKS_AWAY; m++) {
        stop_proxy(f);
        f->mood = m;
        start_proxy(f);
        nsec_t began = loop_mono(f->l);
        assert_int_equal(ask(f, "POST", POD, pod_body), 201);
        assert_true(loop_mono(f->l) - began <= 3 * SEC);
        assert_string_equal(strbuf_str(&f->body), pod_body);
    }
    put_config(f, "Fail");
    unsigned asked = f->asked;
    assert_int_equal(ask(f, "POST", POD, pod_body), 500);
    assert_non_null(strstr(strbuf_str(&f->answer), "{\"message\":\"hook server err: rpc error: "
                                                   "code = Unavailable desc = "));
    assert_int_equal(f->asked, asked);
}

static void test_a_restart_changes_nothing(void **state)
{
    struct fixture *f = *state;

    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"pod\"} ") == 1);
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"container\"} ") == 1);
    assert_int_equal(ask(f, "POST", POD, pod_body), 201); /* dockerd's list does not have it */
    loop_advance(f->l, 2 * SEC);
    stop_proxy(f);
    start_proxy(f);
    assert_true(metric(f, "koord_runtime_proxy_cached{kind=\"pod\"} ") == 1);
    assert_int_equal(ask(f, "POST", "/containers/0c01/start", ""), 204);
    assert_true(str_eqz(asked_container(f)->pod->name, "old"));
}

static void test_without_dockerd_it_does_not_start(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(proxy_check(f->proxy, &f->why), 0);
    stop_proxy(f);
    f->is_away = true;
    start_proxy(f);
    assert_true(f->why.code < 0);
    assert_non_null(strstr(f->why.text, "ask dockerd at /docker.sock what it is: "));
    assert_int_equal(ask(f, "GET", "/_ping", ""), 502);
    assert_int_equal(proxy_check(f->proxy, &f->why), -ECONNREFUSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_pod_and_its_container),
        TEST(test_an_update_has_what_is_known),
        TEST(test_stops),
        TEST(test_what_is_removed_is_forgotten),
        TEST(test_names_and_pods_that_are_unknown),
        TEST(test_everything_else_passes),
        TEST(test_a_pod_with_the_label_is_skipped),
        TEST(test_hooks_that_do_not_work),
        TEST(test_a_restart_changes_nothing),
        TEST(test_without_dockerd_it_does_not_start),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
