/* koord_manager_webhook.c - the webhooks of koord-manager: environment, registration, port
 * (manager 1.1, 10). */
#include "base/klog.h"
#include "base/num.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "main/koord_manager.h"
#include "manager/manager.h"
#include "manager/registration/hookport.h"
#include "manager/registration/matchcond.h"
#include "manager/registration/registration.h"
#include "manager/webhook/serve.h"

#define LOOK_EVERY (20 * NSEC_PER_MSEC)
/* Between "not ready" and a closed port: those who send requests have to hear of it. */
#define LEAVING (3 * NSEC_PER_SEC)
#define DRAIN   (5 * NSEC_PER_SEC)
enum { PORT = 9876 };

struct webhook_part {
    struct run *run;
    struct manager *manager;
    unsigned gates;
    const char *address; /* of the environment, as is the rest */
    uint16_t port;
    struct registration *registration;
    struct hookport *hookport;
    struct timer *timer;
    bool started, leads, leaving;
    void (*left)(void *arg);
    void *left_arg;
};

/* ---- options --------------------------------------------------------------------------------- */

static int read_environment(struct registration_opts *o, struct kerr *err)
{
    const char *port = getenv("WEBHOOK_PORT");
    int64_t n = PORT;

    o->host = getenv("WEBHOOK_HOST");
    o->cert_dir = getenv("WEBHOOK_CERT_DIR");
    o->writer = getenv("WEBHOOK_CERT_WRITER");
    o->ns = getenv("POD_NAMESPACE");
    o->secret = getenv("SECRET_NAME");
    o->service = getenv("SERVICE_NAME");
    o->mutating = getenv("MUTATING_WEBHOOK_NAME");
    o->validating = getenv("VALIDATING_WEBHOOK_NAME");
    if (!str_empty(port) && (i64_parse(port, strlen(port), &n) < 0 || n < 1 || n > UINT16_MAX))
        return kerr_set(err, -EINVAL, "WEBHOOK_PORT: not a port: %.40s", port);
    o->port = (uint16_t)n;
    if (!str_empty(o->writer) && !streq(o->writer, "fs") && !streq(o->writer, "secret"))
        return kerr_set(err, -EINVAL, "WEBHOOK_CERT_WRITER: neither fs nor secret: %.40s",
                        o->writer);
    return 0;
}

static unsigned gates_of(const struct manager_options *o)
{
    unsigned gates = 0;

    for (unsigned i = 0; i < WEBHOOK_GATES; i++)
        gates |= (unsigned)manager_gate_on(o, webhook_gate_names[i]) << i;
    return gates;
}

void webhook_part_options(const struct manager_options *o, struct webhook_opts *ret)
{
    *ret = (struct webhook_opts){
        .gates = gates_of(o),
        .config_ns = o->config_ns,
        .config_name = o->config_name,
        .names_required = streq(o->names_required, "true"),
        .binding_users = o->binding_users,
        .binding_namespaces = o->binding_namespaces,
        .binding_excluded = o->binding_excluded,
        .binding_bypass_labels = o->binding_bypass_labels,
        .binding_bypass_annotations = o->binding_bypass_annotations,
        .binding_dry_run = o->binding_dry_run,
        .charge_retries = o->charge_retries,
        .charge_jitter = o->charge_jitter,
        .charge_total_jitter = o->charge_total_jitter,
    };
}

/* ---- what the registration asks -------------------------------------------------------------- */

static bool serves(void *arg, const char *path)
{
    const struct webhook_part *p = arg;
    int id = webhook_find(path, strlen(path));
    return id >= 0 && webhook_active(manager_webhooks(p->manager), (enum webhook_id)id);
}

static void condition(void *arg, const char *path, struct strbuf *out)
{
    const struct webhook_part *p = arg;
    int id = webhook_find(path, strlen(path));

    if (id == WEBHOOK_MUTATE_POD)
        matchcond_mutate_pod(manager_profiles(p->manager), p->gates, out);
    else if (id == WEBHOOK_VALIDATE_POD)
        matchcond_validate_pod(p->gates, out);
}

