/* keys.h - every label, annotation and resource name of the protocol, in one place.
 *
 * LABEL_* and ANNO_* are metadata keys, RES_* resource names, *_OLD the deprecated aliases that
 * readers still accept. Who carries, writes and reads each key: spec/api.md section 5.
 */
#ifndef KOORD_API_PROTOCOL_KEYS_H
#define KOORD_API_PROTOCOL_KEYS_H

/* ---- domains --------------------------------------------------------------------------------- */

#define DOMAIN_KOORD        "koordinator.sh/"
#define DOMAIN_KUBE         "kubernetes.io/"
#define DOMAIN_SCHEDULING   "scheduling.koordinator.sh/"
#define DOMAIN_SCHED_INNER  "internal.scheduling.koordinator.sh/"
#define DOMAIN_NODE         "node.koordinator.sh/"
#define DOMAIN_POD          "pod.koordinator.sh/"
#define DOMAIN_GANG         "gang.scheduling.koordinator.sh/"
#define DOMAIN_QUOTA        "quota.scheduling.koordinator.sh/"
#define DOMAIN_CONFIG       "config.koordinator.sh/"
#define DOMAIN_KUBELET      "kubelet.koordinator.sh/"
#define DOMAIN_DESCHEDULER  "descheduler.koordinator.sh/"
#define DOMAIN_RUNTIMEPROXY "runtimeproxy.koordinator.sh/"

/* ---- resource names -------------------------------------------------------------------------- */

#define RES_CPU               "cpu"
#define RES_MEMORY            "memory"
#define RES_EPHEMERAL_STORAGE "ephemeral-storage"

/* Overcommitted resources. CPU in milli-cores as a whole number, memory in bytes. */
#define RES_BATCH_CPU        DOMAIN_KUBE "batch-cpu"
#define RES_BATCH_MEMORY     DOMAIN_KUBE "batch-memory"
#define RES_MID_CPU          DOMAIN_KUBE "mid-cpu"
#define RES_MID_MEMORY       DOMAIN_KUBE "mid-memory"

#define RES_NVIDIA_GPU       "nvidia.com/gpu"
#define RES_AMD_GPU          "amd.com/gpu"
#define RES_DCU_GPU          "dcu.com/gpu"
#define RES_GPU              DOMAIN_KOORD "gpu"              /* percent of a card */
#define RES_GPU_CORE         DOMAIN_KOORD "gpu-core"         /* percent of compute */
#define RES_GPU_MEMORY       DOMAIN_KOORD "gpu-memory"       /* bytes */
#define RES_GPU_MEMORY_RATIO DOMAIN_KOORD "gpu-memory-ratio" /* percent of memory */
#define RES_GPU_SHARED       DOMAIN_KOORD "gpu.shared"       /* cards the request is spread over */
#define RES_RDMA             DOMAIN_KOORD "rdma"
#define RES_FPGA             DOMAIN_KOORD "fpga"
#define RES_NPU_CORE         "huawei.com/npu-core"
#define RES_NPU_CPU          "huawei.com/npu-cpu"
#define RES_NPU_DVPP         "huawei.com/npu-dvpp"

/* Deprecated names; resource_current_name() maps them. */
#define RES_BATCH_CPU_OLD        DOMAIN_KOORD "batch-cpu"
#define RES_BATCH_MEMORY_OLD     DOMAIN_KOORD "batch-memory"
#define RES_RDMA_OLD             DOMAIN_KUBE "rdma"
#define RES_FPGA_OLD             DOMAIN_KUBE "fpga"
#define RES_GPU_OLD              DOMAIN_KUBE "gpu"
#define RES_GPU_CORE_OLD         DOMAIN_KUBE "gpu-core"
#define RES_GPU_MEMORY_OLD       DOMAIN_KUBE "gpu-memory"
#define RES_GPU_MEMORY_RATIO_OLD DOMAIN_KUBE "gpu-memory-ratio"

/* ---- identity, admission (5.1, 5.2) ---------------------------------------------------------- */

