/* test_runtimeproxy_proxy.c - a kubelet, the proxy, a runtime and a hook server over memory. */
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
#define MS  NSEC_PER_MSEC
#define CRI CRI_RUNTIME_SERVICE

enum hook_mood { HOOK_ECHO, HOOK_CHANGES, HOOK_SILENT, HOOK_FAILS, HOOK_GARBAGE, HOOK_AWAY };

struct fixture {
    struct loop *l;
    char dir[64], checkpoint[96];
    struct metrics *metrics;
    struct proxy *proxy;
    bool started;
    struct kerr why;
    /* The runtime. */
    struct grpc_server *runtime;
    bool runtime_away;
    enum grpc_code fail_with; /* of the next calls; GRPC_OK: none */
    unsigned runtime_calls;
    char last_method[96];
    struct strbuf last_message;
    /* The hook server. */
    struct grpc_server *hooks;
    enum hook_mood mood;
    unsigned hook_calls;
    char last_hook[96];
    struct strbuf hook_message;
    /* The kubelet. */
    struct http *kubelet;
    unsigned answers;
    enum grpc_code code;
    char text[256];
    struct strbuf answer;
    nsec_t took;
    struct arena *a;
};

/* ---- the runtime ----------------------------------------------------------------------------- */

static void reply(struct grpc_req *r, const struct wire_table *t, const void *m)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (t)
        wire_encode(t, m, &out);
    grpc_send(r, (struct str){ strbuf_str(&out), out.len });
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static struct cri_pod_metadata listed_meta = { .name = { "old", 3 },
                                               .uid = { "u-old", 5 },
                                               .ns = { "d", 1 } };
static struct cri_container_metadata listed_container = { .name = { "main", 4 } };

static bool serve_lists(struct grpc_req *r, const char *method)
{
    struct cri_pod pod = { .id = STR("pod-old"), .metadata = &listed_meta };
    struct cri_container c[] = {
        { .id = STR("ctr-old"), .pod_id = STR("pod-old"), .metadata = &listed_container },
        { .id = STR("ctr-lost"), .pod_id = STR("pod-gone"), .metadata = &listed_container },
    };
    struct wire_pair pod_info = { STR("info"), STR("{\"config\":{\"linux\":{\"cgroup_parent\":"
                                                   "\"/kubepods/besteffort/podu-old\"}}}") };
    struct wire_pair info = { STR("info"),
                              STR("{\"config\":{\"linux\":{\"resources\":{\"cpu_period\":100000,"
                                  "\"cpu_quota\":70000,\"oom_score_adj\":5}}}}") };

    if (streq(method, CRI "ListPodSandbox"))
        reply(r, &cri_pod_list_table, &(struct cri_pod_list){ .items = { &pod, 1 } });
    else if (streq(method, CRI "ListContainers"))
        reply(r, &cri_container_list_table, &(struct cri_container_list){ .items = { c, 2 } });
    else if (streq(method, CRI "PodSandboxStatus"))
        reply(r, &cri_pod_status_response_table,
              &(struct cri_pod_status_response){ .info = { &pod_info, 1 } });
    else if (streq(method, CRI "ContainerStatus"))
        reply(r, &cri_container_status_response_table,
              &(struct cri_container_status_response){ .info = { &info, 1 } });
    else
        return false;
    return true;
}

static void serve_runtime(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct fixture *f = arg;
    struct cri_version v = { .version = STR("0.1.0"), .runtime_name = STR("fake") };

    if (streq(method, CRI "Version") && f->fail_with == GRPC_OK) {
        reply(r, &cri_version_table, &v);
        return;
    }
    if (serve_lists(r, method))
        return;
    f->runtime_calls++;
    snprintf(f->last_method, sizeof f->last_method, "%s", method);
    strbuf_reset(&f->last_message);
    strbuf_appendn(&f->last_message, message.n ? message.p : "", message.n);
    if (f->fail_with != GRPC_OK)
        grpc_fail(r, f->fail_with, "the runtime says no");
    else if (streq(method, CRI "RunPodSandbox"))
        reply(r, &cri_id_table, &(struct cri_id){ .id = STR("pod-1") });
    else if (streq(method, CRI "CreateContainer"))
        reply(r, &cri_id_table, &(struct cri_id){ .id = STR("ctr-1") });
    else if (str_starts(method, CRI))
        reply(r, NULL, NULL);
    else
        grpc_fail(r, GRPC_UNIMPLEMENTED, "unknown service %s", method);
}

