import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, refuse, startFakeHub, type FakeHub } from "../../../test/kits/fake-hub.ts";
import type { JoinError } from "../join-error.ts";
import { hastyClock } from "../../../test/kits/hasty-clock.ts";
import { failureOf, testToken } from "../../../test/kits/join-bench.ts";
import { remoteClient, type RemoteClient } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { generatePrivateKey, spkiOf } from "../../pki/keys.ts";
import { formatToken } from "../../trust/token.ts";
import { awaitCertificate, type Waiting } from "./await-certificate.ts";
import { nodeUsages } from "./node-identity.ts";
import { nodeRequest, type NodeRequest } from "./certificate-request.ts";

let hub: FakeHub;
let client: RemoteClient;
let clock: Clock;
let request: NodeRequest;

beforeEach(async () => {
  hub = await startFakeHub({ tokens: [testToken] });
  clock = hastyClock();
  const token = formatToken(testToken);
  client = remoteClient({ server: hub.url, caPem: hub.ca.pem, token, userAgent: "t", timeoutMs: 60_000, clock });
  const key = generatePrivateKey();
  const own = { key, spki: spkiOf(key), fingerprint: "", reused: false };
  request = await nodeRequest(client, { nodeName: "n1", key: own, usages: nodeUsages(36), now: clock.now() });
});

afterEach(async () => {
  client.close();
  await hub.close();
});

function waiting(on: Waiting["on"], change: Partial<Waiting> = {}): Promise<string> {
  const target = { server: hub.url };
  return awaitCertificate(client, request, { clock, timeoutMs: 600_000, signal: undefined, target, on, ...change });
}

/** Runs once a watch is open. */
function onWatch(run: () => void): void {
  let first = true;
  hub.intercept = (asked) => {
    if (first && (asked.url ?? "").includes("watch=true")) {
      first = false;
      setImmediate(run);
    }
    return false;
  };
}

const watches = (): number => hub.seen.filter((seen) => seen.path.includes("watch=true")).length;

/** Every look is a list, so that the clock goes on. */
const withoutWatches: NonNullable<FakeHub["intercept"]> = (asked, response) => {
  if (!(asked.url ?? "").includes("watch=true")) return false;
  response.writeHead(200).end();
  return true;
};

