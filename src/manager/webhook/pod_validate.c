/* pod_validate.c - the steps of the validating pod webhook (manager 7.5). */
#include "api/pod.h"
#include "api/podresources.h"
#include "api/protocol/protocol.h"
#include "api/protocol/quota.h"
#include "loop/loop.h"
#include "manager/quota/topology.h"
#include "manager/webhook/validator.h"
#include "manager/webhook/webhook_int.h"

struct decoded { /* made by the first step that needs it */
    struct pod *pod, *old;
};

/* NULL: the request was refused. */
static const struct decoded *decode(struct webhook_call *c)
{
    struct decoded *out = c->self;
    struct kerr err = { 0 };

    if (out)
        return out;
    out = arena_new0(c->a, struct decoded);
    if (pod_decode(c->val, c->a, &out->pod, &err) < 0 ||
        (c->r->op == WEBHOOK_UPDATE && c->r->old &&
         pod_decode(c->r->old, c->a, &out->old, &err) < 0)) {
        webhook_refuse(c, 400, "pod cannot be decoded: %s", err.text);
        return NULL;
    }
    c->self = out;
    return out;
}

/* ---- several errors in one text -------------------------------------------------------------- */

enum { ERRORS_MAX = 64 };
struct errors {
    const char *items[ERRORS_MAX];
    size_t n;
};

/* Each text once, as Go's aggregate prints them. */
static void errors_add(struct errors *e, struct arena *a, const char *text)
{
    for (size_t i = 0; i < e->n; i++)
        if (streq(e->items[i], text))
            return;
    if (e->n < ERRORS_MAX)
        e->items[e->n++] = arena_strdup(a, text);
}

/* 0 when there is none. */
static int errors_refuse(const struct errors *e, struct webhook_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (e->n == 0)
        return 0;
    for (size_t i = 0; i < e->n; i++)
        strbuf_appendf(&text, "%s%s", i ? ", " : e->n > 1 ? "[" : "", e->items[i]);
    if (e->n > 1)
        strbuf_appendc(&text, ']');
    return webhook_refuse(c, 400, "%s", strbuf_str(&text));
}

/* ---- reserve pods ---------------------------------------------------------------------------- */

static int check_reserve_pod(struct webhook_call *c)
{
    const struct decoded *d = decode(c);
    struct kerr err = { 0 };

    if (!d)
        return -1;
    if (identity_check_user_annotations(&d->pod->obj.meta.annotations, &err) < 0)
        return webhook_refuse(c, 400, "%s", err.text);
    return 0;
}

/* ---- QoS and priority ------------------------------------------------------------------------ */

static struct pod_identity identity_of(const struct pod *p)
{
    return (struct pod_identity){ .labels = &p->obj.meta.labels, .priority = p->spec->priority };
}

static void check_unchanged(struct webhook_call *c, const struct decoded *d, struct errors *e)
{
    static const enum identity_field fields[] = { IDENTITY_QOS, IDENTITY_PRIORITY,
                                                  IDENTITY_SUB_PRIORITY };
    struct pod_identity now = identity_of(d->pod), was = identity_of(d->old);

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct kerr err = { 0 };
        if (fields[i] == IDENTITY_SUB_PRIORITY &&
            webhook_gate_on(c->w, GATE_SKIP_VALIDATING_PRIORITY))
            continue;
        if (identity_check_immutable(fields[i], &was, &now, &err) < 0)
            errors_add(e, c->a, err.text);
    }
}

/* The pod as it will be stored: whoever asked for batch-cpu would not expect that cpu counts too.
 */
static void warn_both(struct webhook_call *c, const struct pod *p)
{
    static const char *const pairs[][2] = { { RES_CPU, RES_BATCH_CPU },
                                            { RES_MEMORY, RES_BATCH_MEMORY },
                                            { RES_CPU, RES_MID_CPU },
                                            { RES_MEMORY, RES_MID_MEMORY } };
    const char *set = limit_ranger_text(kstrmap_get(&p->obj.meta.annotations, ANNO_LIMIT_RANGER));

    for (uint32_t i = 0; i < p->spec->containers.n; i++)
        for (size_t k = 0; k < ARRAY_LEN(pairs); k++) {
            const struct container *x = &p->spec->containers.items[i];
            if (!resources_have_both(&x->resources, pairs[k][0], pairs[k][1]))
                continue;
            webhook_warn(c, "container %s has %s beside %s, and both count%s%s", x->name,
                         pairs[k][0], pairs[k][1],
                         *set ? "; a LimitRange of the namespace set: " : "", set);
        }
}

