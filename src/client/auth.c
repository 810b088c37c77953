/* auth.c - credentials and their renewal. */
#include "client/auth.h"

#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/b64.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "sys/spawn.h"
#include "json/kj.h"

enum { TOKEN_MAX = 64 * 1024, PLUGIN_OUTPUT_MAX = 1 << 20 };
#define TOKEN_FILE_EVERY (60 * NSEC_PER_SEC)
#define PLUGIN_TIMEOUT   (60 * NSEC_PER_SEC)

struct waiter {
    auth_fn fn;
    void *arg;
};

/* One run of the plugin: owned by the worker until done() hands it back. */
struct plugin_run {
    struct auth *auth; /* NULL once the auth is gone */
    char **argv, **env;
    char *command;
    struct strbuf out, complaints;
    struct kerr err;
};

struct auth {
    struct loop *loop;
    char *header; /* "Bearer ..." or "Basic ..."; NULL: none */
    char *token_file;
    nsec_t read_at;
    const struct kube_exec *exec; /* in the arena */
    struct arena *arena;
    const char *exec_info; /* "KUBERNETES_EXEC_INFO={...}", in the arena */
    struct plugin_run *run;
    struct waiters vec_of(struct waiter) waiters;
    nsec_t expires; /* wall; 0: never */
    bool have_plugin_credential, cert_changed;
    char *cert, *key;
};

static void set_header(struct auth *a, const char *scheme, const char *value, size_t n)
{
    if (a->header)
        explicit_bzero(a->header, strlen(a->header));
    free(a->header);
    a->header = value ? xasprintf("%s %.*s", scheme, (int)n, value) : NULL;
}

static void read_token_file(struct auth *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    a->read_at = loop_mono(a->loop);
    if (file_read_all(AT_FDCWD, a->token_file, TOKEN_MAX, &text, &err) < 0) {
        KLOG_E(&err, "Failed to read the token file; the last token stays in use");
        return;
    }
    size_t n = strcspn(strbuf_str(&text), " \r\n");
    if (n > 0)
        set_header(a, "Bearer", text.data, n);
}

static void set_basic(struct auth *a, const char *user, const char *password)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT, coded = STRBUF_INIT;
    strbuf_appendf(&plain, "%s:%s", user, str_or(password, ""));
    b64_encode(plain.data, plain.len, &coded);
    set_header(a, "Basic", strbuf_str(&coded), coded.len);
}

static const char *const *copy_list(struct arena *arena, const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **copy = arena_newn0(arena, n + 1, const char *);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(arena, list[i]);
    return copy;
}

static void copy_exec(struct auth *a, const struct kube_exec *x)
{
    struct kube_exec *copy = arena_new0(a->arena, struct kube_exec);
    copy->command = arena_strdup(a->arena, x->command);
    copy->api_version = arena_strdup(a->arena, x->api_version);
    copy->install_hint = x->install_hint ? arena_strdup(a->arena, x->install_hint) : NULL;
    copy->args = copy_list(a->arena, x->args);
    copy->env = copy_list(a->arena, x->env);
    a->exec = copy;
}

/* What the plugin is told: which API we speak and, when it asks, about which cluster. */
static void set_exec_info(struct auth *a, const struct kube_config *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, ca = STRBUF_INIT;
    strbuf_append(&text, "KUBERNETES_EXEC_INFO=");
    struct kjw w = kjw_to(&text);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", c->exec.api_version);
    kjw_str(&w, "kind", "ExecCredential");
    kjw_obj(&w, "spec");
    if (c->exec.provide_cluster_info) {
        b64_encode(c->ca_pem.p, c->ca_pem.n, &ca);
        kjw_obj(&w, "cluster");
        kjw_str(&w, "server", c->server);
        if (c->tls_server_name)
            kjw_str(&w, "tls-server-name", c->tls_server_name);
        if (c->insecure)
            kjw_bool(&w, "insecure-skip-tls-verify", true);
        if (ca.len)
            kjw_strn(&w, "certificate-authority-data", ca.data, ca.len);
        if (c->proxy_url)
            kjw_str(&w, "proxy-url", c->proxy_url);
        kjw_end(&w);
    }
    kjw_bool(&w, "interactive", false);
    kjw_end(&w);
    kjw_end(&w);
    a->exec_info = arena_strndup(a->arena, text.data, text.len);
}

struct auth *auth_new(struct loop *l, const struct kube_config *c)
{
    struct auth *a = xnew0(struct auth);
    a->loop = l;
    a->arena = arena_new();
    if (c->token)
        set_header(a, "Bearer", c->token, strlen(c->token));
    else if (c->username)
        set_basic(a, c->username, c->password);
    if (c->token_file) {
        a->token_file = xstrdup(c->token_file);
        read_token_file(a);
    }
    if (c->exec.command && !a->header) {
        copy_exec(a, &c->exec);
        set_exec_info(a, c);
    }
    return a;
}

struct auth *auth_free(struct auth *a)
{
    if (!a)
        return NULL;
    if (a->run)
        a->run->auth = NULL;
    vec_fini(&a->waiters);
    set_header(a, NULL, NULL, 0);
    free(a->token_file);
    free(a->cert);
    free(a->key);
    arena_free(a->arena);
    free(a);
    return NULL;
}

const char *auth_header(struct auth *a)
{
    if (a->token_file && loop_mono(a->loop) >= a->read_at + TOKEN_FILE_EVERY)
        read_token_file(a);
    return a->header;
}

/* ---- the exec plugin ------------------------------------------------------------------------- */

static void run_free(struct plugin_run *r)
{
    for (char **p = r->argv; p && *p; p++)
        free(*p);
    for (char **p = r->env; p && *p; p++)
        free(*p);
    free(r->argv);
    free(r->env);
    free(r->command);
    strbuf_fini(&r->out);
    strbuf_fini(&r->complaints);
    free(r);
}

