import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, forbidden, type StatusError } from "../apimachinery/status.ts";
import { stringAt } from "../apis/json-fields.ts";
import { objectOf } from "../registry/entry.ts";
import { nodes } from "../apis/node.ts";
import type { ConnectedSubresource } from "../apis/resource.ts";
import { type Reply, header, type Incoming, upgradeType, type Upgrade } from "./http-types.ts";
import {
  type KubeletAnswer,
  type KubeletRequest,
  connectOptions,
  logOptions,
  logPath,
  proxiedPath,
  streamPath,
  requestHeaders,
  upgradeHeaders,
} from "./kubelet/kubelet.ts";
import { atDeadline, relayAnswer, relayLog, relayUpgrade } from "./kubelet/kubelet-relay.ts";
import { contextOf, endingsOf, namespaceOf, type Call } from "./resource-call.ts";
import type { Requester } from "./admitted-request.ts";
import { onDisconnect } from "./connections/disconnect.ts";

/** Milliseconds in which a kubelet must have begun its answer. Source: apiserver's request timeout, for requests that are not long-running. */
const answerMs = 60_000;

/** Serves a subresource that the kubelet of a Pod or Node answers. Source: kubernetes pkg/registry/core/pod/rest, pkg/registry/core/node/rest */
export function connect(call: Call, part: ConnectedSubresource): Promise<Reply | "streamed"> {
  if (part.connects === "log") return log(call);
  if (isFromElsewhere(call.request, call.requester)) throw forbiddenOrigin(call);
  return part.connects === "proxy" ? proxy(call, part) : stream(call, part.connects, part);
}

function forbiddenOrigin({ resource, info }: Call): StatusError {
  const next =
    "a page of another origin sent this request with the client certificate of the browser; use a bearer token";
  return forbidden(resource, info.name, next);
}

async function log(call: Call): Promise<Reply | "streamed"> {
  const { info, query } = call;
  const asked = logOptions(query, info.name);
  const entry = await call.options.registry.get(call.resource, { namespace: namespaceOf(call), name: info.name });
  const pod = objectOf(entry);
  const path = logPath(pod, asked);
  const nodeName = stringAt(pod, "spec", "nodeName");
  // A Pod without a Node has written nothing yet.
  if (nodeName === "") return { status: 200, contentType: "text/plain", body: "" };
  const { skipsVerification, follow } = asked;
  const request = { nodeName, method: "GET", path, headers: {}, isUpgrade: false, skipsVerification };
  return ask(call, { ...request, answerMs: follow ? Infinity : answerMs }, async (answer, signal) => {
    await relayLog(call, answer, signal);
  });
}

async function stream(
  call: Call,
  connects: "attach" | "exec" | "portforward",
  part: ConnectedSubresource,
): Promise<Reply | "streamed"> {
  const { info, query } = call;
  // For a WebSocket, which is a GET, kube-apiserver 1.36 requires the right of the POST as well.
  if (info.verb !== "create") await call.authorizeVerb("create");
  const object = connectOptions(query, { connects, kind: optionsKind(part), path: "" });
  const { parent: pod, options } = await admitted(call, object);
  const path = streamPath(connects, pod, options);
  const nodeName = stringAt(pod, "spec", "nodeName");
  if (nodeName === "") throw badRequest(`pod ${info.name} does not have a host assigned`);
  const upgrade = upgradeWanted(call);
  if (upgrade === undefined) throw badRequest("Upgrade request required");
  const request = { method: call.request.method ?? "POST", path, headers: upgradeHeaders(call.request) };
  const terms = { isUpgrade: true, skipsVerification: false, answerMs };
  return ask(call, { nodeName, ...request, ...terms }, async (answer, signal) => {
    if (answer.kind === "upgraded") await relayUpgrade(call, { upgrade, answer, signal });
    else await relayAnswer(call, answer, signal);
  });
}

