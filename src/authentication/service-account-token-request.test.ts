import { describe, expect, it } from "vitest";
import type { ApiObject, ObjectMeta } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { Fields } from "../apis/json-fields.ts";
import { boundClaims, parseBoundClaims } from "./service-account-claims.ts";
import {
  completedTokenRequest,
  plannedToken,
  type PlannedToken,
  type TokenRules,
} from "./service-account-token-request.ts";
import type { TokenKind } from "./service-account-token.ts";

const now = Date.parse("2026-11-21T03:38:15.700Z");
const issuedAt = Math.floor(now / 1000);
const rules: TokenRules = {
  issuer: "https://issuer",
  audiences: ["https://issuer", "api"],
  maxExpirationSeconds: undefined,
  extendExpiration: true,
};
const account: ApiObject = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "robot", namespace: "apps", uid: "sa-1" },
};

function stored(kind: string, uid: string, spec: Fields = {}): ApiObject {
  return { apiVersion: "v1", kind, metadata: { uid }, spec };
}

const objects: Readonly<Record<string, ApiObject>> = {
  "Pod apps/web": stored("Pod", "pod-1", { serviceAccountName: "robot", nodeName: "n1" }),
  "Pod apps/stray": stored("Pod", "pod-2", { serviceAccountName: "robot", nodeName: "unregistered" }),
  "Pod apps/waiting": stored("Pod", "pod-3", { serviceAccountName: "robot" }),
  "Pod apps/foreign": stored("Pod", "pod-4", { serviceAccountName: "other" }),
  "Pod apps/plain": stored("Pod", "pod-5"),
  "Secret apps/s": stored("Secret", "secret-1"),
  "Node /n1": stored("Node", "node-1"),
};
const lookup = (kind: TokenKind, namespace: string, name: string): ApiObject | undefined =>
  objects[`${kind} ${namespace}/${name}`];

function asking(spec: Fields = {}, metadata: ObjectMeta = {}): ApiObject {
  return { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata, spec };
}

function planned(request: ApiObject, changes: Partial<TokenRules> = {}): PlannedToken {
  const completed = completedTokenRequest(request, account, { audiences: rules.audiences, now });
  return plannedToken(completed, account, { rules: { ...rules, ...changes }, lookup, now, id: "id-1" });
}

function refusal(ask: () => unknown): readonly [number, string] {
  try {
    ask();
  } catch (error) {
    if (error instanceof StatusError) return [error.code, error.message];
  }
  return [201, ""];
}

