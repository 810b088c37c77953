/* strfmt.h - texts of schemas' formats, as kube-openapi's strfmt takes them: looser here and
 * stricter there than the functions of expressions. Schemas are checked with them, and named
 * formats and the values of a schema's strings follow them.
 */
#ifndef KOORD_CEL_STRFMT_H
#define KOORD_CEL_STRFMT_H
#include "base/base.h"

/* "2006-01-02" */
bool strfmt_is_date(struct str s);
/* A date, t or T, a time with any sign before its fraction, and any offset of two times two digits.
 * What comes behind another t does not count. */
bool strfmt_is_date_time(struct str s);
/* Go's durations, and amounts with units anywhere in a text: "2 weeks and 1 day". 0 or -EINVAL. */
int strfmt_duration(struct str s, nsec_t *ret);
/* Whole groups of base64, at least one. */
bool strfmt_is_byte(struct str s);
/* Does all of it match? The pattern is one that compiles. */
bool strfmt_whole(const char *pattern, struct str s);
/* 32 hexadecimal digits, with a hyphen or none after 8, 12, 16 and 20 of them. version: the digit
 * that it must have, or 0. */
bool strfmt_is_uuid(struct str s, char version);
#endif
