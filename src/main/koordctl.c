/* koordctl.c - the program koordctl, which kubectl also finds as its plugin kubectl-koord.
 *
 * Its image has the same program without the system of `up` and `demo` (koordctl_cluster.c). */
#include "main/koordctl.h"

#include <stdlib.h>

#include "api/kobj.h"
#include "apiserver/schema/types.h"
#include "ctl/ctl.h"
#include "sys/crash.h"

static const struct kmerge *merge_of(const struct kind *k)
{
    const struct t_type *t = types_find(k->group, k->version, k->kind);
    return t ? types_merge(t) : NULL;
}

int main(int argc, char **argv)
{
    const struct ctl_parts parts = { .explain = &main_explain,
                                     .explain_manager = &main_explain_manager,
                                     .cpus = main_cpus,
                                     .gpus = main_gpus,
                                     .up = main_system,
                                     .rebalance = &main_rebalance,
                                     .adopt = &main_adopt,
                                     .merge_of = merge_of };
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc > 0 ? (slash ? slash + 1 : argv[0]) : "koordctl";
    struct ctl c = {
        .program = streq(name, "kubectl-koord") ? "kubectl koord" : "koordctl",
        .env = client_env_read(),
        .parts = &parts,
    };
    const char *no_color = getenv("NO_COLOR");

    c.no_color = !str_empty(no_color);

    crash_init("koordctl");
    return ctl_main(&c, argc, argv);
}
