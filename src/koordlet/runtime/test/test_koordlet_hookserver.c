/* test_koordlet_hookserver.c - koordlet's hook server, as koord-runtime-proxy calls it. */
#include "koordlet/hooks/test/node_fixture.h"

#include "api/wire/hook.h"
#include "koordlet/runtime/delivery_int.h"
#include "net/grpc.h"
#include "net/stream.h"

#define SEC NSEC_PER_SEC
#define EXTENDED                                                                         \
    "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"500\","        \
    "\"kubernetes.io/batch-memory\":\"1Gi\"},\"requests\":{\"kubernetes.io/batch-cpu\":" \
    "\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}}}}"

struct hook_fixture {
    struct node_fixture n;
    struct caps caps;
    struct delivery *d;
    struct http *client;
    /* The last answer. */
    unsigned answers;
    enum grpc_code code;
    char text[256];
    struct strbuf payload;
    struct arena *arena;
};

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct hook_fixture *f = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    delivery_serve(f->d, ends[0]);
    fn(fn_arg, ends[1], NULL);
}

static void hook_init(struct hook_fixture *f, struct object_fixture *b, const char *gates)
{
    *f = (struct hook_fixture){ .arena = arena_new() };
    node_init(&f->n, b, true);
    gates_set(&f->n.o.gates, gates, NULL);
    f->n.o.hooks.default_runtime = "containerd";
    f->n.o.hooks.plugin_failure_policy = "Fail";
    f->n.o.hooks.addr = "";
    f->caps.caps[CAP_BVT].state = CAP_YES;
    f->d = delivery_new(&(struct delivery_env){ .loop = f->n.loop,
                                                .host = f->n.f.host,
                                                .snapshots = f->n.snapshots,
                                                .executor = f->n.executor,
                                                .reconciler = f->n.hooks,
                                                .o = &f->n.o,
                                                .caps = &f->caps,
                                                .metrics = f->n.metrics,
                                                .node_name = "n" });
    f->client = grpc_client_new(f->n.loop, "memory", dial, f);
    set_slo(&f->n, "{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}}}}");
    delivery_start(f->d);
}

static void hook_fini_p(struct hook_fixture *f)
{
    http_free(f->client);
    delivery_free(f->d);
    loop_advance(f->n.loop, SEC);
    node_fini_p(&f->n);
    strbuf_fini(&f->payload);
    arena_free(f->arena);
}

static void on_message(void *arg, struct str m)
{
    struct hook_fixture *f = arg;

    strbuf_reset(&f->payload);
    if (m.n)
        strbuf_appendn(&f->payload, m.p, m.n);
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct hook_fixture *f = arg;

    f->answers++;
    f->code = st->code;
    snprintf(f->text, sizeof f->text, "%.*s", (int)st->text.n, st->text.n ? st->text.p : "");
}

