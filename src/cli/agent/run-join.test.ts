import { describe, expect, test } from "vitest";
import { JoinError, type JoinErrorCode } from "../../credentials/join-error.ts";
import type { JoinEvent } from "../../agent/join/join-event.ts";
import type { Joined, JoinOptions } from "../../agent/join/join-options.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { fakeIo, type FakeIo, type FakeIoOptions, runLine } from "../../../test/kits/fake-io.ts";

const token = "abcdef.0123456789abcdef";
const pin = `sha256:${"0f".repeat(32)}`;
const validUntil = Date.UTC(2027, 10, 21);

const joined: Joined = {
  outcome: "joined",
  nodeName: "m1",
  server: "https://hub.example:6443",
  certDir: "/var/lib/kubelet/pki",
  kubeconfig: "/etc/kubernetes/kubelet.conf",
  credentialFile: "/var/lib/kubelet/pki/kubelet-client-current.pem",
  validUntil,
  requestName: "node-csr-x",
};

interface World {
  readonly io: FakeIo;
  readonly calls: JoinOptions[];
}

function world(outcome: Joined | Error, events: readonly JoinEvent[] = [], more: FakeIoOptions = {}): World {
  const calls: JoinOptions[] = [];
  const io = fakeIo({
    join: async (options, report) => {
      calls.push(options);
      for (const event of events) report(event);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    ...more,
  });
  return { io, calls };
}

const line = `join hub.example:6443 --token ${token} --discovery-token-ca-cert-hash ${pin}`;

const story: readonly JoinEvent[] = [
  { kind: "discovering", server: "https://hub.example:6443" },
  { kind: "retrying", code: "unreachable", message: "nothing listens at hub.example:6443", forMs: 10_000 },
  { kind: "clock-differs", aheadMs: 60_000, message: "this clock is a minute ahead" },
  { kind: "verified", server: "https://hub.example:6443", caPins: [pin], by: "pin" },
  { kind: "key-ready", fingerprint: "SHA256:abc", reused: false },
  { kind: "request-created", name: "node-csr-x", fingerprint: "SHA256:abc", nodeName: "m1" },
  {
    kind: "waiting-for-approval",
    name: "node-csr-x",
    fingerprint: "SHA256:abc",
    commands: ["pratique approve csr/node-csr-x", "kubectl certificate approve node-csr-x"],
  },
  { kind: "retrying", code: "unreachable", message: "hub.example:6443 closed the connection" },
  { kind: "reconnected", server: "https://hub.example:6443" },
  { kind: "approved", name: "node-csr-x" },
  { kind: "issued", name: "node-csr-x", validUntil },
  { kind: "written", path: "/etc/kubernetes/kubelet.conf" },
];

const reported = `trying again for up to 10s (--discovery-timeout), since nothing listens at hub.example:6443
this clock is a minute ahead
the hub https://hub.example:6443 is the right one: its CA has the pinned key
made a private key: SHA256:abc
asked for a certificate as m1: node-csr-x
waiting for approval. On the hub, compare the key SHA256:abc, then: pratique approve csr/node-csr-x  or  kubectl certificate approve node-csr-x
trying again, since hub.example:6443 closed the connection
connected to https://hub.example:6443 again
approved
got the certificate, valid until 2027-11-21T00:00:00Z
wrote /etc/kubernetes/kubelet.conf
`;

const result = `This machine has joined.
  node        m1
  server      https://hub.example:6443
  kubeconfig  /etc/kubernetes/kubelet.conf
  credential  /var/lib/kubelet/pki/kubelet-client-current.pem, valid until 2027-11-21T00:00:00Z
Try it: kubectl --kubeconfig /etc/kubernetes/kubelet.conf auth whoami
Keep it fresh: pratique agent --dir /var/lib/kubelet/pki
`;

describe("pratique join", () => {
  test("tells each step in plain lines and then what the machine holds", async () => {
    const { io, calls } = world(joined, story);
    expect(await runLine(line, io)).toBe(0);
    expect(io.err()).toBe(reported);
    expect(io.out()).toBe(result);
    expect(calls[0]).toMatchObject({
      discovery: {
        kind: "token",
        endpoint: "hub.example:6443",
        token,
        pins: [pin],
        unsafeSkipCaVerification: false,
      },
      waitMs: 900_000,
      discoveryTimeoutMs: 10_000,
      force: false,
    });
  });

  test("says so when the machine had joined already", async () => {
    const { io } = world({ ...joined, outcome: "already-joined" });
    expect(await runLine(line, io)).toBe(0);
    expect(io.out()).toMatch(/^This machine had joined already; nothing was changed\.\n/);
  });

  test("prints JSON", async () => {
    const { io } = world(joined);
    expect(await runLine(`${line} -o json`, io)).toBe(0);
    expect(JSON.parse(io.out())).toEqual({ ...joined, validUntil: "2027-11-21T00:00:00Z" });
  });

  test("turns a spinner on a terminal, and takes it away before each line and at the end", async () => {
    const { io } = world(joined, story.slice(0, 4), { tty: true });
    expect(await runLine(line, io)).toBe(0);
    const clear = "\r\u001b[K";
    expect(io.err()).toBe(
      `${clear}\u001b[36m⠋\u001b[39m looking for the hub at https://hub.example:6443${clear}` +
        "\u001b[33m!\u001b[39m trying again for up to 10s (--discovery-timeout), since nothing listens at hub.example:6443\n" +
        "\u001b[33m!\u001b[39m this clock is a minute ahead\n" +
        "\u001b[32m✓\u001b[39m the hub https://hub.example:6443 is the right one: its CA has the pinned key\n",
    );
  });

  test("turns no spinner on a terminal with NO_COLOR, or a dumb one", async () => {
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      const { io } = world(joined, story, { tty: true, env });
      expect(await runLine(line, io)).toBe(0);
      expect(io.err()).toBe(reported);
    }
  });

  test.each([
    ["NodeNameInUse: the node name m1 is in use", "stop and join with another --node-name"],
    ["UserRevoked: the user is revoked", "do not approve the request: an approval ends in the condition Failed"],
  ])("says beside %s what to do in place of an approval", async (message, advice) => {
    const { io } = world(joined, [{ kind: "left-to-approver", name: "node-csr-x", message }]);
    await runLine(line, io);
    expect(io.err()).toContain(`the hub says: ${message}\n`);
    expect(io.err()).toContain(advice);
  });

  test("shows what the hub chose escaped", async () => {
    const { io } = world(joined, [{ kind: "server-differs", used: "https://a", other: "https://b\u001b[2J\n" }]);
    await runLine(line, io);
    expect(io.err()).toBe(
      "the hub calls itself https://b\\u{1b}[2J\\u{a}; the discovery file says https://a, which is used\n",
    );
  });

  test("hands the signal on, so that an interruption ends the join with code 130", async () => {
    const io = fakeIo({
      join: (options) =>
        new Promise((_, reject) => {
          options.signal?.addEventListener("abort", () => reject(new JoinError("aborted", "interrupted")));
        }),
    });
    const running = runLine(line, io);
    await settled();
    io.interrupt();
    expect(await running).toBe(130);
    expect(io.err()).toBe("error: interrupted\n");
  });
});

