/* test_koordlet_evictor.c - evictions that happen: API and CRI, memory of victims, cool-downs. */
#include "client/events.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/qos/evict/evictor.h"
#include "koordlet/qos/strategies.h"
#include "koordlet/qos/test/qos_fixture.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "net/stream.h"

#define SECOND NSEC_PER_SEC

/* ---- an API server that notes evictions, and a runtime that notes stops ---------------------- */

struct asked {
    struct kube_call head;
    struct fixture *f;
    kube_done_fn fn;
    void *arg;
    struct timer *timer;
    int status;
};
struct fixture {
    struct object_fixture *b;
    struct loop *l;
    struct kube kube;
    struct strbuf evicted; /* "name:uid ..." of the requests */
    int statuses[16];      /* of the next answers; 0: lost, -1: 201 */
    unsigned asked, events;
    struct grpc_server *runtime;
    struct strbuf stopped; /* container IDs */
    bool runtime_down, runtime_refuses;
    struct metrics *metrics;
    struct metriccache *mc;
    struct snapshots *snapshots;
    struct snapshot known;
    struct kobj *node;
    struct koordlet_options o;
    struct qos_env env;
    struct evictor *evictor;
    void *memory, *cpu;
    enum evict_outcome outcome;
    unsigned outcomes;
};

static void answer(struct loop *l, void *arg)
{
    struct asked a = *(struct asked *)arg;
    struct kube_resp r = { .status = a.status };
    struct kerr err = { .code = -EIO };

    (void)l;
    free(arg);
    kerr_api(&err, -EIO, kreason_from_http(a.status), "status %d", a.status);
    a.fn(a.arg, &r, a.status == 201 ? NULL : &err);
}

static struct kube_call *on_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                 void *arg)
{
    struct fixture *f = container_of(k, struct fixture, kube);
    struct asked *a = xnew0(struct asked);

    *a = (struct asked){ .head = { k }, .f = f, .fn = fn, .arg = arg, .status = 201 };
    if (r->subresource) {
        CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
        assert_string_equal(r->subresource, "eviction");
        assert_int_equal(kj_parse(r->body, r->body_len, 0, &body, NULL), 0);
        assert_string_equal(kj_str_or(kj_get(kj_root(body), "apiVersion"), ""), "policy/v1");
        strbuf_appendf(&f->evicted, "%s%s", f->evicted.len ? " " : "", r->name);
        assert_string_equal(
            kj_str_or(kj_path(kj_root(body), "deleteOptions.preconditions.uid"), ""), r->name);
        a->status = f->statuses[f->asked % ARRAY_LEN(f->statuses)];
        a->status = a->status == -1 ? 201 : a->status;
        f->asked++;
    } else {
        f->events++;
    }
    a->timer = loop_after(f->l, NSEC_PER_MSEC, answer, a);
    return &a->head;
}

static void on_cancel(struct kube_call *c)
{
    struct asked *a = container_of(c, struct asked, head);

    timer_cancel(a->timer);
    free(a);
}

static const struct kube_ops kube_ops = { .call = on_call, .cancel = on_cancel };

