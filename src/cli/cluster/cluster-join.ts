import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import type { KlusterletResult } from "../../agent/klusterlet/klusterlet-options.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { joinExit } from "../agent/join-exit.ts";
import { klusterletLine } from "../agent/klusterlet-line.ts";
import { withKlusterlet } from "../agent/klusterlet-world.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { progress, type Progress } from "../progress.ts";

/**
 * Works as the agent of a cluster until both decisions are made and the cluster is available on the hub; says what is waited for and what
 * people on the hub type. What it has made is kept, so that the same command, or `pratique klusterlet`, goes on where it ended.
 */
export async function clusterJoin(args: Args, io: Io): Promise<ExitName> {
  if (args.list("bootstrap-kubeconfig").length === 0) {
    throw new CliError("usage", "--bootstrap-kubeconfig is missing", [
      "On the hub: pratique cluster token --bootstrap-kubeconfig FILE",
    ]);
  }
  const shown = progress(io);
  const seen = watched(shown);
  try {
    const joined = await untilAvailable({ args, io, report: seen.report });
    if (!seen.isAvailable()) throw stopped(seen.missing(), joined, io);
    shown.stop();
    await writeResult(args, io, { data: joined, table: () => joinedText(joined, args) });
    return "ok";
  } catch (error) {
    shown.stop();
    if (error instanceof JoinError) throw new CliError(joinExit(error.code), error.message);
    throw error;
  }
}

interface Joining {
  readonly args: Args;
  readonly io: Io;
  readonly report: (event: KlusterletEvent) => void;
}

/** Ends too when time is up or somebody interrupts; what was reported tells which. */
async function untilAvailable({ args, io, report }: Joining): Promise<KlusterletResult> {
  const done = new AbortController();
  const late = new AbortController();
  const interrupted = io.interrupted();
  void io.clock.sleep(args.number("timeout") ?? 0, done.signal).then(() => late.abort());
  try {
    return await withKlusterlet(args, io, (options) =>
      io.runKlusterlet({ ...options, until: "available", signal: AbortSignal.any([interrupted, late.signal]), report }),
    );
  } finally {
    done.abort();
  }
}

function stopped(missing: string, { cluster, agent }: KlusterletResult, io: Io): CliError {
  const hints = [
    `On the hub: pratique cluster accept ${cluster} --agent-id ${shellWord(agent)}`,
    "Here, the same command resumes with the same agent id and key.",
  ];
  return io.interrupted().aborted
    ? new CliError("interrupted", `stopped while waiting for ${missing}`, hints)
    : new CliError("timedOut", `the time is up, still waiting for ${missing}`, hints);
}

interface Watched {
  readonly report: (event: KlusterletEvent) => void;
  readonly isAvailable: () => boolean;
  /** What is waited for, as the end of a sentence. */
  readonly missing: () => string;
}

function watched(shown: Progress): Watched {
  let isAvailable = false;
  let missing = "the hub";
  function wait(text: string): void {
    missing = text;
    shown.doing(`waiting for ${text}`);
  }
  function report(event: KlusterletEvent): void {
    if (event.kind === "available") isAvailable = true;
    printEvent(event, shown);
    const next = nextAfter(event);
    if (next !== undefined) wait(next);
  }
  return { report, isAvailable: () => isAvailable, missing: () => missing };
}

function printEvent(event: KlusterletEvent, shown: Progress): void {
  switch (event.kind) {
    case "started":
      return shown.done(
        `this is the cluster ${event.cluster}, its agent id is ${event.agent} (kept in ${event.place})`,
      );
    case "requested":
      return shown.done(
        `${event.found ? "had asked" : "asked"} for a certificate: csr/${event.request}, agent id ${event.agent}, key ${event.fingerprint}`,
      );
    case "waiting":
      return shown.note(
        `${klusterletLine(event).message}. On the hub, compare the agent id ${event.agent}, then: ${event.commands.join("  or  ")}`,
      );
    case "issued":
      return shown.done(`got a certificate, valid until ${rfc3339(event.expiresAt)}`);
    case "planned":
      return undefined;
    default: {
      const { level, message } = klusterletLine(event);
      return level === "info" ? shown.done(message) : shown.note(message);
    }
  }
}

const decisions = {
  certificate: "an approver to approve the certificate",
  acceptance: "an approver to accept the cluster",
} as const;

function nextAfter(event: KlusterletEvent): string | undefined {
  switch (event.kind) {
    case "started":
      return "the hub";
    case "requested":
      return "both decisions on the hub";
    case "waiting":
      return event.open.map((one) => decisions[one]).join(" and ") || "the hub to make rights and certificate";
    case "accepted":
      return "the cluster to be available";
    case "unavailable":
      return `the cluster to be well: ${event.message}`;
    case "withheld":
      return `clocks that agree: ${event.message}`;
    default:
      return undefined;
  }
}

function joinedText({ cluster, agent, server }: KlusterletResult, args: Args): string {
  // Where there is no API there is no namespace.
  const place = args.text("spoke-kubeconfig") === undefined ? ["dir"] : ["spoke-kubeconfig", "namespace", "dir"];
  const given: readonly (readonly [string, string | undefined])[] = [
    ...args.list("bootstrap-kubeconfig").map((file) => ["bootstrap-kubeconfig", file] as const),
    ...["cluster-name", ...place].map((name) => [name, args.text(name)] as const),
    ...args.list("external-server").map((url) => ["external-server", url] as const),
    ["certificate-duration", durationText(args)],
  ];
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${shellWord(value)}`]));
  return [
    `The cluster ${printable(cluster)} has joined ${printable(server ?? "the hub")} with agent ${printable(agent)}, and is available.`,
    "Nothing keeps it so yet: without a heartbeat it counts as unknown. Keep running here:",
    `  pratique klusterlet ${words.join(" ")}`,
    "",
  ].join("\n");
}

function durationText(args: Args): string | undefined {
  const ms = args.number("certificate-duration");
  return ms === undefined ? undefined : formatDuration(ms);
}
