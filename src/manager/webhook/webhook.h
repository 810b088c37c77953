/* webhook.h - admission of objects: the webhooks by path, and the functions behind them.
 *
 * A webhook looks at one request, an object on its way into the API server, and answers: allowed or
 * not, with a code and a text, with warnings, and, when it mutates, with a changed object. The
 * functions work on JSON trees and do no I/O, so that they serve the HTTPS port (serve.h) and the
 * embedded API server's admission alike; what has to be written before the answer counts stands in
 * the answer (charge). What they know of the cluster comes from a source
 * (source.h); answers live in the arena of the call. Loop thread only.
 *
 *     for (enum webhook_id id = 0; id < WEBHOOK_COUNT; id++)
 *         if (webhook_infos[id].mutating && webhook_concerns(w, id, &request))
 *             webhook_mutate(w, id, &request, doc, obj, arena, &answer);
 */
#ifndef KOORD_MANAGER_WEBHOOK_WEBHOOK_H
#define KOORD_MANAGER_WEBHOOK_WEBHOOK_H
#include "base/arena.h"
#include "manager/quota/evaluate.h"
#include "json/kj.h"

struct kmerge;
struct loop;
struct metrics;
struct profile_target;
struct webhook_source;
struct webhooks;

/* ---- which there are (manager 7.1) ----------------------------------------------------------- */

enum webhook_id {
    WEBHOOK_MUTATE_POD,
    WEBHOOK_MUTATE_NODE_STATUS,
    WEBHOOK_MUTATE_RESERVATION,
    WEBHOOK_MUTATE_QUOTA,
    WEBHOOK_VALIDATE_POD,
    WEBHOOK_VALIDATE_BINDING,
    WEBHOOK_VALIDATE_NODE,
    WEBHOOK_VALIDATE_CONFIGMAP,
    WEBHOOK_VALIDATE_QUOTA,
    WEBHOOK_COUNT
};

/* The feature gates that they read; webhook_gate_names has the names. */
enum webhook_gate {
    GATE_POD_MUTATING,
    GATE_POD_VALIDATING,
    GATE_QUOTA_MUTATING,
    GATE_QUOTA_VALIDATING,
    GATE_NODE_MUTATING,
    GATE_NODE_VALIDATING,
    GATE_CONFIGMAP_VALIDATING,
    GATE_RESERVATION_MUTATING,
    GATE_SKIP_MUTATING_RESOURCES,
    GATE_SKIP_VALIDATING_PRIORITY,
    GATE_VALIDATE_DEVICES,
    GATE_ENHANCED_VALIDATOR,
    GATE_NO_EXTENDED_SPEC,
    GATE_NO_DEVICE_SPEC,
    GATE_BINDING_ADMISSION,
    GATE_QUOTA_GUARANTEE,
    GATE_QUOTA_UPDATE_KEY,
    GATE_PARENT_QUOTA_PODS,
    GATE_QUOTA_TREES,
    GATE_NO_DEFAULT_QUOTA,
    GATE_QUOTA_ADMISSION,
    GATE_QUOTA_ADMISSION_ON_UPDATE,
    GATE_QUOTA_TRANSFORM_POD,
    GATE_REPLACE_RESOURCES,
    GATE_QUOTA_IGNORE_OVERHEAD,
    WEBHOOK_GATES
};
extern const char *const webhook_gate_names[WEBHOOK_GATES + 1]; /* ends with NULL */
/* As they are when nobody says anything: bits 1 << gate. */
unsigned webhook_gates_default(void);

enum webhook_op {
    WEBHOOK_CREATE = 1 << 0,
    WEBHOOK_UPDATE = 1 << 1,
    WEBHOOK_DELETE = 1 << 2,
    WEBHOOK_CONNECT = 1 << 3
};
/* "CREATE" and so on; 0 for what is none of them. */
enum webhook_op webhook_op_parse(const char *text);
const char *webhook_op_name(enum webhook_op op);

