/* request.h - contexts of the hooks from what a runtime or the proxy asks (koordlet-qos 14.2).
 *
 * Texts of a message are no C strings: what the hooks read is copied into the arena. Pure.
 */
#ifndef KOORD_KOORDLET_RUNTIME_REQUEST_H
#define KOORD_KOORDLET_RUNTIME_REQUEST_H
#include "base/wire_codec.h"
#include "koordlet/hooks/hooks.h"

struct asked_pod { /* borrowed from the message */
    struct str ns, name, uid;
    wire_map labels, annotations;
    struct str cgroup_parent;
};
/* The response is empty; hook_context_fini() ends it. Batch resources come from the annotation. */
void request_pod(const struct asked_pod *p, struct arena *a, struct hook_context *ret);
/* id: without the runtime's name; {NULL, 0}: not known yet. */
void request_container(const struct asked_pod *p, struct str name, struct str id,
                       const char *default_runtime, struct arena *a, struct hook_context *ret);
/* The directory of a pod as the executor names it: relative, a lone name of a slice in full. NULL:
 * it is none that we would write to. */
const char *request_cgroup_dir(struct str parent, struct arena *a);
/* Something of the response is for the runtime, or for files. */
bool response_is_empty(const struct hook_context *c);
#endif
