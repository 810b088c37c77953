/* merge.h - what hooks are asked about a CRI request, and what their answers change in it
 * (runtime-proxy 4.3).
 *
 * Pure. What is cached of a pod or container is the request that hooks get about it: a
 * hook_pod_request or hook_container_request. Everything new is made in the arena.
 */
#ifndef KOORD_RUNTIMEPROXY_MERGE_H
#define KOORD_RUNTIMEPROXY_MERGE_H
#include "api/wire/hook.h"

/* ---- from CRI to hooks ----------------------------------------------------------------------- */

void merge_from_run_pod(const struct cri_run_pod_request *in, struct hook_pod_request *ret);
void merge_from_create(const struct cri_create_request *in, const struct hook_pod_request *pod,
                       struct arena *a, struct hook_container_request *ret);
/* The requested resources into the cached ones. */
void merge_from_update(const struct cri_update_request *in, struct arena *a,
                       struct hook_container_request *cached);

/* ---- answers --------------------------------------------------------------------------------- */

/* -EBADMSG: it is malformed, of another kind, or asks for what no kernel takes. */
int merge_read_pod(struct str message, struct arena *a, struct hook_pod_response *ret,
                   struct kerr *err);
int merge_read_container(struct str message, struct arena *a, struct hook_container_response *ret,
                         struct kerr *err);
void merge_pod(struct hook_pod_request *cached, const struct hook_pod_response *r, struct arena *a);
/* Of runtimes whose sandboxes have resources: Docker's are containers. */
void merge_pod_resources(struct hook_pod_request *cached, const struct cri_resources *r,
                         struct arena *a);
void merge_container(struct hook_container_request *cached, const struct hook_container_response *r,
                     struct arena *a);

/* ---- from what is cached back to CRI --------------------------------------------------------- */

/* Each appends "field: old -> new; " for what it changed; false: nothing. */
bool merge_to_run_pod(const struct hook_pod_request *cached, struct arena *a,
                      struct cri_run_pod_request *in, struct strbuf *changes);
bool merge_to_create(const struct hook_container_request *cached, struct arena *a,
                     struct cri_create_request *in, struct strbuf *changes);
bool merge_to_update(const struct hook_container_request *cached, struct arena *a,
                     struct cri_update_request *in, struct strbuf *changes);
#endif
