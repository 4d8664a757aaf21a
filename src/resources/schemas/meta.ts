import type { ObjectSchema } from "../../core/schema.ts";
import { objectMeta } from "./object-meta.ts";
import {
  about,
  atomic,
  bool,
  int32,
  int64,
  list,
  message,
  object,
  pointer,
  required,
  str,
  stringMap,
  strings,
  typed,
  whole,
} from "./shorthand.ts";

// The shared vocabulary of lists, selectors, options and replies. Source: k8s.io/apimachinery meta/v1.

export const shardInfo: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo", {
  selector: required(str(1)),
});

export const listMeta: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", {
  selfLink: str(1),
  resourceVersion: str(2),
  continue: str(3),
  remainingItemCount: pointer(int64(4)),
  shardInfo: pointer(object(5, shardInfo)),
});

export const labelSelectorRequirement: ObjectSchema = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
  {
    key: required(str(1)),
    operator: required(str(2)),
    values: strings(3, atomic),
  },
);

export const labelSelector: ObjectSchema = whole(
  message("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", {
    matchLabels: stringMap(1),
    matchExpressions: list(2, labelSelectorRequirement, atomic),
  }),
);

export const fieldSelectorRequirement: ObjectSchema = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
  {
    key: required(str(1)),
    operator: required(str(2)),
    values: strings(3, atomic),
  },
);

export const partialObjectMetadataSchema: ObjectSchema = typed(
  "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
  "An object reduced to its metadata.",
  {
    metadata: about("The metadata of the object.", object(1, objectMeta)),
  },
);

export const preconditions: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions", {
  uid: pointer(str(1)),
  resourceVersion: pointer(str(2)),
});

export const deleteOptionsSchema: ObjectSchema = typed(
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "How an object is to be deleted.",
  {
    gracePeriodSeconds: about("Seconds until the object is removed; zero means at once.", pointer(int64(1))),
    preconditions: about(
      "What must hold of the object, or the deletion is refused.",
      pointer(object(2, preconditions)),
    ),
    orphanDependents: about("Deprecated; use propagationPolicy.", pointer(bool(3))),
    propagationPolicy: about("What happens to dependents: Orphan, Background or Foreground.", pointer(str(4))),
    dryRun: about("All checks everything and deletes nothing.", strings(5, atomic)),
    ignoreStoreReadErrorWithClusterBreakingPotential: about(
      "Deletes even an object that cannot be read from the store; dangerous.",
      pointer(bool(6)),
    ),
  },
);

export const statusCause: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause", {
  reason: str(1),
  message: str(2),
  field: str(3),
});

export const statusDetails: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails", {
  name: str(1),
  group: str(2),
  kind: str(3),
  causes: list(4, statusCause, atomic),
  retryAfterSeconds: int32(5),
  uid: str(6),
});

export const statusSchema: ObjectSchema = typed(
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
  "The outcome of a request that returns no other object.",
  {
    metadata: about("List metadata, mostly empty.", object(1, listMeta)),
    status: about("Success or Failure.", str(2)),
    message: about("What happened, for people.", str(3)),
    reason: about("Why it failed, for programs.", str(4)),
    details: about("Which object and which fields are meant.", pointer(object(5, statusDetails))),
    code: about("The HTTP status code.", int32(6)),
  },
);
