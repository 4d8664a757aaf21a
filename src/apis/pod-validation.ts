import { duplicate, type FieldError, forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors, fieldErrors, nameErrors, requiredOneOf, requiredName, repetitions } from "./field-rules.ts";
import { fieldListAt, fieldsAt, type Fields, isSameJson, numberAt, stringAt, valueAt } from "./json-fields.ts";

const maxInt32 = 2_147_483_647;
const restartPolicies: readonly string[] = ["Always", "OnFailure", "Never"];
const dnsPolicies: readonly string[] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Errors of a pod that matter for storing and listing it; the kubelet checks whether it can run. Source: pkg/apis/core/validation ValidatePodSpec. */
export function validatePod(pod: ApiObject): readonly FieldError[] {
  const containers = fieldListAt(pod, "spec", "containers");
  const isRepeated = repetitions();
  const deadline = numberAt(pod, "spec", "activeDeadlineSeconds");
  const account = stringAt(pod, "spec", "serviceAccountName");
  const node = stringAt(pod, "spec", "nodeName");
  return fieldErrors(
    containers.length === 0 && required("spec.containers"),
    validateContainers(containers, "spec.containers", isRepeated),
    validateContainers(fieldListAt(pod, "spec", "initContainers"), "spec.initContainers", isRepeated),
    validateContainers(fieldListAt(pod, "spec", "ephemeralContainers"), "spec.ephemeralContainers", isRepeated),
    requiredOneOf("spec.restartPolicy", stringAt(pod, "spec", "restartPolicy"), restartPolicies),
    requiredOneOf("spec.dnsPolicy", stringAt(pod, "spec", "dnsPolicy"), dnsPolicies),
    account !== "" && nameErrors("spec.serviceAccountName", account, dnsSubdomainProblems),
    node !== "" && nameErrors("spec.nodeName", node, dnsSubdomainProblems),
    deadline !== undefined &&
      (deadline < 1 || deadline > maxInt32) &&
      invalid("spec.activeDeadlineSeconds", deadline, `must be between 1 and ${maxInt32}, inclusive`),
  );
}

/** Errors of an update of a pod's spec. Source: pkg/apis/core/validation ValidatePodUpdate. */
export function validatePodUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  for (const list of ["containers", "initContainers"]) {
    if (fieldListAt(next, "spec", list).length !== fieldListAt(stored, "spec", list).length) {
      return [forbiddenField(`spec.${list}`, "pod updates may not add or remove containers")];
    }
  }
  return fieldErrors(
    validateImages(next, "containers"),
    validateImages(next, "initContainers"),
    validateDeadline(next, stored),
    validateTolerations(next, stored),
    !isSameJson(fixedSpec(next, stored), fixedSpec(stored, stored)) && forbiddenField("spec", onlyThese),
  );
}

const onlyThese =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

function validateContainers(
  containers: readonly Fields[],
  path: string,
  isRepeated: (name: string) => boolean,
): readonly FieldError[] {
  return collectErrors(containers, (container, index) => {
    const at = `${path}[${index}]`;
    const name = stringAt(container, "name");
    return [
      requiredName(`${at}.name`, name, dnsLabelProblems),
      isRepeated(name) && duplicate(`${at}.name`, name),
      stringAt(container, "image") === "" && required(`${at}.image`),
      validatePorts(container, `${at}.ports`),
    ];
  });
}

function validatePorts(container: Fields, path: string): readonly FieldError[] {
  return collectErrors(fieldListAt(container, "ports"), (port, index) => {
    const number = numberAt(port, "containerPort") ?? 0;
    const at = `${path}[${index}].containerPort`;
    if (number === 0) return [required(at)];
    return number >= 1 && number <= 65_535 ? [] : [invalid(at, number, "must be between 1 and 65535, inclusive")];
  });
}

function validateImages(next: ApiObject, list: string): readonly FieldError[] {
  return collectErrors(fieldListAt(next, "spec", list), (container, index) => {
    const image = stringAt(container, "image");
    return image === image.trim()
      ? []
      : [invalid(`spec.${list}[${index}].image`, image, "must not have leading or trailing whitespace")];
  });
}

/** A deadline may be added, and then only be reduced. */
function validateDeadline(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const path = "spec.activeDeadlineSeconds";
  const before = numberAt(stored, "spec", "activeDeadlineSeconds");
  const after = numberAt(next, "spec", "activeDeadlineSeconds");
  if (before === undefined) return [];
  if (after === undefined) return [invalid(path, "null", "must not update from a positive integer to nil value")];
  return after <= before ? [] : [invalid(path, after, "must be less than or equal to previous value")];
}

function validateTolerations(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const after = new Set(fieldListAt(next, "spec", "tolerations").map(tolerationKey));
  return fieldListAt(stored, "spec", "tolerations").every((toleration) => after.has(tolerationKey(toleration)))
    ? []
    : [forbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** A toleration without its duration. */
function tolerationKey(toleration: Fields): string {
  return JSON.stringify(["key", "operator", "value", "effect"].map((field) => stringAt(toleration, field)));
}

/** The spec without the fields that an update may change. */
function fixedSpec(pod: ApiObject, stored: ApiObject): Fields {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    terminationGracePeriodSeconds: grace,
    ...rest
  } = fieldsAt(pod, "spec");
  const oldGrace = numberAt(stored, "spec", "terminationGracePeriodSeconds") ?? 0;
  return {
    ...rest,
    containers: withoutImages(pod, "containers"),
    initContainers: withoutImages(pod, "initContainers"),
    terminationGracePeriodSeconds:
      oldGrace < 0 && grace === 1 ? valueAt(stored, "spec", "terminationGracePeriodSeconds") : grace,
  };
}

function withoutImages(pod: ApiObject, list: string): readonly Fields[] {
  return fieldListAt(pod, "spec", list).map(({ image: _image, ...rest }) => rest);
}
