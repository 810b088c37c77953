/* sqlite.c - the backend on disk: one SQLite file in WAL mode, synced at every commit.
 *
 *   history  one small row per version: which key, object or deletion. Read as a whole at start.
 *   docs     the documents by revision.
 *   meta     how far the history was compacted.
 *
 * Both tables only grow at their right end, so a commit touches few pages. There is no table of
 * current objects: the newest version of each key in history is the object, and compaction never
 * takes that away. Two connections: the writer's (its thread's own once it runs) and the reader's
 * (loop thread). A side file, locked, keeps a second process out. So SQLite need not look out for
 * one either: its VFS "unix-excl" takes the lock of the file once, where the usual one makes six
 * calls for a transaction, and keeps the index of the log on the heap.
 */
#include "apiserver/store/internal.h"

#include "base/klog.h"

#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    FORMAT = 1,
    APPLICATION_ID = 0x6b6f7264, /* "kord" */
    CHECKPOINT_FRAMES = 2048,    /* 16 MB of write-ahead log */
};

enum {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_VERSION,
    SQL_DOC,
    SQL_DROP_VERSION,
    SQL_DROP_DOC,
    SQL_FLOOR,
    SQL_PROBE,
    SQL_COUNT
};
static const char *const writer_sql[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_VERSION] = "INSERT INTO history(rev, deleted, res, ns, name) VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_DOC] = "INSERT INTO docs(rev, doc) VALUES(?1, ?2)",
    [SQL_DROP_VERSION] = "DELETE FROM history WHERE rev = ?1",
    [SQL_DROP_DOC] = "DELETE FROM docs WHERE rev = ?1",
    [SQL_FLOOR] = "UPDATE meta SET value = ?1 WHERE key = 'floor'",
    /* Another value each time: SQLite does not write what is there already. */
    [SQL_PROBE] = ("INSERT INTO meta VALUES('probe', 1) "
                   "ON CONFLICT(key) DO UPDATE SET value = value + 1"),
};
enum { SQL_READ_BEGIN, SQL_READ_END, SQL_READ_DOC, SQL_READ_COUNT };
static const char *const reader_sql[SQL_READ_COUNT] = {
    [SQL_READ_BEGIN] = "BEGIN",
    [SQL_READ_END] = "COMMIT",
    [SQL_READ_DOC] = "SELECT doc FROM docs WHERE rev = ?1",
};

struct sqlite {
    struct backend be;
    char *path;
    int lock_fd;
    sqlite3 *wdb, *rdb;
    sqlite3_stmt *w[SQL_COUNT], *r[SQL_READ_COUNT];
    unsigned reading;
    /* writer thread only */
    uint64_t floor;
    int frames;
    bool checkpoint_failed;
};

static struct sqlite *of(struct backend *be)
{
    return container_of(be, struct sqlite, be);
}

static int sql_errno(sqlite3 *db)
{
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_FULL: return ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return EBUSY;
    case SQLITE_READONLY: return EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH: return EACCES;
    case SQLITE_NOMEM: return ENOMEM;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return EUCLEAN;
    case SQLITE_CANTOPEN: return ENOENT;
    default: return EIO;
    }
}

static int sql_fail(sqlite3 *db, const char *what, struct kerr *err)
{
    const int code = sql_errno(db), os = sqlite3_system_errno(db);

    if (code == EIO && os)
        return kerr_api(err, -code, KR_INTERNAL, "%s: %s (%s)", what, sqlite3_errmsg(db),
                        strerror(os));
    return kerr_api(err, -code, KR_INTERNAL, "%s: %s", what, sqlite3_errmsg(db));
}

/* ---- committing (writer thread) -------------------------------------------------------------- */

static bool run(sqlite3_stmt *st)
{
    const int r = sqlite3_step(st);

    sqlite3_reset(st); /* reports the same error once more */
    return r == SQLITE_DONE || r == SQLITE_ROW;
}

static bool run_rev(sqlite3_stmt *st, uint64_t rev)
{
    sqlite3_bind_int64(st, 1, (sqlite3_int64)rev);
    return run(st);
}

