/* registration.c - one key, synced on news and every minute: certificates, configurations, files.
 */
#include "manager/registration/registration_int.h"

#include "api/core.h"
#include "base/klog.h"

#define KEY         "webhooks"
#define AGAIN       (60 * NSEC_PER_SEC)
#define BACKOFF     (500 * NSEC_PER_MSEC)
#define BACKOFF_MAX (30 * NSEC_PER_SEC)
/* How long API servers may take to hear of a changed configuration. */
#define PROPAGATION     (5 * NSEC_PER_SEC)
#define CERT_DIR        "/tmp/koordinator-webhook-certs"
#define NAMESPACE       "koordinator-system"
#define SECRET_NAME     "koordinator-webhook-certs"
#define SERVICE_NAME    "koordinator-webhook-service"
#define MUTATING_NAME   "koordinator-mutating-webhook-configuration"
#define VALIDATING_NAME "koordinator-validating-webhook-configuration"
enum { PORT = 9876 };

/* ---- putting certificates to use ------------------------------------------------------------- */

static bool same_ca(const struct certset *a, const struct certset *b)
{
    return streq(strbuf_str(&a->part[CERTSET_CA]), strbuf_str(&b->part[CERTSET_CA]));
}

/* When every API server knows that it may trust the CA. Where there never was another one, nobody
 * needs to learn anything; a replica may hear of the new Secret after the configurations were
 * changed by another one. */
static nsec_t known_at(const struct registration *r)
{
    nsec_t since = r->untrusted_at;

    if (r->in_use.part[CERTSET_CA].len || r->others_trusted)
        since = MAX(since, r->ca_since);
    return since ? since + PROPAGATION : 0;
}

/* Both configurations trust the CA. */
static bool install(struct registration *r, struct batch *b, const struct certset *certs)
{
    nsec_t now = loop_mono(r->loop);
    struct kerr err = { 0 };

    if (certset_equal(&r->in_use, certs))
        return true;
    nsec_t due = same_ca(&r->in_use, certs) ? 0 : known_at(r);
    if (now < due) {
        batch_again(b, due - now);
        return false;
    }
    CLEANUP(certset_fini) struct certset there = { 0 };
    certdir_read(r->cert_dir, &there);
    if (!certset_equal(&there, certs) &&
        certdir_write(r->cert_dir, certs, loop_wall(r->loop), &err) < 0) {
        r->problem = err;
        batch_fail(b, &err);
        return false;
    }
    certset_copy(&r->in_use, certs);
    KLOG_I(0, "Webhook certificates are in use", KV_S("directory", r->cert_dir));
    return true;
}

static void note_ca(struct registration *r, const struct certset *certs)
{
    const char *ca = strbuf_str(&certs->part[CERTSET_CA]);

    if (streq(strbuf_str(&r->ca), ca))
        return;
    strbuf_reset(&r->ca);
    strbuf_append(&r->ca, ca);
    r->ca_since = loop_mono(r->loop);
    r->untrusted_at = 0;
    r->others_trusted = false;
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct registration *r = self;
    CLEANUP(certset_fini) struct certset certs = { 0 };

    (void)key, (void)obj;
    batch_again(b, AGAIN);
    if (!registration_certs(r, b, &certs))
        return;
    note_ca(r, &certs);
    bool mutating = registration_configure(r, b, MUTATING, &certs);
    bool validating = registration_configure(r, b, VALIDATING, &certs);
    if (!mutating || !validating || !install(r, b, &certs))
        return;
    r->problem = (struct kerr){ 0 };
    if (!r->initialised) {
        r->initialised = true;
        r->o.installed(r->o.arg);
    }
}

/* ---- news ------------------------------------------------------------------------------------ */

void registration_look(struct registration *r)
{
    controller_add(r->controller, KEY);
}

static void on_object(void *arg, struct kobj *o)
{
    (void)o;
    registration_look(arg);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old, (void)o;
    registration_look(arg);
}

static const struct informer_handler news = { .on_add = on_object,
                                              .on_update = on_update,
                                              .on_delete = on_object };

