import { expect, it } from "vitest";
import type { RequestInfo } from "../request-info.ts";
import { requestInfoOf } from "../request-attributes.ts";
import { requestLimits } from "./request-limits.ts";

const signedIn = ["system:authenticated"];
const kibibyte = 1024;

function limitsOf(
  method: string,
  path: string,
  {
    groups = signedIn,
    mediaType = "application/json",
  }: { readonly groups?: readonly string[]; readonly mediaType?: string } = {},
): readonly [kibibytes: number, values: number] {
  const query = new URLSearchParams();
  const info = requestInfoOf(method, path, query) as RequestInfo;
  const { maxBytes, maxValues } = requestLimits(info, {
    user: { username: "u", uid: "", groups, extra: {} },
    mediaType,
  });
  return [maxBytes / kibibyte, maxValues];
}

const configMaps = "/api/v1/namespaces/default/configmaps";

it.each([
  [
    "a machine without a credential",
    "POST",
    "/apis/access.pratique.dev/v1alpha1/accessrequests",
    { groups: ["system:unauthenticated"] },
    [32, 1000],
  ],
  ["a sender of no group at all", "POST", configMaps, { groups: [] }, [32, 1000]],
  [
    "a machine with a bootstrap token",
    "POST",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    { groups: ["system:bootstrappers", ...signedIn] },
    [64, 1000],
  ],
  [
    "a group whose name begins like that of bootstrap tokens",
    "POST",
    configMaps,
    { groups: ["system:bootstrappers:x", ...signedIn] },
    [3072, 20_000],
  ],
  ["a review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, [128, 5000]],
  ["a TokenReview", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {}, [128, 5000]],
  ["a delete", "DELETE", `${configMaps}/a`, {}, [64, 1000]],
  ["a JSON patch", "PATCH", `${configMaps}/a`, { mediaType: "application/json-patch+json" }, [3072, 50_000]],
  [
    "a JSON patch without a credential",
    "PATCH",
    `${configMaps}/a`,
    { groups: [], mediaType: "application/json-patch+json" },
    [32, 1000],
  ],
  ["a CustomResourceDefinition", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {}, [3072, 65_536]],
  ["a Pod", "POST", "/api/v1/namespaces/default/pods", {}, [3072, 5000]],
  ["anything else", "POST", configMaps, {}, [3072, 20_000]],
] as const)("%s has its limits", (...[, method, path, sender, limits]) => {
  expect(limitsOf(method, path, sender)).toEqual(limits);
});
