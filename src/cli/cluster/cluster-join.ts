import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import type { KlusterletResult } from "../../agent/klusterlet/klusterlet-options.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { CliError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { klusterletLine } from "../agent/klusterlet-line.ts";
import { withProgress } from "../agent/join-progress.ts";
import { requireBootstrap, withKlusterlet } from "../agent/klusterlet-world.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import type { Progress } from "../progress.ts";

/**
 * Runs the agent of a cluster until both decisions are made and the cluster is available on the hub; prints what it waits for and the
 * commands for the approvers. Its state is stored, so that the same command, or `pratique klusterlet`, resumes.
 */
export const clusterJoin: Run = async (args, io) => {
  requireBootstrap(args);
  const seen = { available: false, missing: "the hub" };
  const joined = await withProgress(io, {}, (shown) =>
    untilAvailable(args, io, (event) => {
      seen.available ||= event.kind === "available";
      printEvent(event, shown);
      const next = nextAfter(event);
      if (next === undefined) return;
      seen.missing = next;
      shown.doing(`waiting for ${next}`);
    }),
  );
  if (!seen.available) throw stopped(seen.missing, joined, io);
  await writeResult(args, io, { data: joined, table: () => joinedText(joined, args) });
};

/** Ends too at the timeout or an interrupt; the reported events distinguish them. */
async function untilAvailable(args: Args, io: Io, report: (event: KlusterletEvent) => void): Promise<KlusterletResult> {
  const [done, late] = [new AbortController(), new AbortController()];
  const signal = AbortSignal.any([io.interrupted(), late.signal]);
  void io.clock.sleep(args.number("timeout") ?? 0, done.signal).then(() => late.abort());
  try {
    return await withKlusterlet(args, io, (options) =>
      io.runKlusterlet({ ...options, until: "available", signal, report }),
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
  // Without an API there is no namespace.
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
