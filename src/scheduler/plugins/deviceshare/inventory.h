/* inventory.h - the devices of a node, as its Device and its labels describe them (sched-device 3).
 *
 * Cards in the order of their kinds and minors, where they are (NUMA node, PCIe), their virtual
 * functions, and the partitions of the GPUs. Derived and immutable: a change makes a new one. It
 * refers to the Device, which it keeps. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_INVENTORY_H
#define KOORD_SCHEDULER_DEVICESHARE_INVENTORY_H
#include "api/koord/device.h"
#include "scheduler/plugins/deviceshare/amounts.h"

struct arena;
struct node;

enum { NO_CARD = UINT16_MAX, CARDS_MAX = 4096, VFS_MAX = 16384, NUMA_IDS = 64 };

struct card_vf { /* a virtual function; its group is one of the card's */
    const struct virtual_function *info;
    uint32_t group;
};
static inline const char *card_vf_bus(const struct card_vf *v)
{
    return str_or(v->info->bus_id, "");
}
struct card {
    const struct device_info *info;
    struct amounts total; /* nothing listed: it is not healthy */
    uint32_t vf;          /* the first of its virtual functions */
    int32_t minor;
    int16_t numa;  /* -1: not known */
    uint16_t pcie; /* the order of its id among those of the node; NO_CARD: no topology */
    uint16_t nvfs;
    uint8_t kind;
};
struct gpu_group { /* cards that may be given to one pod as a whole */
    const int32_t *minors;
    uint32_t n;
    int32_t score;
    int64_t bandwidth; /* -1: not known */
};
struct gpu_scope { /* a PCIe with GPUs, below its NUMA node */
    int16_t numa;
    uint16_t pcie;
};
enum inventory_flags {
    INVENTORY_GONE = 1 << 0,         /* the Device was deleted: nothing of it is healthy */
    INVENTORY_HONOR = 1 << 1,        /* GPUs are given away by partition only */
    INVENTORY_WELL_PLANNED = 1 << 2, /* other devices are always free next to free GPUs */
    INVENTORY_NOT_PLANNED = 1 << 3,  /* the label says the opposite */
    INVENTORY_TREE = 1 << 4,         /* of every GPU it is known where it is */
};
struct inventory {
    uint32_t refs, flags;
    struct kobj *device;
    char *vendor, *model; /* of the node's labels, else of the Device's; NULL: neither says */
    uint32_t first[DEVICE_KINDS + 1]; /* cards of a kind: [first[k], first[k + 1]) */
    uint32_t nvfs, nscopes, ngroups;
    struct card *card;
    struct card_vf *vf;
    struct gpu_scope *scope;        /* by NUMA node, then PCIe; only with INVENTORY_TREE */
    const struct gpu_group *groups; /* by number of cards, then score, then as listed */
    struct gpu_group *own_groups;   /* NULL: they are built in */
    uint64_t numa_mask;             /* NUMA nodes that have devices */
    uint64_t bad;                   /* hash of what is wrong with the Device; 0: nothing is */
};
/* node may be NULL. What cannot be used is left out, and *bad says what: in the arena; NULL: all is
 * good. gone: the Device is there no more. */
struct inventory *inventory_new(const struct device *d, const struct node *node, bool gone,
                                struct arena *a, const char **bad);
struct inventory *inventory_ref(struct inventory *x);
struct inventory *inventory_unref(struct inventory *x);
DEFINE_CLEANUP(inventory_unref, struct inventory *)

static inline uint32_t inventory_cards(const struct inventory *x)
{
    return x->first[DEVICE_KINDS];
}
/* NO_CARD: there is none. */
uint32_t inventory_find(const struct inventory *x, enum device_kind kind, int64_t minor);
#endif
