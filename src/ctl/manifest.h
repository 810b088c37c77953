/* manifest.h - objects that a person has in files: read whole before anything is done with one.
 *
 * Files are YAML with any number of documents, or JSON; a List stands for its items; a directory
 * for its *.yaml, *.yml and *.json; "-" for standard input. Loop thread only.
 */
#ifndef KOORD_CTL_MANIFEST_H
#define KOORD_CTL_MANIFEST_H
#include "base/vec.h"
#include "component/flags.h"
#include "json/kj.h"

struct ctl;
struct kind;

struct manifest { /* one object */
    const struct kj_val *root;
    const char *api_version, *kind, *name;
    const char *where; /* "web.yaml line 12", for messages */
};
struct manifests {
    struct vec_of(struct manifest) all;
    struct vec_of(struct kj_doc *) docs;
    struct arena *arena;
};
/* The flag -f, for a struct flag_list. */
#define MANIFEST_FLAG(offset)                                                               \
    {                                                                                       \
        "filename", FLAG_LIST, offset, .letter = 'f',                                       \
                                       .help = "`file` or directory with objects; -: stdin" \
    }
/* Complains and returns an exit code when one of them cannot be read or has something else in it.
 * manifests_fini() in any case. */
int manifests_read(struct ctl *c, const struct flag_list *files, struct manifests *ret);
void manifests_fini(struct manifests *m);
static inline UNUSED void manifests_fini_p(struct manifests *m)
{
    manifests_fini(m);
}
/* The kind and the namespace (NULL: none) of an object, as the server and -n have them. Complains
 * and returns an exit code. */
int manifest_place(struct ctl *c, const struct manifest *m, const struct kind **ret_kind,
                   const char **ret_ns);
#endif
