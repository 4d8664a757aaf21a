import { X509Certificate } from "node:crypto";
import { lstat, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join as joinPath } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { clientCertificate, refuse, startFakeHub, testCa, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { joinBench, testToken, type JoinBench } from "../../../test/kits/join-bench.ts";
import { parseKubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { exportSec1Pem, generatePrivateKey, loadPrivateKey, spkiOf } from "../../pki/keys.ts";
import type { JoinEvent } from "./join-event.ts";
import { privateFiles, type PrivateFiles } from "../../host/private-files.ts";
import { joinDefaults } from "./join.ts";

let hub: FakeHub;
let bench: JoinBench;

beforeEach(async () => {
  hub = await startFakeHub({ tokens: [testToken], auto: true });
  bench = await joinBench();
});

afterEach(async () => {
  await hub.close();
  await bench.remove();
});

const kinds = (): readonly string[] => bench.events.map((event) => event.kind);

describe("a join by token", () => {
  test("ends with the files of a kubelet and a kubeconfig that resolves to the new credential", async () => {
    const joined = await bench.join(hub);
    expect(joined).toMatchObject({ outcome: "joined", nodeName: "n1", server: hub.url, kubeconfig: bench.kubeconfig });
    const names = await readdir(bench.certDir);
    const pair = names.find((name) => /^kubelet-client-\d{4}(-\d\d){5}\.pem$/.test(name));
    expect(new Set(names)).toEqual(new Set(["ca.crt", "kubelet-client-current.pem", "pratique-join.json", pair]));
    expect(await readlink(joined.credentialFile)).toBe(joinPath(bench.certDir, pair ?? ""));
    const text = await readFile(bench.kubeconfig, "utf8");
    const config = await resolveKubeconfig(parseKubeconfig(text, bench.kubeconfig), {
      readFile: (path) => readFile(path),
    });
    expect(config).toMatchObject({
      context: "default-context",
      server: hub.url,
      caPem: hub.ca.pem,
      namespace: "default",
    });
    const leaf = new X509Certificate(config.clientCertPem ?? "");
    expect(leaf.subject).toBe("O=system:nodes\nCN=system:node:n1");
    expect(Date.parse(leaf.validTo)).toBe(joined.validUntil);
    const key = loadPrivateKey(config.clientKeyPem ?? "");
    expect(leaf.publicKey.export({ type: "spki", format: "der" })).toEqual(spkiOf(key));
    const pem = await readFile(joined.credentialFile, "utf8");
    expect(pem).toMatch(
      /^-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----[^-]*-----END EC PRIVATE KEY-----\n$/,
    );
  });

  test("lets nobody but the owner read the key, the kubeconfig and the folders", async () => {
    const joined = await bench.join(hub);
    const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    expect(await mode(joined.credentialFile)).toBe(0o600);
    expect(await mode(bench.kubeconfig)).toBe(0o600);
    expect(await mode(bench.certDir)).toBe(0o700);
    expect(await mode(joinPath(bench.kubeconfig, ".."))).toBe(0o700);
    expect((await lstat(joined.credentialFile)).isSymbolicLink()).toBe(true);
  });

  test("tells its progress in order", async () => {
    await bench.join(hub);
    expect(kinds().filter((kind) => kind !== "waiting-for-approval")).toEqual([
      "discovering",
      "verified",
      "key-ready",
      "request-created",
      "issued",
      "written",
      "written",
      "written",
      "written",
    ]);
    expect(bench.events).toContainEqual({ kind: "verified", server: hub.url, caPins: [hub.ca.pin], by: "pin" });
  });

  test("asks as a kubelet does: name by digest, kubelet signer, usages of an EC key", async () => {
    const joined = await bench.join(hub);
    const request = [...hub.requests.values()][0];
    expect(request).toMatchObject({
      name: joined.requestName,
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    });
    expect(request?.name).toMatch(/^node-csr-[A-Za-z0-9_-]{43}$/);
  });

  test.each([
    ["26", ["digital signature", "key encipherment", "client auth"]],
    ["26+", ["digital signature", "key encipherment", "client auth"]],
    ["27", ["digital signature", "client auth"]],
    ["", ["digital signature", "key encipherment", "client auth"]],
  ])("asks a Kubernetes of minor version %j as its own kubelets do", async (minor, usages) => {
    hub.minor = minor;
    await bench.join(hub);
    expect([...hub.requests.values()].map((request) => request.usages)).toEqual([usages]);
  });

  test("shows how to approve when no approver has decided, and goes on after approval", async () => {
    hub.auto = false;
    const joined = await bench.join(hub, {
      onEvent: (event) => {
        if (event.kind !== "waiting-for-approval") return;
        expect(event.commands).toEqual([
          `pratique approve csr/${event.name}`,
          `kubectl certificate approve ${event.name}`,
        ]);
        hub.approve(event.name);
        hub.issue(event.name);
      },
    });
    expect(joined.outcome).toBe("joined");
    expect(kinds()).toContain("waiting-for-approval");
  });
});

test("every connection is closed at the end, whether it went well or not", async () => {
  await bench.join(hub);
  await hub.idle();
  hub.sign = (csr) => clientCertificate(testCa(), csr);
  await bench.failure(hub, { force: true });
  await hub.idle();
  await bench.failure(hub, { force: true, token: { pins: [testCa().pin] } });
  await hub.idle();
  expect(hub.seen.length).toBeGreaterThan(6);
});

describe("a join that was done before", () => {
  test("is left alone without a word to the hub", async () => {
    const first = await bench.join(hub);
    hub.seen.length = 0;
    const again = await bench.join(hub);
    expect(again).toMatchObject({ outcome: "already-joined", validUntil: first.validUntil, server: hub.url });
    expect(hub.seen).toEqual([]);
    expect(hub.requests.size).toBe(1);
  });

  test("is left alone even when the token has expired meanwhile", async () => {
    await bench.join(hub);
    hub.tokens = [];
    hub.publish();
    expect((await bench.join(hub)).outcome).toBe("already-joined");
  });

  test("is done anew with another key by force", async () => {
    const first = await bench.join(hub);
    const key = await readFile(first.credentialFile, "utf8");
    const second = await bench.join(hub, { force: true });
    expect(second.outcome).toBe("joined");
    expect(second.requestName).not.toBe(first.requestName);
    expect(await readFile(second.credentialFile, "utf8")).not.toBe(key);
  });

  describe("by force, where the hub does not accept its certificate", () => {
    beforeEach(async () => {
      await bench.join(hub);
      hub.auto = false;
      hub.intercept = ({ headers, socket }, response) => {
        const isByCertificate = Object.keys((socket as TLSSocket).getPeerCertificate()).length > 0;
        if (headers.authorization !== undefined || !isByCertificate) return false;
        refuse(response, 401, "Unauthorized", "Unauthorized");
        return true;
      };
    });
    const last = (): string => [...hub.requests.keys()].at(-1) ?? "";
    /** Ends while its request waits for an approver. */
    async function interrupted(): Promise<void> {
      const stop = new AbortController();
      const onEvent = ({ kind }: JoinEvent): void => {
        if (kind === "waiting-for-approval") stop.abort();
      };
      expect(await bench.failure(hub, { force: true, signal: stop.signal, onEvent })).toMatchObject({
        code: "aborted",
      });
    }

    test("continues with the key whose request waits for an approver", async () => {
      await interrupted();
      const waiting = last();
      hub.approve(waiting);
      hub.issue(waiting);
      expect(await bench.join(hub, { force: true })).toMatchObject({ outcome: "joined", requestName: waiting });
      expect(hub.requests.size).toBe(2);
    });

    test("takes another key where that certificate has made the request, which the hub approves no more", async () => {
      await interrupted();
      const waiting = last();
      Object.assign(hub.requests.get(waiting) ?? {}, { username: "system:node:n1" });
      await interrupted();
      expect(last()).not.toBe(waiting);
    });
  });

  test("is done anew when its certificate has expired", async () => {
    hub.sign = (csr) => clientCertificate(hub.ca, csr, { toMs: 3000 });
    const clock = { now: () => Date.now() + 10_000, sleep: async () => {} };
    await bench.join(hub);
    hub.sign = (csr) => clientCertificate(hub.ca, csr);
    const later = {
      ...clock,
      sleep: (_: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve())),
    };
    const second = await bench.join(hub, { clock: later });
    expect(second.outcome).toBe("joined");
    expect(hub.requests.size).toBe(2);
  });

  test.each([
    ["key of another", (pem: string) => pem.replace(/-----BEGIN EC[^]*/, exportSec1Pem(generatePrivateKey()))],
    ["missing key", (pem: string) => pem.replace(/-----BEGIN EC[^]*/, "")],
    ["missing certificate", (pem: string) => pem.replace(/-----BEGIN CERT[^]*?-----END CERTIFICATE-----/, "")],
    ["damaged certificate", (pem: string) => pem.replace(/MII/, "MIA")],
    ["empty content", () => ""],
  ])("is done anew when its credential has the fault: %s", async (_, damage) => {
    const { credentialFile } = await bench.join(hub);
    await writeFile(credentialFile, damage(await readFile(credentialFile, "utf8")));
    expect((await bench.join(hub)).outcome).toBe("joined");
    expect(hub.requests.size).toBe(2);
  });

  test("already-joined: as another node it is refused", async () => {
    await bench.join(hub);
    const error = await bench.failure(hub, { nodeName: "n2" });
    expect(error.code).toBe("already-joined");
    expect(error.message).toBe(
      `this machine is joined to ${hub.url} already, as system:node:n1 and not as system:node:n2; give other places with --cert-dir and --kubeconfig, or replace it with --force`,
    );
  });

  test("that lost its kubeconfig does not lend its credential to another node", async () => {
    await bench.join(hub);
    await rm(bench.kubeconfig);
    const joined = await bench.join(hub, { nodeName: "n2" });
    expect(new X509Certificate(await readFile(joined.credentialFile)).subject).toContain("CN=system:node:n2");
    await rm(bench.kubeconfig);
    await bench.join(hub, { nodeName: "n2" });
    expect(kinds()).toContain("credential-found");
    expect(hub.requests.size).toBe(2);
  });

  test("already-joined: to another hub it is refused before that hub hears of it, and done by force", async () => {
    await bench.join(hub);
    const other = await startFakeHub({ tokens: [testToken], auto: true });
    try {
      const error = await bench.failure(other);
      expect(error.code).toBe("already-joined");
      expect(error.message).toContain("whose CA is another one");
      expect(other.seen).toEqual([]);
      expect((await bench.join(other, { force: true })).server).toBe(other.url);
    } finally {
      await other.close();
    }
  });

  test.each([
    [
      "of a person",
      "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {user: u}}]\nusers: [{name: u, user: {token: secret}}]\n",
    ],
    ["that is none", "no: [kubeconfig"],
    ["that is empty", ""],
  ])("already-joined: a kubeconfig %s is never overwritten without force", async (_, text) => {
    const kubeconfig = joinPath(bench.dir, "config");
    await writeFile(kubeconfig, text);
    const error = await bench.failure(hub, { kubeconfig });
    expect(error.code).toBe("already-joined");
    expect(error.message).toContain(`${kubeconfig} `);
    expect(error.message).not.toContain("secret");
    expect(await readFile(kubeconfig, "utf8")).toBe(text);
    expect(hub.seen).toEqual([]);
    expect((await bench.join(hub, { kubeconfig, force: true })).outcome).toBe("joined");
  });
});

describe("a join that is killed", () => {
  /** Files whose step number `step` fails, before or after it has taken effect. */
  function failing(
    step: number,
    when: "before" | "after",
  ): { readonly files: PrivateFiles; readonly failed: () => boolean } {
    let count = 0;
    const at =
      <A extends readonly unknown[], R>(run: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        count += 1;
        const killed = Object.assign(new Error("killed"), { code: "EIO" });
        if (count >= step && when === "before") throw killed;
        const result = await run(...args);
        if (count >= step) throw killed;
        return result;
      };
    return {
      files: {
        privateFolder: at(privateFiles.privateFolder),
        replaceFile: at(privateFiles.replaceFile),
        replaceLink: at(privateFiles.replaceLink),
        removeFile: at(privateFiles.removeFile),
        textIfThere: privateFiles.textIfThere,
        namesIn: privateFiles.namesIn,
        targetOf: privateFiles.targetOf,
        removeUnfinished: privateFiles.removeUnfinished,
      },
      failed: () => count >= step,
    };
  }

  const steps = [1, 2, 3, 4, 5, 6, 7, 8, 9];

  test.each(steps.flatMap((step) => [[step, "before"] as const, [step, "after"] as const]))(
    "at step %i, %s its effect, is finished by the same join with one request on the hub",
    async (step, when) => {
      const { files, failed } = failing(step, when);
      const error = await bench.failure(hub, { files });
      expect(error.code).toBe("write-failed");
      expect(failed()).toBe(true);
      const joined = await bench.join(hub);
      expect(joined.server).toBe(hub.url);
      expect(hub.requests.size).toBe(1);
      const names = await readdir(bench.certDir);
      expect(names.filter((name) => name.includes("tmp") || name.includes("updated"))).toEqual([]);
      expect(parseKubeconfig(await readFile(bench.kubeconfig, "utf8"), "k").currentContext).toBe("default-context");
      expect((await bench.join(hub)).outcome).toBe("already-joined");
    },
  );

  test("has no tenth step", async () => {
    const { files, failed } = failing(10, "before");
    await bench.join(hub, { files });
    expect(failed()).toBe(false);
  });

  test("after the request was made goes on with the same key, and needs no second approval", async () => {
    hub.auto = false;
    const controller = new AbortController();
    const first = await bench.failure(hub, {
      signal: controller.signal,
      onEvent: (event) => event.kind === "request-created" && controller.abort(),
    });
    expect(first.code).toBe("aborted");
    const [name = ""] = hub.requests.keys();
    hub.approve(name);
    hub.issue(name);
    const joined = await bench.join(hub);
    expect(joined.requestName).toBe(name);
    expect(kinds()).toContain("request-found");
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "key-ready", reused: true }));
  });

  test("after the credential was put in use needs no certificate request any more", async () => {
    const { files } = failing(6, "before");
    await bench.failure(hub, { files });
    hub.requests.clear();
    expect((await bench.join(hub)).outcome).toBe("joined");
    expect(kinds()).toContain("credential-found");
    expect(hub.requests.size).toBe(0);
  });
});

