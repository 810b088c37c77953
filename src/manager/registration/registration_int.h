/* registration_int.h - the registration's body, for its files. */
#ifndef KOORD_MANAGER_REGISTRATION_REGISTRATION_INT_H
#define KOORD_MANAGER_REGISTRATION_REGISTRATION_INT_H
#include "client/bucket.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "manager/registration/certset.h"
#include "manager/registration/hookconfig.h"
#include "manager/registration/registration.h"

struct hook_configuration { /* of either kind */
    struct kobj obj;
    const char *webhooks; /* JSON; NULL: none */
};
extern const struct kind kind_mutating_configuration, kind_validating_configuration;

enum { MUTATING, VALIDATING, CONFIGURATIONS };

struct registration {
    struct loop *loop;
    struct kube *kube;
    struct caches *caches;
    struct controllers *controllers;
    struct controller *controller;
    struct registration_opts o;
    char *host, *cert_dir, *ns, *secret, *service, *name[CONFIGURATIONS];
    char *dns_name; /* that the certificate is for */
    bool in_files;  /* the directory is where certificates come from, not the Secret */
    struct informer *secrets, *configurations[CONFIGURATIONS]; /* secrets NULL: in files */

    struct making *making; /* certificates on a worker */
    struct certset made;   /* by it; empty: none */
    char *made_for;        /* resourceVersion of the Secret that they replace; "" for none */

    struct certset in_use; /* what the directory has; empty: nothing we vouch for */
    struct strbuf ca;      /* that counts now, ... */
    nsec_t ca_since;       /* ... and since when, mono */
    nsec_t untrusted_at;   /* when a configuration was last seen that did not trust it; mono */
    bool others_trusted;   /* one was seen that trusts another CA too: a change is under way */

    /* Replicas that contradict each other must not do so without a pause. */
    struct bucket patches, makes;
    bool leads, no_conditions;
    nsec_t differs_since[CONFIGURATIONS]; /* conditions are not ours, mono; 0: they are */
    bool initialised;
    struct kerr problem; /* of the last sync */
};

/* certs.c: *ret gets the certificates to use. false: not yet; what is missing is under way. */
bool registration_certs(struct registration *r, struct batch *b, struct certset *ret);
void registration_drop_making(struct registration *r);
/* configs.c: brings one configuration to what it should say. true: it says so already. */
bool registration_configure(struct registration *r, struct batch *b, size_t which,
                            const struct certset *certs);
#endif
