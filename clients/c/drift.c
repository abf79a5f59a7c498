/* Drift, played in C: fifty numbers wander, and eight of them can be picked. Ends when 20 games in a row earn 350 each.
 *
 *   cc -O2 drift.c -o drift -lm && ./drift 8178 [SEED]
 */
#include "understudy.h"
#include <math.h>

enum { FEATURES = 50, ACTIONS = 8, LENGTH = 300, LAST = 20, MOST_GAMES = 20000 };
static const double GOAL = 350;

static double normal(void) {
    double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = rand() / (RAND_MAX + 1.0);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int main(int argc, char **argv) {
    static us_client us;
    us_game game;
    us_decision d;
    float x[FEATURES], push[ACTIONS][FEATURES];
    double returns[LAST] = {0};
    int i, a, step, played;
    if (argc < 2 || us_connect(&us, "127.0.0.1", atoi(argv[1])) || us_hello(&us, "50", "8")) {
        fprintf(stderr, "%s\n", us.error);
        return 1;
    }
    srand(50);
    for (a = 0; a < ACTIONS; a++)
        for (i = 0; i < FEATURES; i++) push[a][i] = (float)(0.05 * normal());
    if (argc > 2) srand((unsigned)atoi(argv[2]));
    for (played = 1; played <= MOST_GAMES; played++) {
        double total = 0, mean = 0;
        float reward = 0;
        int wrong = us_begin(&us, &game, "{\"game\":\"drift\"}");
        for (i = 0; i < FEATURES; i++) x[i] = (float)normal();
        for (step = 0; step < LENGTH && !wrong; step++) {
            wrong = us_act(&us, &game, reward, x, FEATURES, NULL, 0, &d);
            total += reward = x[d.action];
            for (i = 0; i < FEATURES; i++) x[i] = (float)(0.9 * x[i] + 0.436 * normal()) + push[d.action][i];
        }
        if (wrong || us_end(&us, &game, reward, "Unknown", x, FEATURES)) {
            fprintf(stderr, "%s\n", us.error);
            return 1;
        }
        returns[played % LAST] = total;
        for (i = 0; i < LAST; i++) mean += returns[i] / LAST;
        if (played >= LAST && mean >= GOAL) {
            printf("reached %.0f after %d games\n", mean, played);
            us_close(&us);
            return 0;
        }
    }
    fprintf(stderr, "The goal was not reached in %d games.\n", MOST_GAMES);
    return 1;
}
