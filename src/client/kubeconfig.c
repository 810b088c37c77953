/* kubeconfig.c - kubeconfig files and in-cluster mounts, resolved to one flat configuration. */
#include "client/kubeconfig.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/b64.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "sys/file.h"
#include "json/kj.h"
#include "json/schema.h"

enum { FILE_MAX = 4 << 20 };
#define SA_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- the file as it is written -----------------------------------------------------------------
 */

struct kc_cluster {
    const char *server, *ca, *ca_data, *tls_server_name, *proxy_url;
    bool insecure;
};
struct kc_env {
    const char *name, *value;
};
struct kc_exec {
    const char *command, *api_version, *install_hint, *interactive;
    KLIST(const char *) args;
    KLIST(struct kc_env) env;
    bool provide_cluster_info;
};
struct kc_user {
    const char *cert, *cert_data, *key, *key_data, *token, *token_file, *username, *password, *as;
    const char *auth_provider; /* raw: only its presence counts */
    struct kc_exec *exec;
};
struct kc_context {
    const char *cluster, *user, *ns;
};
struct kc_named_cluster {
    const char *name;
    struct kc_cluster v;
};
struct kc_named_user {
    const char *name;
    struct kc_user v;
};
struct kc_named_context {
    const char *name;
    struct kc_context v;
};
struct kc_file {
    const char *path, *dir; /* dir NULL: files are not read */
    const char *current;
    KLIST(struct kc_named_cluster) clusters;
    KLIST(struct kc_named_user) users;
    KLIST(struct kc_named_context) contexts;
};

#define F(member, json, type, ...) KF(STYPE, member, json, type, __VA_ARGS__)
#define STYPE                      struct kc_cluster
static const struct kfield cluster_fields[] = {
    F(server, "server", KF_STR),
    F(ca, "certificate-authority", KF_STR),
    F(ca_data, "certificate-authority-data", KF_STR),
    F(tls_server_name, "tls-server-name", KF_STR),
    F(proxy_url, "proxy-url", KF_STR),
    F(insecure, "insecure-skip-tls-verify", KF_BOOL),
};
static const struct kschema cluster_schema = KSCHEMA("Cluster", STYPE, cluster_fields);
#undef STYPE
#define STYPE struct kc_env
static const struct kfield env_fields[] = {
    F(name, "name", KF_STR),
    F(value, "value", KF_STR),
};
static const struct kschema env_schema = KSCHEMA("ExecEnvVar", STYPE, env_fields);
#undef STYPE
#define STYPE struct kc_exec
static const struct kfield exec_fields[] = {
    F(command, "command", KF_STR),
    F(api_version, "apiVersion", KF_STR),
    F(install_hint, "installHint", KF_STR),
    F(interactive, "interactiveMode", KF_STR),
    KF_LIST_OF(STYPE, args, "args", KF_STR),
    KF_LIST_OF(STYPE, env, "env", KF_OBJ, .sub = &env_schema),
    F(provide_cluster_info, "provideClusterInfo", KF_BOOL),
};
static const struct kschema exec_schema = KSCHEMA("ExecConfig", STYPE, exec_fields);
#undef STYPE
#define STYPE struct kc_user
static const struct kfield user_fields[] = {
    F(cert, "client-certificate", KF_STR),
    F(cert_data, "client-certificate-data", KF_STR),
    F(key, "client-key", KF_STR),
    F(key_data, "client-key-data", KF_STR),
    F(token, "token", KF_STR),
    F(token_file, "tokenFile", KF_STR),
    F(username, "username", KF_STR),
    F(password, "password", KF_STR),
    F(as, "as", KF_STR),
    F(auth_provider, "auth-provider", KF_RAW),
    F(exec, "exec", KF_OBJ, .sub = &exec_schema, .flags = KF_PTR),
};
static const struct kschema user_schema = KSCHEMA("AuthInfo", STYPE, user_fields);
#undef STYPE
#define STYPE struct kc_context
static const struct kfield context_fields[] = {
    F(cluster, "cluster", KF_STR),
    F(user, "user", KF_STR),
    F(ns, "namespace", KF_STR),
};
static const struct kschema context_schema = KSCHEMA("Context", STYPE, context_fields);
#undef STYPE
#define STYPE struct kc_named_cluster
static const struct kfield named_cluster_fields[] = {
    F(name, "name", KF_STR),
    F(v, "cluster", KF_OBJ, .sub = &cluster_schema),
};
static const struct kschema named_cluster_schema =
    KSCHEMA("NamedCluster", STYPE, named_cluster_fields);
