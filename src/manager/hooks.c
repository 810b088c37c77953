/* hooks.c - profiles, namespaces, priority classes, nodes and configuration, as webhooks ask for
 * them. */
#include "manager/hooks.h"

#include <stdio.h>

#include "api/core.h"
#include "api/koord/quota.h"
#include "api/node.h"
#include "api/policy.h"
#include "api/protocol/quota.h"
#include "base/klog.h"
#include "base/vec.h"
#include "client/events.h"
#include "manager/cached.h"
#include "manager/manager_int.h"
#include "manager/profile/profiles.h"
#include "manager/quota/evaluate.h"
#include "manager/quota/topology.h"
#include "manager/webhook/source.h"
#include "manager/webhook/validator.h"
#include "manager/webhook/webhook.h"

/* Gates whose webhooks or steps read quotas. */
#define QUOTA_READERS                                                                   \
    (1u << GATE_QUOTA_MUTATING | 1u << GATE_QUOTA_VALIDATING | 1u << GATE_QUOTA_TREES | \
     1u << GATE_QUOTA_ADMISSION)

struct manager_hooks {
    struct manager *m;
    struct webhooks *webhooks;
    struct webhook_source source;
    struct profile_set *profiles;
    struct informer *profile_cache, *namespaces, *classes;
    struct informer *pods; /* NULL: bindings are not checked */
    struct subscription *profile_news, *class_news, *rule_news, *quota_news;
    struct quota_topology *quotas; /* NULL: neither webhook of quotas is on */
    struct informer *quota_pods;   /* with the label of a quota */
    struct informer *quota_cache;
    struct informer *quota_profiles; /* NULL: there is one tree */
    struct evaluator *evaluator;     /* NULL: quotas are not charged */
    int quotas_by_name;              /* index */
    struct arena *rule_arena;        /* of the rules; NULL: there are none */
    struct validator rules;
    size_t node_i, node_it; /* the next node of the walk, and where it is */
};

/* ---- what the webhooks ask ------------------------------------------------------------------- */

static const struct profile_set *get_profiles(void *self)
{
    return ((struct manager_hooks *)self)->profiles;
}

static const kstrmap *get_namespace_labels(void *self, const char *ns)
{
    return hooks_namespace_labels(self, ns);
}

static const struct priority_class_obj *get_class(void *self, const char *name)
{
    const struct kobj *o = informer_get(((struct manager_hooks *)self)->classes, name);
    return o ? container_of(o, const struct priority_class_obj, obj) : NULL;
}

static const struct objmeta *get_pod(void *self, const char *ns, const char *name)
{
    const struct manager_hooks *h = self;
    char key[KOBJ_KEY_MAX];

    if (!h->pods)
        return NULL;
    (void)snprintf(key, sizeof key, "%s/%s", ns, name);
    const struct kobj *o = informer_get(h->pods, key);
    return o ? &o->meta : NULL;
}

/* They are asked for one after the other, so the walk goes on where it was. */
static bool get_node(void *self, size_t i, struct slo_node *ret)
{
    struct manager_hooks *h = self;
    const struct kobj *o;

    if (i < h->node_i)
        h->node_i = h->node_it = 0;
    do {
        o = informer_next(h->m->nodes, &h->node_it);
    } while (o && h->node_i++ < i);
    if (!o) {
        h->node_i = h->node_it = 0;
        return false;
    }
    *ret = (struct slo_node){ o->meta.name, &o->meta.labels };
    return true;
}

static const kstrmap *get_config(void *self)
{
    return configwatch_data(((struct manager_hooks *)self)->m->watch);
}

