/* serve.c - the embedded API server alone, for tests/api/run.
 *
 *     api_serve [--data FILE] [--token TOKEN] [--listen ADDRESS] [--token-auth-file FILE]
 *               [--authorization-mode MODE,...] [--anonymous-auth] [--service-accounts]
 *
 * Prints its URL and serves until SIGTERM or SIGINT. Without --data everything is in memory.
 * Pods need no service account, as on a server without that admission plugin, unless
 * --service-accounts is given.
 * SIGUSR1 forgets all history and prints "compacted REVISION": older resource versions get 410 from
 * then on.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "apiserver/registry/registry.h"
#include "apiserver/server.h"
#include "apiserver/store/store.h"
#include "base/klog.h"
#include "loop/loop.h"
#include "sys/crash.h"

struct serving {
    struct apiserver *server;
    bool stopping;
};

static void on_stopped(void *arg)
{
    loop_stop(arg);
}

static void on_end(struct loop *l, int signum, void *arg)
{
    struct serving *s = arg;

    (void)signum;
    if (!s->stopping)
        apiserver_stop(s->server, 2 * NSEC_PER_SEC, on_stopped, l);
    s->stopping = true;
}

static void on_compact(struct loop *l, int signum, void *arg)
{
    struct serving *s = arg;
    struct store *st = apiserver_store(s->server);
    uint64_t revision = store_revision(st);

    (void)l, (void)signum;
    store_compact(st, revision);
    printf("compacted %" PRIu64 "\n", revision);
    (void)fflush(stdout);
}

static int serve(struct loop *l, const struct apiserver_opts *o, const char *listen,
                 struct kerr *err)
{
    CLEANUP(apiserver_free) struct apiserver *server = NULL;
    struct serving s = { 0 };
    uint16_t port = 0;

    int e = apiserver_new(l, o, &server, err);
    if (e < 0)
        return kerr_wrap(err, "start");
    s.server = server;
    e = apiserver_listen(server, listen, NULL, &port, err);
    if (e < 0)
        return e;
    if ((e = loop_on_signal(l, SIGTERM, on_end, &s, err)) < 0 ||
        (e = loop_on_signal(l, SIGINT, on_end, &s, err)) < 0 ||
        (e = loop_on_signal(l, SIGUSR1, on_compact, &s, err)) < 0)
        return e;
    printf("http://127.0.0.1:%u\n", port);
    (void)fflush(stdout);
    loop_run(l);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "data", required_argument, NULL, 'd' },
        { "token", required_argument, NULL, 't' },
        { "listen", required_argument, NULL, 'l' },
        { "token-auth-file", required_argument, NULL, 'f' },
        { "authorization-mode", required_argument, NULL, 'z' },
        { "anonymous-auth", no_argument, NULL, 'a' },
        { "service-accounts", no_argument, NULL, 's' },
        { 0 },
    };
    /* As the cluster of tests/system starts kube-apiserver, unless service accounts are asked for.
     */
    static const char *const disabled[] = { "ServiceAccount" };
    CLEANUP(loop_free) struct loop *l = NULL;
    struct apiserver_opts o = { .accounts = APISERVER_ACCOUNTS_STRICT,
                                .disabled_admission = disabled,
                                .ndisabled = ARRAY_LEN(disabled) };
    const char *listen = "127.0.0.1:0";
    struct kerr err = { 0 };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'd': o.data_file = optarg; break;
        case 't': o.token = optarg; break;
        case 'l': listen = optarg; break;
        case 'f': o.token_file = optarg; break;
        case 'z':
            o.authorization = (strstr(optarg, "RBAC") ? APISERVER_RBAC : 0u) |
                              (strstr(optarg, "AlwaysAllow") ? APISERVER_ALWAYS_ALLOW : 0u) |
                              (strstr(optarg, "AlwaysDeny") ? APISERVER_ALWAYS_DENY : 0u);
            break;
        case 'a': o.anonymous = true; break;
        case 's': o.ndisabled = 0; break;
        default: return 2;
        }
    }
    crash_init("api_serve");
    l = loop_new();
    if (serve(l, &o, listen, &err) < 0) {
        KLOG_E(&err, "Failed to serve");
        return 1;
    }
    return 0;
}
