/* completion.c - koordctl completion: the words that a shell completes, from the tables of commands
 * and flags.
 */
#include "api/kobj.h"
#include "ctl/ctl.h"

static void put_commands(struct strbuf *out)
{
    const struct ctl_command *cmd;

    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        strbuf_appendf(out, "%s%s", i ? " " : "", cmd->name);
}

static void put_kinds(struct strbuf *out)
{
    const struct kind *k;

    for (size_t i = 0; (k = kind_at(i)); i++)
        strbuf_appendf(out, "%s%s", i ? " " : "", k->plural);
}

static void put_flags(const struct flag *flags, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++)
        if (!(flags[i].flags & FLAG_HIDDEN) && !flags[i].deprecated)
            strbuf_appendf(out, " --%s", flags[i].name);
}

/* "-o|--output) values ;;" for flags whose values are known. command: NULL for the global ones. */
static void put_choices(const char *command, const struct flag *flags, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct flag *f = &flags[i];
        if (!f->choices)
            continue;
        strbuf_appendf(out, "    %s:--%s", command ? command : "*", f->name);
        if (f->letter)
            strbuf_appendf(out, "|%s:-%c", command ? command : "*", f->letter);
        strbuf_append(out, ") words='");
        for (const char *const *c = f->choices; *c; c++)
            strbuf_appendf(out, "%s%s", c == f->choices ? "" : " ", *c);
        strbuf_append(out, "' ;;\n");
    }
}

static void put_values(struct strbuf *out)
{
    const struct ctl_command *cmd;
    size_t n;
    const struct flag *global = ctl_global_flags(&n);

    strbuf_append(out, "    case \"$cmd:$prev\" in\n");
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        put_choices(cmd->name, cmd->flags, cmd->nflags, out);
    put_choices(NULL, global, n, out);
    strbuf_append(out, "    *:-f|*:--*file*|*:--data) COMPREPLY=(); return ;;\n    esac\n");
}

static void put_words(struct strbuf *out)
{
    const struct ctl_command *cmd;
    size_t n;
    const struct flag *global = ctl_global_flags(&n);

    strbuf_append(out, "    case $cmd in\n");
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++) {
        strbuf_appendf(out, "    %s) flags='", cmd->name);
        put_flags(cmd->flags, cmd->nflags, out);
        put_flags(global, n, out);
        strbuf_append(out, " --help'");
        if (cmd->args && strstr(cmd->args, "KIND"))
            strbuf_append(out, "; [ -n \"$words\" ] || words=$kinds");
        if (cmd->args && strstr(cmd->args, "COMMAND"))
            strbuf_append(out, "; words=$commands");
        strbuf_append(out, " ;;\n");
    }
    strbuf_append(out, "    '') flags='");
    put_flags(global, n, out);
    strbuf_append(out, " --help --version'; [ -n \"$words\" ] || words=$commands ;;\n    esac\n");
}

static void put_script(struct strbuf *out)
{
    strbuf_append(out, "_koordctl() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "    local i cmd='' words='' flags='' commands='");
    put_commands(out);
    strbuf_append(out, "'\n    local kinds='");
    put_kinds(out);
    strbuf_append(out, "'\n"
                       "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                       "        case \" $commands \" in *\" ${COMP_WORDS[i]} \"*) "
                       "cmd=${COMP_WORDS[i]}; break ;; esac\n"
                       "    done\n");
    put_values(out);
    put_words(out);
    strbuf_append(out, "    case $cur in -*) words=$flags ;; esac\n"
                       "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                       "}\n"
                       "complete -o default -F _koordctl koordctl\n");
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *shell = flags_arg(c->flags, 0);
    bool zsh = shell && streq(shell, "zsh");

    (void)options;
    if (!shell || !(zsh || streq(shell, "bash")) || flags_nargs(c->flags) > 1)
        return ctl_usage(c, "completion: for bash or zsh: source <(koordctl completion bash)");
    strbuf_appendf(&out, "# koordctl completion: source <(koordctl completion %s)\n", shell);
    if (zsh)
        strbuf_append(&out, "autoload -U +X bashcompinit && bashcompinit\n");
    put_script(&out);
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

const struct ctl_command ctl_command_completion = {
    .name = "completion",
    .args = "bash|zsh",
    .help = "Print the words that the shell completes",
    .about =
        "For a shell that runs: source <(koordctl completion bash). For all to come: put that\n"
        "line into ~/.bashrc or ~/.zshrc.\n",
    .run = run,
};
