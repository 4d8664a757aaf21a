import type { ObjectSchema } from "../../core/schema.ts";
import { localObjectReference, objectReference } from "./references.ts";
import { kind } from "./kind.ts";
import { about, atomic, bool, byKey, bytesMap, list, mergeBy, pointer, str, stringMap } from "./shorthand.ts";

// Secret, ConfigMap and ServiceAccount. Source: k8s.io/api core/v1.

export const secretSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.Secret",
  "Confidential data, such as tokens, passwords and keys.",
  {
    data: about("Keys and base64-encoded values.", bytesMap(2)),
    type: about("Tells programs how to read the data; cannot change.", str(3)),
    stringData: about(
      "Values as plain text, for writing only; they override data and are never returned.",
      stringMap(4),
    ),
    immutable: about("When true, the data can never change again; only metadata can.", pointer(bool(5))),
  },
);

export const configMapSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.ConfigMap",
  "Configuration data that is not confidential.",
  {
    data: about("Keys and UTF-8 values.", stringMap(2)),
    binaryData: about(
      "Keys and base64-encoded values that need not be UTF-8; keys must not overlap with data.",
      bytesMap(3),
    ),
    immutable: about("When true, the data can never change again; only metadata can.", pointer(bool(4))),
  },
);

export const serviceAccountSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.ServiceAccount",
  "An identity for processes that run in pods or speak to the API.",
  {
    secrets: about(
      "Secrets that pods running as this account may use.",
      list(2, objectReference, byKey("name"), mergeBy("name")),
    ),
    imagePullSecrets: about(
      "Secrets with which images are pulled for pods of this account.",
      list(3, localObjectReference, atomic),
    ),
    automountServiceAccountToken: about("Whether pods of this account get an API token by default.", pointer(bool(4))),
  },
);
