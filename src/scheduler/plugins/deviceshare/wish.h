/* wish.h - what a pod asks for in the way of devices, whatever the node (sched-device 2, 4).
 *
 * Made once for an attempt, from the pod's requests, labels and annotations. Pure; memory comes
 * from the caller's arena.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_WISH_H
#define KOORD_SCHEDULER_DEVICESHARE_WISH_H
#include "api/protocol/device.h"
#include "api/selector/selector.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/deviceshare/holdings.h"

struct kind_wish { /* devices of one kind */
    bool asked;
    uint8_t strategy;    /* enum device_strategy */
    uint8_t scope;       /* enum device_scope */
    uint8_t exclusive;   /* enum device_exclusive */
    int64_t count;       /* GPUs: how many cards; of other kinds the node decides */
    struct amounts each; /* of each GPU; of other kinds the whole request */
    struct labelsel *selector, *vf_selector; /* NULL: none */
};
struct quick_wish { /* of a kind, when amounts decide and nothing else; -2: not asked for */
    int64_t count, memory;
    int32_t first, ratio;
};
struct wish {
    struct quick_wish quick[DEVICE_KINDS];
    struct kind_wish of[DEVICE_KINDS];
    bool shared;     /* parts of GPUs */
    bool partition;  /* of GPUs: a partition, and nothing else */
    bool restricted; /* the partition must be one of the first score */
    bool same_pcie;  /* joint devices must be on the same PCIes */
    bool required;   /* room of a reservation, and nothing else */
    bool ignores;    /* it may take the room of any reservation */
    bool templated;  /* the share of a GPU must be one of the templates */
    bool plain;      /* amounts decide, and nothing else */
    uint8_t njoint;
    uint8_t joint[DEVICE_KINDS];   /* kinds that are given together; the first is primary */
    int64_t bandwidth;             /* of the partition; -1: any */
    reslist gpu_each;              /* as of[DEVICE_GPU].each */
    const char *isolation;         /* provider that shared GPUs need; NULL: any */
    const struct held *designated; /* by a scheduling hint: these and nothing else */
    uint32_t ndesignated;
};
/* matched: resources that need a template when a part of a GPU is asked for; NULL: none. KS_SKIP:
 * it asks for no devices. Anything else but a success rejects the pod, with texts. */
enum ks_code wish_read(const struct pod *p, const kstrlist *matched, struct arena *a,
                       struct wish **ret, struct ks_texts *why);
#endif
