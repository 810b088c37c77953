/* hollow_node.c - the objects of a hollow node. */
#include <stdio.h>

#include "api/protocol/cpu.h"
#include "api/protocol/device.h"
#include "api/protocol/keys.h"
#include "cluster/hollow.h"

#define GIB (INT64_C(1) << 30)

void hnode_defaults(struct hollow_shape *s)
{
    s->prefix = s->prefix ? s->prefix : "hollow-";
    s->mcpu = s->mcpu ? s->mcpu : 16000;
    s->memory_bytes = s->memory_bytes ? s->memory_bytes : 64 * GIB;
    s->storage_bytes = s->storage_bytes ? s->storage_bytes : 200 * GIB;
    s->max_pods = s->max_pods ? s->max_pods : 110;
    s->zones = s->zones ? s->zones : 1;
    s->gpu_memory_bytes = s->gpu_memory_bytes ? s->gpu_memory_bytes : 80 * GIB;
}

void hnode_write_node(const struct hnode *n, struct strbuf *out)
{
    const struct hollow_shape *s = n->shape;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "Node");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", n->name);
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_HOLLOW, "true");
    kjw_str(&w, "kubernetes.io/hostname", n->name);
    kjw_str(&w, "kubernetes.io/os", "linux");
    kjw_str(&w, "kubernetes.io/arch", "amd64");
    kjw_str(&w, "topology.kubernetes.io/region", "local");
    kjw_str(&w, "topology.kubernetes.io/zone", n->zone);
    for (size_t i = 0; i < s->nlabels; i++)
        kjw_str(&w, s->labels[i].key, s->labels[i].value);
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    if (s->ntaints) {
        kjw_arr(&w, "taints");
        for (size_t i = 0; i < s->ntaints; i++) {
            kjw_obj(&w, NULL);
            kjw_str(&w, "key", s->taints[i].key);
            if (!str_empty(s->taints[i].value))
                kjw_str(&w, "value", s->taints[i].value);
            kjw_str(&w, "effect", s->taints[i].effect);
            kjw_end(&w);
        }
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

static void write_resources(struct kjw *w, const char *key, const struct hollow_shape *s)
{
    char text[32];

    kjw_obj(w, key);
    (void)snprintf(text, sizeof text, "%lld%s",
                   (long long)(s->mcpu % 1000 ? s->mcpu : s->mcpu / 1000),
                   s->mcpu % 1000 ? "m" : "");
    kjw_str(w, "cpu", text);
    (void)snprintf(text, sizeof text, "%lldKi", (long long)(s->memory_bytes / 1024));
    kjw_str(w, "memory", text);
    (void)snprintf(text, sizeof text, "%lldKi", (long long)(s->storage_bytes / 1024));
    kjw_str(w, "ephemeral-storage", text);
    (void)snprintf(text, sizeof text, "%u", s->max_pods);
    kjw_str(w, "pods", text);
    if (s->gpus) {
        (void)snprintf(text, sizeof text, "%u", s->gpus);
        kjw_str(w, RES_NVIDIA_GPU, text);
    }
    kjw_end(w);
}

static void write_condition(struct kjw *w, const struct node *old, nsec_t now, const char *type,
                            uint8_t status, const char *reason, const char *message)
{
    const struct condition c = {
        .type = type, .status = status, .reason = reason, .message = message
    };

    condition_begin(w, &c, old ? &old->status.conditions : NULL, now);
    kjw_time(w, "lastHeartbeatTime", now);
    kjw_end(w);
}

static void write_identity(struct kjw *w, const struct hnode *n)
{
    char ip[32];

    kjw_arr(w, "addresses");
    (void)snprintf(ip, sizeof ip, "172.%u.%u.%u", 16 + (n->index >> 16), (n->index >> 8) & 255,
                   n->index & 255);
    kjw_obj(w, NULL);
    kjw_str(w, "type", "InternalIP");
    kjw_str(w, "address", ip);
    kjw_end(w);
    kjw_obj(w, NULL);
    kjw_str(w, "type", "Hostname");
    kjw_str(w, "address", n->name);
    kjw_end(w);
    kjw_end(w);
    kjw_obj(w, "nodeInfo");
    kjw_str(w, "machineID", n->name);
    kjw_str(w, "systemUUID", n->name);
    kjw_str(w, "bootID", n->name);
    kjw_str(w, "kernelVersion", "6.1.0-hollow");
    kjw_str(w, "osImage", "Hollow Linux");
    kjw_str(w, "containerRuntimeVersion", "hollow://1.0");
    kjw_str(w, "kubeletVersion", "v1.35.4-hollow");
    kjw_str(w, "kubeProxyVersion", "");
    kjw_str(w, "operatingSystem", "linux");
    kjw_str(w, "architecture", "amd64");
    kjw_end(w);
}

/* old NULL: the first time, with everything; later only the heartbeat, since other programs add
 * resources of their own. */
void hnode_write_status(const struct hnode *n, nsec_t now, const struct node *old,
                        struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    if (!n->registered) {
        write_resources(&w, "capacity", n->shape);
        write_resources(&w, "allocatable", n->shape);
        write_identity(&w, n);
    }
    kjw_arr(&w, "conditions");
    write_condition(&w, old, now, "MemoryPressure", COND_FALSE, "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available");
    write_condition(&w, old, now, "DiskPressure", COND_FALSE, "KubeletHasNoDiskPressure",
                    "kubelet has no disk pressure");
    write_condition(&w, old, now, "PIDPressure", COND_FALSE, "KubeletHasSufficientPID",
                    "kubelet has sufficient PID available");
    write_condition(&w, old, now, "Ready", COND_TRUE, "KubeletReady",
                    "kubelet is posting ready status");
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- devices, NUMA ------------------------------------------------------------------------- */

static unsigned numa_of(const struct hollow_shape *s, unsigned i, unsigned n)
{
    unsigned numa = s->numa ? s->numa : 1;
    return n ? MIN(i * numa / n, numa - 1) : 0;
}

static unsigned complexes_of(const struct hollow_shape *s)
{
    unsigned usual = s->gpus ? (s->gpus + 1) / 2 : s->rdma;
    return MAX(s->pcie ? s->pcie : usual, 1U);
}

static void write_topology_of(struct kjw *w, const struct hollow_shape *s, unsigned i, unsigned n,
                              unsigned bus)
{
    unsigned all = complexes_of(s), complex = MIN(i * all / n, all - 1);
    unsigned numa = numa_of(s, complex, all);
    char text[64];

    kjw_obj(w, "topology");
    kjw_i64(w, "socketID", numa);
    kjw_i64(w, "nodeID", numa);
    (void)snprintf(text, sizeof text, "pci0000:%02x", complex);
    kjw_str(w, "pcieID", text);
    (void)snprintf(text, sizeof text, "0000:%02x:00.0", bus);
    kjw_str(w, "busID", text);
    kjw_end(w);
}

void hnode_gpu_uuid(const struct hnode *n, unsigned i, char *out, size_t size)
{
    (void)snprintf(out, size, "GPU-%08x-0000-4000-8000-%012x", n->index, i);
}

static void write_gpu(struct kjw *w, const struct hnode *n, unsigned i)
{
    const struct hollow_shape *s = n->shape;
    char text[64];

    kjw_obj(w, NULL);
    kjw_str(w, "type", DEVICE_TYPE_GPU);
    hnode_gpu_uuid(n, i, text, sizeof text);
    kjw_str(w, "id", text);
    kjw_i64(w, "minor", i);
    kjw_i64(w, "moduleID", i);
    kjw_bool(w, "health", true);
    kjw_obj(w, "resources");
    kjw_str(w, RES_GPU_CORE, "100");
    (void)snprintf(text, sizeof text, "%lldKi", (long long)(s->gpu_memory_bytes / 1024));
    kjw_str(w, RES_GPU_MEMORY, text);
    kjw_str(w, RES_GPU_MEMORY_RATIO, "100");
    kjw_end(w);
    write_topology_of(w, s, i, s->gpus, i);
    kjw_end(w);
}

enum { NIC_BUS = 0x80, FIRST_VF = 2 }; /* 0 is the card itself; drivers keep 1 */

static void write_nic(struct kjw *w, const struct hollow_shape *s, unsigned i)
{
    char text[64];

    kjw_obj(w, NULL);
    kjw_str(w, "type", DEVICE_TYPE_RDMA);
    (void)snprintf(text, sizeof text, "0000:%02x:00.0", NIC_BUS + i);
    kjw_str(w, "id", text);
    kjw_i64(w, "minor", i);
    kjw_bool(w, "health", true);
    kjw_obj(w, "resources");
    kjw_str(w, RES_RDMA, "100");
    kjw_end(w);
    write_topology_of(w, s, i, s->rdma, NIC_BUS + i);
    if (s->rdma_vfs) {
        kjw_arr(w, "vfGroups");
        kjw_obj(w, NULL);
        kjw_obj(w, "labels");
        kjw_str(w, "type", "general");
        kjw_end(w);
        kjw_arr(w, "vfs");
        for (unsigned k = 0; k < s->rdma_vfs; k++) {
            unsigned function = FIRST_VF + k;
            kjw_obj(w, NULL);
            kjw_i64(w, "minor", k);
            (void)snprintf(text, sizeof text, "0000:%02x:%02x.%x", NIC_BUS + i, function / 8,
                           function % 8);
            kjw_str(w, "busID", text);
            kjw_end(w);
        }
        kjw_end(w);
        kjw_end(w);
        kjw_end(w);
    }
    kjw_end(w);
}

/* {"2":[{"minors":[0,1],"gpuLinkType":"NVLink","allocationScore":1},...],"4":...} */
static void write_partitions(const struct hollow_shape *s, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char size_text[16];

    kjw_obj(&w, NULL);
    for (unsigned size = 1; size <= s->gpus; size *= 2) {
        (void)snprintf(size_text, sizeof size_text, "%u", size);
        kjw_arr(&w, size_text);
        for (unsigned first = 0; first + size <= s->gpus; first += size) {
            kjw_obj(&w, NULL);
            kjw_arr(&w, "minors");
            for (unsigned i = first; i < first + size; i++)
                kjw_i64(&w, NULL, i);
            kjw_end(&w);
            kjw_str(&w, "gpuLinkType", "NVLink");
            kjw_i64(&w, "allocationScore", 1);
            kjw_end(&w);
        }
        kjw_end(&w);
    }
    kjw_end(&w);
}

static void write_device_meta(struct kjw *w, const struct hnode *n)
{
    const struct hollow_shape *s = n->shape;

    kjw_obj(w, "metadata");
    kjw_str(w, "name", n->name);
    if (s->gpus) {
        kjw_obj(w, "labels");
        kjw_str(w, LABEL_GPU_VENDOR, GPU_VENDOR_NVIDIA);
        kjw_str(w, LABEL_GPU_MODEL, s->gpu_model ? s->gpu_model : "hollow-gpu");
        if (s->gpu_partitions)
            kjw_str(w, LABEL_GPU_PARTITION_POLICY, s->gpu_partitions);
        kjw_end(w);
    }
    if (s->gpus && s->gpu_partitions) {
        CLEANUP(strbuf_fini) struct strbuf table = STRBUF_INIT;
        write_partitions(s, &table);
        kjw_obj(w, "annotations");
        kjw_str(w, ANNO_GPU_PARTITIONS, strbuf_str(&table));
        kjw_end(w);
    }
    kjw_end(w);
}

void hnode_write_device(const struct hnode *n, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "scheduling.koordinator.sh/v1alpha1");
    kjw_str(&w, "kind", "Device");
    write_device_meta(&w, n);
    kjw_obj(&w, "spec");
    kjw_arr(&w, "devices");
    for (unsigned i = 0; i < n->shape->gpus; i++)
        write_gpu(&w, n, i);
    for (unsigned i = 0; i < n->shape->rdma; i++)
        write_nic(&w, n->shape, i);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

/* {"detail":[{"id":0,"core":0,"socket":0,"node":0},...]}: the threads of a core are neighbours. */
static void write_cpus(const struct hollow_shape *s, struct strbuf *out)
{
    unsigned cpus = (unsigned)(s->mcpu / 1000), threads = s->threads ? s->threads : 2;
    unsigned per_socket = s->sockets ? s->numa / s->sockets : 1;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_arr(&w, "detail");
    for (unsigned i = 0; i < cpus; i++) {
        unsigned numa = numa_of(s, i, cpus);
        kjw_obj(&w, NULL);
        kjw_i64(&w, "id", i);
        kjw_i64(&w, "core", i / threads);
        kjw_i64(&w, "socket", numa / per_socket);
        kjw_i64(&w, "node", numa);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

static void write_zone(struct kjw *w, const struct hollow_shape *s, unsigned zone)
{
    const char *names[] = { "cpu", "memory" };
    char text[32];

    kjw_obj(w, NULL);
    (void)snprintf(text, sizeof text, "node-%u", zone);
    kjw_str(w, "name", text);
    kjw_str(w, "type", "Node");
    kjw_arr(w, "resources");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (i == 0)
            (void)snprintf(text, sizeof text, "%lldm", (long long)(s->mcpu / s->numa));
        else
            (void)snprintf(text, sizeof text, "%lldKi",
                           (long long)(s->memory_bytes / 1024 / s->numa));
        kjw_obj(w, NULL);
        kjw_str(w, "name", names[i]);
        kjw_str(w, "capacity", text);
        kjw_str(w, "allocatable", text);
        kjw_str(w, "available", text);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_end(w);
}

void hnode_write_topology(const struct hnode *n, struct strbuf *out)
{
    const struct hollow_shape *s = n->shape;
    CLEANUP(strbuf_fini) struct strbuf cpus = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    write_cpus(s, &cpus);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "topology.node.k8s.io/v1alpha1");
    kjw_str(&w, "kind", "NodeResourceTopology");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", n->name);
    kjw_obj(&w, "labels");
    kjw_str(&w, "app.kubernetes.io/managed-by", "Koordinator");
    kjw_end(&w);
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANNO_CPU_TOPOLOGY, strbuf_str(&cpus));
    if (s->cpu_manager && streq(s->cpu_manager, KUBELET_CPU_POLICY_STATIC))
        kjw_str(&w, ANNO_KUBELET_CPU_MANAGER, "{\"policy\":\"" KUBELET_CPU_POLICY_STATIC "\"}");
    kjw_end(&w);
    kjw_end(&w);
    kjw_arr(&w, "topologyPolicies");
    kjw_str(&w, NULL, s->numa_policy ? s->numa_policy : "None");
    kjw_end(&w);
    kjw_arr(&w, "zones");
    for (unsigned i = 0; i < s->numa; i++)
        write_zone(&w, s, i);
    kjw_end(&w);
    kjw_end(&w);
}
