import { fieldListAt, isFields, stringAt, valueAt, type Fields } from "./json-fields.ts";

/** A kind of namespaced object that a pod can refer to, by its plural. */
export type ReferencedKind = "secrets" | "configmaps" | "serviceaccounts" | "persistentvolumeclaims" | "resourceclaims";

/** The objects of its namespace that a pod refers to. Each name is listed once for its kind. */
export type PodReferences = Readonly<Record<ReferencedKind, ReadonlySet<string>>>;

/** The annotation of pods that a kubelet runs from its own files and only mirrors here. */
export const mirrorPodAnnotation = "kubernetes.io/config.mirror";

const containerLists = ["initContainers", "containers", "ephemeralContainers"] as const;
/** Volumes whose secret is under `secretRef`. */
const secretRefVolumes = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;

/** The references of a pod, in its spec and in the claims of its status. Source: pkg/api/v1/pod, authorizer/node AddPod. */
export function podReferences(pod: unknown): PodReferences {
  const volumes = fieldListAt(pod, "spec", "volumes");
  const containers = containerLists.flatMap((list) => fieldListAt(pod, "spec", list));
  const projected = volumes.flatMap((volume) => fieldListAt(volume, "projected", "sources"));
  return {
    secrets: named([
      ...fieldListAt(pod, "spec", "imagePullSecrets").map((one) => stringAt(one, "name")),
      ...containers.flatMap((container) => environmentNames(container, "secretRef", "secretKeyRef")),
      ...projected.map((source) => stringAt(source, "secret", "name")),
      ...volumes.flatMap(volumeSecrets),
    ]),
    configmaps: named([
      ...containers.flatMap((container) => environmentNames(container, "configMapRef", "configMapKeyRef")),
      ...projected.map((source) => stringAt(source, "configMap", "name")),
      ...volumes.map((volume) => stringAt(volume, "configMap", "name")),
    ]),
    serviceaccounts: named([stringAt(pod, "spec", "serviceAccountName")]),
    persistentvolumeclaims: named(
      volumes.map((volume) =>
        isFields(volume["ephemeral"])
          ? `${stringAt(pod, "metadata", "name")}-${stringAt(volume, "name")}`
          : stringAt(volume, "persistentVolumeClaim", "claimName"),
      ),
    ),
    resourceclaims: named(claimNames(pod)),
  };
}

/** The kind of object that a pod needs the API for, as named in a denial, or undefined for none. Source: pkg/api/pod HasAPIObjectReference. */
export function apiReferenceOf(pod: unknown): string | undefined {
  const { secrets, configmaps, serviceaccounts } = podReferences(pod);
  if (serviceaccounts.size > 0) return "serviceaccounts";
  if (secrets.size > 0) return "secrets";
  if (configmaps.size > 0) return "configmaps";
  if (fieldListAt(pod, "spec", "resourceClaims").length > 0) return "resourceclaims";
  return fieldListAt(pod, "spec", "volumes")
    .map(volumeReference)
    .find((found) => found !== undefined);
}

const referringVolumes: readonly (readonly [source: string, referred: string])[] = [
  ["configMap", "configmaps (via configmap volumes)"],
  ["secret", "secrets (via secret volumes)"],
  ["csi", "csidrivers (via CSI volumes)"],
  ["glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim", "persistentvolumeclaims"],
  ["ephemeral", "persistentvolumeclaims (via ephemeral volumes)"],
  ["azureFile", "secrets (via azureFile volumes)"],
];
const referringSources: readonly (readonly [source: string, referred: string])[] = [
  ["configMap", "configmaps (via projected volumes)"],
  ["secret", "secrets (via projected volumes)"],
  ["serviceAccountToken", "serviceaccounts (via projected volumes)"],
  ["clusterTrustBundle", "clustertrustbundles"],
  ["podCertificate", "podcertificates"],
];

function volumeReference(volume: Fields): string | undefined {
  const direct = referringVolumes.find(([source]) => isFields(volume[source]))?.[1];
  if (direct !== undefined || !isFields(volume["projected"])) return direct;
  for (const source of fieldListAt(volume, "projected", "sources")) {
    const found = referringSources.find(([name]) => isFields(source[name]))?.[1];
    if (found !== undefined) return found;
    // An unknown source may need any object.
    if (!isFields(source["downwardAPI"]))
      return `something unknown (via projected volume ${JSON.stringify(stringAt(volume, "name"))})`;
  }
  return undefined;
}

function environmentNames(container: Fields, from: string, key: string): readonly string[] {
  return [
    ...fieldListAt(container, "envFrom").map((source) => stringAt(source, from, "name")),
    ...fieldListAt(container, "env").map((variable) => stringAt(variable, "valueFrom", key, "name")),
  ];
}

function volumeSecrets(volume: Fields): readonly string[] {
  return [
    stringAt(volume, "secret", "secretName"),
    stringAt(volume, "azureFile", "secretName"),
    stringAt(volume, "csi", "nodePublishSecretRef", "name"),
    ...secretRefVolumes.map((source) => stringAt(volume, source, "secretRef", "name")),
  ];
}

/** A claim from a template has its name in the status, once it is created. */
function claimNames(pod: unknown): readonly string[] {
  const statuses = fieldListAt(pod, "status", "resourceClaimStatuses");
  return [
    ...fieldListAt(pod, "spec", "resourceClaims").map((claim) => {
      const direct = stringAt(claim, "resourceClaimName");
      if (direct !== "" || stringAt(claim, "resourceClaimTemplateName") === "") return direct;
      return stringAt(
        statuses.find((one) => stringAt(one, "name") === stringAt(claim, "name")),
        "resourceClaimName",
      );
    }),
    stringAt(pod, "status", "extendedResourceClaimStatus", "resourceClaimName"),
  ];
}

function named(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name) => name !== ""));
}

/** The audiences of the tokens in the volumes of a pod; empty means the API itself. */
export function podAudiences(pod: unknown): ReadonlySet<string> {
  const sources = fieldListAt(pod, "spec", "volumes").flatMap((volume) => fieldListAt(volume, "projected", "sources"));
  return new Set(
    sources
      .map((source) => valueAt(source, "serviceAccountToken"))
      .filter(isFields)
      .map((token) => stringAt(token, "audience")),
  );
}
