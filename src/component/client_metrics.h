/* client_metrics.h - metrics of the API client and of work queues, as Kubernetes' programs on
 * component-base 1.35 show them: rest_client_* and workqueue_*, with their labels and buckets.
 *
 *     struct client_metrics *c = client_metrics_new(metrics);
 *     kube->meter = client_metrics_meter(c);      before its first request
 *
 * Loop thread only.
 */
#ifndef KOORD_COMPONENT_CLIENT_METRICS_H
#define KOORD_COMPONENT_CLIENT_METRICS_H
#include "base/base.h"

struct client_metrics;
struct meter;
struct metrics;

struct client_metrics *client_metrics_new(struct metrics *m); /* borrowed */
/* After the clients and queues. NULL is fine; always returns NULL. */
struct client_metrics *client_metrics_free(struct client_metrics *c);
DEFINE_CLEANUP(client_metrics_free, struct client_metrics *)

struct meter *client_metrics_meter(struct client_metrics *c); /* NULL for NULL */
#endif
