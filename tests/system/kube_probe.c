/* kube_probe.c - the client room at work on a real API server, one line for all that happens.
 *
 *     kube_probe kinds
 *     kube_probe informer --kubeconfig F --kind K... [--namespace NS] [--selector S] [--page N]
 *     kube_probe lead --kubeconfig F --namespace NS --name N --id ID
 *                     [--lease 15s --deadline 10s --retry 2s]
 *     kube_probe do --kubeconfig F [--print] [--parallel N] [VERB KIND KEY [JSON]]
 *     kube_probe event --kubeconfig F [--series] [--warning] [--action A] [--count N] [--different]
 *                     KIND KEY REASON MESSAGE
 *
 * What the lines mean stands in the file of each verb. Results go to standard output, complaints
 * and logs (-v LEVEL) to standard error. Exit status 1 on a failure, 2 on wrong usage.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/num.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "sys/crash.h"

#include "probe.h"

/* ---- kinds ---------------------------------------------------------------------------- */

const char *probe_kind_label(const struct kind *k, char *buf, size_t size)
{
    if (*k->group)
        (void)snprintf(buf, size, "%s.%s.%s", k->plural, k->version, k->group);
    else
        (void)snprintf(buf, size, "%s", k->plural);
    return buf;
}

int probe_find_kind(const char *word, const struct kind **ret, struct kerr *err)
{
    const char *last = strrchr(word, '/');
    *ret = NULL;
    if (!last)
        *ret = kind_find(word);
    for (size_t i = 0; last && !*ret && kind_at(i); i++) {
        char api_version[128];
        size_t n = kind_api_version(kind_at(i), api_version, sizeof api_version);
        if (n == (size_t)(last - word) && strncmp(word, api_version, n) == 0 &&
            streq(last + 1, kind_at(i)->kind))
            *ret = kind_at(i);
    }
    return *ret ? 0 : kerr_set(err, -EINVAL, "kind '%.80s' is not known", word);
}

/* One line a kind: label, apiVersion, kind, scope, whether status is a subresource. */
static int print_kinds(void)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_at(i)); i++) {
        char label[PROBE_LABEL_MAX], api_version[128];
        kind_api_version(k, api_version, sizeof api_version);
        printf("%s %s %s %s %s\n", probe_kind_label(k, label, sizeof label), api_version, k->kind,
               k->namespaced ? "namespaced" : "cluster", k->has_status ? "status" : "plain");
    }
    return 0;
}

/* ---- standard input ------------------------------------------------------------------- */

static void hand_out_lines(struct probe *p)
{
    char *nl;
    while (p->input && p->text.len > 0 && (nl = memchr(p->text.data, '\n', p->text.len))) {
        CLEANUP(mem_free) char *line = xstrndup(p->text.data, (size_t)(nl - p->text.data));
        strbuf_consume(&p->text, (size_t)(nl - p->text.data) + 1);
        p->on_line(p->line_arg, line);
    }
}

static void on_input(struct loop *l, int fd, int events, void *arg)
{
    struct probe *p = arg;
    char chunk[16384];
    ssize_t n = read(fd, chunk, sizeof chunk);

    (void)l, (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        strbuf_appendn(&p->text, chunk, (size_t)n);
        hand_out_lines(p);
        return;
    }
    p->input = fdwatch_close(p->input);
    p->on_line(p->line_arg, NULL);
}

int probe_read_lines(struct probe *p, probe_line_fn fn, void *arg, struct kerr *err)
{
    p->on_line = fn;
    p->line_arg = arg;
    p->input = loop_watch_fd(p->loop, STDIN_FILENO, LOOP_READ, on_input, p);
    if (!p->input)
        return kerr_set(err, -errno, "standard input cannot be waited for: %s", strerror(errno));
    return 0;
}

/* ---- flags ---------------------------------------------------------------------------- */

enum flag {
    FLAG_KUBECONFIG = 256,
    FLAG_KIND,
    FLAG_NAMESPACE,
    FLAG_SELECTOR,
    FLAG_NAME,
    FLAG_ID,
    FLAG_ACTION,
    FLAG_LEASE,
    FLAG_DEADLINE,
    FLAG_RETRY,
    FLAG_PAGE,
    FLAG_COUNT,
    FLAG_PARALLEL,
    FLAG_SERIES,
    FLAG_WARNING,
    FLAG_DIFFERENT,
    FLAG_PRINT,
};