#define LABEL_QOS_CLASS            DOMAIN_KOORD "qosClass"
#define LABEL_PRIORITY             DOMAIN_KOORD "priority" /* sub-priority within a class */
#define LABEL_PRIORITY_CLASS       DOMAIN_KOORD "priority-class"
#define LABEL_MUTATING_UPDATE      DOMAIN_POD "mutating-update"
#define LABEL_SKIP_ENHANCED_CHECK  DOMAIN_POD "skip-enhanced-validation"
#define LABEL_BINDING_BYPASS       DOMAIN_KOORD "binding-admission-bypass"
#define LABEL_CONFIGMAP_TYPE       DOMAIN_KOORD "configmap-type"
#define CONFIGMAP_TYPE_SLO         "slo-controller-config"
#define ANNO_SKIP_UPDATE_RESOURCES DOMAIN_CONFIG "skip-update-resources"
#define LABEL_CONTROLLER_MANAGED   DOMAIN_CONFIG "controller-managed"
#define LABEL_CONTROL_PLANE        "control-plane"
#define ANNO_REPLACE_RESOURCES     DOMAIN_POD "replace-resources"
#define LABEL_SCHEDULER_NAME       DOMAIN_SCHEDULING "scheduler-name"
#define ANNO_ORIGINAL_SCHEDULER    DOMAIN_SCHED_INNER "original-scheduler-name"
#define ANNO_EXTENDED_RESOURCES    DOMAIN_NODE "extended-resource-spec"

/* ---- gang (5.3, 5.13) ------------------------------------------------------------------------ */

#define LABEL_POD_GROUP                   "pod-group.scheduling.sigs.k8s.io"
#define LABEL_POD_GROUP_NAME_OLD          "pod-group.scheduling.sigs.k8s.io/name"
#define LABEL_POD_GROUP_MIN_AVAILABLE_OLD "pod-group.scheduling.sigs.k8s.io/min-available"
#define ANNO_POD_GROUP_MATCH_POLICY       "pod-group.scheduling.sigs.k8s.io/match-policy"
#define ANNO_GANG_NAME                    DOMAIN_GANG "name"
#define ANNO_GANG_MIN_AVAILABLE           DOMAIN_GANG "min-available"
#define ANNO_GANG_TOTAL_NUMBER            DOMAIN_GANG "total-number"
#define ANNO_GANG_WAITING_TIME            DOMAIN_GANG "waiting-time"
#define ANNO_GANG_MODE                    DOMAIN_GANG "mode"
#define ANNO_GANG_MATCH_POLICY            DOMAIN_GANG "match-policy"
#define ANNO_GANG_GROUPS                  DOMAIN_GANG "groups"
#define ANNO_GANG_TIMEOUT                 DOMAIN_GANG "timeout" /* declared, not used */
#define ANNO_GANG_TOPOLOGY_SPEC           DOMAIN_GANG "network-topology-spec"
#define ANNO_GANG_TOPOLOGY_INDEX          DOMAIN_GANG "network-topology-index"
#define ANNO_NETWORK_TOPOLOGY_SELECTOR    DOMAIN_SCHEDULING "network-topology-selector"
#define ANNO_BIND_GANG_GROUP_ID           DOMAIN_SCHED_INNER "bind-gang-group-id"
#define ANNO_BIND_GANG_GROUP_ID_OLD       DOMAIN_SCHEDULING "bind-gang-group-id"
#define ANNO_BIND_GANG_MEMBER_COUNT       DOMAIN_SCHED_INNER "bind-gang-member-count"
#define ANNO_BIND_GANG_MEMBER_COUNT_OLD   DOMAIN_SCHEDULING "bind-gang-member-count"

/* ---- elastic quota (5.4) --------------------------------------------------------------------- */

#define QUOTA_ROOT_NAME                    "koordinator-root-quota"
#define QUOTA_SYSTEM_NAME                  "koordinator-system-quota"
#define QUOTA_DEFAULT_NAME                 "koordinator-default-quota"

