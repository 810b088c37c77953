/* rules.c - which constraints hold for a pod: its own, or those for all pods that have none. */
#include "api/core.h"
#include "api/selector/selector.h"
#include "api/workload.h"
#include "base/arena.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/podtopologyspread/spread.h"

/* ---- configuration --------------------------------------------------------------------------- */

static const struct topology_spread system_defaults[] = {
    { .topology_key = "kubernetes.io/hostname",
      .max_skew = 3,
      .when_unsatisfiable = SPREAD_SCHEDULE_ANYWAY },
    { .topology_key = "topology.kubernetes.io/zone",
      .max_skew = 5,
      .when_unsatisfiable = SPREAD_SCHEDULE_ANYWAY },
};

int spread_create(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err)
{
    const struct spread_args *a = args;
    struct spread *s = xnew0(struct spread);

    (void)err;
    s->objects = env->objects;
    s->system = streq(a->defaulting, "System");
    s->defaults = s->system ? system_defaults : a->constraints.items;
    s->ndefaults = s->system ? (uint32_t)ARRAY_LEN(system_defaults) : a->constraints.n;
    *ret_self = s;
    return 0;
}

/* ---- the selector of default constraints ----------------------------------------------------- */

static struct labelsel *with_all(struct labelsel *sel, const kstrmap *m, struct arena *a)
{
    for (uint32_t i = 0; i < m->n; i++)
        sel = labelsel_and(sel, arena_strdup(a, m->items[i].key),
                           arena_strdup(a, m->items[i].value), a);
    return sel;
}

static struct kobj *controller_get(const struct spread *s, const struct pod *p)
{
    static const struct {
        const char *api_version;
        const struct kind *kind;
    } owners[] = {
        { "v1", &kind_replicationcontroller },
        { "apps/v1", &kind_replicaset },
        { "apps/v1", &kind_statefulset },
    };
    const struct owner_ref *o = kobj_controller(&p->obj);

    for (size_t i = 0; o && i < ARRAY_LEN(owners); i++)
        if (streq(o->kind, owners[i].kind->kind) && streq(o->api_version, owners[i].api_version))
            return objects_get(s->objects, owners[i].kind, p->obj.meta.ns, o->name);
    return NULL;
}

/* What the services of the pod and its controller select. Copied: these objects may be replaced
 * while the rules live. */
static struct labelsel *default_selector(const struct spread *s, const struct pod *p,
                                         struct arena *a)
{
    const kstrmap none = { 0 };
    struct label_selector of_owner;
    struct labelsel *sel = NULL;
    struct kobj *o = s->objects ? controller_get(s, p) : NULL;

    if (o)
        kj_copy(&label_selector_schema, &workload_of(o)->spec.selector, a, &of_owner);
    if (!o || labelsel_from(&of_owner, a, &sel, NULL) < 0)
        sel = labelsel_from_map(&none, a);
    for (size_t it = 0; s->objects && (o = objects_next(s->objects, &kind_service, &it));) {
        const kstrmap *m = &container_of(o, const struct service, obj)->selector;
        if (streq(o->meta.ns, p->obj.meta.ns) && m->n > 0 &&
            labelsel_matches(labelsel_from_map(m, a), &p->obj.meta.labels))
            sel = with_all(sel, m, a);
    }
    return sel;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static struct spread_rule rule_of(const struct topology_spread *c, const struct labelsel *sel,
                                  const struct pod *p)
{
    bool soft = c->when_unsatisfiable == SPREAD_SCHEDULE_ANYWAY;

    return (struct spread_rule){
        .key = c->topology_key,
        .selector = sel,
        .max_skew = c->max_skew,
        .min_domains = c->min_domains.set ? c->min_domains.v : 1,
        .counts = !labelsel_is_everything(sel),
        .self = labelsel_matches(sel, &p->obj.meta.labels),
        .honor_affinity = c->node_affinity_policy != SPREAD_IGNORE,
        .honor_taints = c->node_taints_policy == SPREAD_HONOR,
        .per_node = soft && streq(c->topology_key, "kubernetes.io/hostname"),
    };
}

/* The constraint's selector, narrowed to pods that are equal in the labels it names. */
static int own_selector(const struct topology_spread *c, const struct pod *p, struct arena *a,
                        struct labelsel **ret, struct kerr *err)
{
    int code = labelsel_from(c->label_selector, a, ret, err);

    for (uint32_t i = 0; code == 0 && i < c->match_label_keys.n; i++) {
        const char *key = c->match_label_keys.items[i];
        const char *value = kstrmap_get(&p->obj.meta.labels, key);
        if (value)
            *ret = labelsel_and(*ret, key, value, a);
    }
    return code;
}

static void default_rules(const struct spread *s, const struct pod *p, enum spread_action action,
                          struct arena *a, struct spread_rules *ret)
{
    const struct labelsel *sel = NULL;

    ret->items = arena_newn0(a, s->ndefaults, struct spread_rule);
    for (uint32_t i = 0; i < s->ndefaults; i++) {
        if (s->defaults[i].when_unsatisfiable != action)
            continue;
        sel = sel ? sel : default_selector(s, p, a);
        if (labelsel_is_everything(sel))
            return; /* nobody knows which pods belong together */
        ret->items[ret->n++] = rule_of(&s->defaults[i], sel, p);
    }
}

int spread_rules_of(const struct spread *s, const struct pod *p, enum spread_action action,
                    struct arena *a, struct spread_rules *ret, struct kerr *err)
{
    const struct topology_spread *own = p->spec->topology_spread_constraints.items;
    uint32_t nown = p->spec->topology_spread_constraints.n;
    struct spread_rules rules = { 0 };

    if (nown == 0)
        default_rules(s, p, action, a, &rules);
    else
        rules.items = arena_newn0(a, nown, struct spread_rule);
    for (uint32_t i = 0; i < nown; i++) {
        struct labelsel *sel;
        if (own[i].when_unsatisfiable != action)
            continue;
        int code = own_selector(&own[i], p, a, &sel, err);
        if (code < 0)
            return kerr_wrap(err, "topologySpreadConstraints[%u].labelSelector", i);
        rules.items[rules.n++] = rule_of(&own[i], sel, p);
    }
    *ret = rules;
    return 0;
}