static void installed(void *arg)
{
    struct webhook_part *p = arg;
    const struct hookport_opts o = { .dir = registration_cert_dir(p->registration),
                                     .address = p->address,
                                     .port = p->port,
                                     .http = { .max_body = WEBHOOK_BODY_MAX,
                                               .tell_too_large = true },
                                     .serve = webhook_serve,
                                     .arg = manager_webhooks(p->manager) };
    struct kerr err = { 0 };

    if (hookport_new(p->run->loop, &o, &p->hookport, &err) < 0) {
        KLOG_E(&err, "Failed to serve webhooks");
        run_last_words(p->run, "failed to serve webhooks", &err);
        run_exit(p->run, 1);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static int check_ready(void *arg, struct kerr *err)
{
    struct webhook_part *p = arg;

    if (p->leaving)
        return kerr_set(err, -ESHUTDOWN, "stopping");
    int r = registration_check(p->registration, err);
    return r < 0 ? r : hookport_check(p->hookport, err);
}

/* Conditions are made of profiles: not before all of them are known. */
static void on_look(struct loop *l, void *arg)
{
    struct webhook_part *p = arg;

    p->timer = NULL;
    if (!manager_synced(p->manager)) {
        p->timer = loop_after(l, LOOK_EVERY, on_look, p);
        return;
    }
    p->started = true;
    registration_start(p->registration);
    if (p->leads)
        registration_lead(p->registration);
}

int webhook_part_new(struct run *r, struct kube *k, struct manager *m,
                     const struct manager_options *o, struct webhook_part **ret, struct kerr *err)
{
    CLEANUP(webhook_part_free) struct webhook_part *p = xnew0(struct webhook_part);
    struct registration_opts ro = {
        .serves = serves, .condition = condition, .installed = installed, .arg = p
    };

    if (read_environment(&ro, err) < 0)
        return err->code;
    p->run = r;
    p->manager = m;
    p->gates = gates_of(o);
    p->address = getenv("WEBHOOK_BIND_ADDRESS");
    p->port = ro.port;
    p->registration = registration_new(r->loop, k, &ro);
    p->timer = loop_after(r->loop, 0, on_look, p);
    *ret = take(p);
    return 0;
}

struct webhook_part *webhook_part_free(struct webhook_part *p)
{
    if (!p)
        return NULL;
    timer_cancel(p->timer);
    hookport_free(p->hookport);
    registration_free(p->registration);
    free(p);
    return NULL;
}

void webhook_part_add_check(struct webhook_part *p, struct serve *s)
{
    serve_add_check(s, SERVE_READYZ, "webhook-ready", check_ready, p);
}

void webhook_part_lead(struct webhook_part *p)
{
    p->leads = true;
    if (p->started)
        registration_lead(p->registration);
}

void webhook_part_look(struct webhook_part *p)
{
    if (p->started)
        registration_look(p->registration);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_left(struct loop *l, void *arg)
{
    struct webhook_part *p = arg;

    (void)l;
    p->left(p->left_arg);
}

static void on_drained(void *arg)
{
    struct webhook_part *p = arg;
    loop_post(p->run->loop, on_left, p); /* it is freed next: not from inside its server */
}

static void on_leave(struct loop *l, void *arg)
{
    struct webhook_part *p = arg;

    (void)l;
    p->timer = NULL;
    hookport_stop(p->hookport, DRAIN, on_drained, p);
}

void webhook_part_leave(struct webhook_part *p, void (*left)(void *arg), void *arg)
{
    p->leaving = true;
    p->left = left;
    p->left_arg = arg;
    p->timer = timer_cancel(p->timer);
    if (p->hookport) {
        hookport_leave(p->hookport);
        p->timer = loop_after(p->run->loop, LEAVING, on_leave, p);
    } else
        loop_post(p->run->loop, on_left, p);
}
