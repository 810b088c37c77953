/* options.h - flags of koord-runtime-proxy, under upstream's names (runtime-proxy 1). */
#ifndef KOORD_RUNTIMEPROXY_OPTIONS_H
#define KOORD_RUNTIMEPROXY_OPTIONS_H
#include "base/base.h"

struct flags;

struct proxy_options {
    const char *endpoint, *backend; /* sockets: ours, the runtime's */
    const char *mode;               /* "Containerd", "Docker" */
    const char *skip_key, *skip_value;
    /* Our own. */
    const char *config_dir, *addr, *checkpoint;
    nsec_t drain;
};
void proxy_options_add(struct flags *f, void *options); /* struct proxy_options */
int proxy_options_check(const struct proxy_options *o, struct kerr *err);
#endif
