import type { Io, Output } from "./io.ts";
import { printable } from "./printable.ts";
import pc from "picocolors";

/** Reports progress on stderr. Texts are escaped. */
export interface Progress {
  /** An operation runs until the next call: a spinner on a terminal, nothing elsewhere. */
  doing(text: string): void;
  /** An operation is done: a line that stays. */
  done(text: string): void;
  /** A note: a line that stays. */
  note(text: string): void;
  /** Removes the spinner. */
  stop(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const frameMs = 100;

/** Lines elsewhere, with a spinner between them on a terminal. */
export function progress(io: Io): Progress {
  const lively = isLively(io.stderr, io);
  const { cyan, green, yellow } = coloursFor(io.stderr, io);
  let spinning: AbortController | undefined;

  function stop(): void {
    if (spinning === undefined) return;
    spinning.abort();
    spinning = undefined;
    io.stderr.write("\r\u001b[K");
  }

  async function spin(text: string, signal: AbortSignal): Promise<void> {
    for (let turn = 0; !signal.aborted; turn += 1) {
      io.stderr.write(`\r\u001b[K${cyan(frames[turn % frames.length] ?? "")} ${text}`);
      await io.clock.sleep(frameMs, signal);
    }
  }

  function line(mark: string, text: string): void {
    stop();
    io.stderr.write(lively ? `${mark} ${printable(text)}\n` : `${printable(text)}\n`);
  }

  return {
    doing: (text) => {
      stop();
      if (!lively) return;
      spinning = new AbortController();
      void spin(printable(text), spinning.signal);
    },
    done: (text) => line(green("✓"), text),
    note: (text) => line(yellow("!"), text),
    stop,
  };
}

/** Functions that colour text, or return it unchanged. */
type Colours = Pick<ReturnType<typeof pc.createColors>, "bold" | "dim" | "red" | "green" | "yellow" | "cyan">;

/** Colours for an output. */
export function coloursFor(output: Output, io: Io): Colours {
  return pc.createColors(isLively(output, io));
}

/** Whether colour and movement are allowed: a terminal that is not dumb, and no `NO_COLOR`. @see no-color.org */
function isLively(output: Output, { env }: Io): boolean {
  return output.isTty && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}
