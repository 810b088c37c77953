/* whatgang.h - what would become of a gang, as JSON. Internal to explain/.
 *
 * Reads gangs and nodes where they are: of a cluster that is put together from objects (whatif.h),
 * or of a scheduler that runs. Nothing of it is changed. In one piece.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_WHATGANG_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_WHATGANG_H
#include "base/base.h"

struct attempt;
struct gangs;
struct kobj;
struct strbuf;
struct topo_network;

struct whatgang_source {
    const struct gangs *gangs;
    struct topo_network *network;
    nsec_t now; /* wall clock */
    /* An attempt for the pod in which no node was looked at yet; it stays the caller's, who ends
     * it. Called once at most. */
    struct attempt *(*begin)(void *arg, struct kobj *pod);
    void *arg;
};
/* -ENOENT: nothing names the gang "namespace/name". */
int whatgang_write(const struct whatgang_source *src, const char *id, struct strbuf *json,
                   struct kerr *err);
#endif
