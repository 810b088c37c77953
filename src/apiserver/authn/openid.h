/* openid.h - /.well-known/openid-configuration and /openid/v1/jwks. */
#ifndef KOORD_APISERVER_AUTHN_OPENID_H
#define KOORD_APISERVER_AUTHN_OPENID_H
#include "base/base.h"

struct api_call;

bool openid_handle(struct api_call *c); /* false: it is another path */
#endif
