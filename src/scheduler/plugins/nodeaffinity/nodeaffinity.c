/* nodeaffinity.c - nodeSelector, required and preferred node affinity of the pod, and what the
 * configuration adds for every pod of the profile (scheduler-core 8.6).
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "scheduler/framework/nodematch.h"
#include "scheduler/plugins/nodeaffinity/args.h"
#include "scheduler/plugins/registry.h"

#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

enum { AFFINITY_ENFORCED = 1, AFFINITY_POD = 2 };
static const struct ks_reason affinity_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) didn't match scheduler-enforced node affinity" },
    { KS_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector" },
};

struct preferred {
    struct wish {
        const struct nodesel *term;
        int64_t weight;
    } * items;
    uint32_t n;
};
struct self {
    struct arena *arena;
    const struct node_affinity *added; /* NULL: nothing */
    const struct nodesel *required;    /* NULL: any */
    struct preferred preferred;
};
struct wanted { /* the state, of a pod */
    struct nodematch required;
    struct preferred preferred;
    const char *wrong; /* what cannot be understood of the preferred terms; NULL: all can */
};

/* ---- compiled terms -------------------------------------------------------------------------- */

/* Terms that weigh nothing are left out; empty ones match no node. -EINVAL: one cannot be
 * understood. */
static int compile_preferred(const struct node_affinity *a, struct arena *arena,
                             struct preferred *ret, struct kerr *err)
{
    ret->items = arena_newn0(arena, a->preferred.n, struct wish);
    for (uint32_t i = 0; i < a->preferred.n; i++) {
        const struct preferred_node_term *t = &a->preferred.items[i];
        if (t->weight == 0)
            continue;
        const struct nodesel *term = nodesel_from_term(&t->preference, arena);
        if (nodesel_check(term, err) < 0)
            return kerr_wrap(err, PREFERRED "[%u]", i);
        ret->items[ret->n++] = (struct wish){ term, t->weight };
    }
    return 0;
}

static const struct node_affinity *affinity_of(const struct pod *p)
{
    return p->spec->affinity ? p->spec->affinity->node : NULL;
}

static struct wanted *wanted_make(const struct pod *p, struct arena *a)
{
    const struct node_affinity *affinity = affinity_of(p);
    struct wanted *w = arena_new0(a, struct wanted);
    struct kerr err = { 0 };

    w->required = nodematch_of(p, a);
    if (affinity && compile_preferred(affinity, a, &w->preferred, &err) < 0)
        w->wrong = arena_strdup(a, err.text);
    return w;
}

static int64_t sum_weights(const struct preferred *p, const struct node *n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->n; i++)
        sum += nodematch_terms(p->items[i].term, n) ? p->items[i].weight : 0;
    return sum;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void affinity_destroy(void *self)
{
    struct self *s = self;

    arena_free(s->arena);
    free(s);
}

static int affinity_create(const struct ks_env *env, const void *args, void **ret_self,
                           struct kerr *err)
{
    struct self *s = xnew0(struct self);

    (void)env;
    s->arena = arena_new();
    s->added = ((const struct nodeaffinity_args *)args)->added;
    if (s->added && s->added->required)
        s->required = nodesel_from(s->added->required, s->arena);
    int r = s->added ? compile_preferred(s->added, s->arena, &s->preferred, err) : 0;
    if (r < 0) {
        affinity_destroy(s);
        return r;
    }
    *ret_self = s;
    return 0;
}

/* ---- nodes named by the pod ------------------------------------------------------------------ */

/* Pods of DaemonSets name their node in a field: then there is no need to look at the others. */
static bool is_name_list(const struct selreq *r)
{
    return r->op == SELOP_IN && streq(r->key, "metadata.name");
}

static bool lists(const struct selreq *r, const char *name)
{
    for (uint32_t i = 0; i < r->values.n; i++)
        if (streq(r->values.items[i], name))
            return true;
    return false;
}

static const struct selreq *first_names(const struct node_selector_term *t)
{
    for (uint32_t i = 0; i < t->match_fields.n; i++)
        if (is_name_list(&t->match_fields.items[i]))
            return &t->match_fields.items[i];
    return NULL;
}

static bool all_list(const struct node_selector_term *t, const char *name)
{
    for (uint32_t i = 0; i < t->match_fields.n; i++)
        if (is_name_list(&t->match_fields.items[i]) && !lists(&t->match_fields.items[i], name))
            return false;
    return true;
}

