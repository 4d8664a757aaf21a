import type { ObjectSchema } from "../../core/schema.ts";
import { matchCondition, ruleWithOperations, webhookClientConfig } from "./admission-rules.ts";
import { kind } from "./kind.ts";
import { labelSelector } from "./meta.ts";
import {
  about,
  atomic,
  byKey,
  described,
  int32,
  list,
  mergeBy,
  object,
  pointer,
  required,
  str,
  strings,
} from "./shorthand.ts";

// Admission webhooks. Source: k8s.io/api admissionregistration/v1.

/** The fields of both kinds of webhooks whose protobuf numbers are the same. */
const shared: ObjectSchema["properties"] = {
  name: about("A domain name of three segments or more, such as imagepolicy.kubernetes.io.", required(str(1))),
  clientConfig: about("How the webhook is reached.", required(object(2, webhookClientConfig))),
  rules: about("What is sent to the webhook; any one rule is enough.", list(3, ruleWithOperations, atomic)),
  failurePolicy: about(
    "What a webhook that cannot be asked means: Fail (the default) refuses, Ignore lets pass.",
    pointer(str(4)),
  ),
  matchPolicy: about(
    "Exact, or Equivalent (the default): a rule for one version of a kind speaks of all of them.",
    pointer(str(9)),
  ),
  namespaceSelector: about(
    "Labels of the namespace the object is in, or of the object if it is a namespace.",
    pointer(object(5, labelSelector)),
  ),
  sideEffects: about(
    "None, or NoneOnDryRun: whether asking changes anything besides the answer.",
    required(pointer(str(6))),
  ),
  timeoutSeconds: about("How long to wait for the answer, 1 to 30 seconds; 10 by default.", pointer(int32(7))),
  admissionReviewVersions: about(
    "Versions of AdmissionReview the webhook understands; the first that is known here is sent.",
    required(strings(8, atomic)),
  ),
};

const objectSelectorText = "Labels of the object before or after the write.";
const matchConditionsText = "Conditions in CEL that must all hold for the webhook to be asked, at most 64.";

export const mutatingWebhook: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.MutatingWebhook",
  "A server that may change or refuse what is written.",
  {
    ...shared,
    objectSelector: about(objectSelectorText, pointer(object(11, labelSelector))),
    reinvocationPolicy: about(
      "Never (the default), or IfNeeded: ask once more when something else changed the object afterwards.",
      pointer(str(10)),
    ),
    matchConditions: about(matchConditionsText, list(12, matchCondition, byKey("name"), mergeBy("name"))),
  },
);

export const validatingWebhook: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.ValidatingWebhook",
  "A server that may refuse what is written.",
  {
    ...shared,
    objectSelector: about(objectSelectorText, pointer(object(10, labelSelector))),
    matchConditions: about(matchConditionsText, list(11, matchCondition, byKey("name"), mergeBy("name"))),
  },
);

export const mutatingWebhookConfigurationSchema: ObjectSchema = kind(
  "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
  "Webhooks that are asked, one after the other, before an object is validated, and may change it.",
  {
    webhooks: about(
      "The webhooks, in the order they are asked.",
      list(2, mutatingWebhook, byKey("name"), mergeBy("name")),
    ),
  },
);

export const validatingWebhookConfigurationSchema: ObjectSchema = kind(
  "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
  "Webhooks that are asked, all at once, before a valid object is stored, and may refuse it.",
  { webhooks: about("The webhooks.", list(2, validatingWebhook, byKey("name"), mergeBy("name"))) },
);
