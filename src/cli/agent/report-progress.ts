import type { JoinEvent } from "../../agent/join/join-event.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import type { Progress } from "../progress.ts";

/** Tells what a join and a request for access have in common: the way to the hub, and the files at its end; nothing of other events. */
export function reportProgress(event: JoinEvent, shown: Progress): void {
  switch (event.kind) {
    case "discovering":
      return shown.doing(`looking for the hub at ${event.server}`);
    case "retrying":
      return shown.note(
        `trying again${event.forMs === undefined ? "" : tryingFor(event.forMs)}, since ${event.message}`,
      );
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

function tryingFor(ms: number): string {
  return ` for up to ${humanDuration(ms)} (--discovery-timeout)`;
}
