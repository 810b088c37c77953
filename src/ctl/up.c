/* up.c - koordctl up: what is to run, its files, its beginning and its end. */
#include "ctl/up.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/b64.h"
#include "base/klog.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/dashboard.h"
#include "loop/loop.h"
#include "net/certgen.h"
#include "net/pemfiles.h"
#include "net/stream.h"
#include "net/tls.h"
#include "sys/file.h"
#include "json/kj.h"

#define CERT_FILE "server.crt"
#define KEY_FILE  "server.key"
/* Whether those who have a say in what is written are ready. */
#define LOOK_EVERY (5 * NSEC_PER_MSEC)

enum { SHAPES_MAX = 32 };
struct shape_list {
    char *items[SHAPES_MAX];
    size_t n;
};
struct up_options {
    struct flag_list components, disabled_admission;
    struct shape_list shapes;
    const char *data, *listen, *tls_cert, *tls_key, *apply, *dashboard, *scheduler_config,
        *descheduler_config, *token_file, *authorization, *runtime_config;
    bool anonymous;
    int nodes, pace;
    int64_t seed;
};

/* Each mention is one shape: its parts are separated by commas themselves. */
static int add_shape(void *target, const char *value, struct kerr *err)
{
    struct shape_list *l = target;
    if (l->n == SHAPES_MAX)
        return kerr_set(err, -E2BIG, "more than %d shapes", SHAPES_MAX);
    l->items[l->n++] = xstrdup(value);
    return 0;
}

#define O(member) .off = offsetof(struct up_options, member)
static const struct flag up_flags[] = {
    { "components", FLAG_LIST, O(components),
      .def = "apiserver,controllers,nodes,scheduler,manager,descheduler",
      .help = "`list` of what to run; koordlet (as root) adds this machine, with its true load" },
    { "nodes", FLAG_INT, O(nodes), .def = "50", .min = 0, .max = 10000,
      .help = "number of hollow nodes, when no --shape is given" },
    { "shape", FLAG_CUSTOM, O(shapes), .set = add_shape,
      .help = "hollow nodes of a `shape`, as 10,cpu=32,memory=128Gi,zones=3, or with devices for "
              "ResourceClaims 2,dra=gpu.example.com:8,dra-attr:model=a100; may be repeated" },
    { "data", FLAG_STR, O(data),
      .help = "`directory` of the state; without it ~/.local/share/koord" },
    { "listen", FLAG_STR, O(listen), .def = "127.0.0.1:6480",
      .help = "`address` of the API server; other than loopback needs a certificate" },
    { "tls-cert-file", FLAG_STR, O(tls_cert),
      .help = "certificate `file` of the API server; read again when it is renewed" },
    { "tls-private-key-file", FLAG_STR, O(tls_key), .help = "key `file` of that certificate" },
    { "token-auth-file", FLAG_STR, O(token_file),
      .help = "`file` of further users: token,user,uid,\"group1,group2\" on each line" },
    { "authorization-mode", FLAG_STR, O(authorization), .def = "AlwaysAllow",
      .help = "`list` of modes, of which one has to allow a request: RBAC; AlwaysAllow: whoever "
              "has a token may do everything; AlwaysDeny" },
    { "anonymous-auth", FLAG_BOOL, O(anonymous),
      .help = "requests without a token are those of system:anonymous, and not refused at once" },
    { "runtime-config", FLAG_STR, O(runtime_config),
      .help = "versions that are served beside the usual ones: `resource.k8s.io/v1alpha3=true` "
              "(DeviceTaintRules), api/alpha=true" },
    { "disable-admission-plugins", FLAG_LIST, O(disabled_admission),
      .help = "`list` of admission plugins that are left out, by kube-apiserver's names, as "
              "ServiceAccount" },
    { "apply", FLAG_STR, O(apply),
      .help = "`file` with objects (YAML) that are created unless they exist" },
    { "scheduler-config", FLAG_STR, O(scheduler_config),
      .help = "KubeSchedulerConfiguration `file`; without it the profile of Koordinator's chart" },
    { "descheduler-config", FLAG_STR, O(descheduler_config),
      .help = "DeschedulerConfiguration `file`; without it that of Koordinator's chart, which "
              "carries out jobs and starts none" },
    { "dashboard", FLAG_STR, O(dashboard),
      .help =
          "`address` of the dashboard, on loopback; off: none. Without it a free port, and none "
          "when only the API server runs" },
    { "pace", FLAG_INT, O(pace), .def = "1", .min = 1, .max = 600,
      .help = "the clock runs so many times as fast: with 60 a day passes in 24 minutes" },
    { "seed", FLAG_I64, O(seed), .def = "1", .help = "of the noise in hollow nodes' loads" },
};
#undef O

