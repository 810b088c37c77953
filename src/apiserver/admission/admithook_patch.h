/* admithook_patch.h - an object in the version that a webhook knows, and what its patch makes of
 * it.
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMITHOOK_PATCH_H
#define KOORD_APISERVER_ADMISSION_ADMITHOOK_PATCH_H
#include "apiserver/admission/admission.h"
#include "base/strbuf.h"

/* obj of the request's resource in the form of `as`, another version of the same objects. */
struct kj_mval *admithook_show(const struct admission_req *r, const struct resource *as,
                               struct kj_mdoc *d, const struct kj_val *obj);
/* Applies a JSON patch that was made for that form. *ret is the object in the request's own form
 * again, pruned and with defaults. -EINVAL: why says what is wrong with the patch. */
int admithook_patch(const struct admission_req *r, const struct resource *as,
                    const struct kj_val *obj, const struct kj_val *patch, struct kj_doc **ret,
                    struct strbuf *why);
#endif
