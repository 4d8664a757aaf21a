import { describe, expect, it } from "vitest";
import { accessObject, accessProfile } from "../../test/kits/access-object.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { AccessProfile } from "../apis/access-profile.ts";
import type { AccessRequest } from "../apis/access-request.ts";
import { serviceAccounts } from "../apis/service-account.ts";
import type { AdmissionRequest } from "./admission.ts";
import { accessTokenAdmission } from "./access-accounts.ts";

const machine = "system:serviceaccount:vms:vm-1";
const account: ApiObject = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: {
    name: "vm-1",
    namespace: "vms",
    uid: "a-1",
    ownerReferences: [{ apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest", name: "vm-1", uid: "r-1" }],
  },
};

function asked(status: AccessRequest["status"] = { accepted: true }, uid = "r-1"): AccessRequest {
  const request = accessObject({ profile: "pods", status });
  return { ...request, metadata: { ...request.metadata, uid } };
}

interface World {
  readonly account?: ApiObject;
  readonly request?: AccessRequest | undefined;
  readonly profile?: AccessProfile | undefined;
  readonly user?: string;
  readonly uid?: string;
}

async function renewed(spec: object, world: World = {}, more: Partial<AdmissionRequest> = {}): Promise<unknown> {
  const found = { request: asked(), profile: accessProfile("pods"), account, ...world };
  const lookups = {
    accountOf: async () => found.account,
    requestOf: (name: string) => (name === "vm-1" ? found.request : undefined),
    profileOf: (name: string | undefined) => (name === "pods" ? found.profile : undefined),
  };
  const { mutate } = accessTokenAdmission(lookups, async ({ user }) => ({
    allowed: user.username === "kubernetes-admin",
    reason: "",
  }));
  const request: AdmissionRequest = {
    operation: "CREATE",
    resource: serviceAccounts,
    subresource: "token",
    namespace: "vms",
    name: "vm-1",
    object: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec },
    oldObject: undefined,
    user: { username: world.user ?? machine, groups: [], uid: world.uid ?? "a-1" },
    dryRun: false,
    warn: () => undefined,
    annotate: () => undefined,
    ...more,
  };
  const round = { number: 0, request: {}, again: () => undefined } as const;
  return (await mutate?.(request, round))?.["spec"];
}

describe("a token that a machine asks for by itself", () => {
  it.each([
    ["the hour where the profile says nothing", {}, {}, { expirationSeconds: 3600 }],
    ["what it asks for where that is less", {}, { expirationSeconds: 600 }, { expirationSeconds: 600 }],
    [
      "what the profile says where it asks for more",
      { tokenSeconds: 900 },
      { expirationSeconds: 1e9 },
      { expirationSeconds: 900 },
    ],
    ["what the profile says where it asks for nothing", { tokenSeconds: 900 }, {}, { expirationSeconds: 900 }],
    [
      "the hour where the profile says more and it asks for nothing",
      { tokenSeconds: 7200 },
      {},
      { expirationSeconds: 3600 },
    ],
    ["all audiences of the profile", { audiences: ["a", "b"] }, {}, { expirationSeconds: 3600, audiences: ["a", "b"] }],
    ["one of them", { audiences: ["a", "b"] }, { audiences: ["b"] }, { expirationSeconds: 3600, audiences: ["b"] }],
  ])("gets %s", async (_what, terms, spec, given) => {
    expect(await renewed(spec, { profile: accessProfile("pods", terms) })).toEqual(given);
  });

  it.each<readonly [string, object, World, string]>([
    ["another audience", { audiences: ["vault"] }, {}, 'gives no token for audience \\"vault\\"'],
    [
      "one that only begins like it",
      { audiences: ["ab"] },
      { profile: accessProfile("pods", { audiences: ["a"] }) },
      "no token",
    ],
    ["a bound object", { boundObjectRef: { kind: "Node", name: "n" } }, {}, "bound to no other object"],
    ["a request that is gone", {}, { request: undefined }, "is over"],
    ["another request of the name", {}, { request: asked({ accepted: true }, "r-2") }, "is over"],
    ["a revoked request", {}, { request: asked({ accepted: true, revoked: true }) }, "is over"],
    ["a request that was never accepted", {}, { request: asked({}) }, "is over"],
    ["a profile that is gone", {}, { profile: undefined }, "is gone"],
  ])("is refused for %s", async (_what, spec, world, why) => {
    await expect(renewed(spec, world)).rejects.toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining(why.replaceAll("\\", "")),
    });
  });
});

describe("a token that is none of this", () => {
  it.each<readonly [string, World, Partial<AdmissionRequest>]>([
    [
      "of an account of another origin",
      { account: { ...account, metadata: { name: "vm-1", namespace: "vms", uid: "a-1" } } },
      {},
    ],
    ["that an administrator asks for", { user: "kubernetes-admin" }, {}],
    ["and no token at all", {}, { subresource: "" }],
  ])("is left alone: one %s", async (_what, world, more) => {
    expect(await renewed({ expirationSeconds: 1e6, audiences: ["vault"] }, world, more)).toBeUndefined();
  });
});

describe("the token of a machine's account", () => {
  it.each<readonly [string, World]>([
    ["a person", { user: "ada" }],
    ["another account", { user: "system:serviceaccount:vms:vm-2" }],
    ["an account of the same name elsewhere", { user: "system:serviceaccount:other:vm-1" }],
    ["an account that was made anew", { uid: "a-0" }],
    ["whoever impersonates the account", { uid: "" }],
  ])("is not for %s", async (_who, world) => {
    await expect(renewed({}, world)).rejects.toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining("gives its token to its own machine alone"),
    });
  });

  it("is kept within the terms by what the request says, whatever became of the account's owners", async () => {
    const grant = { namespace: "vms", serviceAccount: "vm-1", uid: "a-1" };
    const stripped = { ...account, metadata: { name: "vm-1", namespace: "vms", uid: "a-1" } };
    const request = asked({ accepted: true, grant });
    expect(await renewed({ expirationSeconds: 1e9 }, { account: stripped, request })).toEqual({
      expirationSeconds: 3600,
    });
  });
});
