/* nodeslo_merge.c - defaults of NodeSLO, and the received spec laid over them. */
#include "koordlet/states/nodeslo.h"

#include "base/arena.h"
#include "json/kj.h"

const char *const nodeslo_section_names[NODESLO_SECTIONS] = {
    [NODESLO_THRESHOLD] = "resourceUsedThresholdWithBE",
    [NODESLO_QOS] = "resourceQOSStrategy",
    [NODESLO_BURST] = "cpuBurstStrategy",
    [NODESLO_SYSTEM] = "systemStrategy",
    [NODESLO_HOST_APPS] = "hostApplications",
};

/* ---- defaults (api-config 2) ----------------------------------------------------------------- */

#define CPU_QOS(identity, expeller)                                                \
    "\"cpuQOS\":{\"enable\":false,\"groupIdentity\":" identity ",\"schedIdle\":0," \
    "\"coreExpeller\":" expeller "}"
#define RESCTRL_QOS(end)                                           \
    "\"resctrlQOS\":{\"enable\":false,\"catRangeStartPercent\":0," \
    "\"catRangeEndPercent\":" end ",\"mbaPercent\":100}"
#define MEMORY_QOS(ratio, scale, adj)                                               \
    "\"memoryQOS\":{\"enable\":false,\"minLimitPercent\":0,\"lowLimitPercent\":0,"  \
    "\"throttlingPercent\":0,\"wmarkRatio\":" ratio ",\"wmarkScalePermill\":" scale \
    ",\"wmarkMinAdj\":" adj ",\"priorityEnable\":0,\"priority\":0,\"oomKillGroup\":0}"
#define BLKIO_QOS "\"blkioQOS\":{\"enable\":false}"
#define NETWORK_QOS                                                             \
    "\"networkQOS\":{\"enable\":false,\"ingressRequest\":0,\"ingressLimit\":0," \
    "\"egressRequest\":0,\"egressLimit\":0}"
#define CLASS(cpu, resctrl, memory) "{" cpu "," resctrl "," memory "," BLKIO_QOS "," NETWORK_QOS "}"

#define LATENCY_MEMORY              MEMORY_QOS("95", "20", "-25")
#define LATENCY_CLASS               CLASS(CPU_QOS("2", "true"), RESCTRL_QOS("100"), LATENCY_MEMORY)
#define BEST_EFFORT_CLASS \
    CLASS(CPU_QOS("-1", "false"), RESCTRL_QOS("30"), MEMORY_QOS("95", "20", "50"))
#define SYSTEM_CLASS CLASS(CPU_QOS("0", "false"), RESCTRL_QOS("100"), MEMORY_QOS("0", "50", "0"))

static const char qos_defaults[] =
    "{\"policies\":{\"cpuPolicy\":\"groupIdentity\",\"netQOSPolicy\":\"tc\"},"
    "\"lsrClass\":" LATENCY_CLASS ",\"lsClass\":" LATENCY_CLASS ",\"beClass\":" BEST_EFFORT_CLASS
    ",\"systemClass\":" SYSTEM_CLASS ",\"cgroupRoot\":{" BLKIO_QOS "}}";

#define SET(value)                \
    {                             \
        .set = true, .v = (value) \
    }
const struct cpu_qos nodeslo_cpu_none = {
    .enable = SET(false),
    .group_identity = SET(0),
    .sched_idle = SET(0),
    .core_expeller = SET(false),
};
const struct resctrl_qos nodeslo_resctrl_none = {
    .enable = SET(false),
    .cat_range_start_percent = SET(0),
    .cat_range_end_percent = SET(100),
    .mba_percent = SET(100),
};
const struct memory_qos nodeslo_memory_none = {
    .enable = SET(false),
    .min_limit_percent = SET(0),
    .low_limit_percent = SET(0),
    .throttling_percent = SET(0),
    .wmark_ratio = SET(0),
    .wmark_scale_permill = SET(50),
    .wmark_min_adj = SET(0),
    .priority_enable = SET(0),
    .priority = SET(0),
    .oom_kill_group = SET(0),
};

