/* hint.h - scheduling hints and the extended resource spec (api 5.2, 5.14). */
#ifndef KOORD_API_PROTOCOL_HINT_H
#define KOORD_API_PROTOCOL_HINT_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

struct hint_extension {
    const char *plugin, *json;
};
struct scheduling_hint {
    kstrlist node_names, preferred_node_names;
    KLIST(struct hint_extension) extensions;
};
DECLARE_ANNOTATION(scheduling_hint, struct scheduling_hint)
/* Under the current key, else the deprecated one. 1, 0: absent, negative: bad. */
int scheduling_hint_get(const kstrmap *annotations, struct arena *a, struct scheduling_hint *ret,
                        struct kerr *err);
/* NULL when the hint says nothing to the plugin. */
const char *scheduling_hint_extension(const struct scheduling_hint *h, const char *plugin);

/* What koordlet and the runtime proxy need to know of batch resources, which the kubelet drops. */
struct extended_resources {
    reslist limits, requests;
};
struct extended_container {
    const char *name;
    struct extended_resources resources;
};
struct extended_resource_spec {
    KLIST(struct extended_container) containers; /* sorted by name */
};
DECLARE_ANNOTATION(extended_resource_spec, struct extended_resource_spec)

struct container;
/* Of the regular containers; those without batch-cpu and batch-memory are left out. */
void extended_resource_spec_make(const struct container *containers, uint32_t n, struct arena *a,
                                 struct extended_resource_spec *ret);
/* The webhook's step: 1 and the new text when the annotation has to be written, 0 when it may stay
 * as it is, negative when the one that is there does not parse. */
int extended_resource_spec_update(const struct container *containers, uint32_t n,
                                  const kstrmap *annotations, struct arena *a, struct strbuf *out,
                                  struct kerr *err);
#endif
