/* gang.c - gang keys and network topology (api 5.3, 5.13). */
#include "api/protocol/gang.h"

#include "base/ktime.h"
#include "base/num.h"

static const char *const match_names[] = { "once-satisfied", "only-waiting",
                                           "waiting-and-running" };

const char *gang_mode_name(enum gang_mode m)
{
    return m == GANG_NON_STRICT ? "NonStrict" : "Strict";
}

const char *gang_match_policy_name(enum gang_match_policy p)
{
    return match_names[p];
}

bool gang_match_policy_parse(const char *name, enum gang_match_policy *ret)
{
    for (unsigned i = 0; name && i < ARRAY_LEN(match_names); i++) {
        if (streq(match_names[i], name)) {
            *ret = (enum gang_match_policy)i;
            return true;
        }
    }
    return false;
}

/* ---- network topology ------------------------------------------------------------------------ */

static const char *const strategy_names[] = { "", "MustGather", "PreferGather", NULL };
static const struct kmeta strategy_meta = { .names = strategy_names };
#define F(member, json, type, ...) KF(struct gather_rule, member, json, type, __VA_ARGS__)
static const struct kfield gather_rule_fields[] = {
    F(layer, "layer", KF_STR, ANNO_OMIT),
    F(strategy, "strategy", KF_ENUM, ANNO_OMIT, .meta = &strategy_meta),
    F(pod_count_multiple, "podCountMultiple", KF_I32, ANNO_OMIT),
};
#undef F
static const struct kschema gather_rule_schema =
    KSCHEMA("NetworkTopologyGatherRule", struct gather_rule, gather_rule_fields);
static const struct kfield network_topology_spec_fields[] = {
    KF_LIST_OF(struct network_topology_spec, gather, "gatherStrategy", KF_OBJ, ANNO_OMIT,
               .sub = &gather_rule_schema),
};
static const struct kschema network_topology_spec_schema =
    KSCHEMA("NetworkTopologySpec", struct network_topology_spec, network_topology_spec_fields);
const struct annotation_codec network_topology_spec_codec = {
    .key = ANNO_GANG_TOPOLOGY_SPEC,
    .schema = &network_topology_spec_schema,
    .empty = EMPTY_IS_ABSENT,
};

/* A decimal int32 as Go's ParseInt(text, 10, 32) takes it. */
static bool decimal(const char *text, int32_t *ret)
{
    int64_t v;

    if (!text || i64_parse(text, strlen(text), &v) < 0 || v < INT32_MIN || v > INT32_MAX)
        return false;
    *ret = (int32_t)v;
    return true;
}

int32_t gang_topology_index(const kstrmap *annotations)
{
    int32_t index;

    return decimal(kstrmap_get(annotations, ANNO_GANG_TOPOLOGY_INDEX), &index) ? index : -1;
}

int gang_topology_order(int32_t index_a, const char *name_a, int32_t index_b, const char *name_b)
{
    if ((index_a >= 0) != (index_b >= 0))
        return index_a >= 0 ? -1 : 1;
    if (index_a >= 0 && index_a != index_b)
        return index_a < index_b ? -1 : 1;
    return strcmp(name_a, name_b);
}

/* ---- gangs ----------------------------------------------------------------------------------- */

const char *gang_name(const struct objmeta *pod)
{
    const char *name = kstrmap_get(&pod->labels, LABEL_POD_GROUP);

    if (str_empty(name))
        name = kstrmap_get(&pod->labels, LABEL_POD_GROUP_NAME_OLD);
    if (str_empty(name))
        name = kstrmap_get(&pod->annotations, ANNO_GANG_NAME);
    return str_empty(name) ? NULL : name;
}

const char *gang_id(const char *ns, const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s", ns, name);
}

