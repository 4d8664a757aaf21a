import { ConnectionError } from "../../client/client.ts";
import { replyError, parsedJson } from "../../client/replies.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { isJsonObject } from "../../apimachinery/json-value.ts";
import { clusterInfoKey, clusterInfoPath } from "../../trust/cluster-info.ts";
import { aheadOf } from "../../host/clock-skew.ts";
import { connectionFailure, type CallTarget } from "../../credentials/request/connection-failure.ts";
import { JoinError, plainText } from "../../credentials/join-error.ts";
import { certificatesOfBundle, parsePins, PinError, type CaPin } from "../../trust/pins.ts";
import { clockDifference, retry, warnOfSkew, withHub, type DiscoveryContext } from "./discovery-context.ts";

const roleName = "kubeadm:bootstrap-signer-clusterinfo";

/** The role with which an administrator lets anonymous clients read cluster-info. Source: kubeadm, phase bootstrap-token, CreateClusterInfoRBACRules. */
const grantCommands = [
  `kubectl create role ${roleName} -n ${clusterInfoKey.namespace} --verb=get --resource=configmaps --resource-name=${clusterInfoKey.name}`,
  `kubectl create rolebinding ${roleName} -n ${clusterInfoKey.namespace} --role=${roleName} --user=system:anonymous`,
];

/** The data of cluster-info, unverified. */
export type ClusterInfoData = Readonly<Record<string, unknown>> | undefined;

/** The result of one read. `aheadMs` is how far this clock is ahead of the server's, where the reply has a date. */
export interface ClusterInfoRead<Data = ClusterInfoData> {
  readonly kind: "read";
  readonly data: Data;
  readonly aheadMs: number | undefined;
}

/** A failed read: `again` where a retry may succeed. */
export interface FailedRead {
  readonly kind: "forbidden" | "again";
  readonly error: JoinError;
}

/**
 * Reads cluster-info once with the credentials and the trust of `client`; the reply is not verified. @throws JoinError not-a-hub,
 * tls-mismatch, clock-skew, unauthorized, aborted: failures that a retry would not change
 */