static bool is_null(const struct kj_val *v)
{
    return kj_type(v) == KJ_ABSENT || kj_type(v) == KJ_NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const struct kschema *const schemas[NODESLO_SECTIONS] = {
    [NODESLO_THRESHOLD] = &threshold_strategy_schema,
    [NODESLO_QOS] = &resource_qos_strategy_schema,
    [NODESLO_BURST] = &cpu_burst_strategy_schema,
    [NODESLO_SYSTEM] = &system_strategy_schema,
};

static void **slot_of(struct nodeslo_spec *s, enum nodeslo_section part)
{
    void *const slots[NODESLO_SECTIONS] = { &s->threshold, &s->resource_qos, &s->cpu_burst,
                                            &s->system };
    return slots[part];
}

static void default_of(enum nodeslo_section part, struct arena *a, void *out)
{
    static const void *const shared[NODESLO_SECTIONS] = {
        [NODESLO_THRESHOLD] = &threshold_strategy_default,
        [NODESLO_BURST] = &cpu_burst_strategy_default,
        [NODESLO_SYSTEM] = &system_strategy_default,
    };

    if (shared[part]) {
        kj_copy(schemas[part], shared[part], a, out);
        return;
    }
    int r = kj_decode_text(schemas[part], qos_defaults, sizeof qos_defaults - 1, 0, a, out, NULL);
    assert(r == 0); /* the default is ours */
    (void)r;
}

/* A strategy from the default and what lies over it (may be NULL). */
static int strategy_merge(enum nodeslo_section part, const struct kj_val *over, struct arena *a,
                          void **ret, struct kerr *err)
{
    const struct kschema *s = schemas[part];
    void *out = arena_zalloc(a, s->size), *above = arena_zalloc(a, s->size);
    int r = 0;

    if (!is_null(over) && kj_type(over) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "expected an object");
    default_of(part, a, out);
    if (!is_null(over)) {
        r = kj_decode(s, over, 0, a, above, err);
        if (r == 0)
            kj_overlay(s, out, above, a, out);
    }
    if (r == 0)
        r = kj_validate(s, out, err);
    if (r < 0)
        return r;
    *ret = out;
    return 0;
}

static void qos_switch_off(struct resource_qos *q)
{
    if (q->cpu->enable.set && !q->cpu->enable.v)
        *q->cpu = nodeslo_cpu_none;
    if (q->resctrl->enable.set && !q->resctrl->enable.v)
        *q->resctrl = nodeslo_resctrl_none;
    if (q->memory->enable.set && !q->memory->enable.v)
        *q->memory = nodeslo_memory_none;
}

static int host_apps_decode(const struct kj_val *v, struct arena *a, host_applicationlist *ret,
                            struct kerr *err)
{
    host_applicationlist out = { NULL, 0 };

    if (is_null(v)) {
        *ret = out;
        return 0;
    }
    if (kj_type(v) != KJ_ARR)
        return kerr_set(err, -EINVAL, "expected a list");
    out.items = arena_newn0(a, kj_len(v) + 1, struct host_application);
    for (size_t i = 0; i < kj_len(v); i++) {
        struct host_application *app = &out.items[out.n++];
        if (kj_decode(&host_application_schema, kj_at(v, i), 0, a, app, err) < 0)
            return kerr_wrap(err, "[%zu]", i);
        if (str_empty(app->name))
            return kerr_set(err, -EINVAL, "[%zu]: it has no name", i);
    }
    *ret = out;
    return 0;
}

static void host_apps_copy(const host_applicationlist *from, struct arena *a,
                           host_applicationlist *ret)
{
    ret->items = arena_newn0(a, from->n + 1, struct host_application);
    ret->n = from->n;
    for (uint32_t i = 0; i < from->n; i++)
        kj_copy(&host_application_schema, &from->items[i], a, &ret->items[i]);
}

/* In place of a part that was refused. */
static void part_keep(enum nodeslo_section part, const struct nodeslo_spec *previous,
                      struct arena *a, struct nodeslo_spec *ret)
{
    struct nodeslo_spec from = previous ? *previous : (struct nodeslo_spec){ 0 };

    if (part == NODESLO_HOST_APPS) {
        host_apps_copy(&from.host_applications, a, &ret->host_applications);
        return;
    }
    void **to = slot_of(ret, part), *old = *slot_of(&from, part);
    if (old) {
        *to = arena_zalloc(a, schemas[part]->size);
        kj_copy(schemas[part], old, a, *to);
        return;
    }
    struct kerr err = { 0 };
    int r = strategy_merge(part, NULL, a, to, &err);
    assert(r == 0); /* the default is ours */
    (void)r;
}

unsigned nodeslo_merge(const struct kj_val *spec, const struct nodeslo_spec *previous,
                       struct arena *a, struct nodeslo_spec *ret, struct kerr why[NODESLO_SECTIONS])
{
    unsigned refused = 0;

    *ret = (struct nodeslo_spec){ 0 };
    for (enum nodeslo_section i = 0; i < NODESLO_SECTIONS; i++) {
        const struct kj_val *over = kj_get(spec, nodeslo_section_names[i]);
        why[i] = (struct kerr){ 0 };
        int r = i == NODESLO_HOST_APPS ? host_apps_decode(over, a, &ret->host_applications, &why[i])
                                       : strategy_merge(i, over, a, slot_of(ret, i), &why[i]);
        if (r < 0) {
            refused++;
            part_keep(i, previous, a, ret);
        }
    }
    qos_switch_off(ret->resource_qos->lsr);
    qos_switch_off(ret->resource_qos->ls);
    qos_switch_off(ret->resource_qos->be);
    return refused;
}

void nodeslo_defaults(struct arena *a, struct nodeslo_spec *ret)
{
    *ret = (struct nodeslo_spec){ 0 };
    for (enum nodeslo_section i = 0; i < NODESLO_SECTIONS; i++)
        part_keep(i, NULL, a, ret);
}