const kstrmap *hooks_namespace_labels(const struct manager_hooks *h, const char *ns)
{
    const struct kobj *o = informer_get(h->namespaces, ns);
    return o ? &o->meta.labels : NULL;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void tell_problem(struct manager_hooks *h, const struct profile *p)
{
    const char *class = p->obj->spec.priority_class_name;
    const struct kobj *o = &p->obj->obj;

    if (!h->m->leading)
        return;
    if (p->problem)
        recorder_event_on(h->m->events, o, true, "InvalidProfile", NULL, "%s", p->problem);
    if (!str_empty(class) && informer_synced(h->classes) && !informer_get(h->classes, class))
        recorder_event_on(h->m->events, o, true, "PriorityClassNotFound", NULL,
                          "spec.priorityClassName: there is no PriorityClass %s; pods that this "
                          "profile matches are refused",
                          class);
}

static void tell_change(const struct manager_hooks *h)
{
    if (h->m->o.profiles_changed)
        h->m->o.profiles_changed(h->m->o.profiles_arg);
}

static void put(struct manager_hooks *h, struct kobj *o)
{
    const struct profile *p = profile_set_put(h->profiles, o);

    if (p->problem)
        KLOG_W("Profile cannot be used as it is", KV_S("profile", o->meta.name),
               KV_S("why", p->problem));
    tell_problem(h, p);
    tell_change(h);
}

static void on_add(void *arg, struct kobj *o)
{
    put(arg, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o)
        put(arg, o);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct manager_hooks *h = arg;

    profile_set_remove(h->profiles, o->meta.name);
    tell_change(h);
}

static const struct informer_handler profile_handler = { on_add, on_update, on_delete, NULL };

/* Profiles that name the class refuse pods from now on. */
static void on_class_delete(void *arg, struct kobj *o)
{
    struct manager_hooks *h = arg;

    for (size_t i = 0; i < profile_set_count(h->profiles); i++) {
        const struct profile *p = profile_set_at(h->profiles, i);
        if (streq(p->obj->spec.priority_class_name, o->meta.name))
            tell_problem(h, p);
    }
}

static const struct informer_handler class_handler = { .on_delete = on_class_delete };

void hooks_lead(struct manager_hooks *h)
{
    for (size_t i = 0; i < profile_set_count(h->profiles); i++)
        tell_problem(h, profile_set_at(h->profiles, i));
}

/* ---- rules of the enhanced validator --------------------------------------------------------- */

static bool is_rules(const struct manager_hooks *h, const struct kobj *o)
{
    return streq(o->meta.name, str_or(h->m->o.rules_name, VALIDATOR_NAME));
}

/* Rules that cannot be read leave the old ones in force. */
static void read_rules(void *arg, struct kobj *o)
{
    struct manager_hooks *h = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct validator rules = { 0 };
    struct kerr err = { 0 };

    if (!is_rules(h, o))
        return;
    if (validator_decode(&container_of(o, struct configmap, obj)->data, a, &rules, &err) < 0) {
        KLOG_E(&err, "Invalid rules of the enhanced validator, keeping the last valid ones",
               KV_S("configmap", o->meta.name));
        if (h->m->leading)
            recorder_event_on(h->m->events, o, true, "InvalidRules", NULL, "%s", err.text);
        return;
    }
    arena_free(h->rule_arena);
    h->rule_arena = take(a);
    h->rules = rules;
}

static void reread_rules(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o)
        read_rules(arg, o);
}

static void drop_rules(void *arg, struct kobj *o)
{
    struct manager_hooks *h = arg;

    if (is_rules(h, o))
        h->rule_arena = arena_free(h->rule_arena);
}

static const struct validator *get_rules(void *self)
{
    const struct manager_hooks *h = self;
    return h->rule_arena && h->rules.enabled ? &h->rules : NULL;
}