/* ---- the hook server ------------------------------------------------------------------------- */

static void change_container(struct fixture *f, struct grpc_req *r, struct str message)
{
    struct hook_container_request in;
    struct wire_pair env = { STR("INJECTED"), STR("1") };
    struct cri_resources res = { .cpu_quota = 50000, .cpu_shares = 512 };

    assert_int_equal(wire_decode(&hook_container_request_table, message, f->a, &in, NULL), 0);
    if (in.resources)
        res.oom_score_adj = in.resources->oom_score_adj;
    reply(r, &hook_container_response_table,
          &(struct hook_container_response){
              .resources = &res,
              .envs = { &env, streq(f->last_hook, HOOK_SERVICE "PreCreateContainerHook") } });
}

static void serve_hook(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct fixture *f = arg;
    struct wire_pair label = { STR("hooked"), STR("yes") };

    f->hook_calls++;
    snprintf(f->last_hook, sizeof f->last_hook, "%s", method);
    strbuf_reset(&f->hook_message);
    strbuf_appendn(&f->hook_message, message.n ? message.p : "", message.n);
    switch (f->mood) {
    case HOOK_ECHO: reply(r, NULL, NULL); break;
    case HOOK_SILENT: break;
    case HOOK_FAILS: grpc_fail(r, GRPC_INTERNAL, "no rules"); break;
    case HOOK_GARBAGE:
        grpc_send(r, STR("\x12\x7f\x01"));
        grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
        break;
    default:
        if (str_ends(method, "PreRunPodSandboxHook"))
            reply(r, &hook_pod_response_table,
                  &(struct hook_pod_response){ .labels = { &label, 1 },
                                               .cgroup_parent = STR("/moved") });
        else
            change_container(f, r, message);
    }
}

/* ---- wiring ---------------------------------------------------------------------------------- */

struct dialing {
    struct fixture *f;
    int to; /* 0: proxy, 1: runtime, 2: hooks */
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if ((d.to == 1 && d.f->runtime_away) || (d.to == 2 && d.f->mood == HOOK_AWAY)) {
        kerr_set(&err, -ENOENT, "no such socket");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    if (d.to == 0)
        proxy_serve(d.f->proxy, ends[1]);
    else
        httpd_serve(grpc_server_httpd(d.to == 1 ? d.f->runtime : d.f->hooks), ends[1], "memory");
    d.fn(d.arg, ends[0], NULL);
}

static void dial(void *arg, int to, http_dialed_fn fn, void *fn_arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ arg, to, fn, fn_arg };
    loop_after(((struct fixture *)arg)->l, 0, dial_due, d);
}

static void dial_proxy(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, 0, fn, fn_arg);
}

static void dial_runtime(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, 1, fn, fn_arg);
}

static void dial_hooks(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, 2, fn, fn_arg);
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
                                               .backend = "memory",
                                               .config_dir = f->dir,
                                               .checkpoint = f->checkpoint,
                                               .skip_key = "skip",
                                               .skip_value = "true",
                                               .metrics = f->metrics,
                                               .dial = dial_runtime,
                                               .hook_dial = dial_hooks,
                                               .dial_arg = f });
    assert_int_equal(proxy_start(f->proxy, on_started, f, &err), 0);
    loop_advance(f->l, SEC);
    assert_true(f->started);
    f->kubelet = grpc_client_new(f->l, "memory", dial_proxy, f);
}

static void stop_proxy(struct fixture *f)
{
    f->kubelet = http_free(f->kubelet);
    f->proxy = proxy_free(f->proxy);
    loop_advance(f->l, SEC);
}

static void put_config(struct fixture *f, const char *policy, const char *hooks)
{
    CLEANUP(mem_free) char *path = xasprintf("%s/koordlet.json", f->dir);
    CLEANUP(mem_free)
    char *text = xasprintf("{\"remote-endpoint\":\"/hooks.sock\",\"failure-policy\":\"%s\","
                           "\"runtime-hooks\":[%s]}",
                           policy, hooks);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
    loop_advance(f->l, 61 * SEC);
}

