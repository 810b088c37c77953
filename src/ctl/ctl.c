/* ctl.c - the command table, the global flags, and help. */
#include "ctl/ctl.h"

#include "base/intern.h"
#include "base/klog.h"
#include "base/vec.h"
#include "client/discovery.h"
#include "client/kube.h"
#include "component/run.h"
#include "loop/loop.h"

#define COMMAND_FLAGS "Flags"
#define GLOBAL_FLAGS  "Global flags"

static int run_help(struct ctl *c, const void *options);

static const struct ctl_command command_help = {
    .name = "help", .args = "[COMMAND]", .help = "Show what a command does", .run = run_help
};
static const struct ctl_command *const ctl_commands[] = {
    &ctl_command_get,       &ctl_command_apply,      &ctl_command_delete,    &ctl_command_crds,
    &ctl_command_version,   &ctl_command_completion, &ctl_command_man,       &command_help,
    &ctl_command_up,        &ctl_command_down,       &ctl_command_status,    &ctl_command_explain,
    &ctl_command_demo,      &ctl_command_top,        &ctl_command_dashboard, &ctl_command_reserve,
    &ctl_command_quota,     &ctl_command_cpus,       &ctl_command_gpus,      &ctl_command_devices,
    &ctl_command_migrate,   &ctl_command_rebalance,  &ctl_command_cel,       &ctl_command_check,
    &ctl_command_uninstall, &ctl_command_adopt,
};

const struct ctl_command *ctl_command_at(size_t i)
{
    return i < ARRAY_LEN(ctl_commands) ? ctl_commands[i] : NULL;
}

static const char *const outputs[] = { "table", "wide", "json", "yaml", "name", NULL };
#define O(member) .off = offsetof(struct ctl_options, member)
static const struct flag global_flags[] = {
    { "kubeconfig", FLAG_STR, O(client.kubeconfig),
      .help = "`file` that says where the cluster is; without it $KUBECONFIG, then "
              "~/.kube/config, then what koordctl up runs here" },
    { "context", FLAG_STR, O(context), .help = "`name` of the kubeconfig's context to use" },
    { "server", FLAG_STR, O(client.master), .letter = 's',
      .help = "`URL` of the API server, instead of the context's" },
    { "namespace", FLAG_STR, O(ns), .letter = 'n', .help = "namespace, instead of the context's" },
    { "output", FLAG_STR, O(output), .letter = 'o', .choices = outputs,
      .help = "`form` of the output: table, wide, json, yaml or name" },
    { "request-timeout", FLAG_DUR, O(request_timeout), .min = 0, .max = NSEC_MAX,
      .help = "time limit of one request; 0: a minute" },
    { "v", FLAG_INT, O(v), .help = "`level` of the log on stderr" },
};
#undef O

const struct flag *ctl_global_flags(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(global_flags);
    return global_flags;
}

/* ---- help ------------------------------------------------------------------------------------ */

static void ctl_help(struct ctl *c, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf flags = STRBUF_INIT;

    strbuf_appendf(out,
                   "%s shows what runs in a cluster with Koordinator.\n\nUsage:\n"
                   "  %s [flags] COMMAND [arguments]\n\nCommands:\n",
                   c->program, c->program);
    const struct ctl_command *cmd;
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        strbuf_appendf(out, "  %-12s %s\n", cmd->name, cmd->help);
    flags_usage(c->flags, &flags);
    strbuf_appendf(out, "\n%s\n%s COMMAND --help tells more about a command.\n", strbuf_str(&flags),
                   c->program);
}

static void help_command(struct ctl *c, const struct ctl_command *cmd, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf flags = STRBUF_INIT;

    flags_usage_of(c->flags, COMMAND_FLAGS, &flags);
    flags_usage_of(c->flags, GLOBAL_FLAGS, &flags);
    strbuf_appendf(out, "%s.\n\nUsage:\n  %s %s%s%s [flags]\n", cmd->help, c->program, cmd->name,
                   cmd->args ? " " : "", str_or(cmd->args, ""));
    if (cmd->about)
        strbuf_appendf(out, "\n%s", cmd->about);
    strbuf_appendf(out, "\n%s", strbuf_str(&flags));
}

static const struct ctl_command *find_command(const char *name)
{
    const struct ctl_command *cmd;
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        if (streq(cmd->name, name))
            return cmd;
    return NULL;
}

