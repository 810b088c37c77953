/* apply.h - what a profile does to a pod or a Reservation, on its JSON tree (manager 7.3, 8.1).
 *
 * Labels, annotations, mappings, suffixes, scheduler, QoS class, priority, patch, in this order;
 * later profiles override earlier ones. Every change is recorded with its profile, so that people
 * can be told who did what, and who overrode whom.
 */
#ifndef KOORD_MANAGER_PROFILE_APPLY_H
#define KOORD_MANAGER_PROFILE_APPLY_H
#include "base/arena.h"
#include "manager/profile/profiles.h"

struct kj_mdoc;
struct kj_mval;
struct kmerge;
struct priority_class_obj;

enum profile_field {
    PROFILE_LABEL,
    PROFILE_ANNOTATION,
    PROFILE_SCHEDULER,
    PROFILE_PRIORITY_CLASS,
};
struct profile_change {
    const struct profile *by;
    enum profile_field field;
    const char *key;       /* of a label or annotation; "" */
    const char *from, *to; /* NULL: absent */
    struct profile_change *next;
};
/* "label app", "schedulerName": for people. */
const char *profile_change_field(const struct profile_change *c, struct arena *a);

struct profile_target {
    struct kj_mdoc *d;
    struct kj_mval *obj;        /* a pod, or */
    bool is_reservation;        /* scheduler and priority stand in its template, if it has one */
    const struct kmerge *merge; /* of the object, for patches; NULL: lists are replaced */
    bool metadata_only;         /* neither schedulerName nor priorityClassName: a pod that exists */
    /* The object may have been here before: suffixes of these profiles that are there already are
     * not appended again. NULL: it is new. */
    const struct profile_set *suffixed;
    /* NULL: there is no such class. */
    const struct priority_class_obj *(*priority_class)(void *self, const char *name);
    void *self;
    struct arena *a; /* for the changes */
    /* of what was done */
    struct profile_change *first, *last;
    bool changed;
};
/* 0, or -EINVAL: the text is what whoever sent the object reads. */
int profile_apply(const struct profile *p, struct profile_target *t, struct kerr *err);
/* The change of an earlier profile to the same field, when that set it to something else than this
 * one does; NULL: nobody is overridden. */
const struct profile_change *profile_change_overrides(const struct profile_target *t,
                                                      const struct profile_change *c);
#endif
