/* hollow_script.h - how long the containers of a hollow pod would run, and how they would end.
 *
 * No command is run. Of those that tests and examples use, some can be understood by reading them:
 * sleep, exit, true, false, echo, one after another or in a shell, an exit code made of
 * JOB_COMPLETION_INDEX, a file that is there after the first failure. Pure; no state.
 */
#ifndef KOORD_CLUSTER_HOLLOW_SCRIPT_H
#define KOORD_CLUSTER_HOLLOW_SCRIPT_H
#include "base/base.h"

struct kj_val;

struct hscript {
    nsec_t run; /* from the start of the containers to the end of the last */
    int32_t exit_code;
};
/* False: the commands of some container mean nothing to us. restarts: of the containers so far. */
bool hscript_read(const struct kj_val *pod, int32_t restarts, uint64_t seed, struct hscript *ret);

/* By its name no registry has it, so it is never pulled. */
bool hscript_image_is_missing(const char *image);
#endif
