/* core_pod.c - core/v1: pods and pod templates. */
#include "api/qos.h"
#include "apiserver/schema/tables.h"

const char *const protocol_values[] = { "TCP", "UDP", "SCTP", NULL };
static const struct t_field core_container_port_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "hostPort", T_I32, 0),
    F(3, "containerPort", T_I32, T_REQ | T_EMIT),
    ENUM(4, "protocol", protocol_values, "v1.Protocol", 0, DEF("\"TCP\"")),
    F(5, "hostIP", T_STR, 0),
    END,
};
static TYPE(core_container_port, "io.k8s.api.core.v1.ContainerPort");

static const struct t_field core_config_map_env_source_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    F(2, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_config_map_env_source, "io.k8s.api.core.v1.ConfigMapEnvSource");

static const struct t_field core_secret_env_source_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    F(2, "optional", T_BOOL, T_PTR),
    END,
};
static TYPE(core_secret_env_source, "io.k8s.api.core.v1.SecretEnvSource");

static const struct t_field core_env_from_source_fields[] = {
    F(1, "prefix", T_STR, 0),
    OBJ(2, "configMapRef", core_config_map_env_source, T_PTR),
    OBJ(3, "secretRef", core_secret_env_source, T_PTR),
    END,
};
static TYPE(core_env_from_source, "io.k8s.api.core.v1.EnvFromSource");

static const struct t_field core_config_map_key_selector_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    F(2, "key", T_STR, T_REQ | T_EMIT),
    F(3, "optional", T_BOOL, T_PTR),
    END,
};
static ATOMIC_TYPE(core_config_map_key_selector, "io.k8s.api.core.v1.ConfigMapKeySelector");

static const struct t_field core_secret_key_selector_fields[] = {
    F(IN(1, 1), "name", T_STR, 0),
    F(2, "key", T_STR, T_REQ | T_EMIT),
    F(3, "optional", T_BOOL, T_PTR),
    END,
};
static ATOMIC_TYPE(core_secret_key_selector, "io.k8s.api.core.v1.SecretKeySelector");

static const struct t_field core_file_key_selector_fields[] = {
    F(1, "volumeName", T_STR, T_REQ | T_EMIT),
    F(2, "path", T_STR, T_REQ | T_EMIT),
    F(3, "key", T_STR, T_REQ | T_EMIT),
    F(4, "optional", T_BOOL, T_PTR, DEF("false")),
    END,
};
static ATOMIC_TYPE(core_file_key_selector, "io.k8s.api.core.v1.FileKeySelector");

static const struct t_field core_env_var_source_fields[] = {
    OBJ(1, "fieldRef", core_object_field_selector, T_PTR),
    OBJ(2, "resourceFieldRef", core_resource_field_selector, T_PTR),
    OBJ(3, "configMapKeyRef", core_config_map_key_selector, T_PTR),
    OBJ(4, "secretKeyRef", core_secret_key_selector, T_PTR),
    OBJ(5, "fileKeyRef", core_file_key_selector, T_PTR),
    END,
};
static TYPE(core_env_var_source, "io.k8s.api.core.v1.EnvVarSource");

static const struct t_field core_env_var_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, 0),
    OBJ(3, "valueFrom", core_env_var_source, T_PTR),
    END,
};
static TYPE(core_env_var, "io.k8s.api.core.v1.EnvVar");

static const struct t_field core_resource_claim_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "request", T_STR, 0),
    END,
};
static TYPE(core_resource_claim, "io.k8s.api.core.v1.ResourceClaim");

static const struct t_field core_resource_requirements_fields[] = {
    MAP(1, "limits", T_QTY, 0, GO("v1.ResourceList")),
    MAP(2, "requests", T_QTY, 0, GO("v1.ResourceList")),
    OBJS(3, "claims", core_resource_claim, T_KEY | T_REPLACE, KEYS("name")),
    END,
};
static TYPE(core_resource_requirements, "io.k8s.api.core.v1.ResourceRequirements");