describe("what the hub answers", () => {
  const name = (): string => [...hub.requests.keys()][0] ?? "";

  test("denied: the reason and the message of the approver are shown without control characters", async () => {
    hub.auto = false;
    const error = await bench.failure(hub, {
      onEvent: (event) =>
        event.kind === "request-created" &&
        hub.condition(event.name, { type: "Denied", reason: "Unknown", message: "not \u001b[31mours\u001b[0m" }),
    });
    expect(error.code).toBe("denied");
    expect(error.message).toBe(
      `the request ${name()} was denied: Unknown: not  [31mours [0m. If that was a mistake, have it deleted (\`kubectl delete csr ${name()}\`) and join again, or join with --force, which creates a new request with a new key`,
    );
  });

  test("denied: by force the machine asks anew with a new key", async () => {
    hub.auto = false;
    await bench.failure(hub, {
      onEvent: (event) => event.kind === "request-created" && hub.condition(event.name, { type: "Denied" }),
    });
    hub.auto = true;
    expect((await bench.failure(hub)).code).toBe("denied");
    expect((await bench.join(hub, { force: true })).outcome).toBe("joined");
    expect(hub.requests.size).toBe(2);
  });

  test("denied: by force a new request is not made twice", async () => {
    hub.auto = false;
    const deny: Parameters<JoinBench["join"]>[1] = {
      force: true,
      onEvent: (event) => event.kind === "request-created" && hub.condition(event.name, { type: "Denied" }),
    };
    expect((await bench.failure(hub, deny)).code).toBe("denied");
    expect(hub.requests.size).toBe(1);
  });

  test("failed: the signer's reason is shown", async () => {
    hub.auto = false;
    const error = await bench.failure(hub, {
      onEvent: (event) => {
        if (event.kind !== "request-created") return;
        hub.approve(event.name);
        hub.condition(event.name, { type: "Failed", reason: "SignerValidationFailure", message: "no" });
      },
    });
    expect(error.code).toBe("failed");
    expect(error.message).toContain(`could not sign it: SignerValidationFailure: no. Once`);
  });

  test("unauthorized: a token that expires after discovery", async () => {
    const { tokens } = hub;
    const error = await bench.failure(hub, { onEvent: (event) => event.kind === "verified" && (hub.tokens = []) });
    hub.tokens = tokens;
    expect(error.code).toBe("unauthorized");
    expect(error.message).toMatch(/^the hub refuses the token abcdef \(Unauthorized\): expired or deleted meanwhile/);
    expect(error.message).not.toContain(testToken.secret);
  });

  test("forbidden: a token whose groups may not ask", async () => {
    hub.intercept = (request, response) => {
      if (request.method !== "POST") return false;
      const message = 'certificatesigningrequests is forbidden: User "system:bootstrap:abcdef" cannot create';
      response.writeHead(403).end(JSON.stringify({ kind: "Status", reason: "Forbidden", message, code: 403 }));
      return true;
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("forbidden");
    expect(error.message).toContain("cannot create. Its groups need the ClusterRole system:node-bootstrapper");
  });

  test("refused: any other refusal of the request is shown", async () => {
    hub.intercept = (request, response) => {
      if (request.method !== "POST") return false;
      response
        .writeHead(422)
        .end(JSON.stringify({ kind: "Status", reason: "Invalid", message: "spec is odd", code: 422 }));
      return true;
    };
    const error = await bench.failure(hub);
    expect(error).toMatchObject({ code: "refused", message: "the hub refuses the certificate request: spec is odd" });
  });

  test("an earlier request whose certificate has expired is asked anew with another key", async () => {
    const files = {
      ...privateFiles,
      replaceLink: () => Promise.reject(Object.assign(new Error("x"), { code: "EIO" })),
    };
    await bench.failure(hub, { files });
    const stored = hub.requests.get(name());
    if (stored === undefined) throw new TypeError("no request");
    const { parseCsr } = await import("../../pki/csr.ts");
    const csr = parseCsr(Buffer.from(stored.request, "base64"));
    hub.issue(name(), clientCertificate(hub.ca, csr, { fromMs: -10_000, toMs: -5000 }));
    const before = name();
    expect((await bench.join(hub)).outcome).toBe("joined");
    expect([...hub.requests.keys()].filter((one) => one !== before)).toHaveLength(1);
  });

  test("bad-certificate: one of another CA is not written", async () => {
    const stranger = testCa("stranger");
    hub.sign = (csr) => clientCertificate(stranger, csr);
    const error = await bench.failure(hub);
    expect(error.code).toBe("bad-certificate");
    expect(error.message).toContain("signed by an unknown authority; nothing was written");
    expect(await readdir(bench.certDir)).toEqual(["kubelet-client.key.tmp"]);
  });

  test("clock-skew: a certificate that becomes valid later tells by how much, and what the hub's clock says", async () => {
    await hub.close();
    hub = await startFakeHub({ tokens: [testToken], auto: true, aheadMs: 41 * 60_000 });
    hub.sign = (csr) => clientCertificate(hub.ca, csr, { fromMs: 36 * 60_000, toMs: 7_200_000 });
    const error = await bench.failure(hub);
    expect(error.code).toBe("clock-skew");
    expect(error.message).toMatch(
      /^the hub issued a certificate that will be valid in 3[56] minutes by this machine's clock: this machine's clock is 41 minutes behind the hub's; set the clock/,
    );
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "clock-differs" }));
  });

  test("unreachable: a hub that goes away after discovery is tried again, then named", async () => {
    let posts = 0;
    hub.intercept = (request) => {
      if (request.method !== "POST") return false;
      posts += 1;
      request.socket.destroy();
      return true;
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("unreachable");
    expect(error.message).toContain(`${hub.url} closed the connection before it answered`);
    expect(posts).toBeGreaterThan(2);
    expect(kinds()).toContain("retrying");
  });

  test("write-failed: a place that cannot be written is named before the hub hears anything", async () => {
    const file = joinPath(bench.dir, "file");
    await writeFile(file, "");
    const error = await bench.failure(hub, { certDir: joinPath(file, "pki") });
    expect(error.code).toBe("write-failed");
    expect(error.message).toContain(`a part of the path ${joinPath(file, "pki")} is no folder`);
    expect(hub.seen).toEqual([]);
  });

  test.each([
    ["EACCES", "run as root, or choose places of your own with --cert-dir and --kubeconfig"],
    ["ENOSPC", "free some and join again"],
    ["EROFS", "choose other places with --cert-dir and --kubeconfig"],
  ])("write-failed: %s has its advice", async (code, advice) => {
    const files = { ...privateFiles, replaceFile: () => Promise.reject(Object.assign(new Error(code), { code })) };
    const error = await bench.failure(hub, { files });
    expect(error).toMatchObject({ code: "write-failed", causeCode: code });
    expect(error.message).toContain(`: ${advice}`);
  });

  test("bad-node-name: a name that no node can have", async () => {
    const error = await bench.failure(hub, { nodeName: "Not_A_Node" });
    expect(error.code).toBe("bad-node-name");
    expect(error.message).toContain('"Not_A_Node" cannot be the name of a node');
    expect(hub.seen).toEqual([]);
  });
});

test("are a kubelet's own places for root", () => {
  expect(joinDefaults({ hostname: "N1.Example\n", uid: 0, home: "/root" })).toEqual({
    nodeName: "n1.example",
    certDir: "/var/lib/kubelet/pki",
    kubeconfig: "/etc/kubernetes/kubelet.conf",
  });
});

test.each([1000, undefined])("are a folder under the home for the user %j", (uid) => {
  expect(joinDefaults({ hostname: "n1", uid, home: "/home/a" })).toEqual({
    nodeName: "n1",
    certDir: "/home/a/.pratique/agent/pki",
    kubeconfig: "/home/a/.pratique/agent/kubelet.conf",
  });
});
