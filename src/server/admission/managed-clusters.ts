import { createOrGet } from "../../client/api-errors.ts";
import type { AccessCheck, AdmissionPlugin } from "../../admission/admission.ts";
import { clusterAddOnAdmission } from "../../admission/required-rights.ts";
import { clusterRequestAdmission } from "../../admission/managed-cluster-agent.ts";
import { managedClusterAdmission } from "../../admission/managed-clusters.ts";
import {
  clusterBootstrapAccount,
  registrationPolicy,
} from "../../authorization/bootstrap-policy/registration-roles.ts";
import type { Client } from "../../client/client.ts";
import type { Controller } from "../../controllers/controller.ts";
import { namedStatus } from "../../controllers/custom-resources/crd-conditions.ts";
import { registrationControllers } from "../../controllers/clusters/registration.ts";
import type { SharedInformers } from "../../controllers/shared-informers.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import { parseCsr, readVerifiedCsr } from "../../pki/csr.ts";
import { objectOf } from "../../registry/entry.ts";
import type { Registry, Review } from "../../registry/registry.ts";
import { addOnInVersion } from "../../apis/add-on-versions.ts";
import { clusterDefinitions } from "../../apis/cluster-definitions.ts";
import { customResourceDefinitions } from "../../apis/custom-resource-definition.ts";
import { type CustomResourceDefinition, isEstablished } from "../../apis/custom/crd-object.ts";
import { events, coreEventOf, reportedEvents } from "../../apis/event.ts";
import { namespaces } from "../../apis/namespace.ts";
import { addOnGroup } from "../../apis/managed-cluster.ts";
import type { CustomStorage, Resource } from "../../apis/resource.ts";
import { serviceAccounts } from "../../apis/service-account.ts";
import { readClusterRegistration } from "../../config-files/cluster-registration.ts";
import { createIfMissing, putPolicy } from "../../bootstrap/initial-objects.ts";

/** The additional parts of a hub with managed clusters. */
export interface ManagedClusters {
  /** Built-in kinds that only such a hub serves. */
  readonly resources: readonly Resource[];
  /** Converts objects of a definition without a webhook to another version; undefined where only the apiVersion differs. */
  readonly conversionOf: (definition: string) => CustomStorage["convert"];
  /** The responses to creates of those kinds, by `plural.group`. */
  readonly answers: (create: Registry["create"]) => Readonly<Record<string, Review>>;
  readonly admission: (parts: ClusterAdmissionParts) => readonly AdmissionPlugin[];
  /** Creates the kinds, roles and accounts that joining needs. */
  readonly bootstrap: (client: Client, clock: Clock) => Promise<void>;
  readonly controllers: (parts: ClusterControlParts) => readonly Controller[];
}

export interface ClusterAdmissionParts {
  readonly may: AccessCheck;
  readonly namespaceOf: (name: string) => ApiObject | undefined;
  readonly clock: Clock;
}

export interface ClusterControlParts {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  readonly isRevoked: (user: UserInfo) => boolean;
}

/** The parts of a hub with `--managed-clusters`; loaded only then. @throws HubError options */
export async function openManagedClusters(configFile: string | undefined): Promise<ManagedClusters> {
  const rules = configFile === undefined ? [] : await readClusterRegistration(configFile);
  return {
    resources: [reportedEvents],
    conversionOf: (definition) =>
      definition === `managedclusteraddons.${addOnGroup}`
        ? async (objects, apiVersion) => objects.map((object) => addOnInVersion(object, apiVersion))
        : undefined,
    answers: (create) => ({
      "events.events.k8s.io": async (object, { namespace, context }) => {
        const made = await create(events, { namespace, object: coreEventOf(object), context });
        return { ...object, metadata: objectOf(made).metadata };
      },
    }),
    admission: ({ may, namespaceOf, clock }) => [
      managedClusterAdmission({ may, namespaceOf: async (name) => namespaceOf(name), now: () => clock.now() }),
      clusterAddOnAdmission(may),
      clusterRequestAdmission((pem) => parseCsr(pem).subject.commonName),
    ],
    bootstrap: async (client, clock) => {
      await Promise.all([
        ...clusterDefinitions("all").map((definition) => putDefinition(client, definition, clock.now())),
        putPolicy(client, registrationPolicy()),
        putBootstrapAccount(client),
      ]);
    },
    controllers: (parts) =>
      registrationControllers({ ...parts, parse: readVerifiedCsr, rules, revokes: true, marks: true }),
  };
}

/** Annotation on definitions of the hub, which are updated at each start; others, such as those of the original, are left alone. */
const madeByLabel = "app.kubernetes.io/managed-by";
const madeBy = "pratique";

/** Established at once: controllers follow the kind before the controller of names has run. */
async function putDefinition(client: Client, definition: JsonObject, now: number): Promise<void> {
  const made = definition as JsonObject & CustomResourceDefinition;
  const metadata = { ...made.metadata, labels: { [madeByLabel]: madeBy } };
  const { spec } = made;
  const wanted = { ...made, metadata };
  const { object: there } = await createOrGet<CustomResourceDefinition>(client, customResourceDefinitions, wanted);
  const isOurs = there.metadata.labels?.[madeByLabel] === madeBy;
  const updated = isOurs
    ? await client.update<CustomResourceDefinition>(customResourceDefinitions, { ...there, spec })
    : there;
  if (isEstablished(updated)) return;
  const status = namedStatus(updated, { resources: new Set(), kinds: new Set() }, rfc3339(now));
  if (status === undefined) return;
  await client.update(customResourceDefinitions, { ...updated, status }, { subresource: "status" });
}

async function putBootstrapAccount(client: Client): Promise<void> {
  const { namespace, name } = clusterBootstrapAccount;
  await createIfMissing(client, namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await createIfMissing(client, serviceAccounts, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace, name },
  });
}
