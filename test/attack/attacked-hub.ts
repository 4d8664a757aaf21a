import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import { systemClock } from "../../src/host/system-clock.ts";
import type { HubOptions } from "../../src/server/hub-options.ts";
import { loadCa, type CertificateAuthority } from "../../src/pki/ca.ts";
import { issueCertificate } from "../../src/pki/certificate.ts";
import { exportSec1Pem, generatePrivateKey, spkiOf } from "../../src/pki/keys.ts";
import { buildName } from "../../src/pki/names.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { ownMemory } from "../kits/own-memory.ts";
import { eventually } from "../kits/peers-process.ts";
import {
  openHttp2,
  send,
  sendHttp2,
  type Dial,
  type Protocol,
  type Target,
  type WireReply,
  type WireRequest,
} from "../kits/wire.ts";

/** A hub in this process, and what an attacker's bench needs to know of it. */
export interface AttackedHub extends Pick<TestHub, "dataDir" | "log" | "close"> {
  readonly target: Target;
  readonly authority: CertificateAuthority;
  /** Bearer tokens: of a user without any rights, and of one in the group system:masters. */
  readonly tokens: Readonly<Record<"nobody" | "operator", string>>;
  /** With every right. */
  readonly admin: Dial;
  /** A valid client certificate of any name. */
  readonly as: (commonName: string, ...organizations: string[]) => Dial;
  /** Lets time pass on the hub's clock, in milliseconds; backwards too. */
  readonly shiftClock: (ms: number) => void;
}

const hour = 3_600_000;

/** Starts a hub on a free port. */
export async function startAttackedHub(
  options: Partial<Omit<HubOptions, "dataDir" | "log">> = {},
): Promise<AttackedHub> {
  let offset = 0;
  const hub = await startTestHub({
    users: { nobody: [], operator: ["system:masters"] },
    clock: { now: () => systemClock.now() + offset, sleep: (ms, signal) => systemClock.sleep(ms, signal) },
    ...options,
  });
  const authority = await authorityIn(hub.dataDir);
  const as = (commonName: string, ...organizations: string[]): Dial =>
    clientOf(authority, { commonName, organizations });
  return {
    dataDir: hub.dataDir,
    log: hub.log,
    close: () => hub.close(),
    target: { port: hub.port, caPem: hub.ca },
    tokens: { nobody: hub.token("nobody"), operator: hub.token("operator") },
    authority,
    admin: as("kubernetes-admin", "system:masters"),
    as,
    shiftClock: (ms) => {
      offset += ms;
    },
  };
}

/** The CA that lies in a data directory. */
export async function authorityIn(dataDir: string): Promise<CertificateAuthority> {
  const [certificatePem, keyPem] = await Promise.all(
    ["ca.crt", "ca.key"].map((file) => readFile(join(dataDir, "pki", file), "utf8")),
  );
  return loadCa({ certificatePem: certificatePem ?? "", keyPem: keyPem ?? "", now: Date.now() });
}

/** What a client certificate shall say; valid for an hour around now unless told otherwise. */
export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usages?: readonly string[];
  readonly notBefore?: number;
  readonly notAfter?: number;
  /** PEM to send along after the certificate. */
  readonly chain?: string;
  readonly role?: "leaf" | "ca";
}

/** A certificate and key that the given issuer signed, whatever it says. */
export function clientOf(issuer: Parameters<typeof issueCertificate>[0]["issuer"], wanted: ClientCertificate): Dial {
  const { commonName, organizations = [], usages = ["digital signature", "client auth"], chain = "" } = wanted;
  const key = generatePrivateKey();
  const { pem } = issueCertificate({
    issuer,
    rawSubject: buildName({ commonName, organizations }),
    spki: spkiOf(key),
    usages,
    notBefore: wanted.notBefore ?? Date.now() - hour,
    notAfter: wanted.notAfter ?? Date.now() + hour,
    serial: randomBytes(16),
    role: wanted.role ?? "leaf",
  });
  return { cert: `${pem}${chain}`, key: exportSec1Pem(key) };
}

/** Who the hub takes the sender of a request for: `401`, `anonymous`, a name and its groups, or `closed` when it hangs up. */
export async function identity(
  hub: Pick<AttackedHub, "target">,
  dial: Dial & { readonly over?: Protocol },
  headers: WireRequest["headers"] = [],
): Promise<string> {
  const reply = await send(
    hub.target,
    {
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      headers: [["Content-Type", "application/json"], ...headers],
      body: "{}",
    },
    dial,
  );
  return identityIn(reply);
}

