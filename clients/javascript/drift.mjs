// Drift, played in JavaScript: fifty numbers wander, and eight of them can be picked. Sixteen games run at once; it ends
// when the last 20 games earned 350 on average.
//
//   node drift.mjs http://127.0.0.1:8178        or, starting the sidecar:  node drift.mjs RUN_DIR [COMMAND ARGUMENTS]
import { Understudy } from "./understudy.mjs";

const [FEATURES, ACTIONS, LENGTH, AT_ONCE, LAST, GOAL, MOST_GAMES] = [50, 8, 300, 16, 20, 350, 20000];
const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
const normals = (scale) => Array.from({ length: FEATURES }, () => scale * normal());
const push = Array.from({ length: ACTIONS }, () => normals(0.05));

const [where, command, ...args] = process.argv.slice(2);
const us = where.startsWith("http") ? Understudy.connect(where) : Understudy.start(where, { command, args });
await us.hello(FEATURES, ACTIONS);
const returns = [];
let mean = -Infinity;
while (mean < GOAL && returns.length < MOST_GAMES) {
  const matches = [];
  for (let i = 0; i < AT_ONCE; i++) matches.push({ game: await us.begin({ game: "drift" }), x: normals(1), reward: 0, total: 0 });
  for (let step = 0; step < LENGTH; step++) {
    const decisions = await us.acts(matches.map(({ game, x, reward }) => [game, x, { reward }]));
    matches.forEach((match, i) => {
      const { action } = decisions[i];
      match.reward = match.x[action];
      match.total += match.reward;
      match.x = match.x.map((value, j) => 0.9 * value + 0.436 * normal() + push[action][j]);
    });
  }
  for (const { game, x, reward, total } of matches) {
    await game.end("Unknown", { reward, finalState: x });
    returns.push(total);
  }
  mean = returns.slice(-LAST).reduce((sum, value) => sum + value, 0) / Math.min(LAST, returns.length);
}
await us.close();
console.log(`${mean >= GOAL ? "reached" : "ended at"} ${mean.toFixed(0)} after ${returns.length} games`);
process.exitCode = mean >= GOAL ? 0 : 1;
