import { DecodeError } from "../../apimachinery/decode-error.ts";
import { decodeObject, type Decoded } from "../../apimachinery/decode.ts";
import type { FieldError } from "../../apimachinery/field-error.ts";
import { jsonProblem, type JsonObject } from "../../apimachinery/json-value.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { finish, sharedSteps, type Steps } from "../../apimachinery/steps.ts";
import { fieldsAt, withField } from "../json-fields.ts";
import { storedVerbs, type CustomStorage, type Resource, type Subresource } from "../resource.ts";
import { publishedMeta } from "../schemas/published.ts";
import { coreSchemaSteps } from "./core-schema.ts";
import { completeNames, type CrdNames, type CrdVersion, type CustomResourceDefinition } from "./crd-object.ts";
import { withDefaults } from "./settle.ts";
import { publishedSchema } from "./openapi-schema.ts";
import { printerColumns } from "./printer-columns.ts";
import { pruned } from "./settle.ts";
import { ruleType } from "./rule-type.ts";
import { replicaErrors, scaleSubresource } from "./scale-subresource.ts";
import { pathFields, valueUnder } from "./simple-path.ts";
import { structuralSteps, type StructuralSchema } from "./structural-schema.ts";
import { statusErrors, valueErrorSteps } from "./validate-value.ts";
import { ruleSetSteps, withRuleErrors, type RuleSet } from "./validation-rules.ts";

/** Dependencies of a kind besides its definition. */
export interface CustomKindOptions {
  /** Objects written after this revision of the store were written under this definition. */
  readonly since: number;
  /** Converts objects through the definition's webhook or the hub itself. @throws StatusError InternalError */
  readonly convert: CustomStorage["convert"];
}

/** A version of a definition, and its schema at first use. */
interface Version {
  readonly spec: CrdVersion;
  readonly apiVersion: string;
  readonly structural: Shared<StructuralSchema>;
}

/** A value that is computed once: at once, or in steps that all callers share. */
interface Shared<Made> {
  (): Made;
  readonly inSteps: () => Steps<Made>;
}

function shareSteps<Made>(make: () => Steps<Made>): Shared<Made> {
  const inSteps = sharedSteps(make);
  return Object.assign(() => finish(inSteps()), { inSteps });
}

/**
 * The kinds that an established definition adds to the API, one for each version that is served. Schemas are read at the first use.
 * The definition passed validation; its names are those that were accepted.
 */
export function customKinds(crd: CustomResourceDefinition, options: CustomKindOptions): readonly Resource[] {
  const { spec } = crd;
  const names = completeNames(crd.status?.acceptedNames ?? spec.names);
  const versions = spec.versions.map((version): Version => ({
    spec: version,
    apiVersion: apiVersionOf(spec.group, version.name),
    structural: shareSteps(() => structuralSteps(fieldsAt(version, "schema", "openAPIV3Schema"), { places: 0 })),
  }));
  const storage = storageOf(versions, options);
  const terminating = crd.metadata.deletionTimestamp !== undefined;
  // The stored version first: a kind of one version needs no webhook.
  return [...versions]
    .sort((a, b) => Number(b.spec.storage) - Number(a.spec.storage))
    .filter((version) => version.spec.served || (terminating && version.spec.storage))
    .map((version) => kindOfVersion({ crd, names, version, storage, terminating }));
}

function storageOf(versions: readonly Version[], { since, convert }: CustomKindOptions): PreparedStorage {
  const stored = versions.find((version) => version.spec.storage);
  const byApiVersion = new Map(versions.map((version) => [version.apiVersion, version]));
  return {
    apiVersion: stored?.apiVersion ?? "",
    since,
    settle: (object) => {
      const version = byApiVersion.get(object.apiVersion) ?? stored;
      return version === undefined ? object : pruneAndDefault(version.structural(), object).object;
    },
    convert,
    *prepare() {
      if (stored !== undefined) yield* stored.structural.inSteps();
    },
  };
}

interface PreparedStorage extends CustomStorage {
  /** Reads the schema in which objects are stored. */
  readonly prepare: () => Steps<void>;
}

interface KindParts {
  readonly crd: CustomResourceDefinition;
  readonly names: CrdNames;
  readonly version: Version;
  readonly storage: PreparedStorage;
  readonly terminating: boolean;
}

