/* nri_session.c - the plugin's side of an NRI connection. */
#include "koordlet/runtime/nri_session.h"

#include "base/vec.h"
#include "loop/loop.h"
#include "net/nrimux.h"
#include "net/stream.h"
#include "net/ttrpc.h"

#define REGISTER_TIMEOUT (5 * NSEC_PER_SEC)

enum { KEPT_MAX = 64 << 20 /* bytes of a Synchronize in parts */ };

struct part { /* of a Synchronize that is not complete */
    char *bytes;
    struct nri_synchronize_request message;
};
struct nri_session {
    struct nri_session_opts o;
    struct stream *stream;
    const struct nri_handlers *on;
    void *arg;
    struct nrimux_reader mux;
    struct ttrpc *plugin, *runtime; /* we serve, we call */
    struct strbuf out;
    struct arena *arena; /* of the request in hand */
    struct arena *kept;  /* of the parts; NULL: there are none */
    struct vec_of(struct part) parts;
    size_t kept_bytes;
    struct timer *failing;
    bool over; /* told, or about to be: nothing that comes counts any more */
    struct kerr why;
};

/* ---- the end --------------------------------------------------------------------------------- */

static void on_failing(struct loop *l, void *arg)
{
    struct nri_session *s = arg;
    struct kerr why = s->why; /* the session may go meanwhile */

    (void)l;
    s->failing = NULL;
    s->on->closed(s->arg, &why);
}

/* Told in a later turn: whoever frees the session does it from there. */
static void fail(struct nri_session *s, const struct kerr *why)
{
    if (s->over)
        return;
    s->over = true;
    s->why = *why;
    s->failing = loop_after(s->o.loop, 0, on_failing, s);
}

