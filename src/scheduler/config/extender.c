/* extender.c - extenders of a configuration: decoded and checked (scheduler-core 4.4). */
#include "scheduler/config/config_int.h"

#include "api/names.h"
#include "base/arena.h"

enum { EXTENDERS_MAX = 64 };
#define TIMEOUT_DEFAULT (5 * NSEC_PER_SEC)

#define STYPE           struct sched_extender_tls
static const struct kfield tls_fields[] = {
    KF(STYPE, insecure, "insecure", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, server_name, "serverName", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, cert_file, "certFile", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, key_file, "keyFile", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, ca_file, "caFile", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, cert_data, "certData", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, key_data, "keyData", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, ca_data, "caData", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema tls_schema = KSCHEMA("ExtenderTLSConfig", STYPE, tls_fields);
#undef STYPE

#define STYPE struct sched_managed
static const struct kfield managed_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, ignored_by_scheduler, "ignoredByScheduler", KF_BOOL, .flags = KF_OMITEMPTY),
};
static const struct kschema managed_schema =
    KSCHEMA("ExtenderManagedResource", STYPE, managed_fields);
#undef STYPE

#define STYPE struct sched_extender
static const struct kfield extender_fields[] = {
    KF(STYPE, url_prefix, "urlPrefix", KF_STR),
    KF(STYPE, filter_verb, "filterVerb", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, preempt_verb, "preemptVerb", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, prioritize_verb, "prioritizeVerb", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, weight, "weight", KF_I64, .flags = KF_OMITEMPTY),
    KF(STYPE, bind_verb, "bindVerb", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, https, "enableHTTPS", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, tls, "tlsConfig", KF_OBJ, .sub = &tls_schema, .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, timeout, "httpTimeout", KF_DUR, .flags = KF_OMITEMPTY),
    KF(STYPE, node_cache_capable, "nodeCacheCapable", KF_BOOL, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, managed, "managedResources", KF_OBJ, .sub = &managed_schema,
               .flags = KF_OMITEMPTY),
    KF(STYPE, ignorable, "ignorable", KF_BOOL, .flags = KF_OMITEMPTY),
};
const struct kschema sched_extender_schema = KSCHEMA("Extender", STYPE, extender_fields);
#undef STYPE

static bool is_managed_before(const struct sched_config *c, uint32_t extender, uint32_t item)
{
    const char *name = c->extenders.items[extender].managed.items[item].name;

    for (uint32_t i = 0; i <= extender; i++) {
        const struct sched_extender *e = &c->extenders.items[i];
        for (uint32_t j = 0; j < (i < extender ? e->managed.n : item); j++)
            if (streq(e->managed.items[j].name, name))
                return true;
    }
    return false;
}

static int check_managed(const struct sched_config *c, uint32_t i, struct kerr *err)
{
    const struct sched_extender *e = &c->extenders.items[i];
    int r = config_at_most(e->managed.n, CONFIG_ITEMS_MAX, "managedResources", err);

    for (uint32_t j = 0; j < e->managed.n && r == 0; j++) {
        const char *name = e->managed.items[j].name, *wrong = name_check_extended_resource(name);
        if (!wrong && is_managed_before(c, i, j))
            wrong = "duplicate extender managed resource name";
        if (wrong)
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "managedResources[%u].name: Invalid value: \"%.64s\": %.120s", j, name,
                         wrong);
    }
    return r;
}

static int check_one(const struct sched_config *c, uint32_t i, struct kerr *err)
{
    const struct sched_extender *e = &c->extenders.items[i];

    if (*e->prioritize_verb && e->weight <= 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "weight: Invalid value: %lld: must have a positive weight applied to it",
                        (long long)e->weight);
    if (e->timeout < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "httpTimeout: Invalid value: must be greater than or equal to 0");
    return check_managed(c, i, err);
}

/* Those that may not be ignored come first; otherwise the order of the file. */
static void sort(struct sched_config *c, struct arena *a)
{
    struct sched_extender *sorted = arena_newn0(a, c->extenders.n, struct sched_extender);
    uint32_t n = 0;

    for (int ignorable = 0; ignorable <= 1; ignorable++)
        for (uint32_t i = 0; i < c->extenders.n; i++)
            if (c->extenders.items[i].ignorable == ignorable)
                sorted[n++] = c->extenders.items[i];
    c->extenders.items = sorted;
}

int extenders_finish(struct sched_config *c, struct arena *a, struct kerr *err)
{
    unsigned binders = 0;
    int r = config_at_most(c->extenders.n, EXTENDERS_MAX, "extenders", err);

    for (uint32_t i = 0; i < c->extenders.n && r == 0; i++) {
        r = check_one(c, i, err);
        if (r < 0)
            return config_under(err, "extenders[%u]", i);
        binders += *c->extenders.items[i].bind_verb != '\0';
        if (c->extenders.items[i].timeout == 0)
            c->extenders.items[i].timeout = TIMEOUT_DEFAULT;
    }
    if (r < 0)
        return r;
    if (binders > 1)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "extenders: Invalid value: \"found %u extenders implementing bind\": only "
                        "one extender can implement bind",
                        binders);
    sort(c, a);
    return 0;
}

struct ks_args_context extenders_context(const struct sched_config *c, struct arena *a)
{
    const char **names;
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->extenders.n; i++)
        n += c->extenders.items[i].managed.n;
    names = arena_newn0(a, n, const char *);
    n = 0;
    for (uint32_t i = 0; i < c->extenders.n; i++) {
        const struct sched_extender *e = &c->extenders.items[i];
        for (uint32_t j = 0; j < e->managed.n; j++)
            if (e->managed.items[j].ignored_by_scheduler)
                names[n++] = e->managed.items[j].name;
    }
    return (struct ks_args_context){ .ignored = names, .nignored = n };
}
