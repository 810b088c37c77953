/* man.c - koordctl man: the manual page, from the tables of commands and flags. */
#include "ctl/ctl.h"

#include "component/manpage.h"

static void put_flags(const struct flag *table, size_t n, size_t size, struct strbuf *out)
{
    CLEANUP(flags_free) struct flags *f = flags_new();
    CLEANUP(mem_free) void *options = xcalloc(1, size + 1);

    if (n == 0)
        return;
    flags_add(f, "Flags", table, n, options);
    man_flags_plain(f, out);
}

static void put_command(const struct ctl_command *cmd, struct strbuf *out)
{
    strbuf_append(out, ".SS ");
    CLEANUP(mem_free)
    char *line = xasprintf("%s%s%s", cmd->name, cmd->args ? " " : "", str_or(cmd->args, ""));
    man_text(line, out);
    CLEANUP(mem_free) char *help = xasprintf("%s.", cmd->help);
    man_text(help, out);
    if (cmd->about) {
        strbuf_append(out, ".PP\n");
        man_block(cmd->about, out);
    }
    put_flags(cmd->flags, cmd->nflags, cmd->options_size, out);
}

static void put_page(struct strbuf *out)
{
    const struct ctl_command *cmd;
    size_t n;
    const struct flag *global = ctl_global_flags(&n);

    man_head("koordctl", MAN_COMMAND, "a person's tool for clusters with Koordinator", out);
    strbuf_append(out, ".SH SYNOPSIS\n.B koordctl\n[flags] command [arguments]\n.br\n"
                       ".B kubectl koord\n[flags] command [arguments]\n"
                       ".SH DESCRIPTION\n"
                       "Shows and changes what runs in a cluster, explains decisions of the\n"
                       "scheduler and the manager, and runs the whole system on one machine.\n"
                       ".SH COMMANDS\n");
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        put_command(cmd, out);
    strbuf_append(out, ".SH GLOBAL FLAGS\n");
    put_flags(global, n, sizeof(struct ctl_options), out);
    man_common_flags(out);
    strbuf_append(out, ".SH EXIT STATUS\n0 on success, 1 on failure, 2 on wrong usage.\n"
                       ".SH ENVIRONMENT\n.TP\nKUBECONFIG\nfile that says where the cluster is\n"
                       ".TP\nNO_COLOR\nno colours, also on a terminal\n"
                       ".SH FILES\n.TP\n~/.local/share/koord\nstate of koordctl up\n");
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)options;
    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "man takes no arguments; read it with: koordctl man | man -l -");
    put_page(&out);
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

const struct ctl_command ctl_command_man = {
    .name = "man",
    .help = "Print the manual page",
    .about = "To read it without installing it: koordctl man | man -l -\n",
    .run = run,
};