static void run_plugin(void *arg)
{
    struct plugin_run *r = arg;
    struct spawn_opts o = {
        .argv = (const char *const *)r->argv,
        .envp = (const char *const *)r->env,
        .in = SPAWN_NULL,
        .out = SPAWN_PIPE,
        .err = SPAWN_PIPE,
    };
    struct spawn_limits limits = { PLUGIN_OUTPUT_MAX, 4096, PLUGIN_TIMEOUT };
    struct spawn_exit ended = { 0 };

    if (spawn_run(&o, &limits, (struct str){ NULL, 0 }, &r->out, &r->complaints, &ended, &r->err) <
        0)
        return;
    if (ended.signalled || ended.code != 0) {
        const char *said = strbuf_str(&r->complaints);
        kerr_set(&r->err, -EPERM, "ended with %s %d: %.*s", ended.signalled ? "signal" : "status",
                 ended.code, (int)MIN(strcspn(said, "\r\n"), (size_t)120), said);
    }
}

static void take_pem(char **to, const char *pem, bool *changed)
{
    if (!pem || (*to && streq(*to, pem)))
        return;
    free(*to);
    *to = xstrdup(pem);
    *changed = true;
}

static int take_credential(struct auth *a, struct plugin_run *r, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    if (kj_parse(strbuf_str(&r->out), r->out.len, 0, &doc, err) < 0)
        return kerr_wrap(err, "its output");
    const struct kj_val *root = kj_root(doc), *status = kj_get(root, "status");
    const char *token = kj_str(kj_get(status, "token"));
    const char *cert = kj_str(kj_get(status, "clientCertificateData"));
    const char *key = kj_str(kj_get(status, "clientKeyData"));
    const char *until = kj_str(kj_get(status, "expirationTimestamp"));

    if (!streq(kj_str_or(kj_get(root, "kind"), ""), "ExecCredential"))
        return kerr_set(err, -EINVAL, "its output is not an ExecCredential");
    if (!token && !(cert && key))
        return kerr_set(err, -EINVAL, "it gave neither a token nor a certificate with its key");
    a->expires = 0;
    if (until && ktime_parse(until, strlen(until), &a->expires, err) < 0)
        return kerr_wrap(err, "status.expirationTimestamp");
    if (token)
        set_header(a, "Bearer", token, strlen(token));
    take_pem(&a->cert, cert, &a->cert_changed);
    take_pem(&a->key, key, &a->cert_changed);
    a->have_plugin_credential = true;
    return 0;
}

static void plugin_done(struct loop *l, void *arg)
{
    struct plugin_run *r = arg;
    struct auth *a = r->auth;
    struct kerr err = r->err;

    (void)l;
    if (!a) {
        run_free(r);
        return;
    }
    a->run = NULL;
    if (err.code == 0)
        take_credential(a, r, &err);
    if (err.code < 0) {
        kerr_wrap(&err, "credential plugin '%s'", r->command);
        if (r->err.code == -ENOENT && a->exec->install_hint)
            KLOG_W("The credential plugin is not installed", KV_S("hint", a->exec->install_hint));
    }
    /* A waiter's callback may add waiters, or forget others: work through the list as it is. */
    while (a->waiters.n > 0) {
        struct waiter w = a->waiters.items[0];
        vec_remove(&a->waiters, 0);
        w.fn(w.arg, err.code ? &err : NULL);
    }
    run_free(r);
}

static char **join_lists(const char *first, const char *const *a, const char *const *b)
{
    struct joined vec_of(char *) out = { 0 };
    if (first)
        vec_push(&out, xstrdup(first));
    for (; a && *a; a++)
        vec_push(&out, xstrdup(*a));
    for (; b && *b; b++)
        vec_push(&out, xstrdup(*b));
    vec_push(&out, NULL);
    return out.items;
}

static void start_plugin(struct auth *a)
{
    struct plugin_run *r = xnew0(struct plugin_run);
    const char *const extra[] = { a->exec_info, NULL };
    char **mine = join_lists(NULL, a->exec->env, extra);

    r->auth = a;
    r->command = xstrdup(a->exec->command);
    r->argv = join_lists(a->exec->command, a->exec->args, NULL);
    /* Later settings win: ours come after the process's own. */
    r->env = join_lists(NULL, (const char *const *)environ, (const char *const *)mine);
    for (char **p = mine; *p; p++)
        free(*p);
    free(mine);
    a->run = r;
    loop_work(a->loop, run_plugin, plugin_done, r);
}

bool auth_ready(struct auth *a, auth_fn fn, void *arg)
{
    if (!a->exec)
        return true;
    bool fresh = a->have_plugin_credential &&
                 (a->expires == 0 || loop_wall(a->loop) < a->expires - 10 * NSEC_PER_SEC);
    if (fresh)
        return true;
    struct waiter w = { fn, arg };
    vec_push(&a->waiters, w);
    if (!a->run)
        start_plugin(a);
    return false;
}

void auth_forget(struct auth *a, void *arg)
{
    for (size_t i = a->waiters.n; i-- > 0;)
        if (a->waiters.items[i].arg == arg)
            vec_remove(&a->waiters, i);
}

bool auth_rejected(struct auth *a)
{
    if (a->token_file) {
        read_token_file(a);
        return true;
    }
    a->have_plugin_credential = false;
    return a->exec != NULL;
}

void auth_client_cert(struct auth *a, struct str *cert_pem, struct str *key_pem, bool *changed)
{
    *cert_pem = str_of(a->cert);
    *key_pem = str_of(a->key);
    *changed = a->cert_changed;
    a->cert_changed = false;
}