/* ---- life ------------------------------------------------------------------------------------ */

static char *text_or(const char *s, const char *otherwise)
{
    return xstrdup(str_empty(s) ? otherwise : s);
}

static void copy_options(struct registration *r, const struct registration_opts *o)
{
    r->o = *o;
    r->o.port = o->port ? o->port : PORT;
    r->host = text_or(o->host, "");
    r->cert_dir = text_or(o->cert_dir, CERT_DIR);
    r->ns = text_or(o->ns, NAMESPACE);
    r->secret = text_or(o->secret, SECRET_NAME);
    r->service = text_or(o->service, SERVICE_NAME);
    r->name[MUTATING] = text_or(o->mutating, MUTATING_NAME);
    r->name[VALIDATING] = text_or(o->validating, VALIDATING_NAME);
    r->dns_name = *r->host ? xstrdup(r->host) : xasprintf("%s.%s.svc", r->service, r->ns);
    r->in_files = str_empty(o->writer) ? *r->host != '\0' : streq(o->writer, "fs");
}

static struct informer *one(struct registration *r, const struct kind *k, const char *ns,
                            const char *name)
{
    CLEANUP(mem_free) char *selector = xasprintf("metadata.name=%s", name);
    struct informer *inf = caches_get_some(
        r->caches, &(struct informer_opts){ .kind = k, .ns = ns, .field_selector = selector });

    controller_watch(r->controller, inf, &news, r);
    return inf;
}

static void on_start(void *self)
{
    registration_look(self);
}

struct registration *registration_new(struct loop *l, struct kube *k,
                                      const struct registration_opts *o)
{
    struct registration *r = xnew0(struct registration);

    r->loop = l;
    r->kube = k;
    copy_options(r, o);
    r->made_for = xstrdup("");
    bucket_init(&r->patches, 0.5, 20, loop_mono(l));
    bucket_init(&r->makes, 0.1, 5, loop_mono(l));
    r->caches = caches_new(k);
    r->controllers =
        controllers_new(&(struct controller_env){ .loop = l, .kube = k, .caches = r->caches });
    r->controller = controller_new(
        r->controllers, &(struct controller_opts){
                            .name = "webhook-registration",
                            .sync = sync,
                            .start = on_start,
                            .self = r,
                            .queue = { .backoff_initial = BACKOFF, .backoff_max = BACKOFF_MAX } });
    if (!r->in_files)
        r->secrets = one(r, &kind_secret, r->ns, r->secret);
    r->configurations[MUTATING] = one(r, &kind_mutating_configuration, NULL, r->name[MUTATING]);
    r->configurations[VALIDATING] =
        one(r, &kind_validating_configuration, NULL, r->name[VALIDATING]);
    return r;
}

struct registration *registration_free(struct registration *r)
{
    if (!r)
        return NULL;
    controllers_stop(r->controllers);
    registration_drop_making(r);
    controller_free(r->controller);
    controllers_free(r->controllers);
    caches_free(r->caches);
    certset_fini(&r->made);
    certset_fini(&r->in_use);
    strbuf_fini(&r->ca);
    free(r->made_for);
    free(r->host);
    free(r->cert_dir);
    free(r->ns);
    free(r->secret);
    free(r->service);
    free(r->name[MUTATING]);
    free(r->name[VALIDATING]);
    free(r->dns_name);
    free(r);
    return NULL;
}

void registration_start(struct registration *r)
{
    caches_start(r->caches);
    controllers_start(r->controllers);
}

void registration_lead(struct registration *r)
{
    r->leads = true;
    registration_look(r);
}

const char *registration_cert_dir(const struct registration *r)
{
    return r->cert_dir;
}

int registration_check(void *registration, struct kerr *err)
{
    const struct registration *r = registration;

    if (r->initialised)
        return 0;
    return r->problem.code ? kerr_set(err, -EAGAIN, "webhook controller has not initialized: %s",
                                      r->problem.text)
                           : kerr_set(err, -EAGAIN, "webhook controller has not initialized");
}
