/* discovery.h - what is served, as clients ask for it. discovery_handle() is in registry.h. */
#ifndef KOORD_APISERVER_HTTP_DISCOVERY_H
#define KOORD_APISERVER_HTTP_DISCOVERY_H
#include "apiserver/registry/registry.h"

/* The answer with an ETag of its content; 304 when the client has it. type NULL: plain JSON. */
void discovery_reply(struct api_call *c, const char *type, const struct strbuf *doc);
#endif