#undef STYPE
#define STYPE struct kc_named_user
static const struct kfield named_user_fields[] = {
    F(name, "name", KF_STR),
    F(v, "user", KF_OBJ, .sub = &user_schema),
};
static const struct kschema named_user_schema = KSCHEMA("NamedAuthInfo", STYPE, named_user_fields);
#undef STYPE
#define STYPE struct kc_named_context
static const struct kfield named_context_fields[] = {
    F(name, "name", KF_STR),
    F(v, "context", KF_OBJ, .sub = &context_schema),
};
static const struct kschema named_context_schema =
    KSCHEMA("NamedContext", STYPE, named_context_fields);
#undef STYPE
#define STYPE struct kc_file
static const struct kfield file_fields[] = {
    F(current, "current-context", KF_STR),
    KF_LIST_OF(STYPE, clusters, "clusters", KF_OBJ, .sub = &named_cluster_schema),
    KF_LIST_OF(STYPE, users, "users", KF_OBJ, .sub = &named_user_schema),
    KF_LIST_OF(STYPE, contexts, "contexts", KF_OBJ, .sub = &named_context_schema),
};
static const struct kschema file_schema = KSCHEMA("Config", STYPE, file_fields);
#undef STYPE
#undef F

struct kc_files vec_of(struct kc_file);

static int file_decode(const char *text, size_t n, struct arena *a, struct kc_file *f,
                       struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *path = f->path, *dir = f->dir;
    int r = kj_parse_yaml(text, n, 0, &doc, err);
    if (r < 0)
        return r;
    const struct kj_val *root = kj_root(doc);
    if (kj_type(root) == KJ_NULL)
        return kerr_set(err, -EINVAL, "the file is empty");
    const char *kind = kj_str_or(kj_get(root, "kind"), "Config");
    if (!streq(kind, "Config"))
        return kerr_set(err, -EINVAL, "kind: expected Config, found '%.40s'", kind);
    r = kj_decode(&file_schema, root, 0, a, f, err);
    f->path = path;
    f->dir = dir;
    return r;
}

/* ---- resolving ---------------------------------------------------------------------------------
 */

/* Names that exist, for the message that says that one does not. */
static void list_contexts(const struct kc_files *files, struct strbuf *out)
{
    vec_foreach(files, i)
        for (uint32_t j = 0; j < files->items[i].contexts.n && out->len < 120; j++)
            strbuf_appendf(out, "%s%s", out->len ? ", " : "",
                           files->items[i].contexts.items[j].name);
}

struct found {
    const struct kc_file *context_file, *cluster_file, *user_file;
    const struct kc_context *context;
    const struct kc_cluster *cluster;
    const struct kc_user *user;
};

static int find_context(const struct kc_files *files, const char *name, struct found *ret,
                        struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf known = STRBUF_INIT;

    vec_foreach(files, i) {
        const struct kc_file *f = &files->items[i];
        for (uint32_t j = 0; j < f->contexts.n; j++) {
            if (!streq(f->contexts.items[j].name, name))
                continue;
            ret->context = &f->contexts.items[j].v;
            ret->context_file = f;
            return 0;
        }
    }
    list_contexts(files, &known);
    return kerr_set(err, -ENOENT, "context '%.80s' does not exist (contexts: %s)", name,
                    known.len ? strbuf_str(&known) : "none");
}