static void on_stop(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct fixture *f = arg;
    struct wire_field field;

    assert_string_equal(method, "/runtime.v1.RuntimeService/StopContainer");
    assert_int_equal(wire_next(&message, &field), 1);
    strbuf_appendf(&f->stopped, "%s%.*s", f->stopped.len ? " " : "", (int)field.bytes.n,
                   field.bytes.p);
    assert_int_equal(wire_next(&message, &field), 0); /* no grace */
    if (f->runtime_refuses)
        grpc_fail(r, GRPC_INTERNAL, "no");
    if (f->runtime_refuses)
        return;
    grpc_send(r, STR("")); /* StopContainerResponse has no fields */
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

struct dialing {
    struct fixture *f;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if (d.f->runtime_down) {
        kerr_set(&err, -ECONNREFUSED, "connect: Connection refused");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    httpd_serve(grpc_server_httpd(d.f->runtime), ends[1], "memory");
    d.fn(d.arg, ends[0], NULL);
}

static void dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ dial_arg, fn, arg };
    loop_after(l, 0, dial_due, d);
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static void set_pods(struct fixture *f, const char *quoted)
{
    podset_unref(f->known.pods);
    f->known.pods = pods_of(f->b, quoted);
}

static void init_as(struct fixture *f, struct object_fixture *b, bool only_by_api, bool dry_run)
{
    *f = (struct fixture){ .b = b, .l = loop_new_virtual(NOW, 1), .kube = { .ops = &kube_ops } };
    f->kube.loop = f->l;
    for (size_t i = 0; i < ARRAY_LEN(f->statuses); i++)
        f->statuses[i] = -1;
    f->runtime = grpc_server_new(f->l, &(struct grpc_server_opts){ 0 }, on_stop, f);
    f->metrics = metrics_new();
    f->mc = metriccache_new();
    for (int k = 0; k < M_KINDS; k++)
        metriccache_retain(f->mc, (enum metric_kind)k, SECOND, 600 * SECOND);
    f->node = fixture_object(
        b, &kind_node,
        "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'10','memory':'100Gi'}}}");
    f->known = (struct snapshot){ .refs = 1, .node = node_of(f->node) };
    f->known.slo = slo_of(b, "{'resourceUsedThresholdWithBE':{'enable':true,"
                             "'memoryEvictThresholdPercent':70,'cpuEvictThresholdPercent':80,"
                             "'evictEnabledPriorityThreshold':6000}}");
    f->snapshots = snapshots_new(f->l);
    snapshots_publish(f->snapshots, snapshot_ref(&f->known));
    gates_init(&f->o.gates, koordlet_gates, KOORDLET_GATES);
    assert_int_equal(
        gates_set(&f->o.gates, "BEMemoryEvict=true,CPUEvict=true,BECPUEvict=true", NULL), 0);
    f->o.collect.interval = SECOND;
    f->o.acting.memory_evict_cool = 4;
    f->o.acting.cpu_evict_cool = 20;
    f->evictor =
        evictor_new(&(struct evictor_env){ .loop = f->l,
                                           .kube = &f->kube,
                                           .metrics = f->metrics,
                                           .node_name = "n",
                                           .only_by_api = only_by_api,
                                           .dry_run = dry_run,
                                           .stop = { .loop = f->l, .dial = dial, .dial_arg = f } });
    f->env = (struct qos_env){
        .loop = f->l, .snapshots = f->snapshots, .mc = f->mc, .o = &f->o, .evictor = f->evictor
    };
    f->memory = strategy_memory_evict.setup(&f->env);
    f->cpu = strategy_cpu_evict.setup(&f->env);
}

static void init(struct fixture *f, struct object_fixture *b, bool only_by_api)
{
    init_as(f, b, only_by_api, false);
}

static void fini(struct fixture *f)
{
    strategy_memory_evict.destroy(f->memory);
    strategy_cpu_evict.destroy(f->cpu);
    evictor_free(f->evictor);
    grpc_server_free(f->runtime);
    snapshots_free(f->snapshots);
    podset_unref(f->known.pods);
    kobj_unref(f->node);
    metriccache_free(f->mc);
    metrics_free(f->metrics);
    strbuf_fini(&f->evicted);
    strbuf_fini(&f->stopped);
    loop_free(f->l);
}

static void put(struct fixture *f, enum metric_kind k, const char *const *labels, double v)
{
    struct series *s = metriccache_open(f->mc, k, labels);

    assert_int_equal(series_append(s, loop_wall(f->l) / NSEC_PER_MSEC, v, NULL), 0);
    series_close(s);
}

/* A second passes: memory of the node in GiB, each pod uses 3. */
static void tick(struct fixture *f, double node_gib)
{
    loop_advance(f->l, SECOND);
    put(f, M_NODE_MEMORY, NULL, node_gib * GI);
    for (uint32_t i = 0; i < f->known.pods->n; i++)
        put(f, M_POD_MEMORY, METRIC_VALUES(f->known.pods->pods[i]->uid), 3.0 * GI);
    strategy_memory_evict.tick(f->memory, &f->env);
    loop_advance(f->l, 100 * NSEC_PER_MSEC);
}

static void assert_text(struct strbuf *b, const char *expected)
{
    assert_string_equal(strbuf_str(b), expected);
    strbuf_reset(b);
}

#define POD(name, priority, containers)                                                      \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name                            \
    "','labels':{'koordinator.sh/qosClass':'BE','koordinator.sh/eviction-enabled':'true'}}," \
    "'spec':{'priority':" priority ",'containers':[]},'status':{'phase':'Running',"          \
    "'containerStatuses':[" containers "]}}"
#define RUNNING(name, id) \
    "{'name':'" name "','containerID':'containerd://" id "','state':{'running':{}}}"
#define WAITING(name, id) \
    "{'name':'" name "','containerID':'containerd://" id "','state':{'waiting':{}}}"
#define THREE                                                                                  \
    "[" POD("a", "5000", RUNNING("c", "a1")) "," POD("b", "5100", RUNNING("c", "b1")) "," POD( \
        "c", "5200", RUNNING("c", "c1")) "]"

/* ---- through the API ------------------------------------------------------------------------- */

static void test_evicts_through_the_api_and_waits(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    tick(&f, 71); /* 3 GiB above the lower mark: one pod */
    assert_text(&f.evicted, "a");
    for (int i = 0; i < 3; i++)
        tick(&f, 75);
    assert_text(&f.evicted, ""); /* the cool-down */
    tick(&f, 73);                /* 5 GiB: a counts as gone */
    assert_text(&f.evicted, "b");
    assert_int_equal(
        (int)metric_counter(
            metrics_add(f.metrics,
                        &(struct metric_desc){ "koordlet_pod_eviction", "", METRIC_COUNTER,
                                               .labels = { "node", "reason" } }),
            METRIC_VALUES("n", "evicted"))
            ->v,
        2);
    fini(&f);
}

static void test_a_victim_counts_as_gone_for_two_minutes(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a1")) "]");
    tick(&f, 71);
    assert_text(&f.evicted, "a");
    assert_true(evictor_pending(f.evictor, f.known.pods->pods[0]));
    loop_advance(f.l, 110 * SECOND);
    tick(&f, 71);
    assert_text(&f.evicted, "");
    loop_advance(f.l, 10 * SECOND);
    tick(&f, 71);
    assert_text(&f.evicted, "a");
    fini(&f);
}

