/* podmetrics.c - what pods ask for and may use, pod by pod, as Prometheus' text.
 *
 * Written straight from the pods: a registry would hold every number a second time.
 */
#include "scheduler/observe/podmetrics.h"

#include "api/pod.h"
#include "api/podresources.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "component/metrics.h"

struct family {
    const char *name, *help;
    reslist (*list)(const struct pod *p, const struct podres_options *o, struct arena *a);
};
static const struct family families[] = {
    { "kube_pod_resource_limit", "Resources that a pod may use at most, with their unit.",
      pod_limits },
    { "kube_pod_resource_request", "Resources that a pod asks for, with their unit.",
      pod_requests },
};

static int by_key(const void *left, const void *right)
{
    const struct objmeta *a = &(*(struct kobj *const *)left)->meta;
    const struct objmeta *b = &(*(struct kobj *const *)right)->meta;
    int d = strcmp(a->ns, b->ns);

    return d ? d : strcmp(a->name, b->name);
}

/* A name that no API server would check may hold anything. */
static void put_label(struct strbuf *out, const char *name, const char *value)
{
    strbuf_appendf(out, "%s=\"", name);
    for (const char *c = value ? value : ""; *c; c++) {
        if (*c == '"' || *c == '\\')
            strbuf_appendc(out, '\\');
        if (*c == '\n')
            strbuf_append(out, "\\n");
        else
            strbuf_appendc(out, *c);
    }
    strbuf_append(out, "\",");
}

static const char *unit_of(const char *resource)
{
    if (streq(resource, "cpu"))
        return "cores";
    if (streq(resource, "memory") || streq(resource, "storage") ||
        streq(resource, "ephemeral-storage") || str_starts(resource, "hugepages-"))
        return "bytes";
    return "integer";
}

static void put_labels(struct strbuf *out, const struct kobj *o, const char *resource)
{
    const struct pod *p = pod_of(o);
    const struct opt_i32 *priority = &p->spec->priority;

    put_label(out, "namespace", o->meta.ns);
    put_label(out, "node", p->node_name);
    put_label(out, "pod", o->meta.name);
    strbuf_append(out, "priority=\"");
    if (priority->set)
        strbuf_append_i64(out, priority->v);
    strbuf_append(out, "\",");
    put_label(out, "resource", resource);
    put_label(out, "scheduler", p->spec->scheduler_name);
    strbuf_appendf(out, "unit=\"%s\"", unit_of(resource));
}

static void put_pod(struct strbuf *out, const struct family *f, const struct kobj *o,
                    struct arena *a)
{
    const reslist list = f->list(pod_of(o), NULL, a);
    const rescountlist counts = reslist_counts(&list, a);

    for (uint32_t i = 0; i < counts.n; i++) {
        const struct rescount *c = &counts.items[i];
        if (c->count == 0)
            continue;
        strbuf_appendf(out, "%s{", f->name);
        put_labels(out, o, c->name);
        strbuf_append(out, "} ");
        metrics_append_f64(out, (double)c->count / (streq(c->name, "cpu") ? 1000.0 : 1.0));
        strbuf_appendc(out, '\n');
    }
}

void podmetrics_write(struct kobj **pods, size_t n, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (n)
        qsort(pods, n, sizeof *pods, by_key);
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        strbuf_appendf(out, "# HELP %s %s\n# TYPE %s gauge\n", families[i].name, families[i].help,
                       families[i].name);
        for (size_t k = 0; k < n; k++) {
            if (pod_is_terminal(pod_of(pods[k])))
                continue;
            put_pod(out, &families[i], pods[k], a);
            arena_reset(a);
        }
    }
}
