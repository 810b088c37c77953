/* devicedaemon.h - which accelerators a node has, in a file that koordlet reads.
 *
 * Asks the vendors' tools for their cards, again and again, and writes what they say as one JSON
 * array. The file goes with the daemon, unless it was asked for one round only. Loop thread only.
 */
#ifndef KOORD_DEVICEDAEMON_H
#define KOORD_DEVICEDAEMON_H
#include "base/strbuf.h"

struct loop;
struct devicedaemon;

/* How a vendor's tool is started: appends what it prints, on stdout and stderr. 0, or why there is
 * no answer: it is not there, took too long, or ended with another status than 0. Called on a
 * worker. */
typedef int (*tool_fn)(void *arg, const char *const *argv, struct strbuf *out, struct kerr *err);

struct devicedaemon_opts {
    const char *host_root; /* where the host's file system is: "/" or "/hostfs" */
    const char *output;    /* the file; "": none is written */
    nsec_t interval;       /* between the end of a round and the next; 0 or less: one round only */
    tool_fn tool;
    void *tool_arg;
    /* After the only round; failed: how many vendors could not be asked, or the file not written */
    void (*done)(void *arg, uint32_t failed);
    void *done_arg;
};

/* Options are copied. The first round begins at once. */
struct devicedaemon *devicedaemon_new(struct loop *l, const struct devicedaemon_opts *o);
/* What failed in the last round that ended. */
uint32_t devicedaemon_failed(const struct devicedaemon *d);
/* Removes the file unless there was to be one round only. A round under way ends by itself, and
 * nobody hears of it. NULL is fine; always returns NULL. */
struct devicedaemon *devicedaemon_free(struct devicedaemon *d);
DEFINE_CLEANUP(devicedaemon_free, struct devicedaemon *)
#endif
