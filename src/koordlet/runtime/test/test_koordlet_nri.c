/* test_koordlet_nri.c - koordlet as a plugin of NRI: bytes of the session, answers, reconnects. */
#include "koordlet/hooks/test/node_fixture.h"

#include "koordlet/runtime/delivery.h"
#include "koordlet/runtime/nri_session.h"
#include "koordlet/runtime/test/fake_runtime.h"

#define SEC  NSEC_PER_SEC
#define MSEC NSEC_PER_MSEC
#define SLO  "{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}}}}"
#define EXTENDED                                                                         \
    "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"500\","        \
    "\"kubernetes.io/batch-memory\":\"1Gi\"},\"requests\":{\"kubernetes.io/batch-cpu\":" \
    "\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}}}}"

struct nri_fixture {
    struct node_fixture n;
    struct fake_runtime runtime;
    struct caps caps;
    struct delivery *d;
};

static void set_hook_options(struct koordlet_options *o)
{
    o->hooks.default_runtime = "containerd";
    o->hooks.plugin_failure_policy = "Ignore";
    o->hooks.network = "unix";
    o->hooks.addr = "";
    o->hooks.failure_policy = "Ignore";
    o->hooks.config_dir = "/nowhere";
    o->hooks.host_endpoint = "/nowhere.sock";
    o->hooks.nri = true;
    o->hooks.nri_socket = "nri/nri.sock";
    o->hooks.nri_name = "koordlet_nri";
    o->hooks.nri_index = "00";
    o->hooks.nri_connect_timeout = 6 * SEC;
    o->hooks.nri_backoff = SEC;
    o->hooks.nri_backoff_cap = NSEC_MAX;
    o->hooks.nri_backoff_factor = 2;
    o->hooks.nri_backoff_jitter = 0.1;
    o->hooks.nri_backoff_steps = INT32_MAX;
}

static void make_delivery(struct nri_fixture *f)
{
    f->d = delivery_new(&(struct delivery_env){ .loop = f->n.loop,
                                                .host = f->n.f.host,
                                                .snapshots = f->n.snapshots,
                                                .executor = f->n.executor,
                                                .reconciler = f->n.hooks,
                                                .o = &f->n.o,
                                                .caps = &f->caps,
                                                .metrics = f->n.metrics,
                                                .node_name = "n",
                                                .dial = fake_dial,
                                                .dial_arg = &f->runtime });
}

/* Not started. */
static void nri_init(struct nri_fixture *f, struct object_fixture *b)
{
    node_init(&f->n, b, true);
    set_hook_options(&f->n.o);
    fake_runtime_init(&f->runtime, f->n.loop);
    f->caps = (struct caps){ 0 };
    f->caps.caps[CAP_BVT].state = CAP_YES;
    make_delivery(f);
}

static void nri_fini_p(struct nri_fixture *f)
{
    delivery_free(f->d);
    loop_advance(f->n.loop, SEC);
    fake_runtime_fini(&f->runtime);
    node_fini_p(&f->n);
}

/* Connected, after the wait for rules that this node does not have. */
static void nri_start(struct nri_fixture *f)
{
    set_slo(&f->n, SLO);
    delivery_start(f->d);
    loop_advance(f->n.loop, 11 * SEC);
    assert_int_equal(f->runtime.registered, 1);
}

