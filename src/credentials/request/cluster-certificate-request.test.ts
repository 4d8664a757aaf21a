import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../pki/keys.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { fieldsAt, stringAt } from "../../apis/json-fields.ts";
import { memoryApi, type MemoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock, type FakeClock } from "../../../test/kits/fake-clock.ts";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { memoryStore } from "../../../test/kits/memory-store.ts";
import { certificateRequests } from "./certificate-request.ts";
import { obtainCertificate, type CertificateCall, type RequestNews } from "./cluster-certificate-request.ts";
import { storedState, readRegistrationState } from "../storage/registration-state.ts";
import type { KlusterletStore } from "../storage/klusterlet-store.ts";

const ca = testCa();
const label = "open-cluster-management.io/cluster-name";
let over = new AbortController();

afterEach(() => {
  over.abort();
  over = new AbortController();
});

interface Stage {
  readonly clock: FakeClock;
  readonly hub: MemoryApi;
  readonly news: RequestNews[];
  readonly call: (store?: KlusterletStore) => Promise<CertificateCall>;
}

function staged(store: KlusterletStore = memoryStore()): Stage {
  const clock = fakeClock(Date.now());
  const hub = memoryApi({ clock });
  const news: RequestNews[] = [];
  return {
    clock,
    hub,
    news,
    call: async (writer = store) => {
      const text = await store.readState();
      const first = (text === undefined ? undefined : readRegistrationState(text)) ?? {
        clusterName: "east",
        agentName: "a1b2c",
      };
      return {
        client: hub.client,
        server: "https://hub:6443",
        origin: "first",
        by: "bootstrap",
        state: storedState(writer, first),
        clock,
        random: randomBytes,
        signal: over.signal,
        notify: (one) => void news.push(one),
      };
    },
  };
}

const requests = (hub: MemoryApi): readonly ApiObject[] => hub.all(certificateRequests);

async function decide(hub: MemoryApi, type: "Approved" | "Denied"): Promise<void> {
  for (const request of requests(hub)) {
    if (stringAt(request, "status", "certificate") !== "") continue;
    const conditions = [{ type, status: "True", reason: "ByPerson" }];
    const next = { ...request, status: { conditions } };
    const decided = await hub.client.update<ApiObject>(certificateRequests, next, { subresource: "approval" });
    if (type === "Denied") continue;
    const csr = parseCsr(Buffer.from(stringAt(request, "spec", "request"), "base64").toString("latin1"));
    const certificate = Buffer.from(clientCertificate(ca, csr)).toString("base64");
    const signed = { ...decided, status: { ...fieldsAt(decided, "status"), certificate } };
    await hub.client.update(certificateRequests, signed, { subresource: "status" });
  }
}