static void test_counters_of_pods_do_not_pile_up(void **state)
{
    static const struct metric_desc detail = { "koordlet_pod_eviction_detail", "", METRIC_COUNTER,
                                               .labels = { "node", "pod_namespace", "pod_name",
                                                           "reason" } };
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a1")) "]");
    tick(&f, 71);
    assert_int_equal(metric_children(metrics_add(f.metrics, &detail)), 1);
    loop_advance(f.l, 600 * SECOND);
    set_pods(&f, "[" POD("b", "5000", RUNNING("c", "b1")) "]");
    tick(&f, 71);
    assert_text(&f.evicted, "a b");
    assert_int_equal(metric_children(metrics_add(f.metrics, &detail)), 1);
    fini(&f);
}

static void test_a_refused_eviction_turns_to_the_next_pod(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    f.statuses[0] = 429, f.statuses[1] = 500;
    tick(&f, 71);
    assert_text(&f.evicted, "a b c");
    fini(&f);
}

static void test_a_refused_pod_is_not_asked_about_each_second(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a1")) "]");
    for (size_t i = 0; i < ARRAY_LEN(f.statuses); i++)
        f.statuses[i] = 429;
    for (int i = 0; i < 20; i++)
        tick(&f, 71);
    assert_text(&f.evicted, "a a a"); /* after 5 s, then after 10 s */
    f.statuses[3] = 201;
    for (int i = 0; i < 20; i++)
        tick(&f, 71);
    assert_text(&f.evicted, "a");
    fini(&f);
}

