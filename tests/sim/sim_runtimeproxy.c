/* sim_runtimeproxy.c - kubelet, koord-runtime-proxy, runtime and hook server among faults, on the
 * virtual loop.
 *
 * Each run draws everything from its seed: calls of all kinds at random moments, a runtime that
 * answers at once, late, with an error or never, hook servers that are away, slow or wrong, and
 * connections on all three sides that break in the middle of calls, lose an answer, say GOAWAY or
 * reset a call. Each call is answered once; when the runtime answered it, with its status, unless
 * something happened to a connection since or the caller's time was over; the runtime sees a call
 * at most once, with the kubelet's bytes unless a hook gave a good answer that changes them. At the
 * end nothing is left open.
 * Reproduce a run: sim_runtimeproxy SEED. KOORD_TEST_FULL=1: 5,000 seeds in place of 500.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "api/wire/hook.h"
#include "base/klog.h"
#include "base/map.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "net/stream.h"
#include "runtimeproxy/proxy.h"
#include "sys/file.h"

#include "sim_cable.h"

#define MS     NSEC_PER_MSEC

#define SETTLE (20 * MS) /* for the news of a fault to reach everybody */

enum { CALLS = 60, CABLES_MAX = 400, LARGE = 40000 };
enum side { TO_PROXY, TO_RUNTIME, TO_HOOKS };

struct sim;
struct kubelet_call {
    struct sim *s;
    struct grpc_call *call;
    bool hooked, seen, ended;
    bool may_change;  /* a hook gave an answer that says something */
    int runtime_code; /* -1: the runtime has not answered */
    nsec_t sent_at;
    struct strbuf message;
};
struct held { /* an answer of the runtime or of a hook server that comes later */
    struct sim *s;
    struct grpc_req *req;
    struct timer *timer;
    int nonce;
    enum grpc_code code;
};
enum fault { BREAKS, LOSES_ANSWER, GOES_AWAY, RESETS_CALL, FAULTS };
struct plugged { /* a connection, and what is going to happen to it */
    struct sim *s;
    struct cable *cable;
    enum side to;
    enum fault fault;
    struct timer *timer; /* NULL: nothing */
};
struct sim {
    struct loop *l;
    char dir[64];
    struct metrics *metrics;
    struct proxy *proxy;
    bool started;
    struct grpc_server *runtime, *hooks;
    struct http *kubelet;
    struct kubelet_call calls[CALLS];
    unsigned faults; /* per mille */
    struct plugged cables[CABLES_MAX];
    size_t ncables;
    nsec_t fault_at; /* when something last happened between kubelet and runtime */
    unsigned happened[FAULTS], answered, hooked_ok, hooked_late, hooked_wrong, changed;
    char hook_file[96];
};

