/* subject.h - what is bound: the object that gets a node, and how the API server is told. Part of
 * the contract (plugin.h).
 *
 * Pods go through the queue and get nodes. Mostly the pod itself is what is bound; but it may be
 * the placeholder of another object (a Reservation; ks_placeholder in service.h): then that object
 * gets the node, its status says why it has none, and events are about it. The plugin's `bind` says
 * so by returning a subject of its own. The engine makes all requests: it repeats them, asks the
 * server what is true when an answer was lost, and asks again when a confirmation is overdue.
 *
 * No state; loop thread.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_SUBJECT_H
#define KOORD_SCHEDULER_FRAMEWORK_SUBJECT_H
#include "base/base.h"

struct kj_val;
struct kjw;
struct kobj;
struct ks_bind;
struct kube_req;
struct pod;

struct ks_waiting {               /* why it has no node yet */
    const char *reason, *message; /* of the condition; reason NULL: the condition stays */
    const char *node;             /* that is nominated; "": none; NULL: it stays */
    nsec_t now;
};
struct ks_subject {
    /* Requests name it, and events are about it. Borrowed; NULL: it is gone, and nothing is sent.
     */
    const struct kobj *(*object)(void *self, const struct pod *p);
    /* The binding carries the annotations that plugins have set (ks_bind_annotations), so that
     * they and the node come with one write. Otherwise they are written before, with the labels. */
    bool annotates;
    /* The next two fill in verb, subresource and type of patch, and write the body. The object with
     * this UID alone must be changed by it. */
    void (*bind)(void *self, const struct ks_bind *b, struct kube_req *r, struct kjw *body);
    void (*waits)(void *self, const struct pod *p, const struct ks_waiting *why, struct kube_req *r,
                  struct kjw *body);
    /* The node that the server has for it; "": none. */
    const char *(*node)(const struct kj_val *object);
    /* Its binding names the state that was seen (b->version), and the server has another one, still
     * without a node: may it be sent again? NULL: no, it has failed. */
    bool (*may_be_bound)(const struct kj_val *object);
};
extern const struct ks_subject ks_subject_pod; /* by the binding subresource; self is not used */
#endif
