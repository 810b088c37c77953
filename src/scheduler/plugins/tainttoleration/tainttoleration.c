/* tainttoleration.c - taints keep pods away, or make a node less liked (scheduler-core 8.5).
 *
 * Few nodes carry taints and those that do are marked in a column, so the loop looks at the lists
 * of these only.
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/toleration.h"
#include "scheduler/plugins/registry.h"

static const struct ks_reason taint_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) had untolerated taint(s)" },
};

static bool untolerated(const struct node *n, const struct pod *p)
{
    return taints_untolerated(&n->spec.taints, &p->spec->tolerations, TAINT_HARD_EFFECTS, 0);
}

static void taint_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const uint8_t *flags = c->nodes->flags;

    (void)self;
    memset(why + s.begin, 0, s.end - s.begin);
    for (uint32_t i = s.begin; i < s.end; i++)
        if ((flags[i] & KS_NODE_TAINT_HARD) && !skip[i])
            why[i] = untolerated(c->nodes->node[i], p->pod);
}

/* Where no node has such a taint all scores are equal, and only people want to see them. */
static enum ks_code taint_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_texts *why)
{
    (void)self, (void)p, (void)ret_state, (void)why;
    return c->nodes->ntaints_prefer == 0 && !c->complete ? KS_SKIP : KS_SUCCESS;
}

static bool taint_refresh(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          const struct ks_dirty *d, bool *skip)
{
    (void)self, (void)p, (void)d;
    return *skip == (c->nodes->ntaints_prefer == 0);
}

static void taint_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    const uint8_t *flags = c->nodes->flags;

    (void)self;
    memset(out + s.begin, 0, (s.end - s.begin) * sizeof *out);
    for (uint32_t i = s.begin; i < s.end; i++)
        if (flags[i] & KS_NODE_TAINT_PREFER)
            out[i] =
                taints_count_prefer(&c->nodes->node[i]->spec.taints, &p->pod->spec->tolerations, 0);
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return (!e->before || untolerated(node_of(e->before), p)) && !untolerated(node_of(e->now), p);
}

static bool worth_toleration(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return kuid_equal(e->now->meta.uid, p->obj.meta.uid);
}

static const struct ks_hint taint_hints[] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_TAINT, worth_node },
    { KS_RES_POD, KS_POD_TOLERATION, worth_toleration },
};

const struct ks_plugin ks_plugin_taint_toleration = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "TaintToleration",
    .reasons = taint_reasons,
    .reuse = KS_REUSE_LOCAL,
    .hints = taint_hints,
    .nhints = ARRAY_LEN(taint_hints),
    .refresh = taint_refresh,
    .filter = taint_filter,
    .pre_score = taint_pre_score,
    .score = taint_score,
    .normalize = ks_normalize_reversed,
};