static int unknown_command(struct ctl *c, const char *name)
{
    struct vec_of(const char *) names = { 0 };

    const struct ctl_command *cmd;
    for (size_t i = 0; (cmd = ctl_command_at(i)); i++)
        vec_push(&names, cmd->name);
    const char *near = word_nearest(name, names.items, names.n);
    vec_fini(&names);
    if (near)
        return ctl_usage(c, "unknown command '%.60s' (did you mean %s?)", name, near);
    return ctl_usage(c, "unknown command '%.60s'", name);
}

static void add_command_flags(struct ctl *c, const struct ctl_command *cmd, void *options)
{
    if (cmd->nflags)
        flags_add(c->flags, COMMAND_FLAGS, cmd->flags, cmd->nflags, options);
}

static int show_help(struct ctl *c, const struct ctl_command *cmd)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (cmd)
        help_command(c, cmd, &out);
    else
        ctl_help(c, &out);
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

static int run_help(struct ctl *c, const void *options)
{
    const char *name = flags_arg(c->flags, 0);
    const struct ctl_command *cmd = name ? find_command(name) : NULL;

    (void)options;
    if (!name)
        return show_help(c, NULL);
    if (!cmd)
        return unknown_command(c, name);
    CLEANUP(mem_free) void *scratch = xcalloc(1, cmd->options_size + 1);
    add_command_flags(c, cmd, scratch);
    return show_help(c, cmd);
}

/* ---- running a command ----------------------------------------------------------------------- */

static int show_version(struct ctl *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    version_text("koordctl", &text);
    return ctl_print(c, &text) ? CTL_OK : CTL_FAILED;
}

static int run_command(struct ctl *c, const struct ctl_command *cmd, int argc, char *const *argv)
{
    CLEANUP(mem_free) void *options = xcalloc(1, cmd->options_size + 1);
    struct kerr err = { 0 };

    add_command_flags(c, cmd, options);
    int r = flags_parse(c->flags, argc, argv, 0, &err);
    if (r < 0)
        return cmd->dashes ? ctl_usage(c, "%s; %s", err.text, cmd->dashes)
                           : ctl_usage(c, "%s", err.text);
    if (r == FLAGS_HELP)
        return show_help(c, cmd);
    if (r == FLAGS_VERSION)
        return show_version(c);
    if (r == FLAGS_MAN)
        return ctl_command_man.run(c, NULL);
    klog_set_level(c->o.v);
    return cmd->run(c, options);
}

static int run_words(struct ctl *c, int argc, char *const *argv)
{
    struct kerr err = { 0 };

    int r = flags_parse(c->flags, argc, argv, FLAGS_STOP_AT_ARG, &err);
    if (r < 0)
        return ctl_usage(c, "%s", err.text);
    if (r == FLAGS_VERSION)
        return show_version(c);
    if (r == FLAGS_MAN)
        return ctl_command_man.run(c, NULL);
    int at = flags_stopped_at(c->flags);
    if (r == FLAGS_HELP || at >= argc)
        return show_help(c, NULL);
    const struct ctl_command *cmd = find_command(argv[at]);
    if (!cmd)
        return unknown_command(c, argv[at]);
    return run_command(c, cmd, argc - at - 1, argv + at + 1);
}

int ctl_main(struct ctl *c, int argc, char *const *argv)
{
    struct loop *own_loop = c->loop ? NULL : loop_new();
    struct intern *own_strings = c->strings ? NULL : intern_new();

    if (own_loop)
        c->loop = own_loop;
    if (own_strings)
        c->strings = own_strings;
    c->out = c->out ? c->out : stdout;
    c->err = c->err ? c->err : stderr;
    c->program = c->program ? c->program : "koordctl";
    c->typed = streq(c->program, "koordctl") && argc > 0 ? argv[0] : c->program;
    c->flags = flags_new();
    flags_add(c->flags, GLOBAL_FLAGS, global_flags, ARRAY_LEN(global_flags), &c->o);
    int code = run_words(c, argc - 1, argv + 1);
    c->discovery = discovery_free(c->discovery);
    c->kube = kube_free(c->kube);
    kube_config_fini(&c->config);
    c->flags = flags_free(c->flags);
    loop_free(own_loop);
    intern_free(own_strings);
    return code;
}