static void call_raw(struct hook_fixture *f, const char *method, struct str message)
{
    static const struct grpc_call_events events = { on_message, on_end };
    unsigned before = f->answers;

    grpc_call_send(f->client, &(struct grpc_call_opts){ .method = method, .message = message },
                   &events, f);
    loop_advance(f->n.loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(f->answers, before + 1);
}

static void call(struct hook_fixture *f, const char *method, const struct wire_table *in,
                 const void *message, const struct wire_table *out, void *ret)
{
    CLEANUP(strbuf_fini) struct strbuf bytes = STRBUF_INIT;

    wire_encode(in, message, &bytes);
    call_raw(f, method, (struct str){ strbuf_str(&bytes), bytes.len });
    if (!ret)
        return;
    if (f->code != GRPC_OK)
        fail_msg("%s: %s", method, f->text);
    assert_int_equal(
        wire_decode(out, (struct str){ f->payload.data, f->payload.len }, f->arena, ret, NULL), 0);
}

static struct wire_pair be_label = { { "koordinator.sh/qosClass", 23 }, { "BE", 2 } };
static struct cri_pod_metadata be_meta = { .name = { "batch", 5 },
                                           .uid = { "be", 2 },
                                           .ns = { "d", 1 } };
static struct hook_container_metadata main_meta = { .name = { "main", 4 } };

static void test_container_response_is_an_echo_with_the_hooks_over_it(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    struct wire_pair extended = { STR(ANNO_EXTENDED_RESOURCES), STR(EXTENDED) };
    struct wire_pair anno = { STR("a"), STR("1") }, env = { STR("PATH"), STR("/bin") };
    struct cri_resources asked = { .cpu_period = 100000, .cpu_shares = 2, .oom_score_adj = 1000 };
    struct hook_container_response r;

    hook_init(&f, *state, "GPUEnvInject=true");
    const struct hook_container_request in = { .pod = &be_meta,
                                               .container = &main_meta,
                                               .annotations = { &anno, 1 },
                                               .resources = &asked,
                                               .pod_annotations = { &extended, 1 },
                                               .pod_labels = { &be_label, 1 },
                                               .cgroup_parent = STR("/" BE_POD),
                                               .envs = { &env, 1 } };
    call(&f, HOOK_SERVICE "PreCreateContainerHook", &hook_container_request_table, &in,
         &hook_container_response_table, &r);
    assert_int_equal(r.resources->cpu_shares, 512);
    assert_int_equal(r.resources->cpu_quota, 50000);
    assert_int_equal(r.resources->cpu_period, 100000);
    assert_int_equal(r.resources->memory_limit, 1 << 30);
    assert_int_equal(r.resources->oom_score_adj, 1000);
    assert_int_equal(r.annotations.n, 1);
    assert_true(str_eqz(r.cgroup_parent, "/" BE_POD));
    assert_int_equal(r.envs.n, 1);
    assert_true(str_eqz(r.envs.items[0].value, "/bin"));
    /* Seen running, it came by the proxy. */
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    set_pods(&f.n, "[" BE("") "]");
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"path\":\"proxy\"");
}

static void test_environment_is_merged(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    struct wire_pair gpu = { STR("scheduling.koordinator.sh/device-allocated"),
                             STR("{\"gpu\":[{\"minor\":2}]}") };
    struct wire_pair envs[] = { { STR("NVIDIA_VISIBLE_DEVICES"), STR("all") },
                                { STR("PATH"), STR("/bin") } };
    struct hook_container_response r;

    hook_init(&f, *state, "GPUEnvInject=true");
    const struct hook_container_request in = { .pod = &be_meta,
                                               .container = &main_meta,
                                               .pod_annotations = { &gpu, 1 },
                                               .envs = { envs, 2 } };
    call(&f, HOOK_SERVICE "PreCreateContainerHook", &hook_container_request_table, &in,
         &hook_container_response_table, &r);
    assert_int_equal(r.envs.n, 2);
    assert_true(str_eqz(r.envs.items[0].value, "2"));
    assert_null(r.resources);
}

static void test_pod_response_and_files(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    struct wire_pair extended = { STR(ANNO_EXTENDED_RESOURCES), STR(EXTENDED) };
    struct hook_pod_response r;

    hook_init(&f, *state, "GPUEnvInject=false");
    const struct hook_pod_request in = { .pod = &be_meta,
                                         .labels = { &be_label, 1 },
                                         .annotations = { &extended, 1 },
                                         .cgroup_parent = STR("/" BE_POD) };
    call(&f, HOOK_SERVICE "PreRunPodSandboxHook", &hook_pod_request_table, &in,
         &hook_pod_response_table, &r);
    assert_int_equal(r.labels.n, 1);
    assert_int_equal(r.annotations.n, 1);
    assert_true(str_eqz(r.cgroup_parent, "/" BE_POD));
    assert_int_equal(r.resources->cpu_quota, 50000);
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.cfs_quota_us", "50000");
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.bvt_warp_ns", "-1");
}

