import { isCelMap, isMap, mapKey } from "../../src/policy/cel/equality.ts";
import { parseDuration, parseTimestamp } from "../../src/policy/cel/time.ts";
import { formatType, type CelType } from "../../src/policy/cel/types.ts";
import {
  celDouble,
  celInt,
  celKind,
  celTypeValue,
  celUint,
  isCelFailure,
  kindOf,
  type CelDouble,
  type CelOptional,
  type CelTimestamp,
  type CelTypeValue,
  type CelUint,
  type CelValue,
} from "../../src/policy/cel/values.ts";

/** A value of the published suite: `cel.expr.Value` as JSON. */
export interface SpecValue {
  readonly boolValue?: boolean;
  readonly int64Value?: string;
  readonly uint64Value?: string;
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  readonly bytesValue?: string;
  readonly typeValue?: string;
  readonly listValue?: { readonly values?: readonly SpecValue[] };
  readonly mapValue?: { readonly entries?: readonly { readonly key: SpecValue; readonly value: SpecValue }[] };
  readonly objectValue?: { readonly "@type": string; readonly value?: string };
}

/** A type of the published suite: `cel.expr.Type` as JSON. */
export interface SpecType {
  readonly primitive?: string;
  readonly wellKnown?: string;
  readonly null?: null;
  readonly listType?: { readonly elemType?: SpecType };
  readonly mapType?: { readonly keyType?: SpecType; readonly valueType?: SpecType };
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly SpecType[] };
  readonly type?: SpecType;
}

/** A case as the suite writes it. */
interface SpecTest {
  readonly name?: string;
  readonly expr: string;
  readonly value?: SpecValue;
  readonly typedResult?: { readonly result?: SpecValue; readonly deducedType?: SpecType };
  readonly evalError?: object;
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: SpecType } }[];
  readonly bindings?: Readonly<Record<string, { readonly value: SpecValue }>>;
  readonly checkOnly?: boolean;
}

/** A case of the published suite, with what cel-go's parser and checker say of it. */
export interface SpecCase extends SpecTest {
  /** The file and the section, such as `lists/index`. */
  readonly section: string;
  readonly error?: string;
  readonly type?: string;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: object; readonly error?: string; readonly type?: string }[];
}

/** All cases of a suite and of those within it. */
export function specCases(suite: Suite, path: readonly string[] = []): readonly SpecCase[] {
  const own = (suite.tests ?? []).map(({ original, error, type }): SpecCase => ({
    ...(original as SpecTest),
    section: path.join("/"),
    ...(error === undefined ? {} : { error }),
    ...(type === undefined ? {} : { type }),
  }));
  return [...own, ...(suite.suites ?? []).flatMap((inner) => specCases(inner, [...path, inner.name]))];
}

const messages =
  /TestAllTypes|GlobalEnum|proto[23]|google\.protobuf(?!\.(?:Timestamp|Duration)\b)|"wrapper"|messageType|"ANY"/;

/** Whether a case is about messages, enumerations or wrappers of Protocol Buffers, which this evaluator does not have. */
export function needsMessages(test: SpecCase): boolean {
  return messages.test(JSON.stringify(test));
}

/** The value of our evaluator for a value of the suite. */
export function specValue(given: SpecValue): CelValue {
  if (given.boolValue !== undefined) return given.boolValue;
  if (given.int64Value !== undefined) return celInt(BigInt(given.int64Value));
  if (given.uint64Value !== undefined) return celUint(BigInt(given.uint64Value));
  if (given.doubleValue !== undefined) return celDouble(Number(given.doubleValue));
  if (given.stringValue !== undefined) return given.stringValue;
  if (given.bytesValue !== undefined) return Uint8Array.from(Buffer.from(given.bytesValue, "base64"));
  if (given.typeValue !== undefined) return celTypeValue(given.typeValue);
  if (given.listValue !== undefined) return (given.listValue.values ?? []).map(specValue);
  if (given.mapValue !== undefined) {
    const entries = (given.mapValue.entries ?? []).map(
      (entry) => [specValue(entry.key), specValue(entry.value)] as const,
    );
    return { [celKind]: "map", entries: new Map(entries.map((entry) => [mapKey(entry[0]), entry])) };
  }
  return given.objectValue === undefined ? null : timeValue(given.objectValue);
}

function timeValue(message: { readonly "@type": string; readonly value?: string }): CelValue {
  const text = message.value ?? "";
  const value = message["@type"].endsWith("Timestamp") ? parseTimestamp(text) : parseDuration(text);
  if (isCelFailure(value)) throw new TypeError(`not a time: ${text}`);
  return value;
}

const primitives: Readonly<Record<string, "bool" | "int" | "uint" | "double" | "string" | "bytes">> = {
  BOOL: "bool",
  INT64: "int",
  UINT64: "uint",
  DOUBLE: "double",
  STRING: "string",
  BYTES: "bytes",
};

/** The type of our checker for a type of the suite. */
export function specType(given: SpecType): CelType {
  const primitive = primitives[given.primitive ?? ""];
  if (primitive !== undefined) return { kind: primitive };
  if (given.listType !== undefined) return { kind: "list", element: specType(given.listType.elemType ?? {}) };
  if (given.mapType !== undefined) {
    return { kind: "map", key: specType(given.mapType.keyType ?? {}), value: specType(given.mapType.valueType ?? {}) };
  }
  if (given.null !== undefined) return { kind: "null" };
  if (given.type !== undefined) return { kind: "type", of: specType(given.type) };
  if (given.abstractType?.name === "optional_type") {
    return { kind: "optional", of: specType(given.abstractType.parameterTypes?.[0] ?? {}) };
  }
  if (given.wellKnown === "TIMESTAMP") return { kind: "timestamp" };
  return given.wellKnown === "DURATION" ? { kind: "duration" } : { kind: "dyn" };
}

/** A value or a type as text, so that two can be compared and shown. */
export function plainText(given: CelValue | CelType): string {
  return isType(given) ? formatType(given) : valueText(given);
}

function isType(given: CelValue | CelType): given is CelType {
  if (typeof given !== "object" || given === null || kindOf(given) !== undefined) return false;
  return "kind" in given && typeof given.kind === "string";
}

function valueText(value: CelValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return `[${value.map((each) => valueText(each as CelValue)).join()}]`;
  if (!isMap(value)) return specialText(value);
  const entries = isCelMap(value) ? [...value.entries.values()] : Object.entries(value);
  return `{${entries
    .map(([key, member]) => `${valueText(key)}:${valueText(member as CelValue)}`)
    .toSorted()
    .join()}}`;
}

function specialText(value: CelValue): string {
  switch (kindOf(value)) {
    case "double":
      return `double ${Object.is((value as CelDouble).value, -0) ? "-0" : (value as CelDouble).value}`;
    case "uint":
      return `${(value as CelUint).value}u`;
    case "optional": {
      const held = (value as CelOptional).value;
      return `optional(${held === undefined ? "" : valueText(held)})`;
    }
    case "type":
      return (value as CelTypeValue).name;
    default:
      return `${kindOf(value)} ${(value as CelTimestamp).nanos}`;
  }
}
