import { accessTokenAdmission, type AccessTokenLookups } from "../../admission/access-tokens.ts";
import type { AdmissionPlugin } from "../../admission/admission.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { ApiObject, ObjectKey } from "../../core/object.ts";
import { StatusError } from "../../core/status.ts";
import { serviceAccountUser } from "../../core/user.ts";
import { accessProfiles, type AccessProfile } from "../../resources/access-profile.ts";
import { namespaces } from "../../resources/namespace.ts";
import { serviceAccounts } from "../../resources/service-account.ts";
import { machinesLabel } from "./manifests/webhook-configurations.ts";

/**
 * Keeps the tokens that machines renew within the terms of their profile, as a hub does; the account is looked up in the cluster for
 * each, and only where it asks for itself.
 */
export function renewalAdmission(
  client: Client,
  lookups: Pick<AccessTokenLookups, "requestOf" | "profileOf">,
): AdmissionPlugin {
  return {
    name: "PratiqueAccessToken",
    mutate: async (request, round) => {
      const { resource, namespace, name, user } = request;
      if (resource !== serviceAccounts || user.username !== serviceAccountUser(namespace, name).username) {
        return undefined;
      }
      const account = await found(client, serviceAccounts, { namespace, name });
      return accessTokenAdmission({ ...lookups, accountOf: () => account }).mutate?.(request, round);
    },
  };
}

/** Warns whoever writes a profile whose namespace is not marked as one of machines: renewals there are not looked at. */
export function namespaceWarning(client: Client): AdmissionPlugin {
  return {
    name: "PratiqueAccessNamespace",
    validate: async ({ resource, object, warn }) => {
      if (resource !== accessProfiles || object === undefined) return;
      const { namespace: name } = (object as AccessProfile).spec;
      const labels = (await found(client, namespaces, { name }))?.metadata.labels ?? {};
      if (Object.hasOwn(labels, machinesLabel) && labels[machinesLabel] === "true") return;
      warn(
        `namespace ${name} has no label ${machinesLabel}=true: tokens that machines renew there may outlive the profile`,
      );
    },
  };
}

async function found(client: Client, resource: ResourceRef, key: ObjectKey): Promise<ApiObject | undefined> {
  try {
    return await client.get(resource, key);
  } catch (error) {
    if (error instanceof StatusError && error.reason === "NotFound") return undefined;
    throw error;
  }
}
