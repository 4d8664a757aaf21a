import { ConnectionError } from "../../client/client.ts";
import { replyError, parsedJson } from "../../client/replies.ts";
import type { RawReply, RemoteClient } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { clusterInfoKey, clusterInfoPath } from "../../trust/cluster-info.ts";
import { aheadOf } from "../../host/clock-skew.ts";
import { connectionFailure, type CallTarget } from "../../credentials/request/connection-failure.ts";
import { JoinError, plainText } from "../../credentials/join-error.ts";
import type { CaPin } from "../../trust/pins.ts";

const roleName = "kubeadm:bootstrap-signer-clusterinfo";

/** With which an administrator lets anonymous clients read cluster-info. Source: kubeadm, phase bootstrap-token, CreateClusterInfoRBACRules. */
const grantCommands = [
  `kubectl create role ${roleName} -n ${clusterInfoKey.namespace} --verb=get --resource=configmaps --resource-name=${clusterInfoKey.name}`,
  `kubectl create rolebinding ${roleName} -n ${clusterInfoKey.namespace} --role=${roleName} --user=system:anonymous`,
];

/** What one read of cluster-info gave. `aheadMs` is how far this clock is ahead of the server's, where the reply tells. */
export type ClusterInfoRead =
  | {
      readonly kind: "read";
      readonly data: Readonly<Record<string, unknown>> | undefined;
      readonly aheadMs: number | undefined;
    }
  | { readonly kind: "forbidden"; readonly error: JoinError }
  /** It may go better soon. */
  | { readonly kind: "again"; readonly error: JoinError };

/**
 * Reads cluster-info once with the credentials and the trust of `client`; nothing of what comes back is verified.
 * @throws JoinError not-a-hub, tls-mismatch, clock-skew, unauthorized, aborted: what another try would not change
 */
export async function readClusterInfo(
  client: RemoteClient,
  call: { readonly target: CallTarget; readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<ClusterInfoRead> {
  const reply = await sent(client, call);
  if (reply instanceof JoinError) return { kind: "again", error: reply };
  const body = parsedJson(reply.body);
  const aheadMs = aheadOf(reply.headers.date, call.clock.now());
  if (reply.status === 200 && isRecord(body) && body["kind"] === "ConfigMap") {
    const data = body["data"];
    return { kind: "read", data: isRecord(data) ? data : undefined, aheadMs };
  }
  return refusal(reply.status, body, call.target);
}

async function sent(
  client: RemoteClient,
  call: { readonly target: CallTarget; readonly signal: AbortSignal | undefined },
): Promise<RawReply | JoinError> {
  try {
    const signal = call.signal === undefined ? {} : { signal: call.signal };
    return await client.raw("GET", clusterInfoPath, signal);
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const failure = connectionFailure(error, call.target);
    if (failure.code === "unreachable") return failure;
    throw failure;
  }
}

function refusal(status: number, body: unknown, target: CallTarget): ClusterInfoRead {
  const isStatus = isRecord(body) && body["kind"] === "Status";
  const text = isStatus ? `: ${plainText(replyError(status, body).message)}` : "";
  const fail = (code: "no-cluster-info" | "not-a-hub" | "unauthorized", message: string): JoinError =>
    new JoinError(code, message, { causeCode: String(status) });
  if (status === 403 && isStatus) {
    const message = `${target.server} does not let this machine read cluster-info${text}; anonymous clients need the Role and RoleBinding ${roleName} in kube-public, and an administrator of the cluster creates them: ${grantCommands.join("; ")}`;
    return { kind: "forbidden", error: fail("no-cluster-info", message) };
  }
  if (status === 401 && isStatus) {
    throw fail("unauthorized", `${target.server} refuses these credentials, or anonymous requests altogether${text}`);
  }
  if (status === 404 && isStatus) {
    const message = `${target.server} is a Kubernetes API but has no cluster-info in kube-public: machines cannot join there by a token until an administrator of the cluster creates it (docs/joining.md, "On a Kubernetes that kubeadm did not set up")`;
    return { kind: "again", error: fail("no-cluster-info", message) };
  }
  const message = `${target.server} answers, but not as a hub does (status ${status}): check the host and the port`;
  if (status === 429 || status >= 500) return { kind: "again", error: fail("not-a-hub", message) };
  throw fail("not-a-hub", message);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is said of a hub whose CA is none of the pinned ones; `kept` names what it was not told. */
export function pinMismatch(at: {
  /** The endpoint as it may be shown. */
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
