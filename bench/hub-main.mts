// Starts the hub from the sources, without the command line: for measuring a working tree that is not built.
import { parseArgs } from "node:util";
import { startHub } from "../src/hub/hub.ts";

const { values } = parseArgs({
  options: { "data-dir": { type: "string" }, "secure-port": { type: "string", default: "0" } },
});
const hub = await startHub({
  dataDir: values["data-dir"] ?? "",
  bindAddress: "127.0.0.1",
  securePort: Number(values["secure-port"]),
  tlsSans: [],
  authorizationModes: ["RBAC"],
  anonymousAuth: true,
  clusterSigningDurationSeconds: 31_536_000,
  nodeAutoapprove: true,
  maxRequestsInflight: 4000,
  release: "0.0.0",
  log: (entry) => {
    if (entry.level !== "debug") process.stderr.write(`${JSON.stringify(entry)}\n`);
  },
});
process.stdout.write(`${hub.url} ready in ${hub.readyMs.toFixed(0)} ms\n`);
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void hub.close());
await hub.stopped;