/* An empty message, an unknown method, bytes that are no message, and a hook that fails. */
static void test_bad_calls(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    struct wire_pair bad = { STR("scheduling.koordinator.sh/resource-status"), STR("{") };
    struct hook_container_response r;

    hook_init(&f, *state, "GPUEnvInject=false");
    call(&f, HOOK_SERVICE "PostStopContainerHook", &hook_container_request_table,
         &(struct hook_container_request){ 0 }, &hook_container_response_table, &r);
    assert_null(r.resources);
    call_raw(&f, HOOK_SERVICE "Dance", STR(""));
    assert_int_equal(f.code, GRPC_UNIMPLEMENTED);
    call_raw(&f, HOOK_SERVICE "PreCreateContainerHook", STR("\x0a\xff"));
    assert_int_equal(f.code, GRPC_INTERNAL);
    const struct hook_container_request in = { .pod = &be_meta,
                                               .container = &main_meta,
                                               .pod_annotations = { &bad, 1 } };
    call(&f, HOOK_SERVICE "PreCreateContainerHook", &hook_container_request_table, &in, NULL, NULL);
    assert_int_equal(f.code, GRPC_UNKNOWN);
    assert_contains(f.text, "hook CPUSetAllocator");
}

/* A proxy that is installed after koordlet, and one that is installed anew. */
static void test_the_proxy_is_told_when_its_directory_appears(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    char dir[256], file[300];

    hook_init(&f, *state, "GPUEnvInject=true");
    snprintf(dir, sizeof dir, "%s/hookserver.d", f.n.f.dir);
    snprintf(file, sizeof file, "%s/koordlet.json", dir);
    f.n.o.hooks.config_dir = dir;
    f.n.o.hooks.host_endpoint = "/run/koordlet.sock";
    f.n.o.hooks.failure_policy = "Ignore";
    hookserver_announce(f.d->server);
    loop_advance(f.n.loop, 60 * SEC);
    assert_int_equal(access(dir, F_OK), -1);

    fixture_dir(&f.n.f, "hookserver.d");
    loop_advance(f.n.loop, 10 * SEC);
    assert_int_equal(access(file, F_OK), 0);

    /* What is there stays as it is: an operator may look at it, and the proxy reads it again. */
    fixture_put(&f.n.f, "{}", "hookserver.d/koordlet.json");
    loop_advance(f.n.loop, 60 * SEC);
    expect(&f.n, "hookserver.d/koordlet.json", "{}");

    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(dir), 0);
    loop_advance(f.n.loop, 60 * SEC);
    fixture_dir(&f.n.f, "hookserver.d");
    loop_advance(f.n.loop, 10 * SEC);
    assert_int_equal(access(file, F_OK), 0);
}

/* Those of an older koordlet may name other hooks. */
static void test_a_file_of_an_earlier_start_is_replaced(void **state)
{
    CLEANUP(hook_fini) struct hook_fixture f;
    char dir[256];

    hook_init(&f, *state, "GPUEnvInject=true");
    snprintf(dir, sizeof dir, "%s/hookserver.d", f.n.f.dir);
    fixture_put(&f.n.f, "{}", "hookserver.d/koordlet.json");
    f.n.o.hooks.config_dir = dir;
    f.n.o.hooks.host_endpoint = "/run/koordlet.sock";
    f.n.o.hooks.failure_policy = "Ignore";
    hookserver_announce(f.d->server);
    expect(&f.n, "hookserver.d/koordlet.json",
           "{\n\t\"remote-endpoint\": \"/run/koordlet.sock\",\n\t\"failure-policy\": \"Ignore\",\n"
           "\t\"runtime-hooks\": [\n\t\t\"PreRunPodSandbox\",\n\t\t\"PreCreateContainer\",\n"
           "\t\t\"PreUpdateContainerResources\"\n\t]\n}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_container_response_is_an_echo_with_the_hooks_over_it),
        FIXTURE_TEST(test_environment_is_merged),
        FIXTURE_TEST(test_pod_response_and_files),
        FIXTURE_TEST(test_bad_calls),
        FIXTURE_TEST(test_the_proxy_is_told_when_its_directory_appears),
        FIXTURE_TEST(test_a_file_of_an_earlier_start_is_replaced),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
