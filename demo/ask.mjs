// One request to a Kubernetes API with the credential of a kubeconfig: node ask.mjs KUBECONFIG METHOD PATH [JSON]
// Prints the reply's code and body as one line of JSON.
import { readFile } from "node:fs/promises";
import {
  kubeconfigAccess,
  parseKubeconfig,
  processWorld,
  remoteClient,
  resolveKubeconfig,
  wallClock,
} from "../dist/index.js";

const [file, method, path, body] = process.argv.slice(2);
const config = await resolveKubeconfig(parseKubeconfig(await readFile(file, "utf8"), file), { readFile });
const access = kubeconfigAccess(config, processWorld({ clock: wallClock }));
const client = remoteClient({ ...access, userAgent: "pratique-demo", timeoutMs: 10_000, clock: wallClock });
const reply = await client.raw(
  method,
  path,
  body === undefined ? {} : { body: Buffer.from(body), headers: { "content-type": "application/json" } },
);
client.close();
process.stdout.write(`${JSON.stringify({ code: reply.status, body: JSON.parse(reply.body.toString()) })}\n`);