static const struct t_field core_container_resize_policy_fields[] = {
    F(1, "resourceName", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    F(2, "restartPolicy", T_STR, T_REQ | T_EMIT, GO("v1.ResourceResizeRestartPolicy")),
    END,
};
static TYPE(core_container_resize_policy, "io.k8s.api.core.v1.ContainerResizePolicy");

static const struct t_field core_container_restart_rule_on_exit_codes_fields[] = {
    F(1, "operator", T_STR, T_REQ, GO("v1.ContainerRestartRuleOnExitCodesOperator")),
    LIST(2, "values", T_I32, T_SET | T_REPLACE),
    END,
};
static TYPE(core_container_restart_rule_on_exit_codes,
            "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes");

static const struct t_field core_container_restart_rule_fields[] = {
    F(1, "action", T_STR, T_REQ, GO("v1.ContainerRestartRuleAction")),
    OBJ(2, "exitCodes", core_container_restart_rule_on_exit_codes, T_PTR),
    END,
};
static TYPE(core_container_restart_rule, "io.k8s.api.core.v1.ContainerRestartRule");

static const char *const mount_propagation_mode_values[] = { "None", "HostToContainer",
                                                             "Bidirectional", NULL };
static const struct t_field core_volume_mount_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "readOnly", T_BOOL, 0),
    F(7, "recursiveReadOnly", T_STR, T_PTR, GO("v1.RecursiveReadOnlyMode")),
    F(3, "mountPath", T_STR, T_REQ | T_EMIT),
    F(4, "subPath", T_STR, 0),
    ENUM(5, "mountPropagation", mount_propagation_mode_values, "v1.MountPropagationMode", T_PTR),
    F(6, "subPathExpr", T_STR, 0),
    END,
};
static TYPE(core_volume_mount, "io.k8s.api.core.v1.VolumeMount");

static const struct t_field core_volume_device_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "devicePath", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_volume_device, "io.k8s.api.core.v1.VolumeDevice");

static const struct t_field core_exec_action_fields[] = {
    LIST(1, "command", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_exec_action, "io.k8s.api.core.v1.ExecAction");

static const struct t_field core_http_header_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_http_header, "io.k8s.api.core.v1.HTTPHeader");

static const char *const uri_scheme_values[] = { "HTTP", "HTTPS", NULL };
static const struct t_field core_http_get_action_fields[] = {
    F(1, "path", T_STR, 0, DEF("\"/\"")),
    F(2, "port", T_IOS, T_REQ | T_EMIT),
    F(3, "host", T_STR, 0),
    ENUM(4, "scheme", uri_scheme_values, "v1.URIScheme", 0, DEF("\"HTTP\"")),
    OBJS(5, "httpHeaders", core_http_header, T_ATOMIC),
    END,
};
static TYPE(core_http_get_action, "io.k8s.api.core.v1.HTTPGetAction");

static const struct t_field core_tcp_socket_action_fields[] = {
    F(1, "port", T_IOS, T_REQ | T_EMIT),
    F(2, "host", T_STR, 0),
    END,
};
static TYPE(core_tcp_socket_action, "io.k8s.api.core.v1.TCPSocketAction");

static const struct t_field core_grpc_action_fields[] = {
    F(1, "port", T_I32, T_REQ | T_EMIT),
    F(2, "service", T_STR, T_PTR | T_EMIT),
    END,
};
static TYPE(core_grpc_action, "io.k8s.api.core.v1.GRPCAction");

static const struct t_field core_probe_fields[] = {
    OBJ(IN(1, 1), "exec", core_exec_action, T_PTR),
    OBJ(IN(1, 2), "httpGet", core_http_get_action, T_PTR),
    OBJ(IN(1, 3), "tcpSocket", core_tcp_socket_action, T_PTR),
    OBJ(IN(1, 4), "grpc", core_grpc_action, T_PTR),
    F(2, "initialDelaySeconds", T_I32, 0),
    F(3, "timeoutSeconds", T_I32, 0, DEF("1")),
    F(4, "periodSeconds", T_I32, 0, DEF("10")),
    F(5, "successThreshold", T_I32, 0, DEF("1")),
    F(6, "failureThreshold", T_I32, 0, DEF("3")),
    F(7, "terminationGracePeriodSeconds", T_I64, T_PTR),
    END,
};
static TYPE(core_probe, "io.k8s.api.core.v1.Probe");

static const struct t_field core_sleep_action_fields[] = {
    F(1, "seconds", T_I64, T_REQ | T_EMIT),
    END,
};
static TYPE(core_sleep_action, "io.k8s.api.core.v1.SleepAction");

static const struct t_field core_lifecycle_handler_fields[] = {
    OBJ(1, "exec", core_exec_action, T_PTR),
    OBJ(2, "httpGet", core_http_get_action, T_PTR),
    OBJ(3, "tcpSocket", core_tcp_socket_action, T_PTR),
    OBJ(4, "sleep", core_sleep_action, T_PTR),
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
    OBJ(1, "postStart", core_lifecycle_handler, T_PTR),
    OBJ(2, "preStop", core_lifecycle_handler, T_PTR),
    ENUM(3, "stopSignal", signal_values, "v1.Signal", T_PTR),
    END,
};
static TYPE(core_lifecycle, "io.k8s.api.core.v1.Lifecycle");

static const struct t_field core_capabilities_fields[] = {
    LIST(1, "add", T_STR, T_ATOMIC, GO("v1.Capability")),
    LIST(2, "drop", T_STR, T_ATOMIC, GO("v1.Capability")),
    END,
};
static TYPE(core_capabilities, "io.k8s.api.core.v1.Capabilities");

