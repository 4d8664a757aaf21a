import type { RandomBytes } from "../apimachinery/clock.ts";
import { generatedName } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, isFields, stringAt, valueAt, type Fields } from "../apis/json-fields.ts";

const volumePrefix = "kube-api-access-";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Seconds; by this value the token issuer knows a token that admission has mounted. Source: kubernetes pkg/serviceaccount WarnOnlyBoundTokenExpiration. */
const tokenSeconds = 3607;

/** Whether a Pod has a token of its account mounted: the Pod decides, then the account; otherwise yes. Source: plugin/pkg/admission/serviceaccount shouldAutomount. */
export function automountsToken(spec: Fields, account: ApiObject): boolean {
  for (const decides of [spec, account]) {
    const wish = valueAt(decides, "automountServiceAccountToken");
    if (typeof wish === "boolean") return wish;
  }
  return true;
}

/**
 * The spec of a Pod with the projected volume of token, CA and namespace, mounted into each container that has nothing at that path; the
 * same spec where nothing is to be mounted. Source: kubernetes plugin/pkg/admission/serviceaccount mountServiceAccountToken
 */
export function withTokenVolume(spec: Fields, random: RandomBytes): Fields {
  const volumes = fieldListAt(spec, "volumes");
  const found = volumes.map((one) => stringAt(one, "name")).find((name) => name.startsWith(volumePrefix));
  const lists = ["initContainers", "containers"].filter((list) => fieldListAt(spec, list).some(lacksMount));
  if (lists.length === 0) return spec;
  const name = found ?? generatedName(volumePrefix, random);
  const mounted = lists.map((list) => [list, fieldListAt(spec, list).map((one) => withMount(one, name))]);
  return {
    ...spec,
    ...Object.fromEntries(mounted),
    ...(found === undefined ? { volumes: [...volumes, { name, projected: tokenVolumeSource }] } : {}),
  };
}

function lacksMount(container: Fields): boolean {
  return !fieldListAt(container, "volumeMounts").some((mount) => stringAt(mount, "mountPath") === mountPath);
}

function withMount(container: Fields, name: string): Fields {
  if (!lacksMount(container)) return container;
  return {
    ...container,
    volumeMounts: [...fieldListAt(container, "volumeMounts"), { name, readOnly: true, mountPath }],
  };
}

/** Source: kubernetes plugin/pkg/admission/serviceaccount TokenVolumeSource. */
const tokenVolumeSource: Fields = {
  defaultMode: 420,
  sources: [
    { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ],
};

/** Whether a Pod has a volume with a token of an account. */
export function projectsToken(spec: Fields): boolean {
  const sources = fieldListAt(spec, "volumes").flatMap((volume) => fieldListAt(volume, "projected", "sources"));
  return sources.some((source) => isFields(source["serviceAccountToken"]));
}