struct up {
    struct ctl *c;
    const struct up_options *o;
    struct up_dir dir;
    const struct up_system *system;
    void *self; /* the system's */
    struct strbuf token, cert;
    struct up_note note;
    struct up_clock clock;
    struct tls_ctx *tls;
    struct pemfiles *files; /* of a certificate that is not ours */
    char *db;               /* file of the state */
    struct timer *look;
    struct dashboard *dashboard;
    bool stopping, failed;
    struct kerr err;
};

static const char *const known_components[] = { "apiserver", "controllers", "nodes",   "scheduler",
                                                "manager",   "descheduler", "koordlet" };

static bool runs(const struct up *u, const char *component)
{
    for (size_t i = 0; i < u->o->components.n; i++)
        if (streq(u->o->components.items[i], component))
            return true;
    return false;
}

static const char *const modes[] = { "RBAC", "AlwaysAllow", "AlwaysDeny" };

static bool has_mode(const char *list, const char *mode)
{
    size_t n = strlen(mode);

    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, mode, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* Each is known and there once. */
static int check_modes(struct ctl *c, const char *list)
{
    unsigned seen = 0;

    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < ARRAY_LEN(modes) && (strlen(modes[i]) != n || strncmp(p, modes[i], n) != 0))
            i++;
        if (i == ARRAY_LEN(modes))
            return ctl_usage(c,
                             "--authorization-mode \"%.*s\" is not a valid mode (there are RBAC, "
                             "AlwaysAllow, AlwaysDeny)",
                             (int)MIN(n, (size_t)40), p);
        if (seen >> i & 1)
            return ctl_usage(c, "--authorization-mode \"%.80s\" has mode specified more than once",
                             list);
        seen |= 1u << i;
    }
    return 0;
}

static int check_options(struct ctl *c, const struct up_options *o)
{
    const char *versions = str_or(o->runtime_config, "");
    int e = check_modes(c, o->authorization);

    if (e)
        return e;
    if (*versions && !streq(versions, "resource.k8s.io/v1alpha3=true") &&
        !streq(versions, "api/alpha=true"))
        return ctl_usage(c,
                         "--runtime-config '%.80s': there are resource.k8s.io/v1alpha3=true and "
                         "api/alpha=true",
                         versions);
    for (size_t i = 0; i < o->components.n; i++) {
        if (streq(o->components.items[i], "koordlet") && o->pace > 1)
            return ctl_usage(c, "koordlet measures true load by the true clock: without --pace");
        bool known = false;
        for (size_t j = 0; j < ARRAY_LEN(known_components); j++)
            known = known || streq(o->components.items[i], known_components[j]);
        if (!known)
            return ctl_usage(c,
                             "unknown component '%.40s' (there are apiserver, controllers, nodes, "
                             "scheduler, manager, descheduler, koordlet)",
                             o->components.items[i]);
        if (streq(o->components.items[i], "koordlet") && geteuid() != 0)
            return ctl_fail(c, "koordlet measures this machine and needs root: use sudo, or leave "
                               "it out of --components");
    }
    return CTL_OK;
}