/* As in kubectl, the first file that defines a name wins. */
static int find_parts(const struct kc_files *files, struct found *ret, struct kerr *err)
{
    vec_foreach(files, i) {
        const struct kc_file *f = &files->items[i];
        for (uint32_t j = 0; j < f->clusters.n && !ret->cluster; j++)
            if (streq(f->clusters.items[j].name, ret->context->cluster))
                ret->cluster = &f->clusters.items[j].v, ret->cluster_file = f;
        for (uint32_t j = 0; j < f->users.n && !ret->user; j++)
            if (streq(f->users.items[j].name, ret->context->user))
                ret->user = &f->users.items[j].v, ret->user_file = f;
    }
    if (!ret->cluster)
        return kerr_set(err, -ENOENT, "cluster '%.80s' is not defined", ret->context->cluster);
    if (!ret->user && *ret->context->user)
        return kerr_set(err, -ENOENT, "user '%.80s' is not defined", ret->context->user);
    return 0;
}

static const char *resolve_path(const struct kc_file *f, const char *path, struct arena *a)
{
    if (path[0] == '/' || !f->dir)
        return arena_strdup(a, path);
    return arena_printf(a, "%s/%s", f->dir, path);
}

static int read_file(const char *field, const char *path, struct arena *a, struct str *ret,
                     struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    if (file_read_all(AT_FDCWD, path, FILE_MAX, &text, err) < 0)
        return kerr_wrap(err, "%s", field);
    *ret = (struct str){ arena_strndup(a, strbuf_str(&text), text.len), text.len };
    return 0;
}

/* Inline data wins over a file, as in client-go. */
static int pem_of(const struct kc_file *f, const char *field, const char *data, const char *path,
                  struct arena *a, struct str *ret, const char **ret_file, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf raw = STRBUF_INIT;

    if (*data) {
        if (b64_decode(data, strlen(data), &raw) < 0)
            return kerr_set(err, -EINVAL, "%s-data: not valid base64", field);
        *ret = (struct str){ arena_strndup(a, strbuf_str(&raw), raw.len), raw.len };
        return 0;
    }
    if (!*path || !f->dir)
        return 0;
    *ret_file = resolve_path(f, path, a);
    return read_file(field, *ret_file, a, ret, err);
}

static int fill_exec(const struct kc_file *f, const struct kc_exec *x, struct kube_config *c,
                     struct kerr *err)
{
    struct arena *a = c->arena;
    if (!*x->command)
        return kerr_set(err, -EINVAL, "exec.command: is required");
    if (!streq(x->api_version, "client.authentication.k8s.io/v1") &&
        !streq(x->api_version, "client.authentication.k8s.io/v1beta1"))
        return kerr_set(err, -EINVAL,
                        "exec.apiVersion: expected client.authentication.k8s.io/v1 or v1beta1, "
                        "found '%.60s'",
                        x->api_version);
    const char **args = arena_newn0(a, (size_t)x->args.n + 1, const char *);
    for (uint32_t i = 0; i < x->args.n; i++)
        args[i] = x->args.items[i];
    const char **env = arena_newn0(a, (size_t)x->env.n + 1, const char *);
    for (uint32_t i = 0; i < x->env.n; i++)
        env[i] = arena_printf(a, "%s=%s", x->env.items[i].name, x->env.items[i].value);
    c->exec = (struct kube_exec){
        .command = strchr(x->command, '/') ? resolve_path(f, x->command, a) : x->command,
        .args = args,
        .env = env,
        .api_version = x->api_version,
        .install_hint = *x->install_hint ? x->install_hint : NULL,
        .provide_cluster_info = x->provide_cluster_info,
    };
    return 0;
}

static const char *or_null(const char *s)
{
    return *s ? s : NULL;
}

static int fill_user(const struct kc_file *f, const struct kc_user *u, struct kube_config *c,
                     struct kerr *err)
{
    struct arena *a = c->arena;