#define ALL_HOOKS                                                                               \
    "\"PreRunPodSandbox\",\"PreCreateContainer\",\"PreStartContainer\",\"PostStartContainer\"," \
    "\"PreUpdateContainerResources\",\"PostStopContainer\",\"PostStopPodSandbox\""

static void fixture_make(struct fixture *f)
{
    *f = (struct fixture){ .l = loop_new_virtual(0, 1), .a = arena_new() };
    snprintf(f->dir, sizeof f->dir, "/tmp/runtimeproxy.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s/checkpoint", f->dir);
    f->metrics = metrics_new();
    f->runtime = grpc_server_new(f->l, NULL, serve_runtime, f);
    f->hooks = grpc_server_new(f->l, NULL, serve_hook, f);
    start_proxy(f);
    assert_int_equal(f->why.code, 0);
}

static int remove_one(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    return unlinkat(dirfd, name, 0) * 0;
}

static void fixture_end(struct fixture *f)
{
    stop_proxy(f);
    grpc_server_free(f->runtime);
    grpc_server_free(f->hooks);
    loop_advance(f->l, SEC);
    metrics_free(f->metrics);
    loop_free(f->l);
    strbuf_fini(&f->last_message);
    strbuf_fini(&f->hook_message);
    strbuf_fini(&f->answer);
    arena_free(f->a);
    dir_each(AT_FDCWD, f->dir, remove_one, NULL, NULL);
    rmdir(f->dir);
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

static void on_message(void *arg, struct str m)
{
    struct fixture *f = arg;

    strbuf_reset(&f->answer);
    strbuf_appendn(&f->answer, m.n ? m.p : "", m.n);
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct fixture *f = arg;

    f->answers++;
    f->code = st->code;
    f->took = loop_mono(f->l);
    snprintf(f->text, sizeof f->text, "%.*s", (int)st->text.n, st->text.n ? st->text.p : "");
}

static void call_raw(struct fixture *f, const char *method, struct str message)
{
    static const struct grpc_call_events events = { on_message, on_end };
    unsigned before = f->answers;
    nsec_t began = loop_mono(f->l);

    grpc_call_send(
        f->kubelet,
        &(struct grpc_call_opts){ .method = method, .message = message, .timeout = 120 * SEC },
        &events, f);
    loop_advance(f->l, 5 * SEC);
    assert_int_equal(f->answers, before + 1);
    f->took -= began;
}

static void call(struct fixture *f, const char *method, const struct wire_table *t, const void *m)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, m, &out);
    call_raw(f, method, (struct str){ strbuf_str(&out), out.len });
}

static struct cri_pod_metadata meta = { .name = { "web", 3 },
                                        .uid = { "u1", 2 },
                                        .ns = { "d", 1 } };
static struct cri_container_metadata main_meta = { .name = { "main", 4 } };

static void run_pod(struct fixture *f, const char *label, const char *value)
{
    struct wire_pair l = { str_of(label), str_of(value) };
    struct cri_linux_pod linux_pod = { .cgroup_parent = STR("/kubepods/besteffort/podu1") };
    struct cri_pod_config c = { .metadata = &meta, .labels = { &l, 1 }, .linux_pod = &linux_pod };

    call(f, CRI "RunPodSandbox", &cri_run_pod_request_table,
         &(struct cri_run_pod_request){ .config = &c });
}

static struct cri_resources asked = {
    .cpu_period = 100000, .cpu_quota = 100000, .cpu_shares = 1024, .oom_score_adj = 7
};

static void create_in(struct fixture *f, const char *pod, struct cri_pod_config *pod_config)
{
    struct cri_linux_container l = { .resources = &asked };
    struct cri_env env = { .key = STR("PATH"), .value = STR("/bin") };
    struct cri_container_config c = { .metadata = &main_meta,
                                      .linux_container = &l,
                                      .envs = { &env, 1 } };

    call(f, CRI "CreateContainer", &cri_create_request_table,
         &(struct cri_create_request){
             .pod_id = str_of(pod), .config = &c, .pod_config = pod_config });
}

static void create(struct fixture *f, const char *pod)
{
    create_in(f, pod, NULL);
}