static bool is_connected(const struct nri_fixture *f)
{
    char why[256];

    return delivery_nri_connected(f->d, why, sizeof why);
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct wire_pair be_labels[] = { { { "koordinator.sh/qosClass", 23 }, { "BE", 2 } } };
static struct wire_pair ls_labels[] = { { { "koordinator.sh/qosClass", 23 }, { "LS", 2 } } };
static struct nri_linux_pod be_linux = { .cgroup_parent = { "/" BE_POD, sizeof BE_POD } };
static struct nri_linux_pod ls_linux = { .cgroup_parent = { "/" LS_POD, sizeof LS_POD } };

static struct nri_pod be_pod(struct wire_pair *annotations)
{
    annotations[0] = (struct wire_pair){ STR(ANNO_EXTENDED_RESOURCES), STR(EXTENDED) };
    return (struct nri_pod){ .id = STR("sandbox-be"),
                             .name = STR("batch"),
                             .uid = STR("be"),
                             .ns = STR("d"),
                             .labels = { be_labels, 1 },
                             .annotations = { annotations, 1 },
                             .linux_pod = &be_linux };
}

static struct nri_pod ls_pod(void)
{
    return (struct nri_pod){ .id = STR("sandbox-ls"),
                             .name = STR("web"),
                             .uid = STR("ls"),
                             .ns = STR("d"),
                             .labels = { ls_labels, 1 },
                             .linux_pod = &ls_linux };
}

static struct nri_container main_of(const char *id, const char *pod_id)
{
    return (struct nri_container){
        .id = str_of(id), .pod_id = str_of(pod_id), .name = STR("main"), .state = NRI_RUNNING
    };
}

/* ---- the session ----------------------------------------------------------------------------- */

static void test_first_bytes(void **state)
{
    static const unsigned char want[] = "\0\0\0\2\0\0\0\x52\0\0\0\x48\0\0\0\1\1\0"
                                        "\x0a\x1cnri.pkg.api.v1alpha1.Runtime"
                                        "\x12\x0eRegisterPlugin\x1a\x12\x0a\x0ckoordlet_nri\x12\x02"
                                        "00"
                                        "\x20\x80\xe4\x97\xd0\x12";
    static const unsigned char configured[] =
        "\0\0\0\1\0\0\0\x0f\0\0\0\5\0\0\0\1\2\0\x12\3\x10\x8d\1";
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    nri_start(&f);
    assert_int_equal(f.runtime.raw.len, sizeof want - 1 + sizeof configured - 1);
    assert_memory_equal(f.runtime.raw.data, want, sizeof want - 1);
    assert_memory_equal(f.runtime.raw.data + sizeof want - 1, configured, sizeof configured - 1);
    assert_string_equal(f.runtime.name, "koordlet_nri");
    assert_true(is_connected(&f));
    expect_metric(&f.n, "koordlet_nri_connected{node=\"n\"} 1");
}

static void test_events_of_a_configuration(void **state)
{
    static const struct {
        const char *config;
        int mask; /* 0: refused */
        const char *why;
    } cases[] = {
        { "", 141, NULL },
        { "{}", 141, NULL },
        { "events: []", 141, NULL },
        { "events: [\"RunPodSandbox\"]", 1, NULL },
        { "events: [\"runpodsandbox, CREATECONTAINER\"]", 9, NULL },
        { "events: [\"RunPodSandboxTest\"]", 0,
          "failed to parse events in configuration: unknown event \"RunPodSandboxTest\"" },
        { "events: [all]", 0, "internal error: unhandled events StopPodSandbox" },
        { "events: [pod]", 0, "unhandled events StopPodSandbox,UpdatePodSandbox" },
        { "events: [StopContainer]", 0, "internal error: unhandled events StopContainer (0x200)" },
        { "events: [1]", 0, "failed to parse events" },
        { "events: [", 0, "failed to parse configuration" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kerr err = { 0 };
        int mask = -1;
        int code = nri_events_parse(str_of(cases[i].config), 141, &mask, &err);
        if (cases[i].mask) {
            assert_int_equal(code, 0);
            assert_int_equal(mask, cases[i].mask);
        } else {
            assert_true(code < 0);
            assert_contains(err.text, cases[i].why);
        }
    }
}

static void test_bad_configuration_is_an_error_of_configure(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    f.runtime.config = "events: [\"RunPodSandboxTest\"]";
    nri_start(&f);
    assert_int_equal(f.runtime.code, GRPC_UNKNOWN);
    assert_contains(f.runtime.text, "unknown event \"RunPodSandboxTest\"");
    assert_false(is_connected(&f));
}

static void test_disabled_stages_are_not_subscribed(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    const char *off[] = { "PreRunPodSandbox", "PreUpdateContainerResources" };
    struct nri_configure_response r;

    nri_init(&f, *state);
    delivery_free(f.d);
    f.n.o.hooks.disable_stages = (struct flag_list){ off, 2 };
    make_delivery(&f);
    nri_start(&f);
    fake_read(&f.runtime, &nri_configure_response_table, &r);
    assert_int_equal(r.events, NRI_BIT(NRI_CREATE_CONTAINER) | NRI_BIT(NRI_REMOVE_POD_SANDBOX));
}

static void test_unknown_method_and_service(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    nri_start(&f);
    fake_call_raw(&f.runtime, "Dance", STR(""));
    loop_advance(f.n.loop, SEC);
    assert_int_equal(f.runtime.code, GRPC_UNIMPLEMENTED);
    assert_string_equal(f.runtime.text, "method Dance");
    ttrpc_call(f.runtime.plugin, &(struct ttrpc_request){ .service = STR("x"), .method = STR("y") },
               fake_answered, &f.runtime);
    loop_advance(f.n.loop, SEC);
    assert_string_equal(f.runtime.text, "service x");
    /* A message that is none. */
    fake_call_raw(&f.runtime, "CreateContainer", STR("\xff"));
    loop_advance(f.n.loop, SEC);
    assert_int_equal(f.runtime.code, GRPC_INVALID_ARGUMENT);
    assert_true(is_connected(&f));
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_created_batch_container_gets_its_limits(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair annotations[1];
    struct nri_pod pod = be_pod(annotations);
    struct nri_container c = main_of("c1", "sandbox-be");
    struct nri_create_response r;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    nri_init(&f, *state);
    nri_start(&f);
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    fake_read(&f.runtime, &nri_create_response_table, &r);
    const struct nri_resources *res = r.adjust->linux_adjustment->resources;
    assert_int_equal(res->cpu->shares->value, 512);
    assert_int_equal(res->cpu->quota->value, 50000);
    assert_int_equal(res->memory->limit->value, 1 << 30);
    assert_int_equal(res->cpu->cpus.n, 0);
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"path\":\"NRI\"");
    assert_contains(strbuf_str(&json), "\"containerID\":\"c1\"");
    expect_metric(&f.n, "koordlet_runtime_hook_delivery_seconds_bucket{node=\"n\",path=\"NRI\","
                        "le=\"0\"} 1");
}

static void test_container_without_hooks_is_left_alone(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct nri_pod pod = { .id = STR("s"), .name = STR("p"), .uid = STR("u"), .ns = STR("d") };
    struct nri_container c = main_of("c1", "s");
    struct nri_create_response r;

    nri_init(&f, *state);
    nri_start(&f);
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    fake_read(&f.runtime, &nri_create_response_table, &r);
    assert_null(r.adjust->linux_adjustment);
    assert_int_equal(r.adjust->env.n, 0);
    /* Nothing at all, from a runtime that left everything out. */
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ 0 });
    assert_int_equal(f.runtime.code, GRPC_OK);
}

