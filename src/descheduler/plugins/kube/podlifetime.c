/* podlifetime.c - PodLifeTime: pods that are too old, or in a state in which they had better not
 * be.
 *
 * All criteria that are given must hold. The oldest pods of all nodes go first.
 */
#include "api/pod.h"
#include "component/config.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct condition_filter {
    const char *type, *status, *reason;
    struct opt_i64 min_seconds; /* since the last transition */
};
struct owner_kinds {
    kstrlist include, exclude;
};
struct lifetime_args {
    struct kube_common common;
    struct opt_i64 max_seconds;
    kstrlist states;
    KLIST(struct condition_filter) conditions;
    kube_codes exit_codes;
    struct owner_kinds *owners;
    bool init_containers, ephemeral_containers;
};

#define STYPE struct condition_filter
static const struct kfield condition_filter_fields[] = {
    KF(STYPE, type, "type", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, status, "status", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, reason, "reason", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, min_seconds, "minTimeSinceLastTransitionSeconds", KF_OPT_I64, .flags = KF_OMITEMPTY),
};
static const struct kschema condition_filter_schema =
    KSCHEMA("PodConditionFilter", STYPE, condition_filter_fields);
#undef STYPE
#define STYPE struct owner_kinds
static const struct kfield owner_kinds_fields[] = {
    KF_LIST_OF(STYPE, include, "include", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, exclude, "exclude", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema owner_kinds_schema = KSCHEMA("OwnerKinds", STYPE, owner_kinds_fields);
#undef STYPE
#define STYPE struct lifetime_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF(STYPE, max_seconds, "maxPodLifeTimeSeconds", KF_OPT_I64, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, states, "states", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, conditions, "conditions", KF_OBJ, .sub = &condition_filter_schema,
               .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, exit_codes, "exitCodes", KF_I32, .flags = KF_OMITEMPTY),
    KF(STYPE, owners, "ownerKinds", KF_OBJ, .sub = &owner_kinds_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, init_containers, "includingInitContainers", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, ephemeral_containers, "includingEphemeralContainers", KF_BOOL, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("PodLifeTimeArgs", STYPE, args_fields);
#undef STYPE

/* Phases, then reasons of pods, of waiting and of terminated containers. */
static const char *const states[] = {
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",
    "NodeAffinity",
    "NodeLost",
    "Shutdown",
    "UnexpectedAdmissionError",
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "CreateContainerError",
    "InvalidImageName",
    "OOMKilled",
    "Error",
    "Completed",
    "DeadlineExceeded",
    "Evicted",
    "ContainerCannotRun",
    "StartError",
};

static int check_states(const kstrlist *l, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        size_t k = 0;
        while (k < ARRAY_LEN(states) && !streq(states[k], l->items[i]))
            k++;
        if (k == ARRAY_LEN(states))
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "states[%u]: Unsupported value: \"%.64s\": no phase or reason that is "
                            "known",
                            i, l->items[i]);
    }
    return 0;
}

static int check_conditions(const struct lifetime_args *x, struct kerr *err)
{
    for (uint32_t i = 0; i < x->conditions.n; i++) {
        const struct condition_filter *f = &x->conditions.items[i];
        if (!*f->type && !*f->status && !*f->reason && !f->min_seconds.set)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "conditions[%u]: Required value: at least one of type, status, reason "
                            "and minTimeSinceLastTransitionSeconds must be set",
                            i);
    }
    return 0;
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct lifetime_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    if (r == 0 && !x->max_seconds.set && !x->states.n && !x->conditions.n && !x->exit_codes.n)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "maxPodLifeTimeSeconds: Required value: at least one of "
                     "maxPodLifeTimeSeconds, states, conditions and exitCodes must be set");
    if (r == 0 && x->max_seconds.set)
        r = config_range("maxPodLifeTimeSeconds", x->max_seconds.v, 0, INT64_MAX, err);
    if (r == 0)
        r = check_states(&x->states, err);
    if (r == 0)
        r = check_conditions(x, err);
    if (r == 0 && x->owners && x->owners->include.n && x->owners->exclude.n)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "ownerKinds: Invalid value: only one of include and exclude can be set");
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

/* ---- which pods ------------------------------------------------------------------------------- */

static bool in_state(const struct lifetime_args *x, const struct pod *p)
{
    const struct pod_status *s = &p->status;

    return args_has(&x->states, pod_phase_names[s->phase]) || args_has(&x->states, s->reason) ||
           kube_has_reason(&s->container_statuses, &x->states) ||
           (x->init_containers && kube_has_reason(&s->init_container_statuses, &x->states)) ||
           (x->ephemeral_containers &&
            kube_has_reason(&s->ephemeral_container_statuses, &x->states));
}

static bool has_exit_code(const struct lifetime_args *x, const struct pod *p)
{
    const struct pod_status *s = &p->status;

    return kube_has_exit_code(&s->container_statuses, &x->exit_codes) ||
           (x->init_containers && kube_has_exit_code(&s->init_container_statuses, &x->exit_codes));
}

static bool matches(const struct condition_filter *f, const struct condition *c, nsec_t now)
{
    if ((*f->type && !streq(f->type, c->type)) ||
        (*f->status && !streq(f->status, cond_status_names[c->status])) ||
        (*f->reason && !streq(f->reason, c->reason)))
        return false;
    return !f->min_seconds.set ||
           (c->last_transition_time &&
            (now - c->last_transition_time) / NSEC_PER_SEC >= f->min_seconds.v);
}

static bool has_condition(const struct lifetime_args *x, const struct pod *p, nsec_t now)
{
    for (uint32_t i = 0; i < p->status.conditions.n; i++)
        for (uint32_t j = 0; j < x->conditions.n; j++)
            if (matches(&x->conditions.items[j], &p->status.conditions.items[i], now))
                return true;
    return false;
}

static bool has_owner(const struct pod *p, const kstrlist *kinds)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (args_has(kinds, p->obj.meta.owners.items[i].kind))
            return true;
    return false;
}

static bool is_due(const struct lifetime_args *x, const struct pod *p, nsec_t now)
{
    if (x->max_seconds.set && (now - p->obj.meta.created) / NSEC_PER_SEC <= x->max_seconds.v)
        return false;
    if (x->owners && ((x->owners->include.n && !has_owner(p, &x->owners->include)) ||
                      has_owner(p, &x->owners->exclude)))
        return false;
    return (!x->states.n || in_state(x, p)) && (!x->exit_codes.n || has_exit_code(x, p)) &&
           (!x->conditions.n || has_condition(x, p, now));
}

static int by_age(const void *a, const void *b)
{
    const struct objmeta *x = &(*(const struct pod *const *)a)->obj.meta;
    const struct objmeta *y = &(*(const struct pod *const *)b)->obj.meta;
    int r = (x->created > y->created) - (x->created < y->created);

    if (r == 0)
        r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->name, y->name);
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct lifetime_args *x = kube_args(self);
    podvec pods = { 0 }, due = { 0 };

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++)
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = &x->common, .all = true },
                  &pods);
    vec_foreach(&pods, i)
        if (is_due(x, pods.items[i], r->now) && kd_filter(r, pods.items[i]))
            vec_push(&due, pods.items[i]);
    if (due.n)
        qsort(due.items, due.n, sizeof *due.items, by_age);
    vec_foreach(&due, i)
        (void)kd_evict(r, due.items[i], NULL);
    vec_fini(&pods);
    vec_fini(&due);
    return 0;
}

const struct kd_plugin plugin_podlifetime = { KUBE_PLUGIN("PodLifeTime", &args_table),
                                              .deschedule = deschedule };
