import type { Client, ResourceRef } from "../../client/client.ts";
import { recordName } from "../../controllers/credentials/credential-record.ts";
import { nodes, secrets, serviceAccounts } from "../../controllers/kinds.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import type { RevocationTarget } from "../../apis/credential-revocation.ts";
import { issuedCredentials } from "../../apis/issued-credential.ts";
import { tokenSecretName } from "../../trust/token-secret.ts";

interface Sought {
  readonly resource: ResourceRef;
  readonly name: string;
  readonly namespace?: string;
}

const accountUser = /^system:serviceaccount:([^:]+):([^:]+)$/;

/**
 * A sentence about something revoked that nobody has heard of, whose name may be mistyped; undefined where there is such a thing, where that
 * may not be seen, and of users and certificates, of which no list is complete.
 */
export async function unknownTarget(target: RevocationTarget, client: Client): Promise<string | undefined> {
  const sought = soughtFor(target);
  if (sought === undefined) return undefined;
  const found = await Promise.all(sought.places.map((place) => isThere(place, client)));
  return found.includes("yes") || found.includes("unseen") ? undefined : sought.sentence;
}

function soughtFor(target: RevocationTarget): { places: readonly Sought[]; sentence: string } | undefined {
  const { user = "", secret, bootstrapTokenID } = target;
  if (user.startsWith(nodeUserPrefix)) {
    const name = user.slice(nodeUserPrefix.length);
    const record = recordName({ username: user, purpose: "Client" });
    const places = [
      { resource: nodes, name },
      { resource: issuedCredentials, name: record },
    ];
    return { places, sentence: `there is no Node ${JSON.stringify(name)}, and no record of a certificate for it` };
  }
  const [, namespace, account] = accountUser.exec(user) ?? [];
  if (namespace !== undefined && account !== undefined) {
    const sentence = `there is no ServiceAccount ${namespace}/${account}`;
    return { places: [{ resource: serviceAccounts, namespace, name: account }], sentence };
  }
  if (secret !== undefined) {
    const sentence = `there is no Secret ${secret.namespace}/${secret.name}`;
    return { places: [{ resource: secrets, ...secret }], sentence };
  }
  if (bootstrapTokenID === undefined) return undefined;
  const place = { resource: secrets, namespace: "kube-system", name: tokenSecretName(bootstrapTokenID) };
  return { places: [place], sentence: `there is no bootstrap token ${bootstrapTokenID}` };
}

async function isThere({ resource, ...key }: Sought, client: Client): Promise<"yes" | "no" | "unseen"> {
  try {
    await client.get(resource, key);
    return "yes";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.code === 404 ? "no" : "unseen";
  }
}