#define LABEL_QUOTA_NAME                   DOMAIN_QUOTA "name"
#define LABEL_QUOTA_PARENT                 DOMAIN_QUOTA "parent"
#define LABEL_QUOTA_IS_PARENT              DOMAIN_QUOTA "is-parent"
#define LABEL_QUOTA_ALLOW_LENT             DOMAIN_QUOTA "allow-lent-resource"
#define LABEL_QUOTA_IS_ROOT                DOMAIN_QUOTA "is-root"
#define LABEL_QUOTA_TREE_ID                DOMAIN_QUOTA "tree-id"
#define LABEL_QUOTA_IGNORE_DEFAULT_TREE    DOMAIN_QUOTA "ignore-default-tree"
#define LABEL_QUOTA_PROFILE                DOMAIN_QUOTA "profile"
#define LABEL_QUOTA_PREEMPTIBLE            DOMAIN_QUOTA "preemptible"
#define LABEL_QUOTA_ALLOW_FORCE_UPDATE     DOMAIN_QUOTA "allow-force-update"
#define ANNO_QUOTA_SHARED_WEIGHT           DOMAIN_QUOTA "shared-weight"
#define ANNO_QUOTA_NAMESPACES              DOMAIN_QUOTA "namespaces"
#define ANNO_QUOTA_RESOURCE_KEYS           DOMAIN_QUOTA "resource-keys"
#define ANNO_QUOTA_TOTAL_RESOURCE          DOMAIN_QUOTA "total-resource"
#define ANNO_QUOTA_UNSCHEDULABLE_RESOURCE  DOMAIN_QUOTA "unschedulable-resource"
#define ANNO_QUOTA_RUNTIME                 DOMAIN_QUOTA "runtime"
#define ANNO_QUOTA_REQUEST                 DOMAIN_QUOTA "request"
#define ANNO_QUOTA_CHILD_REQUEST           DOMAIN_QUOTA "child-request"
#define ANNO_QUOTA_GUARANTEED              DOMAIN_QUOTA "guaranteed"
#define ANNO_QUOTA_ALLOCATED               DOMAIN_QUOTA "allocated"
#define ANNO_QUOTA_NON_PREEMPTIBLE_REQUEST DOMAIN_QUOTA "non-preemptible-request"
#define ANNO_QUOTA_NON_PREEMPTIBLE_USED    DOMAIN_QUOTA "non-preemptible-used"
#define ANNO_QUOTA_ADMISSION               DOMAIN_QUOTA "admission"
#define ANNO_QUOTA_MAX_STRICT_KEYS         DOMAIN_QUOTA "max-strict-check-resource-keys"

/* ---- reservation (5.5) ----------------------------------------------------------------------- */

#define ANNO_RESERVATION_ALLOCATED     DOMAIN_SCHEDULING "reservation-allocated"
#define ANNO_RESERVATION_AFFINITY      DOMAIN_SCHEDULING "reservation-affinity"
#define LABEL_RESERVATION_IGNORED      DOMAIN_SCHEDULING "reservation-ignored"
#define LABEL_RESERVATION_ORDER        DOMAIN_SCHEDULING "reservation-order"
#define ANNO_RESERVATION_RESTRICTED    DOMAIN_SCHEDULING "reservation-restricted-options"
#define ANNO_EXACT_MATCH_RESERVATION   DOMAIN_SCHEDULING "exact-match-reservation"
#define LABEL_PRE_ALLOCATION_REQUIRED  DOMAIN_SCHEDULING "pre-allocation-required"
#define ANNO_RESERVATION_RESIZE        DOMAIN_SCHEDULING "reservation-resize-allocatable"
#define ANNO_RESERVE_POD               DOMAIN_SCHEDULING "reserve-pod"
#define ANNO_RESERVATION_NAME          DOMAIN_SCHEDULING "reservation-name"
#define ANNO_RESERVATION_NODE          DOMAIN_SCHEDULING "reservation-node"
#define ANNO_IS_PRE_ALLOCATION         DOMAIN_SCHEDULING "is-pre-allocation"
#define LABEL_OPERATING_MODE           DOMAIN_SCHEDULING "operating-mode"
#define ANNO_RESERVATION_OWNERS        DOMAIN_SCHEDULING "reservation-owners"
#define ANNO_RESERVATION_CURRENT_OWNER DOMAIN_SCHEDULING "reservation-current-owner"
#define LABEL_DISABLE_PREEMPTIBLE      DOMAIN_SCHEDULING "disable-preemptible"
#define LABEL_PREEMPTION_POLICY        DOMAIN_SCHEDULING "preemption-policy"
#define LABEL_RESERVED_TOGETHER        DOMAIN_SCHEDULING "reserved-together" /* koordctl's */
#define LABEL_IS_PRE_ALLOCATABLE       DOMAIN_POD "is-pre-allocatable"
#define ANNO_PRE_ALLOCATABLE_PRIORITY  DOMAIN_POD "pre-allocatable-priority"

/* ---- CPU and NUMA (5.6) ---------------------------------------------------------------------- */

