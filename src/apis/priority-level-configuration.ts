import { type FieldError, forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, textColumn, builtinKind, statusPart } from "./builtin-kind.ts";
import { mandatoryFlowControl } from "./flow-control-objects.ts";
import { validateConditionTypes } from "./flow-schema.ts";
import { type Fields, fieldsAt, isFields, isSameJson, numberAt, stringAt, valueAt, withField } from "./json-fields.ts";
import type { Column, Resource } from "./resource.ts";
import { fieldErrors, type FieldResult, requiredOneOf } from "./field-rules.ts";

/** The number of concurrent requests of a level, and the handling of others. Source: api/flowcontrol/v1 PriorityLevelConfiguration. */
export interface PriorityLevelConfiguration extends ApiObject {
  readonly spec?: PriorityLevelSpec;
}

/** The spec as it is stored, defaults included. */
export interface PriorityLevelSpec {
  readonly type?: string;
  readonly limited?: LimitedLevel;
  readonly exempt?: { readonly nominalConcurrencyShares?: number; readonly lendablePercent?: number };
}

/** A level whose requests take seats. */
export interface LimitedLevel {
  readonly nominalConcurrencyShares?: number;
  readonly limitResponse?: { readonly type?: string; readonly queuing?: Queuing };
  readonly lendablePercent?: number;
  /** Absent: as much as the others lend. */
  readonly borrowingLimitPercent?: number;
}

/** The queues of a level. */
export interface Queuing {
  readonly queues?: number;
  readonly handSize?: number;
  readonly queueLengthLimit?: number;
}

const maxQueues = 10_000_000;
const maxHashBits = 60;

const limitedColumn = (name: string, description: string, ...path: readonly string[]): Column => ({
  name,
  type: "string",
  description,
  cell: (object) => numberAt(object, "spec", "limited", ...path) ?? "<none>",
});

export const priorityLevelConfigurations: Resource = builtinKind({
  group: "flowcontrol.apiserver.k8s.io",
  kind: "PriorityLevelConfiguration",
  scope: "Cluster",
  schema: "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
  columns: [
    textColumn("Type", "Whether requests of the level are limited.", "spec", "type"),
    limitedColumn("NominalConcurrencyShares", "The share of the seats that the level has.", "nominalConcurrencyShares"),
    limitedColumn("Queues", "How many queues the level has.", "limitResponse", "queuing", "queues"),
    limitedColumn("HandSize", "How many queues a flow may use.", "limitResponse", "queuing", "handSize"),
    limitedColumn(
      "QueueLengthLimit",
      "How many requests wait in a queue at most.",
      "limitResponse",
      "queuing",
      "queueLengthLimit",
    ),
    ageColumn,
  ],
  subresources: { status: statusPart },
  unconditionalUpdate: true,
  generation: true,
  prepareForCreate: (object) => withField(withDefaults(object), "status", {}),
  prepareForUpdate: (incoming, stored) => withField(withDefaults(incoming), "status", stored["status"] ?? {}),
  validate: validateLevel,
});

/** Source: kubernetes pkg/apis/flowcontrol/v1 defaults. */
function withDefaults(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  const { limited, exempt } = spec;
  return withField(object, "spec", {
    ...spec,
    ...(isFields(exempt) ? { exempt: { nominalConcurrencyShares: 0, lendablePercent: 0, ...exempt } } : {}),
    ...(isFields(limited) ? { limited: defaultedLimits(limited) } : {}),
  });
}

function defaultedLimits(limited: Fields): Fields {
  const response = fieldsAt(limited, "limitResponse");
  const { queuing } = response;
  const { handSize = 0, queues = 0, queueLengthLimit = 0 } = isFields(queuing) ? queuing : {};
  const filled = {
    handSize: handSize === 0 ? 8 : handSize,
    queues: queues === 0 ? 64 : queues,
    queueLengthLimit: queueLengthLimit === 0 ? 50 : queueLengthLimit,
  };
  return {
    nominalConcurrencyShares: 30,
    lendablePercent: 0,
    ...limited,
    ...(isFields(queuing) ? { limitResponse: { ...response, queuing: { ...queuing, ...filled } } } : {}),
  };
}

/** Source: kubernetes pkg/apis/flowcontrol/validation ValidatePriorityLevelConfiguration. */
function validateLevel(object: ApiObject): readonly FieldError[] {
  const spec = fieldsAt(object, "spec");
  const name = object.metadata.name ?? "";
  const zeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
  return fieldErrors(
    Object.hasOwn(object.metadata.annotations ?? {}, zeroShares) &&
      forbiddenField("metadata.annotations", `annotation '${zeroShares}' is forbidden`),
    validateSpec(spec, name),
    validateMandatory(spec, name),
    validateConditionTypes(object),
  );
}