static void by_id(struct fixture *f, const char *method, const char *id)
{
    call(f, method, &cri_id_table, &(struct cri_id){ .id = str_of(id) });
}

static void runtime_got(struct fixture *f, const struct wire_table *t, void *ret)
{
    assert_int_equal(
        wire_decode(t, (struct str){ f->last_message.data, f->last_message.len }, f->a, ret, NULL),
        0);
}

static void expect_metric(struct fixture *f, const char *line)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write(&f->metrics, 1, &text);
    assert_contains(strbuf_str(&text), line);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_hooks_change_what_starts(void **state)
{
    struct fixture f;
    struct cri_run_pod_request pod;
    struct cri_create_request c;

    (void)state;
    fixture_make(&f);
    f.mood = HOOK_CHANGES;
    put_config(&f, "Ignore", ALL_HOOKS);
    run_pod(&f, "app", "web");
    assert_int_equal(f.code, GRPC_OK);
    runtime_got(&f, &cri_run_pod_request_table, &pod);
    assert_int_equal(pod.config->labels.n, 2);
    assert_true(str_eqz(pod.config->linux_pod->cgroup_parent, "/moved"));
    create(&f, "pod-1");
    assert_int_equal(f.code, GRPC_OK);
    assert_memory_equal(f.answer.data,
                        "\x0a\x05"
                        "ctr-1",
                        7);
    runtime_got(&f, &cri_create_request_table, &c);
    const struct cri_resources *r = c.config->linux_container->resources;
    assert_int_equal(r->cpu_quota, 50000);
    assert_int_equal(r->cpu_shares, 512);
    assert_int_equal(r->cpu_period, 100000);
    assert_int_equal(r->oom_score_adj, 7);
    assert_int_equal(c.config->envs.n, 1);
    assert_true(str_eqz(c.config->envs.items[0].key, "INJECTED"));
    /* The hook heard what the first one had changed. */
    struct hook_container_request heard;
    assert_int_equal(wire_decode(&hook_container_request_table,
                                 (struct str){ f.hook_message.data, f.hook_message.len }, f.a,
                                 &heard, NULL),
                     0);
    assert_int_equal(heard.pod_labels.n, 2);
    assert_true(str_eqz(heard.cgroup_parent, "/moved"));
    expect_metric(&f,
                  "koord_runtime_proxy_hooks_total{method=\"CreateContainer\",result=\"ok\"} 1");
    expect_metric(&f, "koord_runtime_proxy_changed_total{method=\"CreateContainer\"} 1");
    expect_metric(&f, "koord_runtime_proxy_calls_total{method=\"CreateContainer\"} 1");
    expect_metric(&f, "koord_runtime_proxy_cached{kind=\"container\"} 2");
    fixture_end(&f);
}

/* The runtime made a sandbox, its answer was lost: the kubelet goes on with what it finds. */
static void test_pod_whose_answer_was_lost(void **state)
{
    struct wire_pair skip = { STR("skip"), STR("true") };
    struct cri_linux_pod linux_pod = { .cgroup_parent = STR("/kubepods/besteffort/podu1") };
    struct cri_pod_config config = { .metadata = &meta, .linux_pod = &linux_pod };
    struct hook_container_request heard;
    struct cri_create_request c;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    f.mood = HOOK_CHANGES;
    put_config(&f, "Ignore", ALL_HOOKS);
    create(&f, "pod-lost"); /* nothing tells what pod it is */
    assert_int_equal(f.code, GRPC_OK);
    assert_int_equal(f.hook_calls, 0);

    f.fail_with = GRPC_NOT_FOUND;
    create_in(&f, "pod-lost", &config);
    expect_metric(&f, "koord_runtime_proxy_cached{kind=\"pod\"} 1"); /* none of a failed call */
    f.fail_with = GRPC_OK;
    create_in(&f, "pod-lost", &config);
    assert_int_equal(f.hook_calls, 2);
    runtime_got(&f, &cri_create_request_table, &c);
    assert_int_equal(c.config->linux_container->resources->cpu_quota, 50000);
    assert_int_equal(wire_decode(&hook_container_request_table,
                                 (struct str){ f.hook_message.data, f.hook_message.len }, f.a,
                                 &heard, NULL),
                     0);
    assert_true(str_eqz(heard.pod->name, "web"));
    assert_true(str_eqz(heard.cgroup_parent, "/kubepods/besteffort/podu1"));
    f.mood = HOOK_ECHO;
    by_id(&f, CRI "StopPodSandbox", "pod-lost");
    assert_string_equal(f.last_hook, HOOK_SERVICE "PostStopPodSandboxHook");
    assert_int_equal(f.hook_calls, 3);

    config.labels = (wire_map){ &skip, 1 };
    create_in(&f, "pod-own", &config);
    assert_int_equal(f.hook_calls, 3);
    fixture_end(&f);
}

