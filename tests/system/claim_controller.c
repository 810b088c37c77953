/* claim_controller.c - the resourceclaim controller of src/cluster on any API server, over HTTP.
 *
 *     claim_controller --kubeconfig FILE
 *
 * Makes the claims that pods have templates for and frees those that nobody uses, until it is told
 * to end (SIGTERM).
 */
#include <signal.h>
#include <stdio.h>

#include "base/intern.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "cluster/cluster.h"
#include "loop/loop.h"

static void on_signal(struct loop *l, int signum, void *arg)
{
    (void)signum, (void)arg;
    loop_stop(l);
}

static int fail(const struct kerr *err)
{
    fprintf(stderr, "claim_controller: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    struct kerr err = { 0 };
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kube_free) struct kube *kube = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: claim_controller --kubeconfig FILE\n");
        return 2;
    }
    const struct cluster_opts o = { .resourceclaims = true };
    const struct kube_config_opts where = { .path = argv[2] };
    if (kube_config_load(&where, &config, &err) < 0 ||
        kube_http_new(l, strings, &config, &kube, &err) < 0 ||
        loop_on_signal(l, SIGTERM, on_signal, NULL, &err) < 0)
        return fail(&err);
    CLEANUP(cluster_free) struct cluster *c = cluster_new(l, kube, &o, &err);
    if (!c)
        return fail(&err);
    loop_run(l);
    return 0;
}