/* ---- the API server -------------------------------------------------------------------------- */

/* The certificate we made at the first start, made again a month before it runs out. */
static int own_certificate(struct up *u, struct strbuf *cert, struct strbuf *key, struct kerr *err)
{
    static const char *const hosts[] = { "127.0.0.1", "::1", "localhost", NULL };
    nsec_t now = loop_wall(u->c->loop);
    struct certgen_opts o = { "koord", hosts, now, 3650 };

    bool have = file_read_all(u->dir.fd, CERT_FILE, 1 << 20, cert, NULL) == 0 &&
                file_read_all(u->dir.fd, KEY_FILE, 1 << 20, key, NULL) == 0;
    if (have && certgen_expires(cert->data, cert->len) > now + 30 * 86400 * NSEC_PER_SEC)
        return 0;
    strbuf_reset(cert);
    strbuf_reset(key);
    if (certgen_self_signed(&o, cert, key, err) < 0)
        return err->code;
    int r = file_write_atomic(u->dir.fd, KEY_FILE, key->data, key->len, 0600, err);
    return r < 0 ? r : file_write_atomic(u->dir.fd, CERT_FILE, cert->data, cert->len, 0600, err);
}

static int write_kubeconfig(struct up *u, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, ca = STRBUF_INIT;
    const char *given = u->c->o.client.kubeconfig;

    if (str_empty(given))
        (void)snprintf(u->note.kubeconfig, sizeof u->note.kubeconfig, "%s/kubeconfig", u->dir.path);
    else
        (void)snprintf(u->note.kubeconfig, sizeof u->note.kubeconfig, "%s", given);
    b64_encode(u->cert.data, u->cert.len, &ca);
    strbuf_appendf(&text,
                   "apiVersion: v1\nkind: Config\ncurrent-context: koord\n"
                   "clusters:\n- name: koord\n  cluster:\n    server: %s\n"
                   "    certificate-authority-data: %s\n"
                   "users:\n- name: admin\n  user: {token: \"%s\"}\n"
                   "contexts:\n- name: koord\n  context: {cluster: koord, user: admin}\n",
                   u->note.url, strbuf_str(&ca), strbuf_str(&u->token));
    return file_write_atomic(AT_FDCWD, u->note.kubeconfig, text.data, text.len, 0600, err);
}

static int use_certificate(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct up *u = arg;
    CLEANUP(tls_unref) struct tls_ctx *next = NULL;
    const struct tls_server_opts t = { .cert_pem = pem[PEM_CERT], .key_pem = pem[PEM_KEY] };

    if (tls_server_new(&t, &next, err) < 0)
        return err->code;
    strbuf_reset(&u->cert);
    strbuf_appendn(&u->cert, pem[PEM_CERT].p, pem[PEM_CERT].n);
    tls_unref(u->tls);
    u->tls = take(next);
    if (u->note.pid == 0) /* nobody can have connected yet */
        return 0;
    u->system->set_tls(u->self, u->tls, strbuf_str(&u->cert));
    return write_kubeconfig(u, err);
}

/* kubectl sends no token over plain HTTP, so even loopback speaks TLS. */
static int load_tls(struct up *u, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    const struct pemfiles_opts files = {
        .files = { [PEM_CERT] = u->o->tls_cert, [PEM_KEY] = u->o->tls_key },
        .what = "serving certificate",
        .use = use_certificate,
        .arg = u,
    };

    if (str_empty(u->o->tls_cert) != str_empty(u->o->tls_key))
        return kerr_set(err, -EINVAL, "--tls-cert-file and --tls-private-key-file go together");
    if (!str_empty(u->o->tls_cert))
        return pemfiles_new(u->c->loop, &files, &u->files, err);
    if (own_certificate(u, &cert, &key, err) < 0)
        return err->code;
    const struct str pem[PEM_FILES] = {
        [PEM_CERT] = { cert.data, cert.len }, [PEM_KEY] = { key.data, key.len }
    };
    return use_certificate(u, pem, err);
}