/* The requested quota is normalized once, whatever the container has. */
static void test_update_goes_by_the_requested_values(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct nri_pod pod = ls_pod();
    struct nri_number has = { .value = 83334 }, wants = { .value = 200000 };
    struct nri_cpu cpu_has = { .quota = &has }, cpu_wants = { .quota = &wants };
    struct nri_resources res_has = { .cpu = &cpu_has }, res_wants = { .cpu = &cpu_wants };
    struct nri_linux_container linux_has = { .resources = &res_has };
    struct nri_container c = main_of("c7", "sandbox-ls");
    struct nri_update_response r;

    nri_init(&f, *state);
    gates_set(&f.n.o.gates, "CPUNormalization=true", NULL);
    delivery_free(f.d);
    make_delivery(&f);
    set_ratio(&f.n, "1.20");
    nri_start(&f);
    c.linux_container = &linux_has;
    fake_ask(
        &f.runtime, "UpdateContainer", &nri_container_request_table,
        &(struct nri_container_request){ .pod = &pod, .container = &c, .resources = &res_wants });
    fake_read(&f.runtime, &nri_update_response_table, &r);
    assert_int_equal(r.update.n, 1);
    assert_true(str_eqz(r.update.items[0].container_id, "c7"));
    assert_int_equal(r.update.items[0].linux_update->resources->cpu->quota->value, 166667);
    /* A request about something else says nothing of the quota. */
    struct nri_cpu cpus_only = { .cpus = STR("0-3") };
    res_wants.cpu = &cpus_only;
    fake_ask(
        &f.runtime, "UpdateContainer", &nri_container_request_table,
        &(struct nri_container_request){ .pod = &pod, .container = &c, .resources = &res_wants });
    fake_read(&f.runtime, &nri_update_response_table, &r);
    assert_int_equal(r.update.n, 0);
}

