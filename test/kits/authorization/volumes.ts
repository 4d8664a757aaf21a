import type { ApiObject } from "../../../src/apimachinery/object.ts";
import { arrayAt, fieldsAt, stringAt } from "../../../src/apis/json-fields.ts";
import { mirrorPodAnnotation, podReferences } from "../../../src/apis/pod-references.ts";
import type { AskedResource } from "./question.ts";
import type { Random } from "./random.ts";
import { namespaces, nodeNames, parts } from "./words.ts";

/** What a cluster keeps and a hub does not. */
export interface Volumes {
  /** PersistentVolumes, most of them bound to a claim. */
  readonly volumes: readonly ApiObject[];
  /** VolumeAttachments. */
  readonly attachments: readonly ApiObject[];
}

/** Volumes for most claims that pods speak of and for others, with secrets in every way of release 1.20. */
export function randomVolumes(random: Random, pods: readonly ApiObject[]): Volumes {
  const vertex = pods.flatMap((pod) =>
    [...podReferences(pod).persistentvolumeclaims].map((name) => ({ namespace: pod.metadata.namespace ?? "", name })),
  );
  const others = parts.map((name) => ({ namespace: random.one(namespaces), name }));
  const claims = [
    ...new Map([...vertex, ...others].map((claim) => [`${claim.namespace}/${claim.name}`, claim])).values(),
  ];
  const bound = claims.filter(() => random.chance(0.8)).map((claimRef) => ({ claimRef }));
  const volumes = [...bound, {}, {}].map((more, index) => volume(random, `volume-${index}`, more));
  const attachments = volumes
    .filter(() => random.chance(0.4))
    .map(({ metadata: { name = "" } }, index): ApiObject => ({
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name: `attachment-${index}` },
      spec: {
        attacher: "d.example.com",
        nodeName: random.one(nodeNames),
        source: { persistentVolumeName: name },
      },
    }));
  return { volumes, attachments };
}

function volume(random: Random, name: string, more: object): ApiObject {
  const source = random.one(sources)(() => ({
    name: random.one(parts),
    ...(random.chance(0.5) ? { namespace: random.one(namespaces) } : {}),
  }));
  const common = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: { ...common, persistentVolumeReclaimPolicy: "Retain", ...more, ...source },
  };
}

interface SecretReference {
  readonly name: string;
  readonly namespace?: string;
}

type Source = (secret: () => SecretReference) => object;

const sources: readonly Source[] = [
  () => ({ hostPath: { path: "/x" } }),
  (secret) => {
    const { name, namespace } = secret();
    const place = namespace === undefined ? {} : { secretNamespace: namespace };
    return { azureFile: { shareName: "s", secretName: name, ...place } };
  },
  (secret) => ({ cephfs: { monitors: ["m"], secretRef: secret() } }),
  (secret) => ({ cinder: { volumeID: "v", secretRef: { namespace: "ns-b", ...secret() } } }),
  (secret) => ({ flexVolume: { driver: "a/b", secretRef: secret() } }),
  (secret) => ({ rbd: { monitors: ["m"], image: "i", secretRef: secret() } }),
  (secret) => ({
    scaleIO: { gateway: "g", system: "s", storageMode: "ThinProvisioned", volumeName: "v", secretRef: secret() },
  }),
  (secret) => ({
    iscsi: { targetPortal: "127.0.0.1", iqn: "iqn.2015-02.example.com:test", lun: 0, secretRef: secret() },
  }),
  (secret) => ({
    csi: {
      driver: "d.example.com",
      volumeHandle: "h",
      // These of CSI are the controller's alone, and must have a namespace.
      controllerPublishSecretRef: { namespace: "ns-a", ...secret() },
      controllerExpandSecretRef: { namespace: "ns-b", ...secret() },
      nodeStageSecretRef: { namespace: "ns-b", ...secret() },
      nodePublishSecretRef: { namespace: "ns-c", ...secret() },
    },
  }),
];

const secretRefSources = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi"] as const;

/** The secrets of a volume that kubelets need, as `namespace/name`; without a namespace of their own they are in that of the claim. */
export function secretsOf(volume: ApiObject): readonly string[] {
  const own = stringAt(volume, "spec", "claimRef", "namespace");
  const spec = fieldsAt(volume, "spec");
  const given = [
    { name: stringAt(spec, "azureFile", "secretName"), namespace: stringAt(spec, "azureFile", "secretNamespace") },
    ...secretRefSources.map((source) => fieldsAt(spec, source, "secretRef")),
    ...(["nodeStageSecretRef", "nodePublishSecretRef"] as const).map((field) => fieldsAt(spec, "csi", field)),
  ];
  return given.flatMap((secret) => {
    const [name, namespace] = [stringAt(secret, "name"), stringAt(secret, "namespace") || own];
    return name === "" ? [] : [`${namespace}/${name}`];
  });
}

/** Whether a node may read something because of volumes alone: one that a claim of one of its pods is bound to, a secret of one, or what is attached to it. */
export function isReachedByVolume(
  { pods, volumes, attachments }: Volumes & { readonly pods: readonly ApiObject[] },
  node: string,
  { verb = "", group = "", resource = "", subresource = "", namespace = "", name = "" }: AskedResource,
): boolean {
  if (subresource !== "") return false;
  if (group === "storage.k8s.io" && resource === "volumeattachments") {
    return verb === "get" && attachments.some((one) => one.metadata.name === name && nodeOf(one) === node);
  }
  if (group !== "") return false;
  const claimed = new Set(
    pods
      .filter((pod) => nodeOf(pod) === node && pod.metadata.annotations?.[mirrorPodAnnotation] === undefined)
      .flatMap((pod) =>
        [...podReferences(pod).persistentvolumeclaims].map((claim) => `${pod.metadata.namespace ?? ""}/${claim}`),
      ),
  );
  const claimOf = (one: ApiObject): string =>
    `${stringAt(one, "spec", "claimRef", "namespace")}/${stringAt(one, "spec", "claimRef", "name")}`;
  const reached = volumes.filter((one) => claimed.has(claimOf(one)));
  if (resource === "persistentvolumes") return verb === "get" && reached.some(({ metadata }) => metadata.name === name);
  return (
    resource === "secrets" &&
    ["get", "list", "watch"].includes(verb) &&
    reached.some((one) => secretsOf(one).includes(`${namespace}/${name}`))
  );
}

function nodeOf(object: ApiObject): string {
  return stringAt(object, "spec", "nodeName");
}

/** Whether the pod has containers that can only be added to it once it is there. */
export function isDebugged(pod: ApiObject): boolean {
  return arrayAt(pod, "spec", "ephemeralContainers").length > 0;
}
