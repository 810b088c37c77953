/* kj.h - JSON values: parsed documents to read, mutable documents to build and edit, a writer.
 *
 * Two forms, because they are used differently. A parsed document (struct kj_doc) is immutable,
 * compact and fast to read: what came from outside. A mutable document (struct kj_mdoc) is a tree
 * to build or patch; values live until the document is freed. YAML is read into the same parsed
 * form. All readers accept NULL and answer "absent", so lookups chain without checks:
 *
 *     const char *node = kj_str(kj_get(kj_get(root, "spec"), "nodeName"));
 *
 * Numbers: 64-bit integers are exact; with KJ_RAW_NUMBERS every number keeps its text. Duplicate
 * keys: the last wins, as in Go. Bad UTF-8 becomes U+FFFD. Nesting is capped (KJ_DEPTH_MAX).
 */
#ifndef KOORD_JSON_KJ_H
#define KOORD_JSON_KJ_H
#include "base/base.h"
#include "base/strbuf.h"

struct kj_doc;
struct kj_val; /* owned by its document */
struct kj_mdoc;
struct kj_mval; /* owned by its mutable document */

enum { KJ_DEPTH_MAX = 512 };
enum kj_type { KJ_ABSENT, KJ_NULL, KJ_BOOL, KJ_NUM, KJ_STR, KJ_ARR, KJ_OBJ };
enum { KJ_RAW_NUMBERS = 1 << 0 }; /* flags of the parsers */

/* ---- parsing --------------------------------------------------------------------------------- */

/* The text is copied where needed and may go away afterwards. Errors name line and column. */
int kj_parse(const char *text, size_t n, unsigned flags, struct kj_doc **ret, struct kerr *err);
/* Parses in place: text[n..n+KJ_PADDING) must be writable, text is owned by the caller, must
 * outlive the document and is overwritten. The fast way for response bodies. */
enum { KJ_PADDING = 4 };
int kj_parse_insitu(char *text, size_t n, unsigned flags, struct kj_doc **ret, struct kerr *err);
/* The first document of a YAML (or JSON) text; an empty text is null. */
int kj_parse_yaml(const char *text, size_t n, unsigned flags, struct kj_doc **ret,
                  struct kerr *err);
/* Every document of a multi-document text, in order; empty ones are left out. fn returns 0, or a
 * negative code that ends the walk. The document is the callee's. */
typedef int (*kj_yaml_fn)(void *arg, struct kj_doc *doc, int line, struct kerr *err);
int kj_parse_yaml_all(const char *text, size_t n, unsigned flags, kj_yaml_fn fn, void *arg,
                      struct kerr *err);
struct kj_doc *kj_doc_free(struct kj_doc *doc);
const struct kj_val *kj_root(const struct kj_doc *doc);
DEFINE_CLEANUP(kj_doc_free, struct kj_doc *)

/* ---- reading --------------------------------------------------------------------------------- */

enum kj_type kj_type(const struct kj_val *v);
size_t kj_len(const struct kj_val *v); /* members, items or bytes; 0 for the others */
const struct kj_val *kj_get(const struct kj_val *obj, const char *key);
const struct kj_val *kj_getn(const struct kj_val *obj, const char *key, size_t n);
const struct kj_val *kj_at(const struct kj_val *arr, size_t i);
/* "spec.template.metadata": one kj_get a dot. For constant paths in our own code. */
const struct kj_val *kj_path(const struct kj_val *v, const char *dotted);
const char *kj_str(const struct kj_val *v); /* NULL unless a string */
const char *kj_str_or(const struct kj_val *v, const char *otherwise);
bool kj_bool(const struct kj_val *v, bool otherwise);
/* Whole numbers only ("1.0" and "1e3" count as whole when exact): 0, else -EINVAL/-ERANGE. */
int kj_i64(const struct kj_val *v, int64_t *ret);
int64_t kj_i64_or(const struct kj_val *v, int64_t otherwise);
int kj_f64(const struct kj_val *v, double *ret);
/* The number as text, exactly as written with KJ_RAW_NUMBERS, else canonical. */
size_t kj_num_text(const struct kj_val *v, char *buf, size_t size);
bool kj_equal(const struct kj_val *a, const struct kj_val *b); /* object order is irrelevant */

struct kj_iter {
    const void *cur;
    size_t i, n;
    bool is_obj;
};
struct kj_iter kj_iter(const struct kj_val *v); /* of an object or array; empty for the others */
/* The next member or item; *key is NULL for an array. false at the end. */
bool kj_next(struct kj_iter *it, struct str *key, const struct kj_val **val);

/* ---- building and editing ---------------------------------------------------------------------
 */

struct kj_mdoc *kj_mdoc_new(void);
struct kj_mdoc *kj_mdoc_free(struct kj_mdoc *d);
DEFINE_CLEANUP(kj_mdoc_free, struct kj_mdoc *)

