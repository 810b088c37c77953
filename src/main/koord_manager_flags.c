/* koord_manager_flags.c - the flags of koord-manager. */
#include "main/koord_manager.h"

#include "base/klog.h"
#include "manager/webhook/webhook.h"

#define O(member) .off = offsetof(struct manager_options, member)
static const char *const locks[] = { "leases", NULL };
static const struct flag served[] = {
    { "metrics-addr", FLAG_STR, O(metrics_addr), .def = ":8080",
      .help =
          "`address` of /metrics, /internal-metrics, /external-metrics and /all-metrics; 0: none" },
    { "health-probe-addr", FLAG_STR, O(health_addr), .def = ":8000",
      .help = "`address` of /healthz and /readyz; 0: none" },
    { "enable-pprof", FLAG_BOOL, O(enable_pprof), .def = "true",
      .help = "listen on --pprof-addr; there are no Go profiles here, only /debug/pprof/cmdline" },
    { "pprof-addr", FLAG_STR, O(pprof_addr), .def = ":8090", .help = "that `address`" },
    { "enable-leader-election", FLAG_BOOL, O(elect), .def = "true",
      .help = "controllers act only while holding the lease koordinator-manager, so that replicas "
              "can stand by" },
    { "leader-election-namespace", FLAG_STR, O(election_ns), .def = "koordinator-system",
      .help = "`namespace` of the lease; empty: that of the pod" },
    { "leader-elect-resource-lock", FLAG_STR, O(lock), .def = "leases", .choices = locks,
      .help = "kind of the lock object" },
    { "namespace", FLAG_STR, O(ns), .help = "pods of this `namespace` only" },
    { "sync-period", FLAG_STR, O(sync_period),
      .help = "look at every object again this often; a value that is no duration is ignored" },
    { "rest-config-qps", FLAG_F64, O(qps), .def = "30",
      .help = "requests a second to the API server; without this flag, as many as it takes" },
    { "rest-config-burst", FLAG_INT, O(burst), .def = "50", .max = INT32_MAX,
      .help = "requests at once before --rest-config-qps counts" },
    { "controllers", FLAG_LIST, O(controllers),
      .def = "nodemetric,noderesource,nodeslo,quotaprofile,colocationprofile",
      .help = "`names` of the controllers to run; * is all, -name leaves one out" },
    { "noderesource-plugins", FLAG_LIST, O(plugins),
      .def = "MidResource,BatchResource,CPUNormalization,ResourceAmplification,GPUDeviceResource,"
             "RDMADeviceResource",
      .help = "plugins of the controller noderesource, in the same way" },
    { "slo-config-name", FLAG_STR, O(config_name), .def = "slo-controller-config",
      .help = "`name` of the ConfigMap with the strategies" },
    { "config-namespace", FLAG_STR, O(config_ns), .def = "koordinator-system",
      .help = "its `namespace`" },
    { "node-strategy-name-need-check", FLAG_STR, O(names_required), .def = "false",
      .help = "with `true`, node entries without a unique name are refused" },
    { "pod-enhanced-validator-config-namespace", FLAG_STR, O(rules_ns), .def = "koordinator-system",
      .help = "`namespace` of the ConfigMap with the rules of the enhanced validator" },
    { "pod-enhanced-validator-config-name", FLAG_STR, O(rules_name),
      .def = "pod-enhanced-validator-config", .help = "its `name`" },
    { "pod-enhanced-validator-reconcile-interval", FLAG_DUR, FLAG_IGNORED, .def = "5m",
      .help = "accepted; changes of the ConfigMap take effect at once" },
    { "binding-admission-user-name", FLAG_STR, O(binding_users),
      .help = "`parts` of names, with commas: only users with one of them may bind pods; empty: "
              "anybody" },
    { "binding-admission-dry-run", FLAG_BOOL, O(binding_dry_run),
      .help = "only count bindings that would be refused" },
    { "binding-admission-namespaces", FLAG_STR, O(binding_namespaces),
      .help = "`namespaces` whose bindings are checked; * is all" },
    { "binding-admission-exclude-namespaces", FLAG_STR, O(binding_excluded), .def = "kube-system",
      .help = "`namespaces` whose bindings are not checked" },
    { "binding-admission-bypass-labels", FLAG_STR, O(binding_bypass_labels),
      .def = "koordinator.sh/binding-admission-bypass",
      .help = "`keys`: pods with one of these labels are not checked" },
    { "binding-admission-bypass-annotations", FLAG_STR, O(binding_bypass_annotations),
      .help = "`keys`: pods with one of these annotations are not checked" },
    { "colocation-profile-reconcile-by-default", FLAG_BOOL, O(profiles.by_default),
      .help = "the controller colocationprofile applies all profiles to pods that wait for a node, "
              "not only those labelled config.koordinator.sh/controller-managed=true" },
    { "colocation-profile-reconcile-interval", FLAG_DUR, O(profiles.interval), .def = "30s",
      .min = NSEC_PER_SEC, .max = INT64_MAX, .help = "how often it looks at the pods" },
    { "colocation-profile-force-update-pod-duration", FLAG_DUR, O(profiles.again_after),
      .def = "5m", .min = 1, .max = INT64_MAX, .help = "apply a profile again after this time" },
    { "colocation-profile-expire-pod-cache-duration", FLAG_DUR, O(profiles.forget_after),
      .def = "10m", .min = 1, .max = INT64_MAX, .help = "remember pods for this time" },
    { "colocation-profile-update-pod-qps", FLAG_F64, O(profiles.qps), .def = "10",
      .help = "pods a second" },
    { "colocation-profile-update-pod-qps-burst", FLAG_INT, O(profiles.burst), .def = "100",
      .max = INT32_MAX, .help = "pods at once" },
    { "feature-gates", FLAG_CUSTOM, O(gates), .set = gates_set, .lines = gates_usage,
      .help = "`Name=true,...` switches features:" },
};
static const struct flag of_quotas[] = {
    { "quota-update-max-retries", FLAG_INT, O(charge_retries), .def = "3", .max = INT32_MAX,
      .help = "how often a charge of many pods is written again at once after a conflict; beyond "
              "that it is tried with pauses, until the request has waited 10 s" },
    { "quota-update-retry-jitter", FLAG_DUR, O(charge_jitter), .def = "0s", .max = INT64_MAX,
      .help = "longest pause before it" },
    { "quota-update-max-total-jitter", FLAG_DUR, O(charge_total_jitter), .def = "1s",
      .max = INT64_MAX, .help = "all these pauses together" },
    { "quota-update-conflict-fresh-get", FLAG_BOOL, FLAG_IGNORED,
      .help = "accepted; after a conflict the quota is always read from the API server" },
    { "disable-no-deepcopy", FLAG_BOOL, FLAG_IGNORED,
      .help = "accepted; objects in caches are never copied here" },
};
#undef O

