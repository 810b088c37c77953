/* schedulinggates.c - a pod with gates waits outside the queue (scheduler-core 8.2). */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/registry.h"

static enum ks_code gates_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    const char *names = "";

    (void)self;
    if (p->spec->scheduling_gates.n == 0)
        return KS_SUCCESS;
    for (uint32_t i = 0; i < p->spec->scheduling_gates.n; i++)
        names = arena_printf(why->arena, "%s%s%s", names, i ? " " : "",
                             p->spec->scheduling_gates.items[i].name);
    ks_texts_add(why, arena_printf(why->arena, "waiting for scheduling gates: [%s]", names));
    return KS_UNRESOLVABLE;
}

static bool gates_worth(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return e->now && kuid_equal(e->now->meta.uid, p->obj.meta.uid);
}

static const struct ks_hint gates_hints[] = {
    { KS_RES_POD, KS_POD_GATES_GONE, gates_worth },
};

const struct ks_plugin ks_plugin_scheduling_gates = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "SchedulingGates",
    .gates_silently = true, /* the API server writes the condition itself */
    .reuse = KS_REUSE_LOCAL,
    .pre_enqueue = gates_pre_enqueue,
    .hints = gates_hints,
    .nhints = ARRAY_LEN(gates_hints),
};
