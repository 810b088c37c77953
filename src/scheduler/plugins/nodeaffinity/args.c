/* args.c - NodeAffinityArgs: table, checks (scheduler-core 4.3). */
#include "scheduler/plugins/nodeaffinity/args.h"

#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/arena.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

#define STYPE     struct nodeaffinity_args
static const struct kfield nodeaffinity_fields[] = {
    KF(STYPE, added, "addedAffinity", KF_OBJ, .sub = &node_affinity_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema nodeaffinity_schema =
    KSCHEMA("NodeAffinityArgs", STYPE, nodeaffinity_fields);
#undef STYPE

static int check_added(const struct node_affinity *n, struct arena *a, struct kerr *err)
{
    if (n->required && nodesel_check(nodesel_from(n->required, a), err) < 0)
        return kerr_wrap(err, "addedAffinity." REQUIRED);
    for (uint32_t i = 0; i < n->preferred.n; i++)
        if (nodesel_check(nodesel_from_term(&n->preferred.items[i].preference, a), err) < 0)
            return kerr_wrap(err, "addedAffinity." PREFERRED "[%u]", i);
    for (uint32_t i = 0; i < n->preferred.n; i++)
        if (n->preferred.items[i].weight < 0 || n->preferred.items[i].weight > 100)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "addedAffinity: " PREFERRED "[%u].weight: not in valid range [0, 100]",
                            i);
    return 0;
}

static int nodeaffinity_check(const void *value, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct nodeaffinity_args *args = value;

    return args->added ? check_added(args->added, a, err) : 0;
}

const struct ks_args nodeaffinity_args = { .schema = &nodeaffinity_schema,
                                           .check = nodeaffinity_check };