describe("a request for a token", () => {
  it("gets an hour, for the API, in its own name", () => {
    expect(completedTokenRequest(asking(), account, { audiences: rules.audiences, now })).toEqual({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name: "robot", namespace: "apps", creationTimestamp: "2026-11-21T03:38:15Z" },
      spec: { audiences: rules.audiences, expirationSeconds: 3600, boundObjectRef: null },
    });
    const { order, expirationSeconds, warnings } = planned(asking());
    expect([order.expiresAt, expirationSeconds, warnings]).toEqual([issuedAt + 3600, 3600, []]);
  });

  it("cannot be for audiences with which the API would not read it", () => {
    const sized = (characters: number): ApiObject => asking({ audiences: ["a".repeat(characters - 3)] });
    expect(refusal(() => planned(sized(8192)))).toEqual([201, ""]);
    const [code, message] = refusal(() => planned(sized(8193)));
    expect(code).toBe(422);
    expect(message).toContain(
      'spec.audiences: Invalid value: "<1 audiences>": may have at most 8192 characters in all, has 8193',
    );
  });

  it("cannot bring its own answer", () => {
    const forged = { ...asking(), status: { token: "x", expirationTimestamp: "2099-01-01T00:00:00Z" } };
    expect(completedTokenRequest(forged, account, { audiences: ["api"], now })).not.toHaveProperty("status");
  });

  it.each([
    [
      "too short",
      { expirationSeconds: 599 },
      {},
      422,
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
    ],
    [
      "nothing",
      { expirationSeconds: 0 },
      {},
      422,
      "spec.expirationSeconds: Invalid value: 0: may not specify a duration less than 10 minutes",
    ],
    ["too long", { expirationSeconds: 2 ** 32 + 1 }, {}, 422, "may not specify a duration larger than 2^32 seconds"],
    [
      "another name",
      {},
      { name: "x" },
      422,
      'metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      "another namespace",
      {},
      { namespace: "x" },
      422,
      'metadata.namespace: Invalid value: "x": must match the service account namespace if specified',
    ],
    [
      "the uid of an earlier account",
      {},
      { uid: "sa-0" },
      409,
      "the UID in the token request (sa-0) does not match the UID of the service account (sa-1)",
    ],
    [
      "another kind to be bound to",
      { boundObjectRef: { kind: "ConfigMap", apiVersion: "v1", name: "x" } },
      {},
      400,
      "cannot bind token to object of type /v1, Kind=ConfigMap",
    ],
    [
      "a pod of another group",
      { boundObjectRef: { kind: "Pod", apiVersion: "example.com/v1", name: "web" } },
      {},
      400,
      "cannot bind token to object of type example.com/v1, Kind=Pod",
    ],
    ["nothing to be bound to", { boundObjectRef: {} }, {}, 400, "cannot bind token to object of type /, Kind="],
    [
      "a word of every object",
      { boundObjectRef: { kind: "constructor", apiVersion: "v1", name: "x" } },
      {},
      400,
      "cannot bind token to object of type /v1, Kind=constructor",
    ],
    [
      "a pod without a name",
      { boundObjectRef: { kind: "Pod", apiVersion: "v1" } },
      {},
      400,
      "Name parameter required.",
    ],
    [
      "a pod that is missing",
      { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "x" } },
      {},
      404,
      'pods "x" not found',
    ],
    [
      "a secret that is missing",
      { boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "x" } },
      {},
      404,
      'secrets "x" not found',
    ],
    [
      "a node that is missing",
      { boundObjectRef: { kind: "Node", apiVersion: "v1", name: "x" } },
      {},
      404,
      'nodes "x" not found',
    ],
    [
      "a pod of another account",
      { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "foreign" } },
      {},
      400,
      'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
    ],
    [
      "a pod that names no account",
      { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "plain" } },
      {},
      400,
      "to pod running with different serviceaccount name.",
    ],
    [
      "the uid of an earlier pod",
      { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web", uid: "pod-0" } },
      {},
      409,
      'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (pod-0) does not match the UID in record. The object might have been deleted and then recreated',
    ],
  ] as const)("is refused that asks for %s", (_name, spec, metadata, ...[code, message]) => {
    const [found, text] = refusal(() => planned(asking(spec, metadata)));
    expect(found).toBe(code);
    expect(text).toContain(message);
  });

  it.each([
    [
      "a pod and its node",
      { kind: "Pod", apiVersion: "v1", name: "web", uid: "pod-1" },
      { pod: { name: "web", uid: "pod-1" }, node: { name: "n1", uid: "node-1" } },
    ],
    [
      "a pod whose node nobody registered",
      { kind: "Pod", apiVersion: "v1", name: "stray" },
      { pod: { name: "stray", uid: "pod-2" }, node: { name: "unregistered", uid: "" } },
    ],
    [
      "a pod without a node",
      { kind: "Pod", apiVersion: "v1", name: "waiting" },
      { pod: { name: "waiting", uid: "pod-3" } },
    ],
    ["a secret", { kind: "Secret", apiVersion: "v1", name: "s" }, { secret: { name: "s", uid: "secret-1" } }],
    ["a node", { kind: "Node", apiVersion: "v1", name: "n1" }, { node: { name: "n1", uid: "node-1" } }],
  ])("is bound to %s, and the token says so", (_name, boundObjectRef, bound) => {
    const { order } = planned(asking({ boundObjectRef }));
    const subject = { namespace: "apps", serviceAccount: { name: "robot", uid: "sa-1" }, ...bound };
    expect(order).toMatchObject(subject);
    expect(parseBoundClaims(boundClaims(order))).toEqual({
      ...subject,
      audiences: rules.audiences,
      expiresAt: issuedAt + 3600,
      notBefore: issuedAt,
      issuedAt,
      id: "id-1",
    });
  });

  it("is shortened to the bound of the hub, with a warning", () => {
    const { order, expirationSeconds, warnings } = planned(asking({ expirationSeconds: 90_000 }), {
      maxExpirationSeconds: 86_400,
    });
    expect([order.expiresAt - issuedAt, expirationSeconds]).toEqual([86_400, 86_400]);
    expect(warnings).toEqual(["requested expiration of 90000 seconds shortened to 86400 seconds"]);
  });
});

describe("a kubelet's request for a pod", () => {
  const pod = { kind: "Pod", apiVersion: "v1", name: "web" };
  const year = 365 * 24 * 3600;

  it.each([
    ["3607 seconds hold a year, and say when to ask again", { expirationSeconds: 3607, boundObjectRef: pod }, {}, year],
    ["3606 seconds hold 3606 seconds", { expirationSeconds: 3606, boundObjectRef: pod }, {}, 3606],
    ["3607 seconds without a pod", { expirationSeconds: 3607 }, {}, 3607],
    [
      "3607 seconds bound to a Secret",
      { expirationSeconds: 3607, boundObjectRef: { ...pod, kind: "Secret", name: "s" } },
      {},
      3607,
    ],
    [
      "3607 seconds for another service",
      { expirationSeconds: 3607, audiences: ["api", "vault"], boundObjectRef: pod },
      {},
      3607,
    ],
    [
      "3607 seconds where nothing is extended",
      { expirationSeconds: 3607, boundObjectRef: pod },
      { extendExpiration: false },
      3607,
    ],
  ])("%s", (_name, spec, changes, seconds) => {
    const { order, expirationSeconds } = planned(asking(spec), changes);
    expect(order.expiresAt - issuedAt).toBe(seconds);
    expect(expirationSeconds).toBe(spec.expirationSeconds);
    expect(order.warnAfter).toBe(seconds === year ? issuedAt + 3607 : undefined);
    expect(boundClaims(order)["kubernetes.io"]).toMatchObject(seconds === year ? { warnafter: issuedAt + 3607 } : {});
  });
});