static void test_a_lost_answer_evicts_nobody_else(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    f.statuses[0] = 0;
    tick(&f, 71);
    assert_text(&f.evicted, "a");
    f.statuses[1] = 404; /* it had happened */
    tick(&f, 71);
    assert_text(&f.evicted, "a");
    tick(&f, 71);
    assert_text(&f.evicted, "");
    fini(&f);
}

/* ---- by stopping containers ------------------------------------------------------------------ */

static void test_stops_all_running_containers(void **state)
{
    struct fixture f;

    init(&f, *state, false);
    set_pods(&f, "[" POD("a", "5000",
                         WAITING("w", "a0") "," RUNNING("c", "a1") "," RUNNING("d", "a2")) "]");
    tick(&f, 71);
    assert_text(&f.stopped, "a1 a2");
    assert_text(&f.evicted, "");
    assert_true(evictor_pending(f.evictor, f.known.pods->pods[0]));
    /* A slow death is no reason to kill again after the cool-down. */
    for (int i = 0; i < 20; i++)
        tick(&f, 71);
    assert_text(&f.stopped, "");
    fini(&f);
}

static void test_a_victim_that_is_restarted_goes_through_the_api(void **state)
{
    struct fixture f;

    init(&f, *state, false);
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a1")) "]");
    tick(&f, 71);
    assert_text(&f.stopped, "a1");
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a2")) "]");
    assert_false(evictor_pending(f.evictor, f.known.pods->pods[0]));
    for (int i = 0; i < 4; i++)
        tick(&f, 71);
    assert_text(&f.stopped, "");
    assert_text(&f.evicted, "a");
    fini(&f);
}

static void test_the_api_stands_in_for_a_runtime_that_fails(void **state)
{
    struct fixture f;

    init(&f, *state, false);
    set_pods(&f, "[" POD("a", "5000", RUNNING("c", "a1")) "]");
    f.runtime_refuses = true;
    tick(&f, 71);
    assert_text(&f.stopped, "a1");
    assert_text(&f.evicted, "a");
    fini(&f);
    init(&f, *state, false);
    set_pods(&f, "[" POD("a", "5000", WAITING("c", "a1")) "]");
    tick(&f, 71);
    assert_text(&f.stopped, "");
    assert_text(&f.evicted, "a");
    fini(&f);
}

/* ---- when nothing happens -------------------------------------------------------------------- */

static void test_a_nodeslo_that_is_off_evicts_nobody(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    f.known.slo = slo_of(f.b, "{'resourceUsedThresholdWithBE':{'enable':false}}");
    tick(&f, 99);
    f.known.slo = NULL;
    tick(&f, 99);
    assert_text(&f.evicted, "");
    fini(&f);
}

static void test_the_cpu_evictor_waits_after_the_start(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    for (int i = 0; i < 19; i++) {
        loop_advance(f.l, SECOND);
        put(&f, M_NODE_CPU, NULL, 9.5);
        put(&f, M_POD_CPU, METRIC_VALUES("a"), 1);
        strategy_cpu_evict.tick(f.cpu, &f.env);
    }
    assert_text(&f.evicted, "");
    loop_advance(f.l, SECOND);
    put(&f, M_NODE_CPU, NULL, 9.5);
    put(&f, M_POD_CPU, METRIC_VALUES("a"), 1);
    strategy_cpu_evict.tick(f.cpu, &f.env);
    loop_advance(f.l, SECOND);
    assert_text(&f.evicted, "a");
    fini(&f);
}

static void put_be(struct fixture *f, double usage, double request, double limit)
{
    const struct {
        const char *name;
        double v;
    } values[] = { { "usage", usage }, { "request", request }, { "real-limit", limit } };

    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        put(f, M_NODE_BE, METRIC_VALUES("cpu", values[i].name), values[i].v);
}

