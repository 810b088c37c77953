/* resource.h - from the word a person wrote ("node", "po", "quota.scheduling...") to a kind.
 *
 * Our own table answers without asking; everything else is looked up in the server's discovery.
 */
#ifndef KOORD_CTL_RESOURCE_H
#define KOORD_CTL_RESOURCE_H
#include "api/kobj.h"

struct ctl;
struct strbuf;

/* CTL_OK, or an exit code after complaining. The kind lives as long as the run of koordctl. */
int resource_find(struct ctl *c, const char *word, const struct kind **ret);
/* The same by what an object says of itself; where: the object, for the complaint. */
int resource_of(struct ctl *c, const char *api_version, const char *kind, const char *where,
                const struct kind **ret);
/* "node", "deployment.apps": as kubectl names an object's kind. */
void resource_word(const struct kind *k, struct strbuf *out);
#endif
