/* kubeconfig.h - where the API server is and who we are: kubeconfig files, or a pod's mounts.
 *
 * Resolved to one flat structure; files named in it (certificates, token file) are read here, so
 * that a missing file is reported with its path and field before anything is connected. Relative
 * paths count from the directory of the file that names them.
 */
#ifndef KOORD_CLIENT_KUBECONFIG_H
#define KOORD_CLIENT_KUBECONFIG_H
#include "base/base.h"

struct kube_exec {           /* a credential plugin (client.authentication.k8s.io) */
    const char *command;     /* resolved against the kubeconfig's directory when it has a slash */
    const char *const *args; /* NULL-terminated, may be NULL */
    const char *const *env;  /* "NAME=value", NULL-terminated, may be NULL */
    const char *api_version;
    const char *install_hint;
    bool provide_cluster_info;
};

struct kube_config {
    const char *server; /* "https://10.0.0.1:6443/prefix" */
    const char *tls_server_name;
    const char *proxy_url;
    bool insecure;
    struct str ca_pem;
    struct str cert_pem, key_pem;
    const char *cert_file, *key_file, *ca_file; /* kept for rotation; NULL when inline */
    const char *token;
    const char *token_file; /* read again every minute and after a 401 */
    const char *username, *password;
    const char *impersonate_user;
    struct kube_exec exec; /* command NULL: none */
    const char *ns;        /* the context's namespace, "default" when absent */
    const char *context;   /* its name, for messages */
    const char *user_agent;
    double qps; /* <= 0: no client-side limit */
    int burst;
    struct arena *arena; /* owns everything above */
};

struct kube_config_opts {
    const char *path;    /* --kubeconfig; NULL: $KUBECONFIG (a list), ~/.kube/config, in-cluster */
    const char *context; /* NULL: current-context */
    const char *server;  /* --master; NULL: from the file */
    const char *env_kubeconfig, *home;       /* the environment, handed in by main */
    const char *service_host, *service_port; /* KUBERNETES_SERVICE_HOST and _PORT */
    const char *sa_dir; /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};
/* Fills *ret; free with kube_config_fini(). One clear message: what, where, what to do. Reason
 * KR_NOT_FOUND: nothing is configured at all. */
int kube_config_load(const struct kube_config_opts *o, struct kube_config *ret, struct kerr *err);
void kube_config_fini(struct kube_config *c);
static inline UNUSED void kube_config_fini_p(struct kube_config *c)
{
    kube_config_fini(c);
}

/* The parser alone, on the text of one file (fuzzed): files are read relative to dirfd. */
int kube_config_parse(const char *text, size_t n, const char *dir, const char *context,
                      struct kube_config *ret, struct kerr *err);
#endif
