// What the demo stands on: processes with deadlines, what they say on the screen, and a folder that is always removed.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { styleText } from "node:util";

/** A step that did not do what it should. */
export class DemoError extends Error {}

/** How long a step may take where it says nothing else, in milliseconds. Generous: machines that test are slow. */
const defaultDeadlineMs = 60_000;

const colour = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
const style = (format, text) => (colour ? styleText(format, text) : text);
const width = Math.min(Math.max(process.stdout.columns ?? 110, 60), 120);
const nameWidth = 9;

/** A folder for everything, and a record of every process, so that nothing is left behind. */
export async function openStage() {
  const folder = await mkdtemp(join(tmpdir(), "pratique-demo-"));
  const children = new Set();
  const print = (text = "") => process.stdout.write(`${text}\n`);

  // Long digests and paths tire the eye. The commands that run have them in full.
  const shortened = (text) =>
    text
      .replaceAll(`${folder}/`, "")
      .replaceAll(/sha256:([0-9a-f]{6})[0-9a-f]{54}([0-9a-f]{4})/g, "sha256:$1…$2")
      .replaceAll(/SHA256:([\w+/]{10})[\w+/]{33}/g, "SHA256:$1…")
      .replaceAll(/X509SHA256=([0-9a-f]{10})[0-9a-f]{54}/g, "X509SHA256=$1…")
      .replaceAll(/(node-csr-[\w-]{6})[\w-]{37}/g, "$1…");

  /** Tells what somebody does or is told, under a name, in lines that fit. */
  function tell(name, mark, text, format) {
    const [first, ...others] = wrapped(shortened(text), width - nameWidth - 5);
    const line = (left, sign, right) => print(`  ${style("dim", `${left.padEnd(nameWidth)} ${sign}`)} ${right}`);
    line(name, mark, format === undefined ? first : style(format, first));
    for (const other of others) line("", "│", `  ${format === undefined ? other : style(format, other)}`);
  }

  /** Starts a process of somebody. Of what it prints, the lines that `shows` takes go to the screen as they come. */
  function start({ who = "", title, file = process.execPath, args, cwd = folder, env = {}, shows = () => true }) {
    if (title !== undefined) tell(who, "$", title, "cyan");
    const child = spawn(file, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    const seen = { stdout: "", stderr: "", ended: false };
    const waiting = new Set();
    const changed = () => waiting.forEach((look) => look());
    const table = tableReader((line) => tell(who, "│", line));
    for (const name of ["stdout", "stderr"]) {
      createInterface({ input: child[name] }).on("line", (line) => {
        seen[name] += `${line}\n`;
        if (shows(line)) table.line(line);
        changed();
      });
    }
    const exit = new Promise((resolve) => {
      child.on("error", (error) => resolve(`nothing: ${error.message}`));
      child.on("close", (code, signal) => resolve(code ?? signal));
    }).then((code) => {
      table.end(shortened);
      seen.ended = true;
      children.delete(child);
      changed();
      return code;
    });
    const what = shortened(title ?? args.slice(1).join(" "));
    return {
      seen,
      stop: () => child.kill("SIGTERM"),
      /** The exit code. */
      exit: (deadlineMs) => within(exit, `the end of: ${what}`, deadlineMs),
      /** The match of a pattern in what the process prints. */
      says(pattern, awaited, deadlineMs) {
        const found = new Promise((resolve, reject) => {
          const look = () => {
            const match = pattern.exec(seen.stdout) ?? pattern.exec(seen.stderr);
            if (match === null && !seen.ended) return;
            waiting.delete(look);
            if (match === null) reject(new DemoError(`it ended before ${awaited}: ${what}`));
            else resolve(match);
          };
          waiting.add(look);
          look();
        });
        return within(found, `${awaited}: ${what}`, deadlineMs);
      },
    };
  }

  /** Runs a process to its end and checks its exit code. */
  async function run(command, { code = 0, deadlineMs } = {}) {
    const running = start(command);
    const got = await running.exit(deadlineMs);
    if (got === code) return running.seen;
    const what = command.title ?? `${command.args.slice(1).join(" ")}\n${running.seen.stdout}${running.seen.stderr}`;
    throw new DemoError(`it ended with ${got}, but ${code} was expected: ${what}`);
  }

  async function close() {
    const left = [...children].map((child) => {
      const gone = new Promise((resolve) => {
        child.once("close", resolve).once("error", resolve);
      });
      child.kill("SIGKILL");
      return gone;
    });
    await Promise.all(left);
    await rm(folder, { recursive: true, force: true });
  }

  return {
    folder,
    start,
    run,
    close,
    title: (text) => print(`\n${style("bold", text)}`),
    say: (who, text) => tell(who, "│", text),
    proven: (text) => tell("", style("green", "✓"), text),
    failed: (text) => print(`\n${style("red", "✗")} ${shortened(text)}`),
  };
}

/** `text` in lines of at most so many characters, broken at blanks. */
function wrapped(text, room) {
  const lines = [];
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const tableHead = /^(\s*)NAME\s{2,}AGE\s/;

/** Passes lines on, but keeps those of a wide table to its end, to set each row as a list of what it says. */
function tableReader(pass) {
  const rows = [];
  return {
    line(line) {
      if (rows.length > 0 || tableHead.test(line)) rows.push(line);
      else pass(line);
    },
    end(shortened) {
      const all = rows.splice(0);
      const blank = all.findIndex((line) => line.trim() === "");
      const [head = "", ...body] = blank === -1 ? all : all.slice(0, blank);
      const columns = [...head.matchAll(/\S+/g)].map(({ 0: name, index }) => ({ name, index }));
      for (const row of body) {
        const cells = columns.map(({ name, index }, at) => ({
          name: name.toLowerCase(),
          value: shortened(row.slice(index, columns[at + 1]?.index).trim()),
        }));
        for (const { name, value } of cells) pass(`${name.padEnd(11)} ${value}`);
      }
      // What stands below a table is text.
      if (blank !== -1) for (const line of all.slice(blank + 1)) pass(shortened(line));
    },
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
