import { parse } from "yaml";
import type { ApiClient, Reply } from "../../kits/api-client.ts";
import type { Row, Sent } from "./row.ts";

/** What a server answered, without what cannot be the same on two. */
export interface Answer {
  readonly code: number;
  readonly type: string;
  /** JSON is an object here, anything else text. */
  readonly body: unknown;
}

/** Sends what is given and then the row's request; `number` makes its names the row's own. */
export async function answerOf(api: ApiClient, row: Row, number: number): Promise<Answer> {
  const mark = `r${number}x`;
  for (const given of row.given ?? []) {
    const reply = await sendOne(api, given, mark);
    if (reply.status >= 300)
      return { code: 0, type: "given", body: bodyOf(reply.text, typeOf(reply.headers["content-type"]), mark) };
  }
  const filled = await fill(api, row.ask, mark);
  const { path, ...ask } = filled;
  if (/[?&]watch=/.test(path)) {
    const stream = await api.stream(path, ask);
    if (stream.status === 200) {
      stream.close();
      return { code: 200, type: typeOf(stream.headers["content-type"]), body: "a stream" };
    }
    const text = (await stream.bytes(1_000_000)).toString();
    const type = typeOf(stream.headers["content-type"]);
    return { code: stream.status, type, body: bodyOf(text, type, mark) };
  }
  const reply = await api(path, ask).catch((error: unknown) => {
    if (error instanceof Error && error.message === "socket hang up") return undefined;
    throw error;
  });
  if (reply === undefined) return { code: 0, type: "", body: "no answer: the connection was closed" };
  return {
    code: reply.status,
    type: typeOf(reply.headers["content-type"]),
    body: bodyOf(reply.text, typeOf(reply.headers["content-type"]), mark),
  };
}

async function sendOne(api: ApiClient, sent: Sent, mark: string): Promise<Reply> {
  const { path, ...ask } = await fill(api, sent, mark);
  return api(path, ask);
}

async function fill(api: ApiClient, sent: Sent, mark: string): Promise<Sent> {
  const { body, ...rest } = sent;
  const path = rest.path.replaceAll("{row}", mark);
  if (body === undefined) return { ...rest, path };
  const text = (typeof body === "string" ? body : JSON.stringify(body)).replaceAll("{row}", mark);
  const type = rest.type ?? (typeof body === "string" ? undefined : "application/json");
  return { ...rest, path, body: await resolved(api, text), ...(type === undefined ? {} : { type }) };
}

async function resolved(api: ApiClient, text: string): Promise<string> {
  const place = /\{version of ([^}]+)\}/.exec(text);
  if (place === null) return text;
  const { metadata } = (await api(place[1] ?? "")).object();
  return text.replace(place[0], metadata.resourceVersion ?? "");
}

function typeOf(type: string | string[] | undefined): string {
  return String(type ?? "").replace(/;\s*charset=utf-8/i, "");
}

function bodyOf(text: string, type: string, mark: string): unknown {
  const same = text
    .replaceAll(mark, "row")
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, (uuid) => (uuid.startsWith("00000000-") ? uuid : "UID"))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?!07)/g, "TIME")
    .replaceAll(/in record \(\d+\)/g, "in record (VERSION)")
    .replaceAll(/ResourceVersion in object meta: \d+/g, "ResourceVersion in object meta: VERSION")
    .replaceAll(/0xc[0-9a-f]{9}/g, "ADDRESS")
    .replaceAll(/(a{57}|Bad_)[bcdfghjklmnpqrstvwxz2456789]{5}(?=\\?")/g, "$1RANDOM");
  try {
    const value: unknown = type === "application/yaml" ? parse(same) : JSON.parse(same);
    return typeof value === "object" && value !== null ? plain(value) : same.trim();
  } catch {
    return same.trim();
  }
}

type Fields = Readonly<Record<string, unknown>>;

function plain(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return listed(value, key);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Fields;
  const unseen = notCompared(fields, key);
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([field]) => !unseen.has(field))
      .map(([field, inside]) => [field, plain(inside, field)] as const)
      .filter(([field, inside]) => field === "items" || !isNothing(inside))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Each cause once; ages of rows are what the moment makes them. */
function listed(items: readonly unknown[], key: string): unknown {
  if (key === "cells") return items.map((cell) => (/^\d+s$/.test(String(cell)) ? "AGE" : cell));
  const plainItems = items.map((item) => plain(item, key));
  if (key !== "causes") return plainItems;
  const texts = plainItems.map((item) => JSON.stringify(item));
  return plainItems.filter((_item, at) => texts.indexOf(texts[at] ?? "") === at);
}

/** What Go writes for a field that was never set. */
function isNothing(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

const none: ReadonlySet<string> = new Set();
const ofMetadata: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "selfLink",
]);
/** Where a request for a certificate came from is written by the hub alone. */
const ofAnnotations: ReadonlySet<string> = new Set(["pratique.dev/source-address"]);
const ofItems: ReadonlySet<string> = new Set(["kind", "apiVersion"]);
const ofColumns: ReadonlySet<string> = new Set(["description"]);
const ofNodes: ReadonlySet<string> = new Set(["taints"]);
const ofPods: ReadonlySet<string> = new Set(["preemptionPolicy", "priority", "tolerations"]);
const ofStatus: ReadonlySet<string> = new Set(["daemonEndpoints"]);
const ofRequests: ReadonlySet<string> = new Set(["username", "groups", "uid", "extra"]);

/** The fields of an object that lies under `key` in which two servers may well differ; docs/conformance.md names them. */
function notCompared(fields: Fields, key: string): ReadonlySet<string> {
  switch (key) {
    case "metadata":
      return ofMetadata;
    case "annotations":
      return ofAnnotations;
    case "items":
      return ofItems;
    case "columnDefinitions":
      return ofColumns;
    case "status":
      return ofStatus;
    case "spec":
      if (Object.hasOwn(fields, "containers")) return ofPods;
      return Object.hasOwn(fields, "signerName") ? ofRequests : ofNodes;
    default:
      return none;
  }
}
