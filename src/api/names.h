/* names.h - the grammars of names in Kubernetes, with the words its API server uses to complain.
 *
 * A check returns NULL when the text is fine, else what is wrong with it (a constant).
 */
#ifndef KOORD_API_NAMES_H
#define KOORD_API_NAMES_H
#include "base/base.h"

const char *name_check_label_key(struct str s); /* also annotation keys, resource names */
const char *name_check_label_value(struct str s);
const char *name_check_dns_subdomain(struct str s); /* names of most objects */
const char *name_check_dns_label(struct str s);     /* names of namespaces, containers, services */

/* A resource of somebody's own domain: not Kubernetes's, not one of a quota. */
bool name_is_extended_resource(const char *name);
const char *name_check_extended_resource(const char *name);
#endif