static const struct t_field core_se_linux_options_fields[] = {
    F(1, "user", T_STR, 0),
    F(2, "role", T_STR, 0),
    F(3, "type", T_STR, 0),
    F(4, "level", T_STR, 0),
    END,
};
static TYPE(core_se_linux_options, "io.k8s.api.core.v1.SELinuxOptions");

static const struct t_field core_windows_security_context_options_fields[] = {
    F(1, "gmsaCredentialSpecName", T_STR, T_PTR),
    F(2, "gmsaCredentialSpec", T_STR, T_PTR),
    F(3, "runAsUserName", T_STR, T_PTR),
    F(4, "hostProcess", T_BOOL, T_PTR),
    END,
};
static TYPE(core_windows_security_context_options,
            "io.k8s.api.core.v1.WindowsSecurityContextOptions");

static const char *const seccomp_profile_type_values[] = { "Unconfined", "RuntimeDefault",
                                                           "Localhost", NULL };
static const struct t_field core_seccomp_profile_fields[] = {
    ENUM(1, "type", seccomp_profile_type_values, "v1.SeccompProfileType", T_REQ | T_EMIT),
    F(2, "localhostProfile", T_STR, T_PTR),
    END,
};
static TYPE(core_seccomp_profile, "io.k8s.api.core.v1.SeccompProfile");

static const char *const app_armor_profile_type_values[] = { "Unconfined", "RuntimeDefault",
                                                             "Localhost", NULL };
static const struct t_field core_app_armor_profile_fields[] = {
    ENUM(1, "type", app_armor_profile_type_values, "v1.AppArmorProfileType", T_REQ | T_EMIT),
    F(2, "localhostProfile", T_STR, T_PTR),
    END,
};
static TYPE(core_app_armor_profile, "io.k8s.api.core.v1.AppArmorProfile");

static const char *const proc_mount_type_values[] = { "Default", "Unmasked", NULL };
static const struct t_field core_security_context_fields[] = {
    OBJ(1, "capabilities", core_capabilities, T_PTR),
    F(2, "privileged", T_BOOL, T_PTR),
    OBJ(3, "seLinuxOptions", core_se_linux_options, T_PTR),
    OBJ(10, "windowsOptions", core_windows_security_context_options, T_PTR),
    F(4, "runAsUser", T_I64, T_PTR),
    F(8, "runAsGroup", T_I64, T_PTR),
    F(5, "runAsNonRoot", T_BOOL, T_PTR),
    F(6, "readOnlyRootFilesystem", T_BOOL, T_PTR),
    F(7, "allowPrivilegeEscalation", T_BOOL, T_PTR),
    ENUM(9, "procMount", proc_mount_type_values, "v1.ProcMountType", T_PTR),
    OBJ(11, "seccompProfile", core_seccomp_profile, T_PTR),
    OBJ(12, "appArmorProfile", core_app_armor_profile, T_PTR),
    END,
};
static TYPE(core_security_context, "io.k8s.api.core.v1.SecurityContext");

static const char *const termination_message_policy_values[] = { "File", "FallbackToLogsOnError",
                                                                 NULL };
static const struct t_field core_container_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "image", T_STR, 0),
    LIST(3, "command", T_STR, T_ATOMIC),
    LIST(4, "args", T_STR, T_ATOMIC),
    F(5, "workingDir", T_STR, 0),
    OBJS(6, "ports", core_container_port, T_KEY, KEYS("containerPort,protocol")),
    OBJS(19, "envFrom", core_env_from_source, T_ATOMIC),
    OBJS(7, "env", core_env_var, T_KEY, KEYS("name")),
    OBJ(8, "resources", core_resource_requirements, T_EMIT),
    OBJS(23, "resizePolicy", core_container_resize_policy, T_ATOMIC),
    F(24, "restartPolicy", T_STR, T_PTR, GO("v1.ContainerRestartPolicy")),
    OBJS(25, "restartPolicyRules", core_container_restart_rule, T_ATOMIC),
    OBJS(9, "volumeMounts", core_volume_mount, T_KEY, KEYS("mountPath")),
    OBJS(21, "volumeDevices", core_volume_device, T_KEY, KEYS("devicePath")),
    OBJ(10, "livenessProbe", core_probe, T_PTR),
    OBJ(11, "readinessProbe", core_probe, T_PTR),
    OBJ(22, "startupProbe", core_probe, T_PTR),
    OBJ(12, "lifecycle", core_lifecycle, T_PTR),
    F(13, "terminationMessagePath", T_STR, 0, DEF("\"/dev/termination-log\"")),
    ENUM(20, "terminationMessagePolicy", termination_message_policy_values,
         "v1.TerminationMessagePolicy", 0, DEF("\"File\"")),
    ENUM(14, "imagePullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    OBJ(15, "securityContext", core_security_context, T_PTR),
    F(16, "stdin", T_BOOL, 0),
    F(17, "stdinOnce", T_BOOL, 0),
    F(18, "tty", T_BOOL, 0),
    END,
};
static TYPE(core_container, "io.k8s.api.core.v1.Container");