async function proxy(call: Call, part: ConnectedSubresource): Promise<Reply | "streamed"> {
  const { info, request, upgrade } = call;
  const proxied = proxiedPath(request.url ?? "");
  if (proxied === undefined) throw badRequest("the path behind /proxy must be written without . and .. segments");
  const isUpgrade = upgradeWanted(call) !== undefined;
  // The kubelet runs commands for a WebSocket, which is a GET.
  if (isUpgrade && info.verb !== "create") await call.authorizeVerb("create");
  const path = proxied.path.slice(1);
  await admitted(call, connectOptions(call.query, { connects: "proxy", kind: optionsKind(part), path }));
  const body = info.verb === "create" && !isUpgrade ? await call.body() : undefined;
  const wanted: Unsent = {
    nodeName: info.name,
    method: request.method ?? "GET",
    path: `${proxied.path}${proxied.query}`,
    headers: isUpgrade ? upgradeHeaders(request) : requestHeaders(request),
    body,
    isUpgrade,
    skipsVerification: false,
    answerMs,
  };
  return ask(call, wanted, async (answer, signal) => {
    if (answer.kind === "upgraded" && upgrade !== undefined) await relayUpgrade(call, { upgrade, answer, signal });
    else await relayAnswer(call, answer, signal);
  });
}

function optionsKind({ options }: ConnectedSubresource): string {
  return options?.kind ?? "";
}

/** The connection of an upgrade request. */
function upgradeWanted({ request, upgrade }: Call): Upgrade | undefined {
  return upgradeType(request) === undefined ? undefined : upgrade;
}

/** The object, after admission of the connection. */
function admitted(call: Call, object: ApiObject): Promise<{ readonly parent: ApiObject; readonly options: ApiObject }> {
  const { info, resource, options } = call;
  const { namespace, name, subresource } = { ...info, namespace: namespaceOf(call) };
  const context = contextOf(call, { dryRun: false, fieldManager: "" });
  return options.registry.connect(resource, { namespace, name, subresource, object, context });
}

type Unsent = Omit<KubeletRequest, "node" | "signal"> & { readonly nodeName: string };

/** Sends the request to the kubelet of a Node; the connection ends with the credential, the account, the client and the hub. */
async function ask(
  call: Call,
  { nodeName, ...request }: Unsent,
  relay: (answer: KubeletAnswer, signal: AbortSignal) => Promise<void>,
): Promise<"streamed"> {
  const { registry, kubelet } = call.options;
  const node = objectOf(await registry.get(nodes, { name: nodeName }));
  call.annotate("pratique.dev/kubelet", nodeName);
  const leave = kubelet.limit(call.flow);
  // Others need not wait for the kubelet.
  call.releaseSeat();
  const life = connectionLife(call);
  try {
    await relay(await kubelet.ask({ ...request, node, signal: life.signal }), life.signal);
    return "streamed";
  } finally {
    life.end();
    leave();
  }
}

/**
 * Whether a page of another site has sent a request with the client certificate of the browser. Browsers let every page open
 * WebSockets and send forms anywhere, and add the certificate, but never a bearer token. Source: RFC 6454, section 7.
 */
function isFromElsewhere(request: Incoming, { credential }: Requester): boolean {
  const origin = header(request, "origin");
  if (origin === undefined || origin === "" || credential?.serialNumber === undefined) return false;
  const host = header(request, ":authority") ?? header(request, "host") ?? "";
  return origin.toLowerCase() !== `https://${host.toLowerCase()}`;
}

/** What ends a connection to a kubelet. */
export interface ConnectionLife {
  /** Aborts when the credential expires or is revoked, its account is deleted, the client disconnects, or the hub stops. */
  readonly signal: AbortSignal;
  /** To be called once at the end of the connection. */
  readonly end: () => void;
}

/** No connection outlives its credential. */
export function connectionLife(call: Call): ConnectionLife {
  const { onAbort, clock } = call.options;
  const [ending, ended] = [new AbortController(), new AbortController()];
  const end = (): void => ending.abort(over);
  const { signals, release } = endingsOf(call);
  const leaving = signals.map((signal) => onAbort(signal, end));
  onDisconnect(call.response, end);
  if (signals.some((signal) => signal.aborted)) end();
  const { until } = call.requester.credential ?? {};
  if (until !== undefined) void atDeadline(clock, { deadline: () => until, signal: ended.signal, act: end });
  return {
    signal: ending.signal,
    end: () => {
      ended.abort(over);
      for (const leave of leaving) leave();
      release();
      // The rest of the connection ends with it.
      end();
    },
  };
}

/** A shared reason: without one, each abort creates an exception with a stack of its own. */
const over = "the connection to the kubelet is over";
