/* resource.h - from the word a person wrote ("node", "po", "quota.scheduling...") to a kind.
 *
 * Our own table answers without asking; everything else is looked up in the server's discovery.
 */
#ifndef KOORD_CTL_RESOURCE_H
#define KOORD_CTL_RESOURCE_H
#include "api/kobj.h"

struct ctl;

/* CTL_OK, or an exit code after complaining. The kind lives as long as the run of koordctl. */
int resource_find(struct ctl *c, const char *word, const struct kind **ret);
#endif