static void test_gpu_annotation_becomes_environment(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair anno[] = { { STR("scheduling.koordinator.sh/device-allocated"),
                                  STR("{\"gpu\":[{\"minor\":1},{\"minor\":3}]}") } };
    struct nri_pod pod = ls_pod();
    struct nri_container c = main_of("c1", "sandbox-ls");
    struct nri_create_response r;

    nri_init(&f, *state);
    gates_set(&f.n.o.gates, "GPUEnvInject=true", NULL);
    delivery_free(f.d);
    make_delivery(&f);
    nri_start(&f);
    pod.annotations.items = anno;
    pod.annotations.n = 1;
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    fake_read(&f.runtime, &nri_create_response_table, &r);
    assert_int_equal(r.adjust->env.n, 1);
    assert_true(str_eqz(r.adjust->env.items[0].key, "NVIDIA_VISIBLE_DEVICES"));
    assert_true(str_eqz(r.adjust->env.items[0].value, "1,3"));
}

/* With Fail a container is refused; the start of a pod never is. */
static void test_failing_hook_refuses_containers_only(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair anno[] = { { STR("scheduling.koordinator.sh/resource-status"), STR("{") } };
    struct nri_pod pod = ls_pod();
    struct nri_container c = main_of("c1", "sandbox-ls");

    nri_init(&f, *state);
    pod.annotations.items = anno;
    pod.annotations.n = 1;
    f.n.o.hooks.plugin_failure_policy = "Fail";
    delivery_free(f.d);
    make_delivery(&f);
    nri_start(&f);
    fake_ask(&f.runtime, "StateChange", &nri_state_change_table,
             &(struct nri_state_change){ .event = NRI_RUN_POD_SANDBOX, .pod = &pod });
    assert_int_equal(f.runtime.code, GRPC_OK);
    fake_ask(&f.runtime, "RunPodSandbox", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod });
    assert_int_equal(f.runtime.code, GRPC_OK);
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    assert_int_equal(f.runtime.code, GRPC_UNKNOWN);
    assert_contains(f.runtime.text, "hook CPUSetAllocator");
    expect_metric(&f.n,
                  "koordlet_runtime_hook_invoked_duration_milliseconds_count{hook="
                  "\"CPUSetAllocator\",node=\"n\",stage=\"PreCreateContainer\",status=\"failed\"} "
                  "1");
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Its files are written before the kubelet's list has the pod, and nothing is put back when the
 * reconciler takes over. */
static void test_pod_gets_its_files_at_its_start(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair annotations[1];
    struct nri_pod pod = be_pod(annotations);

    nri_init(&f, *state);
    set_pods(&f.n, "[]");
    nri_start(&f);
    fake_ask(&f.runtime, "StateChange", &nri_state_change_table,
             &(struct nri_state_change){ .event = NRI_RUN_POD_SANDBOX, .pod = &pod });
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.shares", "512");
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.cfs_quota_us", "50000");
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.bvt_warp_ns", "-1");
    expect(&f.n, "cgroup/memory/" BE_POD "/memory.limit_in_bytes", "1073741824");
    set_pods(&f.n, "[" BE("") "]");
    uint64_t writes = executor_stats(f.n.executor).writes;
    loop_advance(f.n.loop, 5 * SEC);
    expect(&f.n, "cgroup/cpu/" BE_POD "/cpu.cfs_quota_us", "50000");
    assert_int_equal(executor_stats(f.n.executor).writes, writes);
}

