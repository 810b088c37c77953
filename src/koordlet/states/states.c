/* states.c - birth and death, and what is missing. */
#include <stdio.h>

#include "base/klog.h"
#include "client/informer.h"
#include "client/kube.h"
#include "koordlet/states/pleg.h"
#include "koordlet/states/states_int.h"
#include "loop/loop.h"

/* ---- pods that appear ------------------------------------------------------------------------ */

static void on_pod_added(void *arg, const char *pod_id)
{
    struct states *s = arg;

    KLOG_I(4, "A pod's cgroup appeared", KV_S("pod", pod_id));
    pods_ask(s);
}

static const struct pleg_handler pleg_events = { .pod_added = on_pod_added };

/* ---- life ------------------------------------------------------------------------------------ */

struct states *states_new(const struct states_env *env, const struct states_options *o)
{
    struct states *s = xnew0(struct states);

    s->env = *env;
    s->o = *o;
    s->o.node_name = xstrdup(o->node_name);
    s->o.kubelet_address_type = xstrdup(str_or(o->kubelet_address_type, "InternalIP"));
    s->selector = xasprintf("metadata.name=%s", o->node_name);
    struct kubelet_opts k = {
        .loop = env->loop,
        .config = env->config,
        .metrics = env->internal,
        .insecure = o->kubelet_insecure,
        .timeout = o->kubelet_sync_timeout,
        .dial = env->kubelet_dial,
        .dial_arg = env->kubelet_dial_arg,
    };
    s->kubelet = kubelet_new(&k);
    pods_init(s);
    node_init(s);
    slo_init(s);
    policy_init(s);
    return s;
}

struct states *states_free(struct states *s)
{
    if (!s)
        return NULL;
    pleg_free(s->pleg);
    informer_free(s->nodes);
    informer_free(s->slos);
    informer_free(s->nodemetrics);
    pods_fini(s);
    configz_fini(s);
    volumes_fini(s);
    kubelet_free(s->kubelet);
    slo_fini(s);
    policy_fini(s);
    free(s->selector);
    free((char *)(uintptr_t)s->o.node_name);
    free((char *)(uintptr_t)s->o.kubelet_address_type);
    free(s);
    return NULL;
}

void states_start(struct states *s)
{
    informer_start(s->nodes);
    informer_start(s->slos);
    if (s->o.no_kubelet)
        pods_sync(s);
    if (s->nodemetrics)
        informer_start(s->nodemetrics);
    if (s->o.pleg && !loop_is_virtual(s->env.loop))
        s->pleg = pleg_new(s->env.loop, s->env.host, &pleg_events, s);
}

/* ---- what is there, and what is not ---------------------------------------------------------- */

/* "no X yet", with the last thing that went wrong. */
static const char *absent(struct states *s, const char *what, const char *why)
{
    (void)snprintf(s->missing, sizeof s->missing, "%s%s%s", what, str_empty(why) ? "" : ": ",
                   str_or(why, ""));
    return s->missing;
}

static const char *missing_pods(struct states *s)
{
    const struct kerr *why = s->aim_problem.code ? &s->aim_problem : &s->pods.problem;

    if (states_now(s)->pods)
        return NULL;
    if (s->o.kubelet_sync_interval <= 0)
        return absent(s, "no pods: --kubelet-sync-interval turns them off", NULL);
    return absent(s, s->o.no_kubelet ? "no pods yet" : "no pods from the kubelet yet", why->text);
}

static const char *missing_config(struct states *s)
{
    if (!s->o.query_kubelet_config || states_now(s)->kubelet)
        return NULL;
    return absent(s, "no configuration from the kubelet yet", s->configz.problem.text);
}

const char *states_missing(const struct states *cs, size_t i)
{
    struct states *s = (struct states *)(uintptr_t)cs; /* the text is kept in it */
    const char *why = NULL;

    for (size_t what = 0, found = 0; what < 5; what++) {
        if (what == 0 && !states_now(s)->node)
            why = absent(s, "no Node object yet", informer_problem(s->nodes));
        else if (what == 1)
            why = missing_pods(s);
        else if (what == 2 && !states_now(s)->slo)
            why = absent(s, "no NodeSLO yet (koord-manager makes it)", informer_problem(s->slos));
        else if (what == 3 && s->nodemetrics && !informer_synced(s->nodemetrics))
            why = absent(s, "no list of NodeMetrics yet", informer_problem(s->nodemetrics));
        else if (what == 4)
            why = missing_config(s);
        if (why && found++ == i)
            return why;
        why = NULL;
    }
    return NULL;
}
