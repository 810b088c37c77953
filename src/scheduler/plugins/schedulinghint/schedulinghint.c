/* schedulinghint.c - SchedulingHint: nodes that a pod's annotation names are tried alone, or first
 * (sched-loadaware 9).
 */
#include "api/pod.h"
#include "api/protocol/hint.h"
#include "base/arena.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/schedulinghint/args.h"

struct hint {                        /* the state */
    uint32_t *preferred, npreferred; /* rows */
};

/* Nodes that are not known are left out, and so are those named twice. */
static uint32_t rows_of(const struct ks_nodes *n, const kstrlist *names, uint32_t most,
                        uint32_t *out)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < MIN(names->n, most); i++) {
        uint32_t row = ks_row_of(n, names->items[i]), k = 0;
        while (k < found && out[k] != row)
            k++;
        if (row != KS_NO_ROW && k == found)
            out[found++] = row;
    }
    return found;
}

static enum ks_code hint_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const struct hint_args *args = self;
    struct scheduling_hint h;
    struct kerr err = { 0 };

    int r = scheduling_hint_get(&p->pod->obj.meta.annotations, c->arena, &h, &err);
    if (r < 0) {
        ks_texts_add(why, arena_strdup(c->arena, err.text));
        return KS_ERROR;
    }
    if (r == 0)
        return KS_SKIP;
    struct hint *state = arena_new0(c->arena, struct hint);
    state->preferred = arena_newn0(c->arena, h.preferred_node_names.n, uint32_t);
    state->npreferred = rows_of(c->nodes, &h.preferred_node_names,
                                (uint32_t)MIN(args->max_nodes.v, UINT32_MAX), state->preferred);
    if (h.node_names.n) {
        uint32_t *rows = arena_newn0(c->arena, h.node_names.n, uint32_t);
        *only = (struct ks_only){ rows, rows_of(c->nodes, &h.node_names, UINT32_MAX, rows), true };
    }
    *ret_state = state;
    return KS_SUCCESS;
}

/* The framework leaves out those that another plugin's pre_filter has left out. */
static uint32_t hint_prefer(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            const uint32_t **ret_rows)
{
    const struct hint *state = c->state;

    (void)self, (void)p;
    if (!state)
        return 0;
    *ret_rows = state->preferred;
    return state->npreferred;
}

static int hint_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)env, (void)err;
    *ret_self = (void *)args;
    return 0;
}

static const char *const hint_annotations[] = { ANNO_SCHEDULING_HINT, ANNO_SCHEDULING_HINT_OLD,
                                                NULL };
/* Nodes that it named were not there, or did not fit. */
static const struct ks_hint hint_hints[] = { { KS_RES_NODE, KS_ADD, NULL, NULL } };

const struct ks_plugin ks_plugin_scheduling_hint = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "SchedulingHint",
    .reuse = KS_REUSE_LOCAL,
    .pod_annotations = hint_annotations,
    .points = KS_AT(PRE_FILTER),
    .args = &hint_args,
    .create = hint_create,
    .hints = hint_hints,
    .nhints = ARRAY_LEN(hint_hints),
    .pre_filter = hint_pre_filter,
    .prefer = hint_prefer,
};
