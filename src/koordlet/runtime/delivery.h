/* delivery.h - the hooks at the moment a container starts: as a plugin of NRI, and as the hook
 * server of koord-runtime-proxy (koordlet-qos 14.6, runtime-proxy 6).
 *
 * Answers come from rules and messages alone: none waits for a kernel write or the API server. What
 * a pod is to get in kernel files is proposed to the executor, until the reconciler knows the pod
 * and takes over. Loop thread only.
 */
#ifndef KOORD_KOORDLET_RUNTIME_DELIVERY_H
#define KOORD_KOORDLET_RUNTIME_DELIVERY_H
#include "koordlet/facts/caps.h"
#include "koordlet/hooks/reconcile.h"
#include "net/http.h" /* http_dial_fn */

struct delivery;
struct strbuf;
struct stream;

struct delivery_env { /* borrowed */
    struct loop *loop;
    struct host *host;
    struct snapshots *snapshots;
    struct executor *executor;
    struct reconciler *reconciler;
    const struct koordlet_options *o;
    const struct caps *caps;
    struct metrics *metrics; /* NULL: none */
    const char *node_name;
    http_dial_fn dial; /* to the runtime, in tests; NULL: the socket of NRI */
    void *dial_arg;
};
struct delivery *delivery_new(const struct delivery_env *env);
struct delivery *delivery_free(struct delivery *d);
DEFINE_CLEANUP(delivery_free, struct delivery *)
/* Connects once the rules are known, or after ten seconds; listens at once. */
void delivery_start(struct delivery *d);

/* One connection to the hook server, for tests. */
void delivery_serve(struct delivery *d, struct stream *s);

/* In words: "connected to containerd v2.2.1", or why not. */
bool delivery_nri_connected(const struct delivery *d, char *why, size_t size);
/* GET /hooks. */
void delivery_json(const struct delivery *d, struct strbuf *out);
#endif