static void forget_parts(struct nri_session *s)
{
    vec_foreach(&s->parts, i)
        free(s->parts.items[i].bytes);
    vec_fini(&s->parts);
    s->kept = s->kept ? arena_free(s->kept) : NULL;
    s->kept_bytes = 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_on(struct nri_session *s, uint32_t id, struct str message)
{
    strbuf_reset(&s->out);
    nrimux_put(&s->out, id, message);
    stream_write(s->stream, s->out.data, s->out.len);
}

static void send_plugin(void *arg, struct str message)
{
    send_on(arg, NRIMUX_PLUGIN, message);
}

static void send_runtime(void *arg, struct str message)
{
    send_on(arg, NRIMUX_RUNTIME, message);
}

static void answer(struct nri_session *s, uint32_t stream, const struct wire_table *t,
                   const void *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (t)
        wire_encode(t, message, &out);
    ttrpc_reply(s->plugin, stream, (struct str){ strbuf_str(&out), out.len });
}

static void refuse(struct nri_session *s, uint32_t stream, const struct kerr *err)
{
    ttrpc_fail(s->plugin, stream, GRPC_UNKNOWN, "%s", err->text);
}

/* ---- calls of the runtime -------------------------------------------------------------------- */

typedef void (*serve_fn)(struct nri_session *s, const struct ttrpc_request *r);

static bool read_request(struct nri_session *s, const struct ttrpc_request *r,
                         const struct wire_table *t, void *out)
{
    struct kerr err;

    if (wire_decode(t, r->payload, s->arena, out, &err) == 0)
        return true;
    ttrpc_fail(s->plugin, r->stream, GRPC_INVALID_ARGUMENT, "%s", err.text);
    return false;
}

static void serve_configure(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_configure_request in;
    struct nri_configure_response out = { 0 };
    struct kerr err;
    int mask;

    if (!read_request(s, r, &nri_configure_request_table, &in))
        return;
    if (nri_events_parse(in.config, s->o.events, &mask, &err) < 0) {
        refuse(s, r->stream, &err);
        return;
    }
    out.events = mask;
    answer(s, r->stream, &nri_configure_response_table, &out);
    s->on->ready(s->arg, in.runtime_name, in.runtime_version);
}

/* The bytes stay while others follow: what was read points into them. */
static bool keep_part(struct nri_session *s, const struct ttrpc_request *r)
{
    struct part p = { 0 };
    struct kerr err;

    if (!s->kept)
        s->kept = arena_new();
    s->kept_bytes += r->payload.n;
    if (s->kept_bytes > KEPT_MAX) {
        forget_parts(s);
        ttrpc_fail(s->plugin, r->stream, GRPC_RESOURCE_EXHAUSTED,
                   "the parts of this Synchronize have more than %d bytes", KEPT_MAX);
        return false;
    }
    p.bytes = xmemdup(r->payload.n ? r->payload.p : "", MAX(r->payload.n, (size_t)1));
    if (wire_decode(&nri_synchronize_request_table, (struct str){ p.bytes, r->payload.n }, s->kept,
                    &p.message, &err) < 0) {
        free(p.bytes);
        forget_parts(s);
        ttrpc_fail(s->plugin, r->stream, GRPC_INVALID_ARGUMENT, "%s", err.text);
        return false;
    }
    vec_push(&s->parts, p);
    return true;
}

static void inventory_of(struct nri_session *s, struct nri_inventory *ret)
{
    size_t np = 0, nc = 0;

    vec_foreach(&s->parts, i) {
        np += s->parts.items[i].message.pods.n;
        nc += s->parts.items[i].message.containers.n;
    }
    *ret = (struct nri_inventory){ .pods = arena_newn0(s->kept, np + 1, const struct nri_pod *),
                                   .containers =
                                       arena_newn0(s->kept, nc + 1, const struct nri_container *) };
    vec_foreach(&s->parts, i) {
        const struct nri_synchronize_request *m = &s->parts.items[i].message;
        for (uint32_t k = 0; k < m->pods.n; k++)
            ret->pods[ret->npods++] = &m->pods.items[k];
        for (uint32_t k = 0; k < m->containers.n; k++)
            ret->containers[ret->ncontainers++] = &m->containers.items[k];
    }
}

static void serve_synchronize(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_synchronize_response out = { 0 };
    struct nri_inventory all;

    if (!keep_part(s, r))
        return;
    if (vec_last(&s->parts).message.more) {
        out.more = true;
        answer(s, r->stream, &nri_synchronize_response_table, &out);
        return;
    }
    inventory_of(s, &all);
    s->on->synchronize(s->arg, &all, s->kept, &out.update);
    answer(s, r->stream, &nri_synchronize_response_table, &out);
    forget_parts(s);
}

/* A pod and a container are there, whatever the runtime left out. */
static bool read_container(struct nri_session *s, const struct ttrpc_request *r,
                           struct nri_container_request *ret)
{
    if (!read_request(s, r, &nri_container_request_table, ret))
        return false;
    if (!ret->pod)
        ret->pod = arena_new0(s->arena, struct nri_pod);
    if (!ret->container)
        ret->container = arena_new0(s->arena, struct nri_container);
    return true;
}

static void serve_create(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_container_request in;
    struct nri_adjustment adjust = { 0 };
    struct nri_create_response out = { .adjust = &adjust };
    struct kerr err;

    if (!read_container(s, r, &in))
        return;
    if (s->on->create(s->arg, in.pod, in.container, s->arena, &adjust, &err) < 0)
        refuse(s, r->stream, &err);
    else
        answer(s, r->stream, &nri_create_response_table, &out);
}

static void serve_update(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_container_request in;
    struct nri_update_response out = { 0 };
    struct kerr err;

    if (!read_container(s, r, &in))
        return;
    if (s->on->update(s->arg, in.pod, in.container, in.resources, s->arena, &out.update, &err) < 0)
        refuse(s, r->stream, &err);
    else
        answer(s, r->stream, &nri_update_response_table, &out);
}

static void serve_state_change(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_state_change in;

    if (!read_request(s, r, &nri_state_change_table, &in))
        return;
    if (in.pod && in.event == NRI_RUN_POD_SANDBOX)
        s->on->run_pod(s->arg, in.pod);
    else if (in.pod && in.event == NRI_REMOVE_POD_SANDBOX)
        s->on->remove_pod(s->arg, in.pod);
    answer(s, r->stream, NULL, NULL);
}

/* As runtimes after NRI v0.11 call it; the pod is the first field, too. */
static void serve_run_pod(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_container_request in;

    if (!read_container(s, r, &in))
        return;
    s->on->run_pod(s->arg, in.pod);
    answer(s, r->stream, NULL, NULL);
}

static void serve_remove_pod(struct nri_session *s, const struct ttrpc_request *r)
{
    struct nri_container_request in;

    if (!read_container(s, r, &in))
        return;
    s->on->remove_pod(s->arg, in.pod);
    answer(s, r->stream, NULL, NULL);
}

static void serve_nothing(struct nri_session *s, const struct ttrpc_request *r)
{
    answer(s, r->stream, NULL, NULL);
}

static void serve_shutdown(struct nri_session *s, const struct ttrpc_request *r)
{
    struct kerr why;

    answer(s, r->stream, NULL, NULL);
    kerr_set(&why, -ESHUTDOWN, "the runtime shut the plugin down");
    fail(s, &why);
}

static const struct {
    const char *method;
    serve_fn fn;
} methods[] = {
    { "Configure", serve_configure },      { "Synchronize", serve_synchronize },
    { "CreateContainer", serve_create },   { "UpdateContainer", serve_update },
    { "StateChange", serve_state_change }, { "StopContainer", serve_nothing },
    { "UpdatePodSandbox", serve_nothing }, { "ValidateContainerAdjustment", serve_nothing },
    { "RunPodSandbox", serve_run_pod },    { "RemovePodSandbox", serve_remove_pod },
    { "Shutdown", serve_shutdown },
};

static void serve(void *arg, const struct ttrpc_request *r)
{
    struct nri_session *s = arg;

    if (!str_eqz(r->service, NRI_PLUGIN_SERVICE)) {
        ttrpc_fail(s->plugin, r->stream, GRPC_UNIMPLEMENTED, "service %.*s",
                   (int)MIN(r->service.n, (size_t)200), r->service.n ? r->service.p : "");
        return;
    }
    arena_reset(s->arena);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_eqz(r->method, methods[i].method)) {
            methods[i].fn(s, r);
            return;
        }
    ttrpc_fail(s->plugin, r->stream, GRPC_UNIMPLEMENTED, "method %.*s",
               (int)MIN(r->method.n, (size_t)200), r->method.n ? r->method.p : "");
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool on_payload(void *arg, uint32_t id, const char *p, size_t n)
{
    struct nri_session *s = arg;

    if (id == NRIMUX_PLUGIN)
        ttrpc_feed(s->plugin, p, n);
    else if (id == NRIMUX_RUNTIME)
        ttrpc_feed(s->runtime, p, n);
    return !s->over;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct nri_session *s = arg;
    struct kerr err;

    if (!s->over && nrimux_feed(&s->mux, p, n, on_payload, s, &err) < 0)
        fail(s, &err);
}

static void on_close(void *arg, const struct kerr *err)
{
    struct kerr why;

    kerr_set(&why, -ECONNRESET, "the runtime closed the connection");
    fail(arg, err ? err : &why);
}

static const struct stream_events events = { .on_data = on_data, .on_close = on_close };

/* ---- life ------------------------------------------------------------------------------------ */

static void on_registered(void *arg, enum grpc_code code, struct str text, struct str payload)
{
    struct kerr why;

    (void)payload;
    if (code == GRPC_OK)
        return;
    kerr_set(&why, -EPROTO, "RegisterPlugin: %.*s", (int)MIN(text.n, (size_t)200),
             text.n ? text.p : "");
    fail(arg, &why);
}

static void enlist(struct nri_session *s)
{
    CLEANUP(strbuf_fini) struct strbuf payload = STRBUF_INIT;

    wire_encode(
        &nri_register_request_table,
        &(struct nri_register_request){ .name = str_of(s->o.name), .index = str_of(s->o.index) },
        &payload);
    ttrpc_call(s->runtime,
               &(struct ttrpc_request){ .service = STR(NRI_RUNTIME_SERVICE),
                                        .method = STR("RegisterPlugin"),
                                        .payload = { strbuf_str(&payload), payload.len },
                                        .timeout = s->o.register_timeout ? s->o.register_timeout
                                                                         : REGISTER_TIMEOUT },
               on_registered, s);
}

struct nri_session *nri_session_new(const struct nri_session_opts *o, struct stream *stream,
                                    const struct nri_handlers *on, void *arg)
{
    struct nri_session *s = xnew0(struct nri_session);

    *s = (struct nri_session){
        .o = *o, .stream = stream, .on = on, .arg = arg, .arena = arena_new()
    };
    s->plugin = ttrpc_new(&(struct ttrpc_opts){ o->loop, send_plugin, serve, s });
    s->runtime = ttrpc_new(&(struct ttrpc_opts){ o->loop, send_runtime, NULL, s });
    stream_listen(stream, &events, s);
    enlist(s);
    return s;
}

struct nri_session *nri_session_free(struct nri_session *s)
{
    if (!s)
        return NULL;
    timer_cancel(s->failing);
    stream_close(s->stream);
    ttrpc_free(s->plugin);
    ttrpc_free(s->runtime);
    forget_parts(s);
    arena_free(s->arena);
    strbuf_fini(&s->out);
    free(s);
    return NULL;
}
