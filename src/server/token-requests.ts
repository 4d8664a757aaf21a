import { randomUUID } from "node:crypto";
import type { HubState } from "./hub-state.ts";
import { boundClaims } from "../authentication/service-account-claims.ts";
import { completedTokenRequest, plannedToken } from "../authentication/service-account-token-request.ts";
import type { ObjectLookup, TokenKind } from "../authentication/service-account-token.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { serviceAccountUser } from "../apimachinery/user.ts";
import type { CreateUnder } from "../registry/under-object.ts";
import { accessGroup } from "../apis/access-request.ts";
import { cachedObject } from "../storage/observed-objects.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

const prefixes: Readonly<Record<TokenKind, string>> = {
  ServiceAccount: storagePrefix({ group: "", plural: "serviceaccounts" }),
  Pod: storagePrefix({ group: "", plural: "pods" }),
  Secret: storagePrefix({ group: "", plural: "secrets" }),
  Node: storagePrefix({ group: "", plural: "nodes" }),
};

/** The objects that tokens refer to, in their current state in the watch cache. */
export function tokenObjects(cache: WatchCache): ObjectLookup {
  return (kind, namespace, name) => {
    // A name in a token may contain a slash, which no object name does.
    if (namespace.includes("/") || name.includes("/")) return undefined;
    return cachedObject(cache, prefixes[kind] + (namespace === "" ? name : `${namespace}/${name}`));
  };
}

/** Issues tokens of ServiceAccounts. Only the response contains the token; it is not stored. */
export function tokenRequests({
  issuer,
  cache,
  credentialUse,
}: Pick<HubState, "issuer" | "cache" | "credentialUse">): CreateUnder {
  const lookup = tokenObjects(cache);
  const { audiences, maxExpirationSeconds, extendExpiration } = issuer;
  const rules = { issuer: issuer.issuers[0], audiences, maxExpirationSeconds, extendExpiration };
  return async function requestToken(object, { parent, context, admit }) {
    const request = completedTokenRequest(object, parent, { audiences, now: context.now });
    await admit(request);
    const { order, expirationSeconds, warnings } = plannedToken(request, parent, {
      rules,
      lookup,
      now: context.now,
      id: randomUUID(),
    });
    warnings.forEach(context.warn);
    const token = await issuer.sign(boundClaims(order));
    if (isOfAccess(parent)) {
      // Records which machine of an access request got the token.
      credentialUse.recordToken(
        serviceAccountUser(order.namespace, order.serviceAccount.name).username,
        order,
        context.user.username,
      );
    }
    return {
      ...request,
      spec: { ...request.spec, expirationSeconds },
      status: { token, expirationTimestamp: rfc3339(context.now + expirationSeconds * 1000) },
    };
  };
}

function isOfAccess({ metadata: { ownerReferences = [] } }: ApiObject): boolean {
  return ownerReferences.some(
    ({ kind, apiVersion }) => kind === "AccessRequest" && apiVersion.startsWith(`${accessGroup}/`),
  );
}