static void add_row(uint32_t row, uint32_t *rows, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (rows[i] == row)
            return;
    if (row != KS_NO_ROW)
        rows[(*n)++] = row;
}

/* false: the terms contradict themselves. */
static bool narrow(const struct node_selector *s, const struct ks_cycle *c, struct ks_only *only)
{
    uint32_t most = 0, n = 0;
    bool any = false;

    for (uint32_t i = 0; i < s->terms.n; i++) {
        const struct selreq *names = first_names(&s->terms.items[i]);
        if (!names)
            return true; /* this term is about all nodes */
        most += names->values.n;
    }
    if (s->terms.n == 0)
        return true;
    uint32_t *rows = arena_newn0(c->arena, most, uint32_t);
    for (uint32_t i = 0; i < s->terms.n; i++) {
        const struct node_selector_term *t = &s->terms.items[i];
        const struct selreq *names = first_names(t);
        for (uint32_t k = 0; k < names->values.n; k++) {
            if (!all_list(t, names->values.items[k]))
                continue;
            any = true;
            add_row(ks_row_of(c->nodes, names->values.items[k]), rows, &n);
        }
    }
    *only = (struct ks_only){ rows, n, any };
    return any;
}

/* ---- filter ---------------------------------------------------------------------------------- */

static enum ks_code affinity_pre_filter(void *self, const struct ks_cycle *c,
                                        const struct ks_pod *p, void **ret_state,
                                        struct ks_only *only, struct ks_texts *why)
{
    const struct self *s = self;
    const struct node_affinity *affinity = affinity_of(p->pod);
    struct wanted *w = wanted_make(p->pod, c->arena);

    *ret_state = w;
    if (affinity && affinity->required && !narrow(affinity->required, c, only)) {
        ks_texts_add(why, "pod affinity terms conflict");
        return KS_UNRESOLVABLE;
    }
    return w->required.labels || w->required.terms || s->required ? KS_SUCCESS : KS_SKIP;
}

static void affinity_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct wanted *w = c->state;
    const struct nodesel *enforced = ((const struct self *)self)->required;

    (void)p;
    for (uint32_t i = s.begin; i < s.end; i++) {
        const struct node *n = c->nodes->node[i];
        if (skip[i])
            why[i] = 0;
        else if (enforced && !nodematch_terms(enforced, n))
            why[i] = AFFINITY_ENFORCED;
        else
            why[i] = nodematch_node(&w->required, n) ? 0 : AFFINITY_POD;
    }
}

/* ---- score ----------------------------------------------------------------------------------- */

static enum ks_code affinity_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_texts *why)
{
    const struct self *s = self;
    const struct node_affinity *affinity = affinity_of(p->pod);

    if ((!affinity || affinity->preferred.n == 0) && (!s->added || s->added->preferred.n == 0))
        return KS_SKIP;
    if (!c->state) /* a profile in which this plugin does not filter */
        *ret_state = wanted_make(p->pod, c->arena);
    const struct wanted *w = *ret_state;
    if (w->wrong) {
        ks_texts_add(why, w->wrong);
        return KS_ERROR;
    }
    return KS_SUCCESS;
}

static void affinity_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, int64_t *restrict out)
{
    const struct wanted *w = c->state;
    const struct preferred *added = &((const struct self *)self)->preferred;

    (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] =
            sum_weights(&w->preferred, c->nodes->node[i]) + sum_weights(added, c->nodes->node[i]);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool node_matches(const struct self *s, const struct nodematch *m, const struct kobj *node)
{
    return (!s->required || nodematch_terms(s->required, node_of(node))) &&
           nodematch_node(m, node_of(node));
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct nodematch m = nodematch_of(p, a);

    return node_matches(self, &m, e->now) && (!e->before || !node_matches(self, &m, e->before));
}

static const struct ks_hint affinity_hints[] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, worth_node },
};

const struct ks_plugin ks_plugin_node_affinity = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeAffinity",
    .reasons = affinity_reasons,
    .reuse = KS_REUSE_LOCAL,
    .args = &nodeaffinity_args,
    .create = affinity_create,
    .destroy = affinity_destroy,
    .hints = affinity_hints,
    .nhints = ARRAY_LEN(affinity_hints),
    .pre_filter = affinity_pre_filter,
    .filter = affinity_filter,
    .pre_score = affinity_pre_score,
    .score = affinity_score,
    .normalize = ks_normalize,
};
