/* options.c - the shared flags. */
#include "component/options.h"

#include <stdio.h>
#include <unistd.h>

#include "base/klog.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "client/leader.h"
#include "loop/loop.h"

#define WATCHDOG_SLACK (20 * NSEC_PER_SEC) /* beyond the lease, as upstream's adaptor */

/* ---- logs ------------------------------------------------------------------------------------ */

void log_options_add(struct flags *f, struct log_options *o)
{
#define O(member)   .off = offsetof(struct log_options, member)
#define STDERR_ONLY "log lines go to stderr only"
    static const char *const formats[] = { "text", "json", NULL };
    static const struct flag table[] = {
        { "v", FLAG_INT, O(v), .def = "0", .help = "`level` of the log: 0 to 10, more is louder" },
        { "logging-format", FLAG_STR, O(format), .def = "text", .choices = formats,
          .help = "accepted; lines are always klog's text" },
        { "logtostderr", FLAG_BOOL, FLAG_IGNORED },
        { "alsologtostderr", FLAG_BOOL, FLAG_IGNORED },
        { "stderrthreshold", FLAG_STR, FLAG_IGNORED },
        { "legacy-stderr-threshold-behavior", FLAG_BOOL, FLAG_IGNORED },
        { "one-output", FLAG_BOOL, FLAG_IGNORED },
        { "log-flush-frequency", FLAG_DUR, FLAG_IGNORED },
        { "log-file-max-size", FLAG_I64, FLAG_IGNORED },
        { "log-dir", FLAG_STR, FLAG_IGNORED, .deprecated = STDERR_ONLY },
        { "log-file", FLAG_STR, FLAG_IGNORED, .deprecated = STDERR_ONLY },
        { "log-backtrace-at", FLAG_STR, FLAG_IGNORED, .deprecated = "it has no effect" },
        { "vmodule", FLAG_STR, FLAG_IGNORED, .deprecated = "it has no effect; use --v" },
        { "add-dir-header", FLAG_BOOL, FLAG_IGNORED, .deprecated = "it has no effect" },
        { "skip-headers", FLAG_BOOL, FLAG_IGNORED, .deprecated = "it has no effect" },
        { "skip-log-headers", FLAG_BOOL, FLAG_IGNORED, .deprecated = "it has no effect" },
        { "log-json-split-stream", FLAG_BOOL, FLAG_IGNORED, .deprecated = STDERR_ONLY },
        { "log-json-info-buffer-size", FLAG_STR, FLAG_IGNORED, .deprecated = STDERR_ONLY },
        { "log-text-split-stream", FLAG_BOOL, FLAG_IGNORED, .deprecated = STDERR_ONLY },
        { "log-text-info-buffer-size", FLAG_STR, FLAG_IGNORED, .deprecated = STDERR_ONLY },
    };
#undef O
    flags_add(f, "Log flags", table, ARRAY_LEN(table), o);
}

void log_options_apply(const struct log_options *o)
{
    klog_set_level(o->v);
    if (streq(o->format, "json"))
        KLOG_W("Log lines are text: --logging-format=json is accepted and has no effect");
}

/* ---- debug ----------------------------------------------------------------------------------- */

void debug_options_add(struct flags *f, struct debug_options *o)
{
    static const struct flag table[] = {
        { "allow-remote-debug", FLAG_BOOL, .off = offsetof(struct debug_options, allow_remote),
          .help = "take requests that change settings (PUT /debug/flags/...) from other machines "
                  "too" },
    };
    flags_add(f, "Debug flags", table, ARRAY_LEN(table), o);
}

/* ---- client ---------------------------------------------------------------------------------- */

void client_options_add(struct flags *f, struct client_options *o)
{
#define O(member) .off = offsetof(struct client_options, member)
    static const struct flag table[] = {
        { "kubeconfig", FLAG_STR, O(kubeconfig),
          .help = "`file` that says where the API server is and who we are; in a pod the service "
                  "account is used without it" },
        { "master", FLAG_STR, O(master),
          .help = "`URL` of the API server, instead of the kubeconfig's" },
        { "kube-api-qps", FLAG_F64, O(qps), .def = "0",
          .help = "requests a second to the API server; 0: as many as it takes" },
        { "kube-api-burst", FLAG_INT, O(burst), .def = "0", .max = INT32_MAX,
          .help = "requests at once before --kube-api-qps counts" },
        { "kube-api-content-type", FLAG_STR, O(content_type), .flags = FLAG_HIDDEN,
          .def = "application/json", .help = "accepted; requests are always JSON" },
    };
#undef O
    flags_add(f, "API server flags", table, ARRAY_LEN(table), o);
}

