/* claimwire.h - a claim as the server keeps it, with a finalizer more.
 *
 * The server keeps the bytes of opaque parameters, and compares them when a claim is written: spec
 * is immutable. In JSON they do not survive: spaces go, "<" is escaped. So a patch of a claim
 * that was made by a client which writes spaces (Python's does) is refused, whatever it changes.
 * Such a claim is read and written in protobuf, field by field as it stands.
 */
#ifndef KOORD_SCHED_DYNAMICRESOURCES_CLAIMWIRE_H
#define KOORD_SCHED_DYNAMICRESOURCES_CLAIMWIRE_H
#include "base/strbuf.h"

/* object: an answer of type application/vnd.kubernetes.protobuf. Appends the body to send. -EBADMSG
 * when it is none. */
int claimwire_add_finalizer(struct str object, const char *finalizer, struct strbuf *out);
#endif
