/* cri.c - CRI calls that hooks may look at (runtime-proxy 4.1). */
#include <stdio.h>

#include "base/klog.h"
#include "runtimeproxy/hooked.h"

static bool kind_of(struct str path, enum hooked_kind *ret)
{
    static const struct str prefix = { CRI_RUNTIME_SERVICE, sizeof CRI_RUNTIME_SERVICE - 1 };

    return path.n > prefix.n && memcmp(path.p, prefix.p, prefix.n) == 0 &&
           hooked_by_name((struct str){ path.p + prefix.n, path.n - prefix.n }, ret);
}

/* The method, for the services we know: others may have any name. */
static void method_label(struct str path, char *name, size_t size)
{
    static const struct str known = { "/runtime.v1.", 12 };
    size_t at = path.n;

    snprintf(name, size, "other");
    if (path.n <= known.n || memcmp(path.p, known.p, known.n) != 0)
        return;
    while (path.p[at - 1] != '/')
        at--;
    if (path.n - at < size)
        snprintf(name, size, "%.*s", (int)(path.n - at), path.p + at);
}

bool cri_wants(void *arg, struct str path)
{
    enum hooked_kind kind;
    char name[64];

    method_label(path, name, sizeof name);
    hooked_count_call(arg, name);
    return kind_of(path, &kind);
}

/* ---- what is done with a call ---------------------------------------------------------------- */

static nsec_t call_left(const void *call)
{
    return h2relay_call_left(call);
}

static void call_forward(void *call, struct str message)
{
    h2relay_forward(call, message);
}

static void call_refuse(void *call, const char *text)
{
    h2relay_refuse(call, GRPC_UNKNOWN, text);
}

static void call_release(void *call)
{
    h2relay_release(call);
}

static void encode(const struct hooked *h, struct strbuf *out)
{
    switch (hooked_kind(h)) {
    case HOOKED_RUN_POD: wire_encode(&cri_run_pod_request_table, &h->in.run, out); break;
    case HOOKED_CREATE: wire_encode(&cri_create_request_table, &h->in.create, out); break;
    default: wire_encode(&cri_update_request_table, &h->in.update, out);
    }
}

static const struct hooked_ops ops = { .left = call_left,
                                       .forward = call_forward,
                                       .refuse = call_refuse,
                                       .release = call_release,
                                       .encode = encode };

/* ---- requests -------------------------------------------------------------------------------- */

static bool decode(struct hooked *h, struct str message, struct kerr *err)
{
    struct cri_id in;

    switch (hooked_kind(h)) {
    case HOOKED_RUN_POD:
        return wire_decode(&cri_run_pod_request_table, message, h->arena, &h->in.run, err) == 0 &&
               hooked_read_run(h);
    case HOOKED_CREATE:
        return wire_decode(&cri_create_request_table, message, h->arena, &h->in.create, err) == 0 &&
               hooked_read_create(h, err);
    case HOOKED_UPDATE:
        return wire_decode(&cri_update_request_table, message, h->arena, &h->in.update, err) == 0 &&
               hooked_read_update(h, err);
    default:
        return wire_decode(&cri_id_table, message, h->arena, &in, err) == 0 &&
               hooked_read_id(h, in.id, err);
    }
}

void cri_request(void *arg, struct h2relay_call *c, struct str path, struct str message)
{
    enum hooked_kind kind = HOOKED_KINDS;
    struct kerr err = { 0 };

    bool wanted = kind_of(path, &kind);
    assert(wanted); /* by cri_wants() */
    (void)wanted;
    struct hooked *h = hooked_new(arg, &ops, c, kind);
    h2relay_call_set(c, h);
    bool ok = message.p && decode(h, message, &err);
    if (!ok && err.code != -ENOENT)
        KLOG_W("A CRI request cannot be read, hooks are not asked",
               KV_S("method", hooked_name(kind)),
               KV_S("why", err.text[0] ? err.text : "no single message"));
    hooked_begin(h, ok);
}

/* ---- answers --------------------------------------------------------------------------------- */

void cri_answer(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cri_id out = { 0 };

    (void)arg;
    if (code != GRPC_OK || wire_decode(&cri_id_table, message, a, &out, NULL) < 0)
        out.id = (struct str){ NULL, 0 };
    hooked_answered(h2relay_call_get(c),
                    code == GRPC_OK          ? HOOKED_OK
                    : code == GRPC_NOT_FOUND ? HOOKED_NOT_FOUND
                                             : HOOKED_FAILED,
                    out.id);
}

void cri_gone(void *arg, struct h2relay_call *c)
{
    (void)arg;
    hooked_free(h2relay_call_get(c));
}
