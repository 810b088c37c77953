/* topology.c - the admission step PodTopologyLabels: a pod gets the zone and the region of its
 * node. */
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"

static int topology_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                           struct kj_mval *obj, struct kerr *err)
{
    static const char prefix[] = "\"topology.kubernetes.io/";
    static const char *const keys[] = { "topology.kubernetes.io/zone",
                                        "topology.kubernetes.io/region" };
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *node = NULL;
    struct apiserver *s = self;
    bool binding = streq(r->subresource, "binding");
    int changed = 0;

    (void)err;
    if (*r->res->group || !streq(r->res->plural, "pods") || !streq(r->operation, "CREATE") ||
        (*r->subresource && !binding))
        return 0;
    const struct kj_mval *target = kj_mget(obj, "target");
    if (binding && !streq(str_or(kj_mstr_get(kj_mget(target, "kind")), ""), "Node"))
        return 0;
    const char *name =
        kj_mstr_get(binding ? kj_mget(target, "name") : kj_mget(kj_mget(obj, "spec"), "nodeName"));
    if (str_empty(name))
        return 0;
    /* Bindings are many, and most nodes have neither label: only a text with one is parsed. */
    struct store_key k = { "nodes", "", name };
    if (store_get_latest(s->store, &k, &doc, NULL, NULL) < 0 ||
        !memmem(doc.data, doc.len, prefix, sizeof prefix - 1) ||
        kj_parse(doc.data, doc.len, 0, &node, NULL) < 0)
        return 0;
    const struct kj_val *from = kj_path(kj_root(node), "metadata.labels");
    struct kj_mval *meta = kj_mget(obj, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct kj_val *v = kj_get(from, keys[i]);
        if (!kj_str(v) || kj_mtype(meta) != KJ_OBJ)
            continue;
        struct kj_mval *labels = kj_mget(meta, "labels");
        if (kj_mtype(labels) != KJ_OBJ) {
            labels = kj_mobj(d);
            kj_mset(d, meta, "labels", labels);
        }
        kj_mset(d, labels, keys[i], kj_mcopy(d, v));
        changed = 1;
    }
    return binding && changed; /* a pod needs no defaults for its labels */
}

void topology_add(struct apiserver *s)
{
    static const struct admission_step step = { "PodTopologyLabels", topology_mutate, NULL };

    apiserver_add_admission(s, &step, s);
}