function kindOfVersion({ crd, names, version, storage, terminating }: KindParts): Resource {
  const { spec, structural } = version;
  const hasStatus = spec.subresources?.status !== undefined;
  const kindName = { group: crd.spec.group, version: spec.name, kind: names.kind };
  const schema = shareSteps(function* () {
    return yield* coreSchemaSteps(yield* structural.inSteps(), kindName);
  });
  const rules = lazyRules(structural);
  const scalePaths = spec.subresources?.scale;
  const replicas = (object: ApiObject): readonly FieldError[] =>
    scalePaths === undefined ? [] : replicaErrors(scalePaths, object);
  const validateInSteps = function* (object: ApiObject, stored?: ApiObject): Steps<readonly FieldError[]> {
    const compiled = yield* rules();
    const errors = yield* valueErrorSteps(structural(), object, { stored, path: "" });
    return yield* withRuleErrors([...replicas(object), ...errors], compiled, { object, stored });
  };
  const validateStatus = function* (object: ApiObject, stored: ApiObject): Steps<readonly FieldError[]> {
    const compiled = yield* rules();
    return yield* withRuleErrors(yield* statusErrors(structural(), object, stored), compiled, { object, stored });
  };
  return {
    group: crd.spec.group,
    version: spec.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? "",
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    scope: crd.spec.scope,
    verbs: storedVerbs,
    get schema() {
      return schema();
    },
    columns: printerColumns(spec.additionalPrinterColumns),
    subresources: subresourcesOf(spec, { validate: validateInSteps, validateStatus }),
    names: "dns-subdomain",
    createOnUpdate: false,
    unconditionalUpdate: false,
    deleteReturnsObject: false,
    generation: true,
    ...(hasStatus
      ? {
          prepareForCreate: (object) => withField(object, "status", undefined),
          prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
        }
      : {}),
    validate: (object, stored) => finish(validateInSteps(object, stored)),
    validateInSteps,
    selectableFields: selectableFields(spec) ?? {},
    custom: customPart({ crd, names, version, storage, terminating }, schema.inSteps),
  };
}

function customPart(
  { crd, names, version, storage, terminating }: KindParts,
  schema: () => Steps<unknown>,
): NonNullable<Resource["custom"]> {
  const { spec, apiVersion, structural } = version;
  const kindName = { group: crd.spec.group, version: spec.name, kind: names.kind };
  return {
    decode: (value) => decodeCustom(structural(), value),
    *prepare() {
      yield* storage.prepare();
      yield* schema();
    },
    *celType() {
      return ruleType(yield* structural.inSteps(), { name: names.kind, isResource: true })?.type;
    },
    *published(flavour) {
      return yield* publishedSchema(yield* structural.inSteps(), kindName, { version: flavour });
    },
    storage,
    warning:
      spec.deprecated === true ? (spec.deprecationWarning ?? `${apiVersion} ${names.kind} is deprecated`) : undefined,
    terminating,
  };
}

/** The rules of a schema, compiled at first use: with many rules that takes long. */
function lazyRules(structural: Version["structural"]): () => Steps<RuleSet | undefined> {
  return sharedSteps(function* () {
    return yield* ruleSetSteps(yield* structural.inSteps(), { isResource: true });
  });
}

type UpdateErrors = (next: ApiObject, stored: ApiObject) => Steps<readonly FieldError[]>;

function subresourcesOf(
  { subresources }: CrdVersion,
  { validate, validateStatus }: Readonly<Record<"validate" | "validateStatus", UpdateErrors>>,
): Resource["subresources"] {
  const status: Subresource = {
    verbs: ["get", "patch", "update"],
    prepareForUpdate: (incoming, stored) =>
      withField({ ...stored, metadata: { ...stored.metadata } }, "status", incoming["status"]),
    validateUpdateInSteps: validateStatus,
  };
  return {
    ...(subresources?.status === undefined ? {} : { status }),
    ...(subresources?.scale === undefined ? {} : { scale: scaleSubresource(subresources.scale, validate) }),
  };
}

/** Metadata has the schema of any object, whatever the definition declares. */
function decodeCustom(schema: StructuralSchema, value: JsonObject): Decoded {
  const problem = jsonProblem(value);
  if (problem !== undefined)
    throw new DecodeError(problem.includes("__proto__") ? "forbiddenKey" : "tooDeep", "", problem);
  const { metadata = {}, ...fields } = value;
  const meta = decodeObject(publishedMeta("ObjectMeta"), metadata);
  const { object, unknown } = pruneAndDefault(schema, fields);
  return {
    object: { ...object, metadata: meta.object },
    unknown: [...meta.unknown.map((path) => `metadata.${path}`), ...unknown],
  };
}

function pruneAndDefault<T extends JsonObject>(
  schema: StructuralSchema,
  object: T,
): { readonly object: T; readonly unknown: readonly string[] } {
  const known = pruned(schema, object, { isResourceRoot: true });
  return { object: withDefaults(schema, known.object) as T, unknown: known.unknown };
}

/** The field labels of a version, named by their path without the leading dot; a missing field reads as empty. */
export function selectableFields(version: Pick<CrdVersion, "selectableFields">): Resource["selectableFields"] {
  const entries = (version.selectableFields ?? []).map(({ jsonPath }) => {
    const fields = pathFields(jsonPath);
    return [fields.join("."), (object: ApiObject) => selectableText(valueUnder(object, fields))] as const;
  });
  return Object.fromEntries(entries);
}

function selectableText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
