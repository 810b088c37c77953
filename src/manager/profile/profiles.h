/* profiles.h - ClusterColocationProfiles, compiled: whom each is for.
 *
 * A set holds a reference on each profile and what was made of it once: selectors, the percentage,
 * the patch. Matching allocates nothing. What is wrong with a profile is known from then on: one
 * whose selector cannot be read matches nothing, the others go their way. Loop thread only
 * (manager 7.3).
 */
#ifndef KOORD_MANAGER_PROFILE_PROFILES_H
#define KOORD_MANAGER_PROFILE_PROFILES_H
#include "api/koord/profile.h"

struct kj_doc;
struct profile_set;

struct profile {
    const struct colocation_profile *obj;
    const struct labelsel *namespaces, *labels; /* NULL: all of them */
    bool unreadable;                            /* a selector is: matches nothing */
    bool skips_resources;                       /* annotation skip-update-resources */
    int32_t percent;
    const char *bad_percent;    /* why the percentage cannot be read; NULL: it can */
    const struct kj_doc *patch; /* NULL: none */
    const char *bad_patch;      /* why it cannot be used; NULL: it can */
    const char *problem;        /* all of that, for people; NULL: nothing */
};
static inline const char *profile_name(const struct profile *p)
{
    return p->obj->obj.meta.name;
}

struct profile_set *profile_set_new(void);
struct profile_set *profile_set_free(struct profile_set *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(profile_set_free, struct profile_set *)
/* Takes the place of one with the same name. Returns what was made of it. */
const struct profile *profile_set_put(struct profile_set *s, struct kobj *profile);
void profile_set_remove(struct profile_set *s, const char *name);
/* NULL: there is none of this name. */
const struct profile *profile_set_find(const struct profile_set *s, const char *name);
size_t profile_set_count(const struct profile_set *s);
const struct profile *profile_set_at(const struct profile_set *s, size_t i); /* by name */

enum profile_match {
    PROFILE_MATCHES,
    PROFILE_OTHER_NAMESPACE, /* namespaceSelector does not match */
    PROFILE_OTHER_LABELS,    /* selector does not */
    PROFILE_UNREADABLE       /* one of them cannot be read */
};
struct profile_subject {
    const kstrmap *labels;           /* of the pod or the Reservation */
    const kstrmap *namespace_labels; /* NULL: not known, which every selector matches (upstream) */
    bool any_namespace;              /* namespaceSelector does not count: a Reservation */
};
enum profile_match profile_match(const struct profile *p, const struct profile_subject *s);
/* Is the profile for this one? draw: a number from 0 to 99. */
static inline bool profile_drawn(const struct profile *p, uint64_t draw)
{
    return p->percent > 0 && draw < (uint64_t)p->percent;
}
#endif
