import { isJsonObject, isJsonArray, type JsonObject } from "../../apimachinery/json-value.ts";
import type { YamlWork, YamlThread } from "../../serializer/yaml/yaml-thread.ts";
import { auditLine, truncatedAnnotation, type Audit, type AuditEvent, traceAnnotation, traceText } from "./audit.ts";
import type { AuditDecision, AuditStage } from "./audit-policy.ts";
import { header, type Incoming, type Reply, tooLong } from "../http-types.ts";
import { type ObjectNames, type Progress, type ReceivedBody, addAnnotation, newProgress } from "../progress.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { publishedMeta } from "../../apis/schemas/published.ts";
import { jsonOf, mediaType, parseBody, textOf, type RawBody } from "../body/decode-body.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { apiVersionOf } from "../../apimachinery/object.ts";
import type { ClientWrite, RecordWrite } from "../../registry/in-process-call.ts";
import type { RequestInfo } from "../request-info.ts";

/** The audit events of one request, created at each stage of its handling. */
export interface AuditTrail {
  /** Evaluates the policy; called once, as soon as the user is authenticated, or authentication has failed. */
  readonly begin: (now: number) => void;
  /** An object, or bytes that are no object of the resource. */
  readonly recordBody: (body: ReceivedBody) => void;
  readonly streaming: (now: number) => void;
  readonly end: (reply: Reply | "streamed", now: number) => Promise<void>;
}

const noTrail: AuditTrail = {
  begin: () => undefined,
  recordBody: () => undefined,
  streaming: () => undefined,
  end: async () => undefined,
};

/** Records what `audit` requires; nothing where it is undefined. A write inside the hub has no `request`. */
export function auditTrail(
  audit: Audit | undefined,
  request: Incoming | undefined,
  progress: Progress,
  yaml: () => YamlWork,
): AuditTrail {
  if (audit === undefined) return noTrail;
  let begun = false;
  const write = (stage: AuditStage, now: number, bodies?: Bodies): void => {
    const decision = progress.audited;
    if (decision === undefined || decision.omitStages.has(stage)) return;
    const line = auditLine(progress, {
      stage,
      decision,
      now,
      ...(request === undefined ? unsent(progress) : senderOf(request)),
      annotations: annotationsOf(progress, bodies),
      requestObject: textOfBody(bodies?.request),
      responseObject: textOfBody(bodies?.response),
    });
    audit.sink(line);
  };
  const begin = (now: number): void => {
    if (begun) return;
    begun = true;
    const decision = audit.policy(progress.info, progress.user);
    if (decision.level === "None") return;
    progress.audited = decision;
    write("RequestReceived", now);
  };
  return {
    begin,
    recordBody: (body) => {
      const { audited } = progress;
      if (audited === undefined) return;
      if ("value" in body) progress.names = namesOf(body.value);
      if (audited.level !== "Metadata") progress.receivedBody = body;
    },
    streaming: (now) => write("ResponseStarted", now),
    end: async (reply, now) => {
      begin(now);
      const { audited, faulted } = progress;
      if (audited === undefined) return;
      const bodies = audited.level === "Metadata" ? undefined : await bodiesOf(audited, { progress, reply, yaml });
      write(faulted ? "Panic" : "ResponseComplete", now, bodies);
    },
  };
}

interface Bodies {
  readonly request: AuditBody;
  readonly response: AuditBody;
}

interface Answered {
  readonly progress: Progress;
  readonly reply: Reply | "streamed";
  readonly yaml: () => YamlWork;
}

async function bodiesOf(decision: AuditDecision, { progress, reply, yaml }: Answered): Promise<Bodies> {
  const managedFields: ManagedFields = decision.omitManagedFields ? "omit" : "keep";
  const answered = decision.level === "RequestResponse" && reply !== "streamed" && progress.info.isResource;
  return {
    request: await requestBody(progress.receivedBody, managedFields, yaml()),
    response: answered ? responseBody(reply, managedFields) : undefined,
  };
}

