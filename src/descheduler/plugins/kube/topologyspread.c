/* topologyspread.c - RemovePodsViolatingTopologySpreadConstraint: pods of domains that have too
 * many of them (descheduler 6.4).
 */
#include <math.h>

#include "api/pod.h"
#include "api/selector/selector.h"
#include "api/toleration.h"
#include "base/strbuf.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct spread_args {
    struct kube_common common;
    kstrlist constraints;
    struct opt_bool node_fit;
};

ARGS_DEFAULT(def_true, "true");
#define STYPE struct spread_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF_LIST_OF(STYPE, constraints, "constraints", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, node_fit, "topologyBalanceNodeFit", KF_OPT_BOOL, .meta = &def_true),
};
static const struct kschema args_schema =
    KSCHEMA("RemovePodsViolatingTopologySpreadConstraintArgs", STYPE, args_fields);
#undef STYPE

static const char *const actions[] = { [SPREAD_NONE] = "",
                                       [SPREAD_DO_NOT_SCHEDULE] = "DoNotSchedule",
                                       [SPREAD_SCHEDULE_ANYWAY] = "ScheduleAnyway" };

static void fill(void *args, const struct kd_args_context *c, struct arena *a)
{
    struct spread_args *x = args;

    (void)c;
    if (x->constraints.n)
        return;
    x->constraints.items = arena_newn0(a, 1, const char *);
    x->constraints.items[0] = actions[SPREAD_DO_NOT_SCHEDULE];
    x->constraints.n = 1;
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct spread_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    for (uint32_t i = 0; i < x->constraints.n && r == 0; i++)
        if (!streq(x->constraints.items[i], actions[SPREAD_DO_NOT_SCHEDULE]) &&
            !streq(x->constraints.items[i], actions[SPREAD_SCHEDULE_ANYWAY]))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "constraints[%u]: Unsupported value: \"%.64s\": supported values: "
                         "\"DoNotSchedule\", \"ScheduleAnyway\"",
                         i, x->constraints.items[i]);
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .fill = fill, .check = check };

/* ---- constraints ------------------------------------------------------------------------------ */

struct constraint {
    const struct topology_spread *of;
    const struct pod *pod; /* that has it */
    struct labelsel *selector;
    const char *text; /* of the selector */
};
typedef struct vec_of(struct constraint) constraints;

/* The selector, and for each of matchLabelKeys the pod's own value. */
static bool compile(struct constraint *c, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const kstrlist *keys = &c->of->match_label_keys;

    if (labelsel_from(c->of->label_selector, a, &c->selector, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < keys->n; i++) {
        const char *value = kstrmap_get(&c->pod->obj.meta.labels, keys->items[i]);
        if (value)
            c->selector = labelsel_and(c->selector, keys->items[i], value, a);
    }
    labelsel_format(c->selector, &text);
    c->text = arena_strdup(a, strbuf_str(&text));
    return true;
}

static bool same_where(const struct pod *a, const struct pod *b)
{
    const struct node_affinity *x = a->spec->affinity ? a->spec->affinity->node : NULL;
    const struct node_affinity *y = b->spec->affinity ? b->spec->affinity->node : NULL;
    const tolerationlist *s = &a->spec->tolerations, *t = &b->spec->tolerations;

    if (a->spec == b->spec)
        return true;
    if (!x != !y || (x && !kj_struct_equal(&node_affinity_schema, x, y)) || s->n != t->n ||
        !kstrmap_equal(&a->spec->node_selector, &b->spec->node_selector))
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!kj_struct_equal(&toleration_schema, &s->items[i], &t->items[i]))
            return false;
    return true;
}

static bool same(const struct constraint *a, const struct constraint *b)
{
    return a->of->max_skew == b->of->max_skew && streq(a->of->topology_key, b->of->topology_key) &&
           streq(a->text, b->text) && a->of->node_affinity_policy == b->of->node_affinity_policy &&
           a->of->node_taints_policy == b->of->node_taints_policy && same_where(a->pod, b->pod);
}

static void add_constraints(const struct spread_args *x, const struct pod *p, constraints *l,
                            struct arena *a)
{
    for (uint32_t i = 0; i < p->spec->topology_spread_constraints.n; i++) {
        struct constraint c = { &p->spec->topology_spread_constraints.items[i], p, NULL, NULL };
        bool known = false;
        if (!args_has(&x->constraints, actions[c.of->when_unsatisfiable]) || !compile(&c, a))
            continue;
        vec_foreach(l, j)
            known |= same(&c, &l->items[j]);
        if (!known)
            vec_push(l, c);
    }
}

