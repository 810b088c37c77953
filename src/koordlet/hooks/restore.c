/* restore.c - what --restore puts back that has to be looked for first. */
#include "koordlet/executor/disks.h"
#include "koordlet/hooks/reconcile.h"

/* A file at a time: a disk that has no line in it needs none. */
static void restore_dir(const struct host *h, struct plan_at at, struct plan *plan)
{
    for (enum plan_file f = PLAN_BLKIO_READ_IOPS; f <= PLAN_BLKIO_COST_WEIGHT; f++) {
        struct disks disks = { 0 };
        const char *neutral = f == PLAN_BLKIO_COST_WEIGHT ? "100" : "0";
        disks_read(h, at.dir, f, f, plan->arena, &disks);
        vec_foreach(&disks, i)
            plan_item(plan, at, f, disks.items[i],
                      arena_printf(plan->arena, "%s %s", disks.items[i], neutral));
        vec_fini(&disks);
    }
}

void plan_restore_disks(const struct host *h, const struct podset *pods, struct plan *plan)
{
    restore_dir(h, (struct plan_at){ cgroup_qos_dir(h->driver, KUBE_QOS_BEST_EFFORT), NULL, NULL },
                plan);
    for (uint32_t i = 0; pods && i < pods->n; i++)
        restore_dir(h, (struct plan_at){ pods->pods[i]->cgroup_dir, pods->pods[i], NULL }, plan);
}
