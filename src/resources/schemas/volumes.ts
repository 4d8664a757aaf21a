import type { ObjectSchema } from "../../core/schema.ts";
import { labelSelector } from "./meta.ts";
import { objectMeta } from "./object-meta.ts";
import {
  keyToPath,
  localObjectReference,
  objectFieldSelector,
  resourceFieldSelector,
  typedLocalObjectReference,
  typedObjectReference,
} from "./references.ts";
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  csiVolumeSource,
  fcVolumeSource,
  flexVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  glusterfsVolumeSource,
  iscsiVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from "./storage-volumes.ts";
import {
  atomic,
  bool,
  inline,
  int32,
  int64,
  list,
  message,
  object,
  pointer,
  quantities,
  quantity,
  required,
  str,
  stringMap,
  strings,
} from "./shorthand.ts";

// What a pod can mount from the API, the node or a claim. Source: k8s.io/api core/v1.

export const hostPathVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.HostPathVolumeSource", {
  path: required(str(1)),
  type: pointer(str(2)),
});

export const emptyDirVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.EmptyDirVolumeSource", {
  medium: str(1),
  sizeLimit: pointer(quantity(2)),
});

export const gitRepoVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.GitRepoVolumeSource", {
  repository: required(str(1)),
  revision: str(2),
  directory: str(3),
});

export const secretVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.SecretVolumeSource", {
  secretName: str(1),
  items: list(2, keyToPath, atomic),
  defaultMode: pointer(int32(3)),
  optional: pointer(bool(4)),
});

export const persistentVolumeClaimVolumeSource: ObjectSchema = message(
  "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource",
  {
    claimName: required(str(1)),
    readOnly: bool(2),
  },
);

export const downwardAPIVolumeFile: ObjectSchema = message("io.k8s.api.core.v1.DownwardAPIVolumeFile", {
  path: required(str(1)),
  fieldRef: pointer(object(2, objectFieldSelector)),
  resourceFieldRef: pointer(object(3, resourceFieldSelector)),
  mode: pointer(int32(4)),
});

export const downwardAPIVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.DownwardAPIVolumeSource", {
  items: list(1, downwardAPIVolumeFile, atomic),
  defaultMode: pointer(int32(2)),
});

export const configMapVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.ConfigMapVolumeSource", {
  localObjectReference: inline(object(1, localObjectReference)),
  items: list(2, keyToPath, atomic),
  defaultMode: pointer(int32(3)),
  optional: pointer(bool(4)),
});

export const secretProjection: ObjectSchema = message("io.k8s.api.core.v1.SecretProjection", {
  localObjectReference: inline(object(1, localObjectReference)),
  items: list(2, keyToPath, atomic),
  optional: pointer(bool(4)),
});

export const downwardAPIProjection: ObjectSchema = message("io.k8s.api.core.v1.DownwardAPIProjection", {
  items: list(1, downwardAPIVolumeFile, atomic),
});

export const configMapProjection: ObjectSchema = message("io.k8s.api.core.v1.ConfigMapProjection", {
  localObjectReference: inline(object(1, localObjectReference)),
  items: list(2, keyToPath, atomic),
  optional: pointer(bool(4)),
});

export const serviceAccountTokenProjection: ObjectSchema = message("io.k8s.api.core.v1.ServiceAccountTokenProjection", {
  audience: str(1),
  expirationSeconds: pointer(int64(2)),
  path: required(str(3)),
});

export const clusterTrustBundleProjection: ObjectSchema = message("io.k8s.api.core.v1.ClusterTrustBundleProjection", {
  name: pointer(str(1)),
  signerName: pointer(str(2)),
  labelSelector: pointer(object(3, labelSelector)),
  path: required(str(4)),
  optional: pointer(bool(5)),
});

export const podCertificateProjection: ObjectSchema = message("io.k8s.api.core.v1.PodCertificateProjection", {
  signerName: required(str(1)),
  keyType: required(str(2)),
  maxExpirationSeconds: pointer(int32(3)),
  credentialBundlePath: str(4),
  keyPath: str(5),
  certificateChainPath: str(6),
  userAnnotations: stringMap(7),
});

