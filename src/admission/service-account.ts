import type { RandomBytes } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import { arrayAt, fieldListAt, fieldsAt, stringAt, withField } from "../apis/json-fields.ts";
import { mirrorPodAnnotation, podReferences } from "../apis/pod-references.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { limitsSecrets, secretProblem } from "./mountable-secrets.ts";
import { automountsToken, projectsToken, withTokenVolume } from "./service-account-volume.ts";

export interface ServiceAccountOptions {
  /** Sees every acknowledged write. */
  readonly accountOf: (namespace: string, name: string) => ApiObject | undefined;
  /** Resolves after about a tenth of a second. */
  readonly pause: () => Promise<void>;
  /** For the names of volumes. */
  readonly random: RandomBytes;
}

const defaultAccount = "default";
/** How often `default` is looked for: in a new namespace it is made by a controller. Source: the plugin of Kubernetes. */
const defaultAttempts = 10;

/**
 * Gives Pods the account `default` where they name none, its pull Secrets, and a volume with its token, and refuses those of an account that
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

/** A kubelet's own pod that is only shown here has nothing to do with accounts. */
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
