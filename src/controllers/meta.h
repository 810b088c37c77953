/* meta.h - small things about an object's metadata. */
#ifndef KOORD_CONTROLLERS_META_H
#define KOORD_CONTROLLERS_META_H
#include "api/kobj.h"

struct kjw;
struct strbuf;

const char *meta_annotation(const struct kobj *o, const char *key); /* "" when absent */
bool meta_has_finalizer(const struct kobj *o, const char *name);

/* The member "metadata" of a patch that takes effect only on the version we know. */
void meta_write_version(struct kjw *w, const struct kobj *o);
/* A whole merge patch, for this version of the object only: it gets the finalizer, or loses it; the
 * others stay. */
void meta_finalizer_patch(const struct kobj *o, const char *version, const char *name, bool with,
                          struct strbuf *out);
#endif
