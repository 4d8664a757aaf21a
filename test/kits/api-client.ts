import { readFileSync } from "node:fs";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { Agent, request as request1 } from "node:https";
import type { Readable } from "node:stream";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import type { TestHub } from "./hub.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";

/** Who a client is towards the hub. */
export type Identity = "admin" | "anonymous" | { readonly token: string } | KeyPair;

export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Ask {
  /** Default GET. */
  readonly method?: string;
  /** An object is sent as JSON, anything else as it is. */
  readonly body?: object | string | Buffer;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A whole reply. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly text: string;
  /** The parsed body; throws for one that is not JSON. */
  json(): Record<string, unknown>;
  /** The parsed body as an API object. */
  object(): ApiObject;
  /** The items of a list. */
  items(): readonly ApiObject[];
}

/** A reply that goes on. */
export interface Stream {
  readonly status: number;
  readonly headers: Headers;
  /** The next line, parsed. @throws Error when the stream ends first. */
  next(): Promise<StreamEvent>;
  /** All events until the stream ends. */
  rest(): Promise<readonly StreamEvent[]>;
  /** Raw bytes until at least `count` have come. */
  bytes(count: number): Promise<Buffer>;
  close(): void;
}

/** One watch event. */
export interface StreamEvent {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly apiVersion?: string;
    readonly metadata: Readonly<Record<string, unknown>> & {
      readonly name?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly [field: string]: unknown;
  };
}

/** A client of the hub's API that does nothing by itself: what is asked is sent, what comes back is shown. */
export interface ApiClient {
  (path: string, ask?: Ask): Promise<Reply>;
  stream(path: string, ask?: Ask): Promise<Stream>;
  close(): void;
}

type Sent = { readonly status: number; readonly headers: Headers; readonly body: Readable; readonly cut: () => void };
type Send = (
  path: string,
  method: string,
  parts: { headers: Record<string, string | string[]>; body: Buffer },
) => Promise<Sent>;

/** The admin's certificate and key, from the kubeconfig. */
export function adminKeyPair({ kubeconfig }: Pick<TestHub, "kubeconfig">): KeyPair {
  const text = readFileSync(kubeconfig, "utf8");
  const data = (field: string): string =>
    Buffer.from(new RegExp(`${field}: (\\S+)`).exec(text)?.[1] ?? "", "base64").toString();
  return { certPem: data("client-certificate-data"), keyPem: data("client-key-data") };
}

/** Puts back what lies at `path` with a change, at a subresource where one is named; anew where another client has written it meanwhile. */
export function putChanged(
  client: ApiClient,
  path: string,
  { change, subresource = "" }: { readonly change: (object: ApiObject) => object; readonly subresource?: string },
): Promise<Reply> {
  return retryOnConflict(async () => {
    const body = change((await client(path)).object());
    return client(`${path}${subresource}`, { method: "PUT", body });
  });
}

/** Connects over HTTP/1.1, or over HTTP/2. */
export function apiClient(
  hub: Pick<TestHub, "url" | "ca" | "kubeconfig">,
  identity: Identity = "admin",
  protocol: "http1" | "http2" = "http1",
): ApiClient {
  const pair =
    identity === "admin"
      ? adminKeyPair(hub)
      : typeof identity === "object" && "certPem" in identity
        ? identity
        : undefined;
  const tls = { ca: hub.ca, ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }) };
  const base: Record<string, string> =
    typeof identity === "object" && "token" in identity ? { authorization: `Bearer ${identity.token}` } : {};
  const { send, close } = protocol === "http1" ? overHttp1(hub.url, tls) : overHttp2(hub.url, tls);
  const ask = async (path: string, asked: Ask = {}): Promise<Sent> => {
    const { body, type, accept, headers } = asked;
    const raw =
      body === undefined
        ? Buffer.alloc(0)
        : Buffer.isBuffer(body)
          ? body
          : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const contentType = type ?? (typeof body === "object" && !Buffer.isBuffer(body) ? "application/json" : undefined);
    return send(path, asked.method ?? "GET", {
      headers: {
        ...base,
        ...(contentType === undefined ? {} : { "content-type": contentType }),
        ...(accept === undefined ? {} : { accept }),
        ...headers,
      },
      body: raw,
    });
  };
  return Object.assign(
    async (path: string, asked?: Ask): Promise<Reply> => {
      const { status, headers, body } = await ask(path, asked);
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk as Buffer);
      return replyOf(status, headers, Buffer.concat(chunks));
    },
    { stream: async (path: string, asked?: Ask) => streamOf(await ask(path, asked)), close },
  );
}

function replyOf(status: number, headers: Headers, body: Buffer): Reply {
  const text = body.toString();
  return {
    status,
    headers,
    body,
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
    object: () => JSON.parse(text) as ApiObject,
    items: () => (JSON.parse(text) as { readonly items: readonly ApiObject[] }).items,
  };
}

type Tls = { readonly ca: string; readonly cert?: string; readonly key?: string };
type Transport = { readonly send: Send; readonly close: () => void };

function overHttp1(url: string, tls: Tls): Transport {
  const agent = new Agent({ keepAlive: true, ...tls });
  return {
    send: (path, method, { headers, body }) =>
      new Promise((resolve, reject) => {
        const length = body.length > 0 || method === "POST" ? { "content-length": String(body.length) } : {};
        const request = request1(url, { path, method, agent, headers: { ...length, ...headers } }, (response) => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: response,
            cut: () => request.destroy(),
          });
        });
        request.on("error", reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function overHttp2(url: string, tls: Tls): Transport {
  let session: ClientHttp2Session | undefined;
  return {
    send: (path, method, { headers, body }) =>
      new Promise((resolve, reject) => {
        session ??= connectHttp2(url, tls).setMaxListeners(0);
        session.once("error", reject);
        const stream = session.request(
          { ":path": path, ":method": method, ...headers },
          { endStream: body.length === 0 },
        );
        stream.on("error", reject);
        stream.on("response", ({ ":status": status, ...rest }) => {
          resolve({ status: status ?? 0, headers: rest, body: stream, cut: () => stream.close() });
        });
        if (body.length > 0) stream.end(body);
      }),
    close: () => session?.destroy(),
  };
}

/** Waits at most this long for anything, in milliseconds: a stream that stays silent is a failure and not a hang. */
const patienceMs = 30_000;

function streamOf({ status, headers, body, cut }: Sent): Stream {
  let buffered = Buffer.alloc(0);
  let ended = false;
  let changed = (): void => undefined;
  body.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    changed();
  });
  const end = (): void => {
    ended = true;
    changed();
  };
  body.on("end", end).on("close", end).on("error", end);
  const change = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`nothing came in ${patienceMs} ms; so far: ${buffered.toString()}`)),
        patienceMs,
      );
      changed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const line = async (): Promise<StreamEvent | undefined> => {
    for (;;) {
      const at = buffered.indexOf(0x0a);
      if (at >= 0) {
        const text = buffered.subarray(0, at).toString();
        buffered = buffered.subarray(at + 1);
        return JSON.parse(text) as StreamEvent;
      }
      if (ended) return undefined;
      await change();
    }
  };
  return {
    status,
    headers,
    next: async () => {
      const event = await line();
      if (event === undefined) throw new Error(`the stream ended; left over: ${buffered.toString()}`);
      return event;
    },
    rest: async () => {
      const events: StreamEvent[] = [];
      for (let event = await line(); event !== undefined; event = await line()) events.push(event);
      return events;
    },
    bytes: async (count) => {
      for (;;) {
        if (buffered.length >= count || ended) return buffered;
        await change();
      }
    },
    close: cut,
  };
}
