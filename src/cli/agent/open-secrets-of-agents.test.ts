import type { LeftHub } from "../../agent/klusterlet/leave-hub.ts";
import { describe, expect, it } from "vitest";
import { tokenFileKubeconfig } from "../../client/build-kubeconfig.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { fakeIo, runLine, type FakeIo, type FakeIoOptions } from "../../../test/kits/fake-io.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";

const start = Date.UTC(2026, 10, 21);
const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const bootstrapToken = "abcdef.0123456789abcdef";
const server = "https://hub.example:6443";

/** A kubeconfig whose user is `user`. */
const kubeconfig = (user: object): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "certificate-authority-data": Buffer.from(pem).toString("base64") } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });

interface Looked {
  readonly io: FakeIo;
  /** The files whose mode was looked at, with the bits that others may have. */
  readonly looked: (readonly [string, number])[];
}

/** A world in which the files named in `open` may be used by others than their owner. */
function world(open: readonly string[], options: FakeIoOptions): Looked {
  const looked: (readonly [string, number])[] = [];
  const io = fakeIo({
    clock: fakeClock(start),
    openPermissions: async (path, allowed = 0) => {
      looked.push([path, allowed]);
      return open.includes(path) ? `${path} is open` : undefined;
    },
    ...options,
  });
  return { io, looked };
}

/** The warnings, of a log and of standard error alike. */
const warnings = (io: FakeIo): readonly string[] =>
  io
    .err()
    .split("\n")
    .filter((line) => /warn/i.test(line));

describe("pratique agent", () => {
  const dir = "/here/access";
  const files = {
    [`${dir}/token`]: unsignedToken({ issuedAt: start }),
    [`${dir}/kubeconfig`]: tokenFileKubeconfig({ server, ca: { pem }, tokenFile: `${dir}/token` }),
  };
  const runAgent: FakeIoOptions["runAgent"] = async () => undefined;

  it.each(["agent --dir access", "agent --dir access --once"])("warns in its log of open secrets: %s", async (line) => {
    const { io, looked } = world([`${dir}/token`, `${dir}/key.pem`], { files, runAgent });
    await runLine(line, io);
    expect(warnings(io)).toEqual([
      expect.stringContaining(`${dir}/key.pem is open`),
      expect.stringContaining(`${dir}/token is open`),
    ]);
    // A group may read what the agent shares with it.
    expect(looked).toEqual(["key.pem", "token", "bootstrap-token"].map((name) => [`${dir}/${name}`, 0o040]));
  });

  it("warns on stderr with --status, which prints the same as ever", async () => {
    const [open, closed] = [world([`${dir}/token`], { files }), world([], { files })];
    for (const { io } of [open, closed]) await runLine("agent --dir access --status", io);
    expect(warnings(open.io)).toEqual([`warning: ${dir}/token is open`]);
    expect(warnings(closed.io)).toEqual([]);
    expect(open.io.out()).toBe(closed.io.out());
  });

  it("warns of the key file that it is given, and says nothing of one that is private", async () => {
    for (const [open, warned] of [
      [["/here/own.pem"], [expect.stringContaining("/here/own.pem is open")]],
      [[], []],
    ] as const) {
      const { io, looked } = world(open, { files: { ...files, "/here/own.pem": "key" }, runAgent });
      await runLine("agent --dir access --key own.pem", io);
      expect(warnings(io)).toEqual(warned);
      expect(looked).toContainEqual(["/here/own.pem", 0]);
    }
  });
});

