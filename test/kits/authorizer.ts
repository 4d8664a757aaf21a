import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request as httpsRequest } from "node:https";
import { issueOwn, type KeyPair } from "../../src/ca/hub-certificates.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { fakeClock, type FakeClock } from "./fake-clock.ts";
import { fakeIo, runLine, type FakeIo } from "./fake-io.ts";
import { eventually } from "./peers-process.ts";

/** `pratique authorizer` in this process, on a free port, with a clock that stands still. */
export interface TestAuthorizer {
  readonly port: number;
  /** The CA that made its certificate. */
  readonly caPem: string;
  /** What `--print-kubeconfig` prints for it. */
  readonly kubeconfig: string;
  readonly clock: FakeClock;
  /** Sets the time that it sees this far ahead of `clock`. */
  readonly setAhead: (ms: number) => void;
  /** What it logged. */
  readonly log: () => string;
  /** Sends a body, as JSON unless it is text already. */
  readonly post: (body: unknown, options?: PostOptions) => Promise<Posted>;
  readonly get: (path: string, options?: PostOptions) => Promise<Posted>;
  /** Asks about one action; resolves to the status of the review. */
  readonly ask: (spec: object, options?: PostOptions) => Promise<ReviewedStatus>;
  /** Lets it look at its files, and waits for the log to say something. */
  readonly reload: (said: RegExp) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface PostOptions {
  readonly path?: string;
  readonly client?: KeyPair;
  readonly version?: "v1" | "v1beta1";
}

export interface Posted {
  readonly status: number;
  readonly text: string;
}

export interface ReviewedStatus {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** How long it sleeps between two looks at its files. */
const lookEveryMs = 2_000;
/** For how long changed files must stay as they are; here nobody changes them meanwhile. */
const settleMs = 500;

/** Starts it with further options. @throws Error with its messages when it does not start */
export async function startAuthorizer(...words: readonly string[]): Promise<TestAuthorizer> {
  const dir = await mkdtemp(join(tmpdir(), "pratique-authorizer-"));
  const clock = fakeClock(Date.now());
  // Its looks at files have a clock of their own, so that a look costs no question that is under way its time.
  const looks = fakeClock();
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    ms === settleMs ? Promise.resolve() : (ms === lookEveryMs ? looks : clock).sleep(ms, signal);
  let ahead = 0;
  const world = (): FakeIo => ({
    ...fakeIo({ clock: { ...clock, now: () => clock.now() + ahead, sleep }, random: (size) => randomBytes(size) }),
    readFile: (file) => readFile(file),
  });
  const io = world();
  const line = ["authorizer", `--cert-dir=${join(dir, "certs")}`, ...words];
  let ended = false;
  const end = runLine([...line, "--secure-port=0"], io).finally(() => (ended = true));
  const port = await eventually("the authorizer to listen", () => {
    if (ended) throw new TypeError(`the authorizer has ended: ${io.err()}`);
    const found = /reason=Listening port=(\d+)/.exec(io.err())?.[1];
    return found === undefined ? undefined : Number(found);
  });
  const printing = world();
  await runLine([...line, `--url=https://127.0.0.1:${port}`, "--print-kubeconfig"], printing);
  const data = /certificate-authority-data: "?([\w+/=]+)/.exec(printing.out())?.[1];
  const caPem = Buffer.from(data ?? "", "base64").toString();
  const send = sender(port, caPem);
  const post = async (body: unknown, { path = "/authorize", client }: PostOptions = {}): Promise<Posted> =>
    send("POST", path, client, typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  return {
    port,
    caPem,
    kubeconfig: printing.out(),
    clock,
    setAhead: (ms) => void (ahead = ms),
    log: () => io.err(),
    post,
    get: async (path, { client } = {}) => send("GET", path, client),
    ask: async (spec, options = {}) => {
      const apiVersion = `authorization.k8s.io/${options.version ?? "v1"}`;
      const { status, text } = await post({ apiVersion, kind: "SubjectAccessReview", metadata: {}, spec }, options);
      if (status !== 200) throw new TypeError(`${status} ${text}`);
      return (JSON.parse(text) as { readonly status: ReviewedStatus }).status;
    },
    reload: async (said) => {
      const before = io.err().length;
      await eventually("the authorizer to be done with looking", () => looks.sleeping() > 0 || undefined);
      await looks.advance(lookEveryMs);
      await eventually(`the authorizer to log ${said}`, () => said.test(io.err().slice(before)) || undefined);
    },
    close: async () => {
      io.interrupt();
      await end;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function sender(
  port: number,
  caPem: string,
): (method: string, path: string, client?: KeyPair, body?: string | Buffer) => Promise<Posted> {
  const kept = new Agent({ ca: caPem, keepAlive: true });
  return (method, path, client, body) => {
    const agent =
      client === undefined ? kept : new Agent({ ca: caPem, cert: client.certPem, key: client.keyPem, maxSockets: 1 });
    return new Promise((resolve, reject) => {
      const sent = httpsRequest({ host: "127.0.0.1", port, path, method, agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  };
}

/** A CA, and certificates of it. */
export interface TestCa {
  readonly pem: string;
  readonly issue: (usage: "server auth" | "client auth") => KeyPair;
}

/** Makes a CA that nobody knows, for a year from `now`. */
export function testCa(now: number = Date.now()): TestCa {
  const random = (size: number): Uint8Array => randomBytes(size);
  const ca = createCa({ commonName: "ca", key: generatePrivateKey(), now, years: 1, random });
  return {
    pem: ca.pem,
    issue: (usage) =>
      issueOwn(
        ca,
        { commonName: "api", organizations: [], dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], usage },
        { now, random },
      ),
  };
}
