/* golden.c - runs the golden vectors: golden [--vectors DIR] [AREA or AREA/FILE ...]
 *
 * Two trees of AREA/FILE.jsonl are read: the shared vectors, when they are there, and the project's
 * own cases beside this file, always. One JSON object a line: {"name", "in", "out"}.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "runners.h"

#ifndef GOLDEN_SOURCE_DIR
#define GOLDEN_SOURCE_DIR "tests/golden"
#endif
#ifndef GOLDEN_VECTORS
#define GOLDEN_VECTORS ""
#endif

static const struct golden_area areas[] = {
    { "cel", golden_cel },
    { "descheduler", golden_descheduler },
    { "device", golden_device },
    { "gang", golden_gang },
    { "koordlet", golden_koordlet },
    { "kube", golden_kube },
    { "manager", golden_manager },
    { "quota", golden_quota },
    { "reservation", golden_reservation },
    { "scheduler", golden_scheduler },
};

struct golden {
    const char *const *wanted; /* from the command line */
    int nwanted;
    bool *used;             /* which of them named something */
    struct map differences; /* "AREA/FILE CASE" -> reason */
    unsigned passed, failed, different, pending_named;
};

/* ---- comparing ------------------------------------------------------------------------------- */

bool golden_same(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter it = kj_iter(out);
    struct str key;
    const struct kj_val *want;

    if (kj_type(out) != KJ_OBJ || kj_type(got) != KJ_OBJ)
        return kj_equal(out, got);
    if (!kj_get(out, "error") != !kj_get(got, "error"))
        return false;
    while (kj_next(&it, &key, &want))
        if (!str_eqz(key, "error") && !kj_equal(want, kj_getn(got, key.p, key.n)))
            return false;
    return true;
}

static const struct golden_runner *find_runner(const char *area, const char *file)
{
    for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
        if (!streq(areas[i].area, area))
            continue;
        for (const struct golden_runner *r = areas[i].runners; r->file; r++)
            if (streq(r->file, file))
                return r;
    }
    return NULL;
}

/* ---- one case -------------------------------------------------------------------------------- */

enum { SHOWN = 700 };

static void show(const char *what, const char *text)
{
    size_t n = strlen(text);
    printf("    %-9s %.*s%s\n", what, SHOWN, text, n > SHOWN ? " ..." : "");
}

static void show_value(const char *what, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    kj_write(v, KJ_SORTED, &b);
    show(what, strbuf_str(&b));
}

/* What the runner says, and whether it is right. */
static bool answer(const struct golden_runner *r, const struct kj_val *test, struct strbuf *got)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (r->run(kj_get(test, "in"), a, got, &err) < 0) {
        strbuf_reset(got);
        strbuf_appendf(got, "(the runner failed: %s)", err.text);
        return false;
    }
    if (kj_parse(strbuf_str(got), got->len, KJ_RAW_NUMBERS, &doc, &err) < 0) {
        strbuf_appendf(got, " (not JSON: %s)", err.text);
        return false;
    }
    return (r->same ? r->same : golden_same)(kj_get(test, "out"), kj_root(doc));
}

static void run_case(struct golden *g, const struct golden_runner *r, const char *path,
                     const struct kj_val *test)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT, key = STRBUF_INIT;
    const char *name = kj_str_or(kj_get(test, "name"), "(no name)");

    strbuf_appendf(&key, "%s %s", path, name);
    const char *reason = map_get(&g->differences, key.data, key.len);
    if (answer(r, test, &got)) {
        g->passed++;
        if (reason)
            printf("  %s: passes now; take it out of differences.txt\n", strbuf_str(&key));
        return;
    }
    if (reason) {
        g->different++;
        return;
    }
    g->failed++;
    printf("  FAILED %s\n", strbuf_str(&key));
    show_value("in", kj_get(test, "in"));
    show_value("expected", kj_get(test, "out"));
    show("got", strbuf_str(&got));
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool is_wanted(struct golden *g, const char *area, const char *path)
{
    bool wanted = g->nwanted == 0;
    for (int i = 0; i < g->nwanted; i++)
        if (streq(g->wanted[i], area) || streq(g->wanted[i], path))
            wanted = g->used[i] = true;
    return wanted;
}

static void run_line(struct golden *g, const struct golden_runner *r, const char *path, int line,
                     const char *text, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, n, KJ_RAW_NUMBERS, &doc, &err) < 0) {
        g->failed++;
        printf("  FAILED %s line %d: %s\n", path, line, err.text);
        return;
    }
    run_case(g, r, path, kj_root(doc));
}