    if (u->auth_provider)
        return kerr_set(err, -EOPNOTSUPP,
                        "auth-provider: is no longer supported by Kubernetes; "
                        "use an exec plugin");
    int r =
        pem_of(f, "client-certificate", u->cert_data, u->cert, a, &c->cert_pem, &c->cert_file, err);
    if (r == 0)
        r = pem_of(f, "client-key", u->key_data, u->key, a, &c->key_pem, &c->key_file, err);
    if (r == 0 && c->cert_pem.n && !c->key_pem.n && f->dir)
        r = kerr_set(err, -EINVAL, "client-certificate: needs a client-key beside it");
    if (r < 0)
        return r;
    if (*u->token_file && f->dir) {
        struct str token;
        c->token_file = resolve_path(f, u->token_file, a);
        r = read_file("tokenFile", c->token_file, a, &token, err);
        if (r < 0)
            return r;
    }
    /* A token in the file is the fallback of tokenFile, as in client-go. */
    c->token = or_null(u->token);
    c->username = or_null(u->username);
    c->password = or_null(u->password);
    c->impersonate_user = or_null(u->as);
    return u->exec ? fill_exec(f, u->exec, c, err) : 0;
}

static int fill_cluster(const struct kc_file *f, const struct kc_cluster *k, struct kube_config *c,
                        struct kerr *err)
{
    if (!*k->server)
        return kerr_set(err, -EINVAL, "server: is required");
    c->server = k->server;
    c->tls_server_name = or_null(k->tls_server_name);
    c->proxy_url = or_null(k->proxy_url);
    c->insecure = k->insecure;
    if (k->insecure && (*k->ca_data || *k->ca))
        return kerr_set(err, -EINVAL,
                        "certificate-authority may not be given together with "
                        "insecure-skip-tls-verify");
    return pem_of(f, "certificate-authority", k->ca_data, k->ca, c->arena, &c->ca_pem, &c->ca_file,
                  err);
}

static int resolve(const struct kc_files *files, const char *wanted, struct kube_config *c,
                   struct kerr *err)
{
    struct found at = { 0 };
    const char *name = wanted;

    vec_foreach(files, i)
        if (str_empty(name))
            name = files->items[i].current;
    if (str_empty(name))
        return kerr_set(err, -EINVAL, "no current-context is set; set one, or name a context");
    if (find_context(files, name, &at, err) < 0)
        return err->code;
    c->context = arena_strdup(c->arena, name);
    c->ns = *at.context->ns ? at.context->ns : "default";
    int r = find_parts(files, &at, err);
    if (r == 0 && fill_cluster(at.cluster_file, at.cluster, c, err) < 0)
        r = kerr_wrap(err, "cluster '%.80s'", at.context->cluster);
    if (r == 0 && at.user && fill_user(at.user_file, at.user, c, err) < 0)
        r = kerr_wrap(err, "user '%.80s'", at.context->user);
    return r < 0 ? kerr_wrap(err, "context '%.80s'", name) : 0;
}

int kube_config_parse(const char *text, size_t n, const char *dir, const char *context,
                      struct kube_config *ret, struct kerr *err)
{
    struct kube_config c = { .arena = arena_new() };
    struct kc_files files = { 0 };
    struct kc_file f = { .path = "kubeconfig", .dir = dir };

    int r = file_decode(text, n, c.arena, &f, err);
    if (r == 0) {
        vec_push(&files, f);
        r = resolve(&files, context, &c, err);
    }
    vec_fini(&files);
    if (r < 0)
        arena_free(c.arena);
    else
        *ret = c;
    return r;
}

/* ---- where configuration comes from ---------------------------------------------------------- */

static const char *dir_of(const char *path, struct arena *a)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

static int add_file(struct kc_files *files, const char *path, struct arena *a, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kc_file f = { .path = arena_strdup(a, path), .dir = dir_of(path, a) };

    int r = file_read_all(AT_FDCWD, path, FILE_MAX, &text, err);
    if (r == 0)
        r = file_decode(strbuf_str(&text), text.len, a, &f, err);
    if (r < 0)
        return r;
    vec_push(files, f);
    return 0;
}

