/* audit.h - what the agent did to pods and node, as lines of JSON on disk, and how to read them.
 *
 * <dir>/audit.log grows to 2 MiB and is then renamed; the oldest files go when all together would
 * be more than the budget. Lines are gathered for up to 5 s; who reads sees all of them. Loop
 * thread only. A disk that cannot be written costs events, which are counted, and nothing else.
 */
#ifndef KOORD_KOORDLET_AUDIT_H
#define KOORD_KOORDLET_AUDIT_H
#include "koordlet/options.h"

struct audit;
struct httpd_req;
struct loop;
struct metrics;

struct audit_event {  /* NULL members are left out */
    const char *type; /* "node", "pod", "group", "unknown" */
    const char *ns, *name, *container, *reason, *message;
    int64_t verbosity;
};

/* An error when the directory cannot be made or written. */
int audit_new(struct loop *l, const struct audit_options *o, struct metrics *m, struct audit **ret,
              struct kerr *err);
struct audit *audit_free(struct audit *a); /* writes what is left */
DEFINE_CLEANUP(audit_free, struct audit *)

/* NULL: auditing is off. */
void audit_log(struct audit *a, const struct audit_event *e);
void audit_flush(struct audit *a);

/* GET /events?size=&pageToken=, newest first; arg is the audit. */
void audit_serve(void *arg, struct httpd_req *r);
#endif
