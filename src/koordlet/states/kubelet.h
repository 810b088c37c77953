/* kubelet.h - asks the kubelet of this node, as the agent's own API user or on the read-only port.
 *
 * Server certificates are not verified: kubelets sign their own, and the address is this node's.
 * Loop thread only. Callbacks come in later turns; none follows a cancel.
 */
#ifndef KOORD_KOORDLET_KUBELET_H
#define KOORD_KOORDLET_KUBELET_H
#include "net/http.h"

struct kube_config;
struct kubelet;
struct kubelet_call;
struct loop;
struct metrics;

struct kubelet_opts {
    struct loop *loop;
    const struct kube_config *config; /* credentials; NULL: none. Must outlive the kubelet */
    struct metrics *metrics;
    bool insecure; /* plain HTTP, no credentials */
    nsec_t timeout;
    http_dial_fn dial; /* NULL: sockets; tests replace it, then without TLS */
    void *dial_arg;
};
struct kubelet *kubelet_new(const struct kubelet_opts *o);
struct kubelet *kubelet_free(struct kubelet *k); /* open calls end without a callback */
DEFINE_CLEANUP(kubelet_free, struct kubelet *)

/* Where it is. Another place than before: calls under way are told that they failed. */
int kubelet_aim(struct kubelet *k, const char *address, uint16_t port, struct kerr *err);
bool kubelet_is_aimed(const struct kubelet *k);

struct kubelet_handler {
    void (*on_data)(void *arg, const char *p, size_t n); /* of a 200 */
    /* Once; err == NULL: a 200, complete. */
    void (*on_end)(void *arg, const struct kerr *err);
};
/* The kubelet must be aimed; path must be a constant. */
struct kubelet_call *kubelet_get(struct kubelet *k, const char *path,
                                 const struct kubelet_handler *on, void *arg);
struct kubelet_call *kubelet_cancel(struct kubelet_call *c); /* NULL is fine; returns NULL */
#endif
