/* memkube.h - the least API server: lists what it was given, accepts every write in the next turn.
 *
 * For measuring a component alone: no JSON is written or read while it works, no socket, no disk.
 * Watches deliver what memkube_push() is given. Loop thread only.
 */
#ifndef KOORD_BENCH_MEMKUBE_H
#define KOORD_BENCH_MEMKUBE_H
#include "client/kube.h"

struct kj_val;

struct memkube_stats {
    uint64_t bindings, patches, deletes, other;
};
struct kube *memkube_new(struct loop *l, struct intern *strings);
/* Before the first list: an object of a kind, as JSON. */
void memkube_add(struct kube *k, const char *plural, const char *json);
/* An event to all watches of that kind; the type by name: "ADDED". */
void memkube_push(struct kube *k, const char *plural, enum kube_event_type type, const char *json);
/* The same with a document that was read before. */
void memkube_push_read(struct kube *k, const char *plural, enum kube_event_type type,
                       const struct kj_val *root);
/* Called for each binding that is accepted: "namespace/name" and the node. May be NULL. */
void memkube_on_bind(struct kube *k, void (*fn)(void *arg, const char *pod), void *arg);
/* Called after a patch was answered, for who plays a controller: the body is the patch. May be
 * NULL. */
typedef void (*memkube_patch_fn)(void *arg, const char *plural, const char *name,
                                 const struct kj_val *body);
void memkube_on_patch(struct kube *k, memkube_patch_fn fn, void *arg);
/* What a patch is answered with, where "{}" will not do: written to `out`; false: that after all.
 * May be NULL. */
struct strbuf;
typedef bool (*memkube_answer_fn)(void *arg, const struct kube_req *patch, struct strbuf *out);
void memkube_on_answer(struct kube *k, memkube_answer_fn fn, void *arg);
struct memkube_stats memkube_stats(const struct kube *k);
#endif
