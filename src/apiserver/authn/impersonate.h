/* impersonate.h - who acts for somebody else: the headers Impersonate-User, -Group, -Uid and
 * -Extra-KEY, each of which needs the right to "impersonate".
 */
#ifndef KOORD_APISERVER_AUTHN_IMPERSONATE_H
#define KOORD_APISERVER_AUTHN_IMPERSONATE_H
#include "base/base.h"

struct api_call;
struct http_header;

/* The i-th header of the request, name in lower case; false behind the last. */
typedef bool (*header_at_fn)(const void *arg, size_t i, struct http_header *ret);
/* Replaces the call's user when its headers ask for that. false: answered. */
bool impersonate(struct api_call *c, header_at_fn at, const void *arg);
#endif
