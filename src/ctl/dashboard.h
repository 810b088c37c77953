/* dashboard.h - the dashboard of a cluster, for `koordctl dashboard` and `koordctl up`. */
#ifndef KOORD_CTL_DASHBOARD_H
#define KOORD_CTL_DASHBOARD_H
#include "base/base.h"

struct dashboard;
struct kube;
struct strbuf;

struct dashboard_opts {
    const char *listen; /* "127.0.0.1:0"; loopback only */
    const char *ns;     /* pods of this namespace only; NULL: all */
};
/* Watches the cluster and serves the page; the client must outlive it. */
int dashboard_new(struct kube *k, const struct dashboard_opts *o, struct dashboard **ret,
                  struct kerr *err);
struct dashboard *dashboard_free(struct dashboard *d); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(dashboard_free, struct dashboard *)
/* With the key that lets the first browser in. */
void dashboard_url(const struct dashboard *d, struct strbuf *out);
#endif