export const volumeProjection: ObjectSchema = message("io.k8s.api.core.v1.VolumeProjection", {
  secret: pointer(object(1, secretProjection)),
  downwardAPI: pointer(object(2, downwardAPIProjection)),
  configMap: pointer(object(3, configMapProjection)),
  serviceAccountToken: pointer(object(4, serviceAccountTokenProjection)),
  clusterTrustBundle: pointer(object(5, clusterTrustBundleProjection)),
  podCertificate: pointer(object(6, podCertificateProjection)),
});

export const projectedVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.ProjectedVolumeSource", {
  sources: list(1, volumeProjection, atomic),
  defaultMode: pointer(int32(2)),
});

export const volumeResourceRequirements: ObjectSchema = message("io.k8s.api.core.v1.VolumeResourceRequirements", {
  limits: quantities(1),
  requests: quantities(2),
});

export const persistentVolumeClaimSpec: ObjectSchema = message("io.k8s.api.core.v1.PersistentVolumeClaimSpec", {
  accessModes: strings(1, atomic),
  resources: object(2, volumeResourceRequirements),
  volumeName: str(3),
  selector: pointer(object(4, labelSelector)),
  storageClassName: pointer(str(5)),
  volumeMode: pointer(str(6)),
  dataSource: pointer(object(7, typedLocalObjectReference)),
  dataSourceRef: pointer(object(8, typedObjectReference)),
  volumeAttributesClassName: pointer(str(9)),
});

export const persistentVolumeClaimTemplate: ObjectSchema = message("io.k8s.api.core.v1.PersistentVolumeClaimTemplate", {
  metadata: object(1, objectMeta),
  spec: required(object(2, persistentVolumeClaimSpec)),
});

export const ephemeralVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.EphemeralVolumeSource", {
  volumeClaimTemplate: pointer(object(1, persistentVolumeClaimTemplate)),
});

export const imageVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.ImageVolumeSource", {
  reference: str(1),
  pullPolicy: str(2),
});

export const volumeSource: ObjectSchema = message("io.k8s.api.core.v1.VolumeSource", {
  hostPath: pointer(object(1, hostPathVolumeSource)),
  emptyDir: pointer(object(2, emptyDirVolumeSource)),
  gcePersistentDisk: pointer(object(3, gcePersistentDiskVolumeSource)),
  awsElasticBlockStore: pointer(object(4, awsElasticBlockStoreVolumeSource)),
  gitRepo: pointer(object(5, gitRepoVolumeSource)),
  secret: pointer(object(6, secretVolumeSource)),
  nfs: pointer(object(7, nfsVolumeSource)),
  iscsi: pointer(object(8, iscsiVolumeSource)),
  glusterfs: pointer(object(9, glusterfsVolumeSource)),
  persistentVolumeClaim: pointer(object(10, persistentVolumeClaimVolumeSource)),
  rbd: pointer(object(11, rbdVolumeSource)),
  flexVolume: pointer(object(12, flexVolumeSource)),
  cinder: pointer(object(13, cinderVolumeSource)),
  cephfs: pointer(object(14, cephFSVolumeSource)),
  flocker: pointer(object(15, flockerVolumeSource)),
  downwardAPI: pointer(object(16, downwardAPIVolumeSource)),
  fc: pointer(object(17, fcVolumeSource)),
  azureFile: pointer(object(18, azureFileVolumeSource)),
  configMap: pointer(object(19, configMapVolumeSource)),
  vsphereVolume: pointer(object(20, vsphereVirtualDiskVolumeSource)),
  quobyte: pointer(object(21, quobyteVolumeSource)),
  azureDisk: pointer(object(22, azureDiskVolumeSource)),
  photonPersistentDisk: pointer(object(23, photonPersistentDiskVolumeSource)),
  portworxVolume: pointer(object(24, portworxVolumeSource)),
  scaleIO: pointer(object(25, scaleIOVolumeSource)),
  projected: pointer(object(26, projectedVolumeSource)),
  storageos: pointer(object(27, storageOSVolumeSource)),
  csi: pointer(object(28, csiVolumeSource)),
  ephemeral: pointer(object(29, ephemeralVolumeSource)),
  image: pointer(object(30, imageVolumeSource)),
});

export const volume: ObjectSchema = message("io.k8s.api.core.v1.Volume", {
  name: required(str(1)),
  volumeSource: inline(object(2, volumeSource)),
});
