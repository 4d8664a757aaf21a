import { describe, expect, test } from "vitest";
import { logEntry } from "../../apimachinery/log-entry.ts";
import type { Hub } from "../../server/hub.ts";
import { HubError } from "../../apimachinery/hub-error.ts";
import type { HubOptions } from "../../server/hub-options.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, type FakeIoOptions, runLine } from "../../../test/kits/fake-io.ts";

const pin = `sha256:${"0f".repeat(32)}`;

interface Started {
  readonly io: FakeIo;
  readonly options: HubOptions[];
  readonly closed: () => number;
  readonly fail: (error: Error) => void;
}

function hubWorld(more: FakeIoOptions & { readonly url?: string } = {}): Started {
  const options: HubOptions[] = [];
  let closed = 0;
  let fail: (error: Error) => void = () => undefined;
  const { url = "https://127.0.0.1:6443", ...rest } = more;
  const startHub = async (given: HubOptions): Promise<Hub> => {
    options.push(given);
    const stopped = new Promise<void>((_, reject) => {
      fail = reject;
    });
    stopped.catch(() => undefined);
    return {
      url,
      caPin: pin,
      adminKubeconfig: "pratique-data/admin.kubeconfig",
      store: "lmdb, pratique-data/store",
      readyMs: 123.4,
      stopped,
      close: async () => void (closed += 1),
    };
  };
  return { io: fakeIo({ startHub, ...rest }), options, closed: () => closed, fail: (error) => fail(error) };
}

async function stopped(world: Started, line: string): Promise<number> {
  const running = runLine(line, world.io);
  await settled();
  world.io.interrupt();
  return running;
}

const welcome = `Ready in 123 ms
  address      https://127.0.0.1:6443
  CA pin       ${pin}
  store        lmdb, pratique-data/store
  kubeconfig   pratique-data/admin.kubeconfig

To let a machine in, get a token and the whole command line:
  pratique token create --print-join-command --kubeconfig pratique-data/admin.kubeconfig
and type on that machine what it prints:
  pratique join 127.0.0.1:6443 --token <token> --discovery-token-ca-cert-hash ${pin}
Stop with Ctrl-C.
`;

