import type { ObjectSchema } from "../../core/schema.ts";
import { localObjectReference } from "./references.ts";
import { atomic, bool, int32, message, object, pointer, required, str, stringMap, strings } from "./shorthand.ts";

// Volumes of named storage systems, most of them served by CSI today. Source: k8s.io/api core/v1.

export const awsElasticBlockStoreVolumeSource: ObjectSchema = message(
  "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
  {
    volumeID: required(str(1)),
    fsType: str(2),
    partition: int32(3),
    readOnly: bool(4),
  },
);

export const azureDiskVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.AzureDiskVolumeSource", {
  diskName: required(str(1)),
  diskURI: required(str(2)),
  cachingMode: pointer(str(3)),
  fsType: pointer(str(4)),
  readOnly: pointer(bool(5)),
  kind: pointer(str(6)),
});

export const azureFileVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.AzureFileVolumeSource", {
  secretName: required(str(1)),
  shareName: required(str(2)),
  readOnly: bool(3),
});

export const csiVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.CSIVolumeSource", {
  driver: required(str(1)),
  readOnly: pointer(bool(2)),
  fsType: pointer(str(3)),
  volumeAttributes: stringMap(4),
  nodePublishSecretRef: pointer(object(5, localObjectReference)),
});

export const cephFSVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.CephFSVolumeSource", {
  monitors: required(strings(1, atomic)),
  path: str(2),
  user: str(3),
  secretFile: str(4),
  secretRef: pointer(object(5, localObjectReference)),
  readOnly: bool(6),
});

export const cinderVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.CinderVolumeSource", {
  volumeID: required(str(1)),
  fsType: str(2),
  readOnly: bool(3),
  secretRef: pointer(object(4, localObjectReference)),
});

export const fcVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.FCVolumeSource", {
  targetWWNs: strings(1, atomic),
  lun: pointer(int32(2)),
  fsType: str(3),
  readOnly: bool(4),
  wwids: strings(5, atomic),
});

export const flexVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.FlexVolumeSource", {
  driver: required(str(1)),
  fsType: str(2),
  secretRef: pointer(object(3, localObjectReference)),
  readOnly: bool(4),
  options: stringMap(5),
});

export const flockerVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.FlockerVolumeSource", {
  datasetName: str(1),
  datasetUUID: str(2),
});

export const gcePersistentDiskVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.GCEPersistentDiskVolumeSource", {
  pdName: required(str(1)),
  fsType: str(2),
  partition: int32(3),
  readOnly: bool(4),
});

export const glusterfsVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.GlusterfsVolumeSource", {
  endpoints: required(str(1)),
  path: required(str(2)),
  readOnly: bool(3),
});

export const iscsiVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.ISCSIVolumeSource", {
  targetPortal: required(str(1)),
  iqn: required(str(2)),
  lun: required(int32(3)),
  iscsiInterface: str(4),
  fsType: str(5),
  readOnly: bool(6),
  portals: strings(7, atomic),
  chapAuthDiscovery: bool(8),
  secretRef: pointer(object(10, localObjectReference)),
  chapAuthSession: bool(11),
  initiatorName: pointer(str(12)),
});

export const nfsVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.NFSVolumeSource", {
  server: required(str(1)),
  path: required(str(2)),
  readOnly: bool(3),
});

export const photonPersistentDiskVolumeSource: ObjectSchema = message(
  "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
  {
    pdID: required(str(1)),
    fsType: str(2),
  },
);

export const portworxVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.PortworxVolumeSource", {
  volumeID: required(str(1)),
  fsType: str(2),
  readOnly: bool(3),
});

export const quobyteVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.QuobyteVolumeSource", {
  registry: required(str(1)),
  volume: required(str(2)),
  readOnly: bool(3),
  user: str(4),
  group: str(5),
  tenant: str(6),
});

export const rbdVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.RBDVolumeSource", {
  monitors: required(strings(1, atomic)),
  image: required(str(2)),
  fsType: str(3),
  pool: str(4),
  user: str(5),
  keyring: str(6),
  secretRef: pointer(object(7, localObjectReference)),
  readOnly: bool(8),
});

export const scaleIOVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.ScaleIOVolumeSource", {
  gateway: required(str(1)),
  system: required(str(2)),
  secretRef: required(pointer(object(3, localObjectReference))),
  sslEnabled: bool(4),
  protectionDomain: str(5),
  storagePool: str(6),
  storageMode: str(7),
  volumeName: str(8),
  fsType: str(9),
  readOnly: bool(10),
});

export const storageOSVolumeSource: ObjectSchema = message("io.k8s.api.core.v1.StorageOSVolumeSource", {
  volumeName: str(1),
  volumeNamespace: str(2),
  fsType: str(3),
  readOnly: bool(4),
  secretRef: pointer(object(5, localObjectReference)),
});

export const vsphereVirtualDiskVolumeSource: ObjectSchema = message(
  "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
  {
    volumePath: required(str(1)),
    fsType: str(2),
    storagePolicyName: str(3),
    storagePolicyID: str(4),
  },
);
