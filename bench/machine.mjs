// What the numbers were measured on.
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";

export function machine() {
  return {
    bench: "machine",
    processor: cpus()[0]?.model,
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    openssl: process.versions.openssl,
    loadAverage: loadavg()[0],
    at: new Date().toISOString(),
  };
}
