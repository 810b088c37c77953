/* reserve.h - koordctl reserve: room for pods of a workload that are still to come.
 *
 * For each pod to come one Reservation is made of the workload's own template, and given a node by
 * the scheduler. The Reservations of a run carry a label with its id.
 */
#ifndef KOORD_CTL_RESERVE_H
#define KOORD_CTL_RESERVE_H
#include "base/vec.h"
#include "ctl/ctl.h"

struct arena;
struct kind;
struct kj_doc;
struct kj_val;
struct timer;

struct reserve_options {
    int replicas;
    nsec_t ttl, timeout;
    bool all_or_nothing, dry_run;
    const char *config;
};

enum reserve_outcome {
    RESERVE_WAITS,   /* no node yet */
    RESERVE_PLACED,  /* it has one, and maybe an owner already */
    RESERVE_FAILED,  /* it has ended, or is gone */
    RESERVE_REMOVED, /* deleted again by us */
};
struct reserved { /* one of the Reservations; texts are the arena's */
    const char *name;
    const char *node;    /* "": none */
    const char *message; /* why it waits or failed; "": nobody has said */
    enum reserve_outcome outcome;
    bool sent; /* it may be on the server */
};

struct reserve { /* one run of the command */
    struct ctl *c;
    const struct reserve_options *o;
    struct arena *arena;
    const struct kind *kind; /* of the workload */
    const char *ns, *name, *run;
    struct kj_doc *workload;
    struct vec_of(struct reserved) all;
    struct timer *timer;
    bool waiting, interrupted;
};

/* ---- reserve_make.c -------------------------------------------------------------------------- */

/* NULL: reserve does not know this kind of workload. */
const struct kind *reserve_kind(const char *word);
/* The template of the workload's pods, with its namespace; NULL: it has none. */
const struct kj_val *reserve_template(const struct reserve *x);
/* Reservation number i, as JSON. */
void reserve_write(const struct reserve *x, size_t i, struct strbuf *out);

/* ---- reserve_wait.c -------------------------------------------------------------------------- */

/* Until all have a node, one has failed, the time is over or somebody interrupts. */
int reserve_wait(struct reserve *x, struct kerr *err);
size_t reserve_count(const struct reserve *x, enum reserve_outcome outcome);

/* ---- reserve_try.c --------------------------------------------------------------------------- */

/* The nodes that they would get, by a scheduler of our own; nothing is written. The exit code. */
int reserve_try(struct reserve *x);

/* ---- reserve_text.c -------------------------------------------------------------------------- */

/* What became of it, as -o says. False: nobody reads. */
bool reserve_show(struct reserve *x);
#endif
