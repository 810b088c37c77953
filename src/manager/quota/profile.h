/* profile.h - the root quota that an ElasticQuotaProfile asks for (manager 11, sched-quota 18).
 *
 * A profile selects nodes; what they have is the total of a quota tree of its own. Pure: objects
 * in, the quota as it should be out.
 */
#ifndef KOORD_MANAGER_QUOTA_PROFILE_H
#define KOORD_MANAGER_QUOTA_PROFILE_H
#include "api/koord/quota.h"
#include "api/node.h"
#include "base/arena.h"

struct strbuf;

struct quota_plan { /* the root quota of the profile's tree, as it should be */
    const char *tree;
    kstrmap labels; /* that it has to have; others stay */
    reslist min, max;
    reslist total, unschedulable; /* for the annotations */
};

/* The label of the profile; without one the number that is made of its name. */
const char *quota_profile_tree(const struct objmeta *profile, struct arena *a);
/* -EINVAL when the selector cannot be understood. What is planned lives in the arena, and as long
 * as profile and nodes. */
int quota_profile_plan(const struct elasticquotaprofile *p, const struct node *const *nodes,
                       size_t n, struct arena *a, struct quota_plan *ret, struct kerr *err);
/* The body of a create (have NULL), or a merge patch of what differs. false: nothing does. */
bool quota_plan_write(const struct quota_plan *plan, const struct elasticquotaprofile *p,
                      const struct elasticquota *have, struct strbuf *body);
/* Does the profile look at this of a node differently? */
bool quota_profile_node_differs(const struct node *a, const struct node *b);
#endif