static const struct t_field core_ephemeral_container_fields[] = {
    F(IN(1, 1), "name", T_STR, T_REQ | T_EMIT),
    F(IN(1, 2), "image", T_STR, 0),
    LIST(IN(1, 3), "command", T_STR, T_ATOMIC),
    LIST(IN(1, 4), "args", T_STR, T_ATOMIC),
    F(IN(1, 5), "workingDir", T_STR, 0),
    OBJS(IN(1, 6), "ports", core_container_port, T_KEY, KEYS("containerPort,protocol")),
    OBJS(IN(1, 19), "envFrom", core_env_from_source, T_ATOMIC),
    OBJS(IN(1, 7), "env", core_env_var, T_KEY, KEYS("name")),
    OBJ(IN(1, 8), "resources", core_resource_requirements, T_EMIT),
    OBJS(IN(1, 23), "resizePolicy", core_container_resize_policy, T_ATOMIC),
    F(IN(1, 24), "restartPolicy", T_STR, T_PTR, GO("v1.ContainerRestartPolicy")),
    OBJS(IN(1, 25), "restartPolicyRules", core_container_restart_rule, T_ATOMIC),
    OBJS(IN(1, 9), "volumeMounts", core_volume_mount, T_KEY, KEYS("mountPath")),
    OBJS(IN(1, 21), "volumeDevices", core_volume_device, T_KEY, KEYS("devicePath")),
    OBJ(IN(1, 10), "livenessProbe", core_probe, T_PTR),
    OBJ(IN(1, 11), "readinessProbe", core_probe, T_PTR),
    OBJ(IN(1, 22), "startupProbe", core_probe, T_PTR),
    OBJ(IN(1, 12), "lifecycle", core_lifecycle, T_PTR),
    F(IN(1, 13), "terminationMessagePath", T_STR, 0, DEF("\"/dev/termination-log\"")),
    ENUM(IN(1, 20), "terminationMessagePolicy", termination_message_policy_values,
         "v1.TerminationMessagePolicy", 0, DEF("\"File\"")),
    ENUM(IN(1, 14), "imagePullPolicy", pull_policy_values, "v1.PullPolicy", 0),
    OBJ(IN(1, 15), "securityContext", core_security_context, T_PTR),
    F(IN(1, 16), "stdin", T_BOOL, 0),
    F(IN(1, 17), "stdinOnce", T_BOOL, 0),
    F(IN(1, 18), "tty", T_BOOL, 0),
    F(2, "targetContainerName", T_STR, 0),
    END,
};
static TYPE(core_ephemeral_container, "io.k8s.api.core.v1.EphemeralContainer");

static const struct t_field core_sysctl_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "value", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_sysctl, "io.k8s.api.core.v1.Sysctl");

static const char *const supplemental_groups_policy_values[] = { "Merge", "Strict", NULL };
static const char *const pod_fs_group_change_policy_values[] = { "OnRootMismatch", "Always", NULL };
static const struct t_field core_pod_security_context_fields[] = {
    OBJ(1, "seLinuxOptions", core_se_linux_options, T_PTR),
    OBJ(8, "windowsOptions", core_windows_security_context_options, T_PTR),
    F(2, "runAsUser", T_I64, T_PTR),
    F(6, "runAsGroup", T_I64, T_PTR),
    F(3, "runAsNonRoot", T_BOOL, T_PTR),
    LIST(4, "supplementalGroups", T_I64, T_ATOMIC),
    ENUM(12, "supplementalGroupsPolicy", supplemental_groups_policy_values,
         "v1.SupplementalGroupsPolicy", T_PTR),
    F(5, "fsGroup", T_I64, T_PTR),
    OBJS(7, "sysctls", core_sysctl, T_ATOMIC),
    ENUM(9, "fsGroupChangePolicy", pod_fs_group_change_policy_values, "v1.PodFSGroupChangePolicy",
         T_PTR),
    OBJ(10, "seccompProfile", core_seccomp_profile, T_PTR),
    OBJ(11, "appArmorProfile", core_app_armor_profile, T_PTR),
    F(13, "seLinuxChangePolicy", T_STR, T_PTR, GO("v1.PodSELinuxChangePolicy")),
    END,
};
static TYPE(core_pod_security_context, "io.k8s.api.core.v1.PodSecurityContext");

static const struct t_field core_preferred_scheduling_term_fields[] = {
    F(1, "weight", T_I32, T_REQ | T_EMIT),
    OBJ(2, "preference", core_node_selector_term, T_REQ | T_EMIT),
    END,
};
static TYPE(core_preferred_scheduling_term, "io.k8s.api.core.v1.PreferredSchedulingTerm");

