/* revisions.h - the templates that a StatefulSet or DaemonSet had, as ControllerRevisions.
 *
 * A revision keeps a template as the patch that brings it back, which is what kubectl rollout undo
 * sends. The same template has the same name: a lost answer makes no second revision.
 */
#ifndef KOORD_CLUSTER_REVISIONS_H
#define KOORD_CLUSTER_REVISIONS_H
#include "cluster/internal.h"

#define LABEL_REVISION "controller-revision-hash"

struct revowner { /* whose revisions */
    const struct kobj *obj;
    const struct label_selector *selector;
    const char *template_json;
    struct opt_i32 collisions;
    const char *hash_label; /* on a revision */
    struct informer *revisions;
};
struct revset {
    kobjvec all;                   /* oldest first */
    const struct revision *update; /* of today's template; NULL: not there yet */
    struct opt_i32 collisions;     /* after this pass */
};
/* Adopts and releases, and writes today's revision if it is missing or not the newest. The news of
 * such a write brings the next sync; until then update is NULL, and nothing is to be decided. */
void revset_init(struct revset *s, struct batch *b, const struct revowner *o);
void revset_fini(struct revset *s);
const struct revision *revset_find(const struct revset *s, const char *name); /* or NULL */

/* Deletes the oldest revisions beyond the limit; live ones are neither deleted nor counted. */
typedef bool (*rev_live_fn)(const void *arg, const struct revision *r);
void revset_trim(const struct revset *s, struct batch *b, int64_t limit, rev_live_fn is_live,
                 const void *arg);

/* The template as JSON; NULL when the revision's data cannot be read. */
const char *revision_template(const struct revision *r, struct arena *a);
#endif