static bool is_loopback(const char *listen)
{
    return str_starts(listen, "127.") || str_starts(listen, "[::1]:") ||
           str_starts(listen, "localhost:");
}

static void set_url(struct up *u, uint16_t port)
{
    const char *colon = strrchr(u->o->listen, ':');
    int host = colon ? (int)(colon - u->o->listen) : (int)strlen(u->o->listen);
    (void)snprintf(u->note.url, sizeof u->note.url, "https://%.*s:%u", host, u->o->listen, port);
}

static struct up_plan plan_of(struct up *u)
{
    return (struct up_plan){
        .loop = u->c->loop,
        .strings = u->c->strings,
        .data_dir = u->dir.path,
        .data_file = u->db,
        .token = strbuf_str(&u->token),
        .listen = u->o->listen,
        .token_file = str_empty(u->o->token_file) ? NULL : u->o->token_file,
        .rbac = has_mode(u->o->authorization, "RBAC"),
        .always_allow = has_mode(u->o->authorization, "AlwaysAllow"),
        .anonymous = u->o->anonymous,
        .alpha_apis = !str_empty(u->o->runtime_config),
        .disabled_admission = u->o->disabled_admission.items,
        .ndisabled = u->o->disabled_admission.n,
        .tls = u->tls,
        .root_ca = strbuf_str(&u->cert),
        .controllers = runs(u, "controllers"),
        .nodes = runs(u, "nodes"),
        .scheduler = runs(u, "scheduler"),
        .manager = runs(u, "manager"),
        .descheduler = runs(u, "descheduler"),
        .koordlet = runs(u, "koordlet"),
        .scheduler_config = u->o->scheduler_config,
        .descheduler_config = u->o->descheduler_config,
        .node_count = (unsigned)u->o->nodes,
        .shapes = (const char *const *)u->o->shapes.items,
        .nshapes = u->o->shapes.n,
        .seed = (uint64_t)u->o->seed,
    };
}

/* What listens last would find a taken address last, when all the parts are at work already. */
static int check_address(struct up *u, struct kerr *err)
{
    struct listener *ls = NULL;
    int r = listener_open(u->c->loop, u->o->listen, NULL, NULL, &ls, err);
    listener_close(ls);
    return r;
}

static int start_system(struct up *u, struct kerr *err)
{
    if (!is_loopback(u->o->listen) && str_empty(u->o->tls_cert))
        return kerr_set(err, -EPERM,
                        "--listen %s: other than loopback needs --tls-cert-file and "
                        "--tls-private-key-file",
                        u->o->listen);
    if (check_address(u, err) < 0 || up_token(&u->dir, &u->token, err) < 0 || load_tls(u, err) < 0)
        return err->code;
    u->db = xasprintf("%s/koord.db", u->dir.path);
    /* Behind the certificate, which others check by their clock. */
    up_clock_start(&u->clock, u->c->loop, &u->dir, (unsigned)u->o->pace);
    const struct up_plan plan = plan_of(u);
    return u->system->start(&plan, &u->self, err);
}

/* ---- objects to start with ------------------------------------------------------------------- */

static void on_applied(void *arg, struct kube_resp *r, const struct kerr *err)
{
    CLEANUP(mem_free) char *what = arg;
    (void)r;
    if (err && err->reason != KR_ALREADY_EXISTS)
        KLOG_E(err, "Failed to create an object of --apply", KV_S("object", what));
}

static const struct kind *kind_of(const struct kj_val *root)
{
    const char *version = kj_str_or(kj_get(root, "apiVersion"), ""), *slash = strchr(version, '/');
    CLEANUP(mem_free) char *group = xstrndup(version, slash ? (size_t)(slash - version) : 0);
    return kind_find_gvk(group, slash ? slash + 1 : version, kj_str_or(kj_get(root, "kind"), ""));
}

