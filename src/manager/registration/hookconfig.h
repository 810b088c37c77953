/* hookconfig.h - what a webhook configuration should say: its template, with our CA, our address
 * and the handlers that are active (manager 10). Pure.
 */
#ifndef KOORD_MANAGER_REGISTRATION_HOOKCONFIG_H
#define KOORD_MANAGER_REGISTRATION_HOOKCONFIG_H
#include "base/base.h"
#include "base/strbuf.h"
#include "json/kj.h"

#define HOOKCONFIG_TEMPLATE  "template"                 /* annotation: the webhooks to start from */
#define HOOKCONFIG_CONDITION "concerned.koordinator.sh" /* name of our matchCondition */

struct hookconfig_env {
    const char *host; /* NULL or "": by the Service */
    uint16_t port;    /* of the host */
    const char *ns, *service;
    /* Is there an active handler of this path? */
    bool (*serves)(void *arg, const char *path);
    /* A CEL expression that is false for requests the handler would leave as they are; appends to
     * out, or leaves it empty when there is none. May be NULL. */
    void (*condition)(void *arg, const char *path, struct strbuf *out);
    void *arg;
};

enum hookconfig_diff {
    HOOKCONFIG_SAME,
    HOOKCONFIG_CONDITIONS, /* nothing but matchConditions */
    HOOKCONFIG_OTHER,
};
/* webhooks: as they are in the configuration. tmpl: the annotation; NULL or "": none yet, then the
 * webhooks are the template, and *ret_template gets what to store. *ret: the webhooks as they
 * should be. ca_bundle: PEM. */
int hookconfig_plan(const struct hookconfig_env *env, const struct kj_val *webhooks,
                    const char *tmpl, struct str ca_bundle, struct kj_mdoc *d, struct kj_mval **ret,
                    struct strbuf *ret_template, struct kerr *err);
enum hookconfig_diff hookconfig_compare(const struct kj_val *webhooks, const struct kj_mval *want);

/* Appends the CAs that the webhooks trust now (PEM). */
void hookconfig_trusted(const struct kj_val *webhooks, struct strbuf *out);
/* Does each of them trust this CA? */
bool hookconfig_all_trust(const struct kj_val *webhooks, struct str ca);
#endif
