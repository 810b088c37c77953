/* args.c - PodTopologySpreadArgs: table, defaults, checks (scheduler-core 4.3). */
#include "scheduler/plugins/podtopologyspread/args.h"

#include "api/names.h"
#include "component/config.h"
#include "scheduler/framework/args.h"

static const char *const defaulting_types[] = { "System", "List", NULL };
static const struct kmeta defaulting_meta = { .def = "\"System\"", .names = defaulting_types };

#define STYPE struct spread_args
static const struct kfield spread_fields[] = {
    KF_LIST_OF(STYPE, constraints, "defaultConstraints", KF_OBJ, .sub = &topology_spread_schema,
               .flags = KF_OMITEMPTY),
    KF(STYPE, defaulting, "defaultingType", KF_STR, .meta = &defaulting_meta),
};
static const struct kschema spread_schema = KSCHEMA("PodTopologySpreadArgs", STYPE, spread_fields);
#undef STYPE

static int check_duplicate(const struct spread_args *s, uint32_t i, struct kerr *err)
{
    static const char *const actions[] = { "", "DoNotSchedule", "ScheduleAnyway" };
    const struct topology_spread *t = &s->constraints.items[i];

    for (uint32_t j = 0; j < i; j++)
        if (s->constraints.items[j].when_unsatisfiable == t->when_unsatisfiable &&
            streq(s->constraints.items[j].topology_key, t->topology_key))
            return kerr_api(err, -EINVAL, KR_INVALID, "Duplicate value: \"{%.64s, %s}\"",
                            t->topology_key, actions[t->when_unsatisfiable]);
    return 0;
}

static int check_constraint(const struct spread_args *s, uint32_t i, struct kerr *err)
{
    const struct topology_spread *t = &s->constraints.items[i];
    const char *wrong = name_check_label_key(str_of(t->topology_key));

    if (t->max_skew <= 0)
        return config_out_of_range("maxSkew", t->max_skew, "(0, inf)", err);
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
    if (t->min_domains.set && t->min_domains.v <= 0)
        return kerr_api(err, -EINVAL, KR_INVALID, "minDomains: must be greater than zero");
    return check_duplicate(s, i, err);
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
        if (check_constraint(s, i, err) < 0)
            r = config_under(err, "defaultConstraints[%u]", i);
    return r;
}

const struct ks_args spread_args = { .schema = &spread_schema, .check = spread_check };
