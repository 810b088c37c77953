/* annotator.c - a scheduler with all plugins and one more, which annotates every pod that it binds.
 *
 *     annotator KUBECONFIG        until SIGTERM
 *
 * For tests/system/test_schedulers, which counts what it writes.
 */
#include <signal.h>
#include <stdio.h>

#include "base/intern.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sys/crash.h"

static enum ks_code annotate_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)why;
    ks_bind_annotate(b, "example.com/annotated-for", b->node);
    return KS_SUCCESS;
}

static const struct ks_plugin annotate_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Annotate",
    .pre_bind = annotate_pre_bind,
};

static void on_term(struct loop *l, int signum, void *arg)
{
    (void)signum, (void)arg;
    loop_stop(l);
}

static int run(struct loop *l, struct intern *strings, const char *path, struct kerr *err)
{
    static const char *const names[] = { "default-scheduler", NULL };
    struct ks_registered plugins[PROFILE_PLUGINS_MAX + 1] = { { &annotate_plugin, 0, true } };
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    struct kube *kube = NULL;
    size_t n = 1;

    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        assert(n < PROFILE_PLUGINS_MAX);
        plugins[n++] = *r;
    }
    if (kube_config_load(&(struct kube_config_opts){ .path = path }, &config, err) < 0 ||
        kube_http_new(l, strings, &config, &kube, err) < 0)
        return err->code;
    struct scheduler *s = scheduler_new(
        l, kube, &(struct scheduler_opts){ .plugins = plugins, .scheduler_names = names }, err);
    if (s && loop_on_signal(l, SIGTERM, on_term, NULL, err) == 0) {
        scheduler_start(s);
        loop_run(l);
    }
    scheduler_free(s);
    kube_free(kube);
    return err->code;
}

int main(int argc, char **argv)
{
    struct kerr err = { 0 };

    crash_init("annotator");
    if (argc != 2) {
        (void)fprintf(stderr, "usage: annotator KUBECONFIG\n");
        return 2;
    }
    struct loop *l = loop_new();
    struct intern *strings = intern_new();
    int r = run(l, strings, argv[1], &err);
    if (r < 0)
        (void)fprintf(stderr, "annotator: %s\n", err.text);
    intern_free(strings);
    loop_free(l);
    return r < 0;
}
