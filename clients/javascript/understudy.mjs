// Understudy for JavaScript (Node 18 or newer, no dependencies): decisions from `understudy serve`.
//
//   const us = Understudy.start("my_run");                    // starts the sidecar and talks over standard input
//   const us = Understudy.connect("http://127.0.0.1:8178");   // or talks to one that runs already
//   await us.hello(["health", "gold"], ["LEFT", "RIGHT"]);
//   const game = await us.begin({ map: "Ridge" });
//   const { action } = await game.act(state, { reward });
//   await game.end("Victory", { reward });
//   await us.close();

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

/** A message that the sidecar refused. */
export class UnderstudyError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Answers come in the order of the questions. */
class Lines {
  constructor(command, args) {
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = [];
    this.ended = new Promise((resolve) => this.process.on("close", resolve));
    createInterface({ input: this.process.stdout }).on("line", (line) => this.waiting.shift()?.resolve(JSON.parse(line)));
    const fail = () => {
      for (const { reject } of this.waiting.splice(0)) reject(new UnderstudyError("The sidecar has ended.", 503));
      this.over = true;
    };
    this.process.on("close", fail);
    this.process.on("error", fail);
    this.process.stdin.on("error", fail);
  }

  ask(name, message) {
    if (this.over) return Promise.reject(new UnderstudyError("The sidecar has ended.", 503));
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.process.stdin.write(JSON.stringify({ do: name, ...message }) + "\n");
    }).then(({ ok, ...answer }) => {
      if (!ok) throw new UnderstudyError(answer.error, answer.status);
      return answer;
    });
  }

  close() {
    this.process.stdin.end();
    return this.ended;
  }
}

class Web {
  constructor(url, token, retries) {
    Object.assign(this, { url: url.replace(/\/+$/, ""), retries });
    this.headers = { "Content-Type": "application/json" };
    if (token) this.headers.Authorization = `Bearer ${token}`;
  }

  async ask(name, message) {
    for (let attempt = 0; ; attempt++) {
      let response, answer;
      try {
        const request = { method: "POST", headers: this.headers, body: JSON.stringify(message) };
        response = await fetch(`${this.url}/v1/${name}`, request);
        answer = await response.json();
      } catch (error) {
        // The connection broke. Messages have numbers, so that a repeated one is not done twice.
        if (attempt >= this.retries) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
        continue;
      }
      if (!response.ok) throw new UnderstudyError(answer.error, response.status);
      return answer;
    }
  }

  async close() {}
}

/** One game. Messages of one game are sent one after the other. */
export class Game {
  constructor(understudy, id, modelVersion) {
    Object.assign(this, { understudy, id, modelVersion, seq: 0 });
  }

  /** The message of a decision, for `act` and `Understudy.acts`. */
  message(state, { reward = 0, legal, explore } = {}) {
    const message = { game: this.id, seq: ++this.seq, state: Array.from(state), reward };
    if (legal) message.legal = Array.from(legal, Boolean);
    if (explore !== undefined) message.explore = explore;
    return message;
  }

  /** Decide: { action, label, probability, value }. `reward` is what the last decision earned. */
  act(state, options) {
    return this.understudy.ask("act", this.message(state, options));
  }

  /** Credit the last decision with a reward. */
  reward(reward) {
    return this.understudy.ask("reward", { game: this.id, seq: ++this.seq, reward });
  }

  /** End the game. `finalState` is for a game that was cut off rather than finished. */
  end(result = "Unknown", { reward = 0, finalState, about = {} } = {}) {
    const message = { game: this.id, seq: ++this.seq, result, reward, about };
    if (finalState) message.final_state = Array.from(finalState);
    return this.understudy.ask("end", message);
  }
}

export class Understudy {
  constructor(transport) {
    this.transport = transport;
  }

  /** Start `understudy serve RUN_DIR --stdio`; it ends with this program. */
  static start(runDir, { command = "understudy", args = [] } = {}) {
    return new Understudy(new Lines(command, [...args, "serve", runDir, "--stdio"]));
  }

  /** Talk to a sidecar that runs already. */
  static connect(url = "http://127.0.0.1:8178", { token, retries = 5 } = {}) {
    return new Understudy(new Web(url, token, retries));
  }

  ask(name, message = {}) {
    return this.transport.ask(name, message);
  }

  /** Declare features and actions, each as names or as a number. */
  hello(features, actions) {
    return this.ask("hello", features === undefined ? {} : { features, actions });
  }

  /** Begin a game; `about` are notes such as map and opponent_id. */
  async begin(about = {}) {
    const answer = await this.ask("begin", { game: randomUUID(), seq: 0, about });
    return new Game(this, answer.game, answer.model_version);
  }

  /** Decide in several games at once: pairs of a game and its state, or triples with the options of `act`. */
  async acts(decisions) {
    const acts = decisions.map(([game, state, options]) => game.message(state, options));
    const { results } = await this.ask("acts", { acts });
    const wrong = results.find((result) => "error" in result);
    if (wrong) throw new UnderstudyError(wrong.error, 400);
    return results;
  }

  status() {
    return this.ask("status");
  }

  close() {
    return this.transport.close();
  }
}
