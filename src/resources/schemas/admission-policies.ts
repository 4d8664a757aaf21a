import type { ObjectSchema } from "../../core/schema.ts";
import { matchCondition, matchResources } from "./admission-rules.ts";
import { condition } from "./conditions.ts";
import { kind } from "./kind.ts";
import { labelSelector } from "./meta.ts";
import {
  about,
  asSet,
  atomic,
  byKey,
  described,
  int64,
  list,
  mergeBy,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  whole,
} from "./shorthand.ts";

// Admission policies in CEL. Source: k8s.io/api admissionregistration/v1.

export const paramKind: ObjectSchema = whole(
  described(
    "io.k8s.api.admissionregistration.v1.ParamKind",
    "The kind of the objects that give a policy its parameters.",
    { apiVersion: about("Group and version.", str(1)), kind: about("The kind.", str(2)) },
  ),
);

export const paramRef: ObjectSchema = whole(
  described(
    "io.k8s.api.admissionregistration.v1.ParamRef",
    "Which objects of the policy's paramKind are its parameters.",
    {
      name: about("The name of one object; excludes selector.", str(1)),
      namespace: about("The namespace to look in; that of the request if empty.", str(2)),
      selector: about(
        "Labels of the objects, each of which is tried; excludes name.",
        pointer(object(3, labelSelector)),
      ),
      parameterNotFoundAction: about("Allow or Deny where there is no such object.", pointer(str(4))),
    },
  ),
);

export const validation: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.Validation",
  "One condition in CEL that must hold.",
  {
    expression: about("CEL that evaluates to a boolean; false refuses.", required(str(1))),
    message: about("What to say when it does not hold.", str(2)),
    reason: about("Forbidden, Invalid (the default) or RequestEntityTooLarge.", pointer(str(3))),
    messageExpression: about("CEL that evaluates to what to say; comes before message.", str(4)),
  },
);

export const auditAnnotation: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.AuditAnnotation",
  "A value that goes into the audit event.",
  {
    key: about("The name of the annotation, after the policy's name and a slash.", required(str(1))),
    valueExpression: about("CEL that evaluates to text, or to null for no annotation.", required(str(2))),
  },
);

export const variable: ObjectSchema = whole(
  described(
    "io.k8s.api.admissionregistration.v1.Variable",
    "A named expression that others can use as variables.<name>.",
    {
      name: about("An identifier of CEL.", required(str(1))),
      expression: about("CEL, evaluated at most once and only if it is used.", required(str(2))),
    },
  ),
);

export const expressionWarning: ObjectSchema = message("io.k8s.api.admissionregistration.v1.ExpressionWarning", {
  fieldRef: required(str(2)),
  warning: required(str(3)),
});

export const typeChecking: ObjectSchema = message("io.k8s.api.admissionregistration.v1.TypeChecking", {
  expressionWarnings: list(1, expressionWarning, atomic),
});

export const validatingAdmissionPolicySpec: ObjectSchema = message(
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec",
  {
    paramKind: about("The kind of the parameters; without it there are none.", pointer(object(1, paramKind))),
    matchConstraints: about("Which requests are judged.", pointer(object(2, matchResources))),
    validations: about("Conditions that must all hold.", list(3, validation, atomic)),
    failurePolicy: about(
      "What an expression that fails means: Fail (the default) refuses, Ignore lets pass.",
      pointer(str(4)),
    ),
    auditAnnotations: about("Values that go into the audit event.", list(5, auditAnnotation, atomic)),
    matchConditions: about(
      "Conditions that must all hold for the request to be judged, at most 64.",
      list(6, matchCondition, byKey("name"), mergeBy("name")),
    ),
    variables: about(
      "Named expressions; each may use those before it.",
      list(7, variable, byKey("name"), mergeBy("name")),
    ),
  },
);

export const validatingAdmissionPolicyStatus: ObjectSchema = message(
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus",
  {
    observedGeneration: int64(1),
    typeChecking: pointer(object(2, typeChecking)),
    conditions: list(3, condition, byKey("type")),
  },
);

export const validatingAdmissionPolicySchema: ObjectSchema = kind(
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
  "Conditions in CEL on what is written; a ValidatingAdmissionPolicyBinding puts them into force.",
  {
    spec: about("What is judged, and how.", object(2, validatingAdmissionPolicySpec)),
    status: about("What the server found out about the expressions.", object(3, validatingAdmissionPolicyStatus)),
  },
);

export const validatingAdmissionPolicyBindingSpec: ObjectSchema = message(
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
  {
    policyName: about("The policy that is put into force.", str(1)),
    paramRef: about("The parameters.", pointer(object(2, paramRef))),
    matchResources: about("Narrows what the policy judges.", pointer(object(3, matchResources))),
    validationActions: about("What a condition that does not hold means: Deny, Warn, Audit.", strings(4, asSet)),
  },
);

export const validatingAdmissionPolicyBindingSchema: ObjectSchema = kind(
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
  "Puts a ValidatingAdmissionPolicy into force, with parameters, for some requests.",
  { spec: about("Which policy, with what, for what.", object(2, validatingAdmissionPolicyBindingSpec)) },
);
