/* core_pod.c - core/v1: pods and pod templates. */
#include "api/qos.h"
#include "apiserver/schema/tables.h"

const char *const protocol_values[] = { "TCP", "UDP", "SCTP", NULL };
static const struct t_field core_container_port_fields[] = {
    F("name", T_STR, 0),
    F("hostPort", T_I32, 0),
    F("containerPort", T_I32, T_REQ | T_EMIT),
    ENUM("protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F("hostIP", T_STR, 0),
    END,
};
static TYPE(core_container_port, "io.k8s.api.core.v1.ContainerPort");

static const struct t_field core_config_map_env_source_fields[] = {
    F("name", T_STR, 0),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_env_source, "io.k8s.api.core.v1.ConfigMapEnvSource");

static const struct t_field core_secret_env_source_fields[] = {
    F("name", T_STR, 0),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_env_source, "io.k8s.api.core.v1.SecretEnvSource");

static const struct t_field core_env_from_source_fields[] = {
    F("prefix", T_STR, 0),
    OBJ("configMapRef", core_config_map_env_source, T_PTR),
    OBJ("secretRef", core_secret_env_source, T_PTR),
    END,
};
static TYPE(core_env_from_source, "io.k8s.api.core.v1.EnvFromSource");

static const struct t_field core_config_map_key_selector_fields[] = {
    F("name", T_STR, 0),
    F("key", T_STR, T_REQ | T_EMIT),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_key_selector, "io.k8s.api.core.v1.ConfigMapKeySelector");

static const struct t_field core_secret_key_selector_fields[] = {
    F("name", T_STR, 0),
    F("key", T_STR, T_REQ | T_EMIT),
    F("optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_key_selector, "io.k8s.api.core.v1.SecretKeySelector");

static const struct t_field core_file_key_selector_fields[] = {
    F("volumeName", T_STR, T_REQ | T_EMIT),
    F("path", T_STR, T_REQ | T_EMIT),
    F("key", T_STR, T_REQ | T_EMIT),
    F("optional", T_BOOL, T_PTR, DEF("false")),
    END,
};
static TYPE(core_file_key_selector, "io.k8s.api.core.v1.FileKeySelector");

static const struct t_field core_env_var_source_fields[] = {
    OBJ("fieldRef", core_object_field_selector, T_PTR),
    OBJ("resourceFieldRef", core_resource_field_selector, T_PTR),
    OBJ("configMapKeyRef", core_config_map_key_selector, T_PTR),
    OBJ("secretKeyRef", core_secret_key_selector, T_PTR),
    OBJ("fileKeyRef", core_file_key_selector, T_PTR),
    END,
};
static TYPE(core_env_var_source, "io.k8s.api.core.v1.EnvVarSource");

static const struct t_field core_env_var_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("value", T_STR, 0),
    OBJ("valueFrom", core_env_var_source, T_PTR),
    END,
};
static TYPE(core_env_var, "io.k8s.api.core.v1.EnvVar");

static const struct t_field core_resource_claim_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("request", T_STR, 0),
    END,
};
static TYPE(core_resource_claim, "io.k8s.api.core.v1.ResourceClaim");

static const struct t_field core_resource_requirements_fields[] = {
    MAP("limits", T_QTY, 0, GO("v1.ResourceList")),
    MAP("requests", T_QTY, 0, GO("v1.ResourceList")),
    OBJS("claims", core_resource_claim, T_KEY | T_REPLACE, KEYS("name")),
    END,
};
static TYPE(core_resource_requirements, "io.k8s.api.core.v1.ResourceRequirements");

static const struct t_field core_container_resize_policy_fields[] = {
    F("resourceName", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F("restartPolicy", T_STR, T_REQ | T_EMIT, GO("v1.ResourceResizeRestartPolicy")),
    END,
};
static TYPE(core_container_resize_policy, "io.k8s.api.core.v1.ContainerResizePolicy");

static const struct t_field core_container_restart_rule_on_exit_codes_fields[] = {
    F("operator", T_STR, T_REQ, GO("v1.ContainerRestartRuleOnExitCodesOperator")),
    LIST("values", T_I32, T_SET | T_REPLACE),
    END,
};
static TYPE(core_container_restart_rule_on_exit_codes,
            "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes");

static const struct t_field core_container_restart_rule_fields[] = {
    F("action", T_STR, T_REQ, GO("v1.ContainerRestartRuleAction")),
    OBJ("exitCodes", core_container_restart_rule_on_exit_codes, T_PTR),
    END,
};
static TYPE(core_container_restart_rule, "io.k8s.api.core.v1.ContainerRestartRule");

static const char *const mount_propagation_mode_values[] = { "None", "HostToContainer",
                                                             "Bidirectional", NULL };
static const struct t_field core_volume_mount_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("recursiveReadOnly", T_STR, T_PTR, GO("v1.RecursiveReadOnlyMode")),
    F("mountPath", T_STR, T_REQ | T_EMIT),
    F("subPath", T_STR, 0),
    ENUM("mountPropagation", mount_propagation_mode_values, "v1.MountPropagationMode", T_PTR),
    F("subPathExpr", T_STR, 0),
    END,
};
static TYPE(core_volume_mount, "io.k8s.api.core.v1.VolumeMount");

static const struct t_field core_volume_device_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("devicePath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_volume_device, "io.k8s.api.core.v1.VolumeDevice");

static const struct t_field core_exec_action_fields[] = {
    LIST("command", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_exec_action, "io.k8s.api.core.v1.ExecAction");

static const struct t_field core_http_header_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("value", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_http_header, "io.k8s.api.core.v1.HTTPHeader");

static const char *const uri_scheme_values[] = { "HTTP", "HTTPS", NULL };
static const struct t_field core_http_get_action_fields[] = {
    F("path", T_STR, 0, DEF("\"/\"")),
    F("port", T_IOS, T_REQ | T_EMIT),
    F("host", T_STR, 0),
    ENUM("scheme", uri_scheme_values, "v1.URIScheme", 0, DEF("\"HTTP\"")),
    OBJS("httpHeaders", core_http_header, T_ATOMIC),
    END,
};
static TYPE(core_http_get_action, "io.k8s.api.core.v1.HTTPGetAction");

static const struct t_field core_tcp_socket_action_fields[] = {
    F("port", T_IOS, T_REQ | T_EMIT),
    F("host", T_STR, 0),
    END,
};
static TYPE(core_tcp_socket_action, "io.k8s.api.core.v1.TCPSocketAction");

static const struct t_field core_grpc_action_fields[] = {
    F("port", T_I32, T_REQ | T_EMIT),
    F("service", T_STR, T_PTR | T_EMIT),
    END,
};
static TYPE(core_grpc_action, "io.k8s.api.core.v1.GRPCAction");

static const struct t_field core_probe_fields[] = {
    OBJ("exec", core_exec_action, T_PTR),
    OBJ("httpGet", core_http_get_action, T_PTR),
    OBJ("tcpSocket", core_tcp_socket_action, T_PTR),
    OBJ("grpc", core_grpc_action, T_PTR),
    F("initialDelaySeconds", T_I32, 0),
    F("timeoutSeconds", T_I32, 0, DEF("1")),
    F("periodSeconds", T_I32, 0, DEF("10")),
    F("successThreshold", T_I32, 0, DEF("1")),
    F("failureThreshold", T_I32, 0, DEF("3")),
    F("terminationGracePeriodSeconds", T_I64, T_PTR),
    END,
};
static TYPE(core_probe, "io.k8s.api.core.v1.Probe");

static const struct t_field core_sleep_action_fields[] = {
    F("seconds", T_I64, T_REQ | T_EMIT),
    END,
};
static TYPE(core_sleep_action, "io.k8s.api.core.v1.SleepAction");

static const struct t_field core_lifecycle_handler_fields[] = {
    OBJ("exec", core_exec_action, T_PTR),
    OBJ("httpGet", core_http_get_action, T_PTR),
    OBJ("tcpSocket", core_tcp_socket_action, T_PTR),
    OBJ("sleep", core_sleep_action, T_PTR),
    END,
};
static TYPE(core_lifecycle_handler, "io.k8s.api.core.v1.LifecycleHandler");

static const char *const signal_values[] = {
    "SIGABRT",     "SIGALRM",     "SIGBUS",      "SIGCHLD",     "SIGCLD",      "SIGCONT",
    "SIGFPE",      "SIGHUP",      "SIGILL",      "SIGINT",      "SIGIO",       "SIGIOT",
    "SIGKILL",     "SIGPIPE",     "SIGPOLL",     "SIGPROF",     "SIGPWR",      "SIGQUIT",
    "SIGSEGV",     "SIGSTKFLT",   "SIGSTOP",     "SIGSYS",      "SIGTERM",     "SIGTRAP",
    "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGUSR1",     "SIGUSR2",
    "SIGVTALRM",   "SIGWINCH",    "SIGXCPU",     "SIGXFSZ",     "SIGRTMIN",    "SIGRTMIN+1",
    "SIGRTMIN+2",  "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",
    "SIGRTMIN+8",  "SIGRTMIN+9",  "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13",
    "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMAX-14", "SIGRTMAX-13", "SIGRTMAX-12", "SIGRTMAX-11",
    "SIGRTMAX-10", "SIGRTMAX-9",  "SIGRTMAX-8",  "SIGRTMAX-7",  "SIGRTMAX-6",  "SIGRTMAX-5",
    "SIGRTMAX-4",  "SIGRTMAX-3",  "SIGRTMAX-2",  "SIGRTMAX-1",  "SIGRTMAX",    NULL
};
static const struct t_field core_lifecycle_fields[] = {
    OBJ("postStart", core_lifecycle_handler, T_PTR),
    OBJ("preStop", core_lifecycle_handler, T_PTR),
    ENUM("stopSignal", signal_values, "v1.Signal", T_PTR),
    END,
};
static TYPE(core_lifecycle, "io.k8s.api.core.v1.Lifecycle");

static const struct t_field core_capabilities_fields[] = {
    LIST("add", T_STR, T_ATOMIC, GO("v1.Capability")),
    LIST("drop", T_STR, T_ATOMIC, GO("v1.Capability")),
    END,
};
static TYPE(core_capabilities, "io.k8s.api.core.v1.Capabilities");

static const struct t_field core_se_linux_options_fields[] = {
    F("user", T_STR, 0), F("role", T_STR, 0), F("type", T_STR, 0), F("level", T_STR, 0), END,
};
static TYPE(core_se_linux_options, "io.k8s.api.core.v1.SELinuxOptions");

static const struct t_field core_windows_security_context_options_fields[] = {
    F("gmsaCredentialSpecName", T_STR, T_PTR),
    F("gmsaCredentialSpec", T_STR, T_PTR),
    F("runAsUserName", T_STR, T_PTR),
    F("hostProcess", T_BOOL, T_PTR),
    END,
};
static TYPE(core_windows_security_context_options,
            "io.k8s.api.core.v1.WindowsSecurityContextOptions");

static const char *const seccomp_profile_type_values[] = { "Unconfined", "RuntimeDefault",
                                                           "Localhost", NULL };
static const struct t_field core_seccomp_profile_fields[] = {
    ENUM("type", seccomp_profile_type_values, "v1.SeccompProfileType", T_REQ | T_EMIT),
    F("localhostProfile", T_STR, T_PTR),
    END,
};
static TYPE(core_seccomp_profile, "io.k8s.api.core.v1.SeccompProfile");

static const char *const app_armor_profile_type_values[] = { "Unconfined", "RuntimeDefault",
                                                             "Localhost", NULL };
static const struct t_field core_app_armor_profile_fields[] = {
    ENUM("type", app_armor_profile_type_values, "v1.AppArmorProfileType", T_REQ | T_EMIT),
    F("localhostProfile", T_STR, T_PTR),
    END,
};
static TYPE(core_app_armor_profile, "io.k8s.api.core.v1.AppArmorProfile");

static const char *const proc_mount_type_values[] = { "Default", "Unmasked", NULL };
static const struct t_field core_security_context_fields[] = {
    OBJ("capabilities", core_capabilities, T_PTR),
    F("privileged", T_BOOL, T_PTR),
    OBJ("seLinuxOptions", core_se_linux_options, T_PTR),
    OBJ("windowsOptions", core_windows_security_context_options, T_PTR),
    F("runAsUser", T_I64, T_PTR),
    F("runAsGroup", T_I64, T_PTR),
    F("runAsNonRoot", T_BOOL, T_PTR),
    F("readOnlyRootFilesystem", T_BOOL, T_PTR),
    F("allowPrivilegeEscalation", T_BOOL, T_PTR),
    ENUM("procMount", proc_mount_type_values, "v1.ProcMountType", T_PTR),
    OBJ("seccompProfile", core_seccomp_profile, T_PTR),
    OBJ("appArmorProfile", core_app_armor_profile, T_PTR),
    END,
};
static TYPE(core_security_context, "io.k8s.api.core.v1.SecurityContext");

static const char *const termination_message_policy_values[] = { "File", "FallbackToLogsOnError",
                                                                 NULL };
static const struct t_field core_container_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("image", T_STR, 0),
    LIST("command", T_STR, T_ATOMIC),
    LIST("args", T_STR, T_ATOMIC),
    F("workingDir", T_STR, 0),
    OBJS("ports", core_container_port, T_KEY, KEYS("containerPort,protocol")),
    OBJS("envFrom", core_env_from_source, T_ATOMIC),
    OBJS("env", core_env_var, T_KEY, KEYS("name")),
    OBJ("resources", core_resource_requirements, T_EMIT),
    OBJS("resizePolicy", core_container_resize_policy, T_ATOMIC),
    F("restartPolicy", T_STR, T_PTR, GO("v1.ContainerRestartPolicy")),
    OBJS("restartPolicyRules", core_container_restart_rule, T_ATOMIC),
    OBJS("volumeMounts", core_volume_mount, T_KEY, KEYS("mountPath")),
    OBJS("volumeDevices", core_volume_device, T_KEY, KEYS("devicePath")),
    OBJ("livenessProbe", core_probe, T_PTR),
    OBJ("readinessProbe", core_probe, T_PTR),
    OBJ("startupProbe", core_probe, T_PTR),
    OBJ("lifecycle", core_lifecycle, T_PTR),
    F("terminationMessagePath", T_STR, 0, DEF("\"/dev/termination-log\"")),
    ENUM("terminationMessagePolicy", termination_message_policy_values,
         "v1.TerminationMessagePolicy", 0, DEF("\"File\"")),
    ENUM("imagePullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    OBJ("securityContext", core_security_context, T_PTR),
    F("stdin", T_BOOL, 0),
    F("stdinOnce", T_BOOL, 0),
    F("tty", T_BOOL, 0),
    END,
};
static TYPE(core_container, "io.k8s.api.core.v1.Container");

static const struct t_field core_ephemeral_container_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("image", T_STR, 0),
    LIST("command", T_STR, T_ATOMIC),
    LIST("args", T_STR, T_ATOMIC),
    F("workingDir", T_STR, 0),
    OBJS("ports", core_container_port, T_KEY, KEYS("containerPort,protocol")),
    OBJS("envFrom", core_env_from_source, T_ATOMIC),
    OBJS("env", core_env_var, T_KEY, KEYS("name")),
    OBJ("resources", core_resource_requirements, T_EMIT),
    OBJS("resizePolicy", core_container_resize_policy, T_ATOMIC),
    F("restartPolicy", T_STR, T_PTR, GO("v1.ContainerRestartPolicy")),
    OBJS("restartPolicyRules", core_container_restart_rule, T_ATOMIC),
    OBJS("volumeMounts", core_volume_mount, T_KEY, KEYS("mountPath")),
    OBJS("volumeDevices", core_volume_device, T_KEY, KEYS("devicePath")),
    OBJ("livenessProbe", core_probe, T_PTR),
    OBJ("readinessProbe", core_probe, T_PTR),
    OBJ("startupProbe", core_probe, T_PTR),
    OBJ("lifecycle", core_lifecycle, T_PTR),
    F("terminationMessagePath", T_STR, 0, DEF("\"/dev/termination-log\"")),
    ENUM("terminationMessagePolicy", termination_message_policy_values,
         "v1.TerminationMessagePolicy", 0, DEF("\"File\"")),
    ENUM("imagePullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    OBJ("securityContext", core_security_context, T_PTR),
    F("stdin", T_BOOL, 0),
    F("stdinOnce", T_BOOL, 0),
    F("tty", T_BOOL, 0),
    F("targetContainerName", T_STR, 0),
    END,
};
static TYPE(core_ephemeral_container, "io.k8s.api.core.v1.EphemeralContainer");

static const struct t_field core_sysctl_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("value", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_sysctl, "io.k8s.api.core.v1.Sysctl");

static const char *const supplemental_groups_policy_values[] = { "Merge", "Strict", NULL };
static const char *const pod_fs_group_change_policy_values[] = { "OnRootMismatch", "Always", NULL };
static const struct t_field core_pod_security_context_fields[] = {
    OBJ("seLinuxOptions", core_se_linux_options, T_PTR),
    OBJ("windowsOptions", core_windows_security_context_options, T_PTR),
    F("runAsUser", T_I64, T_PTR),
    F("runAsGroup", T_I64, T_PTR),
    F("runAsNonRoot", T_BOOL, T_PTR),
    LIST("supplementalGroups", T_I64, T_ATOMIC),
    ENUM("supplementalGroupsPolicy", supplemental_groups_policy_values,
         "v1.SupplementalGroupsPolicy", T_PTR),
    F("fsGroup", T_I64, T_PTR),
    OBJS("sysctls", core_sysctl, T_ATOMIC),
    ENUM("fsGroupChangePolicy", pod_fs_group_change_policy_values, "v1.PodFSGroupChangePolicy",
         T_PTR),
    OBJ("seccompProfile", core_seccomp_profile, T_PTR),
    OBJ("appArmorProfile", core_app_armor_profile, T_PTR),
    F("seLinuxChangePolicy", T_STR, T_PTR, GO("v1.PodSELinuxChangePolicy")),
    END,
};
static TYPE(core_pod_security_context, "io.k8s.api.core.v1.PodSecurityContext");

static const struct t_field core_preferred_scheduling_term_fields[] = {
    F("weight", T_I32, T_REQ | T_EMIT),
    OBJ("preference", core_node_selector_term, T_REQ | T_EMIT),
    END,
};
static TYPE(core_preferred_scheduling_term, "io.k8s.api.core.v1.PreferredSchedulingTerm");

static const struct t_field core_node_affinity_fields[] = {
    OBJ("requiredDuringSchedulingIgnoredDuringExecution", core_node_selector, T_PTR),
    OBJS("preferredDuringSchedulingIgnoredDuringExecution", core_preferred_scheduling_term,
         T_ATOMIC),
    END,
};
static TYPE(core_node_affinity, "io.k8s.api.core.v1.NodeAffinity");

static const struct t_field core_pod_affinity_term_fields[] = {
    OBJ("labelSelector", meta_label_selector, T_PTR),
    LIST("namespaces", T_STR, T_ATOMIC),
    F("topologyKey", T_STR, T_REQ | T_EMIT),
    OBJ("namespaceSelector", meta_label_selector, T_PTR),
    LIST("matchLabelKeys", T_STR, T_ATOMIC),
    LIST("mismatchLabelKeys", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_pod_affinity_term, "io.k8s.api.core.v1.PodAffinityTerm");

static const struct t_field core_weighted_pod_affinity_term_fields[] = {
    F("weight", T_I32, T_REQ | T_EMIT),
    OBJ("podAffinityTerm", core_pod_affinity_term, T_REQ | T_EMIT),
    END,
};
static TYPE(core_weighted_pod_affinity_term, "io.k8s.api.core.v1.WeightedPodAffinityTerm");

static const struct t_field core_pod_affinity_fields[] = {
    OBJS("requiredDuringSchedulingIgnoredDuringExecution", core_pod_affinity_term, T_ATOMIC),
    OBJS("preferredDuringSchedulingIgnoredDuringExecution", core_weighted_pod_affinity_term,
         T_ATOMIC),
    END,
};
static TYPE(core_pod_affinity, "io.k8s.api.core.v1.PodAffinity");

static const struct t_field core_pod_anti_affinity_fields[] = {
    OBJS("requiredDuringSchedulingIgnoredDuringExecution", core_pod_affinity_term, T_ATOMIC),
    OBJS("preferredDuringSchedulingIgnoredDuringExecution", core_weighted_pod_affinity_term,
         T_ATOMIC),
    END,
};
static TYPE(core_pod_anti_affinity, "io.k8s.api.core.v1.PodAntiAffinity");

static const struct t_field core_affinity_fields[] = {
    OBJ("nodeAffinity", core_node_affinity, T_PTR),
    OBJ("podAffinity", core_pod_affinity, T_PTR),
    OBJ("podAntiAffinity", core_pod_anti_affinity, T_PTR),
    END,
};
static TYPE(core_affinity, "io.k8s.api.core.v1.Affinity");

static const char *const toleration_operator_values[] = { "Exists", "Equal", "Lt", "Gt", NULL };
const char *const taint_effect_values[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };
static const struct t_field core_toleration_fields[] = {
    F("key", T_STR, 0),
    ENUM("operator", toleration_operator_values, "v1.TolerationOperator", 0),
    F("value", T_STR, 0),
    ENUM("effect", taint_effect_values, "v1.TaintEffect", 0),
    F("tolerationSeconds", T_I64, T_PTR),
    END,
};
static TYPE(core_toleration, "io.k8s.api.core.v1.Toleration");

static const struct t_field core_host_alias_fields[] = {
    F("ip", T_STR, T_REQ | T_EMIT),
    LIST("hostnames", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_host_alias, "io.k8s.api.core.v1.HostAlias");

static const struct t_field core_pod_dns_config_option_fields[] = {
    F("name", T_STR, 0),
    F("value", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_dns_config_option, "io.k8s.api.core.v1.PodDNSConfigOption");

static const struct t_field core_pod_dns_config_fields[] = {
    LIST("nameservers", T_STR, T_ATOMIC),
    LIST("searches", T_STR, T_ATOMIC),
    OBJS("options", core_pod_dns_config_option, T_ATOMIC),
    END,
};
static TYPE(core_pod_dns_config, "io.k8s.api.core.v1.PodDNSConfig");

static const struct t_field core_pod_readiness_gate_fields[] = {
    F("conditionType", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    END,
};
static TYPE(core_pod_readiness_gate, "io.k8s.api.core.v1.PodReadinessGate");

static const char *const unsatisfiable_constraint_action_values[] = { "DoNotSchedule",
                                                                      "ScheduleAnyway", NULL };
static const char *const node_inclusion_policy_values[] = { "Ignore", "Honor", NULL };
static const struct t_field core_topology_spread_constraint_fields[] = {
    F("maxSkew", T_I32, T_REQ | T_EMIT),
    F("topologyKey", T_STR, T_REQ | T_EMIT),
    ENUM("whenUnsatisfiable", unsatisfiable_constraint_action_values,
         "v1.UnsatisfiableConstraintAction", T_REQ | T_EMIT),
    OBJ("labelSelector", meta_label_selector, T_PTR),
    F("minDomains", T_I32, T_PTR),
    ENUM("nodeAffinityPolicy", node_inclusion_policy_values, "v1.NodeInclusionPolicy", T_PTR),
    ENUM("nodeTaintsPolicy", node_inclusion_policy_values, "v1.NodeInclusionPolicy", T_PTR),
    LIST("matchLabelKeys", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_topology_spread_constraint, "io.k8s.api.core.v1.TopologySpreadConstraint");

static const struct t_field core_pod_os_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT, GO("v1.OSName")),
    END,
};
static TYPE(core_pod_os, "io.k8s.api.core.v1.PodOS");

static const struct t_field core_pod_scheduling_gate_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_scheduling_gate, "io.k8s.api.core.v1.PodSchedulingGate");

static const struct t_field core_pod_resource_claim_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("resourceClaimName", T_STR, T_PTR),
    F("resourceClaimTemplateName", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_resource_claim, "io.k8s.api.core.v1.PodResourceClaim");

static const struct t_field core_workload_reference_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("podGroup", T_STR, T_REQ | T_EMIT),
    F("podGroupReplicaKey", T_STR, 0),
    END,
};
static TYPE(core_workload_reference, "io.k8s.api.core.v1.WorkloadReference");

static const char *const restart_policy_values[] = { "Always", "OnFailure", "Never", NULL };
static const char *const dns_policy_values[] = { "ClusterFirstWithHostNet", "ClusterFirst",
                                                 "Default", "None", NULL };
const char *const preemption_policy_values[] = { "PreemptLowerPriority", "Never", NULL };
static const struct t_field core_pod_spec_fields[] = {
    OBJS("volumes", core_volume, T_RETAIN | T_KEY, KEYS("name")),
    OBJS("initContainers", core_container, T_KEY, KEYS("name")),
    OBJS("containers", core_container, T_REQ | T_EMIT | T_KEY, KEYS("name")),
    OBJS("ephemeralContainers", core_ephemeral_container, T_KEY, KEYS("name")),
    ENUM("restartPolicy", restart_policy_values, "v1.RestartPolicy", 0, DEF("\"Always\"")),
    F("terminationGracePeriodSeconds", T_I64, T_PTR, DEF("30")),
    F("activeDeadlineSeconds", T_I64, T_PTR),
    ENUM("dnsPolicy", dns_policy_values, "v1.DNSPolicy", 0, DEF("\"ClusterFirst\"")),
    MAP("nodeSelector", T_STR, T_ATOMIC),
    F("serviceAccountName", T_STR, 0),
    F("serviceAccount", T_STR, 0),
    F("automountServiceAccountToken", T_BOOL, T_PTR),
    F("nodeName", T_STR, 0),
    F("hostNetwork", T_BOOL, 0),
    F("hostPID", T_BOOL, 0),
    F("hostIPC", T_BOOL, 0),
    F("shareProcessNamespace", T_BOOL, T_PTR),
    OBJ("securityContext", core_pod_security_context, T_PTR, DEF("{}")),
    OBJS("imagePullSecrets", core_local_object_reference, T_KEY, KEYS("name")),
    F("hostname", T_STR, 0),
    F("subdomain", T_STR, 0),
    OBJ("affinity", core_affinity, T_PTR),
    F("schedulerName", T_STR, 0, DEF("\"default-scheduler\"")),
    OBJS("tolerations", core_toleration, T_ATOMIC),
    OBJS("hostAliases", core_host_alias, T_KEY, KEYS("ip")),
    F("priorityClassName", T_STR, 0),
    F("priority", T_I32, T_PTR),
    OBJ("dnsConfig", core_pod_dns_config, T_PTR),
    OBJS("readinessGates", core_pod_readiness_gate, T_ATOMIC),
    F("runtimeClassName", T_STR, T_PTR),
    F("enableServiceLinks", T_BOOL, T_PTR),
    ENUM("preemptionPolicy", preemption_policy_values, "v1.PreemptionPolicy", T_PTR),
    MAP("overhead", T_QTY, 0, GO("v1.ResourceList")),
    OBJS("topologySpreadConstraints", core_topology_spread_constraint, T_KEY,
         KEYS("topologyKey,whenUnsatisfiable")),
    F("setHostnameAsFQDN", T_BOOL, T_PTR),
    OBJ("os", core_pod_os, T_PTR),
    F("hostUsers", T_BOOL, T_PTR),
    OBJS("schedulingGates", core_pod_scheduling_gate, T_KEY, KEYS("name")),
    OBJS("resourceClaims", core_pod_resource_claim, T_RETAIN | T_KEY, KEYS("name")),
    OBJ("resources", core_resource_requirements, T_PTR),
    F("hostnameOverride", T_STR, T_PTR),
    OBJ("workloadRef", core_workload_reference, T_PTR),
    END,
};
static TYPE(core_pod_spec, "io.k8s.api.core.v1.PodSpec");

static const struct t_field core_pod_condition_fields[] = {
    F("type", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    F("observedGeneration", T_I64, 0),
    F("status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F("lastProbeTime", T_TIME, T_EMIT),
    F("lastTransitionTime", T_TIME, T_EMIT),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(core_pod_condition, "io.k8s.api.core.v1.PodCondition");

static const struct t_field core_host_ip_fields[] = {
    F("ip", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_host_ip, "io.k8s.api.core.v1.HostIP");

static const struct t_field core_pod_ip_fields[] = {
    F("ip", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_ip, "io.k8s.api.core.v1.PodIP");

static const struct t_field core_container_state_waiting_fields[] = {
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    END,
};
static TYPE(core_container_state_waiting, "io.k8s.api.core.v1.ContainerStateWaiting");

static const struct t_field core_container_state_running_fields[] = {
    F("startedAt", T_TIME, T_EMIT),
    END,
};
static TYPE(core_container_state_running, "io.k8s.api.core.v1.ContainerStateRunning");

static const struct t_field core_container_state_terminated_fields[] = {
    F("exitCode", T_I32, T_REQ | T_EMIT),
    F("signal", T_I32, 0),
    F("reason", T_STR, 0),
    F("message", T_STR, 0),
    F("startedAt", T_TIME, T_EMIT),
    F("finishedAt", T_TIME, T_EMIT),
    F("containerID", T_STR, 0),
    END,
};
static TYPE(core_container_state_terminated, "io.k8s.api.core.v1.ContainerStateTerminated");

static const struct t_field core_container_state_fields[] = {
    OBJ("waiting", core_container_state_waiting, T_PTR),
    OBJ("running", core_container_state_running, T_PTR),
    OBJ("terminated", core_container_state_terminated, T_PTR),
    END,
};
static TYPE(core_container_state, "io.k8s.api.core.v1.ContainerState");

static const struct t_field core_volume_mount_status_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("mountPath", T_STR, T_REQ | T_EMIT),
    F("readOnly", T_BOOL, 0),
    F("recursiveReadOnly", T_STR, T_PTR, GO("v1.RecursiveReadOnlyMode")),
    END,
};
static TYPE(core_volume_mount_status, "io.k8s.api.core.v1.VolumeMountStatus");

static const struct t_field core_linux_container_user_fields[] = {
    F("uid", T_I64, T_REQ | T_EMIT),
    F("gid", T_I64, T_REQ | T_EMIT),
    LIST("supplementalGroups", T_I64, T_ATOMIC),
    END,
};
static TYPE(core_linux_container_user, "io.k8s.api.core.v1.LinuxContainerUser");

static const struct t_field core_container_user_fields[] = {
    OBJ("linux", core_linux_container_user, T_PTR),
    END,
};
static TYPE(core_container_user, "io.k8s.api.core.v1.ContainerUser");

static const struct t_field core_resource_health_fields[] = {
    F("resourceID", T_STR, T_REQ | T_EMIT, GO("v1.ResourceID")),
    F("health", T_STR, 0, GO("v1.ResourceHealthStatus")),
    END,
};
static TYPE(core_resource_health, "io.k8s.api.core.v1.ResourceHealth");

static const struct t_field core_resource_status_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJS("resources", core_resource_health, T_KEY | T_REPLACE, KEYS("resourceID")),
    END,
};
static TYPE(core_resource_status, "io.k8s.api.core.v1.ResourceStatus");

static const struct t_field core_container_status_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    OBJ("state", core_container_state, T_EMIT),
    OBJ("lastState", core_container_state, T_EMIT),
    F("ready", T_BOOL, T_REQ | T_EMIT),
    F("restartCount", T_I32, T_REQ | T_EMIT),
    F("image", T_STR, T_REQ | T_EMIT),
    F("imageID", T_STR, T_REQ | T_EMIT),
    F("containerID", T_STR, 0),
    F("started", T_BOOL, T_PTR),
    MAP("allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    OBJ("resources", core_resource_requirements, T_PTR),
    OBJS("volumeMounts", core_volume_mount_status, T_KEY, KEYS("mountPath")),
    OBJ("user", core_container_user, T_PTR),
    OBJS("allocatedResourcesStatus", core_resource_status, T_KEY, KEYS("name")),
    ENUM("stopSignal", signal_values, "v1.Signal", T_PTR),
    END,
};
static TYPE(core_container_status, "io.k8s.api.core.v1.ContainerStatus");

static const struct t_field core_pod_resource_claim_status_fields[] = {
    F("name", T_STR, T_REQ | T_EMIT),
    F("resourceClaimName", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_resource_claim_status, "io.k8s.api.core.v1.PodResourceClaimStatus");

static const struct t_field core_container_extended_resource_request_fields[] = {
    F("containerName", T_STR, T_REQ | T_EMIT),
    F("resourceName", T_STR, T_REQ | T_EMIT),
    F("requestName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_container_extended_resource_request,
            "io.k8s.api.core.v1.ContainerExtendedResourceRequest");

static const struct t_field core_pod_extended_resource_claim_status_fields[] = {
    OBJS("requestMappings", core_container_extended_resource_request, T_REQ | T_EMIT | T_ATOMIC),
    F("resourceClaimName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_extended_resource_claim_status,
            "io.k8s.api.core.v1.PodExtendedResourceClaimStatus");

static const char *const pod_phase_values[] = { "Pending", "Running", "Succeeded",
                                                "Failed",  "Unknown", NULL };
static const struct t_field core_pod_status_fields[] = {
    F("observedGeneration", T_I64, 0),
    ENUM("phase", pod_phase_values, "v1.PodPhase", 0),
    OBJS("conditions", core_pod_condition, T_KEY, KEYS("type")),
    F("message", T_STR, 0),
    F("reason", T_STR, 0),
    F("nominatedNodeName", T_STR, 0),
    F("hostIP", T_STR, 0),
    OBJS("hostIPs", core_host_ip, T_KEY | T_ATOMIC, KEYS("ip")),
    F("podIP", T_STR, 0),
    OBJS("podIPs", core_pod_ip, T_KEY, KEYS("ip")),
    F("startTime", T_TIME, T_PTR),
    OBJS("initContainerStatuses", core_container_status, T_ATOMIC),
    OBJS("containerStatuses", core_container_status, T_ATOMIC),
    ENUM("qosClass", kube_qos_names + 1, "v1.PodQOSClass", 0),
    OBJS("ephemeralContainerStatuses", core_container_status, T_ATOMIC),
    F("resize", T_STR, 0, GO("v1.PodResizeStatus")),
    OBJS("resourceClaimStatuses", core_pod_resource_claim_status, T_RETAIN | T_KEY, KEYS("name")),
    OBJ("extendedResourceClaimStatus", core_pod_extended_resource_claim_status, T_PTR),
    MAP("allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    OBJ("resources", core_resource_requirements, T_PTR),
    END,
};
static TYPE(core_pod_status, "io.k8s.api.core.v1.PodStatus");

static const struct t_field core_pod_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_pod_spec, T_EMIT),
    OBJ("status", core_pod_status, T_EMIT),
    END,
};
TYPE(core_pod, "io.k8s.api.core.v1.Pod");

static const struct t_field core_pod_template_spec_fields[] = {
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("spec", core_pod_spec, T_EMIT),
    END,
};
TYPE(core_pod_template_spec, "io.k8s.api.core.v1.PodTemplateSpec");

static const struct t_field core_pod_template_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("template", core_pod_template_spec, T_EMIT),
    END,
};
TYPE(core_pod_template, "io.k8s.api.core.v1.PodTemplate");

static const struct t_field core_binding_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    OBJ("target", core_object_reference, T_REQ | T_EMIT),
    END,
};
TYPE(core_binding, "io.k8s.api.core.v1.Binding");
