import { getOrUndefined } from "../client/api-errors.ts";
import type { AccountLookups } from "../admission/access-accounts.ts";
import type { AdmissionPlugin } from "../admission/admission.ts";
import type { Client } from "../client/client.ts";
import { accessProfiles, type AccessProfile } from "../apis/access-profile.ts";
import { namespaces } from "../apis/namespace.ts";
import { serviceAccounts } from "../apis/service-account.ts";
import { machinesLabel } from "./manifests/webhook-configurations.ts";

/** Reads an account from the cluster, anew each time. */
export function accountsOf(client: Client): AccountLookups["accountOf"] {
  return (namespace, name) => getOrUndefined(client, serviceAccounts, { namespace, name });
}

/** Warns the writer of a profile whose namespace is not marked as one of machines: accounts and renewals there are not looked at. */
export function namespaceWarning(client: Client): AdmissionPlugin {
  return {
    name: "PratiqueAccessNamespace",
    validate: async ({ resource, object, warn }) => {
      if (resource !== accessProfiles || object === undefined) return;
      const { namespace: name } = (object as AccessProfile).spec;
      const labels = (await getOrUndefined(client, namespaces, { name }))?.metadata.labels ?? {};
      if (Object.hasOwn(labels, machinesLabel) && labels[machinesLabel] === "true") return;
      warn(
        `namespace ${name} has no label ${machinesLabel}=true: machines there may renew tokens beyond the profile, and with role edit untie their account from its request`,
      );
    },
  };
}