static bool insert(struct sqlite *q, const struct write *w)
{
    sqlite3_stmt *v = q->w[SQL_VERSION], *d = q->w[SQL_DOC];

    sqlite3_bind_int(v, 2, w->type == STORE_DELETED);
    sqlite3_bind_text(v, 3, w->e->res->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(v, 4, w->e->ns, -1, SQLITE_STATIC);
    sqlite3_bind_text(v, 5, w->e->name, -1, SQLITE_STATIC);
    sqlite3_bind_blob(d, 2, w->doc->data, (int)w->doc->n, SQLITE_STATIC);
    return run_rev(v, w->rev) && run_rev(d, w->rev);
}

static bool fill(struct sqlite *q, const struct batch *b)
{
    if (b->probe && !run(q->w[SQL_PROBE]))
        return false;
    for (const struct write *w = b->writes.first; w; w = w->next)
        if (!insert(q, w))
            return false;
    vec_foreach(&b->drops, i)
        if (!run_rev(q->w[SQL_DROP_VERSION], b->drops.items[i]) ||
            !run_rev(q->w[SQL_DROP_DOC], b->drops.items[i]))
            return false;
    return b->floor <= q->floor || run_rev(q->w[SQL_FLOOR], b->floor);
}

static void sqlite_commit(struct backend *be, struct batch *b)
{
    struct sqlite *q = of(be);
    bool ok = run(q->w[SQL_BEGIN]) && fill(q, b);

    if (ok && b->inject)
        kerr_api(&b->err, -b->inject, KR_INTERNAL, "%s (injected)", strerror(b->inject));
    else if (!ok || !run(q->w[SQL_COMMIT]))
        sql_fail(q->wdb, "SQLite", &b->err);
    if (b->err.code == 0) {
        q->floor = MAX(q->floor, b->floor);
        return;
    }
    kerr_wrap(&b->err, "commit %zu writes to %s", b->writes.n, q->path);
    /* Some errors end the transaction by themselves. */
    if (!sqlite3_get_autocommit(q->wdb))
        run(q->w[SQL_ROLLBACK]);
}

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
    (void)db, (void)name;
    ((struct sqlite *)arg)->frames = frames;
    return SQLITE_OK;
}