describe("pratique join", () => {
  const join: FakeIoOptions["join"] = async () => ({
    outcome: "joined",
    nodeName: "m1",
    server,
    certDir: "/var/lib/kubelet/pki",
    kubeconfig: "/etc/kubernetes/kubelet.conf",
    credentialFile: "/var/lib/kubelet/pki/kubelet-client-current.pem",
    validUntil: start,
    requestName: "node-csr-x",
  });
  const pin = `sha256:${"0f".repeat(32)}`;

  it.each([
    ["a token file", `join hub.example:6443 --token-file t --discovery-token-ca-cert-hash ${pin}`, "/here/t"],
    ["a discovery file", `join --discovery-file d --token ${bootstrapToken}`, "/here/d"],
    ["a bootstrap kubeconfig", "join --bootstrap-kubeconfig b", "/here/b"],
    ["the token file to which a bootstrap kubeconfig points", "join --bootstrap-kubeconfig p", "/here/held"],
  ])("warns of %s that others may use, and of no other file", async (_what, line, path) => {
    const files = {
      "/here/t": bootstrapToken,
      "/here/d": kubeconfig({ token: bootstrapToken }),
      "/here/b": kubeconfig({ token: bootstrapToken }),
      "/here/p": kubeconfig({ tokenFile: "/here/held" }),
      "/here/held": bootstrapToken,
    };
    const [open, closed] = [world(Object.keys(files), { files, join }), world([], { files, join })];
    for (const { io } of [open, closed]) expect(await runLine(line, io)).toBe(0);
    expect(warnings(open.io)).toEqual([`warning: ${path} is open`]);
    expect(warnings(closed.io)).toEqual([]);
    expect(open.io.err()).not.toContain(bootstrapToken);
  });

  it("does not judge a discovery file without a secret", async () => {
    const { io, looked } = world(["/here/d"], { files: { "/here/d": kubeconfig({}) }, join });
    expect(await runLine(`join --discovery-file d --token ${bootstrapToken}`, io)).toBe(0);
    expect([warnings(io), looked]).toEqual([[], []]);
  });
});

describe("pratique klusterlet", () => {
  const files = {
    "/here/boot": kubeconfig({ token: bootstrapToken }),
    "/here/second": kubeconfig({ "client-certificate": "/here/c.pem", "client-key": "/here/k.pem" }),
    "/here/c.pem": pem,
    "/here/k.pem": "key",
  };
  const runKlusterlet: FakeIoOptions["runKlusterlet"] = async () => ({ cluster: "c", agent: "a", server: undefined });

  it("warns in its log of each bootstrap kubeconfig, and of the key to which one points", async () => {
    const { io, looked } = world(["/here/boot", "/here/k.pem"], { files, runKlusterlet });
    await runLine("klusterlet --bootstrap-kubeconfig boot,second --cluster-name c --dir d", io);
    expect(warnings(io)).toEqual([
      expect.stringContaining("/here/boot is open"),
      expect.stringContaining("/here/k.pem is open"),
    ]);
    expect(io.err()).not.toContain(bootstrapToken);
    const own = ["/here/d/tls.key", "/here/d/klusterlet.json"];
    expect(looked.map(([path]) => path)).toEqual(["/here/boot", "/here/k.pem", ...own]);
  });

  it.each(["--bootstrap-kubeconfig boot --cluster-name c", "--status", "--leave"])(
    "warns of its own key and state with %s",
    async (words) => {
      const open = ["/here/d/tls.key", "/here/d/klusterlet.json"];
      const leaveHub = async (): Promise<LeftHub> => ({
        cluster: "c",
        agent: "a",
        server: undefined,
        onHub: "nothing",
      });
      const { io } = world(open, { files, runKlusterlet, leaveHub });
      await runLine(`klusterlet ${words} --dir d`, io);
      expect(warnings(io)).toEqual(open.map((path) => expect.stringContaining(`${path} is open`)));
    },
  );

  it("warns of what is laid out beside the Secret of the cluster, and of the usual folder", async () => {
    const connect = async (): Promise<never> => {
      throw new TypeError("no cluster is asked here");
    };
    for (const [words, path] of [
      ["--spoke-kubeconfig boot --dir d", "/here/d/tls.key"],
      ["", "/home/ada/.pratique/klusterlet/tls.key"],
    ] as const) {
      const { io } = world([path], { files, runKlusterlet, connect });
      await runLine(`klusterlet --bootstrap-kubeconfig boot ${words}`, io).catch(() => undefined);
      expect(warnings(io)).toEqual([expect.stringContaining(`${path} is open`)]);
    }
  });

  it("says nothing where they are private", async () => {
    const { io } = world([], { files, runKlusterlet });
    await runLine("klusterlet --bootstrap-kubeconfig boot,second --cluster-name c --dir d", io);
    expect(warnings(io)).toEqual([]);
  });
});
