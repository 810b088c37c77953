/* args.h - DefaultEvictorArgs (descheduler 5.4). */
#ifndef KOORD_DESCHEDULER_DEFAULTEVICTOR_ARGS_H
#define KOORD_DESCHEDULER_DEFAULTEVICTOR_ARGS_H
#include "descheduler/framework/plugin.h"
#include "descheduler/plugins/common/args.h"

enum evictor_protection {
    PROTECT_LOCAL_STORAGE,
    PROTECT_SYSTEM_CRITICAL,
    PROTECT_FAILED_BARE,
    PROTECT_DAEMON_SET,
    PROTECT_PVC,
    PROTECT_WITHOUT_PDB,
    PROTECT_RESOURCE_CLAIMS,
    PROTECTIONS
};

struct evictor_threshold {
    struct opt_i32 value;
    const char *name;
};
struct evictor_storage_class {
    const char *name;
};
struct evictor_pvc_config {
    KLIST(struct evictor_storage_class) storage_classes;
};
struct evictor_protection_config {
    struct evictor_pvc_config *pvc;
};
struct evictor_protections {
    kstrlist extra, disabled;
    struct evictor_protection_config *config;
};
struct evictor_args {
    const char *node_selector;
    bool local_storage, daemon_sets, system_critical, ignore_pvc, failed_bare, ignore_without_pdb;
    bool node_fit;
    struct label_selector *label_selector, *namespace_selector;
    struct evictor_threshold *threshold;
    int64_t min_replicas;
    struct opt_i64 min_age; /* ns */
    const char *no_eviction;
    struct evictor_protections *protections;
    /* Made of these. */
    struct labelsel *labels, *namespaces, *nodes; /* NULL: not asked for */
    bool protects[PROTECTIONS];
};
extern const struct kd_args defaultevictor_args;
#endif
