/* completion.c - koordctl completion bash: words for the shell. */
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

static int run(struct ctl *c, const void *options)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *shell = flags_arg(c->flags, 0);

    (void)options;
    if (!shell || !streq(shell, "bash") || flags_nargs(c->flags) > 1)
        return ctl_usage(c, "completion: only bash is known: source <(koordctl completion bash)");
    strbuf_append(&out, "# koordctl completion for bash: source <(koordctl completion bash)\n"
                        "_koordctl() {\n"
                        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                        "    case $prev in\n    get) COMPREPLY=($(compgen -W '");
    put_kinds(&out);
    strbuf_append(&out, "' -- \"$cur\")) ;;\n"
                        "    -o|--output) COMPREPLY=($(compgen -W 'table wide json yaml name' -- "
                        "\"$cur\")) ;;\n"
                        "    koordctl|help) COMPREPLY=($(compgen -W '");
    put_commands(&out);
    strbuf_append(&out, "' -- \"$cur\")) ;;\n    esac\n}\n"
                        "complete -o default -F _koordctl koordctl\n");
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

const struct ctl_command ctl_command_completion = {
    .name = "completion",
    .args = "bash",
    .help = "Print the words that the shell completes",
    .run = run,
};
