/* stop.c - CRI's StopContainer. */
#include "koordlet/qos/evict/stop.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/wire.h"
#include "net/grpc.h"

#define METHOD  "/runtime.v1.RuntimeService/StopContainer"
#define TIMEOUT (30 * NSEC_PER_SEC) /* killing is quick; a runtime that hangs is not waited for */

enum { RUNTIMES = 4 };
static const struct {
    const char *name; /* of container IDs */
    const char *places[2];
} runtimes[RUNTIMES] = {
    { "containerd", { "containerd/containerd.sock", "containerd.sock" } },
    { "docker", { "cri-dockerd.sock", NULL } },
    { "pouch", { "pouchcri.sock", NULL } },
    { "cri-o", { "crio/crio.sock", "crio.sock" } },
};

struct stopper {
    struct stopper_env env;
    struct http *clients[RUNTIMES]; /* NULL: not needed yet */
    char paths[RUNTIMES][512];
};

struct stop_one {
    struct stop_call *of;
    struct grpc_call *call;
};
struct stop_call {
    stopped_fn fn;
    void *arg;
    uint32_t left, stopped, n;
    struct kerr why;
    struct stop_one ones[];
};

struct stopper *stopper_new(const struct stopper_env *env)
{
    struct stopper *s = xnew0(struct stopper);

    s->env = *env;
    return s;
}

struct stopper *stopper_free(struct stopper *s)
{
    if (!s)
        return NULL;
    for (int i = 0; i < RUNTIMES; i++)
        if (s->clients[i])
            http_free(s->clients[i]);
    free(s);
    return NULL;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static bool is_socket(const char *dir, const char *name, char *path, size_t size)
{
    struct stat st;

    snprintf(path, size, "%s%s", dir, name);
    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool find_socket(const struct stopper *s, int runtime, char *path, size_t size)
{
    const char *const flags[RUNTIMES] = { s->env.containerd_endpoint, s->env.docker_endpoint,
                                          s->env.pouch_endpoint, NULL };
    static const char scheme[] = "unix://";
    const char *flag = flags[runtime];

    if (s->env.dial)
        return true;
    for (int i = 0; i < 2; i++)
        if (runtimes[runtime].places[i] &&
            is_socket(s->env.host->roots.var_run, runtimes[runtime].places[i], path, size))
            return true;
    if (str_empty(flag))
        return false;
    return is_socket("", str_starts(flag, scheme) ? flag + strlen(scheme) : flag, path, size);
}

/* A runtime that moved its socket is found again. NULL: there is none. */
static struct http *client_of(struct stopper *s, struct str runtime)
{
    char path[sizeof s->paths[0]] = "memory";
    int i = 0;

    while (i < RUNTIMES && !str_eqz(runtime, runtimes[i].name))
        i++;
    if (i == RUNTIMES || !find_socket(s, i, path, sizeof path))
        return NULL;
    if (!s->clients[i] || !streq(path, s->paths[i])) {
        if (s->clients[i])
            http_free(s->clients[i]);
        memcpy(s->paths[i], path, sizeof path);
        s->clients[i] = grpc_client_new(s->env.loop, path, s->env.dial, s->env.dial_arg);
    }
    return s->clients[i];
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void finish_one(struct stop_call *c)
{
    if (--c->left > 0)
        return;
    struct stop_call done = *c;
    free(c);
    done.fn(done.arg, done.stopped, &done.why);
}

/* A container that the runtime does not know has stopped. */
static void on_end(void *arg, const struct grpc_status *st)
{
    struct stop_one *one = arg;
    struct stop_call *c = one->of;

    one->call = NULL;
    if (st->code == GRPC_OK || st->code == GRPC_NOT_FOUND)
        c->stopped++;
    else if (c->why.code == 0)
        kerr_set(&c->why, -EIO, "StopContainer: %s: %.*s", grpc_code_name(st->code),
                 (int)MIN(st->text.n, (size_t)120), st->text.n ? st->text.p : "");
    finish_one(c);
}

/* The answer says nothing. */
static void on_message(void *arg, struct str message)
{
    (void)arg, (void)message;
}

static const struct grpc_call_events events = { .on_message = on_message, .on_end = on_end };

/* false: there is nobody to ask. */
static bool send_one(struct stopper *s, struct stop_one *one, const char *container_id,
                     struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    struct str runtime, id;

    if (container_id_split(container_id, &runtime, &id, err) < 0)
        return false;
    struct http *h = client_of(s, runtime);
    if (!h) {
        kerr_set(err, -ENOENT, "no CRI socket of the runtime %.*s", (int)runtime.n, runtime.p);
        return false;
    }
    wire_put_bytes(&message, 1, id); /* container_id; field 2, the time-out, is 0 */
    one->call =
        grpc_call_send(h,
                       &(struct grpc_call_opts){ .method = METHOD,
                                                 .message = { strbuf_str(&message), message.len },
                                                 .timeout = TIMEOUT },
                       &events, one);
    return true;
}

struct stop_call *stopper_stop(struct stopper *s, const struct npod *p, stopped_fn fn, void *arg)
{
    struct stop_call *c = xcalloc(1, sizeof *c + (p->ncontainers + 1) * sizeof(struct stop_one));
    struct kerr why = { 0 };

    *c = (struct stop_call){ .fn = fn, .arg = arg };
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        struct stop_one *one = &c->ones[c->n];
        one->of = c;
        if (!p->containers[i].running)
            continue;
        if (send_one(s, one, p->containers[i].id, &why))
            c->n++;
        else if (c->why.code == 0)
            c->why = why;
    }
    c->left = c->n;
    return c->n > 0 ? c : mem_free(c);
}

struct stop_call *stop_call_cancel(struct stop_call *c)
{
    if (!c)
        return NULL;
    for (uint32_t i = 0; i < c->n; i++)
        grpc_call_cancel(c->ones[i].call);
    free(c);
    return NULL;
}
