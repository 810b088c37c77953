/* apps_check.c - what only stateful sets and daemon sets say: strategies, claims, ordinals. */
#include "apiserver/kinds/internal.h"

const char *strategy_text(struct check *c, const char *type)
{
    return at(c, "{\"Type\":%s,\"RollingUpdate\":null}", quoted(c, type));
}

/* ---- stateful sets ------------------------------------------------------------------------------
 */

static void check_statefulset_strategy(struct check *c, const struct kj_val *strategy)
{
    const char *type = v_str(strategy, "type");
    const struct kj_val *rolling = kj_get(strategy, "rollingUpdate");

    if (streq(type, "RollingUpdate"))
        check_not_negative(c, "spec.updateStrategy.rollingUpdate.partition",
                           kj_get(rolling, "partition"));
    else if (!streq(type, "OnDelete"))
        field_error(c->errors, FIELD_INVALID, "spec.updateStrategy", strategy_text(c, type),
                    "must be 'RollingUpdate' or 'OnDelete'");
    else if (v_has(strategy, "rollingUpdate"))
        field_error(c->errors, FIELD_INVALID, "spec.updateStrategy.rollingUpdate",
                    at(c, "{\"Partition\":%lld,\"MaxUnavailable\":null}",
                       (long long)kj_i64_or(kj_get(rolling, "partition"), 0)),
                    "only allowed for updateStrategy 'RollingUpdate'");
}

void check_statefulset_spec(struct check *c, const struct kj_val *spec)
{
    static const char *const retentions[] = { "Retain", "Delete", NULL };
    static const char *const when[] = { "whenDeleted", "whenScaled" };
    const char *policy = v_str(spec, "podManagementPolicy"), *service = v_str(spec, "serviceName");
    const struct kj_val *keep = kj_get(spec, "persistentVolumeClaimRetentionPolicy"), *v;
    struct kj_iter it = kj_iter(kj_get(spec, "volumeClaimTemplates"));

    if (!streq(policy, "OrderedReady") && !streq(policy, "Parallel"))
        err_invalid(c, "spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
    check_statefulset_strategy(c, kj_get(spec, "updateStrategy"));
    for (size_t i = 0; i < ARRAY_LEN(when); i++)
        check_enum(c, at(c, "spec.persistentVolumeClaimRetentionPolicy.%s", when[i]),
                   v_str(keep, when[i]), retentions, true);
    check_not_negative(c, "spec.ordinals.start", kj_path(spec, "ordinals.start"));
    if (*service)
        check_dns_label(c, "spec.serviceName", service);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_pvc_spec(c, at(c, "spec.volumeClaimTemplates[%zu].spec", i), kj_get(v, "spec"));
}

static struct kj_mval *claim_volume(struct kj_mdoc *d, const char *name)
{
    struct kj_mval *v = kj_mobj(d), *claim = kj_mobj(d);

    kj_mset(d, v, "name", kj_mstr(d, name));
    kj_mset(d, claim, "claimName", kj_mstr(d, name));
    kj_mset(d, v, "persistentVolumeClaim", claim);
    return v;
}

struct kj_doc *statefulset_with_claims(const struct kj_val *spec)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(map_fini) struct map claims = { 0 };
    struct kj_mval *copy = kj_mcopy(d, spec), *list = kj_marr(d);
    struct kj_mval *pod = m_path(copy, "template.spec");
    struct kj_iter it = kj_iter(kj_get(spec, "volumeClaimTemplates"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *name = kj_str_or(kj_path(v, "metadata.name"), "");
        if (names_add(&claims, name))
            kj_mpush(list, claim_volume(d, name));
    }
    it = kj_iter(kj_path(spec, "template.spec.volumes"));
    while (kj_next(&it, NULL, &v))
        if (!map_getz(&claims, v_str(v, "name")))
            kj_mpush(list, kj_mcopy(d, v));
    if (kj_mtype(pod) == KJ_OBJ)
        kj_mset(d, pod, "volumes", list);
    return kj_freeze(copy);
}

/* ---- daemon sets --------------------------------------------------------------------------------
 */

/* Zero pods, also as "0%" and as a text that is no number. */
static bool is_none(const struct kj_val *v)
{
    const char *s = kj_str(v);
    return s ? atoi(s) == 0 : kj_i64_or(v, 0) == 0;
}

void check_daemonset_strategy(struct check *c, const struct kj_val *strategy)
{
    static const char at_unavailable[] = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    static const char at_surge[] = "spec.updateStrategy.rollingUpdate.maxSurge";
    const char *type = v_str(strategy, "type");
    const struct kj_val *rolling = kj_get(strategy, "rollingUpdate");
    const struct kj_val *unavailable = kj_get(rolling, "maxUnavailable");
    const struct kj_val *surge = kj_get(rolling, "maxSurge");

    if (streq(type, "OnDelete"))
        return;
    if (!streq(type, "RollingUpdate")) {
        field_error(c->errors, FIELD_NOT_SUPPORTED, "spec.updateStrategy", strategy_text(c, type),
                    "supported values: \"RollingUpdate\", \"OnDelete\"");
        return;
    }
    check_int_or_percent(c, at_unavailable, unavailable);
    check_int_or_percent(c, at_surge, surge);
    if (is_none(unavailable) && is_none(surge))
        err_required(c, at_unavailable, "cannot be 0 when maxSurge is 0");
    else if (!is_none(unavailable) && !is_none(surge))
        field_error(c->errors, FIELD_INVALID, at_surge, as_json(c, surge),
                    "may not be set when maxUnavailable is non-zero");
}
