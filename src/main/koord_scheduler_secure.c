/* koord_scheduler_secure.c - the secure port: its certificate, and who is let in (scheduler-core
 * 9.1, 9.6).
 */
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/delegate.h"
#include "component/run.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "main/koord_scheduler.h"
#include "net/certgen.h"

static void on_lookup_failed(void *arg, const struct kerr *err)
{
    KLOG_E(err, "Failed to look up who vouches for clients "
                "(--authentication-tolerate-lookup-failure=false)");
    run_exit(arg, 1);
}

static int listen_secure(struct run *run, struct serve *serve, const char *addr, struct kerr *err)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1", "::1", NULL };
    const struct sched_options *o = run->options;
    const struct certgen_opts own = { run->program->name, hosts, loop_wall(run->loop), 365 };
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    struct serve_tls tls = { .ask_client = true };

    if (*o->tls_cert) {
        tls.cert_file = o->tls_cert;
        tls.key_file = o->tls_key;
    } else if (certgen_self_signed(&own, &cert, &key, err) < 0) {
        return err->code;
    }
    tls.cert_pem = (struct str){ cert.data, cert.len };
    tls.key_pem = (struct str){ key.data, key.len };
    return serve_listen_tls(serve, addr, &tls, NULL, err);
}

int sched_secure(struct run *run, struct serve *serve, const char *addr, struct delegate **ret,
                 struct kerr *err)
{
    const struct sched_options *o = run->options;
    int r = delegate_new(run->loop, run->strings, &o->delegate, &run->env, run->program->name,
                         on_lookup_failed, run, ret, err);

    if (r < 0)
        return r;
    serve_set_guard(serve, delegate_guard, *ret);
    return listen_secure(run, serve, addr, err);
}