export async function readClusterInfo(
  client: RemoteClient,
  call: { readonly target: CallTarget; readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<ClusterInfoRead | FailedRead> {
  const reply = await client.raw("GET", clusterInfoPath, { signal: call.signal }).catch((error: unknown) => {
    const failure = error instanceof ConnectionError ? connectionFailure(error, call.target) : error;
    if (failure instanceof JoinError && failure.code === "unreachable") return failure;
    throw failure;
  });
  if (reply instanceof JoinError) return { kind: "again", error: reply };
  const body = parsedJson(reply.body);
  const aheadMs = aheadOf(reply.headers.date, call.clock.now());
  if (reply.status === 200 && isJsonObject(body) && body["kind"] === "ConfigMap") {
    const { data } = body;
    return { kind: "read", data: isJsonObject(data) ? data : undefined, aheadMs };
  }
  return refusal(reply.status, body, call.target);
}

/** The evaluated contents of cluster-info. */
export interface Judged {
  /** The text that the second read must return as well. */
  readonly kubeconfig: string;
  /** The CAs by which the second read is verified, and the time that the hub signs. */
  readonly trustedPem: string;
}

/** How an untrusted hub is discovered. */
export interface TwoReads<Info extends Judged> {
  readonly server: string;
  /** Evaluates the data; a returned JoinError may be temporary, a thrown one is final. */
  readonly judge: (data: ClusterInfoData) => Info | JoinError;
  /** Nothing verifies the first read, so that a second one would prove nothing. */
  readonly isUnverified: boolean;
  /** The next step after a change between the reads, and what the hub was not sent. */
  readonly next: string;
}

/**
 * Reads cluster-info over unverified TLS, reports by how much the clocks differ, and reads it again with TLS verified against the CAs
 * that the first read established, for the same text. Both reads are anonymous. @throws JoinError
 */
export async function readTwice<Info extends Judged>(
  { server, judge, isUnverified, next }: TwoReads<Info>,
  context: DiscoveryContext,
): Promise<Omit<ClusterInfoRead<Info>, "kind">> {
  context.report({ kind: "discovering", server });
  const first = await withHub({ server, insecureSkipTlsVerify: true }, context, (client) =>
    readUntil(client, { ...context, target: { server } }, judge),
  );
  const { kubeconfig, trustedPem: caPem } = first.data;
  const seen = { server, aheadMs: first.aheadMs, trustedCas: certificatesOfBundle(caPem) };
  const difference = await clockDifference(seen, context);
  warnOfSkew(difference, context.report);
  const { aheadMs } = difference;
  if (isUnverified) return { data: first.data, aheadMs };
  const second = await withHub({ server, caPem }, context, (client) =>
    readUntil(client, { ...context, target: { server, aheadMs } }, (data) => data ?? {}),
  );
  if (Object.hasOwn(second.data, "kubeconfig") && second.data["kubeconfig"] === kubeconfig) {
    return { data: first.data, aheadMs };
  }
  throw new JoinError(
    "changed-between-reads",
    `cluster-info was not the same when it was read again over the verified connection: either it was changed just now, then ${next}`,
  );
}

/** Reads until `judge` returns something other than a JoinError. @throws JoinError */
function readUntil<Info extends object>(
  client: RemoteClient,
  reading: DiscoveryContext & { readonly target: CallTarget },
  judge: (data: ClusterInfoData) => Info | JoinError,
): Promise<Omit<ClusterInfoRead<Info>, "kind">> {
  return retry(reading, async () => {
    const read = await readClusterInfo(client, reading);
    if (read.kind !== "read") return read.error;
    const data = judge(read.data);
    return data instanceof JoinError ? data : { data, aheadMs: read.aheadMs };
  });
}

/** The pins that a person typed. @throws JoinError bad-pin-format */
export function readCaPins(texts: readonly string[]): readonly CaPin[] {
  try {
    return parsePins(texts);
  } catch (error) {
    if (error instanceof PinError) throw new JoinError("bad-pin-format", error.message, { cause: error });
    throw error;
  }
}

function refusal(status: number, body: unknown, target: CallTarget): FailedRead {
  const isStatus = isJsonObject(body) && body["kind"] === "Status";
  const text = isStatus ? `: ${plainText(replyError(status, body).message)}` : "";
  /** Of a server that answers like a Kubernetes API. */
  const code = isStatus ? status : undefined;
  const fail = (code: "no-cluster-info" | "not-a-hub" | "unauthorized", message: string): JoinError =>
    new JoinError(code, message, { causeCode: String(status) });
  if (code === 403) {
    const message = `${target.server} does not let this machine read cluster-info${text}; anonymous clients need the Role and RoleBinding ${roleName} in kube-public, and an administrator of the cluster creates them: ${grantCommands.join("; ")}`;
    return { kind: "forbidden", error: fail("no-cluster-info", message) };
  }
  if (code === 401) {
    throw fail("unauthorized", `${target.server} refuses these credentials, or anonymous requests altogether${text}`);
  }
  if (code === 404) {
    const message = `${target.server} is a Kubernetes API but has no cluster-info in kube-public: machines cannot join there by a token until an administrator of the cluster creates it (docs/joining.md, "On a Kubernetes that kubeadm did not set up")`;
    return { kind: "again", error: fail("no-cluster-info", message) };
  }
  const message = `${target.server} answers, but not as a hub does (status ${status}): check the host and the port`;
  if (status === 429 || status >= 500) return { kind: "again", error: fail("not-a-hub", message) };
  throw fail("not-a-hub", message);
}

/** The error for a hub whose CA is none of the pinned ones; `kept` names what was not sent to it. */
export function pinMismatch(at: {
  /** The endpoint for messages. */
  readonly shown: string;
  readonly wanted: readonly CaPin[];
  readonly found: readonly CaPin[];
  readonly kept: string;
}): JoinError {
  const { shown, wanted, found, kept } = at;
  return new JoinError(
    "pin-mismatch",
    `the CA of the hub at ${shown} is not the pinned one: wanted ${wanted.join(" or ")}, found ${found.join(", ")}. ` +
      `The pin is of another hub, or of a CA that this one has replaced, or the connection is intercepted; ${kept}. ` +
      "The hub prints its pin at its start, and `pratique ca status` beside it shows all of them",
  );
}