/* Moving the log into the file costs two more syncs: after the acknowledgement, not before it. */
static void sqlite_tidy(struct backend *be)
{
    struct sqlite *q = of(be);

    if (q->frames < CHECKPOINT_FRAMES)
        return;
    q->frames = 0;
    const int r = sqlite3_wal_checkpoint_v2(q->wdb, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    const bool failed = r != SQLITE_OK && r != SQLITE_BUSY;
    if (failed &&
        !q->checkpoint_failed) /* the log only grows: tried again after the next commits */
        KLOG_W("Failed to checkpoint the store", KV_S("file", q->path),
               KV_S("reason", sqlite3_errmsg(q->wdb)));
    q->checkpoint_failed = failed;
}

/* ---- reading (loop thread) ------------------------------------------------------------------- */

static struct doc *sqlite_fetch(struct backend *be, uint64_t rev, struct kerr *err)
{
    struct sqlite *q = of(be);
    sqlite3_stmt *st = q->r[SQL_READ_DOC];
    struct doc *d = NULL;

    sqlite3_bind_int64(st, 1, (sqlite3_int64)rev);
    const int r = sqlite3_step(st);
    if (r == SQLITE_ROW) {
        const char *p = sqlite3_column_blob(st, 0); /* before the size: the order matters */
        d = doc_new(p, (size_t)sqlite3_column_bytes(st, 0));
    } else if (r == SQLITE_DONE) {
        kerr_api(err, -EIO, KR_INTERNAL, "%s: document of revision %llu is missing", q->path,
                 (unsigned long long)rev);
    } else {
        sql_fail(q->rdb, q->path, err);
    }
    sqlite3_reset(st);
    return d;
}

/* Without this each fetch would take and drop the read lock: two system calls. */
static void sqlite_reading(struct backend *be, bool on)
{
    struct sqlite *q = of(be);

    if (on ? q->reading++ == 0 : --q->reading == 0)
        run(q->r[on ? SQL_READ_BEGIN : SQL_READ_END]);
}

int sqlite_load(struct backend *be, void (*row)(void *arg, const struct load_row *r), void *arg,
                struct kerr *err)
{
    struct sqlite *q = of(be);
    sqlite3_stmt *st = NULL;
    int r;

    if (sqlite3_prepare_v2(q->rdb, "SELECT rev, deleted, res, ns, name FROM history ORDER BY rev",
                           -1, &st, NULL) != SQLITE_OK)
        return sql_fail(q->rdb, "read history", err);
    while ((r = sqlite3_step(st)) == SQLITE_ROW) {
        const struct load_row found = {
            .rev = (uint64_t)sqlite3_column_int64(st, 0),
            .deleted = sqlite3_column_int(st, 1) != 0,
            .key = { (const char *)sqlite3_column_text(st, 2),
                     (const char *)sqlite3_column_text(st, 3),
                     (const char *)sqlite3_column_text(st, 4) },
        };
        if (!found.key.res || !found.key.ns || !found.key.name)
            break;
        row(arg, &found);
    }
    if (r == SQLITE_ROW)
        kerr_api(err, -EUCLEAN, KR_INTERNAL, "the file is damaged: a row of history has no key");
    else if (r != SQLITE_DONE)
        sql_fail(q->rdb, "read history", err);
    sqlite3_finalize(st);
    return r == SQLITE_DONE ? 0 : err->code;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static struct backend *sqlite_free(struct backend *be)
{
    struct sqlite *q = of(be);

    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(q->w[i]);
    for (size_t i = 0; i < SQL_READ_COUNT; i++)
        sqlite3_finalize(q->r[i]);
    sqlite3_close(q->rdb);
    sqlite3_close(q->wdb); /* the last one moves the log into the file and removes it */
    if (q->lock_fd >= 0)
        close(q->lock_fd);
    free(q->path);
    free(q);
    return NULL;
}

static int sql_int(sqlite3 *db, const char *sql, int64_t *ret, struct kerr *err)
{
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        return sql_fail(db, sql, err);
    const int r = sqlite3_step(st);
    if (r == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return r == SQLITE_ROW ? 0 : sql_fail(db, sql, err);
}

/* A lock of its own: SQLite's would only show at the first write, as a failed batch. The file
 * stays: removing it would let two processes lock two files of one name. */
static int lock(struct sqlite *q, struct kerr *err)
{
    CLEANUP(mem_free) char *name = xasprintf("%s.lock", q->path);
    CLEANUP(mem_free) char *dir = xstrdup(q->path);
    char pid[24] = "";

    q->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (q->lock_fd < 0 && errno == ENOENT)
        return kerr_set(err, -ENOENT, "directory %s does not exist", dirname(dir));
    if (q->lock_fd < 0)
        return kerr_set(err, -errno, "open %s: %s", name, strerror(errno));
    if (flock(q->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        const int e = errno;
        const ssize_t n = pread(q->lock_fd, pid, sizeof pid - 1, 0);
        pid[n > 0 ? (size_t)n : 0] = '\0';
        if (e != EWOULDBLOCK)
            return kerr_set(err, -e, "lock %s: %s", name, strerror(e));
        return kerr_set(err, -EBUSY, "in use by another process (pid %s)", *pid ? pid : "unknown");
    }
    const int n = snprintf(pid, sizeof pid, "%ld", (long)getpid());
    if (ftruncate(q->lock_fd, 0) < 0 || pwrite(q->lock_fd, pid, (size_t)n, 0) < 0)
        return kerr_set(err, -errno, "write %s: %s", name, strerror(errno));
    /* Secrets live in it: private from its first moment; the log takes over the mode. */
    const int fd = open(q->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return kerr_set(err, -errno, "open: %s", strerror(errno));
    close(fd);
    return 0;
}

static int connect_db(const struct sqlite *q, sqlite3 **ret, const char *setup, struct kerr *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;

    if (sqlite3_open_v2(q->path, ret, flags, "unix-excl") != SQLITE_OK)
        return *ret ? sql_fail(*ret, "open", err) : kerr_set(err, -ENOMEM, "open: out of memory");
    sqlite3_extended_result_codes(*ret, 1);
    if (sqlite3_exec(*ret, setup, NULL, NULL, NULL) != SQLITE_OK)
        return sql_fail(*ret, "set up", err);
    return 0;
}

/* Is it ours, and of a format we know? A fresh file becomes ours. */
static int check_format(struct sqlite *q, struct kerr *err)
{
    int64_t app = 0, format = 0, tables = 0;
    int r = sql_int(q->wdb, "PRAGMA application_id", &app, err);

    if (r == 0)
        r = sql_int(q->wdb, "PRAGMA user_version", &format, err);
    if (r == 0)
        r = sql_int(q->wdb, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    if (app != APPLICATION_ID && (app || format || tables))
        return kerr_set(err, -EINVAL, "not a store of koord (another program's SQLite file)");
    if (format > FORMAT)
        return kerr_set(err, -EPROTONOSUPPORT,
                        "written by a newer version (format %lld, this program knows %d)",
                        (long long)format, FORMAT);
    return app == APPLICATION_ID;
}

static int create(struct sqlite *q, struct kerr *err)
{
    char sql[700];

    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;"
                   "CREATE TABLE history(rev INTEGER PRIMARY KEY, deleted INTEGER NOT NULL,"
                   " res TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL);"
                   "CREATE TABLE docs(rev INTEGER PRIMARY KEY, doc BLOB NOT NULL);"
                   "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
                   "INSERT INTO meta VALUES('floor', 0);"
                   "PRAGMA application_id = %d;"
                   "PRAGMA user_version = %d;"
                   "COMMIT",
                   APPLICATION_ID, FORMAT);
    if (sqlite3_exec(q->wdb, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sql_fail(q->wdb, "create tables", err);
    return 0;
}

static int prepare(sqlite3 *db, const char *const sql[], size_t n, sqlite3_stmt **ret,
                   struct kerr *err)
{
    for (size_t i = 0; i < n; i++)
        if (sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &ret[i], NULL) !=
            SQLITE_OK)
            return sql_fail(db, "the file is damaged", err);
    return 0;
}

static int set_up(struct sqlite *q, uint64_t *ret_floor, struct kerr *err)
{
    int64_t floor = 0;
    int r = lock(q, err);

    if (r == 0)
        r = connect_db(q, &q->wdb, "PRAGMA page_size = 8192; PRAGMA cache_size = -2048", err);
    if (r == 0)
        r = check_format(q, err);
    if (r < 0)
        return r;
    const bool fresh = r == 0;
    if (sqlite3_exec(q->wdb,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;"
                     "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
                     NULL, NULL, NULL) != SQLITE_OK)
        return sql_fail(q->wdb, "set up", err);
    sqlite3_wal_hook(q->wdb, on_wal, q);
    r = fresh ? create(q, err) : 0;
    if (r == 0)
        r = connect_db(q, &q->rdb, "PRAGMA cache_size = -2048; PRAGMA query_only = ON", err);
    if (r == 0)
        r = sql_int(q->rdb, "SELECT value FROM meta WHERE key = 'floor'", &floor, err);
    if (r == 0)
        r = prepare(q->wdb, writer_sql, SQL_COUNT, q->w, err);
    if (r == 0)
        r = prepare(q->rdb, reader_sql, SQL_READ_COUNT, q->r, err);
    *ret_floor = q->floor = (uint64_t)floor;
    return r;
}

int sqlite_open(const char *path, struct backend **ret, uint64_t *ret_floor, struct kerr *err)
{
    static const struct backend_ops ops = {
        .commit = sqlite_commit,
        .tidy = sqlite_tidy,
        .fetch = sqlite_fetch,
        .reading = sqlite_reading,
        .free = sqlite_free,
    };
    struct sqlite *q = xnew0(struct sqlite);

    q->be.ops = &ops;
    q->path = xstrdup(path);
    q->lock_fd = -1;
    int r = set_up(q, ret_floor, err);
    if (r < 0) {
        sqlite_free(&q->be);
        return r;
    }
    *ret = &q->be;
    return 0;
}
