/* conversion.h - spec.conversion of a definition whose strategy is Webhook, and its
 * ConversionReview.
 *
 * One per definition that is served, shared by its versions and by documents that are being
 * converted: a definition may be replaced while its webhook is thinking. Loop thread only.
 */
#ifndef KOORD_APISERVER_CRD_CONVERSION_H
#define KOORD_APISERVER_CRD_CONVERSION_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "json/kj.h"

struct crd_conversion;
struct crd_schema;

/* NULL: the objects of this definition are the same in all versions. */
struct crd_conversion *crd_conversion_new(const struct kj_val *definition);
struct crd_conversion *crd_conversion_ref(struct crd_conversion *v);   /* NULL is fine */
struct crd_conversion *crd_conversion_unref(struct crd_conversion *v); /* returns NULL */
DEFINE_CLEANUP(crd_conversion_unref, struct crd_conversion *)
/* Of a version; NULL: none. */
struct crd_conversion *crd_schema_conversion(const struct crd_schema *s);

uint64_t crd_conversion_id(const struct crd_conversion *v); /* another one for each definition */
const struct kj_val *crd_conversion_client(const struct crd_conversion *v); /* clientConfig */
const char *crd_conversion_name(const struct crd_conversion *v);            /* of the definition */
/* Of a version, which need not be served; NULL: there is none of this name. */
const struct crd_schema *crd_conversion_schema(const struct crd_conversion *v,
                                               const char *api_version);

/* ---- ConversionReview ------------------------------------------------------------------------ */

struct conversion_texts vec_of(struct str); /* objects as JSON */
void conversion_write(const struct crd_conversion *v, const char *uid, const char *api_version,
                      const struct conversion_texts *objects, struct strbuf *out);
/* The converted objects, as many as were asked for. Untrusted input (tests/fuzz). *why says what is
 * wrong, beginning behind "conversion webhook for KIND". */
int conversion_read(const struct crd_conversion *v, const char *uid, const char *body, size_t n,
                    size_t expected, struct kj_doc **ret, const struct kj_val **ret_objects,
                    struct strbuf *why);
/* Judges the object at `at` of `of`; the metadata of the original with labels and annotations of
 * the converted one is put in its place. */
int conversion_accept(const struct kj_val *original, const struct kj_val *converted,
                      const char *api_version, size_t at, size_t of, struct kj_mdoc *d,
                      struct kj_mval **ret, struct strbuf *why);
#endif
