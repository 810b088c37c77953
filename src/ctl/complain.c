/* complain.c - failures in words that a person can act on: what, where, what to do; one line. */
#include "ctl/ctl.h"

#include <ctype.h>
#include <unistd.h>

void ctl_clean(struct strbuf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (iscntrl((unsigned char)text->data[i]) && text->data[i] != '\n')
            text->data[i] = ' ';
}

/* A line stays a line, whatever a server or file put into it. */
static void put_line(struct ctl *c, struct strbuf *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (iscntrl((unsigned char)line->data[i]))
            line->data[i] = ' ';
    fprintf(c->err, "%s\n", strbuf_str(line));
    fflush(c->err);
}

PRINTF(2, 0)
static void complain(struct ctl *c, const char *fmt, va_list ap, const char *advice)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;

    strbuf_append(&line, "error: ");
    strbuf_vappendf(&line, fmt, ap);
    if (advice)
        strbuf_appendf(&line, "; see %s %s", c->program, advice);
    put_line(c, &line);
}

int ctl_fail(struct ctl *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    complain(c, fmt, ap, NULL);
    va_end(ap);
    return CTL_FAILED;
}

int ctl_usage(struct ctl *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    complain(c, fmt, ap, "help");
    va_end(ap);
    return CTL_USAGE;
}

/* ---- progress -------------------------------------------------------------------------------- */

void ctl_progress(struct ctl *c, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;
    va_list ap;

    if (isatty(fileno(c->err)) != 1)
        return;
    va_start(ap, fmt);
    strbuf_vappendf(&line, fmt, ap);
    va_end(ap);
    ctl_clean(&line);
    fprintf(c->err, "\r\033[K%s", strbuf_str(&line));
    fflush(c->err);
    c->progress_shown = true;
}

void ctl_progress_end(struct ctl *c)
{
    if (!c->progress_shown)
        return;
    fputs("\r\033[K", c->err);
    fflush(c->err);
    c->progress_shown = false;
}

/* "https://10.0.0.1:6443 (context prod)" */
static void put_where(const struct ctl *c, struct strbuf *out)
{
    strbuf_append(out, str_or(c->config.server, "the API server"));
    if (!str_empty(c->config.context))
        strbuf_appendf(out, " (context %s)", c->config.context);
}

const char *ctl_cause(const struct kerr *err)
{
    const char *text = err->text;
    size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *colon = strstr(text, ": ");

    return method >= 3 && text[method] == ' ' && text[method + 1] == '/' && colon ? colon + 2
                                                                                  : text;
}

static const char *advice_for(int code)
{
    switch (code) {
    case -ECONNREFUSED: return "is the server running, and is this its address?";
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -EAGAIN: return "check the server's address in the kubeconfig, and the network";
    case -EKEYREJECTED: return "check certificate-authority in the kubeconfig, or tls-server-name";
    case -ETIMEDOUT:
        return "check the server's address and the network, or give a longer "
               "--request-timeout";
    case -EPROTO: return "is this the address of an API server, and http or https right?";
    case -ECONNRESET: return "try again; the server may be restarting";
    default: return NULL;
    }
}

int ctl_complain(struct ctl *c, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf line = STRBUF_INIT;

    if (err->reason == KR_NONE) {
        const char *advice = advice_for(err->code);
        strbuf_append(&line, "error: cannot talk with ");
        put_where(c, &line);
        strbuf_appendf(&line, ": %s", ctl_cause(err));
        if (advice)
            strbuf_appendf(&line, "; %s", advice);
    } else {
        strbuf_appendf(&line, "Error from server (%s): %s", kreason_name(err->reason), err->text);
        if (err->reason == KR_UNAUTHORIZED) {
            strbuf_append(&line, "; the credentials are not accepted by ");
            put_where(c, &line);
            strbuf_append(&line, ": log in again, or choose another --context");
        } else if (err->reason == KR_FORBIDDEN) {
            strbuf_append(&line, "; ask for a role that allows it, or choose another --context");
        }
    }
    put_line(c, &line);
    return CTL_FAILED;
}
