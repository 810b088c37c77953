/* service.h - what the programs of a control plane have in common: a client of the API server,
 * health and metrics on a plain and a secure port, a lease.
 *
 *     service_new()     the client and the endpoints; nobody is answered yet
 *                       the program makes its parts, and adds its checks and paths to ->serve
 *     service_start()   listens, and stands for election when the program is ready
 *     service_close()   the end begins: no more endpoints
 *                       the program stops its parts
 *     service_stop()    gives the lease back, then ends the program's loop
 */
#ifndef KOORD_COMPONENT_SERVICE_H
#define KOORD_COMPONENT_SERVICE_H
#include "component/election.h"
#include "component/options.h"

struct run;
struct secure_options;
struct serve;
struct strbuf;

struct service_opts {
    struct client_options client;
    const char *agent; /* User-Agent of the client; NULL: the program's name */
    struct election_options election;
    const struct secure_options *secure; /* NULL: no secure port; must live on */
    const char
        *plain[4]; /* "host:port" of plain HTTP; NULL, empty and repeated ones are left out */
    bool allow_remote_changes;
};
struct service_handler {
    struct election_handler election;
    /* What is to be seen as JSON under /configz; NULL: there is no such path. */
    void (*configz)(void *arg, struct strbuf *out);
};

struct service {
    struct run *run;
    struct kube *kube;
    struct serve *serve; /* NULL after service_close() */
    struct delegate *delegate;
    struct election *election;
    const char *instance; /* "koord-scheduler-host": for events */
    const struct service_opts *o;
    const struct service_handler *h;
    void *arg;
};

/* The options must live on. */
int service_new(struct run *r, const struct service_opts *o, const struct service_handler *h,
                void *arg, struct service **ret, struct kerr *err);
/* After the program's parts. NULL is fine; always returns NULL. */
struct service *service_free(struct service *s);
DEFINE_CLEANUP(service_free, struct service *)
int service_start(struct service *s, struct kerr *err);
void service_close(struct service *s);
/* For a check of readiness: 0 when the program's caches are complete, else what they wait for. */
int service_check_synced(const struct service *s, bool synced, struct kerr *err);
void service_stop(struct service *s);
#endif