/* The store takes writes in the order they are asked for: a namespace is there for what follows. */
static int apply_one(void *arg, struct kj_doc *taken, int line, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = taken;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct up *u = arg;
    const struct kj_val *root = kj_root(doc), *meta = kj_get(root, "metadata");
    const struct kind *k = kind_of(root);

    if (!k)
        return kerr_set(err, -EINVAL, "line %d: %.60s of %.60s is not a kind known here", line,
                        kj_str_or(kj_get(root, "kind"), "an object without kind"),
                        kj_str_or(kj_get(root, "apiVersion"), "no apiVersion"));
    kj_write(root, 0, &body);
    const char *ns = kj_str_or(kj_get(meta, "namespace"), "default");
    struct kube_req r = {
        .verb = KUBE_CREATE,
        .kind = k,
        .ns = k->namespaced ? ns : NULL,
        .body = body.data,
        .body_len = body.len,
    };
    kube_do(u->system->kube(u->self), &r, on_applied,
            xasprintf("%s %s", k->plural, kj_str_or(kj_get(meta, "name"), "")));
    return 0;
}

static int apply_file(struct up *u, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    if (str_empty(u->o->apply))
        return 0;
    if (file_read_all(AT_FDCWD, u->o->apply, 4 << 20, &text, err) < 0 ||
        kj_parse_yaml_all(strbuf_str(&text), text.len, 0, apply_one, u, err) < 0)
        return kerr_wrap(err, "--apply %s", u->o->apply);
    return 0;
}

static int start(struct up *u, struct kerr *err)
{
    struct up_note other;
    if (up_dir_open(u->o->data, &u->c->env, true, &u->dir, err) < 0)
        return err->code;
    if (up_note_read(&u->dir, &other, NULL) == 0)
        return kerr_set(err, -EBUSY, "already running on %s: process %lld at %s", u->dir.path,
                        (long long)other.pid, other.url);
    return start_system(u, err);
}

/* It follows all pods, for which a bare API server would pay a tenth of each create. */
static int start_dashboard(struct up *u, struct kerr *err)
{
    bool asked = !str_empty(u->o->dashboard), bare = u->o->components.n == 1;
    const struct dashboard_opts o = { .listen = asked ? u->o->dashboard : "127.0.0.1:0" };

    if (streq(o.listen, "off") || (bare && !asked))
        return 0;
    return dashboard_new(u->system->kube(u->self), &o, &u->dashboard, err);
}

