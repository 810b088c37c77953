/* webhook_int.h - what the files of the webhooks share.
 *
 * A webhook is a list of steps, run in order; each looks at the call and either goes on or refuses.
 */
#ifndef KOORD_MANAGER_WEBHOOK_INT_H
#define KOORD_MANAGER_WEBHOOK_INT_H
#include "manager/webhook/source.h"
#include "manager/webhook/tree.h"
#include "manager/webhook/webhook.h"
#include "json/patch.h"

struct webhook_observer;

enum { WEBHOOK_LIST_MAX = 64 };
struct word_list { /* of a flag: words between commas, without the spaces around them */
    const char *items[WEBHOOK_LIST_MAX];
    size_t n;
};
bool word_list_has(const struct word_list *l, const char *word);

struct webhook_route { /* for the HTTP handler of one of them */
    struct webhooks *w;
    enum webhook_id id;
};
struct webhooks {
    struct loop *loop;
    const struct webhook_source *src;
    struct arena *texts; /* of the options */
    unsigned gates;
    const char *config_ns, *config_name;
    bool names_required, binding_dry_run;
    const struct kmerge *pod_merge, *reservation_merge; /* how patches merge; NULL */
    struct kmerge reservation[2][2];                    /* what the latter is made of */
    struct word_list binding_users, binding_namespaces, binding_excluded, bypass_labels,
        bypass_annotations;
    bool always_drawn; /* see struct webhook_opts */
    void (*applied)(void *arg, const struct profile_target *t);
    void *applied_arg;
    struct webhook_observer *observer;
    struct webhook_route routes[WEBHOOK_COUNT];
    struct arena *scratch; /* of one review */
};
static inline bool webhook_gate_on(const struct webhooks *w, enum webhook_gate g)
{
    return w->gates >> g & 1;
}

struct webhook_call {
    struct webhooks *w;
    const struct webhook_request *r; /* texts are never NULL */
    struct arena *a;
    struct webhook_answer *answer;
    struct kj_mdoc *d; /* of a mutating one; obj belongs to it */
    struct kj_mval *obj;
    const struct kj_val *val; /* of a validating one; NULL on delete */
    void *self;               /* what the steps of one call hand on */
};
/* 0: go on; -1: refused, as webhook_refuse() returns. */
typedef int (*webhook_step_fn)(struct webhook_call *c);
struct webhook_step {
    const char *name; /* label plugin_name of the metric */
    webhook_step_fn run;
};
/* Answers with an error: code 400 or 500 and the text, without a reason. Returns -1. */
int webhook_refuse(struct webhook_call *c, int code, const char *fmt, ...) PRINTF(3, 4);
/* Denies: code 403, reason Forbidden. Returns -1. */
int webhook_deny(struct webhook_call *c, const char *fmt, ...) PRINTF(2, 3);
/* Told to whoever sent the request; beyond WEBHOOK_WARNINGS_MAX they are dropped. */
void webhook_warn(struct webhook_call *c, const char *fmt, ...) PRINTF(2, 3);

/* The steps of each webhook; end with a NULL name. */
extern const struct webhook_step pod_mutate_steps[], pod_validate_steps[], binding_validate_steps[],
    reservation_mutate_steps[], node_status_steps[], node_validate_steps[],
    configmap_validate_steps[], quota_mutate_steps[], quota_validate_steps[];

/* ---- observe.c: the metrics ------------------------------------------------------------------ */

struct webhook_observer *webhook_observer_new(struct metrics *m); /* NULL: counts nothing */
struct webhook_observer *webhook_observer_free(struct webhook_observer *o);
extern const char *const binding_decisions[]; /* of binding.c; ends with NULL */
/* One of them; that of the end counts as none. */
void webhook_observe_binding(struct webhook_observer *o, int decision);
/* The weight that a new quota was given; and it is deleted. */
void webhook_observe_weight(struct webhook_observer *o, const char *quota, const reslist *weight);
void webhook_observe_quota_gone(struct webhook_observer *o, const char *quota);
void webhook_observe(struct webhook_observer *o, enum webhook_id id, size_t step, const char *name,
                     enum webhook_op op, bool allowed, nsec_t took);
/* A step that could not do its work: code 500. */
void webhook_observe_error(struct webhook_observer *o, enum webhook_id id, const char *name);
#endif