describe("pratique hub", () => {
  test("has the defaults of the API server, and those of a log that is on", async () => {
    const world = hubWorld();
    expect(await stopped(world, "hub")).toBe(0);
    const [{ log, ...options }] = world.options as [HubOptions];
    expect(typeof log).toBe("function");
    expect(options).toEqual({
      dataDir: "/here/pratique-data",
      bindAddress: "127.0.0.1",
      securePort: 6443,
      tlsSans: [],
      authorizationModes: ["Node", "RBAC"],
      anonymousAuth: true,
      clusterSigningDurationSeconds: 31_536_000,
      serviceAccountIssuers: ["https://kubernetes.default.svc"],
      serviceAccountKeyFiles: [],
      apiAudiences: [],
      serviceAccountMaxTokenExpirationSeconds: 0,
      serviceAccountExtendTokenExpiration: true,
      nodeAutoapprove: true,
      nodeAutoapproveNamesInUse: false,
      enableAdmissionPlugins: [],
      disableAdmissionPlugins: [],
      auditLogMaxSizeMb: 100,
      auditLogMaxBackups: 10,
      auditLogMaxAgeDays: 30,
      auditWebhookBatchMaxSize: 400,
      auditWebhookBatchMaxWaitMs: 30_000,
      auditWebhookInitialBackoffMs: 10_000,
      quotaBackendBytes: 0,
      maxRequestsInflight: 400,
      maxMutatingRequestsInflight: 200,
      maxWatchesPerUser: 10_000,
      kubeletPreferredAddressTypes: ["InternalIP", "ExternalIP", "Hostname"],
      accessRequests: { perAddress: 30, inAll: 600, pending: 1000 },
      release: "0.0.0-test",
    });
  });

  test("passes its flags on", async () => {
    const world = hubWorld();
    const line = `hub --data-dir d --bind-address :: --secure-port 0 --tls-san a,b --tls-san c --authorization-mode RBAC,AlwaysAllow
      --anonymous-auth=false --token-auth-file t --cluster-signing-cert-file c --cluster-signing-key-file k
      --cluster-signing-duration 1h30m --no-node-autoapprove --node-autoapprove-names-in-use --audit-log-path a --max-requests-inflight 7
      --audit-policy-file p --audit-log-maxsize 1 --audit-log-maxbackup 2 --audit-log-maxage 3 --audit-log-format json
      --audit-webhook-config-file w --audit-webhook-batch-max-size 4 --audit-webhook-batch-max-wait 5s
      --audit-webhook-initial-backoff 6s --max-mutating-requests-inflight 8 --max-watches-per-user 9
      --service-account-issuer https://a --service-account-issuer https://b --service-account-signing-key-file s
      --service-account-key-file x --service-account-key-file y,z --api-audiences api,hub
      --service-account-max-token-expiration 24h --service-account-extend-token-expiration=false
      --access-requests-per-address 10 --access-requests-per-minute 11 --access-requests-pending 12
      --kubelet-preferred-address-types Hostname,InternalDNS --kubelet-certificate-authority ca
      --serving-approval inventory,dns --serving-approval-config g --quota-backend-bytes 16777216`;
    expect(await stopped(world, line.replaceAll(/\s+/g, " "))).toBe(0);
    expect(world.options[0]).toMatchObject({
      dataDir: "/here/d",
      bindAddress: "::",
      securePort: 0,
      tlsSans: ["a", "b", "c"],
      authorizationModes: ["RBAC", "AlwaysAllow"],
      anonymousAuth: false,
      tokenAuthFile: "t",
      clusterSigningCertFile: "c",
      clusterSigningKeyFile: "k",
      clusterSigningDurationSeconds: 5400,
      nodeAutoapprove: false,
      nodeAutoapproveNamesInUse: true,
      auditLogPath: "a",
      auditPolicyFile: "p",
      auditLogMaxSizeMb: 1,
      auditLogMaxBackups: 2,
      auditLogMaxAgeDays: 3,
      auditWebhookConfigFile: "w",
      auditWebhookBatchMaxSize: 4,
      auditWebhookBatchMaxWaitMs: 5000,
      auditWebhookInitialBackoffMs: 6000,
      maxRequestsInflight: 7,
      maxMutatingRequestsInflight: 8,
      maxWatchesPerUser: 9,
      kubeletPreferredAddressTypes: ["Hostname", "InternalDNS"],
      kubeletCertificateAuthority: "ca",
      accessRequests: { perAddress: 10, inAll: 11, pending: 12 },
      servingApproval: { providers: ["inventory", "dns"], configFile: "g" },
      quotaBackendBytes: 16_777_216,
      serviceAccountIssuers: ["https://a", "https://b"],
      serviceAccountSigningKeyFile: "s",
      serviceAccountKeyFiles: ["x", "y", "z"],
      apiAudiences: ["api", "hub"],
      serviceAccountMaxTokenExpirationSeconds: 86_400,
      serviceAccountExtendTokenExpiration: false,
    });
  });

  test("says how to reach it and how to join, and closes cleanly at a signal", async () => {
    const world = hubWorld();
    expect(await stopped(world, "hub")).toBe(0);
    expect(world.io.out()).toBe(welcome);
    expect(world.io.err()).toBe(
      "2026-11-21T00:00:00.000Z INFO  the hub stops: requests in progress may finish; a second signal ends it at once reason=Stopping\n2026-11-21T00:00:00.000Z INFO  the hub stopped reason=Stopped\n",
    );
    expect(world.closed()).toBe(1);
  });

  test("says the port of an address that has the default one", async () => {
    const world = hubWorld({ url: "https://hub.example" });
    await stopped(world, "hub");
    expect(world.io.out()).toContain("pratique join hub.example:443 --token");
  });

  test("colours its welcome on a terminal, but not with NO_COLOR", async () => {
    const coloured = hubWorld({ tty: true });
    await stopped(coloured, "hub");
    expect(coloured.io.out()).toContain("\u001b[32mReady\u001b[39m in 123 ms");
    const plain = hubWorld({ tty: true, env: { NO_COLOR: "1" } });
    await stopped(plain, "hub");
    expect(plain.io.out()).toBe(welcome);
  });

  test("logs on stderr from the level that is asked for, in the format that is asked for", async () => {
    const world = hubWorld();
    const running = runLine("hub --log-level warn --log-format json", world.io);
    await settled();
    world.options[0]?.log(logEntry("Reloaded", "quiet"));
    world.options[0]?.log(logEntry("ClockChanged", "loud", { key: 1 }));
    world.io.interrupt();
    expect(await running).toBe(0);
    expect(world.io.err()).toBe(
      '{"time":"2026-11-21T00:00:00.000Z","level":"warn","message":"loud","reason":"ClockChanged","key":1}\n',
    );
    expect(JSON.parse(world.io.out())).toMatchObject({
      level: "info",
      reason: "Ready",
      message: "the hub is ready",
      readyMs: 123,
    });
  });

  test("ends with code 1 and the reason when the hub can go on no longer", async () => {
    const world = hubWorld();
    const running = runLine("hub", world.io);
    await settled();
    world.fail(new HubError("data-dir", "the disk is full"));
    expect(await running).toBe(1);
    expect(world.io.err()).toBe("error: the hub stopped: the disk is full\n");
    expect(world.closed()).toBe(1);
  });

  test("ends with code 1 and the sentence when the hub does not start", async () => {
    const startHub = (): Promise<Hub> => Promise.reject(new HubError("data-dir", "another hub uses pratique-data"));
    const io = fakeIo({ startHub });
    expect(await runLine("hub", io)).toBe(1);
    expect(io.err()).toBe("error: another hub uses pratique-data\n");
    expect(io.out()).toBe("");
  });

  test.each([
    ["options", 2],
    ["ca", 2],
    ["port", 1],
    ["data-dir", 1],
  ] as const)("ends with a code that tells a wrong command line from the rest: %s", async (code, exit) => {
    const startHub = (): Promise<Hub> => Promise.reject(new HubError(code, "why"));
    const io = fakeIo({ startHub });
    expect(await runLine("hub", io)).toBe(exit);
    expect(io.err()).toMatch(/^error: why\n/);
  });

  const refusals: Readonly<Record<string, string>> = {
    "hub --quota-backend-bytes 1000000":
      "error: --quota-backend-bytes 1000000: must be 0, or 16777216 (16 MiB) or more\n",
    "hub --secure-port 65536": "error: --secure-port 65536: must be 0 to 65535\n",
    "hub --authorization-mode RBAC,Abac":
      "error: --authorization-mode Abac: must be one of Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny\n",
    "hub --cluster-signing-cert-file c":
      "error: --cluster-signing-cert-file and --cluster-signing-key-file come together\n",
    "hub --cluster-signing-duration 5m":
      "error: --cluster-signing-duration 300s: must be 10m or more, the shortest life that may be asked for\n",
    "hub --serving-approval-config g": "error: --serving-approval-config needs --serving-approval\n",
    "hub --serving-approval everything":
      "error: --serving-approval everything: must be one of inventory, networks, source-address, dns\n",
    "hub --bind-address": "error: --bind-address needs a value\n",
    "hub --tls-san a --tls-san https://b":
      'error: --tls-san "https://b": must be a host name or an address, without scheme and port\n',
    "hub --tls-san a_b,b:6443":
      'error: --tls-san "b:6443": must be a host name or an address, without scheme and port\n',
    "hub --anonymous-auth false":
      "error: --anonymous-auth takes its value with an equals sign: --anonymous-auth=false\n",
  };
  test.each(Object.entries(refusals))("`%s` is refused with code 2 before anything starts", async (line, text) => {
    const world = hubWorld();
    expect(await runLine(line, world.io)).toBe(2);
    expect(world.io.err()).toBe(`${text}See 'pratique hub --help'.\n`);
    expect(world.options).toEqual([]);
  });
});
