/* sim_runtimeproxy.c - kubelet, koord-runtime-proxy, runtime and hook server among faults, on the
 * virtual loop.
 *
 * Each run draws everything from its seed: calls of all kinds at random moments, a runtime that
 * answers at once, late, with an error or never, hook servers that are away, slow or wrong, broken
 * connections on all three sides. Each call is answered once; when the runtime answered it, with
 * its status, unless a connection broke or the caller's time was over; the runtime sees a call at
 * most once, and bytes that no hook may change are the kubelet's. At the end nothing is left open.
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

#define MS NSEC_PER_MSEC

enum { CALLS = 60 };
enum side { TO_PROXY, TO_RUNTIME, TO_HOOKS };

struct sim;
struct kubelet_call {
    struct sim *s;
    struct grpc_call *call;
    bool hooked, seen, ended, was_cancelled;
    int runtime_code; /* -1: the runtime has not answered */
    struct strbuf message;
};
struct held { /* an answer of the runtime that comes later */
    struct sim *s;
    struct grpc_req *req;
    struct timer *timer;
    int nonce;
    enum grpc_code code;
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
    unsigned broken, answered, hooked_ok, changed;
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
        if (!c->hooked)
            assert_true(str_eq(message, (struct str){ c->message.data, c->message.len }));
        else if (!str_eq(message, (struct str){ c->message.data, c->message.len }))
            s->changed++;
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

static void hook_gone(void *arg)
{
    (void)arg;
}

static void serve_hook(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    static const struct grpc_req_events events = { .on_close = hook_gone };
    struct sim *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)method, (void)message;
    grpc_set_events(r, &events, s);
    if (chance(s, s->faults / 2))
        return; /* hangs */
    if (chance(s, s->faults / 2)) {
        grpc_fail(r, GRPC_INTERNAL, "no rules");
        return;
    }
    if (chance(s, s->faults)) {
        grpc_send(r, STR("\x12\x7f\x01")); /* cut off */
    } else if (chance(s, 300)) {
        struct cri_resources res = { .cpu_quota = 50000 };
        wire_encode(&hook_container_response_table,
                    &(struct hook_container_response){ .resources = &res }, &out);
        grpc_send(r, (struct str){ out.data, out.len });
    } else {
        grpc_send(r, STR(""));
    }
    s->hooked_ok++;
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

/* ---- connections ----------------------------------------------------------------------------- */

struct dialing {
    struct sim *s;
    enum side to;
    http_dialed_fn fn;
    void *arg;
};

static void dial_due(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct sim *s = d.s;
    struct stream *ends[2];
    struct kerr err;

    free(arg);
    if ((d.to == TO_PROXY && !s->proxy) || (s->faults && chance(s, s->faults))) {
        kerr_set(&err, -ECONNREFUSED, "nobody listens");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(
        l,
        &(struct mem_opts){ .latency = (nsec_t)loop_rand_below(l, 3) * MS,
                            .chunk = chance(s, 100) ? 20 + loop_rand_below(l, 200) : 0 },
        ends);
    if (d.to == TO_PROXY)
        proxy_serve(s->proxy, ends[1]);
    else
        httpd_serve(grpc_server_httpd(d.to == TO_RUNTIME ? s->runtime : s->hooks), ends[1],
                    "memory");
    if (chance(s, s->faults)) { /* broken before anything was said, or soon */
        s->broken++;
        stream_mem_break(ends[1], -ECONNRESET, "connection reset");
    }
    d.fn(d.arg, ends[0], NULL);
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
    else if (c->runtime_code > GRPC_OK && st->code != GRPC_UNAVAILABLE &&
             st->code != GRPC_DEADLINE_EXCEEDED && st->code != GRPC_INTERNAL)
        assert_int_equal((int)st->code, c->runtime_code);
}

static const struct {
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

static void send_call(struct sim *s, int nonce)
{
    static const struct grpc_call_events events = { on_message, on_end };
    struct kubelet_call *c = &s->calls[nonce];
    size_t m = loop_rand_below(s->l, ARRAY_LEN(methods));
    char id[16];

    *c = (struct kubelet_call){ .s = s, .runtime_code = -1, .hooked = methods[m].hooked };
    snprintf(id, sizeof id, "id-%d", (int)loop_rand_below(s->l, 5));
    if (!streq(methods[m].method, CRI_RUNTIME_SERVICE "RunPodSandbox"))
        wire_put_bytes(&c->message, 1, str_of(id));
    if (chance(s, 100)) { /* a large one */
        CLEANUP(mem_free) char *block = xcalloc(1, 40000);
        wire_put_bytes(&c->message, 77, (struct str){ block, 40000 });
    }
    wire_put_varint(&c->message, 500, (uint64_t)nonce);
    c->call = grpc_call_send(
        s->kubelet,
        &(struct grpc_call_opts){ .method = methods[m].method,
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

    *s = (struct sim){ .l = loop_new_virtual(0, seed) };
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
    unsigned answered, broken, hooked, changed, cancelled;
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
            s.calls[other].ended = s.calls[other].was_cancelled = true;
            sum->cancelled++;
        }
    }
    loop_advance(s.l, 30 * NSEC_PER_SEC);
    for (int i = 0; i < CALLS; i++)
        if (!s.calls[i].ended)
            fail_msg("seed %llu: call %d was never answered", (unsigned long long)seed, i);
    nothing_is_open(&s, seed);
    sum->answered += s.answered;
    sum->broken += s.broken;
    sum->hooked += s.hooked_ok;
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
    print_message("%u calls answered, %u given up, %u connections broken, %u hooks, %u requests "
                  "changed\n",
                  sum.answered, sum.cancelled, sum.broken, sum.hooked, sum.changed);
    /* The runs are worth something only if all of it happened. */
    assert_true(sum.broken > 100 && sum.hooked > 1000 && sum.changed > 50 && sum.cancelled > 100);
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