struct client_env client_env_read(void)
{
    return (struct client_env){ getenv("KUBECONFIG"), getenv("HOME"),
                                getenv("KUBERNETES_SERVICE_HOST"),
                                getenv("KUBERNETES_SERVICE_PORT") };
}

int client_options_config(const struct client_options *o, const struct client_env *env,
                          const char *context, struct kube_config *ret, struct kerr *err)
{
    struct kube_config_opts opts = {
        .path = o->kubeconfig,
        .context = context,
        .server = o->master,
        .env_kubeconfig = env->kubeconfig,
        .home = env->home,
        .service_host = env->service_host,
        .service_port = env->service_port,
    };
    int r = kube_config_load(&opts, ret, err);
    if (r < 0)
        return r;
    ret->qps = o->qps;
    ret->burst = o->burst;
    return 0;
}

int client_options_kube(const struct client_options *o, const struct client_env *env,
                        struct loop *l, struct intern *strings, const char *agent,
                        struct kube **ret, struct kerr *err)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    CLEANUP(mem_free) char *user_agent = xasprintf("%s/v" KOORD_VERSION, agent);

    int r = client_options_config(o, env, NULL, &c, err);
    if (r < 0)
        return r;
    c.user_agent = user_agent;
    return kube_http_new(l, strings, &c, ret, err);
}

/* ---- leader election ------------------------------------------------------------------------- */

void election_options_add(struct flags *f, struct election_options *o, const char *name)
{
#define O(member) .off = offsetof(struct election_options, member)
    static const char *const locks[] = { "leases", NULL };
    static const struct flag table[] = {
        { "leader-elect", FLAG_BOOL, O(enabled), .def = "true",
          .help = "act only while holding the lease, so that replicas can stand by" },
        { "leader-elect-lease-duration", FLAG_DUR, O(lease_duration), .def = "15s",
          .help = "how long others wait for a leader that is silent" },
        { "leader-elect-renew-deadline", FLAG_DUR, O(renew_deadline), .def = "10s",
          .help = "how long a leader tries to renew before it gives up; less than the lease "
                  "duration" },
        { "leader-elect-retry-period", FLAG_DUR, O(retry_period), .def = "2s",
          .help = "time between attempts to get or renew the lease" },
        { "leader-elect-resource-lock", FLAG_STR, O(lock), .def = "leases", .choices = locks,
          .help = "kind of the lock object" },
        { "leader-elect-resource-name", FLAG_STR, O(name), .help = "name of the lease" },
        { "leader-elect-resource-namespace", FLAG_STR, O(ns), .def = "koordinator-system",
          .help = "namespace of the lease" },
    };
#undef O
    flags_add(f, "Leader election flags", table, ARRAY_LEN(table), o);
    flags_default(f, "leader-elect-resource-name", name);
}

char *election_identity(struct loop *l)
{
    char host[256] = "";
    uint64_t hi = loop_rand(l), lo = loop_rand(l);

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        (void)snprintf(host, sizeof host, "unknown");
    hi = (hi & ~UINT64_C(0xf000)) | 0x4000; /* a random UUID, version 4 */
    lo = (lo & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    return xasprintf("%s_%08x-%04x-%04x-%04x-%012llx", host, (unsigned)(hi >> 32),
                     (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xffff), (unsigned)(lo >> 48),
                     (unsigned long long)(lo & 0xffffffffffff));
}

int election_options_leader(const struct election_options *o, struct kube *k, const char *identity,
                            const struct leader_handler *h, void *arg, struct leader **ret,
                            struct kerr *err)
{
    const struct leader_opts opts = {
        .ns = o->ns,
        .name = o->name,
        .identity = identity,
        .lease_duration = o->lease_duration,
        .renew_deadline = o->renew_deadline,
        .retry_period = o->retry_period,
    };
    int r = leader_new(k, &opts, h, arg, ret, err);
    return r < 0 ? kerr_wrap(err, "leader election") : 0;
}

int election_check(void *watchdog, struct kerr *err)
{
    const struct election_watchdog *w = watchdog;
    nsec_t silent = loop_mono(w->loop) - leader_renewed(w->leader);

    /* Not leader_is(): it is false as soon as the lease has run out, which is when this matters. */
    if (!streq(leader_holder(w->leader), w->identity) ||
        silent <= w->lease_duration + WATCHDOG_SLACK)
        return 0;
    return kerr_set(err, -ETIMEDOUT, "failed election to renew leadership on lease %s", w->name);
}
