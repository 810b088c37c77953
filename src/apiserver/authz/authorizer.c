/* authorizer.c - decides by the server's mode, and says no in the words of kube-apiserver. */
#include "apiserver/authz/authorizer.h"

#include "apiserver/authz/rbac.h"
#include "apiserver/registry/internal.h"

bool authorizer_check(const struct apiserver *s, const struct api_user *u,
                      const struct authz_attributes *a, struct strbuf *reason)
{
    if (reason)
        strbuf_reset(reason);
    if (user_in_group(u, GROUP_MASTERS))
        return true;
    if (s->rbac && rbac_check(s->rbac, u, a, reason))
        return true;
    if (s->always_allow && reason)
        strbuf_reset(reason); /* why roles do not allow it */
    else if (reason && !s->rbac)
        strbuf_append(reason, "Everything is forbidden.");
    /* Reviews may ask about anybody, whom this server has never seen. There no server with this
     * mode takes requests of anonymous users. */
    return s->always_allow && !user_in_group(u, GROUP_UNAUTHENTICATED);
}

/* `User "x" cannot list resource "pods" in API group "" in the namespace "y"`. */
static void describe(const struct api_user *u, const struct authz_attributes *a, struct strbuf *out)
{
    strbuf_append(out, "User ");
    strbuf_append_quoted(out, u->name, strlen(u->name));
    strbuf_appendf(out, " cannot %s ", a->verb);
    if (a->is_path) {
        strbuf_append(out, "path ");
        strbuf_append_quoted(out, a->path, strlen(a->path));
        return;
    }
    strbuf_append(out, "resource \"");
    strbuf_append(out, a->resource);
    if (*a->subresource)
        strbuf_appendf(out, "/%s", a->subresource);
    strbuf_append(out, "\" in API group ");
    strbuf_append_quoted(out, a->group, strlen(a->group));
    if (!*a->ns) {
        strbuf_append(out, " at the cluster scope");
        return;
    }
    strbuf_append(out, " in the namespace ");
    strbuf_append_quoted(out, a->ns, strlen(a->ns));
}

static void write_details(const struct authz_attributes *a, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    if (*a->resource && *a->name)
        kjw_str(&w, "name", a->name);
    if (*a->group)
        kjw_str(&w, "group", a->group);
    if (*a->resource)
        kjw_str(&w, "kind", a->resource);
    kjw_end(&w);
}

void authz_forbid(struct api_call *c, const struct api_user *u, const struct authz_attributes *a,
                  const char *reason)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT, details = STRBUF_INIT;

    if (!a->is_path) {
        strbuf_appendf(&message, "%s%s%s ", a->resource, *a->group ? "." : "", a->group);
        if (*a->name) {
            strbuf_append_quoted(&message, a->name, strlen(a->name));
            strbuf_appendc(&message, ' ');
        }
        strbuf_append(&message, "is ");
    }
    strbuf_append(&message, "forbidden: ");
    describe(u, a, &message);
    if (!str_empty(reason))
        strbuf_appendf(&message, ": %s", reason);
    write_details(a, &details);
    fail_raw(c, 403, "Forbidden", message.data, details.data);
}

bool authz_call(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    struct authz_attributes a;

    if (c->authorized || user_in_group(c->user, GROUP_MASTERS)) {
        c->authorized = true;
        return true;
    }
    /* What cannot be read is nothing that anybody has a right to; the path's own error follows. */
    if (!authz_attributes_of(c->method, c->target, c->arena, &a) ||
        authorizer_check(c->s, c->user, &a, &reason)) {
        c->authorized = true;
        return true;
    }
    authz_forbid(c, c->user, &a, strbuf_str(&reason));
    return false;
}
