/* known.c - the plugins that a configuration may name, and where upstream lets them take part. */
#include "scheduler/config/config_int.h"

#include "component/flags.h"

#define QUEUE_SORT  (1u << KS_POINT_QUEUE_SORT)
#define PRE_ENQUEUE (1u << KS_POINT_PRE_ENQUEUE)
#define PRE_FILTER  (1u << KS_POINT_PRE_FILTER)
#define FILTER      (1u << KS_POINT_FILTER)
#define POST_FILTER (1u << KS_POINT_POST_FILTER)
#define PRE_SCORE   (1u << KS_POINT_PRE_SCORE)
#define SCORE       (1u << KS_POINT_SCORE)
#define RESERVE     (1u << KS_POINT_RESERVE)
#define PERMIT      (1u << KS_POINT_PERMIT)
#define PRE_BIND    (1u << KS_POINT_PRE_BIND)
#define BIND        (1u << KS_POINT_BIND)
#define POST_BIND   (1u << KS_POINT_POST_BIND)
#define FILTERS     (PRE_FILTER | FILTER)
#define SCORES      (PRE_SCORE | SCORE)

const struct known_plugin known_plugins[] = {
    { "SchedulingGates", PRE_ENQUEUE, 0, true },
    { "PrioritySort", QUEUE_SORT, 0, true },
    { "NodeUnschedulable", FILTER, 0, true },
    { "NodeName", FILTER, 0, true },
    { "TaintToleration", FILTER | SCORES, 3, true },
    { "NodeAffinity", FILTERS | SCORES, 2, true },
    { "NodePorts", FILTERS, 0, true },
    { "NodeResourcesFit", FILTERS | SCORES, 1, true },
    { "VolumeRestrictions", FILTERS, 0, true },
    { "NodeVolumeLimits", FILTERS, 0, true },
    { "VolumeBinding", FILTERS | SCORES | RESERVE | PRE_BIND, 0, true },
    { "VolumeZone", FILTERS, 0, true },
    { "PodTopologySpread", FILTERS | SCORES, 2, true },
    { "InterPodAffinity", FILTERS | SCORES, 2, true },
    { "DynamicResources", PRE_ENQUEUE | FILTERS | POST_FILTER | SCORE | RESERVE | PRE_BIND, 2,
      true },
    { "DefaultPreemption", PRE_ENQUEUE | POST_FILTER, 0, true },
    { "NodeResourcesBalancedAllocation", SCORES, 1, true },
    { "ImageLocality", SCORE, 1, true },
    { "DefaultBinder", BIND, 0, true },
    { "LoadAwareScheduling", FILTERS | SCORE | RESERVE, 0, false },
    { "NodeNUMAResource", FILTERS | SCORES | RESERVE | PRE_BIND, 0, false },
    { "Reservation", FILTERS | POST_FILTER | SCORES | RESERVE | PRE_BIND | BIND, 0, false },
    { "Coscheduling",
      PRE_ENQUEUE | PRE_FILTER | POST_FILTER | SCORES | RESERVE | PERMIT | PRE_BIND | POST_BIND, 0,
      false },
    { "DeviceShare", FILTERS | SCORES | RESERVE | PRE_BIND, 0, false },
    { "ElasticQuota", PRE_FILTER | POST_FILTER | RESERVE, 0, false },
    { DEFAULT_PRE_BIND, PRE_BIND, 0, false },
    { "NodeResourcesFitPlus", SCORES, 0, false },
    { "ScarceResourceAvoidance", SCORES, 0, false },
    { "SchedulingHint", PRE_FILTER, 0, false },
    { NULL, 0, 0, false },
};

static const struct known_plugin *find(const char *name)
{
    for (const struct known_plugin *k = known_plugins; k->name; k++)
        if (streq(k->name, name))
            return k;
    return NULL;
}

bool known_name(const char *name)
{
    return find(name) || ks_registered_find(name);
}

bool known_implements(const char *name, enum ks_point point)
{
    const struct known_plugin *k = find(name);
    const struct ks_registered *r = ks_registered_find(name);

    return k ? k->points >> point & 1 : r && ks_implements(r->plugin, point);
}

bool known_is_removed(const char *name)
{
    static const char *const removed[] = { "AzureDiskLimits", "CinderLimits", "EBSLimits",
                                           "GCEPDLimits" };

    for (size_t i = 0; i < ARRAY_LEN(removed); i++)
        if (streq(removed[i], name))
            return true;
    return false;
}

const char *known_nearest(const char *name)
{
    const char *names[64];
    size_t n = 0;

    for (const struct known_plugin *k = known_plugins; k->name && n < ARRAY_LEN(names); k++)
        names[n++] = k->name;
    return word_nearest(name, names, n);
}
