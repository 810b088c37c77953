/* audit_int.h - what the writer and the readers of the audit log share. */
#ifndef KOORD_KOORDLET_AUDIT_INT_H
#define KOORD_KOORDLET_AUDIT_INT_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "koordlet/audit/audit.h"
#include "koordlet/states/complaint.h"

#define AUDIT_FILE     "audit.log"
#define AUDIT_LINE_MAX (64 << 10)

struct audit_reader;
struct audit {
    struct loop *loop;
    struct audit_options o;
    char *dir;
    int dirfd, fd; /* -1: cannot be opened; tried again when there is something to write */
    struct strbuf pending;
    uint64_t size;               /* of the file */
    bool torn;                   /* the file ends in the middle of a line */
    nsec_t flushed, next_rotate; /* monotonic */
    struct counter *lost;
    struct complaint losing, growing, removed;
    struct vec_of(struct audit_reader *) readers; /* least recently used first */
    struct timer *sweep;                          /* of readers; NULL: there are none */
};

/* Names of rotated files, newest first; each is the caller's. */
struct audit_names vec_of(char *);
void audit_rotated(const struct audit *a, struct audit_names *out);
void audit_names_fini(struct audit_names *n);
void audit_readers_free(struct audit *a);
#endif
