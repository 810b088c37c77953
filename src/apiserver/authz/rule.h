/* rule.h - one rule of a role, compiled: what it allows, and whether rules cover other rules.
 *
 * Pure. Lists end with NULL and live in the arena that the rule was compiled into.
 */
#ifndef KOORD_APISERVER_AUTHZ_RULE_H
#define KOORD_APISERVER_AUTHZ_RULE_H
#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct authz_attributes;
struct kj_val;
struct kjw;

struct rbac_rule {
    const char *const *verbs, *const *groups, *const *resources, *const *names, *const *urls;
};
struct rbac_rules vec_of(const struct rbac_rule *);

/* From a rule of a Role's document; texts are copied into the arena. */
void rbac_rule_compile(const struct kj_val *rule, struct arena *a, struct rbac_rule *ret);
bool rbac_rule_allows(const struct rbac_rule *r, const struct authz_attributes *a);
/* A member of "rules", as JSON. paths: with its nonResourceURLs only, else with all but those. */
void rbac_rule_write(const struct rbac_rule *r, bool paths, struct kjw *w);

/* What of `wanted` the rules `held` do not allow, put together again to as few rules as there are
 * without losing anything, in order; in the arena. */
void rbac_rules_missing(const struct rbac_rules *held, const struct rbac_rules *wanted,
                        struct arena *a, struct rbac_rules *ret);
/* {APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}, as Go prints it. */
void rbac_rule_describe(const struct rbac_rule *r, struct strbuf *out);
#endif
