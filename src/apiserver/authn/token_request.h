/* token_request.h - serviceaccounts/token: a client asks for a token of an account. */
#ifndef KOORD_APISERVER_AUTHN_TOKEN_REQUEST_H
#define KOORD_APISERVER_AUTHN_TOKEN_REQUEST_H

struct api_call;
struct apiserver;

/* The handler of the subresource. */
void token_request(struct apiserver *s, struct api_call *c);
#endif