static bool chance(struct sim *s, unsigned per_mille)
{
    return loop_rand_below(s->l, 1000) < per_mille;
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* The nonce of a call stands in a field of its own, 500; CRI has none of that number. */
static int nonce_of(struct str message)
{
    struct wire_field f;

    while (wire_next(&message, &f) > 0)
        if (f.num == 500)
            return (int)f.value;
    return -1;
}

static void held_gone(void *arg)
{
    struct held *h = arg;

    timer_cancel(h->timer);
    free(h);
}

static void answer(struct sim *s, struct grpc_req *r, int nonce, enum grpc_code code)
{
    if (nonce >= 0)
        s->calls[nonce].runtime_code = (int)code;
    if (code != GRPC_OK) {
        grpc_fail(r, code, "the runtime says no");
        return;
    }
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    char id[16];
    snprintf(id, sizeof id, "id-%d", nonce % 5);
    if (nonce >= 0) /* else Version or a list, of nothing */
        wire_put_bytes(&out, 1, str_of(id));
    grpc_send(r, (struct str){ strbuf_str(&out), out.len });
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static void on_held(struct loop *l, void *arg)
{
    struct held *h = arg;

    (void)l;
    h->timer = NULL;
    answer(h->s, h->req, h->nonce, h->code);
    free(h);
}

static void serve_runtime(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    static const struct grpc_req_events events = { .on_close = held_gone };
    static const enum grpc_code codes[] = { GRPC_NOT_FOUND, GRPC_UNKNOWN, GRPC_UNAVAILABLE,
                                            GRPC_RESOURCE_EXHAUSTED };
    struct sim *s = arg;
    int nonce = nonce_of(message);

    (void)method;
    if (nonce >= 0) {
        struct kubelet_call *c = &s->calls[nonce];
        assert_false(c->seen); /* once */
        c->seen = true;
        bool same = str_eq(message, (struct str){ c->message.data, c->message.len });
        assert_true(same || (c->hooked && c->may_change));
        s->changed += !same;
    }
    enum grpc_code code = nonce >= 0 && chance(s, s->faults)
                              ? codes[loop_rand_below(s->l, ARRAY_LEN(codes))]
                              : GRPC_OK;
    if (nonce < 0 || chance(s, 500)) {
        answer(s, r, nonce, code);
        return;
    }
    struct held *h = xnew0(struct held);
    *h = (struct held){ .s = s, .req = r, .nonce = nonce, .code = code };
    grpc_set_events(r, &events, h);
    if (!chance(s, s->faults / 4)) /* else never */
        h->timer = loop_after(s->l, (nsec_t)loop_rand_below(s->l, 3000) * MS, on_held, h);
}

/* ---- the hook server ------------------------------------------------------------------------- */

/* The kubelet's nonce stands in an annotation: hooks see no fields that they do not know. */
static int nonce_of_annotations(const char *method, struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    union {
        struct hook_pod_request pod;
        struct hook_container_request container;
    } in;
    bool is_pod = strstr(method, "PodSandboxHook") != NULL;

    assert_int_equal(wire_decode(is_pod ? &hook_pod_request_table : &hook_container_request_table,
                                 message, a, &in, NULL),
                     0);
    const wire_map *notes = is_pod ? &in.pod.annotations : &in.container.annotations;
    for (uint32_t i = 0; i < notes->n; i++)
        if (str_eqz(notes->items[i].key, "nonce"))
            return atoi(arena_strndup(a, notes->items[i].value.p, notes->items[i].value.n));
    return -1;
}

/* Cut off, of the wrong type, none, two. */
static void say_wrong(struct sim *s, struct grpc_req *r)
{
    s->hooked_wrong++;
    switch (loop_rand_below(s->l, 4)) {
    case 0: grpc_send(r, STR("\x12\x7f\x01")); break;
    case 1: grpc_send(r, STR("\x10\x05\x20\x05")); break;
    case 2: break;
    default: grpc_send(r, STR("")), grpc_send(r, STR(""));
    }
}

static void say_good(struct sim *s, struct grpc_req *r, int nonce)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct cri_resources res = { .cpu_quota = 50000 };

    if (chance(s, 100)) /* absurd, but an answer */
        res = (struct cri_resources){ .cpu_period = INT64_MIN, .oom_score_adj = 1 << 30 };
    if (nonce >= 0 && chance(s, 500)) {
        s->calls[nonce].may_change = true;
        wire_encode(&hook_container_response_table,
                    &(struct hook_container_response){ .resources = &res }, &out);
    }
    s->hooked_ok++;
    grpc_send(r, (struct str){ strbuf_str(&out), out.len });
}

static void on_hook_due(struct loop *l, void *arg)
{
    struct held *h = arg;
    struct sim *s = h->s;

    (void)l;
    h->timer = NULL;
    if (chance(s, s->faults))
        say_wrong(s, h->req);
    else
        say_good(s, h->req, h->nonce);
    grpc_finish(h->req, &(struct grpc_status){ .code = GRPC_OK });
    free(h);
}

static void serve_hook(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    static const struct grpc_req_events events = { .on_close = held_gone };
    struct sim *s = arg;

    if (chance(s, s->faults / 2)) {
        grpc_fail(r, GRPC_INTERNAL, "no rules");
        return;
    }
    struct held *h = xnew0(struct held);
    *h = (struct held){ .s = s, .req = r, .nonce = nonce_of_annotations(method, message) };
    grpc_set_events(r, &events, h);
    if (chance(s, s->faults / 2))
        return; /* hangs */
    bool late = chance(s, s->faults);
    s->hooked_late += late;
    h->timer =
        loop_after(s->l, late ? (nsec_t)loop_rand_below(s->l, 4000) * MS : 0, on_hook_due, h);
}

/* ---- connections ----------------------------------------------------------------------------- */

struct dialing {
    struct sim *s;
    enum side to;
    http_dialed_fn fn;
    void *arg;
};

static void on_unplugged(void *arg, struct cable *c)
{
    struct plugged *p = arg;

    (void)c;
    p->cable = NULL;
    p->timer = timer_cancel(p->timer);
}

static void happens(struct plugged *p)
{
    p->s->happened[p->fault]++;
    if (p->to != TO_HOOKS)
        p->s->fault_at = MAX(p->s->fault_at, loop_mono(p->s->l));
}

static void on_fault(struct loop *l, void *arg)
{
    static const uint32_t codes[] = { 2 /* INTERNAL_ERROR */, 8 /* CANCEL */, 11 /* CALM */ };
    struct plugged *p = arg;
    struct sim *s = p->s;

    p->timer = NULL;
    happens(p);
    switch (p->fault) {
    case LOSES_ANSWER: cable_lose_answer(p->cable); break;
    case RESETS_CALL:
        cable_reset_call(p->cable, codes[loop_rand_below(l, ARRAY_LEN(codes))]);
        break;
    case GOES_AWAY: /* and does so a little later */
        cable_goaway(p->cable);
        p->fault = BREAKS;
        p->timer = loop_after(l, (nsec_t)loop_rand_below(s->l, 1000) * MS, on_fault, p);
        return;
    default: cable_break(p->cable); return;
    }
    /* It shows when the server says something next, whenever that is. */
    if (p->to != TO_HOOKS)
        s->fault_at = NSEC_MAX;
}

/* A connection that has a fault has it soon: most of them carry all calls of a run. */
static void plug(struct sim *s, enum side to, struct stream **ret_client,
                 struct stream **ret_server)
{
    struct plugged *p = &s->cables[s->ncables++];
    const struct mem_opts mem = { .latency = (nsec_t)loop_rand_below(s->l, 3) * MS,
                                  .chunk = chance(s, 100) ? 20 + loop_rand_below(s->l, 200) : 0 };

    assert_true(s->ncables < CABLES_MAX);
    *p = (struct plugged){ .s = s, .to = to };
    p->cable = cable_new(s->l, &mem, on_unplugged, p, ret_client, ret_server);
    p->fault = (enum fault)loop_rand_below(s->l, FAULTS);
    if (s->faults && chance(s, 600 + s->faults))
        p->timer = loop_after(s->l, (nsec_t)loop_rand_below(s->l, 1500) * MS, on_fault, p);
}

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct sim *s = d.s;
    struct stream *client, *server;
    struct kerr err;

    (void)l;
    free(arg);
    if ((d.to == TO_PROXY && !s->proxy) || (s->faults && chance(s, s->faults))) {
        kerr_set(&err, -ECONNREFUSED, "nobody listens");
        d.fn(d.arg, NULL, &err);
        return;
    }
    plug(s, d.to, &client, &server);
    if (d.to == TO_PROXY)
        proxy_serve(s->proxy, server);
    else
        httpd_serve(grpc_server_httpd(d.to == TO_RUNTIME ? s->runtime : s->hooks), server,
                    "memory");
    d.fn(d.arg, client, NULL);
}