describe("the token", () => {
  test("is read from a file, without the line break at its end", async () => {
    const { io, calls } = world(joined, [], { files: { "/run/token": `${token}\n` } });
    expect(await runLine(`join h:1 --token-file /run/token --discovery-token-ca-cert-hash ${pin}`, io)).toBe(0);
    expect(calls[0]?.discovery).toMatchObject({ token });
  });

  test("is read from standard input", async () => {
    const { io, calls } = world(joined, [], { stdin: `${token}\n` });
    expect(await runLine(`join h:1 --token-file - --discovery-token-ca-cert-hash ${pin}`, io)).toBe(0);
    expect(calls[0]?.discovery).toMatchObject({ token });
  });
});

describe("the other ways of discovery", () => {
  const cases: Readonly<Record<string, object>> = {
    "join --discovery-file d.conf": { kind: "file", location: "/here/d.conf", token: undefined },
    [`join --discovery-file https://x/y --token ${token}`]: { kind: "file", location: "https://x/y", token },
    "join --bootstrap-kubeconfig /etc/b": { kind: "bootstrap-kubeconfig", path: "/etc/b" },
    [`join h:1 --token ${token} --discovery-token-unsafe-skip-ca-verification`]: {
      kind: "token",
      endpoint: "h:1",
      token,
      pins: [],
      unsafeSkipCaVerification: true,
    },
  };
  test.each(Object.entries(cases))("`%s`", async (words, discovery) => {
    const { io, calls } = world(joined);
    expect(await runLine(words, io)).toBe(0);
    expect(calls[0]?.discovery).toEqual(discovery);
  });

  test("paths are relative to the working directory", async () => {
    const { io, calls } = world(joined);
    await runLine(
      `${line} --cert-dir pki --kubeconfig ../k --node-name m1 --timeout 5s --discovery-timeout 1s --force`,
      io,
    );
    expect(calls[0]).toMatchObject({
      certDir: "/here/pki",
      kubeconfig: "/k",
      nodeName: "m1",
      waitMs: 5000,
      discoveryTimeoutMs: 1000,
      force: true,
    });
  });
});

