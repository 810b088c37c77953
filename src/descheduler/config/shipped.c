/* shipped.c - the configuration of Koordinator's chart. */
#include "descheduler/config/config.h"

static const char chart[] =
    "apiVersion: descheduler/v1alpha2\n"
    "kind: DeschedulerConfiguration\n"
    "leaderElection: {resourceLock: leases, resourceName: koord-descheduler, "
    "resourceNamespace: koordinator-system}\n"
    "deschedulingInterval: 10s\n"
    "dryRun: false\n"
    "profiles:\n"
    "- name: koord-descheduler\n"
    "  plugins:\n"
    "    deschedule: {disabled: [{name: '*'}]}\n"
    "    evict: {disabled: [{name: '*'}], enabled: [{name: MigrationController}]}\n"
    "  pluginConfig:\n"
    "  - name: MigrationController\n"
    "    args: {evictionPolicy: Eviction, namespaces: {exclude: [kube-system, "
    "koordinator-system]}, evictQPS: '10', evictBurst: 1}\n"
    "  - name: LowNodeLoad\n"
    "    args: {evictableNamespaces: {exclude: [kube-system, koordinator-system]}, "
    "lowThresholds: {cpu: 45, memory: 55}, highThresholds: {cpu: 75, memory: 80}}\n";

int desched_config_chart(struct config **ret, struct kerr *err)
{
    return config_parse(&desched_config_spec, chart, sizeof chart - 1, "chart", ret, err);
}
