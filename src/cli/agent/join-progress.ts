import type { JoinEvent } from "../../agent/join/join-event.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { JoinError, type JoinErrorCode } from "../../credentials/join-error.ts";
import { CliError } from "../cli-error.ts";
import { joinExits } from "../failure.ts";
import type { Io } from "../io.ts";
import { progress, type Progress } from "../progress.ts";
import { titledLines } from "../output.ts";

/** The result of `use`, which reports its steps on stderr; `blamed` names the option that causes an error of its kind. @throws CliError */
export async function withProgress<T>(
  io: Io,
  blamed: Partial<Record<JoinErrorCode, string>>,
  use: (shown: Progress) => Promise<T>,
): Promise<T> {
  const shown = progress(io);
  try {
    return await use(shown);
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    const { code, message } = error;
    const option = blamed[code];
    const isNamed = option === undefined || message.includes(`--${option}`);
    throw new CliError(joinExits[code], isNamed ? message : `--${option}: ${message}`);
  } finally {
    shown.stop();
  }
}

/** The files of the machine, and the commands to test and renew its credential. */
export function heldText(
  first: string,
  rows: Parameters<typeof titledLines>[0],
  { kubeconfig, keep, dir }: { readonly kubeconfig: string; readonly keep: string; readonly dir: string },
): string {
  return [
    first,
    ...titledLines(rows, 12),
    `Try it: kubectl --kubeconfig ${shellWord(kubeconfig)} auth whoami`,
    `${keep}: pratique agent --dir ${shellWord(dir)}`,
    "",
  ].join("\n");
}

/** Reports the events that a join and a request for access share: discovery, and the files at its end; undefined for other events. */
export function reportProgress(event: JoinEvent, shown: Progress): void {
  switch (event.kind) {
    case "discovering":
      return shown.doing(`looking for the hub at ${event.server}`);
    case "retrying":
      return shown.note(`trying again${tryingFor(event.forMs)}, since ${event.message}`);
    case "reconnected":
      return shown.note(`connected to ${event.server} again`);
    case "clock-differs":
      return shown.note(event.message);
    case "written":
      return shown.done(`wrote ${event.path}`);
    default:
      return undefined;
  }
}

function tryingFor(ms: number | undefined): string {
  return ms === undefined ? "" : ` for up to ${humanDuration(ms)} (--discovery-timeout)`;
}
