import { duplicate, type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems, qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, countColumn, builtinKind } from "./builtin-kind.ts";
import { collectErrors } from "./collect-errors.ts";
import { fieldListAt, type Fields, isSameJson, numberAt, stringAt, stringsAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

const longestNodeId = 192;

/** The CSI drivers of a node. Kubelets keep one of their own name, whether or not there are drivers. Source: api/storage/v1 CSINode. */
export const csiNodes: Resource = builtinKind({
  group: "storage.k8s.io",
  kind: "CSINode",
  scope: "Cluster",
  schema: "io.k8s.api.storage.v1.CSINode",
  columns: [countColumn("Drivers", "The number of CSI drivers on the node.", "spec", "drivers"), ageColumn],
  validate: validateDrivers,
  validateUpdate: validateUnchanged,
});

function validateDrivers(object: ApiObject): readonly FieldError[] {
  const drivers = fieldListAt(object, "spec", "drivers");
  const names = drivers.map((driver) => stringAt(driver, "name"));
  return collectErrors(drivers, (driver, index) => {
    const path = `spec.drivers[${index}]`;
    const name = names[index] ?? "";
    return [
      ...dnsSubdomainProblems(name).map((why) => invalid(`${path}.name`, name, why)),
      ...nodeIdErrors(stringAt(driver, "nodeID"), `${path}.nodeID`),
      ...countErrors(driver, `${path}.count`),
      ...(names.indexOf(name) < index ? [duplicate(`${path}.name`, name)] : []),
      ...keyErrors(stringsAt(driver, "topologyKeys"), path),
    ];
  });
}

function nodeIdErrors(id: string, path: string): readonly FieldError[] {
  if (id === "") return [required(path)];
  return id.length > longestNodeId ? [invalid(path, id, `must be ${longestNodeId} characters or less`)] : [];
}

function countErrors(driver: Fields, path: string): readonly FieldError[] {
  const count = numberAt(driver, "allocatable", "count");
  return count === undefined || count >= 0 ? [] : [invalid(path, count, "must be greater than or equal to 0")];
}

function keyErrors(keys: readonly string[], path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return collectErrors(keys, (key) => {
    const isRepeated = seen.has(key);
    seen.add(key);
    return [
      ...(key === "" ? [required(path)] : []),
      ...(isRepeated ? [duplicate(path, key)] : []),
      ...qualifiedNameProblems(key).map((why) => invalid(path, key, why)),
    ];
  });
}

/** Of a driver that stays, only how much of it there is may change. Source: pkg/apis/storage/validation ValidateCSINodeUpdate. */
function validateUnchanged(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const before = new Map(fieldListAt(stored, "spec", "drivers").map((driver) => [stringAt(driver, "name"), driver]));
  return collectErrors(fieldListAt(next, "spec", "drivers"), (driver) => {
    const old = before.get(stringAt(driver, "name"));
    if (old === undefined || isSameJson(fixedPart(old), fixedPart(driver))) return [];
    return [invalid("spec.drivers", driver, "field is immutable")];
  });
}

function fixedPart({ allocatable: _mayChange, ...driver }: Fields): Fields {
  return driver;
}
