import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { TestHub } from "./hub.ts";

/** How a command line ended, and what it wrote. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line of `who`, a user of the hub's token file or `admin`, against the hub. */
export async function pratiqueAs(hub: TestHub, who: string, words: readonly string[]): Promise<Ran> {
  const written = { out: "", err: "" };
  const kubeconfig = who === "admin" ? hub.kubeconfig : await hub.kubeconfigOf(who);
  const io = {
    ...processIo(),
    env: { KUBECONFIG: kubeconfig },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, words, io), ...written };
}