struct webhook_info {
    const char *path; /* "/mutate-pod" */
    const char *name; /* of its (first) entry in the configuration */
    bool mutating;
    enum webhook_gate gate;                     /* served only while this one is on */
    const char *object_type;                    /* label of the metric */
    const char *group, *resource, *subresource; /* "" for core, and for none */
    unsigned operations;                        /* bits of enum webhook_op */
};
extern const struct webhook_info webhook_infos[WEBHOOK_COUNT];
/* -1: no webhook has this path. */
int webhook_find(const char *path, size_t n);

/* ---- requests and answers -------------------------------------------------------------------- */

struct webhook_request {
    enum webhook_op op;
    const char *group, *resource, *subresource; /* "", "pods", "binding"; NULL is "" */
    const char *ns, *name, *user;               /* NULL is "" */
    const struct kj_val *old;                   /* as stored; NULL on create */
    bool dry_run;
};
enum { WEBHOOK_WARNINGS_MAX = 8 };
struct webhook_answer {
    bool allowed;
    int code;            /* HTTP status: 200; refused 400, 403 or 500 */
    const char *reason;  /* "Forbidden"; "": none, as upstream where the code is not 403 */
    const char *message; /* why it is refused; "" */
    const char *warnings[WEBHOOK_WARNINGS_MAX];
    size_t nwarnings;
    bool changed; /* by a mutating one; the caller has the object */
    /* Of an answer that allows: only if a quota can be charged with this. Whoever carries the
     * answer calls webhook_charge() first. NULL: nothing to charge. */
    const struct quota_charge *charge;
};

/* ---- running them ---------------------------------------------------------------------------- */

struct webhook_opts {                    /* texts are copied; NULL: the default of the flag */
    unsigned gates;                      /* bits 1 << enum webhook_gate */
    const char *config_ns, *config_name; /* of slo-controller-config */
    bool names_required;                 /* --node-strategy-name-need-check */
    /* --binding-admission-*: lists with commas. */
    const char *binding_users, *binding_namespaces, *binding_excluded, *binding_bypass_labels,
        *binding_bypass_annotations;
    bool binding_dry_run;
    /* For explanations: percentages above 0 count as 100, and what profiles did is told; also when
     * the request is refused, then as far as it got. */
    bool always_drawn;
    void (*applied)(void *arg, const struct profile_target *t);
    void *applied_arg;
    const struct kmerge *pod_merge; /* how patches merge into pods; NULL: lists are replaced */
    /* --quota-update-*: see quota/evaluate.h. */
    int charge_retries;
    nsec_t charge_jitter, charge_total_jitter;
    struct metrics *metrics; /* NULL: not counted; must outlive them */
};
/* Source and loop (time for the metrics, chance for probabilities) must outlive them. */
struct webhooks *webhooks_new(struct loop *l, const struct webhook_source *src,
                              const struct webhook_opts *o);
struct webhooks *webhooks_free(struct webhooks *w); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(webhooks_free, struct webhooks *)

/* Its gate is on, and it is there. */
bool webhook_active(const struct webhooks *w, enum webhook_id id);
/* Active, and its rule names resource, subresource and operation. */
bool webhook_concerns(const struct webhooks *w, enum webhook_id id,
                      const struct webhook_request *r);
/* May change obj, which belongs to d; when the request is refused it may be half changed. */
void webhook_mutate(struct webhooks *w, enum webhook_id id, const struct webhook_request *r,
                    struct kj_mdoc *d, struct kj_mval *obj, struct arena *a,
                    struct webhook_answer *ret);
/* obj: NULL on delete. */
void webhook_validate(struct webhooks *w, enum webhook_id id, const struct webhook_request *r,
                      const struct kj_val *obj, struct arena *a, struct webhook_answer *ret);
/* fn is told in a later turn, exactly once unless charging_cancel() comes first. */
struct charging *webhook_charge(struct webhooks *w, const struct quota_charge *c, charged_fn fn,
                                void *arg);
#endif
