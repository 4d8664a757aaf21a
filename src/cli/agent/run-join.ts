import { resolve } from "node:path";
import type { Acceptance } from "../../credentials/proof/credential-probe.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { JoinEvent } from "../../agent/join/join-event.ts";
import type { Discovery, Joined } from "../../agent/join/join-options.ts";
import type { ServingWish } from "../../agent/join/join-folder.ts";
import { remedies } from "../../credentials/proof/credential-probe-manager.ts";
import { servingWish } from "../../agent/node/serving-names.ts";
import { credentialStore } from "../../agent/node/credential-store.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { agentFiles, askHub } from "./agent-folders.ts";
import { heldText, reportProgress, withProgress } from "./join-progress.ts";
import { writeResult } from "../output.ts";
import type { Progress } from "../progress.ts";
import { release } from "../release.ts";
import { readText } from "../../host/read-text.ts";
import { warnOfOpenKubeconfigFile, warnOfOpenSecrets } from "../open-secrets.ts";
import { writeLine } from "../printable.ts";

/** Joins, reports each step on stderr, and prints the result. */
export const runJoin: Run = async (args, io) => {
  const discovery = await discoveryOf(args, io);
  const joined = await withProgress(io, blamedOptions(args), (shown) =>
    io.join(
      {
        discovery,
        nodeName: args.text("node-name"),
        certDir: absolute(args.text("cert-dir"), io),
        kubeconfig: absolute(args.text("kubeconfig"), io),
        waitMs: args.number("timeout"),
        discoveryTimeoutMs: args.number("discovery-timeout"),
        force: args.on("force"),
        serving: servingOf(args),
        clock: io.clock,
        random: Math.random,
        signal: io.interrupted(),
        userAgent: `pratique/${release}`,
      },
      (event) => printEvent(event, shown),
    ),
  );
  const hub = await acceptanceOf(joined, io);
  if (hub?.kind === "refused") throw new CliError("refused", rejectedText(joined, hub.message));
  if (hub?.kind === "unknown" && joined.outcome === "already-joined") {
    writeLine(io.stderr, `note: ${hub.message}${otherAddress(discovery, joined.server)}`);
  }
  const data = { ...joined, validUntil: rfc3339(joined.validUntil) };
  await writeResult(args, io, { data, table: () => joinedText(joined) });
};

function blamedOptions(args: Args): Parameters<typeof withProgress>[1] {
  return {
    "bad-token-format": args.text("token") === undefined ? "token-file" : "token",
    "bad-pin-format": "discovery-token-ca-cert-hash",
    "bad-discovery-file": args.text("discovery-file") === undefined ? "bootstrap-kubeconfig" : "discovery-file",
  };
}

/** A machine may have been revoked since it joined, and a revoked node's new certificate is issued and rejected. */
const acceptanceTimeoutMs = 5000;

/** Whether the hub accepts the certificate of this machine; undefined where the files cannot be read. */
async function acceptanceOf(joined: Joined, io: Io): Promise<Acceptance | undefined> {
  try {
    const trust = await credentialStore({ kind: "node", ...joined }, agentFiles(io), undefined).read();
    return await askHub(trust, acceptanceTimeoutMs, io);
  } catch (error) {
    if (error instanceof JoinError) return undefined;
    throw error;
  }
}

function rejectedText({ outcome, nodeName, server }: Joined, answer: string): string {
  return outcome === "joined"
    ? `${server} issued a certificate for system:node:${nodeName} and rejects it (${answer}): the node may be revoked. See why on the hub (pratique revocations list) and delete the revocation there; the files of this machine are complete, and nothing else is needed here`
    : `this machine joined ${server} earlier as system:node:${nodeName}, and the hub rejects its certificate (${answer}): ${remedies["client-certificate"]}`;
}

/** Reports that the command names another address than the one this machine uses, and how to change to it. */
function otherAddress(discovery: Discovery, server: string): string {
  if (discovery.kind !== "token" || server === `https://${discovery.endpoint}` || server === discovery.endpoint)
    return "";
  return `. This machine uses ${server}; to change it to ${discovery.endpoint}, add --force`;
}

/** The serving certificate that the agent renews beside the client certificate. @throws JoinError bad-node-name */
function servingOf(args: Args): ServingWish | undefined {
  const [names, addresses] = [args.list("serving-name"), args.list("serving-address")];
  const isWanted = args.on("serving") || names.length + addresses.length > 0;
  return isWanted ? servingWish({ names, addresses }) : undefined;
}

function absolute(path: string | undefined, io: Io): string | undefined {
  return path === undefined ? undefined : resolve(io.cwd, path);
}

const steps: { readonly [E in JoinEvent as E["kind"]]?: (event: E, shown: Progress) => void } = {
  "server-differs": ({ other, used }, shown) =>
    shown.note(`the hub calls itself ${other}; the discovery file says ${used}, which is used`),
  verified: ({ server, by }, shown) => shown.done(`the hub ${server} is the right one: ${vouched[by]}`),
  "key-ready": ({ reused, fingerprint }, shown) => {
    const what = reused ? "the private key of an earlier try is used again" : "made a private key";
    shown.done(`${what}: ${fingerprint}`);
  },
  "request-created": (event, shown) => requested("asked", event, shown),
  "request-found": (event, shown) => requested("had asked already", event, shown),
  "waiting-for-approval": ({ fingerprint, commands, name }, shown) => {
    const todo = `compare the key ${fingerprint}, then: ${commands.join("  or  ")}`;
    shown.note(`waiting for approval. On the hub, ${todo}`);
    shown.doing(`waiting for approval of ${name}`);
  },
  "left-to-approver": ({ message }, shown) => {
    shown.note(`the hub says: ${message}`);
    for (const [reason, advice] of advices) if (message.startsWith(`${reason}: `)) shown.note(advice);
  },
  approved: (_event, shown) => {
    shown.done("approved");
    shown.doing("waiting for the signature");
  },
  issued: ({ validUntil }, shown) => shown.done(`got the certificate, valid until ${rfc3339(validUntil)}`),
  "credential-found": ({ path, validUntil }, shown) =>
    shown.done(`${path} is still valid, until ${rfc3339(validUntil)}`),
};

