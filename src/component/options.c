/* options.c - the shared flags. */
#include "component/options.h"

#include "base/klog.h"
#include "client/kube.h"
#include "client/kubeconfig.h"

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
                                getenv("KUBERNETES_SERVICE_PORT"), getenv("XDG_DATA_HOME") };
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
