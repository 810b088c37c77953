/* koordlet.c - the program koordlet: the agent of a node (koordlet-metrics 1). */
#include <stdio.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "component/client_metrics.h"
#include "component/run.h"
#include "component/serve.h"
#include "koordlet/agent.h"
#include "koordlet/device/gpu.h"
#include "loop/loop.h"
#include "main/koordlet_ask.h"
#include "json/kj.h"

#define PROGRAM        "koordlet"
#define STOP_GRACE     (5 * NSEC_PER_SEC)
#define PLAN_PATIENCE  (10 * NSEC_PER_SEC)
#define CHECK_PATIENCE (2 * NSEC_PER_SEC)
#define END_GRACE      (3 * NSEC_PER_SEC) /* to let go of everything */

struct program_state {
    struct run *run;
    struct kube_config config;
    struct kube *kube;
    struct agent *agent;
    struct serve *serve;
};

static int check(struct run *r, struct kerr *err)
{
    return koordlet_options_check(r->options, err);
}

/* A socket that is there says little: whether NRI is connected the running agent knows. */
static void take_nri(struct caps *caps, const char *body, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err;

    if (kj_parse(body, n, 0, &doc, &err) < 0)
        return;
    const struct kj_val *nri = kj_get(kj_root(doc), "nri");
    if (nri)
        caps_set_nri(caps, kj_bool(kj_get(nri, "connected"), false),
                     kj_str_or(kj_get(nri, "status"), ""));
}

/* --check: the node's abilities, for a person. hooks: what the running agent says of its hooks;
 * NULL: none runs. */
static int say_capabilities(const struct koordlet_options *o, const char *hooks, size_t n,
                            struct kerr *err)
{
    CLEANUP(host_free) struct host *h = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct caps caps;
    struct kerr unknown;

    if (host_new(&o->roots, &h, err) < 0)
        return err->code;
    host_detect_driver(h, &unknown);
    caps_read(h, &(struct caps_options){ .nri_socket = o->hooks.nri_socket }, &caps);
    if (hooks)
        take_nri(&caps, hooks, n);
    caps_table(&caps, &o->gates, &out);
    fputs(strbuf_str(&out), stdout);
    return 0;
}

static void on_hooks(void *arg, const char *body, size_t n, const struct kerr *err)
{
    struct run *r = arg;
    struct kerr bad = { 0 };

    if (say_capabilities(r->options, err ? NULL : body, n, &bad) < 0)
        fprintf(stderr, PROGRAM ": %s\n", bad.text);
    run_exit(r, bad.code < 0 ? 1 : 0);
}

static void on_plan(void *arg, const char *body, size_t n, const struct kerr *err)
{
    if (err)
        fprintf(stderr, "koordlet --plan: %s\n", err->text);
    else
        fwrite(body, 1, n, stdout);
    run_exit(arg, err ? 1 : 0);
}

static void on_restored(void *arg, uint64_t refused)
{
    run_exit(arg, refused > 0 ? 1 : 0);
}

static int start_client(struct program_state *p, struct kerr *err)
{
    const struct koordlet_options *o = p->run->options;

    if (client_options_config(&o->client, &p->run->env, NULL, &p->config, err) < 0)
        return err->code;
    p->config.user_agent = PROGRAM;
    if (kube_http_new(p->run->loop, p->run->strings, &p->config, &p->kube, err) < 0)
        return err->code;
    p->kube->meter = client_metrics_meter(p->run->client_metrics);
    return 0;
}

static int start_serving(struct program_state *p, struct kerr *err)
{
    const struct koordlet_options *o = p->run->options;

    p->serve = serve_new(
        p->run->loop,
        &(struct serve_opts){ .program = PROGRAM, .allow_remote_changes = o->debug.allow_remote });
    agent_serve(p->agent, p->serve);
    return *o->addr ? serve_listen(p->serve, o->addr, NULL, err) : 0;
}

static int start(struct run *r, struct kerr *err)
{
    struct koordlet_options *o = r->options;
    struct program_state *p = xnew0(struct program_state);

    r->self = p;
    p->run = r;
    if (o->check) {
        if (koordlet_ask(r->loop, o->addr, "/hooks", CHECK_PATIENCE, on_hooks, r, err) == 0)
            return 0;
        run_exit(r, 0); /* no port, no agent */
        return say_capabilities(o, NULL, 0, err);
    }
    if (o->plan)
        return koordlet_ask(r->loop, o->addr, "/plan?format=text", PLAN_PATIENCE, on_plan, r, err);
    o->node_name = getenv("NODE_NAME");
    if (!o->node_name || !*o->node_name)
        return kerr_set(err, -EINVAL, "failed to new daemon: NODE_NAME env is empty");
    gates_log(&o->gates);
    gates_metrics(&o->gates, r->metrics);
    if (start_client(p, err) < 0)
        return err->code;
    const struct agent_env env = { r->loop, p->kube, &p->config, r->metrics, o };
    if (agent_new(&env, &p->agent, err) < 0)
        return err->code;
    if (o->restore) {
        agent_restore(p->agent, on_restored, r);
        return 0;
    }
    if (start_serving(p, err) < 0)
        return err->code;
    agent_start(p->agent);
    return 0;
}

static void stopped(void *arg)
{
    run_exit(arg, 0);
}

static void on_grace_over(struct loop *l, void *arg)
{
    (void)l;
    KLOG_W("The disk is too slow, predictions of the last minutes are lost");
    run_exit(arg, 0);
}

static void stop(struct run *r)
{
    struct program_state *p = r->self;
    const struct koordlet_options *o = r->options;

    if (!p->agent || o->restore) {
        run_exit(r, 1); /* nothing was started that has something to save */
        return;
    }
    p->serve = serve_free(p->serve);
    loop_after(r->loop, STOP_GRACE, on_grace_over, r);
    agent_stop(p->agent, stopped, r);
}

static void on_late(void *arg)
{
    const char *call = gpu_ask_under_way();

    (void)arg;
    if (call)
        KLOG_W("The GPU driver does not respond, exiting without waiting for it",
               KV_S("call", call));
    else
        KLOG_W("Shutdown takes too long, exiting now");
}

static void fini(struct run *r)
{
    struct program_state *p = r->self;

    if (!p)
        return;
    (void)process_end_within(END_GRACE, on_late, NULL, r->exit_code);
    serve_free(p->serve);
    agent_free(p->agent);
    kube_free(p->kube);
    kube_config_fini(&p->config);
    free(p);
}

static const struct program program = {
    .name = PROGRAM,
    .brief = "measures a node and keeps its pods apart",
    .about = "Looks after one node: measures the node and its pods, predicts what they will use\n"
             "and reports it, as Koordinator's koordlet does: the same flags, feature gates,\n"
             "endpoints and metrics.\n",
    .add_flags = koordlet_options_add,
    .check = check,
    .start = start,
    .stop = stop,
    .fini = fini,
};

int main(int argc, char **argv)
{
    struct koordlet_options o = { 0 };
    return run_main(&program, &o, argc, argv);
}
