/* koord_runtime_proxy.c - the program koord-runtime-proxy: between kubelet and runtime
 * (runtime-proxy 1). */
#include <stdio.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "net/stream.h"
#include "runtimeproxy/options.h"
#include "runtimeproxy/proxy.h"
#include "sys/file.h"
#include "sys/memory.h"

#define PROGRAM "koord-runtime-proxy"

enum { FIRST_PASSED_FD = 3 };

struct program_state {
    struct run *run;
    struct proxy *proxy;
    struct listener *listener;
    struct serve *serve;
};

static int check(struct run *r, struct kerr *err)
{
    return proxy_options_check(r->options, err);
}

/* ---- listening ------------------------------------------------------------------------------- */

static void on_accept(void *arg, struct stream *s, const char *peer)
{
    struct program_state *p = arg;

    (void)peer;
    proxy_serve(p->proxy, s);
}

/* systemd's protocol: the socket of a unit is descriptor 3, when the process is meant. */
static bool has_passed_fd(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    int64_t of, n;

    return pid && fds && i64_parse(pid, strlen(pid), &of) == 0 && of == getpid() &&
           i64_parse(fds, strlen(fds), &n) == 0 && n >= 1;
}

static int make_parent(const char *path, struct kerr *err)
{
    const char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return 0;
    CLEANUP(mem_free) char *dir = xstrndup(path, (size_t)(slash - path));
    return dir_make(AT_FDCWD, dir, 0755, err);
}

static int listen_for_kubelet(struct program_state *p, struct kerr *err)
{
    const struct proxy_options *o = p->run->options;
    CLEANUP(mem_free) char *addr = xasprintf("unix:%s", o->endpoint);

    if (has_passed_fd())
        return listener_adopt(p->run->loop, FIRST_PASSED_FD, on_accept, p, &p->listener, err);
    if (make_parent(o->endpoint, err) < 0)
        return kerr_wrap(err, "listen on %s", o->endpoint);
    return listener_open(p->run->loop, addr, on_accept, p, &p->listener, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void fail(struct run *r, const struct kerr *err, const char *what)
{
    KLOG_E(err, what);
    run_last_words(r, what, err);
    run_exit(r, 1);
}

static void on_started(void *arg, const struct kerr *err)
{
    struct program_state *p = arg;
    const struct proxy_options *o = p->run->options;
    struct kerr bad = { 0 };

    if (p->run->stopping)
        return;
    if (err) {
        fail(p->run, err, "The runtime does not work");
        return;
    }
    if (listen_for_kubelet(p, &bad) < 0) {
        fail(p->run, &bad, "Failed to listen for the kubelet");
        return;
    }
    KLOG_I(0, "Serving", KV_S("endpoint", o->endpoint), KV_S("runtime", o->backend));
    memory_settle();
}

static int check_runtime(void *arg, struct kerr *err)
{
    struct program_state *p = arg;

    return proxy_check(p->proxy, err);
}

static int start_serving(struct program_state *p, struct kerr *err)
{
    const struct proxy_options *o = p->run->options;

    if (!*o->addr)
        return 0;
    p->serve = serve_new(p->run->loop,
                         &(struct serve_opts){ .program = PROGRAM, .metrics = p->run->metrics });
    serve_add_check(p->serve, SERVE_HEALTHZ | SERVE_READYZ, "runtime", check_runtime, p);
    return serve_listen(p->serve, o->addr, NULL, err);
}

static int start(struct run *r, struct kerr *err)
{
    const struct proxy_options *o = r->options;
    struct program_state *p = xnew0(struct program_state);

    r->self = p;
    p->run = r;
    if (*o->checkpoint && make_parent(o->checkpoint, err) < 0)
        return kerr_wrap(err, "--checkpoint-file");
    p->proxy = proxy_new(&(struct proxy_opts){ .loop = r->loop,
                                               .backend = o->backend,
                                               .is_docker = streq(o->mode, "Docker"),
                                               .config_dir = o->config_dir,
                                               .checkpoint = *o->checkpoint ? o->checkpoint : NULL,
                                               .skip_key = o->skip_key,
                                               .skip_value = o->skip_value,
                                               .metrics = r->metrics });
    if (start_serving(p, err) < 0)
        return err->code;
    return proxy_start(p->proxy, on_started, p, err);
}

static void on_drained(void *arg)
{
    run_exit(arg, 0);
}

static void on_late(struct loop *l, void *arg)
{
    (void)l;
    KLOG_W("Calls are still under way, exiting without them");
    run_exit(arg, 0);
}

/* A socket of systemd stays open: the next proxy takes over who connects meanwhile. */
static void stop(struct run *r)
{
    struct program_state *p = r->self;
    const struct proxy_options *o = r->options;

    if (!p->listener) {
        run_exit(r, 1);
        return;
    }
    p->listener = listener_close(p->listener);
    loop_after(r->loop, o->drain, on_late, r);
    proxy_drain(p->proxy, on_drained, r);
}

static void fini(struct run *r)
{
    struct program_state *p = r->self;

    if (!p)
        return;
    listener_close(p->listener);
    serve_free(p->serve);
    proxy_free(p->proxy);
    free(p);
}

static const struct program program = {
    .name = PROGRAM,
    .brief = "stands between a kubelet and its container runtime",
    .about = "Sits between the kubelet and the container runtime: shows calls that start pods and\n"
             "containers to hook servers such as koordlet, and relays everything else as it is.\n",
    .add_flags = proxy_options_add,
    .check = check,
    .start = start,
    .stop = stop,
    .fini = fini,
};

int main(int argc, char **argv)
{
    struct proxy_options o = { 0 };
    return run_main(&program, &o, argc, argv);
}