/* A pod that goes before the kubelet told of it leaves nothing behind. */
static void test_removed_pod_is_forgotten(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair annotations[1];
    struct nri_pod pod = be_pod(annotations);

    nri_init(&f, *state);
    nri_start(&f);
    size_t files = executor_stats(f.n.executor).files;
    fake_ask(&f.runtime, "StateChange", &nri_state_change_table,
             &(struct nri_state_change){ .event = NRI_RUN_POD_SANDBOX, .pod = &pod });
    assert_true(executor_stats(f.n.executor).files > files);
    fake_ask(&f.runtime, "StateChange", &nri_state_change_table,
             &(struct nri_state_change){ .event = NRI_REMOVE_POD_SANDBOX, .pod = &pod });
    assert_int_equal(executor_stats(f.n.executor).files, files);
}

/* ---- Synchronize ----------------------------------------------------------------------------- */

static void test_synchronize_in_parts_updates_what_differs(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair annotations[1];
    struct nri_pod pods[] = { be_pod(annotations), ls_pod() };
    struct nri_container stale = main_of("stale", "sandbox-be");
    struct nri_number shares = { .value = 512 }, quota = { .value = 50000 },
                      limit = { .value = 1 << 30 };
    struct nri_cpu cpu = { .shares = &shares, .quota = &quota };
    struct nri_memory memory = { .limit = &limit };
    struct nri_resources has = { .cpu = &cpu, .memory = &memory };
    struct nri_linux_container linux_has = { .resources = &has };
    struct nri_container rest[] = { main_of("good", "sandbox-be"), main_of("lost", "no-such-pod"),
                                    main_of("dead", "sandbox-be"), main_of("web", "sandbox-ls") };
    struct nri_synchronize_response r;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    nri_init(&f, *state);
    nri_start(&f);
    rest[0].linux_container = &linux_has;
    rest[2].state = NRI_STOPPED;
    stale.started_at = loop_wall(f.n.loop) - 30 * SEC;
    fake_ask(&f.runtime, "Synchronize", &nri_synchronize_request_table,
             &(struct nri_synchronize_request){
                 .pods = { pods, 2 }, .containers = { &stale, 1 }, .more = true });
    fake_read(&f.runtime, &nri_synchronize_response_table, &r);
    assert_true(r.more);
    assert_int_equal(r.update.n, 0);
    fake_ask(&f.runtime, "Synchronize", &nri_synchronize_request_table,
             &(struct nri_synchronize_request){ .containers = { rest, 4 } });
    fake_read(&f.runtime, &nri_synchronize_response_table, &r);
    assert_false(r.more);
    assert_int_equal(r.update.n, 1);
    assert_true(str_eqz(r.update.items[0].container_id, "stale"));
    assert_true(r.update.items[0].ignore_failure);
    assert_int_equal(r.update.items[0].linux_update->resources->cpu->quota->value, 50000);
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"path\":\"Synchronize\",\"secondsAfterStart\":30");
}

