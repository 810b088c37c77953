/* version.c - koordctl version: ours, and the server's. */
#include "component/serve.h"
#include "ctl/get.h"

struct version_options {
    bool client;
};

static struct kj_mval *parse_into(struct kj_mdoc *d, const struct strbuf *text)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(strbuf_str(text), text->len, 0, &doc, NULL) < 0)
        return NULL;
    return kj_mcopy(d, kj_root(doc));
}

static void put_line(const char *what, const struct kj_mval *version, struct strbuf *out)
{
    const char *text = kj_mstr_get(kj_mget(version, "gitVersion"));
    strbuf_appendf(out, "%s Version: %s\n", what, str_or(text, "unknown"));
}

static int print(struct ctl *c, struct kj_mdoc *d, struct kj_mval *ours, struct kj_mval *theirs)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (streq(c->o.output, "json") || streq(c->o.output, "yaml")) {
        struct kj_mval *both = kj_mobj(d);
        kj_mset(d, both, "clientVersion", ours);
        if (theirs)
            kj_mset(d, both, "serverVersion", theirs);
        tree_put(c->o.output, both, &out);
    } else {
        put_line("Client", ours, &out);
        if (theirs)
            put_line("Server", theirs, &out);
    }
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

/* Our own version is printed even when the server cannot be asked. */
static int run(struct ctl *c, const void *options)
{
    const struct version_options *o = options;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *theirs = NULL;
    struct kerr err = { 0 };
    int code = CTL_OK;

    if (flags_nargs(c->flags))
        return ctl_usage(c, "version takes no arguments");
    serve_version_json(&text);
    struct kj_mval *ours = parse_into(d, &text);
    if (!o->client)
        code = ctl_connect(c);
    if (!o->client && code == CTL_OK) {
        if (ctl_call(c, &(struct kube_req){ .verb = KUBE_GET, .raw_path = "/version" }, &text,
                     &err) < 0)
            code = ctl_complain(c, &err);
        else
            theirs = parse_into(d, &text);
    }
    return MAX(code, print(c, d, ours, theirs));
}

static const struct flag flags[] = {
    { "client", FLAG_BOOL, .off = offsetof(struct version_options, client),
      .help = "do not ask the server" },
};

const struct ctl_command ctl_command_version = {
    .name = "version",
    .help = "Show the versions of this program and of the server",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct version_options),
    .run = run,
};