/* ---- domains ---------------------------------------------------------------------------------- */

struct ranked { /* a pod of a domain; the last ones are moved first */
    const struct pod *pod;
    bool bound, fits;
    int64_t priority;
};
struct domain {
    const char *value;
    struct vec_of(struct ranked) pods;
};
struct balance {
    const struct spread_args *args;
    struct kd_round *round;
    const struct constraint *of;
    struct vec_of(struct domain) domains; /* few: found one by one */
    struct vec_of(uint32_t) eligible;
    struct vec_of(uint32_t) below; /* nodes of domains that have less than the average */
};

static bool is_eligible(const struct balance *b, const struct node *n)
{
    const struct topology_spread *t = b->of->of;
    const struct pod *p = b->of->pod;

    if (!kstrmap_get(&n->obj.meta.labels, t->topology_key))
        return false;
    if (t->node_affinity_policy != SPREAD_IGNORE && !kd_fits_affinity(b->round->view, p, n))
        return false;
    return t->node_taints_policy != SPREAD_HONOR ||
           !taints_untolerated(&n->spec.taints, &p->spec->tolerations, TAINT_HARD_EFFECTS, 0);
}

static struct domain *domain_of(struct balance *b, const char *value)
{
    vec_foreach(&b->domains, i)
        if (streq(b->domains.items[i].value, value))
            return &b->domains.items[i];
    struct domain d = { .value = value };
    vec_push(&b->domains, d);
    return &vec_last(&b->domains);
}

static bool has_selector_or_affinity(const struct pod *p)
{
    return p->spec->node_selector.n || (p->spec->affinity && (p->spec->affinity->node));
}

static size_t collect(struct balance *b, const podvec *pods)
{
    struct kd_round *r = b->round;
    const char *key = b->of->of->topology_key;
    size_t sum = 0;

    for (uint32_t i = 0; i < r->nnodes; i++) {
        const struct node *n = kd_view_node(r->view, r->nodes[i])->node;
        if (!is_eligible(b, n))
            continue;
        vec_push(&b->eligible, r->nodes[i]);
        (void)domain_of(b, kstrmap_get(&n->obj.meta.labels, key));
    }
    vec_foreach(pods, i) {
        const struct pod *p = pods->items[i];
        int64_t node = kd_view_node_of(r->view, p);
        if (p->obj.meta.deleted || !labelsel_matches(b->of->selector, &p->obj.meta.labels))
            continue;
        const char *value =
            kstrmap_get(&kd_view_node(r->view, (uint32_t)node)->node->obj.meta.labels, key);
        if (!value)
            continue;
        struct ranked x = { .pod = p,
                            .bound = has_selector_or_affinity(p),
                            .priority = pod_priority(p) };
        vec_push(&domain_of(b, value)->pods, x);
        sum++;
    }
    return sum;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->fits != y->fits)
        return x->fits ? 1 : -1;
    if (x->bound != y->bound)
        return x->bound ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    int r = strcmp(x->pod->obj.meta.ns, y->pod->obj.meta.ns);
    return r ? r : strcmp(x->pod->obj.meta.name, y->pod->obj.meta.name);
}

static int by_size(const void *a, const void *b)
{
    const struct domain *x = a, *y = b;

    if (x->pods.n != y->pods.n)
        return x->pods.n < y->pods.n ? -1 : 1;
    return strcmp(x->value, y->value);
}

static bool is_balanced(const struct balance *b)
{
    size_t min = SIZE_MAX, max = 0;

    vec_foreach(&b->domains, i) {
        min = MIN(min, b->domains.items[i].pods.n);
        max = MAX(max, b->domains.items[i].pods.n);
    }
    return b->domains.n == 0 || (int64_t)(max - min) <= b->of->of->max_skew;
}

static bool fits_below(const struct balance *b, const struct pod *p)
{
    return kd_fits_any_other(b->round->view, p, b->below.items, (uint32_t)b->below.n, KD_FIT_KUBE);
}

