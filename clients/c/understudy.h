/* Understudy for C and C++: decisions from `understudy serve`, over HTTP on this machine. Header only, no dependencies.
 *
 *   us_client us;
 *   us_game game;
 *   us_decision d;
 *   us_connect(&us, "127.0.0.1", 8178);
 *   us_hello(&us, "[\"health\",\"gold\"]", "[\"LEFT\",\"RIGHT\"]");      // JSON, or numbers: "2", "2"
 *   us_begin(&us, &game, "{\"map\":\"Ridge\"}");                          // notes, or NULL
 *   us_act(&us, &game, reward, state, 2, NULL, 0, &d);                    // d.action
 *   us_end(&us, &game, reward, "Victory", NULL, 0);
 *   us_close(&us);
 *
 * Every function returns 0, or -1 with the reason in us.error. After a broken connection a call is tried again once; the
 * server recognises the repetition by its number (seq) and does nothing twice. One us_client is for one thread.
 */
#ifndef UNDERSTUDY_H
#define UNDERSTUDY_H
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
typedef SOCKET us_socket;
#define US_NO_SOCKET INVALID_SOCKET
#define us_close_socket closesocket
#define us_pid() ((unsigned long)GetCurrentProcessId())
#else
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
typedef int us_socket;
#define US_NO_SOCKET (-1)
#define us_close_socket close
#define us_pid() ((unsigned long)getpid())
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define US_MOST 65536 /* bytes of a message or an answer */

typedef struct {
    char host[128], token[128], error[512];
    int port;
    us_socket socket;
    char out[US_MOST + 1024], in[US_MOST + 1];
    size_t length; /* of the answer in `in` */
} us_client;

typedef struct {
    char id[80];
    long seq;
} us_game;

typedef struct {
    int32_t action;
    float probability, value;
} us_decision;

static int us_fail(us_client *c, const char *why) {
    snprintf(c->error, sizeof c->error, "%.511s", why);
    return -1;
}

static void us_close(us_client *c) {
    if (c->socket != US_NO_SOCKET) us_close_socket(c->socket);
    c->socket = US_NO_SOCKET;
}

static int us_open(us_client *c) {
    struct addrinfo hints, *found = NULL, *a;
    char port[16];
    int yes = 1;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    snprintf(port, sizeof port, "%d", c->port);
    if (getaddrinfo(c->host, port, &hints, &found)) return us_fail(c, "The host is not known.");
    for (a = found; a && c->socket == US_NO_SOCKET; a = a->ai_next) {
        us_socket s = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (s == US_NO_SOCKET) continue;
        if (connect(s, a->ai_addr, (int)a->ai_addrlen)) us_close_socket(s);
        else c->socket = s;
    }
    freeaddrinfo(found);
    if (c->socket == US_NO_SOCKET) return us_fail(c, "No connection: does `understudy serve` run?");
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof yes);
    return 0;
}

static int us_connect(us_client *c, const char *host, int port) {
#ifdef _WIN32
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
#endif
    memset(c, 0, sizeof *c);
    c->socket = US_NO_SOCKET;
    c->port = port;
    snprintf(c->host, sizeof c->host, "%s", host);
    return us_open(c);
}

/* Read an HTTP answer; 1 for status 200, 0 for another one, -1 if the connection broke. The body ends up in `in`. */
static int us_read_answer(us_client *c) {
    size_t got = 0, body = 0, need = 0;
    int status = 0;
    while (!body || got < body + need) {
        if (got >= US_MOST) return -1;
        long n = (long)recv(c->socket, c->in + got, (int)(US_MOST - got), 0);
        if (n <= 0) return -1;
        got += (size_t)n;
        c->in[got] = 0;
        if (!body) {
            char *end = strstr(c->in, "\r\n\r\n"), *length = strstr(c->in, "Content-Length: ");
            if (!end) continue;
            if (!length || length > end || sscanf(c->in, "HTTP/1.1 %d", &status) != 1) return -1;
            body = (size_t)(end + 4 - c->in);
            need = (size_t)strtoul(length + 16, NULL, 10);
        }
    }
    memmove(c->in, c->in + body, need);
    c->in[c->length = need] = 0;
    return status == 200;
}

