import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, refuse, startFakeHub, testCa, type FakeHub, type FakeHubOptions } from "../../../test/kits/fake-hub.ts";
import { joinBench, testToken, type JoinBench } from "../../../test/kits/join-bench.ts";
import { clusterInfoKubeconfig, signClusterInfo } from "../../trust/cluster-info.ts";

let hub: FakeHub;
let bench: JoinBench;
const others: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  hub = await startFakeHub({ tokens: [testToken], auto: true });
  bench = await joinBench();
});

afterEach(async () => {
  for (const each of others.splice(0)) await each.close();
  await hub.close();
  await bench.remove();
});

async function another(options: FakeHubOptions = {}): Promise<FakeHub> {
  const started = await startFakeHub({ tokens: [testToken], auto: true, ...options });
  others.push(started);
  return started;
}

/** Nothing that was sent to it held a credential of any kind. */
function expectNoCredential(...hubs: readonly FakeHub[]): void {
  const seen = hubs.flatMap((each) => each.seen);
  expect(seen.length).toBeGreaterThan(0);
  for (const request of seen) {
    expect(request.authorization).toBeUndefined();
    expect(request.clientCertificate).toBe(false);
    expect(request.method).toBe("GET");
  }
}

describe("discovery by token", () => {
  test("reads cluster-info twice without a credential before the token is sent", async () => {
    await bench.join(hub);
    const paths = hub.seen.map((request) => [request.path, request.authorization] as const);
    const path = "/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s";
    expect(paths.slice(0, 2)).toEqual([
      [path, undefined],
      [path, undefined],
    ]);
    expect(hub.seen[2]).toMatchObject({
      path: "/version",
      authorization: `Bearer ${testToken.id}.${testToken.secret}`,
    });
  });

  test("sends the token to the server that cluster-info names, not to the endpoint", async () => {
    const front = await another({ ca: hub.ca });
    front.data = hub.data;
    const joined = await bench.join(front);
    expect(joined.server).toBe(hub.url);
    expectNoCredential(front);
    expect(hub.seen.some((request) => request.authorization !== undefined)).toBe(true);
  });

  test("trusts a CA that is being added beside the pinned one, once the pinned hub has shown it", async () => {
    const next = testCa("next");
    hub.publish({ caPem: hub.ca.pem + next.pem });
    await bench.join(hub);
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "verified", caPins: [hub.ca.pin, next.pin] }));
  });

  test("takes any one of several pins, in either case", async () => {
    const pins = [`sha256:${"0".repeat(64)}`, hub.ca.pin.toUpperCase().replace("SHA256", "sha256")];
    expect((await bench.join(hub, { token: { pins } })).outcome).toBe("joined");
  });

  test("reads once and believes the signature when told to skip the CA", async () => {
    await bench.join(hub, { token: { pins: [], unsafeSkipCaVerification: true } });
    expect(hub.seen.filter((request) => request.path.includes("cluster-info"))).toHaveLength(1);
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "verified", by: "token" }));
  });

  test("waits for the signature of a token that was made just now", async () => {
    const { data } = hub;
    hub.data = { kubeconfig: data?.["kubeconfig"] ?? "" };
    const joined = await bench.join(hub, { onEvent: (event) => event.kind === "retrying" && hub.publish() });
    expect(joined.outcome).toBe("joined");
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "retrying", code: "token-unknown" }));
  });

  test("warns of a clock that differs by more than 30 seconds, and of none that differs less", async () => {
    const late = await another({ aheadMs: 41 * 60_000 });
    await bench.join(late);
    expect(bench.events).toContainEqual({
      kind: "clock-differs",
      aheadMs: expect.closeTo(-41 * 60_000, -4) as number,
      message:
        "this machine's clock is 41 minutes behind the hub's, as the hub says, without a signature: certificates may seem expired or not yet valid",
    });
    await bench.join(hub, { force: true });
    expect(bench.events.map((event) => event.kind)).not.toContain("clock-differs");
  });
});