function namesOf(value: unknown): ObjectNames | undefined {
  const metadata = isJsonObject(value) ? value["metadata"] : undefined;
  if (!isJsonObject(metadata)) return undefined;
  const text = (field: string): string | undefined => {
    const found = Object.hasOwn(metadata, field) ? metadata[field] : undefined;
    return typeof found === "string" ? found : undefined;
  };
  return {
    name: text("name"),
    namespace: text("namespace"),
    uid: text("uid"),
    resourceVersion: text("resourceVersion"),
  };
}

type Sender = Pick<AuditEvent, "requestUri" | "sourceIp" | "userAgent">;

function senderOf(request: Incoming): Sender {
  const sourceIp = request.socket?.remoteAddress ?? "";
  return { requestUri: request.url ?? "", sourceIp, userAgent: header(request, "user-agent") };
}

/** Of a write inside the hub. */
function unsent({ info }: Progress): Sender {
  return { requestUri: info.path, sourceIp: undefined, userAgent: undefined };
}

function textOfBody(body: AuditBody): string | undefined {
  return typeof body === "object" ? body.text : undefined;
}

function annotationsOf(
  { annotations, decision }: Progress,
  bodies: Bodies | undefined,
): Readonly<Record<string, string>> {
  const isTruncated = bodies?.request === "tooLong" || bodies?.response === "tooLong";
  return {
    ...(decision === undefined
      ? {}
      : {
          "authorization.k8s.io/decision": decision.verdict === "allow" ? "allow" : "forbid",
          "authorization.k8s.io/reason": decision.reason,
          ...(decision.trace === undefined ? {} : { [traceAnnotation]: traceText(decision.trace) }),
        }),
    // Last, as the first are kept where all are too many.
    ...(annotations === undefined ? {} : Object.fromEntries(annotations)),
    ...(isTruncated ? { [truncatedAnnotation]: "true" } : {}),
  };
}

/** The longest body that is recorded, in characters of JSON. */
const longest = 1 << 20;
/** As many values as the largest body may hold. */
const maxValues = 65_536;

/** A body as JSON on one line; `tooLong` above 1 MiB or where the YAML queue is full, undefined where there is no body. */
export type AuditBody = { readonly text: string } | "tooLong" | undefined;

