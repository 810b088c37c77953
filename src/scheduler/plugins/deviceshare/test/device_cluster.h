/* device_cluster.h - Devices, pods that hold devices and pods that want some, as texts for the
 * fixtures; what a pod gets, in a few words. */
#ifndef KOORD_SCHEDULER_DEVICESHARE_TEST_DEVICE_CLUSTER_H
#define KOORD_SCHEDULER_DEVICESHARE_TEST_DEVICE_CLUSTER_H
#include "api/koord/device.h"
#include "scheduler/plugins/deviceshare/deviceshare.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/test/plugin_fixture.h"

struct device_text {                         /* a Device as it is written */
    const char *name, *labels, *annotations; /* "'key':'value'"; NULL: none */
    int gpus, per_pcie;                      /* per_pcie 0: no topology */
    int pcies_per_numa;
    const char *memory;   /* of a card; NULL: 8Gi */
    const char *resource; /* of a card, instead of the usual ones; NULL: those */
    int unhealthy;        /* minor; -1 or 0 with `all_healthy` */
    bool has_unhealthy;
    int rdmas, rdma_first; /* as many PCIes, one after the other */
    int vfs;               /* of each RDMA device: .2, .3, ... */
    int fpgas;
};
/* The first parts of the bus ids of RDMA devices. */
static const char *const rdma_bus[] = { "1f", "90", "51", "b9", "c1", "c2", "c3", "c4" };

static inline UNUSED void text_place(struct strbuf *b, const struct device_text *d, int pcie)
{
    if (d->per_pcie)
        strbuf_appendf(b, ",'topology':{'socketID':%d,'nodeID':%d,'pcieID':'%d','busID':'x'}",
                       pcie / d->pcies_per_numa, pcie / d->pcies_per_numa, pcie);
}

static inline UNUSED void text_rdma(struct strbuf *b, const struct device_text *d, int i)
{
    strbuf_appendf(b,
                   "%s{'type':'rdma','minor':%d,'id':'0000:%s:00.0','health':true,'resources':{"
                   "'koordinator.sh/rdma':'100'}",
                   i || d->gpus ? "," : "", i + d->rdma_first, rdma_bus[i]);
    text_place(b, d, i);
    if (d->vfs) {
        strbuf_append(b, ",'vfGroups':[{'labels':{'type':'general'},'vfs':[");
        for (int v = d->vfs - 1; v >= 0; v--) /* not in the order of their bus ids */
            strbuf_appendf(b, "%s{'minor':%d,'busID':'0000:%s:00.%d'}", v < d->vfs - 1 ? "," : "",
                           v, rdma_bus[i], v + 2);
        strbuf_append(b, "]}]");
    }
    strbuf_append(b, "}");
}

static inline UNUSED const char *device_text(struct object_fixture *f, const struct device_text *d)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "{'metadata':{'name':'%s','labels':{%s},'annotations':{%s}},'spec':{"
                   "'devices':[",
                   str_or(d->name, "n1"), str_or(d->labels, ""), str_or(d->annotations, ""));
    for (int i = 0; i < d->gpus; i++) {
        strbuf_appendf(&b, "%s{'type':'gpu','minor':%d,'id':'GPU-%d','health':%s,'resources':{",
                       i ? "," : "", i, i,
                       d->has_unhealthy && d->unhealthy == i ? "false" : "true");
        if (d->resource)
            strbuf_append(&b, d->resource);
        else
            strbuf_appendf(&b,
                           "'koordinator.sh/gpu-core':'100','koordinator.sh/gpu-memory-ratio':"
                           "'100','koordinator.sh/gpu-memory':'%s'",
                           str_or(d->memory, "8Gi"));
        strbuf_append(&b, "}");
        text_place(&b, d, d->per_pcie ? i / d->per_pcie : 0);
        strbuf_append(&b, "}");
    }
    for (int i = 0; i < d->rdmas; i++)
        text_rdma(&b, d, i);
    for (int i = 0; i < d->fpgas; i++)
        strbuf_appendf(&b,
                       "%s{'type':'fpga','minor':%d,'health':true,'resources':{'koordinator.sh/"
                       "fpga':'100'}}",
                       i || d->gpus || d->rdmas ? "," : "", i);
    strbuf_append(&b, "]}}");
    return arena_strdup(f->arena, strbuf_str(&b));
}
/* sched-device 6.5: two NUMA nodes, two PCIes each, two GPUs and an RDMA device on each. */
#define NODE_T                                                                            \
    .gpus = 8, .per_pcie = 2, .pcies_per_numa = 2, .rdmas = 4, .rdma_first = 1, .vfs = 4, \
    .memory = "80Gi"

/* JSON as the value of an annotation: ' becomes an escaped ". */
static inline UNUSED const char *quoted(struct object_fixture *f, const char *json)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (; *json; json++)
        if (*json == '\'')
            strbuf_append(&b, "\\\"");
        else
            strbuf_appendc(&b, *json);
    return arena_strdup(f->arena, strbuf_str(&b));
}

/* An annotation with a JSON value, and a comma in front if it is not the first. */
static inline UNUSED const char *annotation(struct object_fixture *f, const char *key,
                                            const char *json)
{
    return arena_printf(f->arena, "'scheduling.koordinator.sh/%s':'%s'", key, quoted(f, json));
}

struct pod_text {
    const char *name;        /* NULL: p */
    const char *annotations; /* "'key':'value'"; NULL: none */
    const char *labels;
    const char *requests; /* "'koordinator.sh/gpu':'50'" */
    const char *on;       /* node; NULL: none */
    const char *spec;     /* more members, with a comma in front */
};
static inline UNUSED const char *wanting(struct object_fixture *f, const struct pod_text *p)
{
    const char *name = str_or(p->name, "p");

    return arena_printf(
        f->arena,
        "{'metadata':{'name':'%s','namespace':'default','uid':'uid-%s','labels':{%s},"
        "'annotations':{%s}},'spec':{%s%s%s'containers':[{'name':'c','resources':{'requests':{%s}}}"
        "]"
        "%s}}",
        name, name, str_or(p->labels, ""), str_or(p->annotations, ""), p->on ? "'nodeName':'" : "",
        p->on ? p->on : "", p->on ? "'," : "", str_or(p->requests, ""), str_or(p->spec, ""));
}

/* "gpu 0,1 rdma 1(0000:1f:00.2)": kinds, minors, virtual functions. */
static inline UNUSED const char *in_words(struct arena *a, const struct held *items, uint32_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int kind = -1;

    for (uint32_t i = 0; i < n; i++) {
        if (items[i].kind != kind)
            strbuf_appendf(&b, "%s%s ", kind < 0 ? "" : " ",
                           device_kind_name((enum device_kind)items[i].kind));
        strbuf_appendf(&b, "%s%d", items[i].kind == kind ? "," : "", items[i].minor);
        for (uint32_t v = 0; v < items[i].nvfs; v++)
            strbuf_appendf(&b, "(%s)", items[i].vfs[v].bus_id);
        kind = items[i].kind;
    }
    return arena_strdup(a, strbuf_str(&b));
}
#endif
