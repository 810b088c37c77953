/* blkio.h - limits and weights of disks, for the best-effort class, single pods and the node.
 *
 * Pure: blocks of a NodeSLO or an annotation become lines for the files of a cgroup (koordlet-qos
 * 12). A block whose disk is not known spoils its target, and only that.
 */
#ifndef KOORD_KOORDLET_QOS_BLKIO_BLKIO_H
#define KOORD_KOORDLET_QOS_BLKIO_BLKIO_H
#include "koordlet/executor/plan.h"
#include "koordlet/facts/storage.h"

struct blkio_machine {
    const struct storage_info *storage;
    const char *kubelet_dir; /* "/var/lib/kubelet/" */
    /* The volume that a claim is bound to; NULL: not known. */
    const char *(*volume)(void *arg, const char *ns, const char *claim);
    void *arg;
};
struct blkio_target {
    const struct pod *pod; /* NULL: a class, or the node */
    bool root;             /* of the whole node: what disks can do, not who gets it */
    const struct blkio_block *blocks;
    uint32_t nblocks;
    /* Disks ("253:16") that have settings now; those without a block lose them. */
    const char *const *existing;
    uint32_t nexisting;
};
struct blkio_line {
    enum plan_file file;
    const char *disk, *text;
};
/* In the order of the blocks: of two lines for one disk the later counts. -ENOENT: a block names no
 * disk that is known, -EINVAL: its type is none; err tells which. */
int blkio_lines(const struct blkio_machine *m, const struct blkio_target *t, struct arena *a,
                struct blkio_line **ret, uint32_t *ret_n, struct kerr *err);
#endif
