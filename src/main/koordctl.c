/* koordctl.c - the program koordctl, which kubectl also finds as its plugin kubectl-koord. */
#include "ctl/ctl.h"
#include "main/explain.h"
#include "main/up.h"
#include "sys/crash.h"

static const struct ctl_command *const system_commands[] = { &up_command, &down_command,
                                                             &status_command, &explain_command,
                                                             NULL };

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc > 0 ? (slash ? slash + 1 : argv[0]) : "koordctl";
    struct ctl c = {
        .program = streq(name, "kubectl-koord") ? "kubectl koord" : "koordctl",
        .env = client_env_read(),
        .more = system_commands,
    };

    crash_init("koordctl");
    return ctl_main(&c, argc, argv);
}
