/* defaultevictor.c - DefaultEvictor: which pods may go by the rules of Kubernetes' descheduler, and
 * their eviction through the API (descheduler 5.4).
 */
#include <stdio.h>

#include "api/core.h"
#include "api/policy.h"
#include "api/protocol/keys.h"
#include "api/protocol/migration.h"
#include "api/selector/selector.h"
#include "api/storage.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/events.h"
#include "client/kube.h"
#include "controllers/caches.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/defaultevictor/args.h"
#include "descheduler/plugins/defaultevictor/budgets.h"
#include "descheduler/plugins/plugins.h"
#include "json/kj.h"

#define ANNO_MIRROR "kubernetes.io/config.mirror"
#define ANNO_SOURCE "kubernetes.io/config.source"
enum { SYSTEM_CRITICAL = 2000000000 };

struct eviction { /* under way */
    struct evictor *self;
    struct kube_call *call;
    struct kobj *pod;
    char *reason, *strategy;
};
struct evictor {
    struct kd_env env;
    const struct evictor_args *args;
    struct informer *pods; /* to count those of an owner */
    struct budgets budgets;
    struct vec_of(struct eviction *) calls;
};

/* ---- which pods ------------------------------------------------------------------------------- */

static const char *annotation(const struct pod *p, const char *key)
{
    return kstrmap_get(&p->obj.meta.annotations, key);
}

static bool is_static(const struct pod *p)
{
    const char *source = annotation(p, ANNO_SOURCE);
    return source && !streq(source, "api");
}

static bool has_owner(const struct pod *p, const char *kind)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (!kind || streq(p->obj.meta.owners.items[i].kind, kind))
            return true;
    return false;
}

static bool has_local_storage(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.n; i++)
        if (p->volumes.items[i].host_path || p->volumes.items[i].empty_dir)
            return true;
    return false;
}

/* A claim that is not there, or has no class yet, may be of any class: its pod stays. */
static bool is_protected_class(const struct evictor_args *x, const char *class)
{
    const struct evictor_protection_config *c = x->protections ? x->protections->config : NULL;

    if (!c || !c->pvc || c->pvc->storage_classes.n == 0 || !*class)
        return true;
    for (uint32_t i = 0; i < c->pvc->storage_classes.n; i++)
        if (streq(c->pvc->storage_classes.items[i].name, class))
            return true;
    return false;
}

static bool has_protected_claim(const struct evictor_args *x, const struct kd_view *v,
                                const struct pod *p)
{
    char key[KOBJ_KEY_MAX];

    for (uint32_t i = 0; i < p->volumes.n; i++) {
        const struct volume_claim *c = p->volumes.items[i].claim;
        if (!c)
            continue;
        (void)snprintf(key, sizeof key, "%s/%s", p->obj.meta.ns, c->claim_name);
        const struct kobj *o = kd_view_object(v, &kind_pvc, key);
        const struct pvc *pvc = o ? container_of(o, const struct pvc, obj) : NULL;
        if (is_protected_class(x, pvc ? str_or(pvc->spec.storage_class_name, "") : ""))
            return true;
    }
    return false;
}

static int64_t threshold_of(const struct evictor_args *x, const struct kd_view *v)
{
    const struct evictor_threshold *t = x->threshold;

    if (!t)
        return SYSTEM_CRITICAL;
    if (t->value.set)
        return t->value.v;
    const struct kobj *o = *t->name ? kd_view_object(v, &kind_priority_class, t->name) : NULL;
    return o ? container_of(o, const struct priority_class_obj, obj)->value : SYSTEM_CRITICAL;
}

static size_t count_of_owner(const struct evictor *s, const struct pod *p)
{
    kobjvec pods = { 0 };

    objects_by_owner(s->pods, p->obj.meta.owners.items[0].uid, &pods);
    size_t n = pods.n;
    vec_fini(&pods);
    return n;
}

