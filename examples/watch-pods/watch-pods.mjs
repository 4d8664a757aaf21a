// Lists the pods of a namespace again and again, with the kubeconfig that `pratique request` wrote: node watch-pods.mjs KUBECONFIG [SECONDS]
// Prints namespace, name and address of each. Needs nothing but Node.
import { readFile } from "node:fs/promises";
import { get } from "node:https";
import { setTimeout as pause } from "node:timers/promises";

const [file = "kubeconfig", seconds = "5"] = process.argv.slice(2);
const text = await readFile(file, "utf8");
const server = valueOf("server");
const ca = Buffer.from(valueOf("certificate-authority-data"), "base64");
const namespace = valueOf("namespace", "default");

for (;;) {
  const { items } = await list(`${server}/api/v1/namespaces/${namespace}/pods`);
  for (const { metadata, status } of items) {
    process.stdout.write(`${metadata.namespace} ${metadata.name} ${status?.podIP ?? "-"}\n`);
  }
  await pause(Number(seconds) * 1000);
}

/** A value of a kubeconfig with one cluster and one user. */
function valueOf(key, otherwise) {
  const found = new RegExp(`^[ -]*${key}: *"?([^"\n]+)"?$`, "m").exec(text)?.[1] ?? otherwise;
  if (found === undefined) throw new Error(`${file} has no ${key}`);
  return found;
}

async function list(url) {
  // Read each time: the token is renewed by `pratique agent`.
  const token = (await readFile(valueOf("tokenFile"), "utf8")).trim();
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  return new Promise((resolve, reject) => {
    const asking = get(url, { ca, headers, timeout: 10_000 }, (reply) => {
      const parts = [];
      reply.on("data", (part) => parts.push(part));
      reply.on("error", reject);
      reply.on("end", () => {
        const body = Buffer.concat(parts).toString();
        if (reply.statusCode === 200) resolve(JSON.parse(body));
        else reject(new Error(`${reply.statusCode} ${body}`));
      });
    });
    asking.on("timeout", () => asking.destroy(new Error(`${server} does not answer`)));
    asking.on("error", reject);
  });
}
