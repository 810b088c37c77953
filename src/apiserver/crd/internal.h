/* internal.h - what the files of this folder share: compiled schemas.
 *
 *   types.c       field tables of CustomResourceDefinition itself
 *   definition.c  its strategy: defaults, status, validation of everything but schemas
 *   structural.c  validation of schemas            schema.c    a schema compiled
 *   prune.c       unknown fields, pruning          defaults.c  defaulting, nulls
 *   validate.c    values against a schema          format.c    formats of strings
 *   rules.c       rules in CEL compiled            rules_define.c  at the definition, rules_eval.c
 *                                                  on objects
 *   correlate.c   which part of an object replaces which
 *   version.c     one served version                serve.c     definitions become resources
 *   status.c      their conditions, accepted names  finalize.c  their objects when they go
 *   regex.c       patterns                         jsonpath.c  printer columns, scale
 *   conversion.c  conversion by webhook: ConversionReview    selectable.c  selectableFields
 */
#ifndef KOORD_APISERVER_CRD_INTERNAL_H
#define KOORD_APISERVER_CRD_INTERNAL_H
#include "apiserver/crd/crd.h"
#include "apiserver/crd/regex.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

enum s_type { S_ANY, S_OBJECT, S_ARRAY, S_STRING, S_INTEGER, S_NUMBER, S_BOOLEAN };
enum s_list { S_ATOMIC, S_LIST_SET, S_LIST_MAP };

struct cel_expr;
struct crd_conversion;
struct cel_type;
struct snode;
struct srule;
struct sprop {
    const char *name;
    const struct snode *node;
};
struct snodes {
    const struct snode *const *list;
    size_t n;
};
/* What few nodes have: only checked, never needed for pruning or defaulting. */
struct srules {
    const struct kj_val *min, *max, *multiple_of;                         /* numbers; NULL: none */
    int64_t min_len, max_len, min_items, max_items, min_props, max_props; /* -1: none */
    bool excl_min, excl_max, unique;
    const struct kj_val *values;   /* enum */
    const struct kj_val *required; /* list of names */
    const char *pattern, *format;
    struct regex *re;
    struct snodes any_of, one_of, all_of;
    const struct snode *not_;
};
struct snode {
    uint8_t type, list;
    bool nullable, preserve, embedded, int_or_string, additional_any;
    bool additional_none; /* additionalProperties: false: not pruned, but refused */
    bool atomic_map;      /* x-kubernetes-map-type: replaced whole by server-side apply */
    bool plain_any_of; /* int-or-string with no more than anyOf integer, string: told by the type */
    bool defaults_below;       /* a default here or further down: defaulting skips what has none */
    const struct sprop *props; /* sorted by name */
    size_t nprops;
    const struct snode *items, *additional;
    const struct kj_val *def, *list_keys;
    const struct srules *rules;
    const struct srule *cel;         /* x-kubernetes-validations: rules.h */
    const struct cel_type *cel_type; /* of values here, where there are such */
    size_t ncel;
    bool cel_below; /* such rules here or further down */
};

/* One served version: schema, strings and columns of its struct resource. */
struct crd_schema {
    struct arena *arena;
    struct kj_doc *doc; /* the version's entry of spec.versions; nodes point into it */
    const struct snode *root;
    struct vec_of(struct regex *) regexes; /* one per pattern text */
    struct vec_of(struct cel_expr *) exprs;
    struct api_scale_paths scale;      /* spec_replicas NULL: no such subresource */
    struct resource res;               /* as it was given to the table */
    uint64_t hash;                     /* of the version's text */
    struct crd_conversion *conversion; /* NULL: objects are the same in all versions */
    uint64_t since;                    /* revision of the definition it comes from */
};

/* schema.c: compiles the schema in s->doc. Never fails: what structural.c lets through. */
void schema_compile(struct crd_schema *s, const struct kj_val *open_api, bool root);
/* What it made, but not the arena. */
void schema_fini(struct crd_schema *s);
/* The node under a member; *known false: not specified (and pruned unless preserved). */
const struct snode *snode_member(const struct snode *n, const char *key, size_t len, bool *known);

/* correlate.c: the parts of a list or object that another one replaces. They are read when the
 * first is asked for, so that each of many is found at once. */
struct old_parts {
    const struct snode *n;    /* of both */
    const struct kj_val *old; /* whatever was there; NULL: nothing */
    bool read;
    struct arena *a;   /* of keys of items */
    struct map by_key; /* keys of an item: to the first that has them; name of a member */
};
/* NULL: none, as for all items but those of list-type map. */
const struct kj_val *old_item(struct old_parts *o, const struct kj_val *item);
const struct kj_val *old_member(struct old_parts *o, struct str key);
void old_parts_fini(struct old_parts *o);
static inline UNUSED void old_parts_fini_p(struct old_parts *o)
{
    old_parts_fini(o);
}
/* Is a value the one that it replaces? The order of a list-type map does not count; what the schema
 * does not know always has changed. old NULL: it replaces nothing. */
bool is_unchanged(const struct snode *n, const struct kj_val *v, const struct kj_val *old);

/* version.c */
struct crd_schema *crd_version_new(const struct kj_val *definition, const struct kj_val *version);
void crd_schema_release(const struct resource *r);

/* rules.c: the rules of a node. */
void rules_compile(struct crd_schema *s, const struct kj_val *schema, struct snode *n, bool root);

/* structural.c: where: "spec.validation.openAPIV3Schema"; same: as it is stored already. */
void structural_validate(const struct kj_val *schema, const char *where, bool same,
                         struct field_errors *errors);
/* validate.c: for defaults of definitions. */
void value_validate(const struct snode *n, const struct kj_val *v, const char *path,
                    struct field_errors *errors);
/* scale.c: path: "spec.replicas", NULL: none. */
void scale_validate(const struct kj_val *obj, const char *path, struct field_errors *errors);
/* prune.c: at most so many unknown fields are told. */
bool has_unknown(const struct snode *n, const struct kj_val *v);
/* format.c: unknown formats accept everything. */
bool format_is_known(const char *format);
bool format_matches(const char *format, const char *s, size_t n);

/* conversion_check.c, definition.c: validation of definitions. */
void conversion_check(const struct kj_val *conversion, const struct kj_val *old,
                      struct field_errors *e);
bool definition_is_established(const struct kj_val *obj);
/* Its condition Terminating is true. */
bool definition_is_terminating(const struct kj_val *obj);
void definition_check_label(const char *path, const char *name, struct field_errors *e);

/* status.c */
#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"
struct definition_condition {
    const char *type, *status, *reason, *message;
};
/* Its time is now when its status is another one than before. */
void definition_set_condition(struct kj_mdoc *d, struct kj_mval *obj, nsec_t now,
                              const struct definition_condition *c);

/* selectable.c: where is "spec.selectableFields"; stored: as it is stored already. */
void selectable_check(const struct kj_val *list, const struct kj_val *schema, const char *where,
                      bool stored, struct field_errors *e);
#endif
