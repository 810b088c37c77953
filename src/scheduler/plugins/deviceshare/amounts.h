/* amounts.h - amounts of a device: of a card, or of what somebody asks for or holds of it.
 *
 * Kinds of devices and the resources of each kind are small numbers, so that a card is a short
 * array. Names that are not in the table are not counted. Pure.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_AMOUNTS_H
#define KOORD_SCHEDULER_DEVICESHARE_AMOUNTS_H
#include "api/reslist.h"
#include "base/num.h"

enum device_kind { DEVICE_GPU, DEVICE_RDMA, DEVICE_FPGA, DEVICE_KINDS };
/* -1: no such kind. */
int device_kind_of(const char *type);
const char *device_kind_name(enum device_kind kind);

/* The resources of a GPU; RDMA and FPGA devices have one, with the number 0. */
enum {
    GPU_CORE,
    GPU_MEMORY,
    GPU_RATIO, /* of the memory, in percent */
    NPU_CORE,
    NPU_CPU,
    NPU_DVPP,
    DEVICE_RESOURCES
};
/* NULL behind the last. */
const char *device_resource_name(enum device_kind kind, uint32_t resource);

/* Values end here, so that sums over the cards of a node and a hundredfold stay within 64 bits. */
#define AMOUNT_MAX (INT64_C(1) << 48)

struct amounts {
    int64_t v[DEVICE_RESOURCES];
    uint8_t has; /* bits: resources that are listed; the others are 0 */
};
/* Negative values count as 0; *bad (may be NULL) names a resource whose value is out of bounds. */
struct amounts amounts_of(enum device_kind kind, const reslist *l, const char **bad);
/* The list in the arena; memory in binary format. */
reslist amounts_list(enum device_kind kind, const struct amounts *x, struct arena *a);

static inline bool amounts_has(const struct amounts *x, uint32_t resource)
{
    return x->has >> resource & 1;
}
static inline bool amounts_are_zero(const struct amounts *x)
{
    int64_t any = 0;

    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        any |= x->v[i];
    return any == 0;
}
static inline void amounts_set(struct amounts *x, uint32_t resource, int64_t value)
{
    x->v[resource] = value;
    x->has |= (uint8_t)(1u << resource);
}
static inline void amounts_add(struct amounts *x, const struct amounts *y)
{
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        x->v[i] = i64_add_sat(x->v[i], y->v[i]);
    x->has |= y->has;
}
/* Never below 0; what x lists stays listed. */
static inline void amounts_take(struct amounts *x, const struct amounts *y)
{
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        x->v[i] = MAX(x->v[i] - y->v[i], 0);
}
/* Each listed resource of x at most what y lists of it; the others stay. */
static inline void amounts_limit(struct amounts *x, const struct amounts *y)
{
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        if (amounts_has(y, i))
            x->v[i] = MIN(x->v[i], y->v[i]);
}
/* Is there so much? A card that does not list what is asked for has none of it. */
static inline bool amounts_fit(const struct amounts *want, const struct amounts *have)
{
    if (want->has & ~have->has)
        return false;
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        if (want->v[i] > have->v[i])
            return false;
    return true;
}

/* Memory by its share, or the share by the memory, when one of them is listed; the share of a card
 * without memory stays open. */
void amounts_complete(struct amounts *x, const struct amounts *total);
#endif
