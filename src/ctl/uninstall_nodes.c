/* uninstall_nodes.c - nodes as they were before koord-manager: without its resources, labels and
 * annotations. What people wrote there stays. */
#include "api/node.h"
#include "api/protocol/keys.h"
#include "client/kube.h"
#include "ctl/uninstall.h"

static bool is_ours(struct str name)
{
    static const char *const names[] = { RES_BATCH_CPU, RES_BATCH_MEMORY, RES_MID_CPU,
                                         RES_MID_MEMORY };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return name.n > strlen(DOMAIN_KOORD) && memcmp(name.p, DOMAIN_KOORD, strlen(DOMAIN_KOORD)) == 0;
}

/* "capacity":{"kubernetes.io/batch-cpu":null}; how many there are. */
static unsigned drop_resources(struct kjw *w, const char *key, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *value;
    struct str name;
    unsigned n = 0;

    kjw_obj(w, key);
    while (kj_next(&it, &name, &value)) {
        char text[320];
        if (!is_ours(name) || name.n >= sizeof text)
            continue;
        memcpy(text, name.p, name.n);
        text[name.n] = '\0';
        kjw_null(w, text);
        n++;
    }
    kjw_end(w);
    return n;
}

static unsigned drop_keys(struct kjw *w, const char *key, const struct kj_val *have,
                          const char *const *names, size_t n_names)
{
    unsigned n = 0;

    kjw_obj(w, key);
    for (size_t i = 0; i < n_names; i++) {
        if (!kj_get(have, names[i]))
            continue;
        kjw_null(w, names[i]);
        n++;
    }
    kjw_end(w);
    return n;
}

static unsigned write_status(const struct kj_val *node, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    unsigned n = drop_resources(&w, "capacity", kj_path(node, "status.capacity"));
    n += drop_resources(&w, "allocatable", kj_path(node, "status.allocatable"));
    kjw_end(&w);
    kjw_end(&w);
    return n;
}

/* What koord-manager derives; labels and annotations that are input for it are of people. */
static unsigned write_metadata(const struct kj_val *node, struct strbuf *out)
{
    static const char *const annotations[] = { ANNO_CPU_NORMALIZATION_RATIO,
                                               ANNO_AMPLIFICATION_RATIO, ANNO_RAW_ALLOCATABLE,
                                               ANNO_ORIGIN_EXTENDED };
    static const char *const labels[] = { LABEL_GPU_VENDOR, LABEL_GPU_MODEL,
                                          LABEL_GPU_DRIVER_VERSION };
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    unsigned n = drop_keys(&w, "annotations", kj_path(node, "metadata.annotations"), annotations,
                           ARRAY_LEN(annotations));
    n += drop_keys(&w, "labels", kj_path(node, "metadata.labels"), labels, ARRAY_LEN(labels));
    kjw_end(&w);
    kjw_end(&w);
    return n;
}

static bool clean_node(void *arg, const struct kj_val *node)
{
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf metadata = STRBUF_INIT;
    struct removal *x = arg;
    const char *name = kj_str_or(kj_path(node, "metadata.name"), "");
    struct kube_req r = { .verb = KUBE_PATCH, .kind = &kind_node, .name = name };
    struct kerr err = { 0 };

    unsigned keys = write_metadata(node, &metadata), resources = write_status(node, &status);
    if (keys && removal_patch(x, &r, &metadata, &err) < 0) {
        removal_fail(x, &err, "labels and annotations of node %s", name);
        return true;
    }
    r.subresource = "status";
    if (resources && removal_patch(x, &r, &status, &err) < 0) {
        removal_fail(x, &err, "batch and mid resources of node %s", name);
        return true;
    }
    if (keys || resources)
        removal_say(x, "cleaned", "would clean",
                    "node %s: %u resources in its status, %u labels and annotations", name,
                    resources, keys);
    return true;
}

void removal_clean_nodes(struct removal *x)
{
    struct kerr err = { 0 };

    if (ctl_each(x->c, &(struct kube_req){ .kind = &kind_node }, clean_node, x, &err) < 0)
        removal_fail(x, &err, "nodes");
}
