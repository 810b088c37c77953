/* certs.c - where the certificates come from: the Secret, or the directory; made when they are no
 * good. */
#include <stdio.h>

#include "api/core.h"
#include "base/klog.h"
#include "controllers/meta.h"
#include "manager/registration/registration_int.h"

#define MAKING_ANEW "Making new webhook certificates"

struct making {
    struct registration *r; /* NULL: nobody waits any more */
    struct certset old, made;
    char *host;
    char *made_for;
    nsec_t now;
    struct kerr err;
};

/* ---- on a worker ----------------------------------------------------------------------------- */

static void make(void *arg)
{
    struct making *m = arg;
    (void)certset_make(&m->old, m->host, m->now, &m->made, &m->err);
}

static void making_free(struct making *m)
{
    certset_fini(&m->old);
    certset_fini(&m->made);
    free(m->host);
    free(m->made_for);
    free(m);
}

static void on_made(struct loop *l, void *arg)
{
    struct making *m = arg;
    struct registration *r = m->r;

    (void)l;
    if (r) {
        r->making = NULL;
        free(r->made_for);
        r->made_for = take(m->made_for);
        if (m->err.code < 0) { /* the sync of the next minute tries again */
            KLOG_E(&m->err, "Failed to make webhook certificates");
            r->problem = m->err;
        } else {
            certset_copy(&r->made, &m->made);
            registration_look(r);
        }
    }
    making_free(m);
}

static void start_making(struct registration *r, struct batch *b, const struct certset *old,
                         const char *version)
{
    nsec_t wait = bucket_take(&r->makes, loop_mono(r->loop));
    struct making *m;

    if (wait > 0) {
        r->makes.tokens += 1; /* not taken */
        batch_again(b, wait);
        return;
    }
    m = xnew0(struct making);

    m->r = r;
    certset_copy(&m->old, old);
    m->host = xstrdup(r->dns_name);
    m->made_for = xstrdup(version);
    m->now = loop_wall(r->loop);
    r->making = m;
    loop_work(r->loop, make, on_made, m);
}

void registration_drop_making(struct registration *r)
{
    if (r->making)
        r->making->r = NULL;
    r->making = NULL;
}

/* ---- the Secret ------------------------------------------------------------------------------ */

/* Somebody else was faster: what they made counts, and the news of it is on its way. */
static bool on_written(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct registration *r = arg;

    (void)b, (void)resp;
    certset_fini(&r->made);
    return !err || err->reason == KR_ALREADY_EXISTS || err->reason == KR_CONFLICT;
}

static void write_secret(struct registration *r, struct batch *b, const struct secret *old)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    if (old) {
        meta_write_version(&w, &old->obj);
    } else {
        kjw_str(&w, "apiVersion", "v1");
        kjw_str(&w, "kind", "Secret");
        kjw_obj(&w, "metadata");
        kjw_str(&w, "name", r->secret);
        kjw_str(&w, "namespace", r->ns);
        kjw_end(&w);
    }
    certset_write_data(&r->made, &w);
    kjw_end(&w);
    if (old)
        batch_patch(b, &old->obj, NULL, KUBE_PATCH_MERGE, &body, on_written, r);
    else
        batch_create(b, &kind_secret, r->ns, &body, on_written, r);
}

static bool certs_of_secret(struct registration *r, struct batch *b, struct certset *ret)
{
    char key[KOBJ_KEY_MAX];
    struct kerr why = { 0 };

    (void)snprintf(key, sizeof key, "%s/%s", r->ns, r->secret);
    const struct kobj *o = informer_get(r->secrets, key);
    const struct secret *s = o ? container_of(o, struct secret, obj) : NULL;
    const char *version = o ? o->meta.resource_version : "";
    if (s) {
        certset_of_secret(s, ret);
        if (certset_check(ret, r->dns_name, loop_wall(r->loop), &why) == 0) {
            certset_fini(&r->made);
            return true;
        }
    } else {
        (void)kerr_set(&why, -ENOENT, "there is no such Secret");
    }
    if (r->making)
        return false;
    if (r->made.part[CERTSET_CERT].len && streq(r->made_for, version)) {
        write_secret(r, b, s);
        return false;
    }
    KLOG_I(0, MAKING_ANEW, KV_S("secret", key), KV_S("why", why.text));
    start_making(r, b, ret, version);
    return false;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* What was made stays in memory until the configurations trust it, then it goes into the files. */
static bool certs_of_files(struct registration *r, struct batch *b, struct certset *ret)
{
    struct kerr why = { 0 };

    certdir_read(r->cert_dir, ret);
    if (certset_check(ret, r->dns_name, loop_wall(r->loop), &why) == 0) {
        certset_fini(&r->made);
        return true;
    }
    if (r->made.part[CERTSET_CERT].len &&
        certset_check(&r->made, r->dns_name, loop_wall(r->loop), NULL) == 0) {
        certset_copy(ret, &r->made);
        return true;
    }
    if (!r->making) {
        KLOG_I(0, MAKING_ANEW, KV_S("directory", r->cert_dir), KV_S("why", why.text));
        start_making(r, b, ret, "");
    }
    return false;
}

bool registration_certs(struct registration *r, struct batch *b, struct certset *ret)
{
    return r->in_files ? certs_of_files(r, b, ret) : certs_of_secret(r, b, ret);
}
