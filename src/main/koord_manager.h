/* koord_manager.h - the flags and feature gates of koord-manager (manager 1, api-config 3.1, 5). */
#ifndef KOORD_MAIN_KOORD_MANAGER_H
#define KOORD_MAIN_KOORD_MANAGER_H
#include "component/election.h"
#include "component/gates.h"
#include "component/options.h"
#include "manager/manager.h"

struct manager_options {
    const char *metrics_addr, *health_addr, *pprof_addr;
    bool enable_pprof, elect;
    const char *election_ns, *lock;
    const char *ns, *sync_period;
    double qps;
    int burst;
    struct flag_list controllers, plugins;
    const char *config_name, *config_ns;
    const char *rules_ns, *rules_name; /* of the enhanced validator */
    const char *names_required;        /* only the text "true" counts */
    const char *binding_users, *binding_namespaces, *binding_excluded, *binding_bypass_labels,
        *binding_bypass_annotations;
    bool binding_dry_run;
    struct manager_profile_opts profiles;
    int charge_retries; /* of quota evaluate */
    nsec_t charge_jitter, charge_total_jitter;
    struct client_options client;
    struct debug_options debug;
    struct gates gates;
};
void manager_options_add(struct flags *f, void *options);
bool manager_gate_on(const struct manager_options *o, const char *gate);
/* Says which of the feature gates that were given have no effect yet. */
void manager_options_warn(const struct manager_options *o);
/* Which of these names (NULL ends) are on, as bits: a list of names, "*" and "-name", of which the
 * first that is about a name decides; what is not mentioned is on with "*" only. *ret_unknown: the
 * first word that means nothing; NULL: all do. */
unsigned names_enabled(const struct flag_list *l, const char *const *names,
                       const char **ret_unknown);

/* ---- koord_manager_webhook.c: webhooks on a port of their own, on every replica -------------- */

struct kube;
struct manager;
struct run;
struct serve;
struct webhook_opts;
struct webhook_part;
/* What the flags say; texts are theirs. */
void webhook_part_options(const struct manager_options *o, struct webhook_opts *ret);
/* Registers and serves the manager's webhooks once its caches are complete. -EINVAL: a variable of
 * the environment cannot be used. */
int webhook_part_new(struct run *r, struct kube *k, struct manager *m,
                     const struct manager_options *o, struct webhook_part **ret, struct kerr *err);
/* Before the manager. NULL is fine; always returns NULL. */
struct webhook_part *webhook_part_free(struct webhook_part *p);
DEFINE_CLEANUP(webhook_part_free, struct webhook_part *)
void webhook_part_add_check(struct webhook_part *p, struct serve *s);
void webhook_part_lead(struct webhook_part *p); /* this replica leads */
void webhook_part_look(struct webhook_part *p); /* profiles have changed */
/* The end begins: not ready any more, then the port closes; left() when requests have ended. */
void webhook_part_leave(struct webhook_part *p, void (*left)(void *arg), void *arg);
#endif