/* What is switched on by the args, first reason first. */
static bool is_protected(const struct evictor *s, const struct kd_view *v, const struct pod *p,
                         struct kd_why *why)
{
    const struct evictor_args *x = s->args;
    const bool *on = x->protects;

    if (on[PROTECT_LOCAL_STORAGE] && has_local_storage(p))
        return !kd_no(why, "pod has local storage and is protected against eviction");
    if (on[PROTECT_DAEMON_SET] && has_owner(p, "DaemonSet"))
        return !kd_no(why, "pod is related to daemonset and is protected against eviction");
    if (on[PROTECT_SYSTEM_CRITICAL] && p->spec->priority.set &&
        p->spec->priority.v >= threshold_of(x, v))
        return !kd_no(why, "pod has a priority of %d, which is protected against eviction",
                      (int)p->spec->priority.v);
    if (!has_owner(p, NULL) && (on[PROTECT_FAILED_BARE] || p->status.phase != POD_FAILED))
        return !kd_no(why, "pod does not have any ownerRefs");
    if (on[PROTECT_PVC] && has_protected_claim(x, v, p))
        return !kd_no(why, "pod has a PVC and is protected against eviction");
    if (on[PROTECT_WITHOUT_PDB] && !budgets_cover(v, p))
        return !kd_no(why, "no PodDisruptionBudget covers the pod");
    if (on[PROTECT_RESOURCE_CLAIMS] && p->spec->resource_claims.n)
        return !kd_no(why, "pod has ResourceClaims and is protected against eviction");
    return false;
}

static bool filter(void *self, const struct kd_view *v, const struct pod *p, struct kd_why *why)
{
    const struct evictor *s = self;
    const struct evictor_args *x = s->args;

    if (annotation(p, ANNO_DESCHEDULER_EVICT))
        return true;
    if (streq(x->no_eviction, "Mandatory") && annotation(p, ANNO_PREFER_NO_EVICTION))
        return kd_no(why, "pod's owner does not want it to be evicted (%s)",
                     ANNO_PREFER_NO_EVICTION);
    if (annotation(p, ANNO_MIRROR))
        return kd_no(why, "pod is a mirror pod");
    if (is_static(p))
        return kd_no(why, "pod is a static pod");
    if (p->obj.meta.deleted)
        return kd_no(why, "pod is terminating");
    if (is_protected(s, v, p, why))
        return false;
    if (x->min_replicas > 1 && p->obj.meta.owners.n == 1 && s->pods &&
        count_of_owner(s, p) < (size_t)x->min_replicas)
        return kd_no(why, "owner has less than minReplicas(%lld) replicas",
                     (long long)x->min_replicas);
    if (x->min_age.set &&
        (p->status.start_time == 0 || kd_view_time(v) - p->status.start_time < x->min_age.v))
        return kd_no(why, "pod is younger than minPodAge");
    if (!args_selector_match(x->labels, &p->obj.meta.labels))
        return kd_no(why, "pod's labels do not match labelSelector");
    return true;
}

static bool fits_elsewhere(const struct evictor_args *x, const struct kd_view *v,
                           const struct pod *p)
{
    for (uint32_t i = 0; i < kd_view_count(v); i++) {
        const struct kd_node *n = kd_view_node(v, i);
        if (n->ready && !streq(n->name, p->node_name) &&
            args_selector_match(x->nodes, &n->node->obj.meta.labels) &&
            kd_fits(v, p, i, KD_FIT_KUBE))
            return true;
    }
    return false;
}

static bool pre_eviction_filter(void *self, const struct kd_view *v, const struct pod *p,
                                struct kd_why *why)
{
    const struct evictor *s = self;
    const struct evictor_args *x = s->args;

    if (x->node_fit && !fits_elsewhere(x, v, p))
        return kd_no(why, "pod does not fit on any other node");
    if (!x->namespaces)
        return true;
    const struct kobj *ns = kd_view_object(v, &kind_namespace, p->obj.meta.ns);
    return (ns && labelsel_matches(x->namespaces, &ns->meta.labels)) ||
           kd_no(why, "pod's namespace does not match namespaceLabelSelector");
}

