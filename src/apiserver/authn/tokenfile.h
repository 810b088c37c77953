/* tokenfile.h - users by a file of static tokens, in kube-apiserver's format of --token-auth-file:
 *
 *     token,user name,user uid,"group1,group2"
 *
 * a line for each, groups left out or in quotes when there are several; quotes are doubled inside
 * quotes. Read once.
 */
#ifndef KOORD_APISERVER_AUTHN_TOKENFILE_H
#define KOORD_APISERVER_AUTHN_TOKENFILE_H
#include "base/base.h"

struct api_user;
struct tokenfile;

enum { TOKENFILE_MAX = 4 << 20, TOKEN_MAX = 16 << 10 }; /* bytes of a file, of one token */

int tokenfile_load(const char *path, struct tokenfile **ret, struct kerr *err);
/* name: how messages call it. */
int tokenfile_parse(const char *name, const char *text, size_t n, struct tokenfile **ret,
                    struct kerr *err);
struct tokenfile *tokenfile_free(struct tokenfile *t); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(tokenfile_free, struct tokenfile *)
/* NULL: nobody's. Everybody in the file is in system:authenticated. */
const struct api_user *tokenfile_find(const struct tokenfile *t, struct str token);
#endif