/** The same from a reply to a SelfSubjectReview. */
export function identityIn(reply: Pick<WireReply, "status" | "text">): string {
  if (reply.status === 401) return "401";
  if (reply.status === 0 || reply.text === "400 Bad Request\n") return "closed";
  const body = JSON.parse(reply.text) as {
    readonly message?: string;
    readonly status?: { readonly userInfo?: { readonly username: string; readonly groups: readonly string[] } };
  };
  if (reply.status === 403 && body.message?.includes('User "system:anonymous" cannot create') === true)
    return "anonymous";
  const user = reply.status === 201 && typeof body.status === "object" ? body.status.userInfo : undefined;
  return user === undefined ? `${reply.status} ${reply.text}` : `${user.username} (${user.groups.join(" ")})`;
}

/** A reply of the API with its JSON body. */
export interface ApiReply {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** One call of the API with a JSON body. */
export async function call(
  hub: AttackedHub,
  dial: Dial & { readonly over?: Protocol },
  request: {
    readonly method?: string;
    readonly path: string;
    readonly body?: unknown;
    readonly type?: string;
    readonly headers?: WireRequest["headers"];
  },
): Promise<ApiReply> {
  const { method = request.body === undefined ? "GET" : "POST", path, body, type = "application/json" } = request;
  const reply = await send(
    hub.target,
    {
      method,
      path,
      headers: [...(body === undefined ? [] : ([["Content-Type", type]] as const)), ...(request.headers ?? [])],
      body:
        body === undefined
          ? undefined
          : typeof body === "string" || Buffer.isBuffer(body)
            ? body
            : JSON.stringify(body),
    },
    dial,
  );
  const json = reply.text.startsWith("{") ? (JSON.parse(reply.text) as ApiReply["json"]) : {};
  return { status: reply.status, json, text: reply.text, headers: reply.headers };
}

/** Looks after a hub over one connection of the admin: whether it is well, and whether anything was written meanwhile. */
export interface Watchman {
  /** How many objects of the kinds that tests write are stored. */
  readonly count: () => Promise<number>;
  /** What is wrong by now: not ready, objects that came or went, errors in the log, memory that has grown by more than 512 MiB. */
  readonly troubles: () => Promise<readonly string[]>;
  readonly close: () => void;
}

const written = [
  "api/v1/configmaps",
  "api/v1/secrets",
  "api/v1/namespaces",
  "apis/certificates.k8s.io/v1/certificatesigningrequests",
];
const growth = 512 * 1024 * 1024;

const ownMaps = [
  "default/configmaps/kube-root-ca.crt",
  "kube-node-lease/configmaps/kube-root-ca.crt",
  "kube-public/configmaps/kube-root-ca.crt",
  "kube-system/configmaps/kube-root-ca.crt",
  "kube-public/configmaps/cluster-info",
];

/** Resolves when the ConfigMaps are there that controllers put into a new hub. */
async function bootstrapped(session: ClientHttp2Session): Promise<void> {
  for (const path of ownMaps) {
    await eventually(path, async () => {
      const { status } = await sendHttp2(session, { path: `/api/v1/namespaces/${path}` });
      return status === 200 || undefined;
    });
  }
}

/** Begins to look after a hub; what is stored once its controllers have furnished it is what shall be stored later. */
export async function watchman(hub: AttackedHub): Promise<Watchman> {
  const session = await openHttp2(hub.target, hub.admin);
  await bootstrapped(session);
  const memory = ownMemory();
  const count = async (): Promise<number> => {
    const lists = await Promise.all(written.map((path) => sendHttp2(session, { path: `/${path}` })));
    return lists.reduce(
      (sum, { text }) => sum + (JSON.parse(text) as { readonly items: readonly unknown[] }).items.length,
      0,
    );
  };
  let before = await count();
  let told = hub.log.length;
  return {
    count,
    troubles: async () => {
      const [ready, fresh, now] = await Promise.all([
        sendHttp2(session, { path: "/readyz" }),
        send(hub.target, { path: "/readyz" }),
        count(),
      ]);
      const found = [
        ...(ready.text === "ok" && fresh.text === "ok" ? [] : [`not ready: ${ready.text} ${fresh.text}`]),
        ...(now === before ? [] : [`${before} objects before and ${now} now`]),
        ...hub.log
          .slice(told)
          .filter(({ level }) => level === "error")
          .map((entry) => JSON.stringify(entry)),
        ...(ownMemory() - memory < growth ? [] : ["the hub has grown beyond all bounds"]),
      ];
      // Told once: the next test is not to blame for this one.
      before = now;
      told = hub.log.length;
      return found;
    },
    close: () => session.destroy(),
  };
}