static const struct t_field core_node_affinity_fields[] = {
    OBJ(1, "requiredDuringSchedulingIgnoredDuringExecution", core_node_selector, T_PTR),
    OBJS(2, "preferredDuringSchedulingIgnoredDuringExecution", core_preferred_scheduling_term,
         T_ATOMIC),
    END,
};
static TYPE(core_node_affinity, "io.k8s.api.core.v1.NodeAffinity");

static const struct t_field core_pod_affinity_term_fields[] = {
    OBJ(1, "labelSelector", meta_label_selector, T_PTR),
    LIST(2, "namespaces", T_STR, T_ATOMIC),
    F(3, "topologyKey", T_STR, T_REQ | T_EMIT),
    OBJ(4, "namespaceSelector", meta_label_selector, T_PTR),
    LIST(5, "matchLabelKeys", T_STR, T_ATOMIC),
    LIST(6, "mismatchLabelKeys", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_pod_affinity_term, "io.k8s.api.core.v1.PodAffinityTerm");

static const struct t_field core_weighted_pod_affinity_term_fields[] = {
    F(1, "weight", T_I32, T_REQ | T_EMIT),
    OBJ(2, "podAffinityTerm", core_pod_affinity_term, T_REQ | T_EMIT),
    END,
};
static TYPE(core_weighted_pod_affinity_term, "io.k8s.api.core.v1.WeightedPodAffinityTerm");

static const struct t_field core_pod_affinity_fields[] = {
    OBJS(1, "requiredDuringSchedulingIgnoredDuringExecution", core_pod_affinity_term, T_ATOMIC),
    OBJS(2, "preferredDuringSchedulingIgnoredDuringExecution", core_weighted_pod_affinity_term,
         T_ATOMIC),
    END,
};
static TYPE(core_pod_affinity, "io.k8s.api.core.v1.PodAffinity");

static const struct t_field core_pod_anti_affinity_fields[] = {
    OBJS(1, "requiredDuringSchedulingIgnoredDuringExecution", core_pod_affinity_term, T_ATOMIC),
    OBJS(2, "preferredDuringSchedulingIgnoredDuringExecution", core_weighted_pod_affinity_term,
         T_ATOMIC),
    END,
};
static TYPE(core_pod_anti_affinity, "io.k8s.api.core.v1.PodAntiAffinity");

static const struct t_field core_affinity_fields[] = {
    OBJ(1, "nodeAffinity", core_node_affinity, T_PTR),
    OBJ(2, "podAffinity", core_pod_affinity, T_PTR),
    OBJ(3, "podAntiAffinity", core_pod_anti_affinity, T_PTR),
    END,
};
static TYPE(core_affinity, "io.k8s.api.core.v1.Affinity");

static const char *const toleration_operator_values[] = { "Exists", "Equal", "Lt", "Gt", NULL };
const char *const taint_effect_values[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };
static const struct t_field core_toleration_fields[] = {
    F(1, "key", T_STR, 0),
    ENUM(2, "operator", toleration_operator_values, "v1.TolerationOperator", 0),
    F(3, "value", T_STR, 0),
    ENUM(4, "effect", taint_effect_values, "v1.TaintEffect", 0),
    F(5, "tolerationSeconds", T_I64, T_PTR),
    END,
};
TYPE(core_toleration, "io.k8s.api.core.v1.Toleration");

static const struct t_field core_host_alias_fields[] = {
    F(1, "ip", T_STR, T_REQ | T_EMIT),
    LIST(2, "hostnames", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_host_alias, "io.k8s.api.core.v1.HostAlias");

static const struct t_field core_pod_dns_config_option_fields[] = {
    F(1, "name", T_STR, 0),
    F(2, "value", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_dns_config_option, "io.k8s.api.core.v1.PodDNSConfigOption");

static const struct t_field core_pod_dns_config_fields[] = {
    LIST(1, "nameservers", T_STR, T_ATOMIC),
    LIST(2, "searches", T_STR, T_ATOMIC),
    OBJS(3, "options", core_pod_dns_config_option, T_ATOMIC),
    END,
};
static TYPE(core_pod_dns_config, "io.k8s.api.core.v1.PodDNSConfig");

static const struct t_field core_pod_readiness_gate_fields[] = {
    F(1, "conditionType", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    END,
};
static TYPE(core_pod_readiness_gate, "io.k8s.api.core.v1.PodReadinessGate");

static const char *const unsatisfiable_constraint_action_values[] = { "DoNotSchedule",
                                                                      "ScheduleAnyway", NULL };
static const char *const node_inclusion_policy_values[] = { "Ignore", "Honor", NULL };
static const struct t_field core_topology_spread_constraint_fields[] = {
    F(1, "maxSkew", T_I32, T_REQ | T_EMIT),
    F(2, "topologyKey", T_STR, T_REQ | T_EMIT),
    ENUM(3, "whenUnsatisfiable", unsatisfiable_constraint_action_values,
         "v1.UnsatisfiableConstraintAction", T_REQ | T_EMIT),
    OBJ(4, "labelSelector", meta_label_selector, T_PTR),
    F(5, "minDomains", T_I32, T_PTR),
    ENUM(6, "nodeAffinityPolicy", node_inclusion_policy_values, "v1.NodeInclusionPolicy", T_PTR),
    ENUM(7, "nodeTaintsPolicy", node_inclusion_policy_values, "v1.NodeInclusionPolicy", T_PTR),
    LIST(8, "matchLabelKeys", T_STR, T_ATOMIC),
    END,
};
static TYPE(core_topology_spread_constraint, "io.k8s.api.core.v1.TopologySpreadConstraint");

static const struct t_field core_pod_os_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.OSName")),
    END,
};
static TYPE(core_pod_os, "io.k8s.api.core.v1.PodOS");

static const struct t_field core_pod_scheduling_gate_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_scheduling_gate, "io.k8s.api.core.v1.PodSchedulingGate");

static const struct t_field core_pod_resource_claim_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(3, "resourceClaimName", T_STR, T_PTR),
    F(4, "resourceClaimTemplateName", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_resource_claim, "io.k8s.api.core.v1.PodResourceClaim");

static const struct t_field core_workload_reference_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "podGroup", T_STR, T_REQ | T_EMIT),
    F(3, "podGroupReplicaKey", T_STR, 0),
    END,
};
static TYPE(core_workload_reference, "io.k8s.api.core.v1.WorkloadReference");