describe("waiting for a certificate", () => {
  test("ends with the event that brings it, and tells pending and approved once each", async () => {
    const states: string[] = [];
    onWatch(() => {
      hub.approve(request.name);
      hub.condition(request.name, { type: "Other", status: "False" });
      hub.issue(request.name, "the PEM");
    });
    expect(await waiting((state) => states.push(state))).toBe("the PEM");
    expect(states.at(-1)).toBe("approved");
    expect(new Set(states).size).toBe(states.length);
    expect(watches()).toBe(1);
  });

  test("selects by name and resumes from the version of the list", async () => {
    onWatch(() => {
      hub.approve(request.name);
      hub.issue(request.name, "x");
    });
    await waiting(() => {});
    const [list, watch] = hub.seen.slice(1).map((seen) => new URL(seen.path, hub.url).searchParams);
    expect(list?.get("fieldSelector")).toBe(`metadata.name=${request.name}`);
    expect(list?.get("watch")).toBeNull();
    expect(watch?.get("fieldSelector")).toBe(`metadata.name=${request.name}`);
    expect(watch?.get("resourceVersion")).toMatch(/^\d+$/);
  });

  test("a certificate without an approval is not taken", async () => {
    hub.issue(request.name, "too early");
    onWatch(() => hub.approve(request.name));
    expect(await waiting(() => {})).toBe("too early");
    expect(watches()).toBe(1);
  });

  test("lists again when the stream ends, when it is refused, and when it is too old", async () => {
    const troubles: ((response: Parameters<NonNullable<FakeHub["intercept"]>>[1]) => void)[] = [
      (response) => void response.writeHead(200).end(),
      (response) => refuse(response, 503, "ServiceUnavailable", "later"),
      (response) => refuse(response, 410, "Expired", "too old"),
      (response) => void response.destroy(),
      (response) => json(response, 200, { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }),
      (response) => void response.writeHead(200).end("nonsense\n"),
    ];
    const count = troubles.length;
    hub.intercept = (asked, response) => {
      const trouble = (asked.url ?? "").includes("watch=true") ? troubles.shift() : undefined;
      trouble?.(response);
      if (trouble !== undefined && troubles.length === 0) {
        hub.approve(request.name);
        hub.issue(request.name, "at last");
      }
      return trouble !== undefined;
    };
    expect(await waiting(() => {})).toBe("at last");
    expect(watches()).toBeGreaterThanOrEqual(count);
  });

  test("waits for a hub that is away, and tells the trouble when it stays away", async () => {
    hub.intercept = (asked) => {
      asked.socket.destroy();
      return true;
    };
    const error = await failureOf(waiting(() => {}, { timeoutMs: 20_000 }));
    expect(error).toMatchObject({ code: "timeout-waiting", causeCode: "ECONNRESET" });
    expect(error.message).toContain(`no answer to the request ${request.name} within 20 seconds; last trouble: `);
  });

  test("leaves a hub alone for as long as it asks, and ever longer where many machines may wait", async () => {
    const pauses = async (change: Partial<Waiting>, header?: string): Promise<readonly number[]> => {
      const slept: number[] = [];
      const recording: Clock = {
        now: clock.now,
        sleep: (ms, signal) => {
          const isDeadline = ms === 600_000 || ms === 60_000 || ms === 1000;
          if (!isDeadline) slept.push(ms);
          return isDeadline ? clock.sleep(ms, signal) : Promise.resolve();
        },
      };
      hub.intercept = (_asked, response) => {
        if (slept.length >= 6) return false;
        if (header !== undefined) response.setHeader("retry-after", header);
        refuse(response, 503, "ServiceUnavailable", "starting");
        return true;
      };
      // The client itself waits for nothing, as an agent's.
      const { url: server, ca } = hub;
      const token = formatToken(testToken);
      const patient = { server, caPem: ca.pem, token, userAgent: "t", timeoutMs: 60_000, clock, retryBudgetMs: 0 };
      const plain = remoteClient(patient);
      const target = { server: hub.url };
      const all = { clock: recording, timeoutMs: 600_000, signal: undefined, target, on: () => undefined, ...change };
      await awaitCertificate(plain, request, all).finally(() => plain.close());
      return slept.slice(0, 6);
    };
    hub.approve(request.name);
    hub.issue(request.name, "the PEM");
    expect(await pauses({})).toEqual([2000, 2000, 2000, 2000, 2000, 2000]);
    expect(await pauses({ random: () => 0 })).toEqual([2000, 4000, 8000, 15_000, 15_000, 15_000]);
    expect(await pauses({ random: () => 0 }, "9")).toEqual([9000, 9000, 9000, 15_000, 15_000, 15_000]);
  });

  test("a failure to reach the hub is told when it begins and when it has passed, and not at the end", async () => {
    let lists = 0;
    const reported: (string | undefined)[] = [];
    hub.intercept = (asked, response) => {
      if ((asked.url ?? "").includes("watch=true")) {
        response.writeHead(200).end();
        return true;
      }
      lists += 1;
      if (lists < 3) response.destroy();
      return lists < 3;
    };
    const connection = (failure: JoinError | undefined): void => void reported.push(failure?.code);
    const error = await failureOf(waiting(() => {}, { timeoutMs: 60_000, connection }));
    expect(lists).toBeGreaterThan(3);
    expect(reported).toEqual(["unreachable", undefined]);
    expect(error.message).toContain("no approver decided");
  });

  test("tells once why the hub leaves the request to an approver, and again when it gives up", async () => {
    const said: string[] = [];
    hub.intercept = (asked, response) => {
      if (!(asked.url ?? "").includes("watch=true")) return false;
      response.writeHead(200).end();
      return true;
    };
    const own = { type: "NameInUse", reason: "NodeNameInUse", message: "the node name n1 is in use" };
    hub.condition(request.name, own);
    const error = await failureOf(
      waiting(() => {}, { timeoutMs: 60_000, waitsFor: (message) => void said.push(message) }),
    );
    expect(said).toEqual(["NodeNameInUse: the node name n1 is in use"]);
    expect(error.message).toContain(
      "within 60 seconds (the hub says: NodeNameInUse: the node name n1 is in use); join with another --node-name, or have the certificate in use revoked on the hub, then run the same join again",
    );
  });

  test("does not advise to approve a request for a revoked user, of which the approval would issue nothing", async () => {
    hub.intercept = withoutWatches;
    const left = { type: "NotApprovedAutomatically", reason: "UserRevoked", message: "the user is revoked" };
    hub.condition(request.name, left);
    const error = await failureOf(waiting(() => {}, { timeoutMs: 60_000 }));
    expect(error.message).not.toContain("pratique approve");
    expect(error.message).toContain(
      "(the hub says: UserRevoked: the user is revoked); have the revocation of the user deleted on the hub (pratique revocations list), until when an approval issues nothing, then run the same join again",
    );
  });

  test("tells of any abstention of the hub, and quotes the condition of a foreign controller with type and status", async () => {
    hub.intercept = withoutWatches;
    const said: string[] = [];
    const waitsFor = (message: string): void => {
      said.push(message);
      if (said.length > 1) return;
      const left = { type: "NotApprovedAutomatically", reason: "RequesterRevoked", message: "revoked" };
      hub.condition(request.name, left);
    };
    hub.condition(request.name, { type: "Ready", status: "False", reason: "Policy", message: "no policy matches" });
    await failureOf(waiting(() => {}, { timeoutMs: 60_000, waitsFor }));
    expect(said).toEqual(["condition Ready=False: Policy: no policy matches", "RequesterRevoked: revoked"]);
  });

  test("tells that an approved request stays unsigned, and why where its signer says so", async () => {
    hub.intercept = withoutWatches;
    const said: string[] = [];
    hub.approve(request.name);
    await failureOf(waiting(() => {}, { timeoutMs: 60_000, waitsFor: (message) => void said.push(message) }));
    expect(said).toEqual([
      "approved, and not signed within 30 seconds: check that the signer kubernetes.io/kube-apiserver-client-kubelet runs",
    ]);
    hub.condition(request.name, { type: "SigningDelayed", status: "True", reason: "IssuingFailed", message: "no key" });
    const again: string[] = [];
    await failureOf(waiting(() => {}, { timeoutMs: 60_000, waitsFor: (message) => void again.push(message) }));
    expect(again).toEqual(["IssuingFailed: no key"]);
  });

  test("timeout-waiting: says how to approve, or that the signer does not sign", async () => {
    hub.intercept = withoutWatches;
    const pending = await failureOf(waiting(() => {}, { timeoutMs: 60_000 }));
    expect(pending.code).toBe("timeout-waiting");
    expect(pending.message).toBe(
      `no approver decided on the request ${request.name} within 60 seconds; have it approved with \`pratique approve csr/${request.name}\`, then run the same join again: it resumes with the same key`,
    );
    hub.approve(request.name);
    const approved = await failureOf(waiting(() => {}, { timeoutMs: 60_000 }));
    expect(approved.message).toContain("is approved but was not signed within 60 seconds");
  });

  test("deleted: by an event, or between two lists", async () => {
    onWatch(() => hub.remove(request.name));
    const error = await failureOf(waiting(() => {}));
    expect(error).toMatchObject({
      code: "deleted",
      message: `the request ${request.name} was deleted before it was answered; join again to create a new request`,
    });
    expect((await failureOf(waiting(() => {}))).code).toBe("deleted");
  });

  test("csr-conflict: another request of the same name took its place", async () => {
    const stored = hub.requests.get(request.name);
    if (stored === undefined) throw new TypeError("no request");
    stored.uid = "another";
    const error = await failureOf(waiting(() => {}));
    expect(error.code).toBe("csr-conflict");
    expect(error.message).toContain("was replaced by another one of the same name");
  });

  test("denied wins over approved", async () => {
    hub.condition(request.name, { type: "Approved" });
    hub.condition(request.name, { type: "Denied" });
    hub.issue(request.name, "x");
    expect((await failureOf(waiting(() => {}))).code).toBe("denied");
  });

  test("a condition that is not true decides nothing", async () => {
    hub.condition(request.name, { type: "Denied", status: "False" });
    hub.approve(request.name);
    hub.issue(request.name, "x");
    expect(await waiting(() => {})).toBe("x");
  });

  test("a list without items and a status of null are borne", async () => {
    hub.intercept = (asked, response) => {
      if ((asked.url ?? "").includes("watch=true")) return false;
      hub.intercept = undefined;
      hub.approve(request.name);
      hub.issue(request.name, "x");
      const metadata = { name: request.name, uid: request.uid };
      json(response, 200, {
        kind: "CertificateSigningRequestList",
        metadata: { resourceVersion: "1" },
        items: [{ metadata, status: { conditions: null } }],
      });
      return true;
    };
    expect(await waiting(() => {})).toBe("x");
  });

  test("aborted: ends at once", async () => {
    const controller = new AbortController();
    onWatch(() => controller.abort());
    expect((await failureOf(waiting(() => {}, { signal: controller.signal }))).code).toBe("aborted");
  });

  test("aborted: so does one that was over before it began", async () => {
    expect((await failureOf(waiting(() => {}, { signal: AbortSignal.abort() }))).code).toBe("aborted");
  });
});
