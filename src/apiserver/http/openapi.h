/* openapi.h - OpenAPI: version 3 has an index, and a document per group and version; version 2 is
 * one document. */
#ifndef KOORD_APISERVER_HTTP_OPENAPI_H
#define KOORD_APISERVER_HTTP_OPENAPI_H
#include "apiserver/registry/registry.h"

/* Answers paths under /openapi/v3; false: there is no such document. */
bool openapi_handle(struct api_call *c);
void openapi_v2_reply(struct api_call *c);
#endif
