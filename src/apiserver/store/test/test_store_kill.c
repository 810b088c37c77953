/* test_store_kill.c - kill -9 in the middle of concurrent writes, again and again.
 *
 * A child writes as fast as it can and says through a pipe what was acknowledged; the parent kills
 * it at a random moment, opens the file and looks: every acknowledged object is there, none is half
 * there, revisions never go back, watches resume. 5 rounds; 20 with KOORD_TEST_FULL=1.
 */
#include "apiserver/store/test/store_fixture.h"
#include "base/test/asserts.h"

#include <signal.h>
#include <sys/wait.h>

enum { OBJECTS = 10000, IN_FLIGHT = 256, DOC = 2000 };
enum { CREATED = 1, UPDATED, DELETED }; /* 3 of 8 are updated, 1 of them deleted after that */

struct said {
    uint32_t i, what;
    uint64_t rev;
};

static size_t make_doc(char doc[static DOC + 64], int round, uint32_t i, uint64_t rev)
{
    int n = snprintf(doc, 64, "{\"round\":%d,\"i\":%u,\"rev\":%llu,\"pad\":\"", round, i,
                     (unsigned long long)rev);
    const int pad = DOC - n;
    memset(doc + n, 'a' + (int)(rev % 26), (size_t)pad);
    n += pad;
    return (size_t)(n + snprintf(doc + n, 8, "\"}"));
}

/* ---- the child ------------------------------------------------------------------------------- */

struct child {
    struct loop *l;
    struct store *s;
    int fd, round;
    uint32_t next;
};
struct job {
    struct child *c;
    uint32_t i, what;
};

static void job_send(struct job *j, uint64_t from);

static void job_done(void *arg, uint64_t rev, const struct kerr *err)
{
    struct job *j = arg;
    struct child *c = j->c;
    const struct said said = { j->i, j->what, rev };

    if (err || write(c->fd, &said, sizeof said) != sizeof said) /* atomic: less than PIPE_BUF */
        _exit(1);
    if (j->what == CREATED && j->i % 8 < 3) {
        j->what = UPDATED;
        job_send(j, rev);
    } else if (j->what == UPDATED && j->i % 8 == 0) {
        j->what = DELETED;
        job_send(j, rev);
    } else if (c->next < OBJECTS) {
        j->i = c->next++;
        j->what = CREATED;
        job_send(j, 0);
    }
}

static void job_send(struct job *j, uint64_t from)
{
    struct child *c = j->c;
    char name[32], doc[DOC + 64];
    const size_t n = make_doc(doc, c->round, j->i, store_next_revision(c->s));

    (void)snprintf(name, sizeof name, "r%d-%05u", c->round, j->i);
    const int r = j->what == DELETED
                      ? store_delete(c->s, POD("ns", name), from, doc, n, job_done, j, NULL)
                      : store_put(c->s, POD("ns", name), from, doc, n, job_done, j, NULL);
    if (r < 0)
        _exit(1);
}

static NORETURN void child_main(const char *path, int fd, int round)
{
    struct child c = { .l = loop_new(), .fd = fd, .round = round };
    static struct job jobs[IN_FLIGHT];
    struct kerr err = { 0 };

    /* Short windows: compaction is under way when the end comes. */
    const struct store_opts o = { .path = path,
                                  .history = 30 * NSEC_PER_MSEC,
                                  .compact_every = 10 * NSEC_PER_MSEC };
    if (store_open(c.l, &o, &c.s, &err) < 0)
        _exit(1);
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        jobs[i] = (struct job){ &c, c.next++, CREATED };
        job_send(&jobs[i], 0);
    }
    for (;;) /* never ends by itself: all done means waiting for the end */
        loop_run(c.l), (void)poll(NULL, 0, 1);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static struct said heard[OBJECTS]; /* the last word on each object of the round */

