// One request to a Kubernetes API as the user of a kubeconfig.
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { dirname, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parse } from "yaml";

/** Sends `body` as JSON; gives the code of the reply and its body. */
export async function send(kubeconfig, method, path, body) {
  const { clusters, users } = parse(await readFile(kubeconfig, "utf8"));
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  const part = (object, name) => {
    const [data, file] = [object[`${name}-data`], object[name]];
    if (data !== undefined) return Buffer.from(data, "base64");
    return file === undefined ? undefined : readFile(resolve(dirname(kubeconfig), file));
  };
  const token = user.token ?? (await part(user, "tokenFile"))?.toString().trim();
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = {
    method,
    ca: await part(cluster, "certificate-authority"),
    cert: await part(user, "client-certificate"),
    key: await part(user, "client-key"),
    headers: { "content-type": "application/json", ...authorization },
    agent: false,
    signal: AbortSignal.timeout(30_000),
  };
  const reply = await new Promise((answered, failed) => {
    const sent = request(new URL(path, cluster.server), options, answered).on("error", failed);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
  return { code: reply.statusCode, body: JSON.parse(await text(reply)) };
}
