import { dynType, stringType, formatType, type CelType } from "../cel/types.ts";

/** A call to be charged: its arguments, the receiver first, and the type of its result as the checker found it, without sizes. */
interface CostedCall {
  readonly args: readonly Estimate[];
  readonly result: CelType;
  /** The arguments that are literal whole numbers. */
  readonly numbers: readonly (number | undefined)[];
}

/** The cost of a call beyond its arguments, and the size and type of its result where they are known. */
interface CallEstimate {
  readonly cost: number;
  readonly size?: number;
  readonly type?: CelType;
}

type Charge = (call: CostedCall) => CallEstimate;

const nothing: Estimate = { cost: 0, size: 0, type: dynType };
/** The longest named format, in characters of a regular expression. */
const maxFormatCharacters = 128;

/** What a call of a function costs at worst. Source: cel-go checker cost, apiserver cel/library cost. */
export function callEstimate(name: string, call: CostedCall): CallEstimate {
  return charges.get(name)?.(call) ?? { cost: 1 };
}

const charges: ReadonlyMap<string, Charge> = new Map<string, Charge>([
  ...named(["_==_", "_!=_"], equality),
  ...named(["_<_", "_<=_", "_>_", "_>=_"], ordering),
  ["_+_", addition],
  ["_[_]", (call) => ({ cost: 1, type: insideOf(first(call).type) })],
  ["_[?_]", (call) => ({ cost: 1, type: { kind: "optional", of: insideOf(first(call).type) } })],
  ["@in", (call) => ({ cost: second(call).type.kind === "map" ? 1 : second(call).size })],
  ["dyn", (call) => ({ cost: 1, size: first(call).size, type: first(call).type })],
  ["matches", (call) => ({ cost: patternCost(first(call).size, second(call).size) })],
  ["contains", (call) => ({ cost: product(textCost(first(call).size), textCost(second(call).size)) })],
  ...named(["startsWith", "endsWith"], (call) => ({ cost: textCost(second(call).size) })),
  ...named(["lowerAscii", "upperAscii", "substring", "trim"], (call) => readOnce(call, first(call).size)),
  ["charAt", () => ({ cost: 1, size: 1 })],
  ["reverse", (call) => ({ cost: textCost(first(call).size), size: first(call).size, type: first(call).type })],
  ["format", (call) => ({ cost: textCost(first(call).size) })],
  ["strings.quote", (call) => readOnce(call, 2 * first(call).size + 2)],
  ["bytes", (call) => readOnce(call, 4 * first(call).size)],
  ["string", toText],
  ["replace", replacement],
  ["split", split],
  ["join", join],
  ["find", (call) => ({ cost: patternCost(first(call).size, second(call).size), size: first(call).size })],
  ["findAll", (call) => ({ ...pieces(call), cost: patternCost(first(call).size, second(call).size) })],
  ...named(["isSorted", "sum"], (call) => ({ cost: traversal(call) })),
  ...named(["min", "max"], (call) => ({ cost: traversal(call), type: insideOf(first(call).type) })),
  ...named(["indexOf", "lastIndexOf"], (call) => ({
    cost: first(call).type.kind === "list" ? traversal(call) : textCost(first(call).size),
  })),
  ...named(["url", "isIP", "isCIDR", "cidr", "quantity", "isQuantity", "semver", "isSemver"], readText),
  ["isURL", readText],
  ["ip", (call) => (first(call).type.kind === "string" ? readText(call) : { cost: 1 })],
  ["ip.isCanonical", (call) => ({ cost: factor(first(call).size, 0.2) })],
  // Networks are compared by their bytes, of which there are 16 at most.
  ["containsIP", (call) => ({ cost: 4 + (second(call).type.kind === "string" ? textCost(second(call).size) : 0) })],
  ["containsCIDR", (call) => ({ cost: 7 + (second(call).type.kind === "string" ? textCost(second(call).size) : 0) })],
  ["validate", (call) => ({ cost: textCost(second(call).size) * maxFormatCharacters * 0.25 })],
  ["check", () => ({ cost: 350_000 })],
  ...named(["fieldSelector", "labelSelector"], selector),
  ...named(["sets.contains", "sets.intersects"], (call) => ({
    cost: 1 + product(first(call).size, second(call).size),
  })),
  ["sets.equivalent", (call) => ({ cost: 1 + 2 * product(first(call).size, second(call).size) })],
  ...named(["slice", "distinct", "sort", "@sortByAssociatedKeys"], (call) => ({
    cost: 1 + 10 + product(first(call).size, first(call).size),
    size: first(call).size,
    type: first(call).type,
  })),
  ["flatten", (call) => ({ cost: 1 + 10 + product(first(call).size, Math.max(1, insideSize(call))) })],
  ["lists.range", range],
  ...named(["optional.of", "optional.ofNonZeroValue"], (call) => ({
    cost: 1,
    type: { kind: "optional", of: first(call).type },
  })),
  ["value", (call) => ({ cost: 1, type: contentOf(first(call).type) })],
  ["orValue", (call) => ({ cost: 1, type: widest(contentOf(first(call).type), second(call).type) })],
  ["or", (call) => ({ cost: 1, type: widest(first(call).type, second(call).type) })],
]);

