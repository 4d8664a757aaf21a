import type { RandomBytes } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import {
  arrayAt,
  fieldListAt,
  fieldsAt,
  stringAt,
  withField,
  isFields,
  valueAt,
  type Fields,
} from "../apis/json-fields.ts";
import { mirrorPodAnnotation, podReferences } from "../apis/pod-references.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { generatedName } from "../apimachinery/names.ts";

export interface ServiceAccountOptions {
  /** Sees every acknowledged write. */
  readonly accountOf: (namespace: string, name: string) => ApiObject | undefined;
  /** Resolves after about a tenth of a second. */
  readonly pause: () => Promise<void>;
  /** For the names of volumes. */
  readonly random: RandomBytes;
}

const defaultAccount = "default";
/** How often the account `default` is looked up: in a new namespace a controller creates it. Source: the plugin of Kubernetes. */
const defaultAttempts = 10;

/**
 * Sets the account `default` on Pods that name none, its pull Secrets, and a volume with its token, and rejects Pods of an account that
 * is missing or does not list their Secrets although it must. Source: kubernetes plugin/pkg/admission/serviceaccount.
 */
export function serviceAccount(options: ServiceAccountOptions): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    concerns: isPod,
    mutate: async (request) => {
      const { object } = request;
      if (!isNewPod(request) || object === undefined) return undefined;
      if (isMirror(object)) {
        refuseMirror(request, object);
        return undefined;
      }
      const name = stringAt(object, "spec", "serviceAccountName") || defaultAccount;
      const account = await existing(request, name, options);
      return withAccount(object, account, options.random);
    },
    validate: async (request) => {
      const { object } = request;
      if (!isNewPod(request) || object === undefined) return;
      if (isMirror(object)) return refuseMirror(request, object);
      const name = stringAt(object, "spec", "serviceAccountName");
      if (name === "") {
        throw forbidden(request.resource, request.name, `no service account specified for pod ${placeOf(request)}`);
      }
      const account = await existing(request, name, options);
      const problem = limitsSecrets(account) ? secretProblem(fieldsAt(object, "spec"), account) : undefined;
      if (problem !== undefined) throw forbidden(request.resource, request.name, problem);
    },
  };
}

function isPod({ group, plural }: Pick<Resource, "group" | "plural">): boolean {
  return group === "" && plural === "pods";
}

function isNewPod({ resource, subresource, operation }: AdmissionRequest): boolean {
  return isPod(resource) && subresource === "" && operation === "CREATE";
}

function isMirror({ metadata }: ApiObject): boolean {
  return metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, mirrorPodAnnotation);
}

