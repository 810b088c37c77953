/* elasticquota.c - ElasticQuota: quota groups that lend each other what they do not use.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/elasticquota/args.h"
#include "scheduler/plugins/registry.h"

const struct ks_plugin ks_plugin_elastic_quota = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "ElasticQuota",
    .planned = true,
    .points = KS_AT(PRE_FILTER) | KS_AT(POST_FILTER) | KS_AT(RESERVE),
    .args = &quota_args,
};
