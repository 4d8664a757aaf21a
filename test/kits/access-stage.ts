import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from "node:crypto";
import { sshPublicKeyOf, type SshKeyKind } from "../../src/pki/ssh-public-key.ts";
import { sealBinding, type AccessRequest } from "../../src/apis/access-request.ts";
import { openAnswer, type PlainAnswer } from "../../src/trust/seal.ts";
import { apiClient, type ApiClient, type Reply } from "./api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "./hub.ts";

const group = "/apis/access.pratique.dev/v1alpha1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The key pairs of machines, made once. */
export const machineKeys: Readonly<Record<SshKeyKind, KeyPairKeyObjectResult>> = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ed25519: generateKeyPairSync("ed25519"),
};

/** A hub on which machines ask for access: namespace vms, default profile `pods`, the approvers ada and ben. */
export interface AccessStage {
  readonly hub: TestHub;
  readonly admin: ApiClient;
  readonly nobody: ApiClient;
  readonly requests: string;
  readonly profiles: string;
  /** A client with a bearer token; closed at the end. */
  as(token: string): ApiClient;
  person(name: string): ApiClient;
  /** Asks without a credential, with the P-256 key. */
  ask(name: string, more?: { readonly metadata?: object; readonly spec?: object }): Promise<Reply>;
  decide(name: string, status: object, who?: ApiClient): Promise<Reply>;
  /** The first state of a request for which `holds`. */
  until(name: string, holds?: (request: AccessRequest) => boolean): Promise<AccessRequest>;
  open(request: AccessRequest, kind?: SshKeyKind, key?: KeyObject): Promise<PlainAnswer>;
  /** A machine that asked and was let in. */
  let(
    name: string,
    more?: { readonly spec?: object },
  ): Promise<{ readonly request: AccessRequest; readonly machine: ApiClient }>;
  profile(name: string, spec: object, annotations?: object): Promise<Reply>;
  close(): Promise<void>;
}

/** Whether the answer is there. */
export function isReady({ status }: AccessRequest): boolean {
  return status?.ready === true;
}

/** Whether it was said for this reason why nothing was issued. */
export function isRefusedFor(reason: string): (request: AccessRequest) => boolean {
  return ({ status }) => status?.conditions?.some((one) => one.type === "Issued" && one.reason === reason) === true;
}

export async function startAccessStage(options: TestHubOptions = {}): Promise<AccessStage> {
  const users = { ada: ["approvers"], ben: ["approvers"], eve: ["nobodies"] };
  const hub = await startTestHub({ users, ...options });
  const clients: ApiClient[] = [];
  const kept = (client: ApiClient): ApiClient => {
    clients.push(client);
    return client;
  };
  const admin = kept(apiClient(hub));
  const nobody = kept(apiClient(hub, "anonymous"));
  const requests = `${group}/accessrequests`;
  const profiles = `${group}/accessprofiles`;
  const stage: AccessStage = {
    hub,
    admin,
    nobody,
    requests,
    profiles,
    as: (token) => kept(apiClient(hub, { token })),
    person: (name) => stage.as(hub.token(name)),
    ask: (name, { metadata = {}, spec = {} } = {}) =>
      nobody(requests, {
        method: "POST",
        body: {
          metadata: { name, ...metadata },
          spec: { pubKey: sshPublicKeyOf(machineKeys.p256.publicKey, name).text, ...spec },
        },
      }),
    decide: (name, status, who = admin) =>
      who(`${requests}/${name}/status`, { method: "PATCH", type: "application/merge-patch+json", body: { status } }),
    until: async (name, holds = isReady) => {
      const stream = await admin.stream(`${requests}?watch=true&fieldSelector=metadata.name=${name}`);
      for (;;) {
        const request = (await stream.next()).object as unknown as AccessRequest;
        if (!holds(request)) continue;
        stream.close();
        return request;
      }
    },
    open: async (request, kind = "p256", key = machineKeys[kind].privateKey) => {
      const { key: sealed = "", token = "", ca = "" } = request.status ?? {};
      return openAnswer({ kind, key }, { key: sealed, token, ca }, sealBinding(request));
    },
    let: async (name, more) => {
      await stage.ask(name, more);
      await stage.decide(name, { accepted: true });
      const request = await stage.until(name);
      return { request, machine: stage.as((await stage.open(request)).token) };
    },
    profile: (name, spec, annotations = {}) =>
      admin(profiles, { method: "POST", body: { metadata: { name, annotations }, spec } }),
    close: async () => {
      for (const client of clients) client.close();
      await hub.close();
    },
  };
  await bootstrap(stage);
  return stage;
}

async function bootstrap({ admin, profile }: AccessStage): Promise<void> {
  const view = [{ apiGroups: [""], resources: ["pods", "configmaps"], verbs: ["get", "list", "watch"] }];
  const approve = [
    {
      apiGroups: ["access.pratique.dev"],
      resources: ["accessrequests", "accessrequests/status"],
      verbs: ["get", "list", "patch", "update"],
    },
    { apiGroups: ["access.pratique.dev"], resources: ["accessprofiles"], verbs: ["approve", "get", "list"] },
  ];
  const apiGroup = "rbac.authorization.k8s.io";
  const binding = {
    metadata: { name: "approver" },
    subjects: [{ kind: "Group", name: "approvers", apiGroup }],
    roleRef: { kind: "ClusterRole", name: "approver", apiGroup },
  };
  await admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "vms" } } });
  const roles = `${rbac}/clusterroles`;
  await admin(roles, { method: "POST", body: { metadata: { name: "viewer" }, rules: view } });
  await admin(roles, { method: "POST", body: { metadata: { name: "approver" }, rules: approve } });
  await admin(`${rbac}/clusterrolebindings`, { method: "POST", body: binding });
  const spec = { namespace: "vms", roles: [{ kind: "ClusterRole", name: "viewer" }] };
  const made = await profile("pods", spec, { "access.pratique.dev/is-default-profile": "true" });
  if (made.status !== 201) throw new TypeError(`the stage cannot be set: ${made.text}`);
}
