/* resource.h - the cgroup files the agent knows, under one name for both versions of cgroups.
 *
 * A resource goes by the name of its v1 file; the table tells where it is, who can miss it and what
 * may be written. No I/O here: whether a file exists is the caller's to find out.
 */
#ifndef KOORD_KOORDLET_KERNEL_RESOURCE_H
#define KOORD_KOORDLET_KERNEL_RESOURCE_H
#include "base/base.h"
#include "base/strbuf.h"

enum cgroup_version { CGROUP_V1, CGROUP_V2 };

enum cgroup_support {
    CGROUP_ALWAYS,
    CGROUP_IF_FILE,     /* when the file is there, asked each time */
    CGROUP_IF_KUBEPODS, /* when the kubepods cgroup has it */
    CGROUP_IF_ROOT,     /* when the root cgroup of the subsystem has it */
};

enum cgroup_check { /* what a value has to be */
                    CGROUP_ANY,
                    CGROUP_RANGE,       /* an integer, or "max" */
                    CGROUP_CPUS,        /* "0-3,7" */
                    CGROUP_BLKIO,       /* "maj:min N" */
                    CGROUP_BLKIO_QOS,   /* "maj:min enable=1 ctrl=user rpct= rlat= wpct= wlat=" */
                    CGROUP_BLKIO_MODEL, /* "maj:min ctrl=user rbps= rseqiops= rrandiops= wbps=
                                           wseqiops= wrandiops=" */
                    CGROUP_CLASS_ID,
};

struct cgroup_file {
    const char *subsystem; /* "" : at the root of the one hierarchy */
    const char *name;      /* NULL: this version does not have the resource */
    enum cgroup_support support;
    int64_t min, max; /* of a value that is written; where numbers are checked */
};
struct cgroup_resource {
    const char *type; /* "cpu.shares" */
    enum cgroup_check check;
    struct cgroup_file files[2]; /* by enum cgroup_version */
};

/* NULL after the last. */
const struct cgroup_resource *cgroup_resource_at(size_t i);
/* NULL with -ENOENT: "<type> not found in cgroup registry". */
const struct cgroup_resource *cgroup_resource_find(enum cgroup_version v, const char *type,
                                                   struct kerr *err);
/* root/subsystem/parent/file, or root/parent/file. The parent may be "". */
void cgroup_resource_path(const struct cgroup_resource *r, enum cgroup_version v, const char *root,
                          const char *parent, struct strbuf *out);
/* Is this a value for the file, in the file's own units? -EINVAL with upstream's words. */
int cgroup_resource_check(const struct cgroup_resource *r, enum cgroup_version v, const char *value,
                          struct kerr *err);
/* The text to write for a value in v1's units: shares become a weight, -1 becomes max. -EINVAL for
 * a value that the file may not have; -EOPNOTSUPP for cpu.cfs_period_us on v2, which has no file of
 * its own. */
int cgroup_resource_content(const struct cgroup_resource *r, enum cgroup_version v,
                            const char *value, struct strbuf *out, struct kerr *err);

/* "resource is unsupported, reason: file not exist in kubepods cgroup"; -EOPNOTSUPP. */
int cgroup_unsupported(enum cgroup_support s, struct kerr *err);
#endif