function named(names: readonly string[], charge: Charge): readonly (readonly [string, Charge])[] {
  return names.map((name) => [name, charge]);
}

function first({ args }: CostedCall): Estimate {
  return args[0] ?? nothing;
}

function second({ args }: CostedCall): Estimate {
  return args[1] ?? nothing;
}

function factor(size: number, by: number): number {
  return Math.ceil(size * by);
}

function textCost(size: number): number {
  return factor(size, 0.1);
}

function patternCost(size: number, pattern: number): number {
  return product(textCost(size + 1), factor(pattern, 0.25));
}

function readText(call: CostedCall): CallEstimate {
  return { cost: textCost(first(call).size) };
}

function readOnce(call: CostedCall, size: number): CallEstimate {
  return { cost: textCost(first(call).size), size };
}

/** Types whose comparison takes one step. */
function isAtomic({ kind }: CelType): boolean {
  return kind === "opaque";
}

function equality(call: CostedCall): CallEstimate {
  if (isAtomic(first(call).type) && isAtomic(second(call).type)) return { cost: 1 };
  return { cost: textCost(Math.min(first(call).size, second(call).size)) };
}

function ordering(call: CostedCall): CallEstimate {
  const isText = ["string", "bytes", "dyn"].includes(first(call).type.kind);
  return isText ? equality(call) : { cost: 1 };
}

function addition(call: CostedCall): CallEstimate {
  const [one, other] = [first(call), second(call)];
  const size = one.size + other.size;
  if (one.type.kind === "list" || other.type.kind === "list") {
    return { cost: 1, size, type: sized(widest(one.type, other.type), size) };
  }
  const isText = ["string", "bytes", "dyn"].includes(one.type.kind);
  return isText ? { cost: textCost(size), size } : { cost: 1 };
}

function range({ numbers }: CostedCall): CallEstimate {
  const size = Math.max(0, numbers[0] ?? Infinity);
  return { cost: 11 + size, size };
}

function toText(call: CostedCall): CallEstimate {
  const { type, size } = first(call);
  if (type.kind === "bytes" || type.kind === "string") return readOnce(call, size);
  // Numbers, times, addresses and networks have short texts.
  return type.kind === "dyn" ? { cost: 1, size } : { cost: 1, size: 64 };
}

function replacement(call: CostedCall): CallEstimate {
  const [text, , by = nothing] = call.args;
  const size = text?.size ?? 0;
  const from = second(call);
  // Only a literal has a known minimum length.
  const least = from.cost === 0 ? from.size : 0;
  const grown = least === 0 ? product(size + 1, by.size) + size : product(Math.ceil(size / least), by.size);
  return { cost: factor(size, 0.2), size: by.size <= least ? size : grown };
}

/** The list of parts of a text. */
function pieces(call: CostedCall): CallEstimate {
  const size = first(call).size;
  const count = call.numbers[2] !== undefined && call.numbers[2] >= 0 ? call.numbers[2] : size;
  return { cost: 0, size: count, type: { kind: "list", element: sized(stringType, size), maxSize: count } };
}

function split(call: CostedCall): CallEstimate {
  return { ...pieces(call), cost: factor(first(call).size, 0.2) };
}

