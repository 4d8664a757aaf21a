import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { findCredentials } from "../../agent/node/find-credentials.ts";
import type { Acceptance } from "../../credentials/proof/credential-probe.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { Trust } from "../../credentials/trust/trust-bundle-manager.ts";
import { tokenFileKubeconfig } from "../../client/build-kubeconfig.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, type FakeIoOptions, runLine } from "../../../test/kits/fake-io.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";
import type { AgentOptions } from "../../agent/node/agent.ts";

const start = Date.UTC(2026, 10, 21);
const minute = 60_000;
const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const dir = "/here/access";

function world(now: number, state?: object, { files: more, ...options }: FakeIoOptions = {}): FakeIo {
  const files = {
    [`${dir}/token`]: unsignedToken({ issuedAt: start }),
    [`${dir}/kubeconfig`]: tokenFileKubeconfig({
      server: "https://hub.example:6443",
      ca: { pem },
      tokenFile: `${dir}/token`,
    }),
    ...(state === undefined ? {} : { [`${dir}/agent.json`]: JSON.stringify(state) }),
    ...more,
  };
  return fakeIo({ clock: fakeClock(now), files, ...options });
}

/** What the agent writes down of a token that the hub refuses. */
function refusedToken(over: object): Readonly<Record<string, string>> {
  const credential = createHash("sha256")
    .update(unsignedToken({ issuedAt: start }))
    .digest("hex");
  const refusals = { credential, count: 3, since: "2026-11-21T00:10:00Z", message: "401 Unauthorized", ...over };
  return { [`${dir}/refused.json`]: JSON.stringify(refusals) };
}

const planned = { expiresAt: "2026-11-21T01:00:00Z", nextAt: "2026-11-21T00:45:00Z", failures: 0, refused: false };