struct kj_mval *kj_mnull(struct kj_mdoc *d);
struct kj_mval *kj_mbool(struct kj_mdoc *d, bool b);
struct kj_mval *kj_mi64(struct kj_mdoc *d, int64_t i);
struct kj_mval *kj_mstr(struct kj_mdoc *d, const char *s); /* copies */
struct kj_mval *kj_mstrn(struct kj_mdoc *d, const char *s, size_t n);
/* A JSON text, parsed; NULL when it is not valid (and setting or pushing NULL does nothing). */
struct kj_mval *kj_mraw(struct kj_mdoc *d, const char *json, size_t n);
struct kj_mval *kj_mobj(struct kj_mdoc *d);
struct kj_mval *kj_marr(struct kj_mdoc *d);
/* Deep. Of duplicate keys only the last comes along: a mutable object has each key once. */
struct kj_mval *kj_mcopy(struct kj_mdoc *d, const struct kj_val *v);
struct kj_mval *kj_mclone(struct kj_mdoc *d, struct kj_mval *v); /* deep */
/* As kj_mcopy(), but with the texts of v, whose document must live longer: for a copy that is
 * changed a little and compared (kj_diff_json() passes over what is the same text). */
struct kj_mval *kj_mborrow(struct kj_mdoc *d, const struct kj_val *v);

/* A value has at most one parent: clone to use it twice. Replaces in place when the key exists. */
void kj_mset(struct kj_mdoc *d, struct kj_mval *obj, const char *key, struct kj_mval *v);
void kj_msetn(struct kj_mdoc *d, struct kj_mval *obj, const char *key, size_t n, struct kj_mval *v);
/* The same for a key that the object is known not to have: no search. */
void kj_mappend(struct kj_mdoc *d, struct kj_mval *obj, const char *key, size_t n,
                struct kj_mval *v);
bool kj_mdel(struct kj_mval *obj, const char *key, size_t n); /* false when absent */
void kj_mpush(struct kj_mval *arr, struct kj_mval *v);
void kj_minsert(struct kj_mval *arr, size_t at, struct kj_mval *v);
void kj_mreplace_at(struct kj_mval *arr, size_t at, struct kj_mval *v);
bool kj_mdel_at(struct kj_mval *arr, size_t at);
/* v becomes what `from` is, in its place; `from` is used up. */
void kj_massign(struct kj_mval *v, struct kj_mval *from);

enum kj_type kj_mtype(const struct kj_mval *v);
size_t kj_mlen(const struct kj_mval *v);
struct kj_mval *kj_mget(const struct kj_mval *obj, const char *key);
struct kj_mval *kj_mgetn(const struct kj_mval *obj, const char *key, size_t n);
struct kj_mval *kj_mat(const struct kj_mval *arr, size_t i);
const char *kj_mstr_get(const struct kj_mval *v); /* NULL unless a string */
int kj_mi64_get(const struct kj_mval *v, int64_t *ret);
bool kj_mequal(const struct kj_mval *a, const struct kj_mval *b);

struct kj_miter {
    void *cur;
    size_t i, n;
    bool is_obj;
};
struct kj_miter kj_miter(const struct kj_mval *v);
/* Changing the value being walked is not allowed; collect first. */
bool kj_mnext(struct kj_miter *it, struct str *key, struct kj_mval **val);

/* A parsed document with the same content, independent of the mutable one. */
struct kj_doc *kj_freeze(const struct kj_mval *v);
/* The same with the texts of v, whose document must live longer: later changes of v do not show. */
struct kj_doc *kj_view(const struct kj_mval *v);

/* ---- writing --------------------------------------------------------------------------------- */

enum { KJ_PRETTY = 1 << 0, KJ_SORTED = 1 << 1 }; /* two-space indent; keys in byte order */
void kj_write(const struct kj_val *v, unsigned flags, struct strbuf *out);
void kj_mwrite(const struct kj_mval *v, unsigned flags, struct strbuf *out);
void kj_write_yaml(const struct kj_val *v, struct strbuf *out); /* as kubectl -o yaml prints it */

/* A stream of tokens straight into a buffer, for small bodies and patches: commas and quoting are
 * the writer's business. Nesting at most 64.
 *
 *     struct kjw w = kjw_to(&buf);
 *     kjw_obj(&w, NULL); kjw_str(&w, "kind", "Lease"); kjw_end(&w);
 * The key is NULL inside arrays and at the top. */
struct kjw {
    struct strbuf *out;
    uint64_t is_arr, has_items; /* one bit a level */
    int depth;
};
struct kjw kjw_to(struct strbuf *out);
void kjw_obj(struct kjw *w, const char *key);
void kjw_arr(struct kjw *w, const char *key);
void kjw_end(struct kjw *w); /* closes the innermost object or array */
void kjw_str(struct kjw *w, const char *key, const char *s); /* NULL writes null */
void kjw_strn(struct kjw *w, const char *key, const char *s, size_t n);
void kjw_i64(struct kjw *w, const char *key, int64_t v);
void kjw_f64(struct kjw *w, const char *key, double v);
void kjw_bool(struct kjw *w, const char *key, bool v);
void kjw_null(struct kjw *w, const char *key);
void kjw_time(struct kjw *w, const char *key, nsec_t wall); /* as metav1.Time: whole seconds */
void kjw_raw(struct kjw *w, const char *key, const char *json, size_t n);
/* Text as a JSON string with quotes; bad UTF-8 becomes U+FFFD. */
void kj_append_string(struct strbuf *out, const char *s, size_t n);
#endif
