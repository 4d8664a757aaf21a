import { writeSync } from "node:fs";

const fatal = Number(process.env["FATAL_STEP"] ?? 0);
let count = 0;

/** Counts a step and writes to file descriptor 3 which it is; at the one that is fatal the process is killed as by `kill -9`. */
export function step(what: string): void {
  count += 1;
  writeSync(3, `${what}\n`);
  if (count !== fatal) return;
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way; nothing more may happen until it is there.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}

/** Any function of node's that gives a promise. */
export type Act = (...args: readonly unknown[]) => Promise<unknown>;

/** The same function, with a step before each call. That after it is the one before the next. */
export function stepwise(name: string, act: (...args: never[]) => Promise<unknown>): Act {
  return async (...args) => {
    const [path] = args;
    step(`${name} ${typeof path === "string" ? (path.split("/").at(-1) ?? "") : ""}`.trim());
    return (act as Act)(...args);
  };
}