/* Its life begins with its first word: on a loaded machine that may take a while. */
static uint64_t hear(int fd, nsec_t lives_ns, pid_t pid)
{
    struct said said;
    uint64_t last = 0;
    CLEANUP(loop_free) struct loop *watch = loop_new(); /* for its clock */

    memset(heard, 0, sizeof heard);
    nsec_t end = loop_mono(watch) + 120 * NSEC_PER_SEC;
    for (bool killed = false;;) {
        if (!killed && loop_mono(watch) >= end) {
            kill(pid, SIGKILL);
            killed = true; /* what is still in the pipe was acknowledged too */
        }
        struct pollfd p = { fd, POLLIN, 0 };
        if (poll(&p, 1, 1) == 0)
            continue;
        const ssize_t n = read(fd, &said, sizeof said);
        if (n == 0)
            break;
        assert_int_equal(n, sizeof said);
        if (last == 0)
            end = loop_mono(watch) + lives_ns;
        heard[said.i] = said;
        last = MAX(last, said.rev);
    }
    return last;
}

struct survey {
    int round;
    size_t found;
    bool present[OBJECTS];
};

/* None half there: each document is exactly what was written with that revision. */
static bool survey_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                        size_t n)
{
    struct survey *v = arg;
    char want[DOC + 64];
    uint32_t i = 0;
    int round = 0;

    assert_int_equal(sscanf(k->name, "r%d-%u", &round, &i), 2);
    assert_int_equal(n, make_doc(want, round, i, rev));
    assert_memory_equal(doc, want, n);
    v->found++;
    if (round != v->round)
        return true;
    v->present[i] = true;
    assert_that(rev, >=, heard[i].rev);
    return true;
}

static void check(struct fixture *b, int round, uint64_t acked)
{
    static struct survey v;
    CLEANUP(recorder_fini) struct recorder x = { 0 };
    struct kerr err = { 0 };
    size_t known = 0;

    v = (struct survey){ .round = round };
    assert_that(store_revision(b->s), >=, acked);
    if (store_list(b->s, "pods", NULL, 0, NULL, survey_item, &v, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(v.found, store_count(b->s, "pods", NULL));
    for (uint32_t i = 0; i < OBJECTS; i++) {
        known += heard[i].what != 0;
        if (heard[i].what == DELETED)
            assert_false(v.present[i]);
        else if (heard[i].what == CREATED || (heard[i].what == UPDATED && i % 8 != 0))
            assert_true(v.present[i]);
    }
    /* A watcher at the last acknowledged revision resumes, or is told that it is too late. */
    const int r = store_watch(b->s, "pods", NULL, acked, &recorder_handler, &x, &x.w, &err);
    assert_true(r == 0 || (r == -EIDRM && acked < store_stats(b->s).oldest));
    fixture_settle(b);
    if (r == 0)
        assert_true((uint64_t)x.events == store_revision(b->s) - acked || x.ends);
    assert_that(known, >, 0);
    printf("# round %d: %zu objects acknowledged, %zu in all, revision %llu\n", round, known,
           v.found, (unsigned long long)store_revision(b->s));
}

static void test_kill_in_the_middle(void **state)
{
    CLEANUP(fixture_free)
    struct fixture *b = fixture_new((struct fixture_kind){ true, false }, NULL);
    CLEANUP(loop_free) struct loop *rng = loop_new_virtual(0, 7);
    const char *full = getenv("KOORD_TEST_FULL");
    const int rounds = full && *full ? 20 : 5;
    uint64_t revision = 0;

    (void)state;
    for (int round = 0; round < rounds; round++) {
        int fds[2], status = 0;
        b->s = store_close(b->s);
        assert_int_equal(pipe(fds), 0);
        const pid_t pid = fork();
        if (pid == 0) {
            close(fds[0]);
            child_main(b->path, fds[1], round);
        }
        close(fds[1]);
        const nsec_t lives = (100 + (nsec_t)loop_rand_below(rng, 700)) * NSEC_PER_MSEC;
        const uint64_t acked = hear(fds[0], lives, pid);
        close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_that(WTERMSIG(status), ==, SIGKILL);
        fixture_open(b);
        assert_that(store_revision(b->s), >, revision);
        revision = store_revision(b->s);
        check(b, round, acked);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_in_the_middle),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
