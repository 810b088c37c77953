/* patch.h - the three kinds of patches Kubernetes takes, on mutable documents. */
#ifndef KOORD_JSON_PATCH_H
#define KOORD_JSON_PATCH_H
#include "json/kj.h"

/* How lists and maps of a kind merge in a strategic merge patch: a tree of the fields that matter.
 * A field that is not listed: objects merge, lists and scalars are replaced. */
enum kmerge_list { KMERGE_ATOMIC, KMERGE_BY_KEY, KMERGE_SET };
struct kmerge {
    const char *field;
    enum kmerge_list list;
    bool replace;             /* patchStrategy replace: an object is replaced whole */
    bool retain_keys;         /* patchStrategy retainKeys */
    const char *key;          /* KMERGE_BY_KEY: the merge key */
    const struct kmerge *sub; /* of the object or the list's elements; ends with field == NULL */
};

/* All return a new value in d (doc and patch stay as they are); on failure -EINVAL with reason
 * KR_BAD_REQUEST or KR_INVALID and a message as the API server words it; a JSON patch beyond the
 * server's limits (operations, bytes copied) is -E2BIG, KR_TOO_LARGE. */
int kj_patch_merge(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                   struct kj_mval **ret, struct kerr *err);
int kj_patch_json(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                  struct kj_mval **ret, struct kerr *err);
int kj_patch_strategic(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                       const struct kmerge *fields, struct kj_mval **ret, struct kerr *err);

/* A merge patch that turns `from` into `to` (RFC 7386); {} when they are equal. */
struct kj_mval *kj_diff_merge(struct kj_mdoc *d, const struct kj_val *from,
                              const struct kj_val *to);
/* The patch of a client-side apply: of what was applied last (NULL: nothing is known), what shall
 * be applied now and what the server has. A strategic merge patch by these tables; without tables a
 * merge patch. {} when nothing is to be done. */
struct kj_mval *kj_diff_apply(struct kj_mdoc *d, const struct kj_val *original,
                              const struct kj_val *modified, const struct kj_val *current,
                              const struct kmerge *fields);
/* The text of a JSON patch (RFC 6902) that turns `from` into `to`, appended to out. Returns the
 * number of operations: 0 when they are equal, and the text is "[]". */
size_t kj_diff_json(const struct kj_val *from, const struct kj_mval *to, struct strbuf *out);
#endif
