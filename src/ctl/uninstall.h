/* uninstall.h - what the parts of "koordctl uninstall" share.
 *
 * Every step can be repeated: what is gone already is passed over, and what is still needed to put
 * nodes right (koordlet's pod template, its nodes) stands in a ConfigMap until that is done. So a
 * run that was killed is finished by the next. Loop thread only.
 */
#ifndef KOORD_CTL_UNINSTALL_H
#define KOORD_CTL_UNINSTALL_H
#include "base/arena.h"
#include "component/flags.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "json/kj.h"

struct uninstall_options {
    bool dry_run, prepare, crds, objects, force, keep_cgroups;
    struct flag_list components;
    const char *image;
    nsec_t timeout;
};
struct removal {
    struct ctl *c;
    const struct uninstall_options *o;
    const char *ns;
    struct arena *arena;
    bool parts[PARTS]; /* to be removed */
    nsec_t deadline;   /* by the monotonic clock */
    bool failed;       /* something could not be done; told */
};

/* "deleted ...", or "would delete ..." in a dry run. */
void removal_say(struct removal *x, const char *done, const char *would, const char *fmt, ...)
    PRINTF(4, 5);
void removal_fail(struct removal *x, const struct kerr *err, const char *fmt, ...) PRINTF(3, 4);
/* Deletes an object unless it is gone; ns NULL: cluster scope. Told. */
void removal_delete(struct removal *x, const struct kind *k, const char *ns, const char *name);
/* A merge patch, sent unless this is a dry run. */
int removal_patch(struct removal *x, const struct kube_req *where, const struct strbuf *patch,
                  struct kerr *err);
/* Waits for some time; false: the time of the whole command is over. */
bool removal_wait(struct removal *x);

/* ---- uninstall_nodes.c: what koord-manager has written to nodes ------------------------------- */

void removal_clean_nodes(struct removal *x);

/* ---- uninstall_restore.c: what koordlet has written to cgroups -------------------------------- */

/* Before koordlet's DaemonSet goes: notes its template and its nodes. */
void restore_remember(struct removal *x);
/* When no koordlet runs any more: koordlet --restore on each of those nodes. */
void restore_run(struct removal *x);
#endif