static const struct option flags[] = {
    { "kubeconfig", required_argument, NULL, FLAG_KUBECONFIG },
    { "kind", required_argument, NULL, FLAG_KIND },
    { "namespace", required_argument, NULL, FLAG_NAMESPACE },
    { "selector", required_argument, NULL, FLAG_SELECTOR },
    { "name", required_argument, NULL, FLAG_NAME },
    { "id", required_argument, NULL, FLAG_ID },
    { "action", required_argument, NULL, FLAG_ACTION },
    { "lease", required_argument, NULL, FLAG_LEASE },
    { "deadline", required_argument, NULL, FLAG_DEADLINE },
    { "retry", required_argument, NULL, FLAG_RETRY },
    { "page", required_argument, NULL, FLAG_PAGE },
    { "count", required_argument, NULL, FLAG_COUNT },
    { "parallel", required_argument, NULL, FLAG_PARALLEL },
    { "series", no_argument, NULL, FLAG_SERIES },
    { "warning", no_argument, NULL, FLAG_WARNING },
    { "different", no_argument, NULL, FLAG_DIFFERENT },
    { "print", no_argument, NULL, FLAG_PRINT },
    { 0 },
};

static int set_duration(nsec_t *to, const char *text, struct kerr *err)
{
    return kdur_parse(text, strlen(text), to, err);
}

static int set_number(int64_t *to, const char *text, struct kerr *err)
{
    if (i64_parse(text, strlen(text), to) < 0 || *to < 0)
        return kerr_set(err, -EINVAL, "'%.40s' is not a number", text);
    return 0;
}

static int set_flag(struct probe_opts *o, int flag, const char *value, struct kerr *err)
{
    int64_t level;
    switch (flag) {
    case FLAG_KUBECONFIG: o->kubeconfig = value; break;
    case FLAG_KIND: vec_push(&o->kinds, value); break;
    case FLAG_NAMESPACE: o->ns = value; break;
    case FLAG_SELECTOR: o->selector = value; break;
    case FLAG_NAME: o->name = value; break;
    case FLAG_ID: o->id = value; break;
    case FLAG_ACTION: o->action = value; break;
    case FLAG_LEASE: return set_duration(&o->lease, value, err);
    case FLAG_DEADLINE: return set_duration(&o->deadline, value, err);
    case FLAG_RETRY: return set_duration(&o->retry, value, err);
    case FLAG_PAGE: return set_number(&o->page, value, err);
    case FLAG_COUNT: return set_number(&o->count, value, err);
    case FLAG_PARALLEL: return set_number(&o->parallel, value, err);
    case FLAG_SERIES: o->series = true; break;
    case FLAG_WARNING: o->warning = true; break;
    case FLAG_DIFFERENT: o->different = true; break;
    case FLAG_PRINT: o->print = true; break;
    case 'v':
        if (set_number(&level, value, err) < 0)
            return err->code;
        klog_set_level((int)MIN(level, INT64_C(10)));
        break;
    default: return kerr_set(err, -EINVAL, "see the head of kube_probe.c");
    }
    return 0;
}

static int parse_flags(struct probe_opts *o, int argc, char **argv, struct kerr *err)
{
    for (int flag; (flag = getopt_long(argc, argv, "+v:", flags, NULL)) != -1;) {
        if (set_flag(o, flag, optarg, err) < 0)
            return kerr_wrap(err, "usage");
    }
    o->words = (const char *const *)argv + optind;
    return o->kubeconfig ? 0 : kerr_set(err, -EINVAL, "usage: --kubeconfig is required");
}

/* ---- running -------------------------------------------------------------------------- */

static int run(struct probe *p, const struct probe_verb *verb, struct kerr *err)
{
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    struct kube_config_opts where = { .path = p->o.kubeconfig };
    void *state = NULL;

    int r = kube_config_load(&where, &config, err);
    if (r < 0)
        return r;
    p->config_ns = config.ns;
    r = kube_http_new(p->loop, p->strings, &config, &p->kube, err);
    if (r < 0)
        return r;
    r = verb->start(p, &state, err);
    if (r == 0)
        loop_run(p->loop);
    verb->end(state);
    return r;
}

static void probe_fini(struct probe *p)
{
    fdwatch_close(p->input);
    strbuf_fini(&p->text);
    vec_fini(&p->o.kinds);
    kube_free(p->kube);
    intern_free(p->strings);
    loop_free(p->loop);
}

int main(int argc, char **argv)
{
    static const struct probe_verb *const verbs[] = { &probe_informer, &probe_lead, &probe_do,
                                                      &probe_event };
    const struct probe_verb *verb = NULL;
    struct kerr err = { 0 };

    crash_init("kube_probe");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && streq(argv[1], "kinds"))
        return print_kinds();
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
        if (streq(argv[1], verbs[i]->name))
            verb = verbs[i];
    if (!verb) {
        (void)fprintf(stderr, "kube_probe: usage: see the head of kube_probe.c\n");
        return 2;
    }
    struct probe p = { .loop = loop_new(), .strings = intern_new() };
    int r = parse_flags(&p.o, argc - 1, argv + 1, &err);
    int status = r < 0 ? 2 : 1;
    if (r == 0)
        r = run(&p, verb, &err);
    if (r < 0)
        (void)fprintf(stderr, "kube_probe: %s\n", err.text);
    else
        status = p.status;
    probe_fini(&p);
    return status;
}
