import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { startFakeHub, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { kubeletKubeconfig } from "../../client/build-kubeconfig.ts";
import type { AgentEvent } from "../credential-event.ts";
import { withServer } from "./follow-address.ts";
import { trustBundleManager } from "./trust-bundle-manager.ts";
import type { Manager } from "../run-managers.ts";
import { nodeHubAddress } from "../node-client.ts";

const { signal } = new AbortController();

let old: FakeHub;
let next: FakeHub;
let files: Map<string, string>;
let events: AgentEvent[];
let clock: ReturnType<typeof fakeClock>;

beforeEach(async () => {
  old = await startFakeHub();
  next = await startFakeHub({ ca: old.ca });
  next.publish({ server: next.url });
  events = [];
  clock = fakeClock();
  const text = kubeletKubeconfig({ server: old.url, ca: { pem: old.ca.pem }, credentialFile: "/current.pem" });
  files = new Map([["/kubeconfig", text]]);
});

afterEach(async () => {
  await old.close();
  await next.close();
});

function member(): Manager {
  const text = async (path: string): Promise<string | undefined> => files.get(path);
  return trustBundleManager({
    files: {
      ca: "/ca.crt",
      kubeconfig: "/kubeconfig",
      published: "/hub-address.json",
      read: async () => ({
        ...(await nodeHubAddress({ kubeconfig: "/kubeconfig", text })),
        credentials: { token: "secret" },
      }),
      text,
      write: async (path, content) => void files.set(path, content),
    },
    clock,
    fraction: () => 0.5,
    userAgent: "test",
    report: (event) => void events.push(event),
  });
}

async function look(): Promise<void> {
  await member().act(signal);
}

async function inUse(): Promise<string> {
  const text = async (path: string): Promise<string | undefined> => files.get(path);
  return (await nodeHubAddress({ kubeconfig: "/kubeconfig", text })).server;
}

/** Takes a version request as a hub does that knows the credential. */
function accepting(hub: FakeHub, status = 200): void {
  hub.intercept = (request, response) => {
    if (request.url !== "/version") return false;
    const body = status === 200 ? {} : { kind: "Status", status: "Failure", code: status };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    return true;
  };
}

describe("the address of a node's hub", () => {
  test("is the one that people gave, whatever the hub tells from the start", async () => {
    old.publish({ server: "https://inside.example:6443" });
    await look();
    await look();
    expect([await inUse(), events]).toEqual([old.url, []]);
  });

  test("is another one once the hub tells another, which accepts the machine and tells the same", async () => {
    await look();
    old.publish({ server: next.url });
    accepting(next);
    await look();
    expect([await inUse(), events]).toEqual([
      next.url,
      [
        {
          kind: "ca",
          path: "/ca.crt",
          reason: "ServerAddressUpdated",
          message: "server address updated from cluster-info",
          details: { server: next.url },
        },
      ],
    ]);
    await look();
    expect(events).toHaveLength(1);
  });

  test("stays while nothing listens at the new one, and is tried again", async () => {
    await look();
    old.publish({ server: "https://127.0.0.1:1" });
    await look();
    expect([await inUse(), events]).toEqual([
      old.url,
      [
        expect.objectContaining({
          reason: "RenewalFailed",
          message: expect.stringMatching(
            /names the address https:\/\/127\.0\.0\.1:1 now, but nothing listens .* stays in use$/,
          ),
        }),
      ],
    ]);
    old.publish({ server: next.url });
    accepting(next);
    await look();
    expect(await inUse()).toBe(next.url);
  });

  test("attack: stays where a server of another CA answers at the new one, which is shown no credential", async () => {
    const other = await startFakeHub();
    other.publish({ server: other.url });
    try {
      await look();
      old.publish({ server: other.url });
      await look();
      expect([await inUse(), other.seen]).toEqual([old.url, []]);
    } finally {
      await other.close();
    }
  });

  test("stays where the hub there refuses the credential, or tells another address of itself", async () => {
    await look();
    old.publish({ server: next.url });
    accepting(next, 401);
    await look();
    expect([await inUse(), events.at(-1)]).toEqual([
      old.url,
      expect.objectContaining({ message: expect.stringContaining("refuses the credential of this machine") }),
    ]);
    accepting(next);
    next.publish({ server: "https://third.example" });
    await look();
    expect([await inUse(), events.at(-1)]).toEqual([
      old.url,
      expect.objectContaining({ message: expect.stringContaining("names the address https://third.example") }),
    ]);
  });

  test("stays where the kubeconfig is not as this agent writes it", async () => {
    await look();
    old.publish({ server: next.url });
    accepting(next);
    const before = files.get("/kubeconfig") ?? "";
    files.set("/kubeconfig", `${before}# server: x\nx-other: {}\n- server: ${old.url}\n`);
    expect(withServer(files.get("/kubeconfig") ?? "", old.url, next.url)).toBeUndefined();
    expect(withServer(before, "https://other", next.url)).toBeUndefined();
    expect(withServer(before.replace(old.url, JSON.stringify(old.url)), old.url, next.url)).toContain(next.url);
  });
});
