/* types.h - full field tables of the built-in kinds, as kube-apiserver 1.35 knows them.
 *
 * They are data for documents (kj values), apart from the components' own smaller structs: strict
 * field validation, OpenAPI v3, merge keys of strategic patches, simple defaults, bodies in
 * protobuf. A rarely used subtree may be T_ANY (unknown fields are kept).
 */
#ifndef KOORD_APISERVER_SCHEMA_TYPES_H
#define KOORD_APISERVER_SCHEMA_TYPES_H
#include "base/base.h"
#include "json/kj.h"
#include "json/patch.h"

enum t_kind {
    T_STR,
    T_BOOL,
    T_I32,
    T_I64,
    T_NUM,   /* any number */
    T_QTY,   /* string or number */
    T_IOS,   /* int or string */
    T_TIME,  /* RFC 3339, metav1.Time */
    T_MICRO, /* metav1.MicroTime */
    T_DUR,
    T_BYTES, /* base64 */
    T_STRS,  /* a list of strings, as the value of a map */
    T_OBJ,   /* struct: .type */
    T_ANY    /* anything, kept as it is */
};
enum t_shape { T_ONE, T_LIST, T_MAP }; /* T_MAP: string keys */
enum {
    T_REQ = 1 << 0,      /* required in OpenAPI */
    T_KEY = 1 << 1,      /* merge list by .merge_key */
    T_SET = 1 << 2,      /* merge list of scalars as a set */
    T_ATOMIC = 1 << 3,   /* list or map replaced whole, also under server-side apply */
    T_REPLACE = 1 << 4,  /* patchStrategy replace */
    T_RETAIN = 1 << 5,   /* patchStrategy retainKeys */
    T_PTR = 1 << 6,      /* a pointer in Go: "", 0, false and {} are kept, absent is not zero */
    T_EMIT = 1 << 7,     /* no omitempty in Go: printed even when it is zero */
    T_GRANULAR = 1 << 8, /* merged by server-side apply, and said so: also where its struct is one
                          * that is replaced whole elsewhere */
    T_EMPTY = 1 << 9     /* an empty list is not an absent one, until the kind has judged it */
};
/* T_KEY or T_SET together with T_REPLACE: merged by server-side apply, replaced by a strategic
 * merge patch. */
struct t_type;
struct t_field {
    const char *name;
    uint16_t num; /* in protobuf: number, with that of an embedded struct in the high byte (one in
                   * it above that); 0: none */
    uint8_t kind, shape;
    uint16_t flags;
    const char *merge_key;     /* with T_KEY; more list-map keys after a comma for SSA */
    const struct t_type *type; /* T_OBJ */
    const char *def;           /* simple default as JSON text; applied when the parent exists */
    const char *const *values; /* enum, NULL-terminated; NULL: any */
    const char *go;            /* Go's name of the type where it has one: "v1.RestartPolicy" */
};
struct t_type {
    const char *name;             /* "io.k8s.api.core.v1.PodSpec": its name in OpenAPI */
    const struct t_field *fields; /* ends with name == NULL */
    bool atomic;                  /* replaced whole by server-side apply (structType atomic) */
    bool either; /* in JSON the value of the one field that is set, in protobuf a message */
};

/* The root type of a built-in kind ("", "v1", "Pod"); NULL when not built in. version NULL: the one
 * that it is served in. */
const struct t_type *types_find(const char *group, const char *version, const char *kind);
/* As types_find(), and CustomResourceDefinition, which is no built-in kind but one of
 * apiserver/crd. */
const struct t_type *types_find_message(const char *group, const char *version, const char *kind);
/* Not served by themselves: Status, ListMeta and PartialObjectMetadata of meta/v1. */
extern const struct t_type meta_status;
extern const struct t_type meta_list_meta;
extern const struct t_type meta_partial_object_metadata;

/* Unknown fields and duplicate keys in the words of kube-apiserver: unknown field "spec.foo",
 * duplicate field "spec.x". fn is called for each, in order. Type mismatches are an error: what
 * kube-apiserver answers 400 for ("json: cannot unmarshal string into Go struct field ..."). */
typedef void (*types_problem_fn)(void *arg, const char *text);
/* At most 100 problems are told, the same text once. */
int types_check(const struct t_type *t, const struct kj_val *v, types_problem_fn fn, void *arg,
                struct kerr *err);
/* The same of an object that a strategic patch made, where type mismatches have the words of
 * another decoder: "cannot restore map from string". */
int types_check_restored(const struct t_type *t, const struct kj_val *v, types_problem_fn fn,
                         void *arg, struct kerr *err);
/* What decoding into Go's structs and encoding again does: unknown fields, null members and (as
 * omitempty does) empty optional ones go, fields without omitempty appear with their zero value,
 * quantities and times get their canonical text. Call it after types_check() found no error. */
void types_prune(const struct t_type *t, struct kj_mdoc *d, struct kj_mval *v);
/* Simple defaults of the tables, for absent fields (and zero ones that are no pointers in Go), at
 * every depth. Idempotent. */
void types_default(const struct t_type *t, struct kj_mdoc *d, struct kj_mval *v);
/* A message of this type in protobuf, into the object `out` of d: what the JSON form of the same
 * object says. 400 when it is malformed, 415 when it has a field that the tables do not know and
 * that is not zero: nothing is dropped in silence. */
int types_read_protobuf(const struct t_type *t, struct str message, struct kj_mdoc *d,
                        struct kj_mval *out, struct kerr *err);
/* The other way: a document that was checked and pruned, appended as a message of this type. Null
 * members are left out, and so are fields that have no number. */
void types_write_protobuf(const struct t_type *t, const struct kj_val *v, struct strbuf *out);
/* Merge tables for kj_patch_strategic(), made once and kept. */
const struct kmerge *types_merge(const struct t_type *t);
/* What a kind or field is for, in one sentence of our own; NULL: nothing is said. The type by its
 * name in OpenAPI, or the end of it. */
const char *types_describe(const char *type_name);
const char *types_describe_field(const char *type_name, const char *field);
/* OpenAPI schema objects of the types reachable from these roots, by name: members of the JSON
 * object under "components", "schemas" (v3) or "definitions" (v2). */
enum openapi_version { OPENAPI_V2 = 2, OPENAPI_V3 = 3 };
struct t_root {
    const struct t_type *type;
    const char *group, *version, *kind; /* kind NULL: no kind of its own */
    bool listed;                        /* there are lists of it */
};
struct kjw;
void types_openapi(enum openapi_version v, const struct t_root *roots, size_t n, struct kjw *w);
/* Discovery: what /api, /apis and below answer. */
extern const struct t_type meta_api_versions;
extern const struct t_type meta_api_group;
extern const struct t_type meta_api_group_list;
extern const struct t_type meta_api_resource_list;
extern const struct t_type apidiscovery_group;
extern const struct t_type meta_object_meta;
extern const struct t_type meta_delete_options;
extern const struct t_type meta_watch_event;
/* What annotations of an autoscaler in the form of autoscaling/v1 hold. */
extern const struct t_type autoscaling_v1_metric_spec;
extern const struct t_type autoscaling_v1_metric_status;
extern const struct t_type autoscaling_horizontal_pod_autoscaler_behavior;
extern const struct t_type autoscaling_horizontal_pod_autoscaler_condition;
#endif
