// What a bench run puts on the machine, and takes away again whatever happens: folders, processes, anything with a way to end it.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const stopMs = 10_000;

/** A stage: `clear` undoes everything in reverse order, once, also on SIGINT and SIGTERM. */
export function openStage() {
  const undo = [];
  let clearing;
  const clear = () => (clearing ??= clearAll(undo));
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
  for (const [signal, code] of Object.entries(signals)) {
    process.once(signal, () => {
      process.stderr.write(`\n${signal}: stopping what was started\n`);
      // A second signal must not leave anything behind either.
      for (const other of Object.keys(signals)) process.on(other, () => undefined);
      void clear().finally(() => process.exit(code));
    });
  }
  // Whoever reads the output may leave early (`| head`); what runs must be stopped all the same.
  process.stdout.on("error", () => undefined);
  process.once("uncaughtException", (error) => {
    process.stderr.write(`${error.stack}\n`);
    void clear().finally(() => process.exit(1));
  });
  return {
    clear,
    /** True once `clear` has begun; nothing new is started then. */
    closing: () => clearing !== undefined,
    onClear: (work) => {
      undo.push(work);
    },
    /** A fresh folder, in `parent` or where temporary files go. */
    folder: async (name, parent = tmpdir()) => {
      const dir = await mkdtemp(join(parent, `${name}-`));
      undo.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
      return dir;
    },
    /** A child in a process group of its own, so that Ctrl-C reaches it through `clear` alone. */
    start: (command, args, options = {}) => {
      if (clearing !== undefined) throw new Error("the bench is stopping");
      const child = spawn(command, args, { detached: true, ...options });
      const exited = new Promise((resolve) => {
        child.once("error", (error) => resolve({ error }));
        child.once("exit", (code, signal) => resolve({ code, signal }));
      });
      const stop = () => stopChild(child, exited);
      undo.push(stop);
      return { child, exited, stop };
    },
  };
}

async function clearAll(undo) {
  for (let work = undo.pop(); work !== undefined; work = undo.pop()) {
    try {
      await work();
    } catch (error) {
      process.stderr.write(`while cleaning up: ${error.message}\n`);
    }
  }
}

async function stopChild(child, exited) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exited;
  clearTimeout(timer);
}