static const char *const restart_policy_values[] = { "Always", "OnFailure", "Never", NULL };
static const char *const dns_policy_values[] = { "ClusterFirstWithHostNet", "ClusterFirst",
                                                 "Default", "None", NULL };
const char *const preemption_policy_values[] = { "PreemptLowerPriority", "Never", NULL };
static const struct t_field core_pod_spec_fields[] = {
    OBJS(1, "volumes", core_volume, T_RETAIN | T_KEY, KEYS("name")),
    OBJS(20, "initContainers", core_container, T_KEY, KEYS("name")),
    OBJS(2, "containers", core_container, T_REQ | T_EMIT | T_KEY, KEYS("name")),
    OBJS(34, "ephemeralContainers", core_ephemeral_container, T_KEY, KEYS("name")),
    ENUM(3, "restartPolicy", restart_policy_values, "v1.RestartPolicy", 0, DEF("\"Always\"")),
    F(4, "terminationGracePeriodSeconds", T_I64, T_PTR, DEF("30")),
    F(5, "activeDeadlineSeconds", T_I64, T_PTR),
    ENUM(6, "dnsPolicy", dns_policy_values, "v1.DNSPolicy", 0, DEF("\"ClusterFirst\"")),
    MAP(7, "nodeSelector", T_STR, T_ATOMIC),
    F(8, "serviceAccountName", T_STR, 0),
    F(9, "serviceAccount", T_STR, 0),
    F(21, "automountServiceAccountToken", T_BOOL, T_PTR),
    F(10, "nodeName", T_STR, 0),
    F(11, "hostNetwork", T_BOOL, 0),
    F(12, "hostPID", T_BOOL, 0),
    F(13, "hostIPC", T_BOOL, 0),
    F(27, "shareProcessNamespace", T_BOOL, T_PTR),
    OBJ(14, "securityContext", core_pod_security_context, T_PTR, DEF("{}")),
    OBJS(15, "imagePullSecrets", core_local_object_reference, T_KEY, KEYS("name")),
    F(16, "hostname", T_STR, 0),
    F(17, "subdomain", T_STR, 0),
    OBJ(18, "affinity", core_affinity, T_PTR),
    F(19, "schedulerName", T_STR, 0, DEF("\"default-scheduler\"")),
    OBJS(22, "tolerations", core_toleration, T_ATOMIC),
    OBJS(23, "hostAliases", core_host_alias, T_KEY, KEYS("ip")),
    F(24, "priorityClassName", T_STR, 0),
    F(25, "priority", T_I32, T_PTR),
    OBJ(26, "dnsConfig", core_pod_dns_config, T_PTR),
    OBJS(28, "readinessGates", core_pod_readiness_gate, T_ATOMIC),
    F(29, "runtimeClassName", T_STR, T_PTR),
    F(30, "enableServiceLinks", T_BOOL, T_PTR),
    ENUM(31, "preemptionPolicy", preemption_policy_values, "v1.PreemptionPolicy", T_PTR),
    MAP(32, "overhead", T_QTY, 0, GO("v1.ResourceList")),
    OBJS(33, "topologySpreadConstraints", core_topology_spread_constraint, T_KEY,
         KEYS("topologyKey,whenUnsatisfiable")),
    F(35, "setHostnameAsFQDN", T_BOOL, T_PTR),
    OBJ(36, "os", core_pod_os, T_PTR),
    F(37, "hostUsers", T_BOOL, T_PTR),
    OBJS(38, "schedulingGates", core_pod_scheduling_gate, T_KEY, KEYS("name")),
    OBJS(39, "resourceClaims", core_pod_resource_claim, T_RETAIN | T_KEY, KEYS("name")),
    OBJ(40, "resources", core_resource_requirements, T_PTR),
    F(41, "hostnameOverride", T_STR, T_PTR),
    OBJ(42, "workloadRef", core_workload_reference, T_PTR),
    END,
};
static TYPE(core_pod_spec, "io.k8s.api.core.v1.PodSpec");