static int check_identity(struct webhook_call *c)
{
    const struct decoded *d = decode(c);
    struct errors e = { 0 };

    if (!d)
        return -1;
    if (d->old)
        check_unchanged(c, d, &e);
    const struct pod *p = d->pod;
    enum qos_class qos = qos_raw(&p->obj.meta.labels);
    reslist requests = pod_requests(p, NULL, c->a);
    struct kerr err = { 0 };
    if (identity_check_colocation(qos, &requests, &err) < 0)
        errors_add(&e, c->a, err.text);
    if (identity_check_combination(qos, priority_class_raw(&p->obj.meta.labels, p->spec->priority),
                                   &err) < 0)
        errors_add(&e, c->a, err.text);
    if (identity_check_whole_cpus(qos, &requests, &err) < 0)
        errors_add(&e, c->a, err.text);
    if (c->r->op == WEBHOOK_CREATE)
        warn_both(c, p);
    return errors_refuse(&e, c);
}

/* ---- quota ----------------------------------------------------------------------------------- */

static int check_preemptible(struct webhook_call *c, const struct decoded *d)
{
    if (!d->old)
        return 0;
    const char *now = kstrmap_get(&d->pod->obj.meta.labels, LABEL_QUOTA_PREEMPTIBLE);
    const char *was = kstrmap_get(&d->old->obj.meta.labels, LABEL_QUOTA_PREEMPTIBLE);
    if (streq(str_or(now, ""), str_or(was, "")))
        return 0;
    return webhook_refuse(c, 400, "Preemptible label is forbidden modify now.");
}

static int check_quota(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    const struct decoded *d = decode(c);

    if (!d || check_preemptible(c, d) < 0)
        return -1;
    const struct objmeta *m = &d->pod->obj.meta;
    struct quota_topology *t = s->quotas ? s->quotas(s->self) : NULL;
    if (!t || webhook_gate_on(c->w, GATE_PARENT_QUOTA_PODS))
        return 0;
    const struct elasticquota *q = topology_of_pod(t, m, str_empty(m->ns) ? c->r->ns : m->ns, c->a);
    if (!q || !quota_is_parent(&q->obj.meta.labels))
        return 0;
    return webhook_refuse(c, 400, "pod can not be linked to a parentQuotaGroup,quota:%s, pod:%s",
                          q->obj.meta.name, m->name);
}

/* ---- quota evaluate -------------------------------------------------------------------------- */

static bool is_never_evaluated(const char *quota)
{
    return !*quota || streq(quota, QUOTA_DEFAULT_NAME) || streq(quota, QUOTA_SYSTEM_NAME) ||
           streq(quota, QUOTA_ROOT_NAME);
}

static void replace_in(containerlist *l, const resource_replacements *r, struct arena *a)
{
    struct container *items = arena_newn0(a, l->n, struct container);

    for (uint32_t i = 0; i < l->n; i++) {
        items[i] = l->items[i];
        items[i].resources.requests = reslist_replace(&l->items[i].resources.requests, r, a);
        items[i].resources.limits = reslist_replace(&l->items[i].resources.limits, r, a);
    }
    l->items = items;
}

/* Ended, or its time to end is over: it asks for nothing. */
static bool is_over(const struct webhook_call *c, const struct pod *p)
{
    const struct objmeta *m = &p->obj.meta;
    nsec_t grace = m->grace_seconds.set ? m->grace_seconds.v * NSEC_PER_SEC : 0;

    return pod_is_terminal(p) || (m->deleted && loop_wall(c->w->loop) > m->deleted + grace);
}

static reslist charged_request(const struct webhook_call *c, const struct pod *p)
{
    const char *text = kstrmap_get(&p->obj.meta.annotations, ANNO_REPLACE_RESOURCES);
    struct podres_options o = { .exclude_overhead =
                                    webhook_gate_on(c->w, GATE_QUOTA_IGNORE_OVERHEAD) };
    struct pod_spec spec = *p->spec;

    if (is_over(c, p))
        return (reslist){ 0 };
    if (!str_empty(text) && webhook_gate_on(c->w, GATE_QUOTA_TRANSFORM_POD) &&
        webhook_gate_on(c->w, GATE_REPLACE_RESOURCES)) {
        resource_replacements r;
        resource_replacements_parse(text, c->a, &r);
        replace_in(&spec.containers, &r, c->a);
        replace_in(&spec.init_containers, &r, c->a);
        spec.overhead = reslist_replace(&spec.overhead, &r, c->a);
    }
    return pod_spec_requests(&spec, &o, c->a);
}

