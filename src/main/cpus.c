/* cpus.c - the scheduler's part of koordctl cpus. */
#include "ctl/cpus.h"

#include "main/koordctl.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/nodenumaresource/cpumap.h"

int main_cpus(void *self, const char *node, const struct cpus_want *want, struct strbuf *json,
              struct kerr *err)
{
    struct grants *g = whatif_service(main_explain_whatif(self), &grants_service);

    if (!g)
        return kerr_set(err, -ENOTSUP, "the profile of koord-scheduler has no NodeNUMAResource");
    if (node)
        return cpumap_node(g, node, json, err);
    cpumap_fits(g,
                &(struct cpumap_want){ .ncpus = want->ncpus,
                                       .bind = cpu_bind_policy_parse(want->bind),
                                       .single_numa = want->single_numa },
                json);
    return 0;
}