static void run_file(struct golden *g, const char *dir, const char *area, const char *file)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, full = STRBUF_INIT;
    const struct golden_runner *r = find_runner(area, file);
    unsigned passed = g->passed, failed = g->failed, different = g->different;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    strbuf_appendf(&path, "%s/%s", area, file);
    if (!is_wanted(g, area, strbuf_str(&path)))
        return;
    if (!r) {
        printf("%-40s pending\n", strbuf_str(&path));
        g->pending_named += g->nwanted > 0;
        return;
    }
    strbuf_appendf(&full, "%s/%s.jsonl", dir, strbuf_str(&path));
    FILE *f = fopen(strbuf_str(&full), "re");
    if (!f) {
        g->failed++;
        printf("  FAILED open %s: %s\n", strbuf_str(&full), strerror(errno));
        return;
    }
    for (int i = 1; (n = getline(&line, &cap, f)) >= 0; i++)
        if (n > 1)
            run_line(g, r, strbuf_str(&path), i, line, (size_t)n);
    free(line);
    fclose(f);
    printf("%-40s %u passed, %u failed", strbuf_str(&path), g->passed - passed, g->failed - failed);
    if (g->different > different)
        printf(", %u different on purpose", g->different - different);
    printf("\n");
    fflush(stdout);
}

/* ---- trees of files -------------------------------------------------------------------------- */

static int is_area(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int is_jsonl(const struct dirent *e)
{
    return str_ends(e->d_name, ".jsonl");
}

static void free_names(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
}

static void run_area(struct golden *g, const char *dir, const char *area)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    struct dirent **files = NULL;

    strbuf_appendf(&path, "%s/%s", dir, area);
    int n = scandir(strbuf_str(&path), &files, is_jsonl, alphasort);
    for (int i = 0; i < n; i++) {
        files[i]->d_name[strlen(files[i]->d_name) - strlen(".jsonl")] = '\0';
        run_file(g, dir, area, files[i]->d_name);
    }
    free_names(files, n);
}

static void run_tree(struct golden *g, const char *dir)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, is_area, alphasort);
    for (int i = 0; i < n; i++)
        run_area(g, dir, names[i]->d_name);
    free_names(names, n);
}

static bool is_dir(const char *path)
{
    struct stat st;
    return *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Lines of "AREA/FILE CASE reason"; # starts a comment. The map's keys point into the arena. */
static int load_differences(struct golden *g, struct arena *a)
{
    FILE *f = fopen(GOLDEN_SOURCE_DIR "/differences.txt", "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int bad = 0;

    if (!f)
        return 0;
    while ((n = getline(&line, &cap, f)) >= 0) {
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (!*line || *line == '#')
            continue;
        char *file_end = strchr(line, ' ');
        char *case_end = file_end ? strchr(file_end + 1, ' ') : NULL;
        if (!case_end) {
            printf("differences.txt: a line is AREA/FILE CASE reason: %s\n", line);
            bad = -EINVAL;
            continue;
        }
        size_t key_len = (size_t)(case_end - line);
        map_put(&g->differences, arena_strndup(a, line, key_len), key_len,
                arena_strdup(a, case_end + 1));
    }
    free(line);
    fclose(f);
    return bad;
}

/* ---- main ------------------------------------------------------------------------------------ */

static const char *default_vectors(void)
{
    const char *env = getenv("KOORD_VECTORS");
    return !str_empty(env)   ? env
           : *GOLDEN_VECTORS ? GOLDEN_VECTORS
                             : GOLDEN_SOURCE_DIR "/../../../shared/vectors";
}

static int usage(void)
{
    fprintf(stderr, "usage: golden [--vectors DIR] [AREA or AREA/FILE ...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map nothing = { 0 };
    struct golden g = { .differences = nothing };
    const char *vectors = default_vectors();
    int at = 1;

    if (argc > 1 && streq(argv[1], "--vectors")) {
        if (argc < 3)
            return usage();
        vectors = argv[2];
        at = 3;
    } else if (argc > 1 && argv[1][0] == '-') {
        return usage();
    }
    g.wanted = (const char *const *)argv + at;
    g.nwanted = argc - at;
    g.used = arena_newn0(a, (size_t)g.nwanted + 1, bool);
    bool bad = load_differences(&g, a) < 0;
    if (is_dir(vectors))
        run_tree(&g, vectors);
    else if (at == 3)
        bad = printf("golden: no directory %s\n", vectors) > 0;
    else
        printf("golden: no vectors at %s (--vectors DIR or KOORD_VECTORS); only the project's own "
               "cases run\n",
               vectors);
    run_tree(&g, GOLDEN_SOURCE_DIR "/cases");
    for (int i = 0; i < g.nwanted; i++)
        if (!g.used[i]) {
            printf("golden: there is no %s\n", g.wanted[i]);
            bad = true;
        }
    if (g.different)
        printf("golden: %u different on purpose (differences.txt)\n", g.different);
    printf("golden: %u passed, %u failed\n", g.passed, g.failed);
    map_fini(&g.differences);
    return bad || g.failed || g.pending_named;
}
