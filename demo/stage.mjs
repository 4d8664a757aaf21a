// What the demo stands on: processes with deadlines, their output on the screen, and a folder that is always removed.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";

/** A step that did not do what it should. */
export class DemoError extends Error {}

const colour = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
const style = (format, text) => (colour ? styleText(format, text) : text);

/** How long a step may take where it says nothing else, in milliseconds. Generous: machines that test are slow. */
const defaultDeadlineMs = 30_000;

/** A folder for everything, and a record of every process, so that nothing is left behind. */
export async function openStage() {
  const folder = await mkdtemp(join(tmpdir(), "pratique-demo-"));
  const children = new Set();
  const print = (text = "") => process.stdout.write(`${text}\n`);
  // Paths and long digests tire the eye; the commands that run have them in full.
  const shortened = (text) =>
    text
      .replaceAll(`${folder}/`, "")
      .replaceAll(/sha256:([0-9a-f]{8})[0-9a-f]{52}([0-9a-f]{4})/g, "sha256:$1…$2")
      .replaceAll(/(node-csr-[\w-]{8})[\w-]{20,}/g, "$1…");
  const quoted = (text) =>
    text
      .trimEnd()
      .split("\n")
      .forEach((line) => print(`  ${style("dim", "│")} ${shortened(line)}`));

  /** Starts a process. What it prints goes to the screen as it comes, unless `silent`. */
  function start({ title, file = process.execPath, args, cwd = folder, env = {}, silent = false }) {
    if (title !== undefined) print(`  ${style("cyan", `$ ${shortened(title)}`)}`);
    const child = spawn(file, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    const seen = { stdout: "", stderr: "", ended: false };
    const waiting = new Set();
    const changed = () => waiting.forEach((look) => look());
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => {
        seen[name] += text;
        if (!silent) quoted(text);
        changed();
      });
    }
    const exit = new Promise((resolve) => {
      child.on("error", (error) => resolve(`could not be started: ${error.message}`));
      child.on("close", (code, signal) => resolve(code ?? signal));
    }).then((code) => {
      seen.ended = true;
      children.delete(child);
      changed();
      return code;
    });
    const what = title ?? args.join(" ");
    return {
      seen,
      stop: () => child.kill("SIGTERM"),
      /** The exit code. */
      exit: (waitsFor, deadlineMs) => within(exit, `${waitsFor} (${what})`, deadlineMs),
      /** The match of a pattern in what the process prints. */
      says(pattern, waitsFor, deadlineMs) {
        const found = new Promise((resolve, reject) => {
          const look = () => {
            const match = pattern.exec(seen.stdout) ?? pattern.exec(seen.stderr);
            if (match !== null) resolve(match);
            else if (seen.ended) reject(new DemoError(`${what} ended before ${waitsFor}`));
            else return;
            waiting.delete(look);
          };
          waiting.add(look);
          look();
        });
        return within(found, `${waitsFor} (${what})`, deadlineMs);
      },
    };
  }

  /** Runs a process to its end and checks its exit code. */
  async function run(command, { code = 0, deadlineMs } = {}) {
    const running = start(command);
    const got = await running.exit("its end", deadlineMs);
    if (got !== code) {
      const told = command.silent === true ? `\n${running.seen.stdout}${running.seen.stderr}` : "";
      throw new DemoError(
        `${command.title ?? command.args.join(" ")} ended with ${got}, but ${code} was expected${told}`,
      );
    }
    return running.seen;
  }

  async function close() {
    const left = [...children];
    for (const child of left) child.kill("SIGKILL");
    await Promise.all(left.map((child) => new Promise((resolve) => child.once("close", resolve))));
    await rm(folder, { recursive: true, force: true });
  }

  return {
    folder,
    start,
    run,
    close,
    title: (text) => print(`\n${style("bold", text)}`),
    say: (text) => print(`  ${text}`),
    proven: (text) => print(`  ${style("green", "✓")} ${text}`),
    failed: (text) => print(`\n${style("red", "✗")} ${shortened(text)}`),
  };
}

async function within(promise, what, deadlineMs = defaultDeadlineMs) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new DemoError(`after ${deadlineMs / 1000} s still waiting for ${what}`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