/** A mirror pod of a kubelet has no account. */
function refuseMirror({ resource, name }: AdmissionRequest, pod: ApiObject): void {
  if (stringAt(pod, "spec", "serviceAccountName") !== "") {
    throw forbidden(resource, name, "a mirror pod may not reference service accounts");
  }
  if (podReferences(pod).secrets.size > 0) {
    throw forbidden(resource, name, "a mirror pod may not reference secrets");
  }
  if (projectsToken(fieldsAt(pod, "spec"))) {
    throw forbidden(resource, name, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

async function existing(request: AdmissionRequest, name: string, options: ServiceAccountOptions): Promise<ApiObject> {
  const { resource, namespace } = request;
  const attempts = name === defaultAccount ? defaultAttempts : 1;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const account = options.accountOf(namespace, name);
    if (account !== undefined) return account;
    if (attempt < attempts) await options.pause();
  }
  const missing = `serviceaccount ${JSON.stringify(name)} not found`;
  throw forbidden(resource, request.name, `error looking up service account ${namespace}/${name}: ${missing}`);
}

function placeOf({ namespace, name }: AdmissionRequest): string {
  return `${namespace}/${name}`;
}

function withAccount(pod: ApiObject, account: ApiObject, random: RandomBytes): ApiObject {
  const spec = fieldsAt(pod, "spec");
  const { name = "" } = account.metadata;
  const pulls = arrayAt(spec, "imagePullSecrets").length > 0 ? [] : fieldListAt(account, "imagePullSecrets");
  return withField(pod, "spec", {
    ...(automountsToken(spec, account) ? withTokenVolume(spec, random) : spec),
    serviceAccountName: name,
    serviceAccount: name,
    ...(pulls.length === 0 ? {} : { imagePullSecrets: pulls.map((secret) => ({ name: stringAt(secret, "name") })) }),
  });
}

const volumePrefix = "kube-api-access-";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Seconds; by this value the token issuer recognises a token that admission has mounted. Source: kubernetes pkg/serviceaccount WarnOnlyBoundTokenExpiration. */
const tokenSeconds = 3607;

/**
 * Whether the token of its account is mounted into a Pod: the Pod decides, then the account; otherwise yes. Source:
 * plugin/pkg/admission/serviceaccount shouldAutomount.
 */
function automountsToken(spec: Fields, account: ApiObject): boolean {
  for (const decides of [spec, account]) {
    const wish = valueAt(decides, "automountServiceAccountToken");
    if (typeof wish === "boolean") return wish;
  }
  return true;
}

/**
 * The spec of a Pod with the projected volume of token, CA and namespace, mounted into each container that has no mount at that path; the
 * same spec where nothing needs mounting. Source: kubernetes plugin/pkg/admission/serviceaccount mountServiceAccountToken
 */
function withTokenVolume(spec: Fields, random: RandomBytes): Fields {
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
function projectsToken(spec: Fields): boolean {
  const sources = fieldListAt(spec, "volumes").flatMap((volume) => fieldListAt(volume, "projected", "sources"));
  return sources.some((source) => isFields(source["serviceAccountToken"]));
}

const annotation = "kubernetes.io/enforce-mountable-secrets";
/** What Go reads as true. Source: strconv.ParseBool. */
const truths: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Whether Pods of an account may use only the Secrets that the account lists. */
function limitsSecrets({ metadata }: ApiObject): boolean {
  return truths.has(metadata.annotations?.[annotation] ?? "");
}

/** Why a Pod may not use a Secret that it names; undefined where it may use them all. Source: plugin/pkg/admission/serviceaccount limitSecretReferences */
function secretProblem(spec: Fields, account: ApiObject): string | undefined {
  const namesIn = (list: string): ReadonlySet<string> =>
    new Set(fieldListAt(account, list).map((one) => stringAt(one, "name")));
  const [mountable, pullable] = [namesIn("secrets"), namesIn("imagePullSecrets")];
  const whose = `is not allowed because service account ${account.metadata.name ?? ""} does not reference that`;
  for (const volume of fieldListAt(spec, "volumes")) {
    const name = stringAt(volume, "secret", "secretName");
    if (name !== "" && !mountable.has(name)) return `volume with secret.secretName="${name}" ${whose} secret`;
  }
  for (const [list, kind] of containerLists) {
    for (const container of fieldListAt(spec, list)) {
      const found = environmentProblem(container, kind, { mountable, whose });
      if (found !== undefined) return found;
    }
  }
  for (const [index, pull] of fieldListAt(spec, "imagePullSecrets").entries()) {
    const name = stringAt(pull, "name");
    if (!pullable.has(name)) return `imagePullSecrets[${index}].name="${name}" ${whose} imagePullSecret`;
  }
  return undefined;
}

const containerLists = [
  ["initContainers", "init container"],
  ["containers", "container"],
] as const;

function environmentProblem(
  container: Fields,
  kind: string,
  { mountable, whose }: { readonly mountable: ReadonlySet<string>; readonly whose: string },
): string | undefined {
  const of = `${kind} ${stringAt(container, "name")} with`;
  for (const variable of fieldListAt(container, "env")) {
    const name = stringAt(variable, "valueFrom", "secretKeyRef", "name");
    const shown = `${of} envVar ${stringAt(variable, "name")} referencing secret.secretName="${name}"`;
    if (name !== "" && !mountable.has(name)) return `${shown} ${whose} secret`;
  }
  for (const source of fieldListAt(container, "envFrom")) {
    const name = stringAt(source, "secretRef", "name");
    if (name !== "" && !mountable.has(name)) {
      return `${of} envFrom referencing secret.secretName="${name}" ${whose} secret`;
    }
  }
  return undefined;
}