describe("pratique agent --status", () => {
  test("says until when the token is good and when it is renewed, with code 0", async () => {
    const io = world(start + 30 * minute, planned);
    expect(await runLine("agent --dir access --status", io)).toBe(0);
    expect(io.out()).toBe(
      `The credential is good.
token /here/access/token
  server    https://hub.example:6443
  account   vms/vm-1
  valid     for 30m, until 2026-11-21T01:00:00Z
  hub       accepts it
  next      2026-11-21T00:45:00Z (in 15m)
`,
    );
  });

  test.each([
    ["has ended", start + 60 * minute, planned, 1],
    ["was refused", start + 30 * minute, { ...planned, refused: true, lastError: "the hub does not accept it" }, 4],
  ])("says that the token is of no use where it %s", async (_title, now, state, code) => {
    const io = world(now, state);
    expect(await runLine("agent --dir access --status", io)).toBe(code);
    expect(io.out()).toContain("The credential is of no use.\n");
    expect(io.out()).toMatch(
      /^ {2}to do {5}(?:run pratique agent.*; else )?request access with pratique request under another --name$/m,
    );
  });

  test("asks the hub, for five seconds at most, and tells apart that it refuses the token and that it cannot be reached", async () => {
    const asked: (readonly [Trust, number | undefined])[] = [];
    const answering = (answer: Acceptance): FakeIo =>
      world(start + 30 * minute, planned, {
        probeCredential: async (trust, { timeoutMs }) => {
          asked.push([trust, timeoutMs]);
          return answer;
        },
      });
    const refused = answering({ kind: "refused", message: "401 Unauthorized" });
    expect(await runLine("agent --dir access --status", refused)).toBe(4);
    expect(refused.out()).toContain("The credential is of no use.\n");
    expect(refused.out()).toContain("  hub       refuses it: 401 Unauthorized\n");
    expect(refused.out()).toContain(
      "  to do     see why on the hub (pratique credentials, pratique revocations list); then request access",
    );
    const message = "nothing listens at https://hub.example:6443: check that the server runs";
    const gone = answering({ kind: "unknown", message });
    expect(await runLine("agent --dir access --status", gone)).toBe(3);
    expect(gone.out()).toContain("The credential is good, but the hub cannot be reached.\n");
    expect(gone.out()).toContain(`  hub       cannot be reached: ${message}\n`);
    const json = answering({ kind: "unknown", message });
    expect(await runLine("agent --dir access --status -o json", json)).toBe(3);
    expect(JSON.parse(json.out())).toMatchObject({ good: true, credentials: [{ hub: { kind: "unknown", message } }] });
    const token = unsignedToken({ issuedAt: start });
    expect(asked[0]).toEqual([{ server: "https://hub.example:6443", caPem: pem, credentials: { token } }, 5000]);
  });

  test("asks the hub nothing about a token that has ended", async () => {
    const io = world(start + 60 * minute, planned, { probeCredential: () => Promise.reject(new TypeError("asked")) });
    expect(await runLine("agent --dir access --status", io)).toBe(1);
  });

  test("says since when the hub refuses the token, and what to do, with code 4", async () => {
    const io = world(start + 30 * minute, planned, { files: refusedToken({}) });
    expect(await runLine("agent --dir access --status", io)).toBe(4);
    expect(io.out()).toContain("The credential is of no use.\n");
    expect(io.out()).toContain("  refused   by the hub since 2026-11-21T00:10:00Z: 401 Unauthorized\n");
    expect(io.out()).toContain(
      "  to do     see why on the hub (pratique credentials, pratique revocations list); then request access with pratique request under another --name, which an approver must approve\n",
    );
    const json = world(start + 30 * minute, planned, { files: refusedToken({}) });
    expect(await runLine("agent --dir access --status -o json", json)).toBe(4);
    expect(JSON.parse(json.out())).toMatchObject({
      good: false,
      credentials: [{ good: false, refused: { since: "2026-11-21T00:10:00Z", message: "401 Unauthorized" } }],
    });
  });

  test.each([
    ["another token", { credential: "0".repeat(64) }],
    ["less than three refusals", { count: 2 }],
  ])("takes no harm from what was written about %s", async (_title, over) => {
    const io = world(start + 30 * minute, planned, { files: refusedToken(over) });
    expect(await runLine("agent --dir access --status", io)).toBe(0);
  });

  test("does not take for this token what was written about another", async () => {
    const io = world(start + 30 * minute, { ...planned, expiresAt: "2026-11-20T01:00:00Z", refused: true });
    expect(await runLine("agent --dir access --status", io)).toBe(0);
    expect(io.out()).toContain("  agent     has not looked at it\n");
  });

  test("counts by the hub's clock where that is known", async () => {
    expect(
      await runLine("agent --dir access --status", world(start + 62 * minute, { ...planned, aheadMs: 300_000 })),
    ).toBe(0);
    expect(
      await runLine("agent --dir access --status", world(start + 58 * minute, { ...planned, aheadMs: -300_000 })),
    ).toBe(1);
  });

  test("tells of failures, escaped, and prints JSON without the token", async () => {
    const state = { ...planned, failures: 3, lastError: "no\u001b[2J" };
    const io = world(start + 50 * minute, state);
    expect(await runLine("agent --dir access --status", io)).toBe(0);
    expect(io.out()).toContain("(due since then)\n  failed    3 times in a row: no\\u{1b}[2J\n");
    const json = world(start + 50 * minute, state);
    expect(await runLine("agent --dir access --status -o json", json)).toBe(0);
    expect(JSON.parse(json.out())).toMatchObject({
      good: true,
      credentials: [{ kind: "token", subject: "vms/vm-1", good: true, agent: { failures: 3 } }],
    });
    expect(json.out()).not.toContain(unsignedToken({ issuedAt: start }).slice(-30));
  });

  test.each([{ nextAt: 7 }, ["x"], "x", { ...planned, nextAt: "never" }])(
    "passes over a state that is none: %j",
    async (state) => {
      expect(await runLine("agent --dir access --status", world(start, state as object))).toBe(0);
    },
  );

  test("finds it in folders below, once each", async () => {
    expect(await runLine("agent --dir /here --status", world(start + 30 * minute, planned))).toBe(0);
    const both = world(start + 30 * minute, planned);
    expect(await runLine("agent --dir access --dir /here --status", both)).toBe(0);
    expect(both.out().match(/^token /gm)).toHaveLength(1);
  });

  test("ends with code 6 where there is nothing", async () => {
    const io = fakeIo();
    expect(await runLine("agent --status", io)).toBe(6);
    expect(io.err()).toContain("there is nothing to keep in /home/ada/.pratique: join with pratique join");
  });

  test.each(["agent --status", "agent --once", "credential"])(
    "%s takes a closed folder for no empty one",
    async (line) => {
      const closed = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
      const io = fakeIo({
        runAgent: ({ dirs, view }) => findCredentials(dirs, view).then(() => undefined),
      });
      const closedIo = { ...io, readFile: () => Promise.reject(closed) };
      expect(await runLine(line, closedIo)).toBe(2);
      expect(io.err()).toContain("this account may not read /home/ada/.pratique");
      expect(io.err()).not.toContain("pratique join");
    },
  );
});

