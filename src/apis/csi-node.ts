import { duplicate, type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems, qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, countColumn, builtinKind } from "./builtin-kind.ts";
import { collectErrors, nameErrors, repetitions } from "./field-rules.ts";
import { fieldListAt, type Fields, isSameJson, numberAt, stringAt, stringsAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

const maxNodeIdLength = 192;

/** The CSI drivers of a node. A kubelet creates one of its own name, whether or not there are drivers. Source: api/storage/v1 CSINode. */
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
  const isRepeated = repetitions();
  return collectErrors(drivers, (driver, index) => {
    const path = `spec.drivers[${index}]`;
    const [name, id, count] = [
      stringAt(driver, "name"),
      stringAt(driver, "nodeID"),
      numberAt(driver, "allocatable", "count") ?? 0,
    ];
    return [
      nameErrors(`${path}.name`, name, dnsSubdomainProblems),
      id === "" && required(`${path}.nodeID`),
      id.length > maxNodeIdLength && invalid(`${path}.nodeID`, id, `must be ${maxNodeIdLength} characters or less`),
      count < 0 && invalid(`${path}.count`, count, "must be greater than or equal to 0"),
      isRepeated(name) && duplicate(`${path}.name`, name),
      validateKeys(stringsAt(driver, "topologyKeys"), path),
    ];
  });
}

function validateKeys(keys: readonly string[], path: string): readonly FieldError[] {
  const isRepeated = repetitions();
  return collectErrors(keys, (key) => [
    key === "" && required(path),
    isRepeated(key) && duplicate(path, key),
    nameErrors(path, key, qualifiedNameProblems),
  ]);
}

/** Of an existing driver, only its allocatable count may change. Source: pkg/apis/storage/validation ValidateCSINodeUpdate. */
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
