import { setMaxListeners } from "node:events";
import { simulateFleet, type FleetReport } from "../../agent/simulated/fleet.ts";
import { formatDuration } from "../../apimachinery/duration.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { discoveryOf } from "./run-join.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { release } from "../release.ts";

const maxMachines = 20_000;
const reportEveryMs = 10_000;

/** Runs simulated machines, reports their tally every ten seconds, and prints the result. */
export const runSimulate: Run = async (args, io) => {
  const { machines, namePrefix } = sizeOf(args);
  const discovery = await discoveryOf(args, io);
  const stop = new AbortController();
  // Each machine listens to it several times.
  setMaxListeners(0, stop.signal);
  const interrupted = io.interrupted();
  const end = (): void => stop.abort();
  if (interrupted.aborted) end();
  else interrupted.addEventListener("abort", end, { once: true });
  const fleet = simulateFleet({
    machines,
    namePrefix,
    discovery,
    beatMs: Math.max(100, args.number("beat") ?? 0),
    spreadMs: args.number("spread") ?? 0,
    clock: io.clock,
    fraction: Math.random,
    userAgent: `pratique-simulate/${release}`,
    signal: stop.signal,
  });
  const durationMs = args.number("duration") ?? 0;
  if (durationMs > 0) void io.clock.sleep(durationMs, stop.signal).then(end);
  void reportPeriodically(fleet.report, io, stop.signal);
  await fleet.ended;
  end();
  const report = fleet.report();
  await writeResult(args, io, { data: report, table: () => text(report) });
  const isWell = report.joined === machines && report.lost + report.otherIdentity === 0;
  return isWell ? "ok" : "failed";
};

/** @throws CliError usage */
function sizeOf(args: Args): { readonly machines: number; readonly namePrefix: string } {
  const machines = args.number("machines") ?? 0;
  if (machines < 1 || machines > maxMachines) {
    throw usageError(`--machines ${machines}: must be 1 to ${maxMachines}`);
  }
  const namePrefix = args.text("name-prefix") ?? "";
  const [problem] = dnsSubdomainProblems(`${namePrefix}${machines}`);
  if (problem !== undefined) throw usageError(`--name-prefix ${JSON.stringify(namePrefix)}: ${problem}`);
  return { machines, namePrefix };
}

async function reportPeriodically(report: () => FleetReport, io: Io, signal: AbortSignal): Promise<void> {
  for (;;) {
    await io.clock.sleep(reportEveryMs, signal);
    if (signal.aborted) return;
    const { joined, machines, rotations, beats, failures, lost } = report();
    io.stderr.write(
      `${joined} of ${machines} joined, ${beats} beats, ${rotations} rotations, ${failures} failures, ${lost} lost\n`,
    );
  }
}

function text(report: FleetReport): string {
  const { machines, joined, rotations, beats, failures, longestGapMs, perSecond, lost, lostBecause } = report;
  const total = perSecond.reduce((sum, count) => sum + count, 0);
  const mean = perSecond.length === 0 ? 0 : total / perSecond.length;
  const lines = [
    `${joined} of ${machines} machines joined; ${lost} lost, ${report.otherIdentity} were given another identity`,
    `${beats} beats and ${rotations} rotations; ${failures} failures, the longest gap between two beats ${formatDuration(longestGapMs)}`,
    `${mean.toFixed(1)} requests a second, ${Math.max(0, ...perSecond)} in the busiest`,
    ...lostBecause.map((why) => `lost: ${printable(why)}`),
    ...report.notJoinedBecause.map((why) => `not joined: ${printable(why)}`),
  ];
  return `${lines.join("\n")}\n`;
}