/* Best effort asked for 2 cores, may use 0.4 and does: the rest of what it asked for goes. */
static void test_satisfaction_is_read_from_the_samples(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f,
             "[{'metadata':{'name':'a','namespace':'d','uid':'a','labels':{'koordinator.sh/"
             "qosClass':'BE'}},'spec':{'priority':5000,'containers':[{'name':'c','resources':{"
             "'requests':{'kubernetes.io/batch-cpu':'1000'}}}]},'status':{'phase':'Running'}},"
             "{'metadata':{'name':'b','namespace':'d','uid':'b','labels':{'koordinator.sh/"
             "qosClass':'BE'}},'spec':{'priority':5100,'containers':[{'name':'c','resources':{"
             "'requests':{'kubernetes.io/batch-cpu':'1000'}}}]},'status':{'phase':'Running'}}]");
    f.known.slo = slo_of(f.b, "{'resourceUsedThresholdWithBE':{'enable':true,"
                              "'cpuEvictBESatisfactionLowerPercent':30,"
                              "'cpuEvictBESatisfactionUpperPercent':60,"
                              "'cpuEvictTimeWindowSeconds':30}}");
    for (int i = 0; i < 19; i++) {
        loop_advance(f.l, SECOND);
        put_be(&f, 390, 2000, 400);
        strategy_cpu_evict.tick(f.cpu, &f.env);
    }
    assert_text(&f.evicted, ""); /* the cool-down after the start */
    loop_advance(f.l, SECOND);
    put_be(&f, 390, 2000, 400);
    strategy_cpu_evict.tick(f.cpu, &f.env);
    loop_advance(f.l, SECOND);
    assert_text(&f.evicted, "a"); /* 800 of 2000 */
    fini(&f);
}

static void test_a_dry_run_evicts_nobody(void **state)
{
    struct fixture f;

    init_as(&f, *state, false, true);
    set_pods(&f, THREE);
    tick(&f, 71);
    assert_text(&f.evicted, "");
    assert_text(&f.stopped, "");
    /* It goes on as if: the next one after the cool-down. */
    assert_true(evictor_pending(f.evictor, f.known.pods->pods[0]));
    assert_false(evictor_pending(f.evictor, f.known.pods->pods[1]));
    fini(&f);
}

static void test_a_jump_of_the_wall_clock_breaks_no_cool_down(void **state)
{
    struct fixture f;

    init(&f, *state, true);
    set_pods(&f, THREE);
    tick(&f, 71);
    assert_text(&f.evicted, "a");
    loop_set_wall(f.l, NOW + 3600 * SECOND);
    tick(&f, 99);
    assert_text(&f.evicted, "");
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_evicts_through_the_api_and_waits),
        FIXTURE_TEST(test_a_victim_counts_as_gone_for_two_minutes),
        FIXTURE_TEST(test_counters_of_pods_do_not_pile_up),
        FIXTURE_TEST(test_a_refused_eviction_turns_to_the_next_pod),
        FIXTURE_TEST(test_a_refused_pod_is_not_asked_about_each_second),
        FIXTURE_TEST(test_a_lost_answer_evicts_nobody_else),
        FIXTURE_TEST(test_stops_all_running_containers),
        FIXTURE_TEST(test_a_victim_that_is_restarted_goes_through_the_api),
        FIXTURE_TEST(test_the_api_stands_in_for_a_runtime_that_fails),
        FIXTURE_TEST(test_a_nodeslo_that_is_off_evicts_nobody),
        FIXTURE_TEST(test_the_cpu_evictor_waits_after_the_start),
        FIXTURE_TEST(test_satisfaction_is_read_from_the_samples),
        FIXTURE_TEST(test_a_dry_run_evicts_nobody),
        FIXTURE_TEST(test_a_jump_of_the_wall_clock_breaks_no_cool_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