/* What a container has may be what an earlier koordlet gave it: the spec counts. */
static void test_synchronize_does_not_normalize_twice(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct nri_pod pod = ls_pod();
    struct nri_number quota = { .value = 83334 };
    struct nri_cpu cpu = { .quota = &quota };
    struct nri_resources has = { .cpu = &cpu };
    struct nri_linux_container linux_has = { .resources = &has };
    struct nri_container c = main_of("ctr", "sandbox-ls");
    struct nri_synchronize_response r;

    nri_init(&f, *state);
    gates_set(&f.n.o.gates, "CPUNormalization=true", NULL);
    delivery_free(f.d);
    make_delivery(&f);
    set_ratio(&f.n, "1.20");
    set_pods(&f.n, "[" LS("{'running':{}}") "]");
    nri_start(&f);
    c.linux_container = &linux_has;
    const struct nri_synchronize_request in = { .pods = { &pod, 1 }, .containers = { &c, 1 } };
    fake_ask(&f.runtime, "Synchronize", &nri_synchronize_request_table, &in);
    fake_read(&f.runtime, &nri_synchronize_response_table, &r);
    assert_int_equal(r.update.n, 0);
    quota.value = 100000; /* started while koordlet was away */
    fake_ask(&f.runtime, "Synchronize", &nri_synchronize_request_table, &in);
    fake_read(&f.runtime, &nri_synchronize_response_table, &r);
    assert_int_equal(r.update.n, 1);
    assert_int_equal(r.update.items[0].linux_update->resources->cpu->quota->value, 83334);
}

/* 1,000 containers with 16 KB of annotations each, as containerd splits them. */
static void test_synchronize_of_a_large_node(void **state)
{
    enum { PODS = 1000, PER_PART = 200 };
    CLEANUP(nri_fini) struct nri_fixture f;
    CLEANUP(arena_free) struct arena *a = arena_new();
    char *large = arena_alloc(a, 16384, 1);
    struct nri_synchronize_response r = { 0 };

    nri_init(&f, *state);
    nri_start(&f);
    memset(large, 'x', 16384);
    for (size_t at = 0; at < PODS; at += PER_PART) {
        struct nri_pod *pods = arena_newn0(a, PER_PART, struct nri_pod);
        struct nri_container *containers = arena_newn0(a, PER_PART, struct nri_container);
        for (size_t i = 0; i < PER_PART; i++) {
            struct wire_pair *annotations = arena_newn0(a, 2, struct wire_pair);
            pods[i] = be_pod(annotations);
            pods[i].id = str_of(arena_printf(a, "s%zu", at + i));
            pods[i].uid = str_of(arena_printf(a, "u%zu", at + i));
            annotations[1] = (struct wire_pair){ STR("large"), { large, 16384 } };
            pods[i].annotations.n = 2;
            containers[i] = main_of(arena_printf(a, "c%zu", at + i), pods[i].id.p);
        }
        fake_ask(&f.runtime, "Synchronize", &nri_synchronize_request_table,
                 &(struct nri_synchronize_request){ .pods = { pods, PER_PART },
                                                    .containers = { containers, PER_PART },
                                                    .more = at + PER_PART < PODS });
        fake_read(&f.runtime, &nri_synchronize_response_table, &r);
    }
    assert_int_equal(r.update.n, PODS);
    assert_true(is_connected(&f));
}

/* ---- losing the runtime ---------------------------------------------------------------------- */

static void test_reconnects_at_once_then_backs_off(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    nri_start(&f);
    loop_advance(f.n.loop, 10 * SEC);
    fake_drop(&f.runtime);
    loop_advance(f.n.loop, 100 * MSEC);
    assert_int_equal(f.runtime.connections, 2); /* a good session is replaced at once */
    assert_true(is_connected(&f));
    fake_drop(&f.runtime); /* a short one is not */
    loop_advance(f.n.loop, 900 * MSEC);
    assert_int_equal(f.runtime.connections, 2);
    assert_false(is_connected(&f));
    expect_metric(&f.n, "koordlet_nri_connected{node=\"n\"} 0");
    loop_advance(f.n.loop, 300 * MSEC);
    assert_int_equal(f.runtime.connections, 3);
    /* While nobody listens the waits double, up to half a minute. */
    f.runtime.refuse = true;
    fake_drop(&f.runtime);
    loop_advance(f.n.loop, 600 * SEC);
    f.runtime.refuse = false;
    loop_advance(f.n.loop, 34 * SEC);
    assert_true(is_connected(&f));
    assert_int_equal(f.runtime.open, 1);
    expect_metric(&f.n, "koordlet_nri_sessions_total{node=\"n\"} 4");
}

