/* hollow_script.h - how long the containers of a hollow pod would run, and how they would end.
 *
 * No command is run. Of those that tests and examples use, some can be understood by reading them:
 * sleep, exit, true, false, echo, one after another or in a shell, an exit code or a condition made
 * of JOB_COMPLETION_INDEX, a file that is there after the first failure. No state but the files
 * that a node remembers.
 */
#ifndef KOORD_CLUSTER_HOLLOW_SCRIPT_H
#define KOORD_CLUSTER_HOLLOW_SCRIPT_H
#include "base/base.h"
#include "base/vec.h"

struct kj_val;

/* Which files commands have made in volumes of type hostPath of one node, where later pods see
 * them: hashes of their paths, the last 1024. All zero is none. */
struct hfiles {
    struct vec_of(uint64_t) made;
    size_t next;
};
void hfiles_fini(struct hfiles *f);

struct hscript {
    nsec_t run; /* from the start of the containers to the end of the last */
    int32_t exit_code;
};
/* False: the commands of some container mean nothing to us. restarts: of the containers so far;
 * files: of the node that the pod is on. */
bool hscript_read(const struct kj_val *pod, int32_t restarts, uint64_t seed, struct hfiles *files,
                  struct hscript *ret);

/* By its name no registry has it, so it is never pulled. */
bool hscript_image_is_missing(const char *image);
#endif
