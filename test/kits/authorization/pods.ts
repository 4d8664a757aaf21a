import type { ApiObject } from "../../../src/apimachinery/object.ts";
import { mirrorPodAnnotation } from "../../../src/apis/pod-references.ts";
import type { Random } from "./random.ts";
import { accountNames, namespaces, nodeNames, parts } from "./words.ts";

/** Pods on nodes and pods on none, which speak of secrets, configmaps, claims and accounts in every way that a pod of release 1.20 can. */
export function randomPods(random: Random, count: number): readonly ApiObject[] {
  return Array.from({ length: count }, (_, index) => randomPod(random, `pod-${index}`));
}

function randomPod(random: Random, name: string): ApiObject {
  const isMirror = random.chance(0.1);
  const nodeName = random.chance(0.9) || isMirror ? { nodeName: random.one(nodeNames) } : {};
  const kinds = isMirror ? mirrorVolumes : volumes;
  const own = Array.from({ length: random.below(4) }, (_, index) => {
    return { name: `v${index}`, ...random.one(kinds)(random.one(parts), random) };
  });
  const annotations = isMirror ? { annotations: { [mirrorPodAnnotation]: "x" } } : {};
  const account = isMirror ? {} : { serviceAccountName: random.one(accountNames) };
  const pulls = isMirror || random.chance(0.7) ? {} : { imagePullSecrets: [{ name: random.one(parts) }] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: random.one(namespaces), ...annotations },
    spec: {
      ...nodeName,
      ...account,
      ...pulls,
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "i", ...(isMirror ? {} : environment(random)) }],
      ...(random.chance(0.2) && !isMirror
        ? { initContainers: [{ name: "i", image: "i", ...environment(random) }] }
        : {}),
      ...(random.chance(0.1) && !isMirror
        ? { ephemeralContainers: [{ name: "e", image: "i", ...environment(random) }] }
        : {}),
      volumes: own,
    },
  };
}

type Volume = (part: string, random: Random) => object;

const mirrorVolumes: readonly Volume[] = [
  (part) => ({ configMap: { name: part } }),
  () => ({ emptyDir: {} }),
  (part) => ({ persistentVolumeClaim: { claimName: part } }),
];

const volumes: readonly Volume[] = [
  ...mirrorVolumes,
  (part) => ({ secret: { secretName: part } }),
  (part) => ({ azureFile: { shareName: "s", secretName: part } }),
  (part) => ({ cephfs: { monitors: ["m"], secretRef: { name: part } } }),
  (part) => ({ flexVolume: { driver: "a/b", secretRef: { name: part } } }),
  (part) => ({ rbd: { monitors: ["m"], image: "i", secretRef: { name: part } } }),
  (part) => ({
    scaleIO: { gateway: "g", system: "s", storageMode: "ThinProvisioned", volumeName: "v", secretRef: { name: part } },
  }),
  (part) => ({
    iscsi: { targetPortal: "127.0.0.1", iqn: "iqn.2015-02.example.com:test", lun: 0, secretRef: { name: part } },
  }),
  (part) => ({ csi: { driver: "d.example.com", nodePublishSecretRef: { name: part } } }),
  (part) => ({ storageos: { volumeName: "v", secretRef: { name: part } } }),
  (part) => ({ cinder: { volumeID: "v", secretRef: { name: part } } }),
  () => ({
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    },
  }),
  (part, random) => ({
    projected: {
      sources: [
        { secret: { name: part } },
        { configMap: { name: random.one(parts) } },
        { serviceAccountToken: { path: "t", audience: "vault", expirationSeconds: 600 } },
        { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
    },
  }),
];

function environment(random: Random): object {
  const [one, other] = [random.one(parts), random.one(parts)];
  const choices: readonly object[] = [
    {},
    { env: [{ name: "A", valueFrom: { secretKeyRef: { name: one, key: "k" } } }] },
    {
      env: [
        { name: "A", value: one },
        { name: "B", valueFrom: { configMapKeyRef: { name: other, key: "k" } } },
      ],
    },
    { envFrom: [{ secretRef: { name: one } }, { configMapRef: { name: other } }] },
  ];
  return random.one(choices);
}
