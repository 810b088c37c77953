/* bench_curl.c - the same binds, and the same watch, by a bare libcurl multi loop: what our client
 * is measured beside. Bench only; nothing of the product uses libcurl.
 *
 *     bench_curl bind  URL TOKEN CA NAMESPACE NODES IN_FLIGHT FIRST COUNT
 *     bench_curl watch URL TOKEN CA SECONDS
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

struct slot {
    CURL *easy;
    char body[256];
};

static const char *base, *ca, *ns;
static struct curl_slist *headers;
static unsigned nodes;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long rss_kb(const char *key)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtol(line + strlen(key) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

static size_t discard(char *p, size_t size, size_t n, void *arg)
{
    (void)p, (void)arg;
    return size * n;
}

static void common(CURL *e, const char *url)
{
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_CAINFO, ca);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
}

static void next_bind(struct slot *s, CURLM *multi, unsigned i)
{
    char url[512];
    snprintf(url, sizeof url, "%s/api/v1/namespaces/%s/pods/pod-%u/binding", base, ns, i);
    snprintf(s->body, sizeof s->body,
             "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"pod-%u\"},"
             "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-%u\"}}",
             i, i % nodes);
    common(s->easy, url);
    curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, s->body);
    curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
    curl_multi_add_handle(multi, s->easy);
}

static int bind_all(unsigned window, unsigned first, unsigned count)
{
    CURLM *multi = curl_multi_init();
    struct slot *slots = calloc(window, sizeof *slots);
    unsigned next = 0, done = 0, failed = 0;
    double wall = now_s(), cpu = cpu_s();

    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    for (unsigned i = 0; i < window && next < count; i++) {
        slots[i].easy = curl_easy_init();
        next_bind(&slots[i], multi, first + next++);
    }
    while (done < count) {
        int running, left;
        CURLMsg *m;
        curl_multi_perform(multi, &running);
        while ((m = curl_multi_info_read(multi, &left))) {
            struct slot *s = NULL;
            long code = 0;
            if (m->msg != CURLMSG_DONE)
                continue;
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&s);
            curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &code);
            failed += m->data.result != CURLE_OK || code != 201;
            done++;
            curl_multi_remove_handle(multi, s->easy);
            if (next < count)
                next_bind(s, multi, first + next++);
        }
        if (done < count)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    wall = now_s() - wall;
    cpu = cpu_s() - cpu;
    printf("{\"binds\": %u, \"errors\": %u, \"seconds\": %.3f, \"binds_per_s\": %.1f, "
           "\"cpu_ms_per_bind\": %.4f, \"peak_rss_kb\": %ld}\n",
           done - failed, failed, wall, done / wall, cpu * 1e3 / done, rss_kb("VmHWM"));
    return failed ? 1 : 0;
}

static int watch(long seconds)
{
    CURLM *multi = curl_multi_init();
    CURL *e = curl_easy_init();
    char url[512];
    double end = now_s() + (double)seconds;
    int running;

    snprintf(url, sizeof url, "%s/api/v1/nodes?watch=1&allowWatchBookmarks=true", base);
    common(e, url);
    curl_multi_add_handle(multi, e);
    while (now_s() < end) {
        curl_multi_perform(multi, &running);
        curl_multi_poll(multi, NULL, 0, 200, NULL);
    }
    printf("{\"rss_kb\": %ld, \"private_kb\": %ld}\n", rss_kb("VmRSS"), rss_kb("RssAnon"));
    return 0;
}

int main(int argc, char **argv)
{
    char auth[4096];
    if (argc < 6)
        return 2;
    base = argv[2];
    ca = argv[4];
    snprintf(auth, sizeof auth, "Authorization: Bearer %s", argv[3]);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    headers = curl_slist_append(NULL, auth);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Accept: application/json");
    if (strcmp(argv[1], "watch") == 0)
        return watch(strtol(argv[5], NULL, 10));
    if (argc < 10)
        return 2;
    ns = argv[5];
    nodes = (unsigned)strtoul(argv[6], NULL, 10);
    return bind_all((unsigned)strtoul(argv[7], NULL, 10), (unsigned)strtoul(argv[8], NULL, 10),
                    (unsigned)strtoul(argv[9], NULL, 10));
}
