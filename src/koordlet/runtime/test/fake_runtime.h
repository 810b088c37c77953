/* fake_runtime.h - the runtime's side of NRI over memory: registers plugins, configures, asks. */
#ifndef KOORD_KOORDLET_RUNTIME_TEST_FAKE_RUNTIME_H
#define KOORD_KOORDLET_RUNTIME_TEST_FAKE_RUNTIME_H
#include "api/wire/nri.h"
#include "loop/loop.h"
#include "net/nrimux.h"
#include "net/stream.h"
#include "net/ttrpc.h"

struct fake_runtime {
    struct loop *loop;
    struct mem_opts mem;
    struct stream *end;             /* NULL: nobody is connected */
    struct ttrpc *plugin, *runtime; /* we call, we serve */
    struct nrimux_reader mux;
    struct strbuf raw; /* everything that came in */
    unsigned connections, open, registered;
    bool refuse; /* nobody listens */
    const char *config;
    char name[64], index[8];
    /* The last answer. */
    unsigned answers;
    enum grpc_code code;
    char text[256];
    struct strbuf payload;
    struct arena *arena;
};

static inline UNUSED void fake_answered(void *arg, enum grpc_code code, struct str text,
                                        struct str payload)
{
    struct fake_runtime *f = arg;

    f->answers++;
    f->code = code;
    snprintf(f->text, sizeof f->text, "%.*s", (int)text.n, text.n ? text.p : "");
    strbuf_reset(&f->payload);
    if (payload.n)
        strbuf_appendn(&f->payload, payload.p, payload.n);
}

static inline UNUSED void fake_call_raw(struct fake_runtime *f, const char *method,
                                        struct str payload)
{
    ttrpc_call(f->plugin,
               &(struct ttrpc_request){ .service = STR(NRI_PLUGIN_SERVICE),
                                        .method = str_of(method),
                                        .payload = payload,
                                        .timeout = 2 * NSEC_PER_SEC },
               fake_answered, f);
}

static inline UNUSED void fake_call(struct fake_runtime *f, const char *method,
                                    const struct wire_table *t, const void *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, message, &out);
    fake_call_raw(f, method, (struct str){ strbuf_str(&out), out.len });
}

/* The same, and its answer. */
static inline UNUSED void fake_ask(struct fake_runtime *f, const char *method,
                                   const struct wire_table *t, const void *message)
{
    unsigned before = f->answers;

    fake_call(f, method, t, message);
    loop_advance(f->loop, 20 * NSEC_PER_MSEC);
    assert_int_equal(f->answers, before + 1);
}

static inline UNUSED void fake_read(struct fake_runtime *f, const struct wire_table *t, void *ret)
{
    if (f->code != GRPC_OK)
        fail_msg("refused: %s", f->text);
    assert_int_equal(
        wire_decode(t, (struct str){ f->payload.data, f->payload.len }, f->arena, ret, NULL), 0);
}

static inline UNUSED void fake_send(struct fake_runtime *f, uint32_t id, struct str m)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    nrimux_put(&out, id, m);
    if (f->end)
        stream_write(f->end, out.data, out.len);
}

static inline UNUSED void fake_send_plugin(void *arg, struct str m)
{
    fake_send(arg, NRIMUX_PLUGIN, m);
}

static inline UNUSED void fake_send_runtime(void *arg, struct str m)
{
    fake_send(arg, NRIMUX_RUNTIME, m);
}

static inline UNUSED void fake_serve(void *arg, const struct ttrpc_request *r)
{
    struct fake_runtime *f = arg;
    struct nri_register_request in;

    assert_true(str_eqz(r->service, NRI_RUNTIME_SERVICE));
    assert_true(str_eqz(r->method, "RegisterPlugin"));
    assert_int_equal(wire_decode(&nri_register_request_table, r->payload, f->arena, &in, NULL), 0);
    snprintf(f->name, sizeof f->name, "%.*s", (int)in.name.n, in.name.p);
    snprintf(f->index, sizeof f->index, "%.*s", (int)in.index.n, in.index.p);
    f->registered++;
    ttrpc_reply(f->runtime, r->stream, STR(""));
    fake_call(f, "Configure", &nri_configure_request_table,
              &(struct nri_configure_request){ .config = str_of(f->config),
                                               .runtime_name = STR("containerd"),
                                               .runtime_version = STR("v2.2.1"),
                                               .registration_timeout_ms = 5000,
                                               .request_timeout_ms = 2000 });
}

static inline UNUSED bool fake_payload(void *arg, uint32_t id, const char *p, size_t n)
{
    struct fake_runtime *f = arg;

    if (id == NRIMUX_PLUGIN)
        ttrpc_feed(f->plugin, p, n);
    else
        ttrpc_feed(f->runtime, p, n);
    return true;
}

static inline UNUSED void fake_data(void *arg, const char *p, size_t n)
{
    struct fake_runtime *f = arg;

    strbuf_appendn(&f->raw, p, n);
    assert_int_equal(nrimux_feed(&f->mux, p, n, fake_payload, f, NULL), 0);
}

static inline UNUSED void fake_drop(struct fake_runtime *f)
{
    if (!f->end)
        return;
    f->end = stream_close(f->end);
    f->plugin = ttrpc_free(f->plugin);
    f->runtime = ttrpc_free(f->runtime);
    f->open--;
}

static inline UNUSED void fake_closed(void *arg, const struct kerr *err)
{
    (void)err;
    fake_drop(arg);
}

struct fake_dial {
    struct fake_runtime *f;
    http_dialed_fn fn;
    void *arg;
};

static inline UNUSED void fake_dialed(struct loop *l, void *arg)
{
    static const struct stream_events events = { .on_data = fake_data, .on_close = fake_closed };
    struct fake_dial *d = arg;
    struct fake_runtime *f = d->f;
    struct stream *ends[2];
    struct kerr err;

    if (f->refuse) {
        kerr_set(&err, -ECONNREFUSED, "nobody listens");
        d->fn(d->arg, NULL, &err);
    } else {
        fake_drop(f);
        f->connections++;
        f->open++;
        assert_int_equal(f->open, 1);
        stream_mem_pair(l, &f->mem, ends);
        f->end = ends[0];
        f->mux = (struct nrimux_reader){ 0 };
        f->plugin = ttrpc_new(&(struct ttrpc_opts){ l, fake_send_plugin, NULL, f });
        f->runtime = ttrpc_new(&(struct ttrpc_opts){ l, fake_send_runtime, fake_serve, f });
        strbuf_reset(&f->raw);
        stream_listen(f->end, &events, f);
        d->fn(d->arg, ends[1], NULL);
    }
    free(d);
}

static inline UNUSED void fake_dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct fake_dial *d = xnew0(struct fake_dial);

    *d = (struct fake_dial){ dial_arg, fn, arg };
    loop_post(l, fake_dialed, d);
}

static inline UNUSED void fake_runtime_init(struct fake_runtime *f, struct loop *l)
{
    *f = (struct fake_runtime){ .loop = l, .config = "", .arena = arena_new() };
}

static inline UNUSED void fake_runtime_fini(struct fake_runtime *f)
{
    fake_drop(f);
    strbuf_fini(&f->raw);
    strbuf_fini(&f->payload);
    arena_free(f->arena);
}
#endif
