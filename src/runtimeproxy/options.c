/* options.c - the flags of koord-runtime-proxy. */
#include "runtimeproxy/options.h"

#include "component/flags.h"

#define O(member) .off = offsetof(struct proxy_options, member)
static const struct flag upstream[] = {
    { "koord-runtimeproxy-endpoint", FLAG_STR, O(endpoint),
      .def = "/var/run/koord-runtimeproxy/runtimeproxy.sock",
      .help = "`socket` to listen on, for the kubelet" },
    { "remote-runtime-service-endpoint", FLAG_STR, O(backend),
      .def = "/var/run/containerd/containerd.sock", .help = "`socket` of the runtime" },
    { "backend-runtime-mode", FLAG_STR, O(mode), .def = "Containerd",
      .help = "what the runtime speaks: Containerd (CRI) or Docker (its API)" },
    { "runtime-hook-server-key", FLAG_STR, O(skip_key),
      .def = "runtimeproxy.koordinator.sh/skip-hookserver",
      .help = "label of pods that are not shown to hook servers" },
    { "runtime-hook-server-val", FLAG_STR, O(skip_value), .def = "true", .help = "its `value`" },
};
static const struct flag own[] = {
    { "hook-server-config-dir", FLAG_STR, O(config_dir), .def = "/etc/runtime/hookserver.d",
      .help = "`directory` with a file for each hook server" },
    { "checkpoint-file", FLAG_STR, O(checkpoint), .def = "/var/run/koord-runtimeproxy/checkpoint",
      .help =
          "`file` that keeps what is known of pods and containers over a restart; empty: none" },
    { "addr", FLAG_STR, O(addr), .def = "127.0.0.1:9318",
      .help = "`address` of /metrics and /healthz; empty: none" },
    { "drain-timeout", FLAG_DUR, O(drain), .def = "10s",
      .help = "how long calls that are under way may take after SIGTERM" },
};
#undef O

void proxy_options_add(struct flags *f, void *options)
{
    flags_add(f, "General flags", upstream, ARRAY_LEN(upstream), options);
    flags_add(f, "Flags of our own", own, ARRAY_LEN(own), options);
}

int proxy_options_check(const struct proxy_options *o, struct kerr *err)
{
    if (!streq(o->mode, "Containerd") && !streq(o->mode, "Docker"))
        return kerr_set(err, -EINVAL, "unknown runtime engine backend %s", o->mode);
    if (!*o->endpoint || !*o->backend)
        return kerr_set(err, -EINVAL, "both sockets must be given");
    return 0;
}
