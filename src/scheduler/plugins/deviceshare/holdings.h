/* holdings.h - which devices pods hold (sched-device 3).
 *
 * A service: one for all profiles and configurations. What a pod holds comes from the annotation of
 * a pod that has a node, or from reserve() until the server confirms the pod. It is kept by the
 * pod's UID, whether or not the node's Device is known (yet, or still); the rows (devrow.h) sum up
 * what concerns them. So the state is a function of the objects that there are. The one thing that
 * is remembered beyond them is the last Device of a node: one that was deleted counts as there,
 * with nothing healthy, until its node goes. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_HOLDINGS_H
#define KOORD_SCHEDULER_DEVICESHARE_HOLDINGS_H
#include "api/protocol/device.h"
#include "base/map.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/deviceshare/inventory.h"

struct card_hold;
struct card_ids;
struct cards;

struct held { /* of one device */
    struct amounts amounts;
    int32_t minor;
    uint8_t kind;
    uint16_t nvfs;
    const struct device_vf *vfs;
    const char *gpu_template; /* NULL: none */
};
struct holding {
    struct kuid uid; /* first: for the map */
    char *node;
    struct kobj *pod;
    char *reservation; /* UID of the one that it has taken room of; NULL: none */
    bool reserved; /* by reserve(): what an annotation says does not count before it is written */
    uint64_t text; /* hash of the annotation that was written; 0: none was */
    struct card_hold *cards; /* as DynamicResources hears of it; NULL: the cards are not known */
    uint32_t n;
    const struct held *items; /* in the same block, as given */
};
struct holdings {
    struct ks_env env;
    struct uidmap by_uid;
    struct map devices;  /* the last Device of each node: struct kobj */
    struct cards *cards; /* NULL: nobody else hands out cards */
    struct objects_listener on_device;
    struct arena *scratch;
};
KS_SERVICE(holdings, struct holdings)

/* From here on DynamicResources knows what is held, and the rows what it holds. Once. */
void holdings_link(struct holdings *h, struct cards *cards);
/* What identifies a device: UUID, PCI address, those of its virtual functions. */
void device_ids(const struct device_info *d, struct card_ids *ret);

/* NULL: it holds nothing. */
const struct holding *holdings_find(const struct holdings *h, struct kuid uid);
/* What an annotation says; devices of unknown types are left out. In the arena; returns how many.
 */
uint32_t held_of(const struct device_allocations *from, struct arena *a, const struct held **ret);
/* The pod is on its way to the node with this, of which it takes what a reservation keeps there
 * (NULL: of none). The items are copied. */
void holdings_reserve(struct holdings *h, const struct pod *p, const char *node,
                      const struct ks_reservation *of, const struct held *items, uint32_t n);
/* It is not any more. What the pod's annotation confirms stays. */
void holdings_release(struct holdings *h, struct kuid uid);
/* This is what was written on the pod: when it comes back, nothing has changed. */
void holdings_written(struct holdings *h, struct kuid uid, const char *text);
/* The Device of a node, also one that was deleted (*ret_gone); NULL: it never had one. */
const struct device *holdings_device(struct holdings *h, const char *node, bool *ret_gone);
/* As the annotation has them, in the arena; ids are those of the Device, which may be NULL. */
struct device_allocations held_allocations(const struct held *items, uint32_t n,
                                           const struct device *d, struct arena *a);
/* The annotation. */
const char *held_format(const struct held *items, uint32_t n, const struct device *d,
                        struct arena *a);
#endif
