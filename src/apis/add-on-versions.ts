import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, fieldsAt, stringAt, stringsAt, valueAt, type Fields } from "./json-fields.ts";
import { addOnGroup } from "./managed-cluster.ts";

/** The version that agents before v1.3 of Open Cluster Management follow. */
export const olderAddOnVersion = "v1alpha1";

/** Where v1beta1 keeps what v1alpha1 holds in `spec.installNamespace`. */
const installNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace";

/**
 * A ManagedClusterAddOn in another of its versions, v1alpha1 or v1beta1; fields that both know stay as they are, and nothing that
 * either knows is lost on the way there and back. Source: open-cluster-management.io/api addon/v1beta1 conversion.
 */
export function addOnInVersion(addOn: ApiObject, apiVersion: string): ApiObject {
  if (addOn.apiVersion === apiVersion) return addOn;
  const convert = apiVersion === `${addOnGroup}/${olderAddOnVersion}` ? older : newer;
  return { ...convert(addOn), apiVersion };
}

function older(addOn: ApiObject): ApiObject {
  const { annotations = {} } = addOn.metadata;
  const { [installNamespaceAnnotation]: installNamespace, ...others } = annotations;
  const { annotations: _annotations, ...metadata } = addOn.metadata;
  const registrations = fieldListAt(addOn, "status", "registrations");
  const driver = registrations.map((one) => stringAt(one, "kubeClient", "driver")).find((one) => one !== "");
  return {
    ...addOn,
    metadata: Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others },
    spec: { ...fieldsAt(addOn, "spec"), ...(installNamespace === undefined ? {} : { installNamespace }) },
    ...withStatus(addOn, (status) => ({
      ...status,
      ...withList(status, "registrations", olderRegistration),
      ...withList(status, "configReferences", (one) => ({
        ...one,
        name: stringAt(one, "desiredConfig", "name"),
        ...namespaceOf(valueAt(one, "desiredConfig", "namespace")),
      })),
      ...(driver === undefined ? {} : { kubeClientDriver: driver }),
    })),
  };
}

function newer(addOn: ApiObject): ApiObject {
  const { installNamespace, ...spec } = fieldsAt(addOn, "spec");
  const { annotations = {} } = addOn.metadata;
  const driver = stringAt(addOn, "status", "kubeClientDriver");
  return {
    ...addOn,
    metadata:
      typeof installNamespace !== "string" || installNamespace === ""
        ? addOn.metadata
        : { ...addOn.metadata, annotations: { ...annotations, [installNamespaceAnnotation]: installNamespace } },
    spec,
    ...withStatus(addOn, ({ kubeClientDriver: _driver, ...status }) => ({
      ...status,
      ...withList(status, "registrations", (one) => newerRegistration(one, driver)),
      ...withList(status, "configReferences", ({ name: _name, namespace: _namespace, ...one }) => one),
    })),
  };
}

function olderRegistration(one: Fields): JsonObject {
  const isForApi = stringAt(one, "type") === "kubeClient";
  const own = fieldsAt(one, isForApi ? "kubeClient" : "customSigner");
  const units = isForApi ? [] : stringsAt(own, "subject", "organizationUnits");
  return {
    signerName: isForApi ? clientSigner : stringAt(own, "signerName"),
    subject: { ...subjectOf(own), ...(units.length === 0 ? {} : { organizationUnit: units }) },
  };
}

function newerRegistration(one: Fields, driver: string): JsonObject {
  const signerName = stringAt(one, "signerName");
  const subject = subjectOf(one);
  if (signerName === clientSigner) {
    return { type: "kubeClient", kubeClient: { subject, ...(driver === "" ? {} : { driver }) } };
  }
  const units = stringsAt(one, "subject", "organizationUnit");
  const organizationUnits = units.length === 0 ? {} : { organizationUnits: units };
  return { type: "customSigner", customSigner: { signerName, subject: { ...subject, ...organizationUnits } } };
}

function subjectOf(holder: Fields): JsonObject {
  const groups = stringsAt(holder, "subject", "groups");
  return { user: stringAt(holder, "subject", "user"), ...(groups.length === 0 ? {} : { groups }) };
}

function namespaceOf(namespace: unknown): Fields {
  return typeof namespace === "string" ? { namespace } : {};
}

function withStatus(addOn: ApiObject, change: (status: Fields) => Fields): Fields {
  return valueAt(addOn, "status") === undefined ? {} : { status: change(fieldsAt(addOn, "status")) };
}

function withList(status: Fields, field: string, change: (one: Fields) => Fields): Fields {
  return Object.hasOwn(status, field) ? { [field]: fieldListAt(status, field).map(change) } : {};
}

/** The signer of the certificates of agents. */
export const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Whether the hub side of an add-on, of either version, wants its agents to have a certificate for the API. */
export function wantsApiAccess(addOn: ApiObject): boolean {
  return fieldListAt(addOn, "status", "registrations").some(
    (one) =>
      stringAt(one, "signerName") === clientSigner ||
      valueAt(one, "kubeClient") !== undefined ||
      stringAt(one, "type").toLowerCase() === "kubeclient",
  );
}
