// What the kernel says of processes: resident memory, processor time, and that by thread.
import { readFileSync, readdirSync } from "node:fs";

/** Ticks of /proc/PID/stat; 100 a second on every Linux that Node runs on. */
const msPerTick = 10;

/** Resident memory of processes together, in bytes: `total` and the part that no file backs. */
export function residentMemory(pids) {
  const sum = { total: 0, anonymous: 0 };
  for (const pid of pids) {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kib = (field) => Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
    sum.total += kib("VmRSS") * 1024;
    sum.anonymous += kib("RssAnon") * 1024;
  }
  return sum;
}

/** Processor time of processes together since their start, in milliseconds. */
export function processorTime(pids) {
  let sum = 0;
  for (const pid of pids) sum += ticks(readFileSync(`/proc/${pid}/stat`, "utf8")) * msPerTick;
  return sum;
}

/**
 * Processor time by thread name in milliseconds, the longest first, since `before` (an earlier answer) or since the start;
 * `waitMs` is how long the thread could have run but had no processor.
 */
export function threadTimes(pid, before = []) {
  const sums = new Map();
  const add = (name, ms, waitMs) => {
    const sum = sums.get(name) ?? { name, ms: 0, waitMs: 0 };
    sums.set(name, { name, ms: sum.ms + ms, waitMs: sum.waitMs + waitMs });
  };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const at = `/proc/${pid}/task/${thread}`;
      const name = thread === String(pid) ? "main" : readFileSync(`${at}/comm`, "utf8").trim();
      const [ran, waited] = readFileSync(`${at}/schedstat`, "utf8").split(" ");
      add(name, Number(ran) / 1e6, Number(waited) / 1e6);
    } catch {
      // A thread may end between the listing and the reading.
    }
  }
  for (const { name, ms, waitMs } of before) add(name, -ms, -waitMs);
  return [...sums.values()].filter(({ ms }) => ms >= 1).sort((a, b) => b.ms - a.ms);
}

function ticks(stat) {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