describe("a wrong join", () => {
  const cases: Readonly<Record<string, string>> = {
    join: "there is no hub to join: give HOST:PORT, --discovery-file or --bootstrap-kubeconfig, and only one of them",
    simulate:
      "there is no hub to join: give HOST:PORT, --discovery-file or --bootstrap-kubeconfig, and only one of them",
    "join h:1 --discovery-file f":
      "there is more than one way to the hub: give HOST:PORT, --discovery-file or --bootstrap-kubeconfig, and only one of them",
    "join h:1":
      "the token is missing: give --token-file FILE (- for standard input) or --token TOKEN\nOn the hub, `pratique token create --print-join-command` prints a whole command line.",
    "join h:1 --token a --token-file b": "--token and --token-file exclude each other",
    "join h:1 --token-file b": "--token-file: b does not exist: check the path",
    "join --bootstrap-kubeconfig b --token a":
      "--bootstrap-kubeconfig holds a credential already; leave out --token and --token-file",
    [`join --discovery-file f --discovery-token-ca-cert-hash ${pin}`]:
      "a pin belongs to HOST:PORT; a discovery file or bootstrap kubeconfig names the CA itself",
  };
  test.each(Object.entries(cases))("`%s` is refused with code 2", async (words, text) => {
    const { io, calls } = world(joined);
    expect(await runLine(words, io)).toBe(2);
    expect(io.err()).toBe(`error: ${text}\nSee 'pratique ${words.split(" ")[0]} --help'.\n`);
    expect(calls).toEqual([]);
  });
});

describe("a join that fails", () => {
  const codes: Readonly<Record<JoinErrorCode, number>> = {
    "bad-endpoint": 2,
    "bad-token-format": 2,
    "bad-pin-format": 2,
    "missing-pin": 2,
    "bad-node-name": 2,
    "bad-key": 2,
    "bad-discovery-file": 2,
    unreachable: 3,
    "not-a-hub": 3,
    "no-cluster-info": 3,
    "bad-cluster-info": 3,
    "token-unknown": 4,
    "bad-signature": 4,
    "pin-mismatch": 3,
    "tls-mismatch": 3,
    "changed-between-reads": 3,
    "clock-skew": 1,
    unauthorized: 4,
    forbidden: 4,
    refused: 4,
    "csr-conflict": 7,
    denied: 4,
    failed: 1,
    deleted: 6,
    "timeout-waiting": 5,
    "bad-certificate": 1,
    "write-failed": 1,
    "already-joined": 7,
    "no-access": 6,
    aborted: 130,
  };
  test.each(Object.entries(codes))("for the reason %s ends with its code and the sentence", async (code, exit) => {
    const { io } = world(new JoinError(code as JoinErrorCode, "what went wrong; what to do"));
    expect(await runLine(line, io)).toBe(exit);
    expect(io.err().split("\n")[0]).toMatch(/^error: (--[a-z-]+: )?what went wrong; what to do$/);
    expect(io.out()).toBe("");
  });
});
