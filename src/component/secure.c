/* secure.c - certificate and guard of the secure port (scheduler-core 9.1, 9.6). */
#include "component/secure.h"

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/client_metrics.h"
#include "component/flags.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "net/certgen.h"

enum { OWN_CERT_DAYS = 365 };

void secure_options_add(struct flags *f, struct secure_options *o, const char *port)
{
#define O(member) .off = offsetof(struct secure_options, member)
    static const struct flag table[] = {
        { "bind-address", FLAG_STR, O(bind_address), .def = "0.0.0.0",
          .help = "`address` of the secure port" },
        { "secure-port", FLAG_INT, O(port), .max = 65535,
          .help = "HTTPS port for health, metrics and debugging; 0: none" },
        { "tls-cert-file", FLAG_STR, O(cert_file),
          .help = "certificate `file` of the secure port; without it a self-signed one is made" },
        { "tls-private-key-file", FLAG_STR, O(key_file), .help = "key `file` of that certificate" },
        { "cert-dir", FLAG_STR, FLAG_LATER, .help = "directory for the self-signed certificate" },
        { "disable-http2-serving", FLAG_BOOL, FLAG_LATER,
          .help = "HTTP/1.1 only on the secure port" },
        { "http2-max-streams-per-connection", FLAG_INT, FLAG_LATER,
          .help = "limit of HTTP/2 streams" },
        { "permit-address-sharing", FLAG_BOOL, FLAG_LATER, .help = "SO_REUSEADDR" },
        { "permit-port-sharing", FLAG_BOOL, FLAG_LATER, .help = "SO_REUSEPORT" },
        { "tls-cipher-suites", FLAG_LIST, FLAG_LATER, .help = "cipher suites of the secure port" },
        { "tls-curve-preferences", FLAG_LIST, FLAG_LATER, .help = "curves of the secure port" },
        { "tls-min-version", FLAG_STR, FLAG_LATER,
          .help = "oldest TLS version; it is VersionTLS12" },
        { "tls-sni-cert-key", FLAG_STR, FLAG_LATER, .help = "further certificates by host name" },
    };
#undef O
    flags_add(f, "Secure port flags", table, ARRAY_LEN(table), o);
    flags_default(f, "secure-port", port);
    delegate_options_add(f, &o->delegate);
}

int secure_options_check(const struct secure_options *o, struct kerr *err)
{
    if (!*o->cert_file != !*o->key_file)
        return kerr_set(err, -EINVAL, "--tls-cert-file and --tls-private-key-file go together");
    return 0;
}

char *address_text(const char *host, int port)
{
    return xasprintf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
}

static void on_lookup_failed(void *arg, const struct kerr *err)
{
    KLOG_E(err, "Failed to look up the cluster's client CA "
                "(--authentication-tolerate-lookup-failure=false)");
    run_last_words(arg, "failed to look up the cluster's client CA", err);
    run_exit(arg, 1);
}

static int listen_tls(struct run *r, struct serve *s, const struct secure_options *o,
                      struct kerr *err)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1", "::1", NULL };
    const struct certgen_opts own = { r->program->name, hosts, loop_wall(r->loop), OWN_CERT_DAYS };
    CLEANUP(mem_free) char *addr = address_text(o->bind_address, o->port);
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    struct serve_tls tls = { .ask_client = true };

    if (*o->cert_file) {
        tls.cert_file = o->cert_file;
        tls.key_file = o->key_file;
    } else if (certgen_self_signed(&own, &cert, &key, err) < 0) {
        return err->code;
    }
    tls.cert_pem = (struct str){ cert.data, cert.len };
    tls.key_pem = (struct str){ key.data, key.len };
    return serve_listen_tls(s, addr, &tls, NULL, err);
}

int secure_listen(struct run *r, struct serve *s, const struct secure_options *o,
                  struct delegate **ret, struct kerr *err)
{
    if (!o->port)
        return 0;
    if (delegate_new(r->loop, r->strings, &o->delegate, &r->env, r->program->name, on_lookup_failed,
                     r, ret, err) < 0)
        return err->code;
    delegate_set_meter(*ret, client_metrics_meter(r->client_metrics));
    serve_set_guard(s, delegate_guard, *ret);
    return listen_tls(r, s, o, err);
}
