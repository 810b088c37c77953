/* options.h - flags that several programs share, under upstream's names, and what comes of them. */
#ifndef KOORD_COMPONENT_OPTIONS_H
#define KOORD_COMPONENT_OPTIONS_H
#include "base/base.h"
#include "component/flags.h"

struct intern;
struct kube;
struct kube_config;
struct loop;

/* ---- logs: -v, --logging-format; the other flags of klog are known and have no effect -------- */

struct log_options {
    int v;
    const char *format;
};
void log_options_add(struct flags *f, struct log_options *o);
/* Sets the level of this process; warns where something given has no effect. */
void log_options_apply(const struct log_options *o);

/* ---- what may be changed while running ------------------------------------------------------- */

struct debug_options {
    bool allow_remote; /* for serve_opts.allow_remote_changes */
};
void debug_options_add(struct flags *f, struct debug_options *o);

/* ---- where the API server is ----------------------------------------------------------------- */

struct client_options {
    const char *kubeconfig, *master, *content_type;
    double qps; /* 0: no limit on this side */
    int burst;
};
void client_options_add(struct flags *f, struct client_options *o);

struct client_env { /* the environment, read once by main */
    const char *kubeconfig, *home, *service_host, *service_port;
    const char *data_home; /* XDG_DATA_HOME */
};
struct client_env client_env_read(void);
/* Fills *ret, which the caller ends with kube_config_fini(). context NULL: the current one. */
int client_options_config(const struct client_options *o, const struct client_env *env,
                          const char *context, struct kube_config *ret, struct kerr *err);
/* Ready to talk; nothing is connected yet. agent: "koord-scheduler". */
int client_options_kube(const struct client_options *o, const struct client_env *env,
                        struct loop *l, struct intern *strings, const char *agent,
                        struct kube **ret, struct kerr *err);
#endif
