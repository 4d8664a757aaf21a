import type { ObjectSchema } from "../../core/schema.ts";
import { fieldSelectorRequirement, labelSelectorRequirement } from "./meta.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  bool,
  described,
  extraMap,
  list,
  message,
  object,
  pointer,
  required,
  str,
  strings,
} from "./shorthand.ts";

// Reviews that ask what somebody may do. Source: k8s.io/api authorization/v1.

export const fieldSelectorAttributes: ObjectSchema = message("io.k8s.api.authorization.v1.FieldSelectorAttributes", {
  rawSelector: str(1),
  requirements: list(2, fieldSelectorRequirement, atomic),
});

export const labelSelectorAttributes: ObjectSchema = message("io.k8s.api.authorization.v1.LabelSelectorAttributes", {
  rawSelector: str(1),
  requirements: list(2, labelSelectorRequirement, atomic),
});

export const resourceAttributes: ObjectSchema = described(
  "io.k8s.api.authorization.v1.ResourceAttributes",
  "An action on a resource.",
  {
    namespace: about("Namespace of the action; empty means all, or none for cluster-scoped kinds.", str(1)),
    verb: about("get, list, watch, create, update, patch, delete and so on; * means all.", str(2)),
    group: about("API group of the resource; * means all.", str(3)),
    version: about("API version of the resource; * means all.", str(4)),
    resource: about("Plural name of the resource; * means all.", str(5)),
    subresource: about("Part of the resource, such as status.", str(6)),
    name: about("Name of the object; empty means all.", str(7)),
    fieldSelector: about("Limits the action to objects by field.", pointer(object(8, fieldSelectorAttributes))),
    labelSelector: about("Limits the action to objects by label.", pointer(object(9, labelSelectorAttributes))),
  },
);

export const nonResourceAttributes: ObjectSchema = message("io.k8s.api.authorization.v1.NonResourceAttributes", {
  path: str(1),
  verb: str(2),
});

export const subjectAccessReviewSpec: ObjectSchema = message("io.k8s.api.authorization.v1.SubjectAccessReviewSpec", {
  resourceAttributes: about("What is to be done to which resource.", pointer(object(1, resourceAttributes))),
  nonResourceAttributes: about("What is to be done to which path.", pointer(object(2, nonResourceAttributes))),
  user: about("The user who is asked about.", str(3)),
  groups: about("Groups of that user.", strings(4, atomic)),
  extra: about("Extra attributes of that user.", extraMap(5)),
  uid: about("UID of that user.", str(6)),
});

export const subjectAccessReviewStatus: ObjectSchema = message(
  "io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
  {
    allowed: about("True when the action is allowed.", required(bool(1))),
    reason: about("Why, if the authorizer says so.", str(2)),
    evaluationError: about("What went wrong on the way; the answer may hold all the same.", str(3)),
    denied: about("True when it is forbidden outright; false with allowed false means nobody had an opinion.", bool(4)),
  },
);

export const localSubjectAccessReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
  "Asks whether a user or group may do something in the namespace of the review.",
  {
    spec: about(
      "The question; its namespace must be that of the review.",
      required(object(2, subjectAccessReviewSpec)),
    ),
    status: about("The answer, filled in by the server.", object(3, subjectAccessReviewStatus)),
  },
);

export const nonResourceRule: ObjectSchema = message("io.k8s.api.authorization.v1.NonResourceRule", {
  verbs: required(strings(1, atomic)),
  nonResourceURLs: strings(2, atomic),
});

export const resourceRule: ObjectSchema = message("io.k8s.api.authorization.v1.ResourceRule", {
  verbs: required(strings(1, atomic)),
  apiGroups: strings(2, atomic),
  resources: strings(3, atomic),
  resourceNames: strings(4, atomic),
});

export const selfSubjectAccessReviewSpec: ObjectSchema = message(
  "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
  {
    resourceAttributes: about("What is to be done to which resource.", pointer(object(1, resourceAttributes))),
    nonResourceAttributes: about("What is to be done to which path.", pointer(object(2, nonResourceAttributes))),
  },
);

export const selfSubjectAccessReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
  "Asks whether the caller may do something.",
  {
    spec: about("The question.", required(object(2, selfSubjectAccessReviewSpec))),
    status: about("The answer, filled in by the server.", object(3, subjectAccessReviewStatus)),
  },
);

export const selfSubjectRulesReviewSpec: ObjectSchema = message(
  "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
  {
    namespace: about("The namespace to list rules for; required.", str(1)),
  },
);

export const subjectRulesReviewStatus: ObjectSchema = message("io.k8s.api.authorization.v1.SubjectRulesReviewStatus", {
  resourceRules: about("What the caller may do to resources.", required(list(1, resourceRule, atomic))),
  nonResourceRules: about("What the caller may do to paths.", required(list(2, nonResourceRule, atomic))),
  incomplete: about("True when an authorizer could not list its rules.", required(bool(3))),
  evaluationError: about("What went wrong on the way.", str(4)),
});

export const selfSubjectRulesReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
  "Asks for all that the caller may do in a namespace.",
  {
    spec: about("Which namespace is meant.", required(object(2, selfSubjectRulesReviewSpec))),
    status: about(
      "The rules that hold for the caller, as far as they can be listed.",
      object(3, subjectRulesReviewStatus),
    ),
  },
);

export const subjectAccessReviewSchema: ObjectSchema = kind(
  "io.k8s.api.authorization.v1.SubjectAccessReview",
  "Asks whether a user or group may do something.",
  {
    spec: about("The question.", required(object(2, subjectAccessReviewSpec))),
    status: about("The answer, filled in by the server.", object(3, subjectAccessReviewStatus)),
  },
);
