/* stop.h - stops the containers of a pod through the runtime's CRI socket.
 *
 * All running containers of the pod are told to stop at once (time-out 0: no grace), whatever
 * becomes of the others. Loop thread only; the callback comes in a later turn.
 */
#ifndef KOORD_KOORDLET_QOS_EVICT_STOP_H
#define KOORD_KOORDLET_QOS_EVICT_STOP_H
#include "koordlet/kernel/host.h"
#include "koordlet/states/podset.h"
#include "net/http.h"

struct loop;
struct stop_call;
struct stopper;

struct stopper_env { /* borrowed */
    struct loop *loop;
    const struct host *host; /* its run directory has the sockets */
    /* Of the flags: where to look when the usual places have nothing; may be NULL. */
    const char *containerd_endpoint, *docker_endpoint, *pouch_endpoint;
    http_dial_fn dial; /* NULL: the socket; tests replace it */
    void *dial_arg;
};
struct stopper *stopper_new(const struct stopper_env *env);
struct stopper *stopper_free(struct stopper *s); /* after its calls ended or were cancelled */
DEFINE_CLEANUP(stopper_free, struct stopper *)

/* stopped: how many containers are stopped now; why: the first that could not be (code 0: none). */
typedef void (*stopped_fn)(void *arg, uint32_t stopped, const struct kerr *why);
/* NULL: the pod has no running container that a runtime could stop, and nothing is called. */
struct stop_call *stopper_stop(struct stopper *s, const struct npod *p, stopped_fn fn, void *arg);
struct stop_call *stop_call_cancel(struct stop_call *c); /* NULL is fine; returns NULL */
#endif
