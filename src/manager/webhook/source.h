/* source.h - what the webhooks know of the cluster, behind functions.
 *
 * In the manager the functions read informers; golden runners and koordctl have
 * objects of their own. Everything that is returned lives until the call of the webhook ends.
 */
#ifndef KOORD_MANAGER_WEBHOOK_SOURCE_H
#define KOORD_MANAGER_WEBHOOK_SOURCE_H
#include "api/kobj.h"
#include "manager/quota/evaluate.h"
#include "manager/sloconfig/validate.h"

struct elasticquotaprofile;
struct priority_class_obj;
struct profile_set;
struct quota_topology;
struct validator;

struct webhook_source { /* members may be NULL: there is nothing of the kind */
    const struct profile_set *(*profiles)(void *self);
    /* NULL: there is no such namespace. */
    const kstrmap *(*namespace_labels)(void *self, const char *ns);
    const struct priority_class_obj *(*priority_class)(void *self, const char *name);
    /* Metadata with labels and annotations; NULL: not known. */
    const struct objmeta *(*pod)(void *self, const char *ns, const char *name);
    slo_node_at_fn node_at;                       /* all nodes; arg is self */
    const kstrmap *(*slo_config)(void *self);     /* data of the ConfigMap; NULL: there is none */
    const struct validator *(*rules)(void *self); /* of the enhanced validator; NULL: it is off */
    /* ElasticQuotas, for their own webhooks; NULL: they are not checked. */
    struct quota_topology *(*quotas)(void *self);
    /* The first profile, by namespace and name, that has this tree; NULL: there is none. */
    const struct elasticquotaprofile *(*tree_profile)(void *self, const char *tree);
    /* How many quotas have this name, and the namespace of one. */
    size_t (*quotas_named)(void *self, const char *name, const char **ret_ns);
    /* Charges a quota, see quota/evaluate.h; NULL: quotas are not evaluated. */
    struct charging *(*charge)(void *self, const struct quota_charge *c, charged_fn fn, void *arg);
    void *self;
};
#endif
