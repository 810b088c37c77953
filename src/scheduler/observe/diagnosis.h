/* diagnosis.h - one log line of JSON for each attempt that found no node (scheduler-core 11.2).
 * Internal to the room.
 *
 * Lines are written at once, or wait for a later turn of the loop, which writes a few of them; when
 * too many wait, new ones are dropped and counted. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_DIAGNOSIS_H
#define KOORD_SCHEDULER_OBSERVE_DIAGNOSIS_H
#include "base/base.h"

struct attempt;
struct diagnosis;
struct kobj;
struct ks_suggestion;
struct loop;
struct metrics;
struct profile;
struct strbuf;

struct diagnosis_opts {
    bool on, blocking;   /* both may change any time */
    unsigned queue_size; /* lines that may wait; 0: 1000 */
    unsigned a_turn;     /* written in a turn; 0: 10 */
};
/* m may be NULL. */
struct diagnosis *diagnosis_new(struct loop *l, struct metrics *m, const struct diagnosis_opts *o);
struct diagnosis *diagnosis_free(struct diagnosis *d); /* what waits is written */
struct diagnosis_opts *diagnosis_settings(struct diagnosis *d);
struct diagnosis_room {  /* what became of making room for the pod */
    const char *refused; /* why none can be made; "": it can, or nobody was asked */
    const struct ks_suggestion *suggestion; /* NULL: none */
};
/* The attempt is over and no node was found. */
void diagnosis_dump(struct diagnosis *d, struct attempt *a, const struct diagnosis_room *r);
/* The pod is not tried: if that is because another pod of its job found no node, it is not the root
 * cause, and a line says so. */
void diagnosis_follows(struct diagnosis *d, const struct profile *p, const struct kobj *pod,
                       const char *why);
/* The JSON alone. */
void diagnosis_write(struct attempt *a, const struct diagnosis_room *r, nsec_t now,
                     struct strbuf *out);
#endif