describe("a request for the certificate of an agent", () => {
  it("names cluster and agent, and requests a client certificate of both groups", async () => {
    const { hub, call, clock } = staged();
    const getting = obtainCertificate({ ...(await call()), expirationSeconds: 7200 });
    await clock.advance(0);
    const [request] = requests(hub) as readonly [ApiObject];
    expect(request.metadata.name).toMatch(/^east-[a-z0-9]{5}$/);
    expect(request.metadata.labels).toEqual({ [label]: "east" });
    expect(request["spec"]).toMatchObject({
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
      expirationSeconds: 7200,
    });
    const { request: data } = request["spec"] as { readonly request: string };
    const csr = parseCsr(Buffer.from(data, "base64").toString("latin1"));
    expect(csr.subject).toMatchObject({
      commonName: "system:open-cluster-management:east:a1b2c",
      organizations: ["system:open-cluster-management:east", "system:open-cluster-management:managed-clusters"],
    });
    expect(csr.sans).toMatchObject({ dns: [], ip: [] });
    await decide(hub, "Approved");
    await clock.advance(0);
    const { keyPem, identity } = await getting;
    expect([keyPem.startsWith("-----BEGIN EC PRIVATE KEY-----"), identity.agent]).toEqual([true, "a1b2c"]);
  });

  it("is one, with one key, wherever its agent was killed", async () => {
    let deaths = 0;
    for (let at = 1; ; at += 1) {
      const store = memoryStore();
      const { hub, call, clock } = staged(store);
      let count = 0;
      const dying: KlusterletStore = {
        ...store,
        writeState: (text) => {
          count += 1;
          return count === at ? Promise.reject(new TypeError("killed")) : store.writeState(text);
        },
      };
      const first = obtainCertificate(await call(dying)).catch((error: unknown) => error);
      await clock.advance(0);
      await decide(hub, "Approved");
      await clock.advance(0);
      const survived = !((await first) instanceof TypeError);
      const second = obtainCertificate(await call());
      await clock.advance(0);
      await decide(hub, "Approved");
      await clock.advance(0);
      const { certificatePem } = await second;
      expect([at, requests(hub).length, certificatePem.length > 0]).toEqual([at, 1, true]);
      if (survived) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(0);
  });

  it("that was sent and not remembered as sent is found again", async () => {
    const { hub, call, clock, news } = staged();
    const lost = new AbortController();
    const first = obtainCertificate({ ...(await call()), signal: lost.signal }).catch(() => undefined);
    await clock.advance(0);
    lost.abort();
    await clock.advance(10_000);
    await first;
    void obtainCertificate(await call()).catch(() => undefined);
    await clock.advance(0);
    expect(requests(hub)).toHaveLength(1);
    const sent = news.filter(({ kind }) => kind === "sent");
    expect(sent).toMatchObject([{ found: false }, { found: true }]);
    expect(sent[0]).toEqual({ ...sent[1], found: false });
  });

  it("is not created while ten of the cluster exist, those of add-ons not counted", async () => {
    const { hub, call, clock, news } = staged();
    const make = (index: number, labels: object): Promise<ApiObject> =>
      hub.client.create(certificateRequests, {
        ...csrObject(),
        metadata: { name: `east-${index}`, labels: { [label]: "east", ...labels } },
      });
    for (let index = 0; index < 10; index += 1) await make(index, {});
    for (let index = 10; index < 20; index += 1) await make(index, { "open-cluster-management.io/addon-name": "x" });
    void obtainCertificate(await call()).catch(() => undefined);
    await clock.advance(600_000);
    expect([requests(hub).length, news[0]]).toEqual([20, { kind: "rate-limited" }]);
    await hub.client.delete(certificateRequests, { name: "east-0" });
    await clock.advance(60_000);
    expect(requests(hub)).toHaveLength(20);
    expect(news.at(-1)).toMatchObject({ kind: "sent", found: false });
  });

  it("that the hub leaves to an approver tells why, as the hub says it", async () => {
    const { hub, call, clock, news } = staged();
    void obtainCertificate(await call()).catch(() => undefined);
    await clock.advance(0);
    const [request] = requests(hub) as readonly [ApiObject];
    const left = { type: "NotApprovedAutomatically", status: "True", reason: "ClusterNotApproved", message: "no rule" };
    await hub.client.update(
      certificateRequests,
      { ...request, status: { conditions: [left] } },
      { subresource: "approval" },
    );
    await clock.advance(10_000);
    const reported = { kind: "waits-for", request: request.metadata.name, message: "ClusterNotApproved: no rule" };
    expect(news.filter(({ kind }) => kind === "waits-for")).toEqual([reported]);
  });

  it("that was denied is not made anew before it is gone, and then with another key", async () => {
    const { hub, call, clock, news } = staged();
    void obtainCertificate(await call()).catch(() => undefined);
    await clock.advance(0);
    await decide(hub, "Denied");
    await clock.advance(3_600_000);
    expect(requests(hub)).toHaveLength(1);
    const [{ metadata }] = requests(hub) as readonly [ApiObject];
    await hub.client.delete(certificateRequests, { name: metadata.name ?? "" });
    await clock.advance(30_000);
    expect(requests(hub)).toHaveLength(1);
    const sent = news.flatMap((one) => (one.kind === "sent" ? [one.fingerprint] : []));
    expect(new Set(sent).size).toBe(2);
  });

  it("of the same name by somebody else is left alone", async () => {
    const { hub, call, clock } = staged();
    const taken = await call();
    await taken.state.change({
      pending: { origin: "first", by: "bootstrap", request: "east-taken", keyPem: exportSec1Pem(generatePrivateKey()) },
    });
    const other = csrObject({ name: "east-taken", signerName: "kubernetes.io/kube-apiserver-client" });
    await hub.client.create(certificateRequests, other);
    void obtainCertificate(taken).catch(() => undefined);
    await clock.advance(10_000);
    expect(requests(hub)).toHaveLength(2);
  });
});