/* Finds out what is to be charged to whom; it is charged when all steps have agreed. */
static int evaluate_quota(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    bool no_default = webhook_gate_on(c->w, GATE_NO_DEFAULT_QUOTA);
    const struct quota_topology *t = s->quotas ? s->quotas(s->self) : NULL;
    const struct decoded *d;
    const char *ns = NULL;

    if (!webhook_gate_on(c->w, GATE_QUOTA_ADMISSION) || !s->charge || !t ||
        (c->r->op == WEBHOOK_UPDATE && !webhook_gate_on(c->w, GATE_QUOTA_ADMISSION_ON_UPDATE)))
        return 0;
    if (!(d = decode(c)))
        return -1;
    const struct objmeta *m = &d->pod->obj.meta;
    const char *pod_ns = str_empty(m->ns) ? c->r->ns : m->ns;
    const char *name = topology_name_of_pod(t, m, pod_ns, no_default, c->a);
    if (is_never_evaluated(name) ||
        (d->old &&
         streq(name, topology_name_of_pod(t, &d->old->obj.meta, pod_ns, no_default, c->a))))
        return 0;
    size_t n = s->quotas_named(s->self, name, &ns);
    if (n != 1)
        return webhook_refuse(
            c, 400, n ? "more than one elastic quota %s found" : "elastic quota %s not found",
            name);
    struct quota_charge *charge = arena_new0(c->a, struct quota_charge);
    *charge = (struct quota_charge){ ns, name, charged_request(c, d->pod), c->r->dry_run };
    if (charge->request.n > 0)
        c->answer->charge = charge;
    return 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

#define REQUESTS "pod.spec.containers[*].resources.requests"

static void forbidden(struct errors *e, struct arena *a, const char *why)
{
    errors_add(e, a, arena_printf(a, REQUESTS ": Forbidden: %s", why));
}

static void invalid(struct errors *e, struct arena *a, struct qty value, const char *why)
{
    errors_add(e, a,
               arena_printf(a, REQUESTS ": Invalid value: \"%s\": %s", qty_format(value, a), why));
}

static void check_whole_gpus(struct errors *e, struct arena *a, struct qty gpu)
{
    if (qty_is_zero(gpu))
        invalid(e, a, gpu, "the requested GPU must be greater than zero");
    else if (qty_value(gpu) > 100 && qty_value(gpu) % 100 != 0)
        invalid(e, a, gpu, "the requested GPU must be percentage of 100");
}

static void check_shared_gpus(struct errors *e, struct arena *a, const reslist *l)
{
    struct qty shared = reslist_get(l, RES_GPU_SHARED), core = reslist_get(l, RES_GPU_CORE);
    struct qty memory = reslist_get(l, RES_GPU_MEMORY);
    struct qty ratio = reslist_get(l, RES_GPU_MEMORY_RATIO);
    int64_t cards = qty_value(shared);

    if (qty_is_zero(shared))
        invalid(e, a, shared, "the requested GPU must be greater than zero");
    if (!qty_is_zero(reslist_get(l, RES_NPU_CORE)))
        return;
    if (qty_is_zero(memory) && qty_is_zero(ratio))
        forbidden(e, a, "GPU memory and GPU memory ratio all is zero");
    if (!qty_is_zero(memory) && !qty_is_zero(ratio))
        forbidden(e, a, "declare GPU memory and GPU memory ratio at same time");
    if (cards == 0)
        return;
    if (qty_value(core) % cards != 0)
        invalid(e, a, core, "the requested gpuCore must multiple of shared");
    if (qty_value(ratio) % cards != 0)
        invalid(e, a, ratio, "the requested gpuMemoryRatio must multiple of shared");
}

static int check_devices(struct webhook_call *c)
{
    const struct decoded *d = decode(c);
    struct errors e = { 0 };

    if (!webhook_gate_on(c->w, GATE_VALIDATE_DEVICES))
        return 0;
    if (!d)
        return -1;
    for (uint32_t i = 0; i < d->pod->spec->containers.n; i++) {
        const reslist *l = &d->pod->spec->containers.items[i].resources.requests;
        bool whole = reslist_has(l, RES_GPU), shared = reslist_has(l, RES_GPU_SHARED);
        if (whole && shared)
            forbidden(&e, c->a, "Forbidden declare GPU and GPU share at same time");
        else if (whole)
            check_whole_gpus(&e, c->a, reslist_get(l, RES_GPU));
        else if (shared)
            check_shared_gpus(&e, c->a, l);
    }
    return errors_refuse(&e, c);
}

/* ---- rules of the installation --------------------------------------------------------------- */

static int check_rules(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    const struct validator *v;
    const struct decoded *d;
    const char *bad;

    if (!webhook_gate_on(c->w, GATE_ENHANCED_VALIDATOR) || !s->rules || !(v = s->rules(s->self)))
        return 0;
    if (!(d = decode(c)))
        return -1;
    const char *ns = d->pod->obj.meta.ns;
    bad = validator_check(v, *ns ? ns : c->r->ns, &d->pod->obj.meta.labels, c->a);
    return bad ? webhook_refuse(c, 400, "%s", bad) : 0;
}

const struct webhook_step pod_validate_steps[] = {
    { "ClusterReservation", check_reserve_pod },
    { "ClusterColocationProfile", check_identity },
    { "ElasticQuota", check_quota },
    { "EvaluateQuota", evaluate_quota },
    { "DeviceResource", check_devices },
    { "EnhancedValidation", check_rules },
    { NULL, NULL },
};