/* ---- feature gates --------------------------------------------------------------------------- */

static const struct gate gates[] = {
    { "BindingAdmissionWebhook", false, GATE_ALPHA, false },
    { "ColocationProfileController", false, GATE_ALPHA, false },
    { "ColocationProfileSkipMutatingResources", false, GATE_ALPHA, false },
    { "ColocationProfileSkipValidatingPriority", false, GATE_ALPHA, false },
    { "ConfigMapValidatingWebhook", false, GATE_ALPHA, false },
    { "DisableDefaultQuota", false, GATE_ALPHA, false },
    { "DisableDeviceResourceSpec", false, GATE_ALPHA, false },
    { "DisableExtendedResourceSpec", false, GATE_ALPHA, false },
    { "DisablePVCReservation", false, GATE_BETA, false },
    { "ElasticMutatingWebhook", true, GATE_BETA, false },
    { "ElasticQuotaEnableUpdateResourceKey", false, GATE_ALPHA, false },
    { "ElasticQuotaEvaluationTransformPod", false, GATE_ALPHA, false },
    { "ElasticQuotaGuaranteeUsage", false, GATE_ALPHA, false },
    { "ElasticQuotaIgnorePodOverhead", false, GATE_ALPHA, false },
    { "ElasticValidatingWebhook", true, GATE_BETA, false },
    { "EnablePodEnhancedValidator", false, GATE_ALPHA, false },
    { "EnableQuotaAdmission", false, GATE_ALPHA, false },
    { "EnableQuotaAdmissionOnUpdate", false, GATE_ALPHA, false },
    { "EnableSyncGPUSharedResource", false, GATE_ALPHA, false },
    { "MultiQuotaTree", false, GATE_ALPHA, false },
    { "NodeMutatingWebhook", false, GATE_ALPHA, false },
    { "NodeValidatingWebhook", false, GATE_ALPHA, false },
    { "PodMutatingWebhook", true, GATE_BETA, false },
    { "PodValidatingWebhook", true, GATE_BETA, false },
    { "PreemptionPolicyTransformer", false, GATE_ALPHA, false },
    { "PriorityTransformer", false, GATE_ALPHA, false },
    { "ReplaceResourcesTransformer", false, GATE_ALPHA, false },
    { "ReservationMutatingWebhook", false, GATE_ALPHA, false },
    { "SupportParentQuotaSubmitPod", false, GATE_ALPHA, false },
    { "ValidatePodDeviceResource", false, GATE_ALPHA, false },
    { "WebhookFramework", true, GATE_BETA, false },
};

