/* yaml_scalar.h - what a plain YAML scalar means (inside this room only).
 *
 * YAML 1.1 as sigs.k8s.io/yaml reads it, because that is what kubectl and every component of
 * Kubernetes use: yes and on are booleans, 0x1F, 0o17, 017 and 0b11 are integers, 1_000 is a
 * thousand, 1:30 and dates are strings. One difference on purpose: a single y or n is a string, for
 * nobody who writes "x: 1, y: 2" means the key "true".
 */
#ifndef KOORD_JSON_YAML_SCALAR_H
#define KOORD_JSON_YAML_SCALAR_H
#include "base/base.h"

enum yaml_kind { YK_STR, YK_NULL, YK_BOOL, YK_U64, YK_I64, YK_F64, YK_NOT_FINITE, YK_TIMESTAMP };
struct yaml_value {
    enum yaml_kind kind; /* YK_I64: negative only */
    union {
        bool b;
        uint64_t u;
        int64_t i;
        double f;
    };
};
struct yaml_value yaml_resolve(const char *s, size_t n);
/* Would some reader of YAML 1.1 take this plain text for something else than a string? Then it is
 * written with quotes: dates, 1:30, y, the merge key. */
bool yaml_is_ambiguous(const char *s, size_t n);
#endif
