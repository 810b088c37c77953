/* up.h - koordctl up, down and status: the whole system on this machine, with no cluster.
 *
 * `up` wires the embedded API server, the small controllers with their hollow nodes and the
 * scheduler into one process on one loop; its state is one SQLite file. A token, a kubeconfig and a
 * note of what runs stand beside it, for `down`, `status` and any kubectl.
 */
#ifndef KOORD_MAIN_UP_H
#define KOORD_MAIN_UP_H
#include "ctl/ctl.h"

extern const struct ctl_command up_command, down_command, status_command;

/* ---- the data directory ------------------------------------------------------------------------
 */

struct up_dir {
    char *path;
    int fd;
};
/* --data, else $XDG_DATA_HOME/koord, else ~/.local/share/koord. make: mode 0700 when missing. */
int up_dir_open(const char *data, const struct client_env *env, bool make, struct up_dir *ret,
                struct kerr *err);
void up_dir_fini(struct up_dir *d);
static inline UNUSED void up_dir_fini_p(struct up_dir *d)
{
    up_dir_fini(d);
}
/* The administrator's token: made at the first start, the same ever after. */
int up_token(const struct up_dir *d, struct strbuf *ret, struct kerr *err);

/* What runs: written by `up` once it is ready, removed when it stops. */
struct up_note {
    int64_t pid;
    char url[128], kubeconfig[512];
};
int up_note_write(const struct up_dir *d, const struct up_note *n, struct kerr *err);
/* -ENOENT when nothing runs here (a note left behind by a dead process counts as nothing). */
int up_note_read(const struct up_dir *d, struct up_note *ret, struct kerr *err);
void up_note_remove(const struct up_dir *d);
#endif
