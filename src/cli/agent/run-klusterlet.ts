import { klusterletStatus, type KlusterletStatus } from "../../agent/klusterlet/klusterlet-status.ts";
import { deniedRequestStep } from "../../agent/klusterlet/approver-commands.ts";
import type { LeftHub } from "../../agent/klusterlet/leave-hub.ts";
import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { CliError, type ExitName } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import { serveHealth } from "../../host/health-listener.ts";
import type { Io } from "../io.ts";
import { klusterletLine } from "./klusterlet-line.ts";
import { requireBootstrap, withKlusterlet } from "./klusterlet-world.ts";
import { logTo } from "../log-line.ts";
import { warningInLog } from "../open-secrets.ts";
import { writeResult, titledLines } from "../output.ts";
import { printable } from "../printable.ts";

/** Runs the agent of a cluster until a signal; or detaches the cluster, or prints its status. */
export const runKlusterlet: Run = async (args, io) => {
  if (args.on("status")) return showStatus(args, io);
  return args.on("leave") ? leave(args, io) : stay(args, io);
};

async function stay(args: Args, io: Io): Promise<void> {
  requireBootstrap(args);
  const log = logTo(args, io);
  const signal = io.interrupted();
  let isAvailable = false;
  const health = await serveHealth(args.text("health-address"), { isReady: () => isAvailable, log });
  if (health !== undefined) log(logEntry("Listening", "the agent answers health checks", { port: health.port }));
  try {
    await withKlusterlet(args, warningInLog(io, log), (options) =>
      io.runKlusterlet({
        ...options,
        hubTimeoutMs: args.number("hub-timeout"),
        signal,
        report: (event) => {
          isAvailable = event.kind === "available" || (isAvailable && !endsAvailability.has(event.kind));
          log(klusterletLine(event));
        },
      }),
    );
  } finally {
    await health?.close();
  }
  log(logEntry("Stopped", "the agent stopped"));
}

const endsAvailability: ReadonlySet<KlusterletEvent["kind"]> = new Set([
  "unavailable",
  "withheld",
  "denied",
  "detached",
  "registering-again",
  "leaving-hub",
]);

async function leave(args: Args, io: Io): Promise<void> {
  const log = logTo(args, io);
  const signal = io.interrupted();
  const left = await withKlusterlet(args, warningInLog(io, log), (options) =>
    io.leaveHub({ ...options, signal, report: (event) => log(klusterletLine(event)) }, args.on("force")),
  );
  await writeResult(args, io, { data: { ...left }, table: () => leftText(left) });
}

function leftText({ cluster, server, onHub, why }: LeftHub): string {
  const name = printable(cluster);
  const there = server === undefined ? "the hub" : printable(server);
  const what = {
    nothing: `The cluster ${name} has left ${there}; nothing of it is left there.`,
    "shut-out": `The cluster ${name} has left ${there}, which keeps its ManagedCluster. There: kubectl delete managedcluster ${name}`,
    "not-told": `What was kept of the cluster ${name} is removed here; ${there} was not notified${why === undefined ? "" : `: ${printable(why)}`}. There: kubectl delete managedcluster ${name}`,
  } as const;
  return `${what[onHub]}\n`;
}

async function showStatus(args: Args, io: Io): Promise<ExitName> {
  const { status, place } = await withKlusterlet(args, io, async ({ store }) => ({
    status: await klusterletStatus(store, io.clock.now()),
    place: store.place,
  }));
  if (status === undefined) {
    throw new CliError("notFound", `${place} holds no registration`, [
      "Is it kept elsewhere? See --dir and --spoke-kubeconfig.",
    ]);
  }
  await writeResult(args, io, { data: statusData(status), table: () => statusText(status) });
  return status.good ? "ok" : "failed";
}

function statusData({ certificate, ...status }: KlusterletStatus): Readonly<Record<string, unknown>> {
  if (certificate === undefined) return status;
  return { ...status, certificate: { expiresAt: rfc3339(certificate.expiresAt) } };
}

function statusText({ cluster, agent, place, server, certificate, request, shutOut }: KlusterletStatus): string {
  const lines = titledLines(
    [
      ["cluster", cluster],
      ["agent id", agent],
      ["hub", server],
      ["kept in", place],
      ["certificate", certificate === undefined ? "none yet" : `valid until ${rfc3339(certificate.expiresAt)}`],
      ["rejected", shutOut && `since ${shutOut.since}: ${shutOut.message}`],
      ["request", request && `csr/${request.name}, key ${request.fingerprint}`],
      ["denied", request?.denied],
      ["to do", request?.denied === undefined ? undefined : deniedRequestStep(request.name)],
    ],
    13,
    "",
  );
  return `${lines.join("\n")}\n`;
}