static void watch_rules(struct manager_hooks *h)
{
    static const struct informer_handler handler = { read_rules, reread_rules, drop_rules, NULL };
    CLEANUP(mem_free)
    char *selector = xasprintf("metadata.name=%s", str_or(h->m->o.rules_name, VALIDATOR_NAME));
    struct informer *inf = caches_get_some(
        h->m->caches, &(struct informer_opts){ .kind = &kind_configmap,
                                               .ns = str_or(h->m->o.rules_ns, SLO_CONFIG_NAMESPACE),
                                               .field_selector = selector });

    h->rule_news = informer_add_handler(inf, &handler, h);
    h->source.rules = get_rules;
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static void put_quota(void *arg, struct kobj *o)
{
    topology_put(((struct manager_hooks *)arg)->quotas, o);
}

static void replace_quota(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    put_quota(arg, o);
}

static void drop_quota(void *arg, struct kobj *o)
{
    topology_remove(((struct manager_hooks *)arg)->quotas, o->meta.name);
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static size_t labelled_pods(void *arg, const char *quota, const char **names, size_t max)
{
    const struct manager_hooks *h = arg;
    struct vec_of(const char *) found = { 0 };
    const struct kobj *o;

    for (size_t it = 0; (o = informer_next(h->quota_pods, &it));)
        if (streq(pod_quota_name(&o->meta.labels), quota))
            vec_push(&found, o->meta.name);
    if (found.n > 1)
        qsort(found.items, found.n, sizeof *found.items, by_text);
    size_t n = found.n;
    for (size_t i = 0; i < MIN(n, max); i++)
        names[i] = found.items[i];
    vec_fini(&found);
    return n;
}

static bool pods_in_namespace(void *arg, const char *ns)
{
    const struct manager_hooks *h = arg;
    const struct kobj *o;

    for (size_t it = 0; h->m->pods && (o = informer_next(h->m->pods, &it));)
        if (streq(o->meta.ns, ns))
            return true;
    return false;
}

static struct quota_topology *get_quotas(void *self)
{
    return ((struct manager_hooks *)self)->quotas;
}

static bool key_before(const struct kobj *a, const struct kobj *b)
{
    int r = strcmp(a->meta.ns, b->meta.ns);

    return r ? r < 0 : strcmp(a->meta.name, b->meta.name) < 0;
}

static const struct elasticquotaprofile *get_tree_profile(void *self, const char *tree)
{
    const struct manager_hooks *h = self;
    const struct kobj *first = NULL, *o;

    for (size_t it = 0; h->quota_profiles && (o = informer_next(h->quota_profiles, &it));)
        if (streq(quota_tree_id(&o->meta.labels), tree) && (!first || key_before(o, first)))
            first = o;
    return first ? elasticquotaprofile_of(first) : NULL;
}

static void index_name(const struct kobj *o, index_emit_fn emit, void *to)
{
    emit(to, o->meta.name);
}

/* A quota that was accepted a moment ago counts before the cache shows it. */
static size_t count_named(void *self, const char *name, const char **ret_ns)
{
    const struct manager_hooks *h = self;
    size_t n;
    struct kobj *const *found = informer_by_index(h->quota_cache, h->quotas_by_name, name, &n);
    const struct elasticquota *accepted = topology_find(h->quotas, name);

    if (n > 0)
        *ret_ns = found[0]->meta.ns;
    else if (accepted)
        *ret_ns = str_or(accepted->obj.meta.ns, "");
    return n > 0 ? n : accepted != NULL;
}

static struct charging *charge(void *self, const struct quota_charge *c, charged_fn fn, void *arg)
{
    return evaluator_charge(((struct manager_hooks *)self)->evaluator, c, fn, arg);
}

static void start_evaluator(struct manager_hooks *h, const struct webhook_opts *o)
{
    h->evaluator =
        evaluator_new(&(struct evaluator_opts){ .loop = h->m->loop,
                                                .kube = h->m->kube,
                                                .quotas = h->quota_cache,
                                                .max_retries = o->charge_retries,
                                                .retry_jitter = o->charge_jitter,
                                                .max_total_jitter = o->charge_total_jitter });
    h->quotas_by_name = informer_add_index(h->quota_cache, index_name);
    h->source.quotas_named = count_named;
    h->source.charge = charge;
}

static void watch_quotas(struct manager_hooks *h, unsigned gates)
{
    static const struct informer_handler handler = { put_quota, replace_quota, drop_quota, NULL };
    struct topology_gates g = { .guarantee = gates >> GATE_QUOTA_GUARANTEE & 1,
                                .update_key = gates >> GATE_QUOTA_UPDATE_KEY & 1 };
    struct topology_pods pods = { labelled_pods, pods_in_namespace, h };

    h->quotas = topology_new(&g, &pods);
    h->quota_pods = caches_get_some(
        h->m->caches,
        &(struct informer_opts){ .kind = &cached_pod_meta, .label_selector = LABEL_QUOTA_NAME });
    h->quota_cache = caches_get(h->m->caches, &kind_elasticquota);
    h->quota_news = informer_add_handler(h->quota_cache, &handler, h);
    h->source.quotas = get_quotas;
    if (gates >> GATE_QUOTA_TREES & 1) {
        h->quota_profiles = caches_get(h->m->caches, &kind_elasticquotaprofile);
        h->source.tree_profile = get_tree_profile;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct manager_hooks *hooks_new(struct manager *m, const struct webhook_opts *given)
{
    struct manager_hooks *h = xnew0(struct manager_hooks);
    struct webhook_opts o = *given;

    o.pod_merge = m->o.pod_merge;
    h->m = m;
    h->profiles = profile_set_new();
    h->profile_cache = caches_get(m->caches, &kind_colocation_profile);
    h->namespaces = caches_get(m->caches, &cached_namespace);
    h->classes = caches_get(m->caches, &kind_priority_class);
    if (o.gates >> GATE_BINDING_ADMISSION & 1)
        h->pods = caches_get(m->caches, &cached_pod_meta);
    h->profile_news = informer_add_handler(h->profile_cache, &profile_handler, h);
    h->class_news = informer_add_handler(h->classes, &class_handler, h);
    h->source = (struct webhook_source){ .profiles = get_profiles,
                                         .namespace_labels = get_namespace_labels,
                                         .priority_class = get_class,
                                         .pod = get_pod,
                                         .node_at = get_node,
                                         .slo_config = get_config,
                                         .self = h };
    if (o.gates >> GATE_ENHANCED_VALIDATOR & 1)
        watch_rules(h);
    if (o.gates & QUOTA_READERS)
        watch_quotas(h, o.gates);
    if (o.gates >> GATE_QUOTA_ADMISSION & 1)
        start_evaluator(h, &o);
    h->webhooks = webhooks_new(m->loop, &h->source, &o);
    return h;
}

struct manager_hooks *hooks_free(struct manager_hooks *h)
{
    if (!h)
        return NULL;
    h->source.charge = NULL; /* answers may bring requests back here */
    evaluator_free(h->evaluator);
    webhooks_free(h->webhooks);
    informer_remove_handler(h->profile_news);
    informer_remove_handler(h->class_news);
    informer_remove_handler(h->rule_news);
    informer_remove_handler(h->quota_news);
    if (h->quotas)
        topology_free(h->quotas);
    arena_free(h->rule_arena);
    profile_set_free(h->profiles);
    free(h);
    return NULL;
}

struct webhooks *hooks_webhooks(const struct manager_hooks *h)
{
    return h->webhooks;
}

const struct profile_set *hooks_profiles(const struct manager_hooks *h)
{
    return h->profiles;
}
