/* internal.h - what the files of the plugin share beside the library of allocation. */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_INTERNAL_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_INTERNAL_H
#include "base/base.h"

struct arena;
struct claimcache;
struct kobj;
struct loop;

struct dra { /* the plugin in one profile */
    struct claimcache *cache;
    struct loop *loop;     /* NULL: searches are not timed */
    nsec_t timeout;        /* 0: none */
    struct arena *scratch; /* of the search on one node */
    uint64_t ids;          /* shares of devices that were named without a loop */
    struct kobj *unused;   /* a claim that is to be deallocated, until the attempt has ended */
};
#endif