static const struct t_field core_pod_condition_fields[] = {
    F(1, "type", T_STR, T_REQ | T_EMIT, GO("v1.PodConditionType")),
    F(7, "observedGeneration", T_I64, 0),
    F(2, "status", T_STR, T_REQ | T_EMIT, GO("v1.ConditionStatus")),
    F(3, "lastProbeTime", T_TIME, T_EMIT),
    F(4, "lastTransitionTime", T_TIME, T_EMIT),
    F(5, "reason", T_STR, 0),
    F(6, "message", T_STR, 0),
    END,
};
static TYPE(core_pod_condition, "io.k8s.api.core.v1.PodCondition");

static const struct t_field core_host_ip_fields[] = {
    F(1, "ip", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_host_ip, "io.k8s.api.core.v1.HostIP");

static const struct t_field core_pod_ip_fields[] = {
    F(1, "ip", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_ip, "io.k8s.api.core.v1.PodIP");

static const struct t_field core_container_state_waiting_fields[] = {
    F(1, "reason", T_STR, 0),
    F(2, "message", T_STR, 0),
    END,
};
static TYPE(core_container_state_waiting, "io.k8s.api.core.v1.ContainerStateWaiting");

static const struct t_field core_container_state_running_fields[] = {
    F(1, "startedAt", T_TIME, T_EMIT),
    END,
};
static TYPE(core_container_state_running, "io.k8s.api.core.v1.ContainerStateRunning");

static const struct t_field core_container_state_terminated_fields[] = {
    F(1, "exitCode", T_I32, T_REQ | T_EMIT),
    F(2, "signal", T_I32, 0),
    F(3, "reason", T_STR, 0),
    F(4, "message", T_STR, 0),
    F(5, "startedAt", T_TIME, T_EMIT),
    F(6, "finishedAt", T_TIME, T_EMIT),
    F(7, "containerID", T_STR, 0),
    END,
};
static TYPE(core_container_state_terminated, "io.k8s.api.core.v1.ContainerStateTerminated");

static const struct t_field core_container_state_fields[] = {
    OBJ(1, "waiting", core_container_state_waiting, T_PTR),
    OBJ(2, "running", core_container_state_running, T_PTR),
    OBJ(3, "terminated", core_container_state_terminated, T_PTR),
    END,
};
static TYPE(core_container_state, "io.k8s.api.core.v1.ContainerState");

static const struct t_field core_volume_mount_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "mountPath", T_STR, T_REQ | T_EMIT),
    F(3, "readOnly", T_BOOL, 0),
    F(4, "recursiveReadOnly", T_STR, T_PTR, GO("v1.RecursiveReadOnlyMode")),
    END,
};
static TYPE(core_volume_mount_status, "io.k8s.api.core.v1.VolumeMountStatus");

static const struct t_field core_linux_container_user_fields[] = {
    F(1, "uid", T_I64, T_REQ | T_EMIT),
    F(2, "gid", T_I64, T_REQ | T_EMIT),
    LIST(3, "supplementalGroups", T_I64, T_ATOMIC),
    END,
};
static TYPE(core_linux_container_user, "io.k8s.api.core.v1.LinuxContainerUser");

static const struct t_field core_container_user_fields[] = {
    OBJ(1, "linux", core_linux_container_user, T_PTR),
    END,
};
static TYPE(core_container_user, "io.k8s.api.core.v1.ContainerUser");

static const struct t_field core_resource_health_fields[] = {
    F(1, "resourceID", T_STR, T_REQ | T_EMIT, GO("v1.ResourceID")),
    F(2, "health", T_STR, 0, GO("v1.ResourceHealthStatus")),
    END,
};
static TYPE(core_resource_health, "io.k8s.api.core.v1.ResourceHealth");

static const struct t_field core_resource_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT, GO("v1.ResourceName")),
    OBJS(2, "resources", core_resource_health, T_KEY | T_REPLACE, KEYS("resourceID")),
    END,
};
static TYPE(core_resource_status, "io.k8s.api.core.v1.ResourceStatus");

