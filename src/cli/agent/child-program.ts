import { spawn } from "node:child_process";

/** How another program is run: never by a shell. */
export interface ChildRun {
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** After that many milliseconds it is killed, with its child processes. */
  readonly timeoutMs: number;
}

/** How it ended. */
export interface ChildEnd {
  /** `missing`: it could not be started. */
  readonly kind: "ended" | "killed" | "late" | "missing";
  readonly code: number;
  /** The first 4096 bytes of its output. */
  readonly output: string;
}

const maxOutputCharacters = 4096;

/** Runs a program with its arguments to its end. Never rejects. */
export async function runChild(words: readonly string[], run: ChildRun): Promise<ChildEnd> {
  try {
    return await endOf(words, run);
  } catch {
    // Node throws some errors directly, such as ETXTBSY for a program that is being written.
    return { kind: "missing", code: -1, output: "" };
  }
}

function endOf(words: readonly string[], { env, timeoutMs }: ChildRun): Promise<ChildEnd> {
  const [program = "", ...args] = words;
  return new Promise((resolve) => {
    // A process group of its own, so that its child processes can be killed with it.
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let late = false;
    const end = (kind: ChildEnd["kind"], code: number): void => {
      clearTimeout(deadline);
      resolve({ kind: late ? "late" : kind, code, output });
    };
    const deadline = setTimeout(() => {
      late = true;
      killGroup(child.pid);
      // A process that left the group may keep the pipes open.
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output = (output + chunk).slice(0, maxOutputCharacters);
      });
    }
    child.once("error", () => end("missing", -1));
    child.once("close", (code) => end(code === null ? "killed" : "ended", code ?? -1));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