void manager_options_add(struct flags *f, void *options)
{
    struct manager_options *o = options;

    gates_init(&o->gates, gates, ARRAY_LEN(gates));
    flags_add(f, "Manager flags", served, ARRAY_LEN(served), o);
    client_options_add(f, &o->client);
    debug_options_add(f, &o->debug);
    flags_add(f, "Quota flags", of_quotas, ARRAY_LEN(of_quotas), o);
}

bool manager_gate_on(const struct manager_options *o, const char *gate)
{
    unsigned i = 0;

    while (i < ARRAY_LEN(gates) && !streq(gates[i].name, gate))
        i++;
    assert(i < ARRAY_LEN(gates));
    return gates_on(&o->gates, i);
}

static bool gate_has_effect(const char *name)
{
    if (streq(name, "EnableSyncGPUSharedResource") || streq(name, "WebhookFramework") ||
        streq(name, "ColocationProfileController"))
        return true;
    for (size_t i = 0; i < WEBHOOK_GATES; i++)
        if (streq(name, webhook_gate_names[i]))
            return true;
    return false;
}

void manager_options_warn(const struct manager_options *o)
{
    for (unsigned i = 0; i < ARRAY_LEN(gates); i++)
        if (gates_given(&o->gates, i) && gates_on(&o->gates, i) != gates[i].def &&
            !gate_has_effect(gates[i].name))
            KLOG_W("Feature gate is accepted and has no effect yet", KV_S("gate", gates[i].name));
}

/* ---- lists of names -------------------------------------------------------------------------- */

static bool is_known(const char *word, const char *const *names)
{
    if (streq(word, "*"))
        return true;
    word += *word == '-';
    for (; *names; names++)
        if (streq(word, *names))
            return true;
    return false;
}

static bool is_enabled(const struct flag_list *l, const char *name)
{
    bool star = false;

    for (size_t i = 0; i < l->n; i++) {
        const char *word = l->items[i];
        if (streq(word, name))
            return true;
        if (*word == '-' && streq(word + 1, name))
            return false;
        star |= streq(word, "*");
    }
    return star;
}

unsigned names_enabled(const struct flag_list *l, const char *const *names,
                       const char **ret_unknown)
{
    unsigned bits = 0;

    *ret_unknown = NULL;
    for (size_t i = 0; i < l->n; i++)
        if (!*ret_unknown && !is_known(l->items[i], names))
            *ret_unknown = l->items[i];
    for (size_t i = 0; names[i]; i++)
        bits |= (unsigned)is_enabled(l, names[i]) << i;
    return bits;
}