static void sort_domains(struct balance *b, double average)
{
    const char *key = b->of->of->topology_key;

    vec_foreach(&b->eligible, i) {
        uint32_t node = b->eligible.items[i];
        const struct domain *d = domain_of(
            b, kstrmap_get(&kd_view_node(b->round->view, node)->node->obj.meta.labels, key));
        if ((double)d->pods.n < average)
            vec_push(&b->below, node);
    }
    vec_foreach(&b->domains, i) {
        struct domain *d = &b->domains.items[i];
        vec_foreach(&d->pods, j)
            d->pods.items[j].fits = b->below.n && fits_below(b, d->pods.items[j].pod);
        if (d->pods.n)
            qsort(d->pods.items, d->pods.n, sizeof *d->pods.items, by_rank);
    }
    qsort(b->domains.items, b->domains.n, sizeof *b->domains.items, by_size);
}

/* ---- balancing -------------------------------------------------------------------------------- */

static void choose(podvec *chosen, const struct pod *p)
{
    vec_foreach(chosen, i)
        if (chosen->items[i] == p)
            return;
    vec_push(chosen, p);
}

/* The last pods of the larger domain; those that fit nowhere else are counted and stay. */
static void move(struct balance *b, struct domain *from, struct domain *to, size_t n,
                 podvec *chosen)
{
    size_t first = from->pods.n - n;

    for (size_t k = first; k < from->pods.n; k++) {
        struct ranked x = from->pods.items[k];
        if (!b->args->node_fit.v || x.fits)
            choose(chosen, x.pod);
        vec_push(&to->pods, x);
    }
    from->pods.n = first;
}

static void balance_domains(struct balance *b, double average, podvec *chosen)
{
    double max_skew = b->of->of->max_skew;
    size_t i = 0, j = b->domains.n - 1;

    while (i < j) {
        if ((double)b->domains.items[j].pods.n <= average)
            j--;
        struct domain *low = &b->domains.items[i], *high = &b->domains.items[j];
        double skew = (double)high->pods.n - (double)low->pods.n;
        if (skew <= max_skew) {
            i++;
            continue;
        }
        double above = ceil((double)high->pods.n - average);
        double below = ceil(average - (double)low->pods.n);
        double n = MIN(MIN(above, below), ceil((skew - max_skew) / 2));
        if (n <= 0) {
            i++;
            continue;
        }
        move(b, high, low, (size_t)n, chosen);
    }
}

static void balance_constraint(const struct spread_args *x, struct kd_round *r,
                               const struct constraint *c, const podvec *pods, podvec *chosen)
{
    struct balance b = { .args = x, .round = r, .of = c };
    size_t sum = collect(&b, pods);

    if (!is_balanced(&b)) {
        double average = (double)sum / (double)b.domains.n;
        sort_domains(&b, average);
        balance_domains(&b, average, chosen);
    }
    vec_foreach(&b.domains, i)
        vec_fini(&b.domains.items[i].pods);
    vec_fini(&b.domains);
    vec_fini(&b.eligible);
    vec_fini(&b.below);
}

static int by_ns(const void *a, const void *b)
{
    const struct objmeta *x = &(*(const struct pod *const *)a)->obj.meta;
    const struct objmeta *y = &(*(const struct pod *const *)b)->obj.meta;
    int r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->name, y->name);
}

static void balance_namespace(const struct spread_args *x, struct kd_round *r, const podvec *pods,
                              podvec *chosen)
{
    constraints l = { 0 };

    vec_foreach(pods, i)
        add_constraints(x, pods->items[i], &l, r->arena);
    vec_foreach(&l, i)
        balance_constraint(x, r, &l.items[i], pods, chosen);
    vec_fini(&l);
}

static int balance(void *self, struct kd_round *r, struct kerr *err)
{
    const struct spread_args *x = kube_args(self);
    podvec all = { 0 }, chosen = { 0 };
    size_t n;

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++)
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = &x->common, .filter = true },
                  &all);
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, by_ns);
    for (size_t i = 0; i < all.n; i += n) {
        podvec part = { .items = all.items + i };
        n = 1;
        while (i + n < all.n && streq(all.items[i + n]->obj.meta.ns, all.items[i]->obj.meta.ns))
            n++;
        part.n = part.cap = n;
        balance_namespace(x, r, &part, &chosen);
    }
    vec_foreach(&chosen, i)
        if (kd_filter(r, chosen.items[i]))
            (void)kd_evict(r, chosen.items[i], NULL);
    vec_fini(&all);
    vec_fini(&chosen);
    return 0;
}

const struct kd_plugin plugin_topologyspread = {
    KUBE_PLUGIN("RemovePodsViolatingTopologySpreadConstraint", &args_table), .balance = balance
};
