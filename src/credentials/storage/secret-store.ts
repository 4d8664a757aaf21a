import { getOrUndefined, hasReason, ignoreReasons, retryOnConflict } from "../../client/api-errors.ts";
import { ConnectionError, type Client, type ResourceRef } from "../../client/client.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { JoinError, plainText } from "../join-error.ts";
import { credentialKeys, type CredentialKey, type KlusterletStore } from "./klusterlet-store.ts";

const secrets: ResourceRef = { group: "", version: "v1", plural: "secrets", kind: "Secret", scope: "Namespaced" };
const namespaces: ResourceRef = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", scope: "Cluster" };

/** The name of the Secret that work agents and add-ons read. */
export const hubSecretName = "hub-kubeconfig-secret";
/** The name of the Secret with the state before the first certificate; for the operator of OCM the other Secret is the sign that there is one. */
export const stateSecretName = "klusterlet-registration-state";
const stateKey = "state.json";

interface Secret extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** A store in two Secrets of a namespace, which is created where it is missing. Failures are JoinError unreachable and refused. */
export function secretStore(client: Client, namespace: string): KlusterletStore {
  const key = (name: string): ObjectKey => ({ namespace, name });

  async function read(name: string): Promise<Secret | undefined> {
    return getOrUndefined<Secret>(client, secrets, key(name));
  }

  function write(name: string, data: Readonly<Record<string, string>>): Promise<void> {
    return retryOnConflict(() => writeOnce(name, data), {
      // NotFound: the namespace is missing, or the Secret was deleted meanwhile.
      isRace: (error) => hasReason(error, "Conflict", "AlreadyExists", "NotFound"),
      pause: async (error) => {
        if (hasReason(error, "NotFound")) await makeNamespace();
      },
    });
  }

  async function writeOnce(name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const stored = await read(name);
    const encoded = Object.fromEntries(
      Object.entries(data).map(([field, text]) => [field, Buffer.from(text, "utf8").toString("base64")]),
    );
    if (stored === undefined) {
      const metadata = { name, namespace };
      await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data: encoded });
    } else {
      await client.update(secrets, { ...stored, data: { ...stored.data, ...encoded } });
    }
  }

  async function makeNamespace(): Promise<void> {
    const home = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    await ignoreReasons(client.create(namespaces, home), "AlreadyExists");
  }

  const place = `Secret ${namespace}/${hubSecretName}`;
  return {
    place,
    readState: () => guarded(place, async () => textIn(await read(stateSecretName), stateKey)),
    writeState: (text) => guarded(place, () => write(stateSecretName, { [stateKey]: text })),
    readCredential: async () => {
      const secret = await guarded(place, () => read(hubSecretName));
      const found = new Map<CredentialKey, string>();
      for (const field of credentialKeys) {
        const text = textIn(secret, field);
        if (text !== undefined) found.set(field, text);
      }
      return Object.fromEntries(found);
    },
    writeCredential: (files) => guarded(place, () => write(hubSecretName, files)),
    remove: () =>
      guarded(place, async () => {
        for (const name of [hubSecretName, stateSecretName])
          await ignoreReasons(client.delete(secrets, key(name)), "NotFound");
      }),
  };
}

function textIn(secret: Secret | undefined, field: string): string | undefined {
  const data = secret?.data;
  if (data === undefined || !Object.hasOwn(data, field)) return undefined;
  return Buffer.from(data[field] ?? "", "base64").toString("utf8");
}

/** So that the user does not look for the cause at the hub. */
async function guarded<T>(place: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ConnectionError) {
      const message = `${place} cannot be reached: ${error.message}`;
      throw new JoinError("unreachable", message, { cause: error, causeCode: error.code });
    }
    if (!(error instanceof StatusError)) throw error;
    const message = `${place} cannot be used: the API of this cluster says: ${plainText(error.message)}`;
    throw new JoinError("refused", message, { cause: error, causeCode: error.reason });
  }
}
