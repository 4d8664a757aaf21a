// What a demo runs on: a temporary folder, processes, and checks. Closing it ends the processes and removes the folder.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { openScreen } from "./screen.mjs";

/** A step that did not give what it should. */
export class DemoError extends Error {}

export async function openStage(name) {
  const folder = await mkdtemp(join(tmpdir(), `pratique-demo-${name}-`));
  const screen = openScreen(folder);
  const children = new Map();
  let steps = 0;
  let isClosed = false;

  /** Starts a process; `title` is the command line as a person types it. Of the output, all lines that `shows` takes are shown, else the first ones. */
  function start({ who, title, file = process.execPath, args, cwd = folder, env = {}, shows }) {
    if (isClosed) throw new DemoError("the demo was stopped");
    screen.command(who, title);
    const variables = { PATH: process.env.PATH, HOME: folder, NO_COLOR: "1", ...env };
    // In a process group of its own, which Ctrl-C does not reach: the demo ends it.
    const child = spawn(file, args, { cwd, env: variables, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const seen = { stdout: "", stderr: "", code: undefined };
    const shown = screen.output(who, shows === undefined);
    for (const stream of ["stdout", "stderr"]) {
      createInterface({ input: child[stream] }).on("line", (line) => {
        seen[stream] += `${line}\n`;
        if (shows?.(line) ?? true) shown.line(line.replaceAll(`${cwd}/`, ""));
      });
    }
    const closed = new Promise((resolve) => void child.on("close", resolve).on("error", resolve)).then((end) => {
      shown.end();
      children.delete(child);
      seen.code = end?.message ?? child.exitCode ?? child.signalCode;
    });
    children.set(child, closed);
    return {
      seen,
      stop: () => child.kill("SIGTERM"),
      /** Waits for its end, checks the exit code, and gives what was printed. */
      async ends(code = 0) {
        await eventually(`the end of \`${title}\``, () => seen.code !== undefined);
        equal(`exit code of \`${title}\``, seen.code, code);
        return seen;
      },
      /** The match of a pattern in what it prints. */
      says: (pattern, what) =>
        eventually(`\`${title}\` to print ${what}`, () => {
          const match = pattern.exec(seen.stdout) ?? pattern.exec(seen.stderr);
          if (match === null && seen.code !== undefined) throw new DemoError(`\`${title}\` did not print ${what}`);
          return match;
        }),
    };
  }

  async function close() {
    isClosed = true;
    const closing = [...children.values()];
    for (const { pid, exitCode, signalCode } of children.keys()) {
      if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
    }
    await Promise.all(closing);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  return { ...screen, folder, start, close, step: (text) => screen.heading(`${(steps += 1)}. ${text}`) };
}

/** @throws DemoError where `actual` is something else than `expected` */
export function equal(what, actual, expected) {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new DemoError(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
}

/** What `look` gives, once that is something. @throws DemoError after a minute, since the machine may be busy */
export async function eventually(what, look) {
  for (const end = performance.now() + 60_000; performance.now() < end; await pause(50)) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
  }
  throw new DemoError(`waited 60 s for ${what}`);
}
