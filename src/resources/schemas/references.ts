import type { ObjectSchema } from "../../core/schema.ts";
import { bool, inline, int32, message, object, pointer, quantity, required, str, whole } from "./shorthand.ts";

// Pointers from one object to another, or to a part of one. Source: k8s.io/api core/v1.

export const localObjectReference: ObjectSchema = whole(
  message("io.k8s.api.core.v1.LocalObjectReference", {
    name: str(1),
  }),
);

export const objectReference: ObjectSchema = whole(
  message("io.k8s.api.core.v1.ObjectReference", {
    kind: str(1),
    namespace: str(2),
    name: str(3),
    uid: str(4),
    apiVersion: str(5),
    resourceVersion: str(6),
    fieldPath: str(7),
  }),
);

export const typedLocalObjectReference: ObjectSchema = whole(
  message("io.k8s.api.core.v1.TypedLocalObjectReference", {
    apiGroup: pointer(str(1)),
    kind: required(str(2)),
    name: required(str(3)),
  }),
);

export const typedObjectReference: ObjectSchema = message("io.k8s.api.core.v1.TypedObjectReference", {
  apiGroup: pointer(str(1)),
  kind: required(str(2)),
  name: required(str(3)),
  namespace: pointer(str(4)),
});

export const configMapKeySelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.ConfigMapKeySelector", {
    localObjectReference: inline(object(1, localObjectReference)),
    key: required(str(2)),
    optional: pointer(bool(3)),
  }),
);

export const secretKeySelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.SecretKeySelector", {
    localObjectReference: inline(object(1, localObjectReference)),
    key: required(str(2)),
    optional: pointer(bool(3)),
  }),
);

export const objectFieldSelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.ObjectFieldSelector", {
    apiVersion: str(1),
    fieldPath: required(str(2)),
  }),
);

export const resourceFieldSelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.ResourceFieldSelector", {
    containerName: str(1),
    resource: required(str(2)),
    divisor: quantity(3),
  }),
);

export const fileKeySelector: ObjectSchema = whole(
  message("io.k8s.api.core.v1.FileKeySelector", {
    volumeName: required(str(1)),
    path: required(str(2)),
    key: required(str(3)),
    optional: pointer(bool(4)),
  }),
);

export const keyToPath: ObjectSchema = message("io.k8s.api.core.v1.KeyToPath", {
  key: required(str(1)),
  path: required(str(2)),
  mode: pointer(int32(3)),
});