/* $KUBECONFIG is a list; files of the list that do not exist are left out. */
static int add_list(struct kc_files *files, const char *list, struct arena *a, struct kerr *err)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ":");
        const char *path = arena_strndup(a, p, n);
        if (n > 0) {
            int r = add_file(files, path, a, err);
            if (r < 0 && r != -ENOENT)
                return kerr_wrap(err, "kubeconfig %s", path);
        }
        p += n + (p[n] == ':');
    }
    return 0;
}

static int in_cluster(const struct kube_config_opts *o, struct kube_config *c, struct kerr *err)
{
    const char *dir = str_or(o->sa_dir, SA_DIR);
    struct arena *a = c->arena;
    struct str token, ns;
    bool is_v6 = strchr(o->service_host, ':') != NULL;

    c->server = arena_printf(a, is_v6 ? "https://[%s]:%s" : "https://%s:%s", o->service_host,
                             o->service_port);
    c->context = "in-cluster";
    c->token_file = arena_printf(a, "%s/token", dir);
    c->ca_file = arena_printf(a, "%s/ca.crt", dir);
    int r = read_file("service account token", c->token_file, a, &token, err);
    if (r == 0)
        r = read_file("service account CA", c->ca_file, a, &c->ca_pem, err);
    if (r < 0)
        return kerr_wrap(err, "in-cluster configuration");
    const char *ns_file = arena_printf(a, "%s/namespace", dir);
    struct kerr none = { 0 };
    if (read_file("namespace", ns_file, a, &ns, &none) == 0 && ns.n > 0)
        c->ns = arena_strndup(a, ns.p, strcspn(ns.p, " \r\n"));
    else
        c->ns = "default";
    return 0;
}

static int load_files(const struct kube_config_opts *o, struct kc_files *files,
                      struct kube_config *c, struct kerr *err)
{
    struct arena *a = c->arena;
    if (!str_empty(o->path)) {
        if (add_file(files, o->path, a, err) < 0)
            return kerr_wrap(err, "kubeconfig %s", o->path);
    } else if (!str_empty(o->env_kubeconfig)) {
        if (add_list(files, o->env_kubeconfig, a, err) < 0)
            return err->code;
        if (files->n == 0)
            return kerr_set(err, -ENOENT, "no file named in KUBECONFIG ('%.120s') exists",
                            o->env_kubeconfig);
    } else if (!str_empty(o->home)) {
        const char *path = arena_printf(a, "%s/.kube/config", o->home);
        int r = add_file(files, path, a, err);
        if (r < 0 && r != -ENOENT)
            return kerr_wrap(err, "kubeconfig %s", path);
    }
    return 0;
}

static int load(const struct kube_config_opts *o, struct kc_files *files, struct kube_config *c,
                struct kerr *err)
{
    int r = load_files(o, files, c, err);
    if (r < 0)
        return r;
    if (files->n > 0) {
        r = resolve(files, o->context, c, err);
        if (r < 0)
            return kerr_wrap(err, "kubeconfig %s", files->items[0].path);
    } else if (!str_empty(o->service_host) && !str_empty(o->service_port)) {
        r = in_cluster(o, c, err);
    } else if (str_empty(o->server)) {
        return kerr_api(err, -ENOENT, KR_NOT_FOUND,
                        "no cluster is configured: give --kubeconfig, set KUBECONFIG, or have "
                        "~/.kube/config");
    } else {
        c->ns = "default";
        c->context = "";
    }
    if (r == 0 && !str_empty(o->server))
        c->server = arena_strdup(c->arena, o->server);
    return r;
}

int kube_config_load(const struct kube_config_opts *o, struct kube_config *ret, struct kerr *err)
{
    struct kube_config c = { .arena = arena_new() };
    struct kc_files files = { 0 };

    int r = load(o, &files, &c, err);
    vec_fini(&files);
    if (r < 0)
        arena_free(c.arena);
    else
        *ret = c;
    return r;
}

void kube_config_fini(struct kube_config *c)
{
    arena_free(c->arena);
    *c = (struct kube_config){ 0 };
}
