import type { Field, ObjectSchema } from "../../core/schema.ts";
import { jsonSchemaProps } from "./json-schema-props.ts";
import { kind } from "./kind.ts";
import {
  about,
  atomic,
  bool,
  byKey,
  bytes,
  described,
  int32,
  list,
  pointer,
  required,
  str,
  strings,
  time,
} from "./shorthand.ts";

// CustomResourceDefinition. Source: k8s.io/apiextensions-apiserver apis/apiextensions/v1.

const prefix = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/** The names of a kind, as asked for in `spec` and as granted in `status`. */
const names: ObjectSchema = described(`${prefix}.CustomResourceDefinitionNames`, "What a kind is called.", {
  plural: about("The name in paths, in lower case.", required(str(1))),
  singular: about("The name of one, in lower case; the kind in lower case by default.", str(2)),
  shortNames: about("Abbreviations for the command line.", strings(3, atomic)),
  kind: about("The name in objects, in CamelCase.", required(str(4))),
  listKind: about("The kind of a list; the kind and `List` by default.", str(5)),
  categories: about("Groups of kinds that are asked for together, such as all.", strings(6, atomic)),
});

const serviceReference: ObjectSchema = described(`${prefix}.ServiceReference`, "A Service in the cluster.", {
  namespace: required(str(1)),
  name: required(str(2)),
  path: pointer(str(3)),
  port: pointer(int32(4)),
});

const webhookClientConfig: ObjectSchema = described(`${prefix}.WebhookClientConfig`, "How to reach a webhook.", {
  service: about("A Service of the cluster; this or url.", pointer({ number: 1, schema: serviceReference })),
  caBundle: about("Who signs the certificate of the webhook, PEM, in base64.", bytes(2)),
  url: about("An https address; this or service.", pointer(str(3))),
});

const webhookConversion: ObjectSchema = described(`${prefix}.WebhookConversion`, "A webhook that converts objects.", {
  clientConfig: about("How to reach it.", pointer({ number: 2, schema: webhookClientConfig })),
  conversionReviewVersions: about("Which versions of ConversionReview it understands.", required(strings(3, atomic))),
});

const conversion: ObjectSchema = described(
  `${prefix}.CustomResourceConversion`,
  "How an object of one version is shown as another.",
  {
    strategy: about("None changes the apiVersion only; Webhook asks a webhook.", required(str(1))),
    webhook: about("The webhook, for the strategy Webhook.", pointer({ number: 2, schema: webhookConversion })),
  },
);

const scale: ObjectSchema = described(
  `${prefix}.CustomResourceSubresourceScale`,
  "Where an object says how many replicas it has.",
  {
    specReplicasPath: about("The path of the wanted number, below .spec.", required(str(1))),
    statusReplicasPath: about("The path of the actual number, below .status.", required(str(2))),
    labelSelectorPath: about("The path of the selector as text, below .spec or .status.", pointer(str(3))),
  },
);

const status: ObjectSchema = described(
  `${prefix}.CustomResourceSubresourceStatus`,
  "The presence of this makes status a subresource.",
  {},
);

const subresources: ObjectSchema = described(
  `${prefix}.CustomResourceSubresources`,
  "What has paths of its own below an object.",
  {
    status: about("Makes status a subresource.", pointer({ number: 1, schema: status })),
    scale: about("Makes scale a subresource.", pointer({ number: 2, schema: scale })),
  },
);

const printerColumn: ObjectSchema = described(
  `${prefix}.CustomResourceColumnDefinition`,
  "A column of the table that kubectl prints.",
  {
    name: about("The heading.", required(str(1))),
    type: about("integer, number, string, boolean or date.", required(str(2))),
    format: about("A hint on how to show the value.", str(3)),
    description: about("What the column tells.", str(4)),
    priority: about("Above 0 the column shows only with -o wide.", int32(5)),
    jsonPath: about("Where the value stands in an object.", required(str(6))),
  },
);

const selectableField: ObjectSchema = described(`${prefix}.SelectableField`, "A field that selectors may name.", {
  jsonPath: about("A simple path to a text, integer or boolean.", required(str(1))),
});

const validation: ObjectSchema = described(`${prefix}.CustomResourceValidation`, "How objects are validated.", {
  openAPIV3Schema: about("The schema of the objects.", pointer({ number: 1, schema: jsonSchemaProps })),
});

const version: ObjectSchema = described(
  `${prefix}.CustomResourceDefinitionVersion`,
  "A version in which objects of the kind are read and written.",
  {
    name: about("The name of the version, such as v1.", required(str(1))),
    served: about("Whether the version can be used.", required(bool(2))),
    storage: about("Whether objects are stored in this version; exactly one is.", required(bool(3))),
    schema: about("The schema of this version.", pointer({ number: 4, schema: validation })),
    subresources: about("What has paths of its own.", pointer({ number: 5, schema: subresources })),
    additionalPrinterColumns: about("Columns after the name.", list(6, printerColumn, atomic)),
    deprecated: about("Whether clients are warned of this version.", bool(7)),
    deprecationWarning: about("The warning, in place of the usual one.", pointer(str(8))),
    selectableFields: about("Fields that selectors may name.", list(9, selectableField, atomic)),
  },
);

const spec: ObjectSchema = described(`${prefix}.CustomResourceDefinitionSpec`, "The kind that is wanted.", {
  group: about("The API group, a domain.", required(str(1))),
  names: about("What the kind is called.", required({ number: 3, schema: names })),
  scope: about("Cluster or Namespaced.", required(str(4))),
  versions: about("All versions of the kind.", required(list(7, version, atomic))),
  conversion: about("How versions are converted.", pointer({ number: 9, schema: conversion })),
  preserveUnknownFields: about("Deprecated; must be false.", bool(10)),
});

/** Younger than what typed clients send and read in protobuf. */
const generation: Field = { schema: { type: "integer", format: "int64" } };

const condition: ObjectSchema = described(
  `${prefix}.CustomResourceDefinitionCondition`,
  "One statement about a definition.",
  {
    type: about("NamesAccepted, Established, Terminating or another.", required(str(1))),
    status: about("True, False or Unknown.", required(str(2))),
    lastTransitionTime: about("When the status last changed.", time(3)),
    reason: about("A short word for why.", str(4)),
    message: about("Why, for people.", str(5)),
    observedGeneration: about("The generation that the statement is about.", generation),
  },
);

const definitionStatus: ObjectSchema = described(
  `${prefix}.CustomResourceDefinitionStatus`,
  "What became of a definition.",
  {
    conditions: about("Statements, one of each type.", list(1, condition, byKey("type"))),
    acceptedNames: about("The names under which the kind is served.", { number: 2, schema: names }),
    storedVersions: about("Versions in which objects were ever stored.", strings(3, atomic)),
    observedGeneration: about("The newest generation that was looked at.", generation),
  },
);

export const customResourceDefinitionSchema: ObjectSchema = kind(
  `${prefix}.CustomResourceDefinition`,
  "A kind that is added to the API at run time. Its name is <plural>.<group>.",
  {
    spec: about("The kind that is wanted.", required({ number: 2, schema: spec })),
    status: about("What became of it.", { number: 3, schema: definitionStatus }),
  },
);
