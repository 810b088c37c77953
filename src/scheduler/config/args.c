/* args.c - args of the default plugins: strict, defaulted and checked before any plugin is made
 * (scheduler-core 4.3). The plugins read them again for themselves.
 */
#include "scheduler/config/config_int.h"

#include <stdio.h>

#include "api/names.h"
#include "api/pod.h"
#include "api/selector.h"
#include "api/types.h"
#include "json/kj.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_10, "10");
DEFAULT(def_100, "100");
DEFAULT(def_1, "1");
DEFAULT(def_600, "600");
DEFAULT(def_10s, "\"10s\"");

static int out_of_range(struct kerr *err, const char *path, int64_t v, const char *range)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: %lld: not in valid range %s",
                    path, (long long)v, range);
}

int args_range(const char *path, int64_t v, int64_t min, int64_t max, struct kerr *err)
{
    char range[48];

    if (v >= min && v <= max)
        return 0;
    if (max >= INT32_MAX)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "%s: Invalid value: %lld: must be greater than or equal to %lld", path,
                        (long long)v, (long long)min);
    (void)snprintf(range, sizeof range, "[%lld, %lld]", (long long)min, (long long)max);
    return out_of_range(err, path, v, range);
}

/* ---- DefaultPreemption, InterPodAffinity ----------------------------------------------------- */

struct preemption_args {
    struct opt_i32 percentage, absolute;
};
#define STYPE struct preemption_args
static const struct kfield preemption_fields[] = {
    KF(STYPE, percentage, "minCandidateNodesPercentage", KF_OPT_I32, .meta = &def_10),
    KF(STYPE, absolute, "minCandidateNodesAbsolute", KF_OPT_I32, .meta = &def_100),
};
static const struct kschema preemption_schema =
    KSCHEMA("DefaultPreemptionArgs", STYPE, preemption_fields);
#undef STYPE

static int preemption_check(const void *value, struct kerr *err)
{
    const struct preemption_args *p = value;

    if (args_range("minCandidateNodesPercentage", p->percentage.v, 0, 100, err) < 0)
        return err->code;
    if (p->absolute.v < 0)
        return out_of_range(err, "minCandidateNodesAbsolute", p->absolute.v, "[0, inf)");
    if (p->percentage.v == 0 && p->absolute.v == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same "
                        "time as minCandidateNodesAbsolute");
    return 0;
}

struct interpod_args {
    struct opt_i32 hard_weight;
    bool ignore_preferred;
};
#define STYPE struct interpod_args
static const struct kfield interpod_fields[] = {
    KF(STYPE, hard_weight, "hardPodAffinityWeight", KF_OPT_I32, .meta = &def_1),
    KF(STYPE, ignore_preferred, "ignorePreferredTermsOfExistingPods", KF_BOOL),
};
static const struct kschema interpod_schema =
    KSCHEMA("InterPodAffinityArgs", STYPE, interpod_fields);
#undef STYPE

static int interpod_check(const void *value, struct kerr *err)
{
    const struct interpod_args *p = value;

    return args_range("hardPodAffinityWeight", p->hard_weight.v, 0, 100, err);
}

/* ---- NodeAffinity ---------------------------------------------------------------------------- */

