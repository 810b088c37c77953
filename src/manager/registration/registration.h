/* registration.h - how the API server finds and trusts our webhooks: certificates in a Secret that
 * all replicas share, and the two webhook configurations (manager 10).
 *
 * Runs on every replica. A certificate of a new CA is put to use only when the configurations have
 * trusted that CA, beside the old one, for long enough that every API server knows; the old CA goes
 * when every replica has had time to follow. Keys are made on a worker. Loop thread only.
 */
#ifndef KOORD_MANAGER_REGISTRATION_REGISTRATION_H
#define KOORD_MANAGER_REGISTRATION_REGISTRATION_H
#include "base/base.h"

struct kube;
struct loop;
struct registration;
struct strbuf;

struct registration_opts { /* texts are copied; NULL and "": the default */
    const char *host;      /* WEBHOOK_HOST; empty: by the Service */
    uint16_t port;         /* WEBHOOK_PORT */
    const char *cert_dir;  /* WEBHOOK_CERT_DIR */
    const char *writer;    /* WEBHOOK_CERT_WRITER: "fs", "secret" */
    const char *ns;        /* POD_NAMESPACE */
    const char *secret, *service, *mutating, *validating; /* names */
    /* Is there an active handler of this path? */
    bool (*serves)(void *arg, const char *path);
    /* See hookconfig.h; NULL: no matchConditions. */
    void (*condition)(void *arg, const char *path, struct strbuf *out);
    /* The directory has certificates that API servers trust; once. From then on they are swapped
     * there. */
    void (*installed)(void *arg);
    void *arg;
};

struct registration *registration_new(struct loop *l, struct kube *k,
                                      const struct registration_opts *o);
/* NULL is fine; always returns NULL. Not from inside a callback of its kube. */
struct registration *registration_free(struct registration *r);
DEFINE_CLEANUP(registration_free, struct registration *)
void registration_start(struct registration *r);
/* We lead: new matchConditions are written at once. Others only do it when nobody else has. */
void registration_lead(struct registration *r);
/* What the conditions depend on has changed. */
void registration_look(struct registration *r);

const char *registration_cert_dir(const struct registration *r);
/* 0 once everything was in place; -EAGAIN and the reason before. A readiness check. */
int registration_check(void *registration, struct kerr *err);
#endif