static void test_all_points_are_told(void **state)
{
    static const struct {
        const char *method, *id, *hook;
        unsigned hooks;
    } calls[] = {
        { CRI "StartContainer", "ctr-1", HOOK_SERVICE "PostStartContainerHook", 2 },
        { CRI "StopContainer", "ctr-1", HOOK_SERVICE "PostStopContainerHook", 1 },
        { CRI "StopContainer", "ctr-1", NULL, 0 }, /* not known any more */
        { CRI "RemoveContainer", "ctr-1", NULL, 0 },
        { CRI "StopPodSandbox", "pod-1", HOOK_SERVICE "PostStopPodSandboxHook", 1 },
        { CRI "RemovePodSandbox", "pod-1", NULL, 0 },
    };
    struct fixture f;

    (void)state;
    fixture_make(&f);
    put_config(&f, "Ignore", ALL_HOOKS);
    run_pod(&f, "app", "web");
    create(&f, "pod-1");
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        unsigned before = f.hook_calls;
        by_id(&f, calls[i].method, calls[i].id);
        assert_int_equal(f.code, GRPC_OK);
        assert_string_equal(f.last_method, calls[i].method);
        assert_int_equal(f.hook_calls - before, calls[i].hooks);
        if (calls[i].hook)
            assert_string_equal(f.last_hook, calls[i].hook);
    }
    fixture_end(&f);
}

/* A failed stop is tried again by the kubelet: hooks hear of that too. */
static void test_failed_stop_keeps_the_entry(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    put_config(&f, "Ignore", ALL_HOOKS);
    run_pod(&f, "app", "web");
    create(&f, "pod-1");
    f.fail_with = GRPC_UNAVAILABLE;
    by_id(&f, CRI "StopContainer", "ctr-1");
    assert_int_equal(f.code, GRPC_UNAVAILABLE);
    assert_string_equal(f.text, "the runtime says no");
    f.fail_with = GRPC_NOT_FOUND;
    unsigned before = f.hook_calls;
    by_id(&f, CRI "StopContainer", "ctr-1");
    assert_int_equal(f.hook_calls, before + 1);
    assert_int_equal(f.code, GRPC_NOT_FOUND);
    by_id(&f, CRI "StopContainer", "ctr-1");
    assert_int_equal(f.hook_calls, before + 1);
    fixture_end(&f);
}

static void test_hook_server_that_is_away(void **state)
{
    static const enum hook_mood moods[] = { HOOK_AWAY, HOOK_SILENT, HOOK_FAILS, HOOK_GARBAGE };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moods); i++) {
        struct fixture f;
        CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT;
        fixture_make(&f);
        run_pod(&f, "app", "web");
        create(&f, "pod-1");
        strbuf_appendn(&before, f.last_message.data, f.last_message.len);
        f.mood = moods[i];
        put_config(&f, "Ignore", "\"PreCreateContainer\"");
        create(&f, "pod-1");
        assert_int_equal(f.code, GRPC_OK);
        assert_true(f.took <= 2 * SEC + 100 * MS);
        assert_int_equal(f.last_message.len, before.len); /* the bytes of the kubelet */
        assert_memory_equal(f.last_message.data, before.data, before.len);
        expect_metric(&f, "koord_runtime_proxy_hooks_total{method=\"CreateContainer\",result=\""
                          "failed_open\"} 1");
        fixture_end(&f);
    }
}

