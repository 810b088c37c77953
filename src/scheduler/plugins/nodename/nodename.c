/* nodename.c - a pod that names its node fits there only (scheduler-core 8.4). */
#include "api/node.h"
#include "api/pod.h"
#include "scheduler/plugins/registry.h"

static const struct ks_reason name_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) didn't match the requested node name" },
};

static enum ks_code name_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)ret_state, (void)only, (void)why;
    return str_empty(p->pod->node_name) ? KS_SKIP : KS_SUCCESS;
}

static void name_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)skip;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = !streq(c->nodes->node[i]->obj.meta.name, p->pod->node_name);
}

static const struct ks_hint name_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };

const struct ks_plugin ks_plugin_node_name = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeName",
    .reasons = name_reasons,
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(FILTER),
    .hints = name_hints,
    .nhints = ARRAY_LEN(name_hints),
    .pre_filter = name_pre_filter,
    .filter = name_filter,
};