/* The first connect is tried again as later ones are. */
static void test_runtime_that_comes_later(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    char why[256];

    nri_init(&f, *state);
    f.runtime.refuse = true;
    delivery_start(f.d);
    loop_advance(f.n.loop, 60 * SEC);
    assert_false(delivery_nri_connected(f.d, why, sizeof why));
    assert_string_equal(why, "not connected: nobody listens");
    f.runtime.refuse = false;
    loop_advance(f.n.loop, 34 * SEC);
    assert_true(delivery_nri_connected(f.d, why, sizeof why));
    assert_string_equal(why, "connected to containerd v2.2.1");
}

static void test_shutdown_is_answered(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    nri_start(&f);
    loop_advance(f.n.loop, 10 * SEC);
    fake_call_raw(&f.runtime, "Shutdown", STR(""));
    loop_advance(f.n.loop, 5 * MSEC);
    assert_int_equal(f.runtime.code, GRPC_OK);
    loop_advance(f.n.loop, SEC);
    assert_int_equal(f.runtime.connections, 2);
}

/* A runtime that goes away at random moments, a hundred times: never two connections at a time. */
static void test_hundred_restarts_of_the_runtime(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;

    nri_init(&f, *state);
    nri_start(&f);
    for (int i = 0; i < 100; i++) {
        loop_advance(f.n.loop, (nsec_t)loop_rand_below(f.n.loop, 4 * SEC));
        if (i % 3 == 0 && f.runtime.end)
            fake_drop(&f.runtime);
        f.runtime.refuse = i % 7 == 0;
        assert_true(f.runtime.open <= 1);
    }
    f.runtime.refuse = false;
    loop_advance(f.n.loop, 60 * SEC);
    assert_true(is_connected(&f));
}

static bool has_group(const struct nri_fixture *f)
{
    char path[256];

    snprintf(path, sizeof path, "%s/sys-fs/resctrl/koordlet-be", f->n.f.dir);
    return access(path, F_OK) == 0;
}

/* A group of files goes only when it is empty; the kernel's goes as it is. */
static void empty_group(struct nri_fixture *f)
{
    fixture_remove(&f->n.f, "sys-fs/resctrl/koordlet-be/schemata");
    fixture_remove(&f->n.f, "sys-fs/resctrl/koordlet-be/tasks");
}

/* The runtime restarts while a pod goes and tells nobody of that (containerd#8426): its resctrl
 * group goes all the same, whether the kubelet had told of the pod or not. */
static void lose_a_removal(struct object_fixture *objects, bool told_by_kubelet)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    struct wire_pair annotations[2];
    struct nri_pod pod = be_pod(annotations);

    annotations[1] = (struct wire_pair){
        STR("node.koordinator.sh/resctrl"),
        STR("{\"llc\":{\"schemata\":{\"range\":[0,30]}}}"),
    };
    pod.annotations.n = 2;
    nri_init(&f, objects);
    delivery_free(f.d);
    gates_set(&f.n.o.gates, "Resctrl=true", NULL);
    make_delivery(&f);
    fixture_put(&f.n.f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/schemata");
    fixture_put(&f.n.f, "7ff\n", "sys-fs/resctrl/info/L3/cbm_mask");
    fixture_put(&f.n.f, "vendor_id : GenuineIntel\n", "proc/cpuinfo");
    set_pods(&f.n, "[]");
    nri_start(&f);
    loop_advance(f.n.loop, 10 * SEC); /* the rules know resctrl */
    fixture_put(&f.n.f, "", "sys-fs/resctrl/koordlet-be/tasks");
    fixture_put(&f.n.f, "    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/koordlet-be/schemata");
    fake_ask(&f.runtime, "StateChange", &nri_state_change_table,
             &(struct nri_state_change){ .event = NRI_RUN_POD_SANDBOX, .pod = &pod });
    expect(&f.n, "sys-fs/resctrl/koordlet-be/schemata", "L3:0=f;1=f;\n");
    if (told_by_kubelet)
        set_pods(&f.n, "[" BE("'node.koordinator.sh/resctrl':'{\\\"llc\\\":{\\\"schemata\\\":"
                              "{\\\"range\\\":[0,30]}}}'") "]");
    fake_drop(&f.runtime);
    empty_group(&f);
    set_pods(&f.n, "[]");
    loop_advance(f.n.loop, 90 * SEC);
    assert_true(is_connected(&f));
    assert_false(has_group(&f));
}