describe("attacks on the discovery", () => {
  test("bad-signature: a tampered cluster-info is refused and no credential was sent", async () => {
    hub.data = {
      ...hub.data,
      kubeconfig: (hub.data?.["kubeconfig"] ?? "").replace("server: https://127", "server: https://128"),
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("bad-signature");
    expect(error.message).toBe(
      `the hub at ${hub.endpoint} knows a token abcdef but its signature does not fit: the secret part of the token is mistyped, or cluster-info was changed on its way here. Nothing secret was sent; compare the token with the one on the hub`,
    );
    expectNoCredential(hub);
  });

  test("bad-signature: one byte more in the kubeconfig is enough", async () => {
    hub.data = { ...hub.data, kubeconfig: `${hub.data?.["kubeconfig"]}\n` };
    expect((await bench.failure(hub)).code).toBe("bad-signature");
    expectNoCredential(hub);
  });

  test("bad-signature: a wrong secret is told within one read and is not sent", async () => {
    const error = await bench.failure(hub, { token: { token: "abcdef.aaaaaaaaaaaaaaaa" } });
    expect(error.code).toBe("bad-signature");
    expect(error.message).not.toContain("aaaaaaaa");
    expect(hub.seen).toHaveLength(1);
    expectNoCredential(hub);
  });

  test("pin-mismatch: a wrong pin shows both, and no credential was sent", async () => {
    const wrong = testCa("other").pin;
    const error = await bench.failure(hub, { token: { pins: [wrong] } });
    expect(error.code).toBe("pin-mismatch");
    expect(error.message).toBe(
      `the CA of the hub at ${hub.endpoint} is not the pinned one: wanted ${wrong}, found ${hub.ca.pin}. The pin is of another hub, or of a CA that this one has replaced, or the connection is intercepted; nothing secret was sent. The hub prints its pin at its start, and \`pratique ca status\` beside it shows all of them`,
    );
    expectNoCredential(hub);
  });

  test("pin-mismatch: whoever has stolen the token cannot pass off a CA of their own", async () => {
    const thief = await another();
    const error = await bench.failure(thief, { token: { pins: [hub.ca.pin] } });
    expect(error.code).toBe("pin-mismatch");
    expectNoCredential(thief);
  });

  test("tls-mismatch: a man in the middle with another CA who relays the true cluster-info", async () => {
    const middle = await another();
    middle.data = hub.data;
    const error = await bench.failure(middle, { token: { pins: [hub.ca.pin] } });
    expect(error.code).toBe("tls-mismatch");
    expect(error.message).toMatch(
      new RegExp(
        `^the certificate of ${middle.url} is not signed by the hub's CA: another server answers there, or the connection is intercepted; nothing secret was sent`,
      ),
    );
    expectNoCredential(middle);
    expect(middle.seen).toHaveLength(1);
  });

  test("tls-mismatch: a stolen token and a CA of their own beside the pinned one in the bundle", async () => {
    const middle = await another();
    const kubeconfig = clusterInfoKubeconfig({ server: middle.url, caPem: hub.ca.pem + middle.ca.pem });
    middle.data = signClusterInfo({ kubeconfig }, [testToken]);
    const error = await bench.failure(middle, { token: { pins: [hub.ca.pin] } });
    expect(error.code).toBe("tls-mismatch");
    expectNoCredential(middle);
  });

  test("changed-between-reads: a stolen token used only on the first read, then a relay to the true hub", async () => {
    const forged = clusterInfoKubeconfig({ server: "https://evil.example:6443", caPem: hub.ca.pem });
    const answers = [signClusterInfo({ kubeconfig: forged }, [testToken]), hub.data];
    hub.intercept = (request, response) => {
      if (!(request.url ?? "").includes("cluster-info")) return false;
      json(response, 200, { kind: "ConfigMap", apiVersion: "v1", metadata: {}, data: answers.shift() });
      return true;
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("changed-between-reads");
    expect(error.message).toContain("was not the same when it was read again over the verified connection");
    expectNoCredential(hub);
  });

  test("changed-between-reads: a second read without data", async () => {
    let reads = 0;
    hub.intercept = (_, response) => {
      reads += 1;
      if (reads !== 2) return false;
      json(response, 200, { kind: "ConfigMap", apiVersion: "v1", metadata: {} });
      return true;
    };
    expect((await bench.failure(hub)).code).toBe("changed-between-reads");
    expectNoCredential(hub);
  });

  test("a cluster-info with inherited keys holds no signature", async () => {
    hub.intercept = (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"kind":"ConfigMap","data":{"__proto__":${JSON.stringify(hub.data)}}}`);
      return true;
    };
    expect((await bench.failure(hub)).code).toBe("bad-cluster-info");
    expectNoCredential(hub);
  });

  test("a redirect is not followed", async () => {
    const elsewhere = await another();
    hub.intercept = (_, response) => {
      response.writeHead(302, { location: `${elsewhere.url}/api/v1/namespaces/kube-public/configmaps/cluster-info` });
      response.end();
      return true;
    };
    expect((await bench.failure(hub)).code).toBe("not-a-hub");
    expect(elsewhere.seen).toEqual([]);
  });

  test("an endless reply is cut off", async () => {
    hub.intercept = (_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536, 32);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", more);
      };
      more();
      return true;
    };
    expect((await bench.failure(hub)).code).toBe("not-a-hub");
  });
});

describe("failures of the discovery", () => {
  test("token-unknown: told after about ten seconds, without the secret", async () => {
    const error = await bench.failure(hub, { token: { token: "zzzzzz.0123456789abcdef" } });
    expect(error.code).toBe("token-unknown");
    expect(error.message).toBe(
      `the hub at ${hub.endpoint} does not know the token zzzzzz: it is mistyped, expired or deleted, or may not be used for signing. Make a new one on the hub with \`pratique token create --print-join-command\``,
    );
    expect(hub.seen.length).toBeGreaterThan(5);
    expect(hub.seen.length).toBeLessThan(15);
    expect(bench.events.filter((event) => event.kind === "retrying")).toHaveLength(1);
    expectNoCredential(hub);
  });

  test("token-unknown: the discovery time is an option", async () => {
    await bench.failure(hub, { token: { token: "zzzzzz.0123456789abcdef" }, discoveryTimeoutMs: 3000 });
    expect(hub.seen).toHaveLength(4);
  });

  test("unreachable: nothing listens at the port", async () => {
    const gone = await startFakeHub();
    await gone.close();
    const error = await bench.failure(gone);
    expect(error).toMatchObject({ code: "unreachable", causeCode: "ECONNREFUSED" });
    expect(error.message).toBe(
      `nothing listens at https://${gone.endpoint}: check that the server runs, and the address and the port`,
    );
    expect(bench.events.map((event) => event.kind)).toEqual(["discovering", "retrying"]);
  });

  test("unreachable: a name that does not exist", async () => {
    const error = await bench.failure(hub, {
      token: { endpoint: "no-such-host.invalid:6443" },
      discoveryTimeoutMs: 3000,
    });
    expect(error.code).toBe("unreachable");
    expect(error.message).toMatch(
      /^the (name of|DNS of this machine gives no answer for) https:\/\/no-such-host\.invalid/,
    );
  });

  test("unreachable: a server that takes connections and says nothing", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const endpoint = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const error = await bench.failure(hub, { token: { endpoint }, discoveryTimeoutMs: 200 });
    silent.close();
    expect(error).toMatchObject({ code: "unreachable", causeCode: "ETIMEDOUT" });
    expect(error.message).toContain(`https://${endpoint} does not answer`);
  });

  test("unreachable: the address in cluster-info leads nowhere, and the sentence says where it came from", async () => {
    const gone = await startFakeHub();
    await gone.close();
    hub.publish({ server: gone.url });
    const error = await bench.failure(hub);
    expect(error.code).toBe("unreachable");
    expect(error.message).toContain(`nothing listens at https://${gone.endpoint}`);
    expect(error.message).toContain(
      "the address comes from cluster-info, so perhaps the hub must advertise another one",
    );
  });

  test("not-a-hub: a server without TLS", async () => {
    const plain = createPlainServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const endpoint = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const error = await bench.failure(hub, { token: { endpoint } });
    plain.close();
    expect(error.code).toBe("not-a-hub");
    expect(error.message).toContain(`https://${endpoint} does not speak HTTPS as a hub does`);
  });

  test.each([
    [200, "<html>hello</html>"],
    [200, "[]"],
    [200, '{"kind":"Secret"}'],
    [404, "no such page"],
  ])("not-a-hub: status %i and the body %s are told at once", async (status, body) => {
    hub.intercept = (_, response) => {
      response.writeHead(status).end(body);
      return true;
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("not-a-hub");
    expect(error.message).toBe(
      `${hub.url} answers, but not as a hub does (status ${status}): check the host and the port`,
    );
    expect(hub.seen).toHaveLength(1);
  });

  test("not-a-hub: a gateway without a hub behind it is tried again", async () => {
    hub.intercept = (_, response) => {
      response.writeHead(503, { "retry-after": "3600" }).end("busy");
      return true;
    };
    expect((await bench.failure(hub)).code).toBe("not-a-hub");
    expect(hub.seen.length).toBeGreaterThan(5);
  });

  test("no-cluster-info: a Kubernetes API that machines cannot join by token", async () => {
    hub.data = undefined;
    const error = await bench.failure(hub);
    expect(error).toMatchObject({ code: "no-cluster-info", causeCode: "404" });
    expect(error.message).toContain("is a Kubernetes API but has no cluster-info in kube-public");
  });

  test("no-cluster-info: one that does not show it to strangers", async () => {
    hub.intercept = (_, response) => {
      refuse(response, 403, "Forbidden", "configmaps is forbidden");
      return true;
    };
    const error = await bench.failure(hub);
    expect(error).toMatchObject({ code: "no-cluster-info", causeCode: "403" });
    expect(error.message).toContain(
      "configmaps is forbidden; anonymous clients need the Role and RoleBinding kubeadm:bootstrap-signer-clusterinfo in kube-public, and an administrator of the cluster creates them: kubectl create role ",
    );
  });

  test("unauthorized: a server that takes no anonymous requests", async () => {
    hub.intercept = (_, response) => {
      refuse(response, 401, "Unauthorized", "Unauthorized");
      return true;
    };
    const error = await bench.failure(hub);
    expect(error.code).toBe("unauthorized");
    expect(error.message).toContain("refuses these credentials, or anonymous requests altogether: Unauthorized");
  });

  test("bad-cluster-info: a signed text that is no kubeconfig", async () => {
    hub.data = signClusterInfo({ kubeconfig: "hello" }, [testToken]);
    const error = await bench.failure(hub);
    expect(error.code).toBe("bad-cluster-info");
    expect(error.message).toContain("the kubeconfig in cluster-info cannot be read");
    expectNoCredential(hub);
  });

  test("tls-mismatch: the certificate is of the right CA but for another name", async () => {
    const named = await another({ ips: ["10.9.9.9"], dns: ["hub.example"] });
    const error = await bench.failure(named);
    expect(error.code).toBe("tls-mismatch");
    expect(error.message).toBe(
      "the hub's certificate is not valid for 127.0.0.1: it is for DNS:hub.example, IP Address:10.9.9.9; use one of its names as the address, or start the hub with --tls-san 127.0.0.1",
    );
    expectNoCredential(named);
  });

  test("tls-mismatch: the name is checked at the server of cluster-info as well", async () => {
    const named = await another({ ca: hub.ca, ips: ["10.9.9.9"] });
    hub.publish({ server: named.url });
    expect((await bench.failure(hub)).code).toBe("tls-mismatch");
    expect(named.seen).toEqual([]);
  });

  test("tls-mismatch: the hub's certificate has expired and the clocks agree", async () => {
    const expired = await another({ validFromMs: -7_200_000, validToMs: -3_600_000 });
    const error = await bench.failure(expired);
    expect(error).toMatchObject({ code: "tls-mismatch", causeCode: "CERT_HAS_EXPIRED" });
    expect(error.message).toMatch(
      /has expired by this machine's clock, which agrees with the hub's.*; renew the hub's certificate$/,
    );
    expectNoCredential(expired);
  });

  test("clock-skew: the hub's certificate is not yet valid because this clock is behind", async () => {
    const early = await another({ validFromMs: 36 * 60_000, validToMs: 7_200_000, aheadMs: 41 * 60_000 });
    const error = await bench.failure(early);
    expect(error).toMatchObject({ code: "clock-skew", causeCode: "CERT_NOT_YET_VALID" });
    expect(error.message).toBe(
      "this machine's clock is 41 minutes behind the hub's, so the hub's certificate is not yet valid here; set the clock (for example with NTP) and join again",
    );
    expectNoCredential(early);
  });

  test("clock-skew: it has expired because this clock is ahead", async () => {
    const past = await another({ validFromMs: -9_000_000, validToMs: -3_600_000, aheadMs: -3 * 3_600_000 });
    const error = await bench.failure(past);
    expect(error.code).toBe("clock-skew");
    expect(error.message).toContain("clock is 3 hours ahead of the hub's, so the hub's certificate has expired here");
  });

  test("aborted: a discovery that is interrupted ends at once", async () => {
    const controller = new AbortController();
    hub.intercept = () => {
      controller.abort();
      return true;
    };
    const error = await bench.failure(hub, { signal: controller.signal });
    expect(error.code).toBe("aborted");
    expect(error.message).toBe("interrupted; run the same command again to resume");
  });
});

describe("what a person types", () => {
  test.each(["", "abcdef", "ABCDEF.0123456789abcdef", " abcdef.0123456789abcdef", "abcdef.0123456789abcdefg"])(
    "bad-token-format: %j is refused before anything is sent, and not shown",
    async (token) => {
      const error = await bench.failure(hub, { token: { token } });
      expect(error.code).toBe("bad-token-format");
      expect(error.message).toBe(
        "the token is not of the form abcdef.0123456789abcdef: 6 characters, a dot, and 16 characters, each of a-z and 0-9",
      );
      expect(hub.seen).toEqual([]);
    },
  );

  test("bad-pin-format: names the value", async () => {
    const error = await bench.failure(hub, { token: { pins: ["sha256:12"] } });
    expect(error.code).toBe("bad-pin-format");
    expect(error.message).toContain('"sha256:12" is not a CA pin');
    expect(hub.seen).toEqual([]);
  });

  test("missing-pin: no pin is no wish to trust anybody", async () => {
    const error = await bench.failure(hub, { token: { pins: [] } });
    expect(error.code).toBe("missing-pin");
    expect(error.message).toContain("give --discovery-token-ca-cert-hash sha256:…");
    expect(hub.seen).toEqual([]);
  });

  test("bad-pin-format: a pin together with the wish to skip it", async () => {
    const error = await bench.failure(hub, { token: { unsafeSkipCaVerification: true } });
    expect(error.code).toBe("bad-pin-format");
    expect(error.message).toContain("contradict each other");
  });

  test("bad-endpoint: names the value", async () => {
    const error = await bench.failure(hub, { token: { endpoint: "hub" } });
    expect(error).toMatchObject({
      code: "bad-endpoint",
      message:
        '"hub" is not the address of a hub: the port is missing, for example hub:6443; give HOST:PORT or https://HOST[:PORT]',
    });
  });
});
