import type { ObjectSchema } from "../../core/schema.ts";
import {
  about,
  anything,
  asSet,
  atomic,
  bool,
  byKey,
  described,
  int64,
  list,
  mergeAsSet,
  mergeBy,
  message,
  pointer,
  required,
  str,
  stringMap,
  strings,
  time,
  whole,
} from "./shorthand.ts";

// What every object says of itself. Source: k8s.io/apimachinery meta/v1.

export const ownerReference: ObjectSchema = whole(
  message("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", {
    kind: required(str(1)),
    name: required(str(3)),
    uid: required(str(4)),
    apiVersion: required(str(5)),
    controller: pointer(bool(6)),
    blockOwnerDeletion: pointer(bool(7)),
  }),
);

export const managedFieldsEntry: ObjectSchema = message("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", {
  manager: str(1),
  operation: str(2),
  apiVersion: str(3),
  time: pointer(time(4)),
  fieldsType: str(6),
  fieldsV1: pointer(anything(7)),
  subresource: str(8),
});

export const objectMeta: ObjectSchema = described(
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  "Who an object is, which version of it this is, and who owns it.",
  {
    name: about("Unique among objects of the kind in the namespace; cannot change.", str(1)),
    generateName: about("A prefix to which the server appends five random characters when no name is given.", str(2)),
    namespace: about("The namespace the object lives in; empty for cluster-scoped kinds.", str(3)),
    selfLink: str(4),
    uid: about("Set by the server; tells apart objects that bore the same name at different times.", str(5)),
    resourceVersion: about(
      "Set by the server; changes with every write. Send it back to be refused when somebody else wrote in between.",
      str(6),
    ),
    generation: about("Set by the server; rises when the desired state changes.", int64(7)),
    creationTimestamp: about("When the server stored the object first.", time(8)),
    deletionTimestamp: about(
      "When deletion was asked for; the object goes once its finalizers are gone.",
      pointer(time(9)),
    ),
    deletionGracePeriodSeconds: about("Seconds the object is given to end in good order.", pointer(int64(10))),
    labels: about("Short keys and values by which objects are selected.", stringMap(11)),
    annotations: about("Free-form keys and values for tools; not selectable.", stringMap(12)),
    ownerReferences: about(
      "Objects this one belongs to; when all are gone, it is collected.",
      list(13, ownerReference, byKey("uid"), mergeBy("uid")),
    ),
    finalizers: about(
      "Names that must be removed by their owners before the object can go.",
      strings(14, asSet, mergeAsSet),
    ),
    managedFields: about("Which client last set which field.", list(17, managedFieldsEntry, atomic)),
  },
);
