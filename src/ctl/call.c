/* call.c - talking with the server, straight down: each call waits for its answer. */
#include "ctl/ctl.h"

#include "base/klog.h"
#include "client/kube.h"
#include "component/version.h"
#include "ctl/up.h"
#include "loop/loop.h"

/* Certificates that cannot be used: the library does not know which file they came from. */
static int complain_tls(struct ctl *c, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf files = STRBUF_INIT;
    const struct kube_config *k = &c->config;

    strbuf_appendf(&files, "certificate-authority%s%s", k->ca_file ? " " : "-data",
                   str_or(k->ca_file, ""));
    if (k->cert_pem.n)
        strbuf_appendf(&files, ", client-certificate%s%s", k->cert_file ? " " : "-data",
                       str_or(k->cert_file, ""));
    return ctl_fail(c, "%s; check %s in the kubeconfig's context %s", err->text, strbuf_str(&files),
                    str_or(k->context, ""));
}

/* By flags and environment; where they name nothing, what koordctl up runs here. */
static int load_config(struct ctl *c, struct kerr *err)
{
    CLEANUP(up_dir_fini) struct up_dir dir = { 0 };
    struct client_options o = c->o.client;
    struct up_note note;
    struct kerr none = { 0 };

    int r = client_options_config(&o, &c->env, c->o.context, &c->config, err);
    if (r == 0 || err->reason != KR_NOT_FOUND)
        return r;
    if (up_dir_open(NULL, &c->env, false, &dir, &none) < 0 || up_note_read(&dir, &note, &none) < 0)
        return r;
    KLOG_I(1, "No kubeconfig: using the one of koordctl up", KV_S("file", note.kubeconfig));
    o.kubeconfig = note.kubeconfig;
    return client_options_config(&o, &c->env, c->o.context, &c->config, err);
}

int ctl_connect(struct ctl *c)
{
    struct kerr err = { 0 };

    if (c->kube)
        return CTL_OK;
    if (load_config(c, &err) < 0) {
        if (strstr(err.text, "--kubeconfig")) /* it says what to do */
            return ctl_fail(c, "%s", err.text);
        return ctl_fail(c, "%s; correct it, or name another file with --kubeconfig", err.text);
    }
    c->config.user_agent = "koordctl/v" KOORD_VERSION " (" KOORD_PLATFORM ")";
    if (kube_http_new(c->loop, c->strings, &c->config, &c->kube, &err) < 0) {
        bool is_https = str_starts(c->config.server, "https:");
        return is_https ? complain_tls(c, &err) : ctl_fail(c, "%s", err.text);
    }
    return CTL_OK;
}

const char *ctl_namespace(const struct ctl *c)
{
    if (!str_empty(c->o.ns))
        return c->o.ns;
    return str_empty(c->config.ns) ? "default" : c->config.ns;
}

struct waiting {
    struct loop *loop;
    struct strbuf *answer;
    struct kerr *err;
    int code;
    bool done;
};

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct waiting *w = arg;

    w->done = true;
    if (err) {
        *w->err = *err;
        w->code = err->code;
    } else {
        strbuf_appendn(w->answer, r->body, r->n);
    }
    loop_stop(w->loop);
}

int ctl_call(struct ctl *c, const struct kube_req *r, struct strbuf *ret, struct kerr *err)
{
    struct waiting w = { .loop = c->loop, .answer = ret, .err = err };
    struct kube_req limited = *r;

    strbuf_reset(ret);
    if (!limited.timeout)
        limited.timeout = c->o.request_timeout;
    kube_do(c->kube, &limited, on_done, &w);
    loop_run(c->loop);
    return w.done ? w.code : kerr_set(err, -EIO, "the loop ended without an answer");
}

static void on_time(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

void ctl_wait(struct ctl *c, nsec_t d)
{
    loop_after(c->loop, d, on_time, NULL);
    loop_run(c->loop);
}

bool ctl_print(struct ctl *c, const struct strbuf *text)
{
    if (c->out_broken)
        return false;
    if (text->len == 0 ||
        (fwrite(text->data, 1, text->len, c->out) == text->len && fflush(c->out) == 0))
        return true;
    c->out_broken = true;
    if (errno != EPIPE) /* "| head" is no failure worth a word */
        (void)ctl_fail(c, "write to stdout: %s", strerror(errno));
    return false;
}