static int open_to_others(struct up *u, struct kerr *err)
{
    const struct up_plan plan = plan_of(u);
    uint16_t port;

    if (u->system->listen(u->self, &plan, &port, err) < 0)
        return err->code;
    set_url(u, port);
    if (write_kubeconfig(u, err) < 0 || apply_file(u, err) < 0 || start_dashboard(u, err) < 0)
        return err->code;
    u->note.pid = getpid();
    return up_note_write(&u->dir, &u->note, err);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void stopped(void *arg)
{
    struct up *u = arg;
    loop_stop(u->c->loop);
}

static void on_signal(struct loop *l, int signum, void *arg)
{
    struct up *u = arg;
    (void)signum;
    if (u->stopping) {
        loop_stop(l);
        return;
    }
    u->stopping = true;
    u->look = timer_cancel(u->look);
    u->dashboard = dashboard_free(u->dashboard);
    u->system->stop(u->self, stopped, u);
}

static void fini(struct up *u)
{
    dashboard_free(u->dashboard);
    u->system->free(u->self);
    up_clock_stop(&u->clock);
    if (u->note.pid)
        up_note_remove(&u->dir);
    up_dir_fini(&u->dir);
    strbuf_fini(&u->token);
    strbuf_fini(&u->cert);
    pemfiles_free(u->files);
    tls_unref(u->tls);
    free(u->db);
    timer_cancel(u->look);
    for (size_t i = 0; i < u->o->shapes.n; i++)
        free(u->o->shapes.items[i]);
}

/* Commands that work as they stand there, in a second terminal. */
static void say_what_next(const struct up *u, struct strbuf *out)
{
    const char *ctl = u->c->typed;
    bool demo = !str_empty(u->o->apply);

    strbuf_appendf(out, "\nTo try next, in another terminal:\n  export KUBECONFIG=%s\n",
                   u->note.kubeconfig);
    strbuf_appendf(out, "  %s get %s\n", ctl, demo ? "pods -A -o wide" : "nodes");
    if (runs(u, "nodes") && runs(u, "manager"))
        strbuf_appendf(
            out, "  %s top nodes        (after a minute, when the nodes have reported)\n", ctl);
    strbuf_appendf(
        out,
        "  %s apply -f FILE    (kubectl works as well)\n"
        "  %s help             (explain, reserve, demo and more)\n"
        "docs/tutorial.md takes ten minutes. Ctrl-C stops all of it and keeps the state.\n",
        ctl, ctl);
}

static bool say_what_runs(struct up *u)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    strbuf_appendf(&out, "API server   %s\nkubeconfig   %s\nstate        %s/koord.db\nruns        ",
                   u->note.url, u->note.kubeconfig, u->dir.path);
    for (size_t i = 0; i < u->o->components.n; i++)
        strbuf_appendf(&out, " %s", u->o->components.items[i]);
    strbuf_appendc(&out, '\n');
    if (u->dashboard) {
        strbuf_append(&out, "dashboard    ");
        dashboard_url(u->dashboard, &out);
        strbuf_appendc(&out, '\n');
    }
    up_clock_text(&u->clock, &out);
    say_what_next(u, &out);
    return ctl_print(u->c, &out);
}

/* Listens last, so that nothing is written past those who have a say in it. */
static void on_look(struct loop *l, void *arg)
{
    struct up *u = arg;

    u->look = NULL;
    if (!u->system->ready(u->self)) {
        u->look = loop_after(l, LOOK_EVERY, on_look, u);
        return;
    }
    u->failed = open_to_others(u, &u->err) < 0;
    if (u->failed)
        loop_stop(l);
    else
        (void)say_what_runs(u);
}

static int run_up(struct ctl *c, const void *options)
{
    struct up u = { .c = c, .o = options, .dir = { NULL, -1 } };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "up takes no arguments");
    int code = check_options(c, u.o);
    if (code != CTL_OK)
        return code;
    if (!c->parts || !c->parts->up)
        return ctl_fail(c, CTL_NO_SYSTEM);
    u.system = c->parts->up;
    int r = start(&u, &u.err);
    if (r == 0)
        r = loop_on_signal(c->loop, SIGINT, on_signal, &u, &u.err);
    if (r == 0)
        r = loop_on_signal(c->loop, SIGTERM, on_signal, &u, &u.err);
    if (r == 0) {
        u.look = loop_after(c->loop, 0, on_look, &u);
        loop_run(c->loop);
        r = u.failed ? u.err.code : 0;
    }
    fini(&u);
    return r < 0 ? ctl_fail(c, "up: %s", u.err.text) : CTL_OK;
}

const struct ctl_command ctl_command_up = {
    .name = "up",
    .help = "Run the whole system on this machine, with no cluster",
    .about =
        "Starts an embedded API server with its state in one file, the usual controllers, hollow\n"
        "nodes, the scheduler, the manager and the descheduler, all in one process, and writes a\n"
        "kubeconfig for any kubectl (--kubeconfig says where). Production is a real Kubernetes; "
        "this is for trying\n"
        "out, for development and for tests.\n",
    .flags = up_flags,
    .nflags = ARRAY_LEN(up_flags),
    .options_size = sizeof(struct up_options),
    .run = run_up,
};