#define ANNO_RESOURCE_SPEC            DOMAIN_SCHEDULING "resource-spec"
#define ANNO_NUMA_TOPOLOGY_SPEC       DOMAIN_SCHEDULING "numa-topology-spec"
#define ANNO_RESOURCE_STATUS          DOMAIN_SCHEDULING "resource-status"
#define LABEL_NODE_CPU_BIND_POLICY    DOMAIN_NODE "cpu-bind-policy"
#define LABEL_NODE_NUMA_STRATEGY      DOMAIN_NODE "numa-allocate-strategy"
#define LABEL_NODE_NUMA_POLICY        DOMAIN_NODE "numa-topology-policy"
#define LABEL_ENABLE_NUMA_RESERVATION DOMAIN_NODE "enable-numa-reservation"
#define ANNO_CPU_TOPOLOGY             DOMAIN_NODE "cpu-topology"
#define ANNO_POD_CPU_ALLOCS           DOMAIN_NODE "pod-cpu-allocs"
#define ANNO_CPU_SHARED_POOLS         DOMAIN_NODE "cpu-shared-pools"
#define ANNO_BE_CPU_SHARED_POOLS      DOMAIN_NODE "be-cpu-shared-pools"
#define ANNO_KUBELET_CPU_MANAGER      DOMAIN_KUBELET "cpu-manager-policy"
#define ANNO_CPU_BASIC_INFO           DOMAIN_NODE "cpu-basic-info"
#define ANNO_NODE_RESERVATION         DOMAIN_NODE "reservation"
#define ANNO_SYSTEM_QOS_RESOURCE      DOMAIN_NODE "system-qos-resource"

/* ---- devices (5.7) --------------------------------------------------------------------------- */

#define ANNO_DEVICE_ALLOCATED        DOMAIN_SCHEDULING "device-allocated"
#define ANNO_DEVICE_HINT             DOMAIN_SCHEDULING "device-allocate-hint"
#define ANNO_DEVICE_JOINT            DOMAIN_SCHEDULING "device-joint-allocate"
#define ANNO_GPU_PARTITION_SPEC      DOMAIN_SCHEDULING "gpu-partition-spec"
#define ANNO_GPU_PARTITIONS          DOMAIN_SCHEDULING "gpu-partitions"
#define LABEL_GPU_PARTITION_POLICY   DOMAIN_NODE "gpu-partition-policy"
#define LABEL_SECONDARY_WELL_PLANNED DOMAIN_NODE "secondary-device-well-planned"
#define LABEL_GPU_VENDOR             DOMAIN_NODE "gpu-vendor"
#define LABEL_GPU_MODEL              DOMAIN_NODE "gpu-model"
#define LABEL_GPU_DRIVER_VERSION     DOMAIN_NODE "gpu-driver-version"
#define LABEL_GPU_DRIVER_OLD         DOMAIN_KUBE "gpu-driver"
#define LABEL_GPU_MODEL_OLD          DOMAIN_KUBE "gpu-model"
#define LABEL_GPU_ISOLATION_PROVIDER DOMAIN_KOORD "gpu-isolation-provider"
#define GPU_ISOLATION_HAMI           "HAMi-core"
#define LABEL_HAMI_VGPU_NODE         "hami.io/vgpu-node"
#define ANNO_BIND_TIMESTAMP          DOMAIN_SCHEDULING "bind-timestamp"
#define ANNO_GPU_MINORS              DOMAIN_SCHEDULING "gpu-minors"
#define ANNO_HUAWEI_PREDICATE_TIME   "predicate-time"
#define ANNO_HUAWEI_NPU_CORE         "huawei.com/npu-core"
#define ANNO_HUAWEI_ASCEND310P       "huawei.com/Ascend310P"
#define ANNO_CAMBRICON_ASSIGNED      "CAMBRICON_DSMLU_ASSIGHED" /* spelt so on the wire */
#define ANNO_CAMBRICON_PROFILE       "CAMBRICON_DSMLU_PROFILE"
#define ANNO_METAX_ALLOCATED         "metax-tech.com/gpu-devices-allocated"
#define ANNO_CAMBRICON_LOCK          "cambricon.com/dsmlu.lock"
#define ANNO_HAMI_LOCK               "hami.io/mutex.lock"

/* ---- load-aware (5.8) ------------------------------------------------------------------------ */

#define ANNO_USAGE_THRESHOLDS         DOMAIN_SCHEDULING "usage-thresholds"
#define ANNO_LOAD_SCALING_FACTORS     DOMAIN_SCHEDULING "load-estimated-scaling-factors"
#define ANNO_LOAD_SECONDS_SCHEDULED   DOMAIN_SCHEDULING "load-estimated-seconds-after-pod-scheduled"
#define ANNO_LOAD_SECONDS_INITIALIZED DOMAIN_SCHEDULING "load-estimated-seconds-after-initialized"

/* ---- node: colocation, amplification, normalization (5.9) ------------------------------------ */