static void dial(void *arg, enum side to, http_dialed_fn fn, void *fn_arg)
{
    struct sim *s = arg;
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ s, to, fn, fn_arg };
    loop_after(s->l, (nsec_t)loop_rand_below(s->l, 2) * MS, dial_due, d);
}

static void dial_proxy(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, TO_PROXY, fn, fn_arg);
}

static void dial_runtime(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, TO_RUNTIME, fn, fn_arg);
}

static void dial_hooks(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    (void)l;
    dial(arg, TO_HOOKS, fn, fn_arg);
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

static void on_message(void *arg, struct str m)
{
    (void)arg, (void)m;
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct kubelet_call *c = arg;

    assert_false(c->ended);
    c->ended = true;
    c->call = NULL;
    c->s->answered++;
    if (st->code == GRPC_OK)
        assert_int_equal(c->runtime_code, GRPC_OK); /* nobody but the runtime says yes */
    else if (c->runtime_code >= 0 && c->s->fault_at < c->sent_at - SETTLE &&
             st->code != GRPC_DEADLINE_EXCEEDED)
        assert_int_equal((int)st->code, c->runtime_code);
}

static const struct method {
    const char *method;
    bool hooked;
} methods[] = {
    { CRI_RUNTIME_SERVICE "Status", false },
    { CRI_RUNTIME_SERVICE "ExecSync", false },
    { "/runtime.v1.ImageService/PullImage", false },
    { "/foo.Bar/Baz", false },
    { CRI_RUNTIME_SERVICE "RunPodSandbox", true },
    { CRI_RUNTIME_SERVICE "CreateContainer", true },
    { CRI_RUNTIME_SERVICE "StartContainer", true },
    { CRI_RUNTIME_SERVICE "StopContainer", true },
    { CRI_RUNTIME_SERVICE "UpdateContainerResources", true },
    { CRI_RUNTIME_SERVICE "StopPodSandbox", true },
};

static void write_message(struct sim *s, const struct method *m, int nonce, struct strbuf *out)
{
    char text[16], id[16];
    struct wire_pair note = { STR("nonce"), { text, 0 } };
    const wire_map notes = { &note, 1 };

    note.value.n = (size_t)snprintf(text, sizeof text, "%d", nonce);
    snprintf(id, sizeof id, "id-%d", (int)loop_rand_below(s->l, 5));
    if (streq(m->method, CRI_RUNTIME_SERVICE "RunPodSandbox")) {
        struct cri_pod_config config = { .annotations = notes };
        wire_encode(&cri_run_pod_request_table, &(struct cri_run_pod_request){ .config = &config },
                    out);
    } else if (streq(m->method, CRI_RUNTIME_SERVICE "CreateContainer")) {
        struct cri_container_config config = { .annotations = notes };
        wire_encode(&cri_create_request_table,
                    &(struct cri_create_request){ .pod_id = str_of(id), .config = &config }, out);
    } else if (streq(m->method, CRI_RUNTIME_SERVICE "UpdateContainerResources")) {
        wire_encode(
            &cri_update_request_table,
            &(struct cri_update_request){ .container_id = str_of(id), .annotations = notes }, out);
    } else {
        wire_put_bytes(out, 1, str_of(id));
    }
    if (chance(s, 100)) { /* a large one */
        CLEANUP(mem_free) char *block = xcalloc(1, LARGE);
        wire_put_bytes(out, 77, (struct str){ block, LARGE });
    }
    wire_put_varint(out, 500, (uint64_t)nonce);
}

static void send_call(struct sim *s, int nonce)
{
    static const struct grpc_call_events events = { on_message, on_end };
    struct kubelet_call *c = &s->calls[nonce];
    const struct method *m = &methods[loop_rand_below(s->l, ARRAY_LEN(methods))];

    *c = (struct kubelet_call){
        .s = s, .runtime_code = -1, .hooked = m->hooked, .sent_at = loop_mono(s->l)
    };
    write_message(s, m, nonce, &c->message);
    c->call = grpc_call_send(
        s->kubelet,
        &(struct grpc_call_opts){ .method = m->method,
                                  .message = { c->message.data, c->message.len },
                                  .timeout = (nsec_t)(500 + loop_rand_below(s->l, 9500)) * MS },
        &events, c);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void on_started(void *arg, const struct kerr *err)
{
    struct sim *s = arg;

    s->started = !err;
}

static void write_hooks(struct sim *s)
{
    static const char text[] =
        "{\"remote-endpoint\":\"/h.sock\",\"failure-policy\":\"%s\",\"runtime-hooks\":["
        "\"PreRunPodSandbox\",\"PreCreateContainer\",\"PreStartContainer\",\"PostStartContainer\","
        "\"PreUpdateContainerResources\",\"PostStopContainer\",\"PostStopPodSandbox\"]}";
    CLEANUP(mem_free) char *all = xasprintf(text, chance(s, 300) ? "Fail" : "Ignore");

    snprintf(s->hook_file, sizeof s->hook_file, "%s/h.json", s->dir);
    assert_int_equal(file_write_atomic(AT_FDCWD, s->hook_file, all, strlen(all), 0644, NULL), 0);
}

static void sim_init(struct sim *s, uint64_t seed)
{
    struct kerr err;

    *s = (struct sim){ .l = loop_new_virtual(0, seed), .fault_at = INT64_MIN };
    snprintf(s->dir, sizeof s->dir, "/tmp/sim_runtimeproxy.XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    write_hooks(s);
    s->metrics = metrics_new();
    s->runtime = grpc_server_new(s->l, NULL, serve_runtime, s);
    s->hooks = grpc_server_new(s->l, NULL, serve_hook, s);
    s->proxy = proxy_new(&(struct proxy_opts){ .loop = s->l,
                                               .backend = "memory",
                                               .config_dir = s->dir,
                                               .skip_key = "skip",
                                               .skip_value = "true",
                                               .metrics = s->metrics,
                                               .dial = dial_runtime,
                                               .hook_dial = dial_hooks,
                                               .dial_arg = s });
    assert_int_equal(proxy_start(s->proxy, on_started, s, &err), 0);
    loop_advance(s->l, NSEC_PER_SEC);
    assert_true(s->started);
    s->kubelet = grpc_client_new(s->l, "memory", dial_proxy, s);
    s->faults = (unsigned)loop_rand_below(s->l, 200);
}

static void sim_fini(struct sim *s)
{
    http_free(s->kubelet);
    proxy_free(s->proxy);
    grpc_server_free(s->runtime);
    grpc_server_free(s->hooks);
    loop_advance(s->l, NSEC_PER_SEC);
    metrics_free(s->metrics);
    for (int i = 0; i < CALLS; i++)
        strbuf_fini(&s->calls[i].message);
    loop_free(s->l);
    unlink(s->hook_file);
    rmdir(s->dir);
}

static void nothing_is_open(struct sim *s, uint64_t seed)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write(&s->metrics, 1, &text);
    if (!strstr(strbuf_str(&text), "\nkoord_runtime_proxy_open_calls 0\n"))
        fail_msg("seed %llu: calls are left open", (unsigned long long)seed);
}

struct totals {
    unsigned answered, happened[FAULTS], hooked, late, wrong, changed, cancelled;
};

static void simulate(uint64_t seed, struct totals *sum)
{
    struct sim s;

    sim_init(&s, seed);
    for (int i = 0; i < CALLS; i++) {
        send_call(&s, i);
        loop_advance(s.l, (nsec_t)loop_rand_below(s.l, 60) * MS);
        int other = (int)loop_rand_below(s.l, (uint64_t)i + 1);
        if (chance(&s, 50) && s.calls[other].call) { /* the kubelet gives one up */
            s.calls[other].call = grpc_call_cancel(s.calls[other].call);
            s.calls[other].ended = true;
            sum->cancelled++;
        }
    }
    loop_advance(s.l, 30 * NSEC_PER_SEC);
    for (int i = 0; i < CALLS; i++)
        if (!s.calls[i].ended)
            fail_msg("seed %llu: call %d was never answered", (unsigned long long)seed, i);
    nothing_is_open(&s, seed);
    sum->answered += s.answered;
    for (int i = 0; i < FAULTS; i++)
        sum->happened[i] += s.happened[i];
    sum->hooked += s.hooked_ok;
    sum->late += s.hooked_late;
    sum->wrong += s.hooked_wrong;
    sum->changed += s.changed;
    sim_fini(&s);
}

static uint64_t only_seed;

static void test_each_call_is_answered_once(void **state)
{
    uint64_t runs = getenv("KOORD_TEST_FULL") ? 5000 : 500;
    struct totals sum = { 0 };

    (void)state;
    if (only_seed) {
        simulate(only_seed, &sum);
        return;
    }
    for (uint64_t seed = 1; seed <= runs; seed++)
        simulate(seed, &sum);
    print_message("%u calls answered, %u given up; %u connections broken, %u answers lost, %u "
                  "GOAWAY, %u calls reset; %u hooks, %u late, %u wrong, %u requests changed\n",
                  sum.answered, sum.cancelled, sum.happened[BREAKS], sum.happened[LOSES_ANSWER],
                  sum.happened[GOES_AWAY], sum.happened[RESETS_CALL], sum.hooked, sum.late,
                  sum.wrong, sum.changed);
    /* The runs are worth something only if all of it happened. */
    for (int i = 0; i < FAULTS; i++)
        assert_true(sum.happened[i] > 100);
    assert_true(sum.hooked > 1000 && sum.late > 100 && sum.wrong > 100 && sum.changed > 50 &&
                sum.cancelled > 100);
}

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_call_is_answered_once) };

    hash_set_key(1, 2);
    if (argc > 1)
        only_seed = strtoull(argv[1], NULL, 10);
    else
        klog_set_sink(quiet, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
