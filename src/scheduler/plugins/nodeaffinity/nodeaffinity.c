/* nodeaffinity.c - nodeSelector and the required node affinity (scheduler-core 8). Preferred terms
 * do not count yet. */
#include "api/node.h"
#include "api/pod.h"
#include "api/selector.h"
#include "base/arena.h"
#include "scheduler/plugins/registry.h"

static const struct ks_reason affinity_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector" },
};

struct wanted {
    const struct labelsel *labels; /* NULL: any */
    const struct nodesel *terms;   /* NULL: any */
};

static const struct node_selector *required(const struct pod *p)
{
    const struct affinity *a = p->spec->affinity;
    return a && a->node ? a->node->required : NULL;
}

static struct wanted wanted_of(const struct pod *p, struct arena *a)
{
    struct wanted w = { NULL, NULL };
    if (p->spec->node_selector.n > 0)
        w.labels = labelsel_from_map(&p->spec->node_selector, a);
    if (required(p))
        w.terms = nodesel_from(required(p), a);
    return w;
}

static bool matches(const struct wanted *w, const struct node *n)
{
    return (!w->labels || labelsel_matches(w->labels, &n->obj.meta.labels)) &&
           (!w->terms || nodesel_match(w->terms, &n->obj.meta.labels, n->obj.meta.name) == 1);
}

static enum ks_code affinity_pre_filter(void *self, const struct ks_cycle *c,
                                        const struct ks_pod *p, void **ret_state,
                                        struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)only, (void)why;
    if (p->pod->spec->node_selector.n == 0 && !required(p->pod))
        return KS_SKIP;
    struct wanted *w = arena_new0(c->arena, struct wanted);
    *w = wanted_of(p->pod, c->arena);
    *ret_state = w;
    return KS_SUCCESS;
}

static void affinity_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = !skip[i] && !matches(c->state, c->nodes->node[i]);
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct wanted w = wanted_of(p, a);
    return matches(&w, node_of(e->now)) && (!e->before || !matches(&w, node_of(e->before)));
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
    .hints = affinity_hints,
    .nhints = ARRAY_LEN(affinity_hints),
    .pre_filter = affinity_pre_filter,
    .filter = affinity_filter,
};
