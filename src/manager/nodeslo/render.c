/* render.c - strategies of the ConfigMap become the spec of a NodeSLO (manager 6). */
#include "manager/nodeslo/render.h"

/* The third-party map sits under a key of its own on the wire (api-config 2). */
#define EXTENSIONS_NONE "{\"Object\":{}}"

static struct system_strategy *system_of(const struct sloconfig *c, const kstrmap *labels,
                                         const kstrmap *annotations, struct arena *a,
                                         struct kerr *why)
{
    struct system_strategy *s = arena_new0(a, struct system_strategy);
    struct qty bandwidth;

    memcpy(s, slo_section_of(sloconfig_get(c, SLO_SYSTEM), labels), sizeof *s);
    int r = node_network_bandwidth(annotations, &bandwidth, why);
    if (r < 0) {
        kerr_wrap(why, "annotation %s", ANNO_NETWORK_BANDWIDTH);
        return NULL;
    }
    if (r > 0)
        s->total_network_bandwidth = bandwidth;
    return s;
}

void nodeslo_render(const struct sloconfig *c, const kstrmap *labels, const kstrmap *annotations,
                    const char *extensions, struct arena *a, struct nodeslo_spec *ret,
                    struct kerr *why)
{
    const struct host_app_strategy *apps = slo_section_of(sloconfig_get(c, SLO_HOST_APPS), labels);

    *why = (struct kerr){ 0 };
    *ret = (struct nodeslo_spec){
        .threshold = (void *)slo_section_of(sloconfig_get(c, SLO_THRESHOLD), labels),
        .resource_qos = (void *)slo_section_of(sloconfig_get(c, SLO_QOS), labels),
        .cpu_burst = (void *)slo_section_of(sloconfig_get(c, SLO_BURST), labels),
        .system = system_of(c, labels, annotations, a, why),
        .host_applications = apps->applications,
        .extensions = extensions ? extensions : EXTENSIONS_NONE,
    };
}
