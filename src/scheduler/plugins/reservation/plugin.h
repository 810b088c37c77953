/* plugin.h - an instance of the plugin Reservation, and what its files share. */
#ifndef KOORD_SCHEDULER_RESERVATION_PLUGIN_H
#define KOORD_SCHEDULER_RESERVATION_PLUGIN_H
#include "scheduler/plugins/reservation/cache.h"

struct budgets;
struct strbuf;

struct resv_plugin {
    struct ks_env env;
    const struct reservation_args *args;
    struct reservations *cache;
    bool omit_node_labels; /* the gate OmitNodeLabelsForReservation */
    struct budgets *budgets;
    struct prewrites *prewrites; /* NULL: there is no API server */
};

extern const struct ks_subject resv_subject; /* of reserve pods; self is a struct resv_plugin */
extern const struct ks_post_filter resv_post_filter;
/* "0/4 reservations are available: ...", from the message of a failed attempt; false: it says
 * nothing about reservations. */
bool diagnose_event(const char *message, struct strbuf *out);
/* What the status of a reservation that gets a node says it has; -EINVAL: an annotation is bad. */
int resv_allocatable(const struct resv *r, struct arena *a, reslist *ret, struct kerr *err);
#endif
