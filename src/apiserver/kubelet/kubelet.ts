import type { Duplex, Readable } from "node:stream";
import type { ApiObject } from "../../apimachinery/object.ts";
import { forbiddenField, invalid, invalidObject, type FieldError } from "../../apimachinery/field-error.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { badRequest } from "../../apimachinery/status.ts";
import { arrayAt, fieldListAt, isTrueAt, stringAt, stringsAt } from "../../apis/json-fields.ts";
import { flag, type Query, type Incoming } from "../http-types.ts";
import { integerOf } from "../query-options.ts";

/** A request to the kubelet of a Node, under the hub's own credential: the client's credential is never sent. */
export interface KubeletRequest {
  readonly node: ApiObject;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | undefined;
  /** Whether the request is for an upgrade to another protocol. */
  readonly isUpgrade: boolean;
  /** Whether the certificate of the kubelet goes unverified even where the hub has a CA for it. */
  readonly skipsVerification: boolean;
  /** Milliseconds until the kubelet must have begun its answer; Infinity for one that may be silent, such as a followed log. */
  readonly answerMs: number;
  /** Breaks the request and its answer off. */
  readonly signal: AbortSignal;
}

/** The kubelet's answer: a response, or the connection itself after an upgrade to another protocol. */
export type KubeletAnswer = KubeletResponse | KubeletUpgrade;

export interface KubeletResponse {
  readonly kind: "response";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
}

export interface KubeletUpgrade {
  readonly kind: "upgraded";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket: Duplex;
  /** What the kubelet has sent in the new protocol already. */
  readonly head: Buffer;
}

/** Sends a request to a kubelet. @throws StatusError InternalError where it cannot be reached, is not trusted, or does not answer in time. */
export type AskKubelet = (request: KubeletRequest) => Promise<KubeletAnswer>;

/** The query of `pods/log`. Source: api/core/v1 PodLogOptions. */
export interface LogOptions {
  readonly container: string;
  readonly follow: boolean;
  readonly skipsVerification: boolean;
  /** The parameters for the kubelet. */
  readonly params: URLSearchParams;
}

/** @throws StatusError BadRequest for what is no number or time, Invalid for values that cannot be */
export function logOptions(query: Query, pod: string): LogOptions {
  const numberOf = (name: string): number | undefined => integerOf(query.get(name));
  const [sinceSeconds, tailLines, limitBytes] = [
    numberOf("sinceSeconds"),
    numberOf("tailLines"),
    numberOf("limitBytes"),
  ];
  const sinceTime = timeOf(query.get("sinceTime") ?? "");
  const given = { sinceSeconds, sinceTime, tailLines, limitBytes };
  const errors = [
    ...logErrors(given),
    ...(query.has("stream") ? [forbiddenField("stream", "may not be specified")] : []),
  ];
  if (errors.length > 0) throw invalidObject({ group: "", kind: "PodLogOptions" }, pod, errors);
  const params = new URLSearchParams();
  for (const name of ["follow", "previous", "timestamps"]) if (flag(query, name)) params.set(name, "true");
  for (const [name, value] of Object.entries(given)) if (value !== undefined) params.set(name, String(value));
  return {
    container: query.get("container") ?? "",
    follow: flag(query, "follow"),
    skipsVerification: flag(query, "insecureSkipTLSVerifyBackend"),
    params,
  };
}

interface LogBounds {
  readonly sinceSeconds: number | undefined;
  readonly sinceTime: string | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
}

/** Source: kubernetes pkg/apis/core/validation ValidatePodLogOptions. */
function logErrors({ sinceSeconds, sinceTime, tailLines = 0, limitBytes = 1 }: LogBounds): readonly FieldError[] {
  const both = "at most one of `sinceTime` or `sinceSeconds` may be specified";
  const since =
    sinceSeconds !== undefined && sinceTime !== undefined
      ? [forbiddenField("", both)]
      : (sinceSeconds ?? 1) < 1
        ? [invalid("sinceSeconds", sinceSeconds, "must be greater than 0")]
        : [];
  return [
    ...(tailLines < 0 ? [invalid("tailLines", tailLines, "must be greater than or equal to 0")] : []),
    ...(limitBytes < 1 ? [invalid("limitBytes", limitBytes, "must be greater than 0")] : []),
    ...since,
  ];
}

function timeOf(text: string): string | undefined {
  if (text === "") return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw badRequest(`sinceTime ${JSON.stringify(text.slice(0, 64))} is not a time as RFC 3339 has it`);
  return rfc3339(ms);
}

const streamFlags = ["stdin", "stdout", "stderr", "tty"] as const;

/** The options of attach, exec, portforward or proxy, of the kind that admission sees. @throws StatusError BadRequest for a port that is none */
export function connectOptions(
  query: Query,
  { connects, kind, path }: { readonly connects: string; readonly kind: string; readonly path: string },
): ApiObject {
  const container = query.get("container") ?? "";
  const named = { apiVersion: "v1", kind, metadata: {} };
  if (connects === "proxy") return { ...named, ...(path === "" ? {} : { path }) };
  if (connects === "portforward") {
    const ports = query.getAll("ports").map((port) => integerOf(port) ?? 0);
    return { ...named, ...(ports.length === 0 ? {} : { ports }) };
  }
  const flags = Object.fromEntries(streamFlags.flatMap((name) => (flag(query, name) ? [[name, true]] : [])));
  const command = connects === "exec" ? query.getAll("command") : [];
  return {
    ...named,
    ...flags,
    ...(container === "" ? {} : { container }),
    ...(command.length === 0 ? {} : { command }),
  };
}

