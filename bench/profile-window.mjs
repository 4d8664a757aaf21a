// Loaded into the hub with --import: takes a CPU profile between two messages, so that start and stop of the process stay out of it.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { performance } from "node:perf_hooks";

const session = new Session();
let loop;
let cpu;

async function start(intervalMicros) {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: intervalMicros });
  loop = performance.eventLoopUtilization();
  cpu = process.cpuUsage();
  await session.post("Profiler.start");
}

async function stop(file) {
  const { profile } = await session.post("Profiler.stop");
  const used = process.cpuUsage(cpu);
  const { utilization } = performance.eventLoopUtilization(loop);
  writeFileSync(file, JSON.stringify(profile));
  return { utilization, cpuMs: (used.user + used.system) / 1000, memory: process.memoryUsage() };
}

process.on("message", (message) => {
  const work = message.profile === "start" ? start(message.intervalMicros) : stop(message.file);
  work.then(
    (result) => process.send({ profile: message.profile, result }),
    (error) => process.send({ profile: message.profile, error: String(error) }),
  );
});
// The channel alone does not keep the hub running.
process.channel.unref();
