import { join } from "node:path";
import type { FoundCredential } from "../../agent/node/find-credentials.ts";
import { remedies } from "../../credentials/proof/credential-probe-manager.ts";
import { machineCredential, type MachineCredential } from "../../agent/node/credential-store.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { execKubeconfig, type ClusterReference } from "../../client/build-kubeconfig.ts";
import { stringAt, valueAt } from "../../apis/json-fields.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { agentFiles, agentFolders, folderOf, foundCredentials, warnOfOpenAgentFiles } from "./agent-folders.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { jsonText, writeLine } from "../printable.ts";

/** Prints the credential in the format of client.authentication.k8s.io, or the kubeconfig that makes clients run this command. @throws CliError */
export const runCredential: Run = async (args, io) => {
  const found = await chosen(args, io);
  await warnOfOpenAgentFiles([found], io);
  const files = agentFiles(io);
  const credential = await machineCredential(found, { files, now: io.clock.now() });
  if (args.on("print-kubeconfig")) {
    io.stdout.write(kubeconfigFor(args, found, { ...credential, ca: await caOf(found, credential, files) }));
    return;
  }
  warnOfRefusal(found, credential, io);
  const asked = execInfo(io.env["KUBERNETES_EXEC_INFO"]);
  requireSameServer(asked.server, credential.server);
  io.stdout.write(`${jsonText(execCredential(asked.apiVersion, credential, io.clock.now()))}\n`);
};

/** The client still receives it: the hub may accept it again, and decides itself. */
function warnOfRefusal(found: FoundCredential, { refused, server }: MachineCredential, io: Io): void {
  if (refused === undefined) return;
  const remedy = remedies[found.kind === "token" ? "token" : "client-certificate"];
  const since = `${server} has refused this credential since ${rfc3339(refused.since)} (${refused.message})`;
  writeLine(io.stderr, `warning: ${since}: ${remedy}`);
}

async function chosen(args: Args, io: Io): Promise<FoundCredential> {
  const kind = args.text("kind");
  const found = (await foundCredentials(args, io)).filter(
    (one) => kind === undefined || (one.kind === "token") === (kind === "token"),
  );
  const [first, ...others] = found;
  if (first === undefined) {
    throw new CliError("notFound", `there is no ${kind ?? "credential"} in ${agentFolders(args, io).join(" or ")}`);
  }
  if (others.length > 0) {
    throw usageError(`there are several credentials; name one with --dir or --kind`, [
      `They are in ${found.map(folderOf).join(", ")}.`,
    ]);
  }
  return first;
}

const apiVersions: readonly string[] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/** The client's KUBERNETES_EXEC_INFO. Without it, as when a person types the command, version 1 is printed. */
function execInfo(text = ""): { readonly apiVersion: string; readonly server?: string | undefined } {
  if (text === "") return { apiVersion: "client.authentication.k8s.io/v1" };
  const info = parsed(text);
  const apiVersion = stringAt(info, "apiVersion");
  if (!apiVersions.includes(apiVersion)) {
    throw usageError("KUBERNETES_EXEC_INFO is not of client.authentication.k8s.io/v1 or v1beta1");
  }
  // The server for which the client wants the credential, if it names one.
  const server = valueAt(info, "spec", "cluster", "server");
  return { apiVersion, server: typeof server === "string" ? server : undefined };
}

/** A token must not be sent to another server. */
function requireSameServer(asked: string | undefined, own: string): void {
  if (asked === undefined || originOf(asked) === originOf(own)) return;
  throw new CliError("refused", `the credential is for ${own}, and the client wants to send it to another server`);
}

function originOf(server: string): string {
  return URL.canParse(server) ? new URL(server).origin : "";
}

/** Clients cache a credential until it expires; a minute is short enough to be current, and long enough not to run for each call. */
const minMs = 60_000;
/** Used from the planned renewal on, until it is done. */
const graceMs = 30_000;

function execCredential(
  apiVersion: string,
  { credentials, notAfter: expiresAt, renewsAt }: MachineCredential,
  now: number,
): Readonly<Record<string, unknown>> {
  const { clientCertPem, clientKeyPem, token } = credentials;
  const again = renewsAt === undefined ? expiresAt : Math.max(now + minMs, renewsAt + graceMs);
  return {
    apiVersion,
    kind: "ExecCredential",
    status: {
      expirationTimestamp: rfc3339(Math.min(expiresAt, again)),
      ...(token === undefined ? {} : { token }),
      ...(clientCertPem === undefined ? {} : { clientCertificateData: clientCertPem }),
      ...(clientKeyPem === undefined ? {} : { clientKeyData: clientKeyPem }),
    },
  };
}

/** The CA file beside the credential, where there is one: the agent updates it, so that the kubeconfig survives a CA rotation. */
async function caOf(
  found: FoundCredential,
  { caPem }: MachineCredential,
  files: Pick<PrivateFiles, "textIfThere">,
): Promise<ClusterReference["ca"]> {
  const file = join(folderOf(found), "ca.crt");
  return (await files.textIfThere(file)) === caPem ? { file } : { pem: caPem };
}

function kubeconfigFor(args: Args, found: FoundCredential, { server, ca }: ClusterReference): string {
  return execKubeconfig({
    server,
    ca,
    command: args.text("command") ?? "pratique",
    args: ["credential", "--dir", join(folderOf(found)), "--kind", found.kind === "token" ? "token" : "certificate"],
  });
}

/** JSON, or undefined. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
