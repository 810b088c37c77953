/* owners.h - workloads from the caches of the program, and from the server where no cache has them.
 *
 * Kinds that come with an addition to Kubernetes (Kruise) are watched once the server says that it
 * has them, which it is asked every five minutes.
 * The scale subresource of other kinds is asked for when somebody first wants to know, and kept for
 * half a minute. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_OWNERS_H
#define KOORD_DESCHEDULER_MIGRATION_OWNERS_H
#include "descheduler/migration/workloads.h"

struct kube;
struct loop;
struct owners;

struct owners_opts {
    struct loop *loop;
    struct kube *kube;
    struct caches *caches;
    void (*on_news)(void *arg); /* something about a workload has changed, or is known now */
    void *arg;
};
struct owners *owners_new(const struct owners_opts *o);
struct owners *owners_free(struct owners *w); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(owners_free, struct owners *)
/* Whatever is watched is there, or was refused. */
bool owners_ready(const struct owners *w);
/* What workloads_new() wants. */
struct workload_source owners_source(struct owners *w);
#endif