struct nodeaffinity_args {
    struct node_affinity *added;
};
#define STYPE struct nodeaffinity_args
static const struct kfield nodeaffinity_fields[] = {
    KF(STYPE, added, "addedAffinity", KF_OBJ, .sub = &node_affinity_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema nodeaffinity_schema =
    KSCHEMA("NodeAffinityArgs", STYPE, nodeaffinity_fields);
#undef STYPE

#define PREFERRED "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
static int nodeaffinity_check(const void *value, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct node_affinity *n = ((const struct nodeaffinity_args *)value)->added;

    if (n && n->required && nodesel_check(nodesel_from(n->required, a), err) < 0)
        return kerr_wrap(err, "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    for (uint32_t i = 0; n && i < n->preferred.n; i++)
        if (nodesel_check(nodesel_from_term(&n->preferred.items[i].preference, a), err) < 0)
            return kerr_wrap(err, PREFERRED "[%u]", i);
    return 0;
}

/* ---- PodTopologySpread ----------------------------------------------------------------------- */

struct spread_args {
    const char *defaulting;
    KLIST(struct topology_spread) constraints;
};
static const char *const spread_types[] = { "System", "List", NULL };
static const struct kmeta spread_type_meta = { .def = "\"System\"", .names = spread_types };
#define STYPE struct spread_args
static const struct kfield spread_fields[] = {
    KF_LIST_OF(STYPE, constraints, "defaultConstraints", KF_OBJ, .sub = &topology_spread_schema,
               .flags = KF_OMITEMPTY),
    KF(STYPE, defaulting, "defaultingType", KF_STR, .meta = &spread_type_meta),
};
static const struct kschema spread_schema = KSCHEMA("PodTopologySpreadArgs", STYPE, spread_fields);
#undef STYPE

static int spread_check_one(const struct spread_args *s, uint32_t i, struct kerr *err)
{
    static const char *const actions[] = { "", "DoNotSchedule", "ScheduleAnyway" };
    const struct topology_spread *t = &s->constraints.items[i];
    const char *wrong = name_check_label_key(str_of(t->topology_key));

    if (t->max_skew <= 0)
        return out_of_range(err, "maxSkew", t->max_skew, "(0, inf)");
    if (!*t->topology_key)
        return kerr_api(err, -EINVAL, KR_INVALID, "topologyKey: Required value: can not be empty");
    if (wrong)
        return kerr_api(err, -EINVAL, KR_INVALID, "topologyKey: Invalid value: \"%.64s\": %.120s",
                        t->topology_key, wrong);
    if (!t->when_unsatisfiable)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "whenUnsatisfiable: Required value: can not be empty");
    if (t->label_selector)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "labelSelector: Forbidden: constraint must not define a selector, as they "
                        "deduced for each pod");
    for (uint32_t j = 0; j < i; j++)
        if (t[-1 - (int64_t)j].when_unsatisfiable == t->when_unsatisfiable &&
            streq(t[-1 - (int64_t)j].topology_key, t->topology_key))
            return kerr_api(err, -EINVAL, KR_INVALID, "Duplicate value: \"{%.64s, %s}\"",
                            t->topology_key, actions[t->when_unsatisfiable]);
    return 0;
}

static int spread_check(const void *value, struct kerr *err)
{
    const struct spread_args *s = value;
    int r = config_at_most(s->constraints.n, CONFIG_ITEMS_MAX, "defaultConstraints", err);

    if (r == 0 && streq(s->defaulting, "System") && s->constraints.n > 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "defaultingType: Invalid value: \"System\": when .defaultConstraints are "
                        "not empty");
    for (uint32_t i = 0; i < s->constraints.n && r == 0; i++)
        if (spread_check_one(s, i, err) < 0)
            r = config_under(err, "defaultConstraints[%u]", i);
    return r;
}

/* ---- VolumeBinding, DynamicResources --------------------------------------------------------- */

struct volume_args {
    struct opt_i64 timeout;
    const char *shape; /* of a gate that is not here */
};
#define STYPE struct volume_args
static const struct kfield volume_fields[] = {
    KF(STYPE, timeout, "bindTimeoutSeconds", KF_OPT_I64, .meta = &def_600),
    KF(STYPE, shape, "shape", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema volume_schema = KSCHEMA("VolumeBindingArgs", STYPE, volume_fields);
#undef STYPE

static int volume_check(const void *value, struct kerr *err)
{
    const struct volume_args *v = value;

    if (v->timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindTimeoutSeconds: Invalid value: %lld: invalid BindTimeoutSeconds, "
                        "should not be a negative value",
                        (long long)v->timeout.v);
    if (v->shape)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "shape: Invalid value: unexpected field `shape`, remove it or turn on the "
                        "feature gate StorageCapacityScoring");
    return 0;
}

struct dynamic_args {
    struct opt_i64 filter_timeout, binding_timeout;
};
#define STYPE struct dynamic_args
static const struct kfield dynamic_fields[] = {
    KF(STYPE, filter_timeout, "filterTimeout", KF_OPT_DUR, .meta = &def_10s),
    KF(STYPE, binding_timeout, "bindingTimeout", KF_OPT_DUR, .flags = KF_OMITEMPTY),
};
static const struct kschema dynamic_schema = KSCHEMA("DynamicResourcesArgs", STYPE, dynamic_fields);
#undef STYPE

static int dynamic_check(const void *value, struct kerr *err)
{
    const struct dynamic_args *d = value;

    if (d->filter_timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "filterTimeout: Invalid value: must be zero or positive");
    if (d->binding_timeout.set && d->binding_timeout.v < NSEC_PER_SEC)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindingTimeout: Invalid value: must be at least 1 second");
    return 0;
}

/* ---- by plugin ------------------------------------------------------------------------------- */

static const struct args_table args_kube[] = {
    { "DefaultPreemption", &preemption_schema, NULL, preemption_check },
    { "DynamicResources", &dynamic_schema, NULL, dynamic_check },
    { "InterPodAffinity", &interpod_schema, NULL, interpod_check },
    { "NodeAffinity", &nodeaffinity_schema, NULL, nodeaffinity_check },
    { "NodeResourcesBalancedAllocation", &args_balanced_schema, NULL, args_balanced_check },
    { "NodeResourcesFit", &args_fit_schema, NULL, args_fit_check },
    { "PodTopologySpread", &spread_schema, NULL, spread_check },
    { "VolumeBinding", &volume_schema, NULL, volume_check },
};

/* Table number i; NULL behind the last. */
static const struct args_table *table_at(size_t i)
{
    size_t kube = ARRAY_LEN(args_kube);

    if (i < kube)
        return &args_kube[i];
    return i - kube < args_koord_n ? &args_koord[i - kube] : NULL;
}

const char *args_plugin(size_t i)
{
    const struct args_table *t = table_at(i);
    return t ? t->plugin : NULL;
}

static const struct args_table *table_of(const char *plugin)
{
    const struct args_table *t;

    for (size_t i = 0; (t = table_at(i)); i++)
        if (streq(t->plugin, plugin))
            return t;
    return NULL;
}

int args_duration(const char *path, struct opt_i64 v, struct kerr *err)
{
    if (v.v >= 0)
        return 0;
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: must not be negative", path);
}

/* {"apiVersion":...,"kind":"NameArgs", and the fields of an object behind it. */
static const char *with_type(const char *plugin, const char *fields, struct arena *a)
{
    return arena_printf(a, "{\"apiVersion\":\"" CONFIG_API_VERSION "\",\"kind\":\"%sArgs\"%s%s",
                        plugin, fields[1] == '}' ? "" : ",", fields + 1);
}

int args_complete(const char *plugin, const struct kj_val *given, struct arena *a,
                  const char **ret_json, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *nothing = NULL;
    const struct args_table *t = table_of(plugin);
    int r = given ? 0 : kj_parse("{}", 2, 0, &nothing, err);

    if (!t) {
        kj_write(given ? given : kj_root(nothing), 0, &out);
        *ret_json = with_type(plugin, strbuf_str(&out), a);
        return r;
    }
    void *value = arena_zalloc(a, t->schema->size);
    if (r == 0)
        r = kj_decode(t->schema, given ? given : kj_root(nothing), KJ_STRICT, a, value, err);
    if (r < 0)
        return r;
    kj_default(t->schema, a, value);
    if (t->fill)
        t->fill(value, a);
    if (t->check)
        r = t->check(value, err); /* before the table, which has words of its own */
    if (r == 0)
        r = kj_validate(t->schema, value, err);
    if (r < 0)
        return r;
    kj_encode(t->schema, value, &out);
    *ret_json = with_type(plugin, strbuf_str(&out), a);
    return 0;
}
