/* kinds.c - the table of all kinds. A new kind is one line here; where a word fits two, the first
 * in this order is meant ("events" are those of core/v1, as kubectl has it). */
#include "api/core.h"
#include "api/dra.h"
#include "api/event.h"
#include "api/kobj.h"
#include "api/koord/device.h"
#include "api/koord/explanation.h"
#include "api/koord/networktopology.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/koord/podgroup.h"
#include "api/koord/podmigrationjob.h"
#include "api/koord/profile.h"
#include "api/koord/quota.h"
#include "api/koord/recommendation.h"
#include "api/koord/reservation.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/share.h"
#include "api/storage.h"
#include "api/workload.h"

#include <stdio.h>
#include <strings.h>

static const struct kind *const kinds[] = {
    /* Kubernetes */
    &kind_pod,
    &kind_node,
    &kind_namespace,
    &kind_configmap,
    &kind_secret,
    &kind_service,
    &kind_core_event,
    &kind_event,
    &kind_lease,
    &kind_priority_class,
    &kind_pdb,
    &kind_deployment,
    &kind_replicaset,
    &kind_statefulset,
    &kind_daemonset,
    &kind_replicationcontroller,
    &kind_job,
    &kind_pv,
    &kind_pvc,
    &kind_storage_class,
    &kind_csi_node,
    &kind_csi_driver,
    &kind_csi_storage_capacity,
    &kind_volume_attachment,
    &kind_resource_claim,
    &kind_resource_claim_template,
    &kind_resource_slice,
    &kind_device_class,
    /* Koordinator, and what it shares with the scheduler plugins of SIG Scheduling */
    &kind_nodemetric,
    &kind_nodeslo,
    &kind_reservation,
    &kind_device,
    &kind_podmigrationjob,
    &kind_podgroup,
    &kind_elasticquota,
    &kind_elasticquotaprofile,
    &kind_colocation_profile,
    &kind_noderesourcetopology,
    &kind_noderesourcetopology_v1alpha2,
    &kind_network_topology,
    &kind_schedule_explanation,
    &kind_recommendation,
};

const struct kind *kind_at(size_t i)
{
    return i < ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

size_t kind_api_version(const struct kind *k, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s%s%s", k->group, *k->group ? "/" : "", k->version);
    return MIN((size_t)n, size ? size - 1 : 0);
}

static bool word_eq(struct str word, const char *name)
{
    return strlen(name) == word.n && strncasecmp(word.p, name, word.n) == 0;
}

static bool has_short_name(const struct kind *k, struct str word)
{
    for (const char *p = k->short_names; p && *p;) {
        size_t n = strcspn(p, ",");
        if (n == word.n && strncasecmp(p, word.p, n) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

const struct kind *kind_find(const char *word)
{
    const char *dot = strchr(word, '.');
    struct str noun = { word, dot ? (size_t)(dot - word) : strlen(word) };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct kind *k = kinds[i];
        if (dot && strcasecmp(dot + 1, k->group) != 0)
            continue;
        if (word_eq(noun, k->plural) || word_eq(noun, k->kind) || has_short_name(k, noun))
            return k;
    }
    return NULL;
}

const struct kind *kind_find_gvk(const char *group, const char *version, const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (streq(kinds[i]->group, group) && streq(kinds[i]->version, version) &&
            streq(kinds[i]->kind, kind))
            return kinds[i];
    return NULL;
}

const struct kindsplit *kindsplit_of(const struct kind *k)
{
    return k == &kind_pod ? &pod_split : NULL;
}