const struct annotation_codec gang_groups_codec = {
    .key = ANNO_GANG_GROUPS,
    .schema = &strlist_value_schema,
    .empty = EMPTY_IS_ABSENT,
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void fill_groups(struct gang_spec *g, const kstrmap *annotations, const char *self,
                        struct arena *a)
{
    struct strlist_value groups;
    size_t len = 1;

    if (gang_groups_read(annotations, a, &groups, NULL) == 1 && groups.v.n > 0) {
        g->groups = groups.v;
    } else {
        g->groups = (kstrlist){ .items = arena_alloc(a, sizeof(char *), sizeof(char *)), .n = 1 };
        g->groups.items[0] = self;
    }
    qsort(g->groups.items, g->groups.n, sizeof *g->groups.items, by_text);
    for (uint32_t i = 0; i < g->groups.n; i++)
        len += strlen(g->groups.items[i]) + 1;
    char *id = arena_alloc(a, len, 1), *p = id;
    for (uint32_t i = 0; i < g->groups.n; i++) {
        if (i > 0)
            *p++ = ',';
        p = stpcpy(p, g->groups.items[i]);
    }
    g->group_id = id;
}

/* What pods and PodGroups give the same way. */
static void fill_common(struct gang_spec *g, const struct objmeta *m, const char *self,
                        const struct gang_defaults *defaults, struct arena *a)
{
    const char *mode = kstrmap_get(&m->annotations, ANNO_GANG_MODE);
    const char *policy = kstrmap_get(&m->annotations, ANNO_GANG_MATCH_POLICY);
    int32_t total;

    g->mode = mode && streq(mode, "NonStrict") ? GANG_NON_STRICT : GANG_STRICT;
    if (str_empty(policy))
        policy = kstrmap_get(&m->annotations, ANNO_POD_GROUP_MATCH_POLICY);
    g->match_policy = defaults->match_policy;
    (void)gang_match_policy_parse(policy, &g->match_policy);
    g->total_number = g->min_available;
    if (decimal(kstrmap_get(&m->annotations, ANNO_GANG_TOTAL_NUMBER), &total) && total != 0 &&
        total >= g->min_available)
        g->total_number = total;
    fill_groups(g, &m->annotations, self, a);
    int topology = network_topology_spec_read(&m->annotations, a, &g->topology, NULL);
    g->has_topology = topology == 1;
    g->bad_topology = topology < 0;
}

int gang_spec_from_pod(const struct objmeta *pod, const struct gang_defaults *defaults,
                       struct arena *a, struct gang_spec *ret, struct kerr *err)
{
    const char *name = gang_name(pod), *key = LABEL_POD_GROUP_MIN_AVAILABLE_OLD, *text, *wait;
    struct gang_spec g = { .waiting_time_ns = defaults->waiting_time_ns };
    nsec_t waiting;

    if (!name)
        return kerr_set(err, -ENOENT, "the pod is in no gang");
    text = kstrmap_get(&pod->labels, key);
    if (!text) {
        key = ANNO_GANG_MIN_AVAILABLE;
        text = kstrmap_get(&pod->annotations, key);
    }
    if (!text)
        return kerr_set(err, -EINVAL, "annotation %s: missing", key);
    if (!decimal(text, &g.min_available))
        return kerr_set(err, -EINVAL, "%s: \"%s\" is not a whole number", key, text);
    wait = kstrmap_get(&pod->annotations, ANNO_GANG_WAITING_TIME);
    if (wait && kdur_parse(wait, strlen(wait), &waiting, NULL) == 0 && waiting > 0)
        g.waiting_time_ns = waiting;
    fill_common(&g, pod, gang_id(pod->ns, name, a), defaults, a);
    *ret = g;
    return 0;
}

void gang_spec_from_podgroup(const struct objmeta *podgroup, int32_t min_member,
                             struct opt_i32 timeout_seconds, const struct gang_defaults *defaults,
                             struct arena *a, struct gang_spec *ret)
{
    struct gang_spec g = { .min_available = min_member,
                           .waiting_time_ns = defaults->waiting_time_ns };

    if (timeout_seconds.set && timeout_seconds.v > 0)
        g.waiting_time_ns = timeout_seconds.v * NSEC_PER_SEC;
    fill_common(&g, podgroup, gang_id(podgroup->ns, podgroup->name, a), defaults, a);
    *ret = g;
}
