// Reads the admin kubeconfigs that kubeadm and the hub write (one cluster, one user, inline data), and speaks with what they hold.
import { Agent, request } from "node:https";
import { parse } from "yaml";

/** Server address and credentials of a kubeconfig's only cluster and user. */
export function adminOf(text) {
  const config = parse(text);
  const decode = (value) => (value === undefined ? undefined : Buffer.from(value, "base64"));
  const cluster = config.clusters[0].cluster;
  const user = config.users[0].user;
  return {
    server: cluster.server,
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
  };
}

/** Creates an object; one that exists already is fine. @throws Error with the server's words. */
export async function create(admin, path, object) {
  const { ca, cert, key, server } = admin;
  const agent = new Agent({ ca, cert, key });
  const body = JSON.stringify(object);
  const { status, text } = await new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asking = request(`${server}${path}`, { method: "POST", agent, headers }, (reply) => {
      const parts = [];
      reply.on("data", (part) => parts.push(part));
      reply.once("end", () => resolve({ status: reply.statusCode, text: Buffer.concat(parts).toString() }));
    });
    asking.once("error", reject);
    asking.end(body);
  });
  agent.destroy();
  if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${text.slice(0, 300)}`);
}

/** The bootstrap token that kube-up makes too; its node client requests are approved without a person. */
export const bootstrapToken = "abcdef.0123456789abcdef";

/** Makes `bootstrapToken` on a hub. */
export async function createBootstrapToken(admin) {
  const [id, secret] = bootstrapToken.split(".");
  await create(admin, "/api/v1/namespaces/kube-system/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": id,
      "token-secret": secret,
      "usage-bootstrap-authentication": "true",
      "usage-bootstrap-signing": "true",
      "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    },
  });
}
