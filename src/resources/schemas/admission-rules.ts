import type { ObjectSchema } from "../../core/schema.ts";
import { labelSelector } from "./meta.ts";
import {
  about,
  atomic,
  described,
  inline,
  int32,
  list,
  message,
  object,
  pointer,
  required,
  str,
  strings,
  whole,
} from "./shorthand.ts";

// What webhooks and policies of admission have in common. Source: k8s.io/api admissionregistration/v1.

export const matchCondition: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.MatchCondition",
  "A condition in CEL that must hold for a request to be sent or judged.",
  {
    name: about("A qualified name, unique in its list.", required(str(1))),
    expression: about(
      "CEL over object, oldObject, request and authorizer that evaluates to a boolean.",
      required(str(2)),
    ),
  },
);

export const rule: ObjectSchema = message("io.k8s.api.admissionregistration.v1.Rule", {
  apiGroups: about("Groups, or * for all.", strings(1, atomic)),
  apiVersions: about("Versions, or * for all.", strings(2, atomic)),
  resources: about(
    "Plural names; pods/log is a subresource, pods/* all of them, */scale one of all kinds, * everything without subresources, */* everything.",
    strings(3, atomic),
  ),
  scope: about("Cluster, Namespaced, or * for both, which is the default.", pointer(str(4))),
});

export const ruleWithOperations: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.RuleWithOperations",
  "Which writes of which resources are meant.",
  {
    operations: about("CREATE, UPDATE, DELETE, CONNECT, or * for all.", strings(1, atomic)),
    rule: inline(object(2, rule)),
  },
);

export const namedRuleWithOperations: ObjectSchema = whole(
  described(
    "io.k8s.api.admissionregistration.v1.NamedRuleWithOperations",
    "Which writes of which resources are meant, and of which names.",
    {
      resourceNames: about("Names the rule is limited to; empty means all.", strings(1, atomic)),
      ruleWithOperations: inline(object(2, ruleWithOperations)),
    },
  ),
);

export const serviceReference: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.ServiceReference",
  "A Service that answers.",
  {
    namespace: about("Namespace of the Service.", required(str(1))),
    name: about("Name of the Service.", required(str(2))),
    path: about("The path to send requests to.", pointer(str(3))),
    port: about("The port of the Service, 443 by default.", pointer(int32(4))),
  },
);

export const webhookClientConfig: ObjectSchema = described(
  "io.k8s.api.admissionregistration.v1.WebhookClientConfig",
  "How a webhook is reached: by url or by service.",
  {
    url: about("An https URL without user, query or fragment.", pointer(str(3))),
    service: about("A Service, reached as <name>.<namespace>.svc.", pointer(object(1, serviceReference))),
    caBundle: about("PEM of the CAs that may have signed the webhook's certificate; those of the system if empty.", {
      number: 2,
      schema: { type: "string", format: "byte" },
    }),
  },
);

export const matchResources: ObjectSchema = whole(
  described("io.k8s.api.admissionregistration.v1.MatchResources", "Which requests a policy or its binding speaks of.", {
    namespaceSelector: about("Labels of the namespace the object is in.", pointer(object(1, labelSelector))),
    objectSelector: about("Labels of the object before or after the write.", pointer(object(2, labelSelector))),
    resourceRules: about("What is meant; any one rule is enough.", list(3, namedRuleWithOperations, atomic)),
    excludeResourceRules: about(
      "What is not meant, whatever resourceRules say.",
      list(4, namedRuleWithOperations, atomic),
    ),
    matchPolicy: about(
      "Exact, or Equivalent (the default): a rule for one version of a kind speaks of all of them.",
      pointer(str(7)),
    ),
  }),
);