/** The request body as JSON, from protobuf and YAML too. A body that cannot be read was refused, and is left out. */
export async function requestBody(
  receivedBody: ReceivedBody | undefined,
  managedFields: ManagedFields,
  yaml: YamlWork,
): Promise<AuditBody> {
  if (receivedBody === undefined) return undefined;
  if ("value" in receivedBody) return lineOf(receivedBody.value, managedFields);
  if (receivedBody.bytes.length === 0) return undefined;
  if (receivedBody.bytes.length > longest) return "tooLong";
  try {
    return lineOf(
      await parsed({ bytes: receivedBody.bytes, contentType: receivedBody.contentType, maxValues, yaml }),
      managedFields,
    );
  } catch (error) {
    // The request was served, but the YAML queue has no room to read it again.
    if (error instanceof StatusError && error.code === 429) return "tooLong";
    if (error instanceof StatusError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether `metadata.managedFields` is recorded. */
export type ManagedFields = "keep" | "omit";

/** The response body as JSON: a Table stays a Table, protobuf and YAML are decoded. */
export function responseBody(reply: Reply, managedFields: ManagedFields): AuditBody {
  if (reply.plain !== undefined) {
    const plain = reply.plain();
    return plain === tooLong ? "tooLong" : lineOf(plain, managedFields);
  }
  if (mediaType(reply.contentType) !== "application/json") return undefined;
  if (typeof reply.body === "object" && "pieces" in reply.body) return undefined;
  if (reply.body.length > longest) return "tooLong";
  const text = reply.body.toString();
  // The hub wrote it, so it is JSON; line breaks occur only between tokens, where it is indented.
  if (!text.includes("\n") && (managedFields === "keep" || !text.includes('"managedFields"'))) return { text };
  return lineOf(JSON.parse(text), managedFields);
}

async function parsed(raw: RawBody): Promise<unknown> {
  const type = mediaType(raw.contentType);
  if (type.endsWith("+json")) return jsonOf(textOf(raw.bytes), maxValues);
  const contentType = type.endsWith("+yaml") ? "application/yaml" : raw.contentType;
  return (await parseBody({ ...raw, contentType }, () => publishedMeta("DeleteOptions"))).value;
}

function lineOf(value: unknown, managedFields: ManagedFields): AuditBody {
  const text = JSON.stringify(managedFields === "keep" ? value : withoutManagedFields(value));
  return text.length > longest ? "tooLong" : { text };
}

/** Of an object, of the items of a list, and of the objects in the rows of a table. */
function withoutManagedFields(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const { metadata, items, rows, object } = value;
  return {
    ...value,
    ...(isJsonObject(metadata) ? { metadata: withoutField(metadata) } : {}),
    ...(isJsonArray(items) ? { items: items.map(withoutManagedFields) } : {}),
    ...(isJsonArray(rows) ? { rows: rows.map(withoutManagedFields) } : {}),
    ...(isJsonObject(object) ? { object: withoutManagedFields(object) } : {}),
  };
}

function withoutField({ managedFields: _managedFields, ...metadata }: JsonObject): JsonObject {
  return metadata;
}

/** What the audit of writes inside the hub needs. */
export interface WriteAuditOptions {
  readonly audit: Audit;
  readonly yaml: YamlThread;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** A fault while an event is written. */
  readonly fault: (error: unknown, auditId: string) => void;
}

/** Records writes inside the hub by the policy and with the events of requests over HTTP; they have no address and no user agent. */
export function writeAudit({ audit, yaml, clock, uuid, fault }: WriteAuditOptions): RecordWrite {
  return (write) => {
    const progress = newProgress(uuid(), clock.now());
    progress.info = infoOf(write);
    progress.user = write.user;
    const trail = auditTrail(audit, undefined, progress, () => yaml.of(write.user.username));
    trail.begin(progress.receivedAt);
    if (progress.audited === undefined) return undefined;
    trail.recordBody({ value: write.sent });
    const end = (reply: Reply): void => {
      progress.code = reply.status;
      trail.end(reply, clock.now()).catch((error: unknown) => fault(error, progress.auditId));
    };
    return {
      decided: (decision) => {
        progress.decision ??= decision;
      },
      annotate: (key, value) => addAnnotation(progress, key, value),
      succeeded: (answer) => end(replyOf(write.verb === "create" ? 201 : 200, answer)),
      failed: (error) => {
        if (error instanceof StatusError) progress.failure = error;
        else progress.faulted = true;
        end(replyOf(error instanceof StatusError ? error.code : 500, undefined));
      },
    };
  };
}

/** Only what the audit log reads of a reply; `plain` is called where the level records what was answered. */
function replyOf(status: number, answer: unknown): Reply {
  const reply = { status, contentType: "", body: "" };
  return answer === undefined ? reply : { ...reply, plain: () => answer };
}

function infoOf({ verb, resource, namespace, name, subresource }: ClientWrite): RequestInfo {
  const { group, version, plural } = resource;
  const path = [
    group === "" ? "/api" : "/apis",
    apiVersionOf(group, version),
    ...(namespace === "" ? [] : ["namespaces", encodeURIComponent(namespace)]),
    plural,
    ...(name === "" ? [] : [encodeURIComponent(name)]),
    ...(subresource === "" ? [] : [subresource]),
  ].join("/");
  return { isResource: true, verb, path, group, version, namespace, resource: plural, subresource, name };
}
