/* hookservice.h - where the server of a webhook is: its URL, or a Service's endpoints.
 *
 * There is no kube-proxy behind this server, so a Service is reached as kube-apiserver does with
 * --enable-aggregator-routing: by one of its ready endpoints, chosen at random.
 */
#ifndef KOORD_APISERVER_ADMISSION_HOOKSERVICE_H
#define KOORD_APISERVER_ADMISSION_HOOKSERVICE_H
#include "base/arena.h"
#include "json/kj.h"

struct apiserver;
struct hook_address {
    const char *host; /* to connect to */
    const char *name; /* that the certificate has to have */
    uint16_t port;
    const char *path;  /* with query; at least "/" */
    const char *shown; /* host and port of the URL, for messages */
};
/* config: a clientConfig. Texts live in the arena. */
int hook_address(struct apiserver *s, const struct kj_val *config, struct arena *a,
                 struct hook_address *ret, struct kerr *err);
#endif