static void test_failure_policy_fail(void **state)
{
    static const struct {
        enum hook_mood mood;
        const char *text;
    } cases[] = {
        { HOOK_AWAY, "hook server err: rpc error: code = Unavailable desc = " },
        { HOOK_FAILS, "hook server err: rpc error: code = Internal desc = no rules" },
        { HOOK_GARBAGE, "hook server err: " },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_make(&f);
        run_pod(&f, "app", "web");
        f.mood = cases[i].mood;
        put_config(&f, "Fail", "\"PreCreateContainer\"");
        unsigned before = f.runtime_calls;
        create(&f, "pod-1");
        assert_int_equal(f.code, GRPC_UNKNOWN);
        assert_contains(f.text, cases[i].text);
        assert_int_equal(f.runtime_calls, before);
        fixture_end(&f);
    }
}

static void test_skipped_pod(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    f.mood = HOOK_CHANGES;
    put_config(&f, "Fail", ALL_HOOKS);
    run_pod(&f, "skip", "true");
    create(&f, "pod-1");
    by_id(&f, CRI "StartContainer", "ctr-1");
    by_id(&f, CRI "StopContainer", "ctr-1");
    by_id(&f, CRI "StopPodSandbox", "pod-1");
    assert_int_equal(f.hook_calls, 0);
    assert_int_equal(f.runtime_calls, 5);
    /* Another value is no reason. */
    run_pod(&f, "skip", "no");
    assert_int_equal(f.hook_calls, 1);
    fixture_end(&f);
}

static void test_update(void **state)
{
    struct fixture f;
    struct cri_update_request in;
    struct cri_resources wants = { .cpu_quota = 200000, .oom_score_adj = 20 };

    (void)state;
    fixture_make(&f);
    put_config(&f, "Ignore", ALL_HOOKS);
    run_pod(&f, "app", "web");
    create(&f, "pod-1");
    f.mood = HOOK_CHANGES;
    call(&f, CRI "UpdateContainerResources", &cri_update_request_table,
         &(struct cri_update_request){ .container_id = STR("ctr-1"), .resources = &wants });
    runtime_got(&f, &cri_update_request_table, &in);
    assert_int_equal(in.resources->cpu_quota, 50000);
    assert_int_equal(in.resources->cpu_shares, 512);
    assert_int_equal(in.resources->cpu_period, 100000);
    assert_int_equal(in.resources->oom_score_adj, 7); /* the cached one */
    fixture_end(&f);
}