function join(call: CostedCall): CallEstimate {
  const { size: count } = first(call);
  const separators = product(Math.max(0, count - 1), second(call).size);
  const size = product(count, insideSize(call)) + separators;
  return { cost: textCost(size), size };
}

function insideSize(call: CostedCall): number {
  return declaredSize(insideOf(first(call).type));
}

function traversal(call: CostedCall): number {
  const element = insideOf(first(call).type);
  const isText = element.kind === "string" || element.kind === "bytes";
  return product(first(call).size, isText ? 1 + textCost(declaredSize(element)) : 1);
}

function selector(call: CostedCall): CallEstimate {
  const { size } = second(call);
  return { cost: 10 + textCost(size) + factor(factor(size, 0.5), 50) };
}

function contentOf(type: CelType): CelType {
  return type.kind === "optional" ? type.of : dynType;
}

/** The worst-case estimate of a part of an expression: its cost, and the size and type of its value. */
export interface Estimate {
  readonly cost: number;
  /** Characters, bytes, elements or entries; infinite where nothing bounds them. */
  readonly size: number;
  /** With sizes inside wherever they are known. */
  readonly type: CelType;
}

/** The maximum size of a value of no declared type: a request has at most 3 MiB, two bytes of which are quotes. */
const requestSize: number = 3 * 1024 * 1024 - 2;

/** The maximum size of a value of a declared type. Kubernetes counts scalars as nothing, and times by their text. */
export function declaredSize(type: CelType): number {
  if (isSized(type)) return type.maxSize ?? Infinity;
  if (type.kind === "optional") return declaredSize(type.of);
  return scalarSizes.get(type.kind) ?? 0;
}

const scalarSizes: ReadonlyMap<CelType["kind"], number> = new Map([
  ["dyn", requestSize],
  ["timestamp", 32],
  ["duration", 32],
  ["parameter", Infinity],
]);

/** The maximum size of a value of a type that the expression itself creates. */
export function computedSize(type: CelType): number {
  return Math.max(1, type.kind === "timestamp" || type.kind === "duration" ? 1 : declaredSize(type));
}

/** The type, bounded by `size` where values of it have one. */
export function sized(type: CelType, size: number): CelType {
  return isSized(type) ? { ...type, maxSize: size } : type;
}

function isSized(type: CelType): type is Extract<CelType, { readonly maxSize?: number }> {
  return ["string", "bytes", "list", "map"].includes(type.kind);
}

/** The type without sizes. Declared objects keep theirs, since only a declaration creates objects. */
export function unsized(type: CelType): CelType {
  switch (type.kind) {
    case "string":
    case "bytes":
      return { kind: type.kind };
    case "list":
      return { kind: "list", element: unsized(type.element) };
    case "map":
      return { kind: "map", key: unsized(type.key), value: unsized(type.value) };
    case "optional":
      return { kind: "optional", of: unsized(type.of) };
    default:
      return type;
  }
}

/** A type that is an upper bound of both. Types that differ otherwise have no bound. */
export function widest(one: CelType, other: CelType): CelType {
  if (one === other) return one;
  const maxSize = Math.max(declaredSize(one), declaredSize(other));
  if (one.kind === "list" && other.kind === "list")
    return { kind: "list", element: widest(one.element, other.element), maxSize };
  if (one.kind === "map" && other.kind === "map")
    return { kind: "map", key: widest(one.key, other.key), value: widest(one.value, other.value), maxSize };
  if (one.kind === "optional" && other.kind === "optional") return { kind: "optional", of: widest(one.of, other.of) };
  return isSame(one, other) ? sized(one, maxSize) : dynType;
}

function isSame(one: CelType, other: CelType): boolean {
  return one.kind === other.kind && (one.kind !== "object" || formatType(one) === formatType(other));
}

/** The type of the elements of a list or the values of a map; dyn where it is unknown. */
export function insideOf(type: CelType): CelType {
  if (type.kind === "list") return type.element;
  if (type.kind === "optional") return insideOf(type.of);
  return type.kind === "map" ? type.value : dynType;
}

/** The product of two numbers that are not negative. Zero times infinity is zero, never NaN. */
export function product(one: number, other: number): number {
  return one === 0 || other === 0 ? 0 : one * other;
}
