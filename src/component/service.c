/* service.c - client, endpoints and lease of a program. */
#include "component/service.h"

#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "client/kube.h"
#include "component/client_metrics.h"
#include "component/run.h"
#include "component/secure.h"
#include "component/serve.h"

static void on_configz(void *arg, struct httpd_req *r)
{
    const struct service *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    s->h->configz(s->arg, &out);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

static char *instance_name(const char *program)
{
    char host[256] = "";

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        (void)snprintf(host, sizeof host, "unknown");
    return xasprintf("%s-%s", program, host);
}

int service_new(struct run *r, const struct service_opts *o, const struct service_handler *h,
                void *arg, struct service **ret, struct kerr *err)
{
    CLEANUP(service_free) struct service *s = xnew0(struct service);
    const char *program = r->program->name;

    *s = (struct service){ .run = r, .o = o, .h = h, .arg = arg };
    s->instance = instance_name(program);
    if (client_options_kube(&o->client, &r->env, r->loop, r->strings, str_or(o->agent, program),
                            &s->kube, err) < 0)
        return err->code;
    s->kube->meter = client_metrics_meter(r->client_metrics);
    if (election_new(r, s->kube, &o->election, &h->election, arg, &s->election, err) < 0)
        return err->code;
    s->serve =
        serve_new(r->loop, &(struct serve_opts){ .program = program,
                                                 .metrics = r->metrics,
                                                 .allow_remote_changes = o->allow_remote_changes });
    if (election_has_lease(s->election))
        serve_add_check(s->serve, SERVE_HEALTHZ | SERVE_LIVEZ, "leaderElection", election_check,
                        s->election);
    if (h->configz)
        serve_handle(s->serve, "/configz", on_configz, s);
    *ret = take(s);
    return 0;
}

static bool is_repeated(const struct service_opts *o, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (streq(str_or(o->plain[k], ""), o->plain[i]))
            return true;
    return false;
}

int service_start(struct service *s, struct kerr *err)
{
    const struct service_opts *o = s->o;

    for (size_t i = 0; i < ARRAY_LEN(o->plain); i++)
        if (!str_empty(o->plain[i]) && !is_repeated(o, i) &&
            serve_listen(s->serve, o->plain[i], NULL, err) < 0)
            return err->code;
    if (o->secure && secure_listen(s->run, s->serve, o->secure, &s->delegate, err) < 0)
        return err->code;
    election_start(s->election);
    return 0;
}

void service_close(struct service *s)
{
    s->serve = serve_free(s->serve);
    s->delegate = delegate_free(s->delegate);
}

void service_stop(struct service *s)
{
    election_stop(s->election);
}

struct service *service_free(struct service *s)
{
    if (!s)
        return NULL;
    service_close(s);
    election_free(s->election);
    kube_free(s->kube);
    free((char *)(uintptr_t)s->instance);
    free(s);
    return NULL;
}

int service_check_synced(const struct service *s, bool synced, struct kerr *err)
{
    const char *problem = kube_problem(s->kube);

    if (synced)
        return 0;
    return kerr_set(err, -EAGAIN, "informers have not synced yet%s%s", *problem ? ": " : "",
                    problem);
}
