/* hookconfig.h - which hook servers there are: the files of a directory (runtime-proxy 3.1).
 *
 * Every entry whose name ends in "json" is a configuration. Changes are seen by inotify, and by a
 * look at the directory once a minute. A file that cannot be read leaves its last good content in
 * force; without any it counts for nothing. Loop thread only.
 */
#ifndef KOORD_RUNTIMEPROXY_HOOKCONFIG_H
#define KOORD_RUNTIMEPROXY_HOOKCONFIG_H
#include "base/base.h"

struct hookconfigs;
struct loop;

enum hook_point { /* what a configuration may list */
                  HOOK_PRE_RUN_POD,
                  HOOK_PRE_CREATE,
                  HOOK_PRE_START,
                  HOOK_POST_START,
                  HOOK_PRE_UPDATE,
                  HOOK_POST_STOP,
                  HOOK_POST_STOP_POD,
                  HOOK_POINTS
};
struct hookconfig {
    char *name;     /* of the file */
    char *endpoint; /* path of a unix socket; NULL: no content */
    bool fail;      /* failure-policy Fail; else Ignore */
    bool points[HOOK_POINTS];
};

struct hookconfigs *hookconfigs_new(struct loop *l, const char *dir);
struct hookconfigs *hookconfigs_free(struct hookconfigs *c);
DEFINE_CLEANUP(hookconfigs_free, struct hookconfigs *)
/* Makes the directory, reads it, and watches from now on. */
int hookconfigs_start(struct hookconfigs *c, struct kerr *err);
/* The first file, by name, that lists this; NULL: none. Borrowed until the next turn. */
const struct hookconfig *hookconfigs_find(const struct hookconfigs *c, enum hook_point p);

/* One file. Names that are no hooks are passed over. */
int hookconfig_parse(struct str text, struct hookconfig *ret, struct kerr *err);
void hookconfig_fini(struct hookconfig *c);
#endif
