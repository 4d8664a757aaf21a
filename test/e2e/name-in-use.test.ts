import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { join } from "../../src/agent/join/join.ts";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import type { Joined } from "../../src/agent/join/join-options.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

/** One hub, and machines whose keys are their own. */
interface Stage {
  readonly hub: TestHub;
  readonly dir: string;
  /** Runs a command of an operator of the hub. */
  readonly run: (...argv: string[]) => Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
}

let stage: Stage;
let machines = 0;

async function startStage(options: Parameters<typeof startTestHub>[0] = {}): Promise<Stage> {
  const hub = await startTestHub({ users: { ops: ["system:masters"] }, ...options });
  const dir = await mkdtemp(joinPath(tmpdir(), "pratique-names-"));
  return {
    hub,
    dir,
    run: async (...argv) => {
      const written = { out: "", err: "" };
      const io = {
        ...processIo(),
        stdout: { write: (text: string) => void (written.out += text), isTty: false },
        stderr: { write: (text: string) => void (written.err += text), isTty: false },
      };
      const code = await runProgram(commands, [...argv, "--kubeconfig", hub.kubeconfig], io);
      return { code, ...written };
    },
  };
}

async function stop({ hub, dir }: Stage): Promise<void> {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
}

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stop(stage));

/** A machine with a folder and so a key of its own, which joins under this name. */
async function machine(
  { hub, dir, run }: Stage,
  nodeName: string,
  onEvent: (event: JoinEvent) => void = () => undefined,
  options: { readonly own?: string; readonly clock?: Clock } = {},
): Promise<Joined> {
  const token = (await run("token", "create")).out.trim();
  const own = options.own ?? joinPath(dir, `machine-${(machines += 1)}`);
  const discovery = { kind: "token", endpoint: `127.0.0.1:${hub.port}`, token, pins: [hub.hub.caPin] } as const;
  const { clock = wallClock } = options;
  const places = { certDir: joinPath(own, "pki"), kubeconfig: joinPath(own, "kubelet.conf") };
  return join({ discovery, nodeName, ...places, clock, waitMs: 50_000 }, onEvent);
}

/** A promise, and what fulfils it. */
function latch<T>(): { readonly promise: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe("a second machine with another key, under the name of one that is in", () => {
  test("waits for a person, and both sides see why, until the person lets it in", async () => {
    const first = await machine(stage, "worker-1");
    const heard: JoinEvent[] = [];
    const left = latch<Extract<JoinEvent, { kind: "left-to-approver" }>>();
    const second = machine(stage, "worker-1", (event) => {
      heard.push(event);
      if (event.kind === "left-to-approver") left.open(event);
    });
    const { name, message: told } = await Promise.race([
      left.promise,
      second.then(() => Promise.reject(new TypeError("it is in"))),
    ]);
    const { fingerprint } = heard.find((event) => event.kind === "key-ready") as { readonly fingerprint: string };
    expect(told).toMatch(
      /^NodeNameInUse: the node name worker-1 is in use by another key, SHA256:\S+ \(valid until \S+Z, csr\/\S+\); this request is not approved automatically, an approver must decide$/,
    );
    const message = told.slice("NodeNameInUse: ".length);
    expect(message).toContain(`csr/${first.requestName}`);
    expect(message).not.toContain(fingerprint);
    // The operator sees the same, as a table and as data.
    const table = await stage.run("pending");
    expect(table.out).toMatch(new RegExp(`^! +csr/${name} `, "m"));
    expect(table.out).toContain(message);
    const [shown] = JSON.parse((await stage.run("pending", "-o", "json")).out) as readonly {
      readonly warnings: string[];
    }[];
    expect(shown?.warnings).toContain(message);
    const all = await stage.run("approve", "--all", "--expect", "1");
    expect([all.code, all.err]).toEqual([expect.any(Number), expect.stringContaining("must be approved by name")]);
    const events = apiClient(stage.hub, { token: stage.hub.token("ops") });
    const { text } = await events("/api/v1/namespaces/default/events");
    events.close();
    const written = (JSON.parse(text) as { readonly items: readonly { readonly reason: string }[] }).items;
    expect(written.filter(({ reason }) => reason === "NodeNameInUse")).toMatchObject([
      { message, involvedObject: { kind: "CertificateSigningRequest", name } },
    ]);
    expect((await stage.run("approve", `csr/${name}`)).err).toContain(message);
    expect(await second).toMatchObject({ outcome: "joined", nodeName: "worker-1" });
  });

  test("is told again what it waited for when nobody decides in time", async () => {
    await machine(stage, "worker-2");
    const clock = skippingClock();
    const skipWait = (event: JoinEvent): void => {
      if (event.kind === "left-to-approver") clock.skip(50_000);
    };
    const given = machine(stage, "worker-2", skipWait, { clock });
    await expect(given).rejects.toMatchObject({
      code: "timeout-waiting",
      message: expect.stringContaining(
        "(the hub says: NodeNameInUse: the node name worker-2 is in use by another key",
      ) as unknown,
    });
  });

  test("is let in by itself once the first certificate is revoked", async () => {
    const first = await machine(stage, "worker-3");
    expect((await stage.run("revoke", `csr/${first.requestName}`)).code).toBe(0);
    expect(await machine(stage, "worker-3")).toMatchObject({ outcome: "joined" });
  });

  test("is let in where the operator has asked for that", async () => {
    const open = await startStage({ nodeAutoapproveNamesInUse: true });
    try {
      const keys = new Set<string>();
      for (const joined of [await machine(open, "worker-4"), await machine(open, "worker-4")]) {
        keys.add(
          new X509Certificate(await readFile(joined.credentialFile)).publicKey
            .export({ type: "spki", format: "pem" })
            .toString(),
        );
      }
      expect(keys.size).toBe(2);
    } finally {
      await stop(open);
    }
  });
});
