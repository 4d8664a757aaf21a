// The servers of a demo: a hub of its own, and the authorizer that a hub asks.
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { actor } from "./actor.mjs";

/** What is shown of a hub: that it is ready, its address and pin, and what its log says. */
const hubLine = /^Ready|^ {2}(?:address|CA pin)|^\S+Z +(?:INFO|WARN|ERROR)(?! +new hub)/;

/** Starts `pratique hub` with its files in the folder `name`; `users` become persons with tokens, in the groups that are given. */
export async function startHub(stage, { name = "hub", flags = [], users = {} } = {}) {
  const write = (file, text) => writeFile(join(stage.folder, file), text, { mode: 0o600 });
  const tokens = Object.keys(users).map((user) => [user, randomBytes(16).toString("hex")]);
  const rows = tokens.map(([user, token]) => `${token},${user},${user},"${users[user].join(",")}"\n`);
  if (rows.length > 0) await write("users.csv", rows.join(""));
  const signIn = rows.length > 0 ? ["--token-auth-file", "users.csv"] : [];
  const words = ["hub", "--data-dir", name, ...signIn, ...flags, "--secure-port", "0"];
  const hub = actor(stage, name).start(words, (line) => hubLine.test(line));
  const [, url] = await hub.says(/address\s+(https:\/\/\S+)/, "its address");
  const [, pin] = await hub.says(/CA pin\s+(sha256:[0-9a-f]{64})/, "its pin");
  const ca = (await readFile(join(stage.folder, name, "pki", "ca.crt"))).toString("base64");

  /** Writes a kubeconfig of this hub for a user, and gives its text. */
  async function kubeconfig(file, user) {
    const text = stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "hub", cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: "me", user }],
      contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
      "current-context": "hub",
    });
    await write(file, text);
    return text;
  }
  for (const [user, token] of tokens) await kubeconfig(`${user}.kubeconfig`, { token });
  const shared = { pin, kubeconfig, address: new URL(url).host };
  return {
    ...shared,
    admin: actor(stage, name === "hub" ? "admin" : `${name}-admin`, { kubeconfig: `${name}/admin.kubeconfig` }),
    person: (user) => actor(stage, user, { kubeconfig: `${user}.kubeconfig` }),
    async stop() {
      hub.stop();
      await hub.ends();
    },
  };
}

/** Tests the policy in Rego that `words` name, starts `pratique authorizer` with it, and gives the file by which a hub asks it. */
export async function startAuthorizer(stage, words) {
  const { run, start } = actor(stage, "admin");
  await run(["policy", "test", words.at(-1)]);
  await run(["policy", "check", "--for", "hub", ...words]);
  const authorizer = ["authorizer", ...words, "--secure-port"];
  const [, port] = await start([...authorizer, "0"]).says(/port=(\d+)/, "its port");
  const { stdout } = await run([...authorizer, port, "--print-kubeconfig"]);
  await writeFile(join(stage.folder, "authorizer.kubeconfig"), stdout, { mode: 0o600 });
  return "authorizer.kubeconfig";
}