function printEvent(event: JoinEvent, shown: Progress): void {
  const all: Partial<Readonly<Record<JoinEvent["kind"], (event: never, shown: Progress) => void>>> = steps;
  const step = all[event.kind] as ((event: JoinEvent, shown: Progress) => void) | undefined;
  return step === undefined ? reportProgress(event, shown) : step(event, shown);
}

function requested(
  how: string,
  { nodeName, name }: { readonly nodeName: string; readonly name: string },
  shown: Progress,
): void {
  shown.done(`${how} for a certificate as ${nodeName}: ${name}`);
  shown.doing("waiting for the certificate");
}

/** The next step where an approval alone does not help, by the hub's reason. */
const advices: readonly (readonly [reason: string, advice: string])[] = [
  [
    "NodeNameInUse",
    "if this is another machine than the one that uses the name, stop and join with another --node-name. If it is the same machine, set up again, revoke the certificate in use on the hub; do not approve a second key while the first machine runs",
  ],
  [
    "UserRevoked",
    "do not approve the request: an approval ends in the condition Failed until the revocation is deleted on the hub (pratique revocations list); half a minute after that the hub looks at the request again",
  ],
];

const vouched = {
  pin: "its CA has the pinned key",
  token: "it knows the token",
  file: "the file vouches for it",
} as const;

function joinedText({ outcome, nodeName, server, certDir, kubeconfig, credentialFile, validUntil }: Joined): string {
  return heldText(
    outcome === "joined" ? "This machine has joined." : "This machine had joined already; nothing was changed.",
    [
      ["node", nodeName],
      ["server", server],
      ["kubeconfig", kubeconfig],
      ["credential", `${credentialFile}, valid until ${rfc3339(validUntil)}`],
    ],
    { kubeconfig, keep: "Keep it fresh", dir: certDir },
  );
}

/** The one discovery method of the command line. @throws CliError usage */
export async function discoveryOf(args: Args, io: Io): Promise<Discovery> {
  const [endpoint] = args.operands;
  const file = args.text("discovery-file");
  const bootstrap = args.text("bootstrap-kubeconfig");
  const ways = [endpoint, file, bootstrap].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw usageError(
      `${ways.length === 0 ? "there is no hub to join" : "there is more than one way to the hub"}: give HOST:PORT, --discovery-file or --bootstrap-kubeconfig, and only one of them`,
    );
  }
  if (endpoint === undefined) refuseTokenFlags(args);
  if (bootstrap !== undefined) return bootstrapDiscovery(bootstrap, args, io);
  const token = await tokenOf(args, io);
  if (file !== undefined) return fileDiscovery(file, token, io);
  if (endpoint === undefined || token === undefined) {
    throw usageError("the token is missing: give --token-file FILE (- for standard input) or --token TOKEN", [
      "On the hub, `pratique token create --print-join-command` prints a whole command line.",
    ]);
  }
  return {
    kind: "token",
    endpoint,
    token,
    pins: args.list("discovery-token-ca-cert-hash"),
    unsafeSkipCaVerification: args.on("discovery-token-unsafe-skip-ca-verification"),
  };
}

async function bootstrapDiscovery(file: string, args: Args, io: Io): Promise<Discovery> {
  if (args.text("token") !== undefined || args.text("token-file") !== undefined) {
    throw usageError("--bootstrap-kubeconfig holds a credential already; leave out --token and --token-file");
  }
  const path = resolve(io.cwd, file);
  await warnOfOpenKubeconfigFile(path, io);
  return { kind: "bootstrap-kubeconfig", path };
}

async function fileDiscovery(file: string, token: string | undefined, io: Io): Promise<Discovery> {
  if (/^https:\/\//i.test(file)) return { kind: "file", location: file, token };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(file)) {
    throw usageError(`--discovery-file ${JSON.stringify(file)}: must be a path or an https:// URL`);
  }
  const location = resolve(io.cwd, file);
  await warnOfOpenKubeconfigFile(location, io);
  return { kind: "file", location, token };
}

function refuseTokenFlags(args: Args): void {
  if (args.list("discovery-token-ca-cert-hash").length > 0 || args.on("discovery-token-unsafe-skip-ca-verification")) {
    throw usageError("a pin belongs to HOST:PORT; a discovery file or bootstrap kubeconfig names the CA itself");
  }
}

async function tokenOf(args: Args, io: Io): Promise<string | undefined> {
  const token = args.text("token");
  const file = args.text("token-file");
  if (file === undefined) return token;
  if (token !== undefined) throw usageError("--token and --token-file exclude each other");
  if (file === "-") return (await io.stdin()).trim();
  const text = await readText("token-file", file, io);
  await warnOfOpenSecrets([file], io);
  return text.trim();
}