function validateMandatory(spec: Fields, name: string): readonly FieldError[] {
  const { levels } = mandatoryFlowControl;
  const wanted = Object.hasOwn(levels, name) ? levels[name] : undefined;
  if (wanted === undefined) return [];
  if (name !== "exempt") {
    return isSameJson(spec, wanted) ? [] : [invalid("spec", spec, `spec of '${name}' must equal the fixed value`)];
  }
  if (isSameJson({ ...spec, exempt: wanted.exempt }, wanted)) return [];
  return [invalid("spec", spec, `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`)];
}

function validateSpec(spec: Fields, name: string): FieldResult {
  const type = stringAt(spec, "type");
  const { limited, exempt } = spec;
  return [
    (name === "exempt") !== (type === "Exempt") &&
      invalid("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'"),
    requiredOneOf("spec.type", type, ["Exempt", "Limited"]),
    type === "Exempt" && [
      isFields(limited) && forbiddenField("spec.limited", "must be nil if the type is not Limited"),
      isFields(exempt) && [validateShares(exempt, "spec.exempt"), validateLendable(exempt, "spec.exempt")],
    ],
    type === "Limited" && [
      isFields(exempt) && forbiddenField("spec.exempt", "must be nil if the type is Limited"),
      isFields(limited)
        ? validateLimited(limited, "spec.limited")
        : required("spec.limited", "must not be empty when type is Limited"),
    ],
  ];
}

function validateLimited(limited: Fields, path: string): FieldResult {
  const borrowing = valueAt(limited, "borrowingLimitPercent");
  return [
    validateShares(limited, path),
    validateResponse(fieldsAt(limited, "limitResponse"), `${path}.limitResponse`),
    validateLendable(limited, path),
    typeof borrowing === "number" &&
      borrowing < 0 &&
      invalid(`${path}.borrowingLimitPercent`, borrowing, "if specified, must be a non-negative integer"),
  ];
}

function validateShares(level: Fields, path: string): FieldResult {
  const shares = numberAt(level, "nominalConcurrencyShares") ?? 0;
  return shares < 0 && invalid(`${path}.nominalConcurrencyShares`, shares, "must be a non-negative integer");
}

function validateLendable(level: Fields, path: string): FieldResult {
  const lendable = numberAt(level, "lendablePercent") ?? 0;
  const isPercentage = lendable >= 0 && lendable <= 100;
  return !isPercentage && invalid(`${path}.lendablePercent`, lendable, "must be between 0 and 100, inclusive");
}

function validateResponse(response: Fields, path: string): FieldResult {
  const type = stringAt(response, "type");
  const { queuing } = response;
  if (type === "Reject") {
    const why = "must be nil if limited.limitResponse.type is not Limited";
    return isFields(queuing) && forbiddenField(`${path}.queuing`, why);
  }
  if (type === "Queue") {
    const why = "must not be empty if limited.limitResponse.type is Limited";
    return isFields(queuing) ? validateQueuing(queuing, `${path}.queuing`) : required(`${path}.queuing`, why);
  }
  return requiredOneOf(`${path}.type`, type, ["Queue", "Reject"]);
}

function validateQueuing(queuing: Fields, path: string): FieldResult {
  const of = (field: string): number => numberAt(queuing, field) ?? 0;
  const [length, queues, handSize] = [of("queueLengthLimit"), of("queues"), of("handSize")];
  return [
    length <= 0 && invalid(`${path}.queueLengthLimit`, length, "must be positive"),
    queues <= 0 && invalid(`${path}.queues`, queues, "must be positive"),
    queues > maxQueues && invalid(`${path}.queues`, queues, `must not be greater than ${maxQueues}`),
    validateHandSize(handSize, queues, `${path}.handSize`),
  ];
}

function validateHandSize(handSize: number, queues: number, path: string): FieldResult {
  if (handSize <= 0) return invalid(path, handSize, "must be positive");
  if (handSize > queues) return invalid(path, handSize, `should not be greater than queues (${queues})`);
  // Source: apiserver pkg/util/shufflesharding RequiredEntropyBits.
  const bits = Math.ceil(Math.log2(queues) * handSize);
  const why = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`;
  return bits > maxHashBits && invalid(path, handSize, why);
}