static void test_removal_lost_in_a_restart_of_the_runtime(void **state)
{
    lose_a_removal(*state, true);
    lose_a_removal(*state, false);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* While many pods start, their kubelet tells of each one late and of all of them often: who came by
 * NRI is not taken for somebody whom the reconciler found. */
static void test_path_stays_until_the_kubelet_tells(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct wire_pair annotations[1];
    struct nri_pod pod = be_pod(annotations);
    struct nri_container c = main_of("ctr", "sandbox-be");

    nri_init(&f, *state);
    nri_start(&f);
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    for (int i = 0; i < 10; i++)
        set_pods(&f.n, "[]");
    set_pods(&f.n, "[" BE("") "]");
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"path\":\"NRI\"");
    assert_null(strstr(strbuf_str(&json), "reconcile"));
    for (int i = 0; i < 4; i++)
        set_pods(&f.n, "[]");
    c.id = STR("never-started");
    fake_ask(&f.runtime, "CreateContainer", &nri_container_request_table,
             &(struct nri_container_request){ .pod = &pod, .container = &c });
    loop_advance(f.n.loop, 61 * SEC);
    set_pods(&f.n, "[]");
    strbuf_reset(&json);
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"containers\":[]");
}

static void test_reconciled_container_shows(void **state)
{
    CLEANUP(nri_fini) struct nri_fixture f;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    nri_init(&f, *state);
    nri_start(&f);
    set_pods(&f.n, "[" BE("") "]");
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"pod\":\"batch\"");
    assert_contains(strbuf_str(&json), "\"path\":\"reconcile\"");
    assert_contains(strbuf_str(&json), "\"connected\":true");
    for (int i = 0; i < 4; i++)
        set_pods(&f.n, "[]");
    strbuf_reset(&json);
    delivery_json(f.d, &json);
    assert_contains(strbuf_str(&json), "\"containers\":[]");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_first_bytes),
        FIXTURE_TEST(test_events_of_a_configuration),
        FIXTURE_TEST(test_bad_configuration_is_an_error_of_configure),
        FIXTURE_TEST(test_disabled_stages_are_not_subscribed),
        FIXTURE_TEST(test_unknown_method_and_service),
        FIXTURE_TEST(test_created_batch_container_gets_its_limits),
        FIXTURE_TEST(test_container_without_hooks_is_left_alone),
        FIXTURE_TEST(test_update_goes_by_the_requested_values),
        FIXTURE_TEST(test_gpu_annotation_becomes_environment),
        FIXTURE_TEST(test_failing_hook_refuses_containers_only),
        FIXTURE_TEST(test_pod_gets_its_files_at_its_start),
        FIXTURE_TEST(test_removed_pod_is_forgotten),
        FIXTURE_TEST(test_synchronize_in_parts_updates_what_differs),
        FIXTURE_TEST(test_synchronize_does_not_normalize_twice),
        FIXTURE_TEST(test_synchronize_of_a_large_node),
        FIXTURE_TEST(test_reconnects_at_once_then_backs_off),
        FIXTURE_TEST(test_runtime_that_comes_later),
        FIXTURE_TEST(test_shutdown_is_answered),
        FIXTURE_TEST(test_hundred_restarts_of_the_runtime),
        FIXTURE_TEST(test_removal_lost_in_a_restart_of_the_runtime),
        FIXTURE_TEST(test_path_stays_until_the_kubelet_tells),
        FIXTURE_TEST(test_reconciled_container_shows),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