/* Everything else passes, whatever the service. */
static void test_other_calls_pass(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    f.mood = HOOK_SILENT;
    put_config(&f, "Fail", ALL_HOOKS);
    call_raw(&f, "/runtime.v1.ImageService/PullImage", STR("\x0a\x01x"));
    assert_int_equal(f.code, GRPC_UNIMPLEMENTED);
    assert_string_equal(f.text, "unknown service /runtime.v1.ImageService/PullImage");
    call_raw(&f, "/foo.Bar/Baz", STR(""));
    assert_int_equal(f.code, GRPC_UNIMPLEMENTED);
    call_raw(&f, CRI "ExecSync", STR("abc"));
    assert_int_equal(f.code, GRPC_OK);
    assert_string_equal(strbuf_str(&f.last_message), "abc");
    /* A hooked call that nobody can read goes on, too. */
    call_raw(&f, CRI "CreateContainer", STR("\xff\xff"));
    assert_int_equal(f.code, GRPC_OK);
    assert_int_equal(f.hook_calls, 0);
    /* So does a container of a pod that nobody knows. */
    create(&f, "pod-nobody-knows");
    assert_int_equal(f.code, GRPC_OK);
    assert_int_equal(f.hook_calls, 0);
    expect_metric(&f, "koord_runtime_proxy_calls_total{method=\"other\"} 1");
    expect_metric(&f, "koord_runtime_proxy_calls_total{method=\"PullImage\"} 1");
    fixture_end(&f);
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void test_what_ran_before_the_start(void **state)
{
    struct fixture f;
    struct hook_container_request heard;
    struct cri_resources wants = { .cpu_shares = 99 };

    (void)state;
    fixture_make(&f);
    put_config(&f, "Ignore", ALL_HOOKS);
    call(&f, CRI "UpdateContainerResources", &cri_update_request_table,
         &(struct cri_update_request){ .container_id = STR("ctr-old"), .resources = &wants });
    assert_int_equal(f.hook_calls, 1);
    assert_int_equal(wire_decode(&hook_container_request_table,
                                 (struct str){ f.hook_message.data, f.hook_message.len }, f.a,
                                 &heard, NULL),
                     0);
    assert_true(str_eqz(heard.cgroup_parent, "/kubepods/besteffort/podu-old"));
    assert_int_equal(heard.resources->cpu_quota, 70000);
    assert_int_equal(heard.resources->cpu_shares, 99);
    assert_true(str_eqz(heard.container->id, "ctr-old"));
    /* One of a pod that is gone is no reason to fail. */
    by_id(&f, CRI "StartContainer", "ctr-lost");
    assert_int_equal(f.hook_calls, 1);
    assert_int_equal(f.code, GRPC_OK);
    fixture_end(&f);
}

static void test_restart_forgets_nothing(void **state)
{
    struct fixture f;
    struct hook_container_request heard;

    (void)state;
    fixture_make(&f);
    f.mood = HOOK_CHANGES;
    put_config(&f, "Ignore", ALL_HOOKS);
    call(&f, CRI "UpdateContainerResources", &cri_update_request_table,
         &(struct cri_update_request){ .container_id = STR("ctr-old"), .resources = &asked });
    loop_advance(f.l, 2 * SEC);
    stop_proxy(&f);
    start_proxy(&f);
    by_id(&f, CRI "StartContainer", "ctr-old");
    assert_int_equal(wire_decode(&hook_container_request_table,
                                 (struct str){ f.hook_message.data, f.hook_message.len }, f.a,
                                 &heard, NULL),
                     0);
    assert_int_equal(heard.resources->cpu_quota, 50000); /* what the hook had said */
    fixture_end(&f);
}

static void test_runtime_that_is_away_at_the_start(void **state)
{
    struct fixture f;
    struct kerr err;

    (void)state;
    fixture_make(&f);
    stop_proxy(&f);
    f.runtime_away = true;
    start_proxy(&f);
    assert_true(f.why.code < 0);
    assert_contains(f.why.text, "memory for its version");
    stop_proxy(&f);
    f.runtime_away = false;
    f.fail_with = GRPC_UNIMPLEMENTED; /* CRI of another version */
    start_proxy(&f);
    assert_true(f.why.code < 0);
    stop_proxy(&f);
    f.fail_with = GRPC_OK;
    start_proxy(&f);
    assert_int_equal(f.why.code, 0);
    assert_int_equal(proxy_check(f.proxy, &err), 0);
    fixture_end(&f);
}

/* The proxy goes while calls are in all states: nothing leaks, nobody is told twice. */
static void test_freed_in_the_middle(void **state)
{
    static const struct grpc_call_events events = { on_message, on_end };
    struct fixture f;

    (void)state;
    fixture_make(&f);
    run_pod(&f, "app", "web");
    f.mood = HOOK_SILENT;
    put_config(&f, "Fail", ALL_HOOKS);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    wire_encode(&cri_create_request_table, &(struct cri_create_request){ .pod_id = STR("pod-1") },
                &out);
    struct grpc_call *c =
        grpc_call_send(f.kubelet,
                       &(struct grpc_call_opts){ .method = CRI "CreateContainer",
                                                 .message = { out.data, out.len } },
                       &events, &f);
    loop_advance(f.l, SEC);
    assert_string_equal(f.last_hook, HOOK_SERVICE "PreCreateContainerHook");
    grpc_call_cancel(c);
    fixture_end(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_change_what_starts),
        cmocka_unit_test(test_pod_whose_answer_was_lost),
        cmocka_unit_test(test_all_points_are_told),
        cmocka_unit_test(test_failed_stop_keeps_the_entry),
        cmocka_unit_test(test_hook_server_that_is_away),
        cmocka_unit_test(test_failure_policy_fail),
        cmocka_unit_test(test_skipped_pod),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_other_calls_pass),
        cmocka_unit_test(test_what_ran_before_the_start),
        cmocka_unit_test(test_restart_forgets_nothing),
        cmocka_unit_test(test_runtime_that_is_away_at_the_start),
        cmocka_unit_test(test_freed_in_the_middle),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