static const struct t_field core_container_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    OBJ(2, "state", core_container_state, T_EMIT),
    OBJ(3, "lastState", core_container_state, T_EMIT),
    F(4, "ready", T_BOOL, T_REQ | T_EMIT),
    F(5, "restartCount", T_I32, T_REQ | T_EMIT),
    F(6, "image", T_STR, T_REQ | T_EMIT),
    F(7, "imageID", T_STR, T_REQ | T_EMIT),
    F(8, "containerID", T_STR, 0),
    F(9, "started", T_BOOL, T_PTR),
    MAP(10, "allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    OBJ(11, "resources", core_resource_requirements, T_PTR),
    OBJS(12, "volumeMounts", core_volume_mount_status, T_KEY, KEYS("mountPath")),
    OBJ(13, "user", core_container_user, T_PTR),
    OBJS(14, "allocatedResourcesStatus", core_resource_status, T_KEY, KEYS("name")),
    ENUM(15, "stopSignal", signal_values, "v1.Signal", T_PTR),
    END,
};
static TYPE(core_container_status, "io.k8s.api.core.v1.ContainerStatus");

static const struct t_field core_pod_resource_claim_status_fields[] = {
    F(1, "name", T_STR, T_REQ | T_EMIT),
    F(2, "resourceClaimName", T_STR, T_PTR),
    END,
};
static TYPE(core_pod_resource_claim_status, "io.k8s.api.core.v1.PodResourceClaimStatus");

static const struct t_field core_container_extended_resource_request_fields[] = {
    F(1, "containerName", T_STR, T_REQ | T_EMIT),
    F(2, "resourceName", T_STR, T_REQ | T_EMIT),
    F(3, "requestName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_container_extended_resource_request,
            "io.k8s.api.core.v1.ContainerExtendedResourceRequest");

static const struct t_field core_pod_extended_resource_claim_status_fields[] = {
    OBJS(1, "requestMappings", core_container_extended_resource_request, T_REQ | T_EMIT | T_ATOMIC),
    F(2, "resourceClaimName", T_STR, T_REQ | T_EMIT),
    END,
};
static TYPE(core_pod_extended_resource_claim_status,
            "io.k8s.api.core.v1.PodExtendedResourceClaimStatus");

static const char *const pod_phase_values[] = { "Pending", "Running", "Succeeded",
                                                "Failed",  "Unknown", NULL };
static const struct t_field core_pod_status_fields[] = {
    F(17, "observedGeneration", T_I64, 0),
    ENUM(1, "phase", pod_phase_values, "v1.PodPhase", 0),
    OBJS(2, "conditions", core_pod_condition, T_KEY, KEYS("type")),
    F(3, "message", T_STR, 0),
    F(4, "reason", T_STR, 0),
    F(11, "nominatedNodeName", T_STR, 0),
    F(5, "hostIP", T_STR, 0),
    OBJS(16, "hostIPs", core_host_ip, T_KEY | T_ATOMIC, KEYS("ip")),
    F(6, "podIP", T_STR, 0),
    OBJS(12, "podIPs", core_pod_ip, T_KEY, KEYS("ip")),
    F(7, "startTime", T_TIME, T_PTR),
    OBJS(10, "initContainerStatuses", core_container_status, T_ATOMIC),
    OBJS(8, "containerStatuses", core_container_status, T_ATOMIC),
    ENUM(9, "qosClass", kube_qos_names + 1, "v1.PodQOSClass", 0),
    OBJS(13, "ephemeralContainerStatuses", core_container_status, T_ATOMIC),
    F(14, "resize", T_STR, 0, GO("v1.PodResizeStatus")),
    OBJS(15, "resourceClaimStatuses", core_pod_resource_claim_status, T_RETAIN | T_KEY,
         KEYS("name")),
    OBJ(18, "extendedResourceClaimStatus", core_pod_extended_resource_claim_status, T_PTR),
    MAP(19, "allocatedResources", T_QTY, 0, GO("v1.ResourceList")),
    OBJ(20, "resources", core_resource_requirements, T_PTR),
    END,
};
static TYPE(core_pod_status, "io.k8s.api.core.v1.PodStatus");

static const struct t_field core_pod_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_pod_spec, T_EMIT),
    OBJ(3, "status", core_pod_status, T_EMIT),
    END,
};
TYPE(core_pod, "io.k8s.api.core.v1.Pod");

static const struct t_field core_pod_template_spec_fields[] = {
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", core_pod_spec, T_EMIT),
    END,
};
TYPE(core_pod_template_spec, "io.k8s.api.core.v1.PodTemplateSpec");

static const struct t_field core_pod_template_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "template", core_pod_template_spec, T_EMIT),
    END,
};
TYPE(core_pod_template, "io.k8s.api.core.v1.PodTemplate");

static const struct t_field core_binding_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "target", core_object_reference, T_REQ | T_EMIT),
    END,
};
TYPE(core_binding, "io.k8s.api.core.v1.Binding");
