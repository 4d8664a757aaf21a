import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, stringAt, type Fields } from "../apis/json-fields.ts";

const annotation = "kubernetes.io/enforce-mountable-secrets";
/** What Go reads as true. Source: strconv.ParseBool. */
const truths: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Whether Pods of an account may use no other Secrets than the account lists. */
export function limitsSecrets({ metadata }: ApiObject): boolean {
  return truths.has(metadata.annotations?.[annotation] ?? "");
}

/** Why a Pod may not use a Secret that it names; undefined where it may use them all. Source: plugin/pkg/admission/serviceaccount limitSecretReferences */
export function secretProblem(spec: Fields, account: ApiObject): string | undefined {
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
