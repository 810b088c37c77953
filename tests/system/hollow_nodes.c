/* hollow_nodes.c - hollow nodes of src/cluster on any API server, over HTTP.
 *
 *     hollow_nodes --kubeconfig FILE COUNT
 *
 * Registers nodes hollow-0 ... with 16 cores each, runs the pods that are bound to them, and
 * reports their use every two seconds, until it is told to end (SIGTERM). Prints "ready" once all
 * are there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "cluster/cluster.h"
#include "loop/loop.h"

struct hollow_run {
    struct cluster *cluster;
    bool told;
};

static void on_signal(struct loop *l, int signum, void *arg)
{
    (void)signum, (void)arg;
    loop_stop(l);
}

static void look(struct loop *l, void *arg)
{
    struct hollow_run *r = arg;

    if (!r->told && cluster_ready(r->cluster)) {
        r->told = true;
        printf("ready\n");
        fflush(stdout);
    }
    loop_after(l, 100 * NSEC_PER_MSEC, look, r);
}

static int fail(const struct kerr *err)
{
    fprintf(stderr, "hollow_nodes: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    struct kerr err = { 0 };
    struct hollow_run run = { 0 };
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kube_free) struct kube *kube = NULL;

    if (argc != 4) {
        fprintf(stderr, "usage: hollow_nodes --kubeconfig FILE COUNT\n");
        return 2;
    }
    const struct hollow_shape shape = { .count = (unsigned)atoi(argv[3]) };
    const struct cluster_opts o = { .hollow = { .shapes = &shape,
                                                .nshapes = 1,
                                                .seed = 1,
                                                .metrics_interval = 2 * NSEC_PER_SEC } };
    const struct kube_config_opts where = { .path = argv[2] };
    if (kube_config_load(&where, &config, &err) < 0 ||
        kube_http_new(l, strings, &config, &kube, &err) < 0)
        return fail(&err);
    if (loop_on_signal(l, SIGTERM, on_signal, NULL, &err) < 0)
        return fail(&err);
    run.cluster = cluster_new(l, kube, &o, &err);
    if (!run.cluster)
        return fail(&err);
    loop_after(l, 0, look, &run);
    loop_run(l);
    cluster_free(run.cluster);
    return 0;
}