#define ANNO_COLOCATION_STRATEGY       DOMAIN_NODE "colocation-strategy"
#define LABEL_CPU_RECLAIM_RATIO        DOMAIN_NODE "cpu-reclaim-ratio"
#define LABEL_MEMORY_RECLAIM_RATIO     DOMAIN_NODE "memory-reclaim-ratio"
#define LABEL_MID_STATIC_CPU_RATIO     DOMAIN_NODE "mid-static-cpu-reserved-ratio"
#define LABEL_MID_STATIC_MEMORY_RATIO  DOMAIN_NODE "mid-static-memory-reserved-ratio"
#define ANNO_ORIGIN_EXTENDED           DOMAIN_NODE "originExtendedAllocatable"
#define ANNO_THIRD_PARTY               DOMAIN_NODE "thirdPartyAllocations"
#define ANNO_AMPLIFICATION_RATIO       DOMAIN_NODE "resource-amplification-ratio"
#define ANNO_RAW_ALLOCATABLE           DOMAIN_NODE "raw-allocatable"
#define ANNO_CPU_NORMALIZATION_RATIO   DOMAIN_NODE "cpu-normalization-ratio"
#define LABEL_CPU_NORMALIZATION_ENABLE DOMAIN_NODE "cpu-normalization-enabled"
#define ANNO_NETWORK_BANDWIDTH         DOMAIN_NODE "network-bandwidth"

/* ---- SLO of one pod (5.10) ------------------------------------------------------------------- */

#define ANNO_CPU_BURST            DOMAIN_KOORD "cpuBurst"
#define ANNO_CPU_QOS              DOMAIN_KOORD "cpuQOS"
#define ANNO_MEMORY_QOS           DOMAIN_KOORD "memoryQOS"
#define ANNO_BLKIO_QOS            DOMAIN_KOORD "blkioQOS"
#define ANNO_NETWORK_QOS          DOMAIN_KOORD "networkQOS"
#define ANNO_OOM_SCORE_ADJ        DOMAIN_KOORD "oom-score-adj"
#define ANNO_OOM_SCORE_ADJ_SPEC   DOMAIN_KOORD "oom-score-adj-spec"
#define LABEL_EVICTION_ENABLED    DOMAIN_KOORD "eviction-enabled"
#define ANNO_EVICTION_POLICY      DOMAIN_KOORD "eviction-policy"
#define ANNO_EVICTION_PRIORITY    DOMAIN_KOORD "eviction-priority"
#define LABEL_CORE_SCHED_GROUP_ID DOMAIN_KOORD "core-sched-group-id"
#define LABEL_CORE_SCHED_POLICY   DOMAIN_KOORD "core-sched-policy"
#define ANNO_RESCTRL              DOMAIN_NODE "resctrl"

/* ---- descheduling, migration (5.12) ---------------------------------------------------------- */

#define ANNO_EVICTION_COST         DOMAIN_SCHEDULING "eviction-cost"
#define ANNO_SOFT_EVICTION         DOMAIN_SCHEDULING "soft-eviction"
#define LABEL_EVICT_POLICY         DOMAIN_KOORD "evict-policy"
#define ANNO_EVICT_REASON          DOMAIN_KOORD "evict-reason"
#define ANNO_EVICT_TRIGGER         DOMAIN_KOORD "evict-trigger"
#define ANNO_JOB_CREATED_BY        DOMAIN_KOORD "job-created-by"
#define ANNO_PASSED_ARBITRATION    DOMAIN_DESCHEDULER "passed-arbitration"
#define ANNO_POD_ARBITRATING       DOMAIN_DESCHEDULER "pod-arbitrating"
#define LABEL_APP_CREATED_BY       "app.kubernetes.io/created-by"
#define APP_CREATED_BY_DESCHEDULER "koord-descheduler"
#define ANNO_DESCHEDULER_EVICT     "descheduler.alpha.kubernetes.io/evict"
#define ANNO_PREFER_NO_EVICTION    "descheduler.alpha.kubernetes.io/prefer-no-eviction"
#define ANNO_POD_DELETION_COST     "controller.kubernetes.io/pod-deletion-cost"

/* ---- scheduler internals, runtime proxy, misc (5.14, 5.15) ----------------------------------- */

#define ANNO_SCHEDULING_HINT       DOMAIN_SCHED_INNER "scheduling-hint"
#define ANNO_SCHEDULING_HINT_OLD   DOMAIN_SCHEDULING "scheduling-hint"
#define LABEL_QUESTIONED_OBJECT    DOMAIN_SCHEDULING "questioned-object-key"
#define LABEL_TOPOLOGY_KEY_EXPLAIN DOMAIN_SCHEDULING "topology-key-to-explain"
#define LABEL_SKIP_HOOKSERVER      DOMAIN_RUNTIMEPROXY "skip-hookserver"
#define LABEL_APP_MANAGED_BY       "app.kubernetes.io/managed-by"
#define APP_MANAGED_BY_KOORDINATOR "Koordinator"

#endif