/* Send a message and wait for the answer. */
static int us_ask(us_client *c, const char *path, const char *type, const void *content, size_t size) {
    int attempt, head;
    if (size > US_MOST) return us_fail(c, "The message is too long.");
    head = snprintf(c->out, 1024,
                    "POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/%s\r\nContent-Length: %lu\r\n%s%s%s\r\n",
                    path, type, (unsigned long)size, *c->token ? "Authorization: Bearer " : "", c->token, *c->token ? "\r\n" : "");
    memcpy(c->out + head, content, size);
    for (attempt = 0; attempt < 2; attempt++) {
        size_t sent = 0, all = (size_t)head + size;
        int answer;
        if (c->socket == US_NO_SOCKET && us_open(c)) return -1;
        while (sent < all) {
#ifdef MSG_NOSIGNAL
            long n = (long)send(c->socket, c->out + sent, all - sent, MSG_NOSIGNAL);
#else
            long n = (long)send(c->socket, c->out + sent, (int)(all - sent), 0);
#endif
            if (n <= 0) break;
            sent += (size_t)n;
        }
        answer = sent == all ? us_read_answer(c) : -1;
        if (answer == 1) return 0;
        if (answer == 0) return us_fail(c, c->in);
        us_close(c);
    }
    return us_fail(c, "The connection broke.");
}

static int us_hello(us_client *c, const char *features, const char *actions) {
    char text[US_MOST];
    int n = snprintf(text, sizeof text, "{\"features\":%s,\"actions\":%s}", features, actions);
    return n < 0 || n >= (int)sizeof text ? us_fail(c, "Too many features.") : us_ask(c, "hello", "json", text, (size_t)n);
}

static int us_begin(us_client *c, us_game *g, const char *about) {
    static unsigned count;
    char text[4096];
    int n;
    snprintf(g->id, sizeof g->id, "c-%lx-%lx-%lx-%x", (unsigned long)time(NULL), us_pid(), (unsigned long)(uintptr_t)g, count++);
    g->seq = 0;
    n = snprintf(text, sizeof text, "{\"game\":\"%s\",\"seq\":0,\"about\":%s}", g->id, about ? about : "{}");
    return n < 0 || n >= (int)sizeof text ? us_fail(c, "The notes are too long.") : us_ask(c, "begin", "json", text, (size_t)n);
}

/* Decide. `reward` is what the last decision earned. `legal` has a byte for each of the `actions`, or is NULL. */
static int us_act(us_client *c, us_game *g, float reward, const float *state, size_t features, const uint8_t *legal, size_t actions,
                  us_decision *d) {
    char path[160], content[US_MOST];
    size_t size = 4 * (1 + features);
    if (size + actions > sizeof content) return us_fail(c, "The state is too long.");
    memcpy(content, &reward, 4); /* little endian, as all machines are that this runs on */
    memcpy(content + 4, state, 4 * features);
    if (legal) memcpy(content + size, legal, actions);
    snprintf(path, sizeof path, "act?game=%s&seq=%ld", g->id, ++g->seq);
    if (us_ask(c, path, "octet-stream", content, size + (legal ? actions : 0))) return -1;
    if (c->length != 12) return us_fail(c, "The answer is no decision.");
    memcpy(d, c->in, 12);
    return 0;
}

/* End a game. `final_state` is NULL for a game that is over, and the last state of one that was cut off. */
static int us_end(us_client *c, us_game *g, float reward, const char *result, const float *final_state, size_t features) {
    char text[US_MOST];
    size_t i, n = (size_t)snprintf(text, sizeof text, "{\"game\":\"%s\",\"seq\":%ld,\"result\":\"%s\",\"reward\":%.9g", g->id, ++g->seq,
                                   result, (double)reward);
    for (i = 0; final_state && i < features && n + 64 < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.9g", i ? "," : ",\"final_state\":[", (double)final_state[i]);
    n += (size_t)snprintf(text + n, sizeof text - n, final_state ? "]}" : "}");
    return us_ask(c, "end", "json", text, n);
}
#endif
