import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { builtinKind } from "../builtin-kind.ts";
import { numberAt, withField } from "../json-fields.ts";
import type { PartOfObject, Resource } from "../resource.ts";
import type { ScalePaths } from "./crd-object.ts";
import { pathFields, valueUnder, withValueUnder } from "./simple-path.ts";

/** Errors of the replica counts of an object. Source: apiextensions-apiserver pkg/registry/customresource/validator.go. */
export function replicaErrors(paths: ScalePaths, object: ApiObject): readonly FieldError[] {
  return [paths.specReplicasPath, paths.statusReplicasPath].flatMap((path) => {
    const replicas = valueUnder(object, pathFields(path));
    if (typeof replicas !== "number") return [];
    if (replicas < 0) return [invalid(path, replicas, "should be a non-negative integer")];
    return replicas > maxReplicas ? [invalid(path, replicas, `should be less than or equal to ${maxReplicas}`)] : [];
  });
}

/** The maximum of a 32-bit field. */
const maxReplicas = 2 ** 31 - 1;

/** The subresource `scale` of a custom kind, which reads and writes by the paths of its definition. Source: apiextensions-apiserver pkg/registry/customresource ScaleREST. */
export function scaleSubresource(
  paths: ScalePaths,
  validate: (next: ApiObject, stored: ApiObject) => Steps<readonly FieldError[]>,
): PartOfObject {
  const wanted = pathFields(paths.specReplicasPath);
  const actual = pathFields(paths.statusReplicasPath);
  const selector = paths.labelSelectorPath === undefined ? undefined : pathFields(paths.labelSelectorPath);
  return {
    verbs: ["get", "patch", "update"],
    shownAs: {
      kind: scale,
      show: (object) => {
        const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
        const replicas = replicasUnder(object, wanted);
        const text = selector === undefined ? undefined : valueUnder(object, selector);
        return {
          kind: scale.kind,
          apiVersion: "autoscaling/v1",
          metadata: withoutUndefined({ name, namespace, uid, resourceVersion, creationTimestamp }),
          spec: { replicas: replicas ?? 0 },
          status: {
            replicas: replicasUnder(object, actual) ?? 0,
            ...(typeof text === "string" && text !== "" ? { selector: text } : {}),
          },
        };
      },
      write: (shown, stored) => {
        const { resourceVersion, uid } = shown.metadata;
        const { resourceVersion: _own, ...metadata } = stored.metadata;
        return withValueUnder(
          {
            ...stored,
            metadata: {
              ...metadata,
              // Without a resourceVersion the last write wins, as for every Scale.
              resourceVersion:
                resourceVersion === undefined || resourceVersion === ""
                  ? (stored.metadata.resourceVersion ?? "")
                  : resourceVersion,
              ...(uid === undefined || uid === "" ? {} : { uid }),
            },
          },
          wanted,
          numberAt(shown, "spec", "replicas") ?? 0,
        );
      },
      missing: (object) =>
        replicasUnder(object, wanted) === undefined
          ? `the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`
          : undefined,
    },
    prepareForUpdate: (incoming, stored) =>
      withField(
        withValueUnder({ ...stored, metadata: incoming.metadata }, wanted, valueUnder(incoming, wanted)),
        "status",
        stored["status"],
      ),
    validateUpdateInSteps: validate,
  };
}

function replicasUnder(object: ApiObject, fields: readonly string[]): number | undefined {
  const value = valueUnder(object, fields);
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= -maxReplicas && value <= maxReplicas ? value : undefined;
}

function withoutUndefined(fields: Readonly<Record<string, string | undefined>>): ApiObject["metadata"] {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The kind of the subresource `scale`; it has no paths of its own. Source: api/autoscaling/v1 Scale. */
export const scale: Resource = builtinKind({
  group: "autoscaling",
  kind: "Scale",
  scope: "Namespaced",
  verbs: [],
  schema: "io.k8s.api.autoscaling.v1.Scale",
  names: "path",
  unconditionalUpdate: true,
});