/** The names of these parameters at the kubelet. Source: kubernetes pkg/apis/core ExecStdinParam and following. */
const kubeletFlags: Readonly<Record<(typeof streamFlags)[number], string>> = {
  stdin: "input",
  stdout: "output",
  stderr: "error",
  tty: "tty",
};

/**
 * Path and query at the kubelet of attach, exec or portforward. Each part of the path is one segment, whatever it contains.
 * @throws StatusError BadRequest for a container that the Pod does not have. Source: kubernetes pkg/registry/core/pod streamLocation
 */
export function streamPath(connects: "attach" | "exec" | "portforward", pod: ApiObject, options: ApiObject): string {
  const params = new URLSearchParams();
  if (connects === "portforward") {
    const ports = arrayAt(options, "ports").filter((port) => typeof port === "number");
    if (ports.length > 0) params.set("port", ports.join(","));
    return `${pathOf("portForward", pod)}${queryOf(params)}`;
  }
  for (const name of streamFlags) if (isTrueAt(options, name)) params.set(kubeletFlags[name], "1");
  for (const argument of stringsAt(options, "command")) params.append("command", argument);
  return `${pathOf(connects, pod, containerOf(pod, stringAt(options, "container")))}${queryOf(params)}`;
}

/** Path and query of a log at the kubelet. @throws StatusError BadRequest for a container that the Pod does not have */
export function logPath(pod: ApiObject, { container, params }: LogOptions): string {
  return `${pathOf("containerLogs", pod, containerOf(pod, container))}${queryOf(params)}`;
}

function pathOf(endpoint: string, { metadata }: ApiObject, ...more: readonly string[]): string {
  const parts = [endpoint, metadata.namespace ?? "", metadata.name ?? "", ...more];
  return `/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

function queryOf(params: URLSearchParams): string {
  return params.size === 0 ? "" : `?${params.toString()}`;
}

/** Source: kubernetes pkg/registry/core/pod validateContainer. */
function containerOf(pod: ApiObject, asked: string): string {
  const { name: podName = "" } = pod.metadata;
  const namesIn = (list: string): readonly string[] =>
    fieldListAt(pod, "spec", list).map((one) => stringAt(one, "name"));
  const [containers, all] = [
    namesIn("containers"),
    ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => namesIn(list)),
  ];
  if (asked !== "") {
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return asked;
  }
  const [only] = containers;
  if (only !== undefined && containers.length === 1) return only;
  const choice = containers.length === 0 ? "" : `, choose one of: [${all.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${podName}${choice}`);
}

const nodeProxyTarget = /^\/api\/v1\/nodes\/[^/]+\/proxy(\/[^?]*)?(\?.*)?$/s;

/**
 * The kubelet's target of a request through `nodes/proxy`: the rest of the client's target unchanged, so that nothing is decoded twice.
 * Undefined for a target of another form, or with a segment `.` or `..`.
 */
export function proxiedPath(target: string): { readonly path: string; readonly query: string } | undefined {
  const found = nodeProxyTarget.exec(target);
  if (found === null || /[^\x21-\x7e]/.test(target)) return undefined;
  const [, path = "/", query = ""] = found;
  const dots = /(^|\/)(\.|%2e){1,2}(\/|$)/i;
  return dots.test(path.replaceAll(/%2f/gi, "/").replaceAll("\\", "/")) ? undefined : { path, query };
}

/** The headers of an upgrade request that a kubelet needs; credentials, cookies and impersonation are not forwarded. */
const upgradeNames: readonly string[] = [
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
];
const listed: ReadonlySet<string> = new Set(["sec-websocket-protocol", "x-stream-protocol-version"]);
/** A browser sends its token as a protocol of this prefix. Source: apiserver pkg/authentication/request/websocket. */
const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** The headers that request the client's protocol from a kubelet. */
export function upgradeHeaders(request: Incoming): Readonly<Record<string, string | readonly string[]>> {
  const found: Record<string, string | readonly string[]> = {
    connection: "Upgrade",
    upgrade: request.headers["upgrade"] ?? "",
  };
  for (const name of upgradeNames) {
    const values = valuesOf(request, name);
    if (values.length > 0) found[name] = name === "sec-websocket-protocol" ? values.join(", ") : values;
  }
  return found;
}

/** The headers of a request that a kubelet answers in HTTP. */
export function requestHeaders(request: Incoming): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of ["accept", "content-type"]) {
    const value = request.headers[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}

/** Each occurrence of a header, lists split: SPDY clients repeat the versions that they support. */
function valuesOf({ rawHeaders }: Incoming, wanted: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] ?? "";
    if (rawHeaders[index]?.toLowerCase() !== wanted) continue;
    values.push(...(listed.has(wanted) ? value.split(",").map((one) => one.trim()) : [value]));
  }
  return values.filter((value) => value !== "" && !value.startsWith(tokenProtocol));
}
