// Who acts in a demo: a person or a machine that runs `pratique` and kubectl in a folder, with a kubeconfig.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { send } from "./send.mjs";
import { equal, eventually } from "./stage.mjs";

const program = fileURLToPath(new URL("../dist/bin/pratique.js", import.meta.url));

/** A machine has a folder of its own, and nothing else. */
export async function machine(stage, name, kubeconfig = "kubelet.conf") {
  const home = join(stage.folder, name);
  await mkdir(home);
  return actor(stage, name, { home, kubeconfig });
}

/** A person works in the folder of the demo with KUBECONFIG set; a machine names its kubeconfig in the command. */
export function actor(stage, who, { home = stage.folder, kubeconfig } = {}) {
  const file = kubeconfig === undefined ? undefined : join(home, kubeconfig);
  const isExported = home === stage.folder && file !== undefined;
  const env = isExported ? { KUBECONFIG: file } : {};
  if (isExported) stage.command(who, `export KUBECONFIG=${kubeconfig}`);
  const api = (method, path, body) => send(file, method, path, body);
  const start = (words, shows) =>
    stage.start({ who, title: commandLine("pratique", words), args: [program, ...words], cwd: home, env, shows });

  /** Runs kubectl, or sends the same request by HTTPS where it is not installed. `refused` is what a refusal must say. */
  async function kubectl(words, { method = "GET", path, body, refused }) {
    const installed = kubectlPath();
    let printed;
    if (installed === undefined) {
      stage.command(who, `${method} ${path}`);
      const reply = await api(method, path, body);
      printed = textOf(reply);
      stage.say(who, printed);
      equal(`${method} ${path} was refused`, reply.code >= 400, refused !== undefined);
    } else {
      const args = isExported ? words : ["--kubeconfig", kubeconfig, ...words];
      const command = { who, title: commandLine("kubectl", args), file: installed, args, cwd: home, env };
      printed = (await stage.start(command).ends(refused === undefined ? 0 : 1)).stderr;
    }
    if (refused !== undefined) equal(`the refusal says "${refused}"`, printed.includes(refused), true);
  }

  const shared = { who, home, file, api, start, kubectl };
  return {
    ...shared,
    run: (words, code = 0) => start(words).ends(code),
    /** Writes an object to a file, shows it, and creates it at `path`. */
    async create(name, path, yaml, output = []) {
      await writeFile(join(home, name), `${yaml.trim()}\n`);
      stage.showFile(who, name, yaml);
      await kubectl(["create", "-f", name, ...output], { method: "POST", path, body: parse(yaml) });
    },
    /** The first certificate request that is neither approved nor denied, once there is one: `csr/NAME`. */
    undecided: () =>
      eventually("a certificate request without a decision", async () => {
        const { body } = await api("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests");
        const isDecided = ({ status }) =>
          status?.conditions?.some(({ type }) => /^(Approved|Denied)$/.test(type)) ?? false;
        const open = body.items.find((one) => !isDecided(one));
        return open && `csr/${open.metadata.name}`;
      }),
  };
}

/** A reply in one line: the message of an error, the status of a review, else the names of the objects. */
function textOf({ code, body }) {
  if (body.message !== undefined) return `${code}: ${body.message}`;
  if (body.status?.allowed !== undefined) return `${code}: ${JSON.stringify(body.status)}`;
  return `${code}: ${(body.items ?? [body]).map(({ kind, metadata }) => metadata?.name ?? kind).join(", ")}`;
}

const commandLine = (name, words) =>
  [name, ...words].map((word) => (/[\s"]/.test(word) ? `"${word.replaceAll('"', '\\"')}"` : word)).join(" ");

/** kubectl where tests look for it (test/kits/peers.ts), else on PATH. */
function kubectlPath() {
  const given = process.env.PEERS_DIR ?? "";
  const peers = given === "" ? join(homedir(), ".cache", "pratique-peers") : given;
  const places = [join(peers, "bin"), ...(process.env.PATH ?? "").split(delimiter)];
  return places.map((place) => join(place, "kubectl")).find((path) => existsSync(path));
}