describe("pratique agent", () => {
  const name = { kind: "token", path: "/t" } as const;

  test("logs what it does and when it acts next, and is ready once the hub accepts all credentials", async () => {
    const io = world(start, undefined, {
      files: { "/here/k.pem": "key" },
      runAgent: async ({ report, confirmed, ...options }) => {
        expect(options).toMatchObject({ dirs: [dir], once: false, askAgain: true, keyFile: "/here/k.pem" });
        const plan = {
          ...name,
          reason: "RenewalScheduled",
          message: "scheduled the renewal of the token",
          details: { account: "vms/vm-1" },
          at: start + minute,
          expiresAt: start + 2 * minute,
        } as const;
        report(plan);
        confirmed?.(name);
        confirmed?.(name);
        report({ ...name, reason: "RenewalFailed", message: "away", at: start + 1000, expiresAt: start + minute });
        report({ ...name, reason: "RenewalFailed", message: "away", at: start + 1000, expiresAt: start });
        report({ ...name, reason: "CredentialLost", message: "gone" });
      },
    });
    expect(await runLine("agent --dir access --ask-again --key k.pem", io)).toBe(0);
    expect(io.err().replaceAll("2026-11-21T00:00:00.000Z ", "")).toBe(
      `INFO  scheduled the renewal of the token reason=RenewalScheduled file=/t account=vms/vm-1 validUntil=2026-11-21T00:02:00Z renewsAt=2026-11-21T00:01:00Z
INFO  the hub accepts all credentials reason=Ready
WARN  away reason=RenewalFailed file=/t validUntil=2026-11-21T00:01:00Z triedAgainAt=2026-11-21T00:00:01Z
ERROR away reason=RenewalFailed file=/t validUntil=2026-11-21T00:00:00Z triedAgainAt=2026-11-21T00:00:01Z
ERROR gone reason=CredentialLost file=/t
INFO  the agent stopped reason=Stopped
`,
    );
  });

  test.each([
    ["unauthorized", 4],
    ["no-access", 6],
    ["unreachable", 3],
    ["denied", 4],
  ] as const)("ends with the code for %s", async (code, exit) => {
    const io = world(start, undefined, { runAgent: () => Promise.reject(new JoinError(code, "why")) });
    expect(await runLine("agent --dir access", io)).toBe(exit);
    expect(io.err()).toContain("error: why\n");
  });
});

const files = {
  "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\napp:x:1001:1002:App:/home/app:/bin/sh\n",
  "/etc/group": "root:x:0:\nweb:x:1003:app\n",
};

async function accessOf(...words: readonly string[]): Promise<AgentOptions["access"] | number> {
  let access: AgentOptions["access"];
  const runAgent = async (options: AgentOptions): Promise<void> => void (access = options.access);
  const code = await runLine(["agent", "--once", ...words], fakeIo({ files, runAgent }));
  return code === 0 ? access : code;
}

test.each([
  [[], undefined],
  [["--mode", "0640"], { mode: 0o640 }],
  [["--mode", "440"], { mode: 0o440 }],
  [["--owner", "app"], { mode: 0o600, owner: { uid: 1001, gid: 1002 } }],
  [["--owner", "app:web", "--mode", "0640"], { mode: 0o640, owner: { uid: 1001, gid: 1003 } }],
  [["--owner", "1001"], { mode: 0o600, owner: { uid: 1001, gid: 1002 } }],
  [["--owner", "5000:6000"], { mode: 0o600, owner: { uid: 5000, gid: 6000 } }],
])("%j says who may read", async (words, expected) => {
  expect(await accessOf(...words)).toEqual(expected);
});

test.each([
  ["--mode", "0644"],
  ["--mode", "0660"],
  ["--mode", "4600"],
  ["--mode", "-1"],
  ["--owner", "nobody-here"],
  ["--owner", "app:nobody-here"],
  ["--owner", "app:web:x"],
  ["--owner", "5000"],
  ["--owner", ":web"],
  ["--owner", ""],
])("%s %j is refused", async (name, value) => {
  expect(await accessOf(`${name}=${value}`)).toBe(2);
});