/* ---- evicting --------------------------------------------------------------------------------- */

static void eviction_free(struct eviction *e)
{
    kube_cancel(e->call);
    kobj_unref(e->pod);
    free(e->reason);
    free(e->strategy);
    free(e);
}

static void on_evicted(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct eviction *e = arg;
    struct evictor *s = e->self;
    const struct pod *p = pod_of(e->pod);

    (void)r;
    e->call = NULL;
    kd_count(&s->env, err ? "error" : "success", e->strategy, p);
    if (err)
        KLOG_E(err, "Failed to evict pod", KV_S("namespace", p->obj.meta.ns),
               KV_S("pod", p->obj.meta.name), KV_S("strategy", e->strategy));
    else
        recorder_event_on(s->env.events, e->pod, false, "Descheduled", "Evicting",
                          "pod evicted by %s", *e->reason ? e->reason : e->strategy);
    vec_foreach(&s->calls, i)
        if (s->calls.items[i] == e) {
            vec_swap_remove(&s->calls, i);
            break;
        }
    eviction_free(e);
}

static void write_eviction(const struct pod *p, const struct delete_options *d, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf options = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "policy/v1");
    kjw_str(&w, "kind", "Eviction");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", p->obj.meta.name);
    kjw_str(&w, "namespace", p->obj.meta.ns);
    kjw_end(&w);
    if (d) {
        kj_encode(&delete_options_schema, d, &options);
        kjw_raw(&w, "deleteOptions", options.data, options.len);
    }
    kjw_end(&w);
}

static bool evict(void *self, const struct kd_view *v, const struct pod *p,
                  const struct kd_eviction *e, struct kd_why *why)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct evictor *s = self;
    struct kobj *o;

    if (!eviction_budgets_take(&s->budgets, v, p, why)) {
        kd_count(&s->env, "error", e->plugin, p);
        return false;
    }
    struct eviction *x = xnew0(struct eviction);
    memcpy(&o, &(const struct kobj *){ &p->obj }, sizeof o);
    x->self = s;
    x->pod = kobj_ref(o);
    x->reason = xstrdup(e->reason);
    x->strategy = xstrdup(e->plugin);
    write_eviction(p, e->delete_options, &body);
    vec_push(&s->calls, x);
    /* A refusal is the answer: who was refused waits for the next round. */
    x->call = kube_do(s->env.kube,
                      &(struct kube_req){ .verb = KUBE_CREATE,
                                          .kind = &kind_pod,
                                          .ns = p->obj.meta.ns,
                                          .name = p->obj.meta.name,
                                          .subresource = "eviction",
                                          .body = body.data,
                                          .body_len = body.len,
                                          .no_retry = true },
                      on_evicted, x);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------- */

static int create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct evictor *s = xnew0(struct evictor);

    (void)err;
    s->env = *env;
    s->args = args;
    s->pods = env->caches ? caches_get(env->caches, &kind_pod) : NULL;
    *ret_self = s;
    return 0;
}

static void destroy(void *self)
{
    struct evictor *s = self;

    vec_foreach(&s->calls, i)
        eviction_free(s->calls.items[i]);
    vec_fini(&s->calls);
    budgets_fini(&s->budgets);
    free(s);
}

static void update(void *self, const void *args)
{
    struct evictor *s = self;
    s->args = args;
}

static const struct kind *const kinds[] = { &kind_namespace, &kind_pdb, &kind_priority_class,
                                            &kind_pvc, NULL };

const struct kd_plugin plugin_defaultevictor = {
    .abi = KD_PLUGIN_ABI,
    .size = sizeof(struct kd_plugin),
    .name = "DefaultEvictor",
    .args = &defaultevictor_args,
    .kinds = kinds,
    .optional = kinds,
    .create = create,
    .destroy = destroy,
    .update = update,
    .filter = filter,
    .pre_eviction_filter = pre_eviction_filter,
    .evict = evict,
};
